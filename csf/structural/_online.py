"""What the streaming learners of structural losses share: the loss, and a threshold where it only ranks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from csf.online.base import LinearOnlineClassifier
from csf.structural._limits import check_moderate
from csf.structural._threshold import check_tuning
from csf.structural.losses import get_loss

if TYPE_CHECKING:
    from csf.structural.losses.base import StructuralLoss

__all__ = ["StructuralOnlineClassifier"]


class StructuralOnlineClassifier(LinearOnlineClassifier):
    """Base of streaming learners with the parameters ``loss``, ``radius`` and ``tune_threshold``.

    Subclasses write ``_choose_threshold()``, the threshold of positive scores, and set ``self._threshold`` to
    ``None`` where it has to be chosen anew; ``self._chooses`` tells whether it is chosen at all.
    """

    loss: str | StructuralLoss
    radius: float
    tune_threshold: bool

    _loss: StructuralLoss
    _threshold: float | None

    @property
    def threshold_(self) -> float:
        """Threshold of the scores of positives: 0, tuned, or for ranking losses the cut that finds their share."""
        check_is_fitted(self)
        if self._threshold is None:
            self._threshold = self._choose_threshold()
        return self._threshold

    @property
    def _cut(self) -> float | None:
        """Least score of a prediction of the positive class."""
        return self.threshold_ if self._chooses else LinearOnlineClassifier._cut

    @abstractmethod
    def _choose_threshold(self) -> float:
        """Threshold, where it is chosen."""

    def _check_parameters(self) -> None:
        check_tuning(get_loss(self.loss), self.tune_threshold)
        check_moderate(self.radius, "radius")
        check_moderate(self.intercept_scaling, "intercept_scaling")

    def _start(self, n_features: int) -> None:
        self._loss = get_loss(self.loss)
        self._loss.check()
        self._chooses = self._loss.ranking or self.tune_threshold
        self._threshold = None if self._chooses else 0.0
