"""What the streaming learners of structural losses share: the loss, and a threshold where it only ranks."""

from abc import abstractmethod

from sklearn.utils.validation import check_is_fitted

from csf.online.base import LinearOnlineClassifier, check_positive
from csf.responses import margin
from csf.structural.losses import get_loss

__all__ = ["StructuralOnlineClassifier"]


class StructuralOnlineClassifier(LinearOnlineClassifier):
    """Base of streaming learners with the parameters ``loss`` and ``radius``.

    Subclasses write ``_choose_threshold()``, the threshold of positive scores for a loss that only ranks, and set
    ``self._threshold`` to ``None`` where it has to be chosen anew.
    """

    @property
    def threshold_(self):
        """Threshold of the scores of positives: 0, or for ranking losses the cut that finds their share."""
        check_is_fitted(self)
        if self._threshold is None:
            self._threshold = self._choose_threshold()
        return self._threshold

    def decision_function(self, X):
        """Signed distance of each score from the threshold; above 0 where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        score = super().decision_function(X)
        if not self._loss.ranking:
            return score
        sign = self._orientation()
        return margin(sign * score, self.threshold_, sign > 0)

    @abstractmethod
    def _choose_threshold(self):
        """Threshold of a ranking loss."""

    def _check_parameters(self):
        get_loss(self.loss)
        check_positive(self.radius, "radius")

    def _start(self, n_features):
        self._loss = get_loss(self.loss)
        self._loss.check()
        self._threshold = None if self._loss.ranking else 0.0

    def _constant(self):
        return float(self.intercept_scaling) if self.fit_intercept else 0.0
