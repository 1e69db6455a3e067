"""Base class of the rules that predict with a fitted winner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from csf._common.sklearn import last_name
from csf.thresholding.alerts import NO_LIMITS, AlertLimits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, Estimator, Label, Samples


@dataclass(eq=False)
class ScoredElsewhere:
    """Stands for a fitted classifier whose scores are the samples.

    Parameters
    ----------
    base : str
        Name of its class, of a pipeline that of its last step.
    reads : {"decision_function", "predict_proba"}
        Its method that gives the scores.
    classes_ : ndarray of shape (n_classes,)
        The user's labels, in the order of its columns.
    column : int, default=None
        Column of the samples with its scores, where there is one for each of several labels.
    """

    base: str
    reads: str
    classes_: Array
    column: int | None = None

    def __post_init__(self) -> None:
        setattr(self, self.reads, self._scores)

    @classmethod
    def of(cls, estimator: Estimator, reads: str | None, classes: Array, column: int | None = None) -> Self:
        """Describe a fitted classifier; raise a TypeError where it has no scores."""
        if reads is None:
            raise TypeError(f"{last_name(estimator)} has no scores, it decides alone; export best_estimator_ itself")
        return cls(last_name(estimator), reads, classes, column)

    def _scores(self, X: Array) -> Array:
        return X if self.column is None else X[:, self.column]


def refuse_limits(why: str | None) -> None:
    """Raise a ValueError where a limit on the number of positive predictions would break a demand, and say why."""
    if why is not None:
        raise ValueError(why)


class DecisionRule(ABC):
    """Rule that predicts with a fitted winner; each kind of problem has a subclass, a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    # How the rule decides about scores, and about reviews, by the names of its fields.
    in_words: ClassVar[str]
    review_in_words: ClassVar[str]
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

    @property
    @abstractmethod
    def more_than_threshold(self) -> str | None:
        """What the rule reads besides a score and one threshold of two classes; ``None`` for nothing."""

    @property
    @abstractmethod
    def score_names(self) -> Sequence[Label]:
        """Classes in the order of the estimator's columns, or labels that scores are for."""

    @abstractmethod
    def on_scores(self) -> Self:
        """Return the rule for samples that are the estimator's scores: data, without the estimator."""

    def for_rows(self, given: Mapping[str, Any]) -> Self:
        """Return the rule for rows with these arguments of `fit`, of which it takes those that it reads."""
        return self

    @property
    def threshold_proba(self) -> float | None:
        """Smallest probability of a positive prediction; ``None`` where no single number exists."""
        return None

    @abstractmethod
    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict the user's labels, of some of them no more than the capacity and limits on wrong alerts allow."""
