"""Base class of the rules that predict with a fitted winner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar

from csf.thresholding.alerts import NO_LIMITS, AlertLimits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, Estimator, Samples
    from csf.thresholding.curve import ThresholdCurve


class DecisionRule(ABC):
    """Rule that predicts with a fitted winner; each kind of problem has a subclass, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    estimator: Estimator
    # Threshold, or one for each label; None for rules without one.
    threshold: Any

    @abstractmethod
    def predict(self, X: Samples) -> Array:
        """Predict the user's labels."""

    @abstractmethod
    def value(self, metric: Any, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Compute a metric of predicted labels."""

    def score(self, metric: Any, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute a metric of the predictions."""
        return self.value(metric, y, self.predict(X), sample_weight)

    @abstractmethod
    def decision_function(self, X: Samples) -> Array:
        """Compute the scores that decide."""

    @abstractmethod
    def predict_proba(self, X: Samples) -> Array:
        """Predict probabilities, with the costs of the training taken out."""

    @abstractmethod
    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """Compute the curve of all thresholds; raise a ValueError where none decides."""

    @property
    def threshold_proba(self) -> float | None:
        """Smallest probability of a positive prediction; ``None`` where no single number exists."""
        return None

    @abstractmethod
    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict the user's labels, of some of them no more than the capacity and limits on wrong alerts allow."""
