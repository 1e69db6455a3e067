"""Decisions of two classes whose threshold depends on what stands beside a row, such as its hour or its segment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from csf._common.dtypes import is_float, is_number
from csf._common.sklearn import num_samples
from csf._common.typing import Array, BoolArray, Label, Params, Samples
from csf.metrics.registry import aim
from csf.thresholding.base import refuse_limits
from csf.thresholding.curve import sweep
from csf.thresholding.rule import SCORE_IN_WORDS, ThresholdRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf.metrics.base import Metric
    from csf.thresholding.curve import Cut

# The argument of `fit` and `predict` with the values beside the rows.
BY = "by"


def beyond(score: Array, cuts: Array) -> Array:
    """Subtract each row's threshold; at least 0 exactly where the score is at least the threshold."""
    score = np.asarray(score, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(score == cuts, 0.0, score - cuts)


class ScoredRows(NamedTuple):
    """Labelled rows with their scores.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_rows,)
        Which rows are positive.
    score : ndarray of shape (n_rows,)
        Scores, larger for rows that look positive.
    beside : ndarray of shape (n_rows,)
        What the thresholds depend on, as `RowThresholds.beside` returns it.
    weight : ndarray of shape (n_rows,) or None
        Weights >= 0; ``None`` for equal ones.
    """

    is_pos: BoolArray
    score: Array
    beside: Array
    weight: Array | None

    def best_cut(self, metric: Metric, offsets: Array, share: float = 0.0) -> Cut:
        """Find the best threshold on the scores less an offset of each row.

        Parameters
        ----------
        metric : Metric
            Metric, with its constraint.
        offsets : ndarray of shape (n_rows,)
            What is subtracted from the scores.
        share : float, default=0.0
            Levels of the constraint are stricter by this share of the way to the strictest ones.

        Returns
        -------
        Cut
            The threshold, its value and whether the constraint holds.
        """
        if share and metric.constraint is not None:
            metric = aim(metric, metric.constraint.tightened(share))
        return sweep(self.is_pos, beyond(self.score, offsets), self.weight).best(metric, metric.constraint)


class TunedThresholds(NamedTuple):
    """Thresholds that were tuned on scored rows.

    Parameters
    ----------
    thresholds : RowThresholds
        The thresholds.
    value : float
        Value of the metric on these rows.
    keeps : bool, default=True
        Whether a constraint holds there.
    """

    thresholds: RowThresholds
    value: float
    keeps: bool = True


class RowThresholds(ABC):
    """Thresholds on a score that depend on a value beside each row: the ``threshold`` of a search.

    A search chooses class costs and parameters by one threshold, and tunes these thresholds on the held-out scores of
    its winner. Whatever else a search offers follows: predictions with limits, reviews, corrected values and intervals,
    certificates, rules as data, reports and monitors. A subclass is immutable, such as a frozen dataclass, and defines
    the abstract methods.

    Examples
    --------
    >>> from dataclasses import dataclass, replace
    >>> @dataclass(frozen=True)
    ... class NightThreshold(RowThresholds):
    ...     column: str = "hour"
    ...     least: float = 0.0
    ...     extra: float = 0.0
    ...     def beside(self, X, given=None):
    ...         return np.asarray(X[self.column] if given is None else given, dtype=float)
    ...     def of_rows(self, beside):
    ...         return self.least + self.extra * (beside < 6)
    ...     def tuned(self, metric, rows, share=0.0):
    ...         cuts = {extra: rows.best_cut(metric, extra * (rows.beside < 6), share) for extra in (-1.0, 0.0, 1.0)}
    ...         extra = max(cuts, key=lambda each: (cuts[each].feasible, cuts[each].value))
    ...         best = cuts[extra]
    ...         return TunedThresholds(replace(self, least=best.threshold, extra=extra), best.value, best.feasible)
    ...     @property
    ...     def parameters(self):
    ...         return {"by day": self.least, "at night": self.least + self.extra}
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf import CostSearch
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"x": rng.normal(size=600), "hour": np.arange(600) % 24})
    >>> y = (X["x"] + (X["hour"] < 6) + rng.normal(size=600) > 1.5).astype(int)
    >>> search = CostSearch(LogisticRegression(), threshold=NightThreshold(), param_grid=None, n_trials=1).fit(X, y)
    >>> list(search.thresholds_)
    ['by day', 'at night']
    """

    # What the thresholds depend on, for messages.
    in_words: ClassVar[str] = "thresholds by row"

    @abstractmethod
    def beside(self, X: Samples, given: ArrayLike | None = None) -> Array:
        """Read what the thresholds depend on.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.
        given : array-like of shape (n_rows,), default=None
            The values that `fit` and `predict` were given as ``by``, where they are no column of ``X``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers.

        Raises
        ------
        ValueError
            If values are missing, or no threshold is for them.
        """

    @abstractmethod
    def of_rows(self, beside: Array) -> Array:
        """Compute the threshold of each row.

        Parameters
        ----------
        beside : ndarray of shape (n_rows,)
            What `beside` returned.

        Returns
        -------
        ndarray of shape (n_rows,)
            Least scores of positive predictions.
        """

    @abstractmethod
    def tuned(self, metric: Metric, rows: ScoredRows, share: float = 0.0) -> TunedThresholds:
        """Tune the thresholds on scored rows.

        Parameters
        ----------
        metric : Metric
            Metric to maximise, with its constraint.
        rows : ScoredRows
            Rows.
        share : float, default=0.0
            Levels of the constraint are stricter by this share of the way to the strictest ones; certificates test
            from the strictest one on.

        Returns
        -------
        TunedThresholds
            Thresholds of the same class, with their value on these rows.
        """

    @property
    @abstractmethod
    def parameters(self) -> Mapping[Label, float]:
        """The numbers that describe the thresholds, by name, as ``thresholds_``, summary and report show them."""

    def values(self, X: Samples, given: ArrayLike | None = None) -> Array:
        """Read what the thresholds depend on, see `beside`; raise a ValueError for values without a number."""
        beside, n_rows = np.asarray(self.beside(X, given)), num_samples(X)
        if beside.shape != (n_rows,) or not is_number(beside) or (bad := ~np.isfinite(beside)).any():
            shown = (
                f"{bad.sum()} that are not finite"
                if beside.shape == (n_rows,) and is_float(beside)
                else (f"an array of shape {beside.shape} and type {beside.dtype}")
            )
            raise ValueError(
                f"{type(self).__name__}.beside must give a finite number for each of {n_rows} rows, got {shown}; fill "
                "in missing values, or drop these rows"
            )
        return beside

    @property
    def limits_broken(self) -> str | None:
        """Why a limit on the number of positive predictions would break a demand; ``None`` where it would not."""
        return None

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break a demand."""
        refuse_limits(self.limits_broken)

    def to_dict(self) -> Params:
        """Return the thresholds as plain numbers and strings.

        Returns
        -------
        dict
            The name of the class, and `parameters`.
        """
        return {"thresholds": type(self).__name__, **{str(name): value for name, value in self.parameters.items()}}


@dataclass(frozen=True, eq=False, kw_only=True)
class RowThresholdRule(ThresholdRule):
    """Rule of a fitted classifier with thresholds by row; see `ThresholdRule` for the other parameters.

    Its score is that of the classifier less the threshold of the row, so that its own threshold is 0.

    Parameters
    ----------
    thresholds : RowThresholds
        The threshold of each row.
    given : mapping, default={}
        Values of the rows that are to be predicted, as ``by``, where they are no column of the samples.
    """

    thresholds: RowThresholds
    given: Mapping[str, Any] = field(default_factory=dict)

    in_words = (
        f"{SCORE_IN_WORDS}; the class of f where s - the threshold of the row by thresholds >= threshold, else null; "
        "the `cuts` of SegmentThresholds are those of the known segments"
    )

    @property
    def more_than_threshold(self) -> str:
        """Thresholds by row."""
        return self.thresholds.in_words

    def for_rows(self, given: Mapping[str, Any]) -> Self:
        """Return the rule for rows with these arguments of `fit`."""
        return replace(self, given={BY: given[BY]}) if given.get(BY) is not None else self

    def raw(self, X: Samples) -> Array:
        """Compute the classifier's own scores."""
        return super().scored(X)[1]

    def cuts(self, X: Samples) -> Array:
        """Return the threshold of each row."""
        return self.thresholds.of_rows(self.thresholds.values(X, self.given.get(BY)))

    def scored(self, X: Samples) -> tuple[Array, Array]:
        """Return the positive class, and the score beyond the threshold of each row."""
        cuts = self.cuts(X)
        positive, score = super().scored(X)
        return positive, beyond(score, cuts)

    @property
    def limits_broken(self) -> str | None:
        """Why a limit on the number of positive predictions would break a demand; ``None`` where it would not."""
        return self.thresholds.limits_broken

    @property
    def threshold_proba(self) -> None:
        """``None``: rows have thresholds of their own."""
