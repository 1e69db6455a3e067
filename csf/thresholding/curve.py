"""The error profile at every threshold on a score, and the best threshold for a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, BoolArray, Label, Values
from csf._common.validation import check_binary_target, check_class_totals, check_scores, check_weights
from csf.data.responses import TIE, midpoint
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile
from csf.thresholding._kernels import hull_cuts, merge_cuts, merge_weighted_cuts
from csf.thresholding._sorting import sorted_samples, sorted_scores

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["Cut", "ThresholdCurve", "sweep", "threshold_curve"]

# Metrics are evaluated on blocks of cuts that stay in the processor's cache.
_BLOCK = 1 << 15


class _Demand(Protocol):
    """What a cut can be asked for besides."""

    def violation(self, fn: Values, fp: Values, *, pos: float) -> Values: ...


@dataclass(frozen=True)
class Cut:
    """One threshold and what it achieves.

    Parameters
    ----------
    threshold : float
        Predict positive when ``score >= threshold``; +inf predicts nothing positive, -inf everything.
    value : float
        Value of the metric.
    profile : ErrorProfile
        Error profile of the rule.
    feasible : bool
        Whether the constraint holds; ``True`` without one.

    Examples
    --------
    >>> cut = threshold_curve([0, 1, 1], [0.2, 0.4, 0.8]).best("recall")
    >>> cut.threshold, cut.value, cut.profile.fpr
    (0.3, 1.0, 0.0)
    """

    threshold: float
    value: float
    profile: ErrorProfile
    feasible: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCurve:
    """Error profiles of the rule ``score >= threshold`` at every threshold on one score.

    A threshold never separates equal scores. Thresholds go from the fewest to the most predicted positives. Built by
    `threshold_curve` or `sweep`.

    Parameters
    ----------
    lowest_score : ndarray of shape (n_cuts,)
        Smallest score predicted positive at each threshold, decreasing; +inf at the first.
    fn, fp : ndarray of shape (n_cuts,)
        Shares of *all* samples: false negatives fall from ``pos`` to 0, false positives rise from 0 to
        ``1 - pos``.
    pos : float
        Share of positives.

    Notes
    -----
    The first threshold predicts nothing positive and the last everything. Only where some scores are +inf there is no
    threshold that predicts nothing: the first one then predicts those samples positive, so that each threshold can be
    applied.

    Examples
    --------
    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.thresholds
    array([  inf, 0.6  , 0.375, 0.225,  -inf])
    >>> curve.best("f1")
    Cut(threshold=0.225, value=0.8, profile=ErrorProfile(fn=0.0, fp=0.25, pos=0.5), feasible=True)
    """

    lowest_score: Array
    fn: Array
    fp: Array
    pos: float

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_cuts={self.fn.shape[0]}, pos={self.pos:.6g})"

    @cached_property
    def thresholds(self) -> Array:
        """Thresholds between the scores, decreasing from +inf to -inf: midpoints between neighbouring distinct scores.

        The upper score itself where there is no number between them, or the lower one is -inf.
        """
        inner = midpoint(self.lowest_score[1:-1], self.lowest_score[2:])
        # Where all scores are infinite there is one cut, which finds all.
        thresholds = np.concatenate([[np.inf], inner, [-np.inf]])[-self.lowest_score.size :]
        thresholds.flags.writeable = False
        return thresholds

    def value(self, metric: str | Metric) -> Array:
        """Value of a metric at every threshold.

        Parameters
        ----------
        metric : str or Metric
            A name in ``csf.metrics.METRICS`` or a metric.

        Returns
        -------
        ndarray of shape (n_cuts,)
            One value for each threshold.
        """
        metric = get_metric(metric)
        return self._at_every_cut(metric.value)

    def best(self, metric: str | Metric, constraint: _Demand | None = None) -> Cut:
        """The threshold with the largest value; of equal values the one with the fewest predicted positives.

        Parameters
        ----------
        metric : str or Metric
            What to maximise.
        constraint : object with ``violation(fn, fp, *, pos)``, default=None
            The method returns an array >= 0, zero where an error profile is allowed. ``None`` takes that of the
            metric, where this has one.

        Returns
        -------
        Cut
            The best allowed threshold. When none is allowed: the one with the smallest violation (of equal ones the
            largest value), with ``feasible=False``.

        Raises
        ------
        ValueError
            If the metric, or the violation, is NaN at every threshold.

        Notes
        -----
        Values that differ by rounding only (8 units in the last place) count as equal.
        """
        metric = get_metric(metric)
        constraint, values = metric.constraint if constraint is None else constraint, self.value(metric)
        allowed, feasible = None, True
        if constraint is not None:
            violation = self._at_every_cut(constraint.violation)
            least = np.nanmin(violation) if not np.isnan(violation).all() else np.nan
            if np.isnan(least):
                raise ValueError(f"the violation of {constraint!r} is NaN at every threshold; it must be numbers >= 0")
            feasible = bool(least <= 0)
            allowed = np.flatnonzero(violation <= (0.0 if feasible else least + _slack(violation, least)))
        cut = _first_best(values if allowed is None else values[allowed], metric)
        cut = cut if allowed is None else int(allowed[cut])
        return Cut(self._threshold(cut), float(values[cut]), self._profile(cut), feasible)

    def at(self, threshold: float) -> ErrorProfile:
        """Error profile of the rule ``score >= threshold``.

        Parameters
        ----------
        threshold : float
            Any threshold, infinite ones included.

        Returns
        -------
        ErrorProfile
            Profile on the samples of the curve.

        Raises
        ------
        ValueError
            If the threshold is NaN.
        """
        return self._profile(int(self.cuts_at(threshold)))

    def cuts_at(self, thresholds: Values) -> Values:
        """Index of the rule ``score >= threshold`` among the thresholds.

        Parameters
        ----------
        thresholds : float or ndarray
            Any thresholds, infinite ones included.

        Returns
        -------
        int or ndarray of int
            Indices into `fn` and `fp`.

        Raises
        ------
        ValueError
            If a threshold is NaN.
        """
        if np.isnan(thresholds).any():
            raise ValueError(f"threshold must be a number or +-inf, got {thresholds!r}")
        return self.lowest_score.shape[0] - np.searchsorted(self.lowest_score[::-1], thresholds, side="left") - 1

    def lower_hull(self) -> Array:
        """Corners of the convex hull of all thresholds that can minimise a nonnegative combination of both errors.

        Returns
        -------
        ndarray of shape (n_corners, 2)
            ``(fn, fp)`` by increasing ``fn``, so decreasing ``fp``. Points within rounding of an edge are no
            corners.
        """
        cuts = hull_cuts(self.fn, self.fp)[::-1]
        return np.column_stack((self.fn[cuts], self.fp[cuts]))

    def _at_every_cut(self, function: Callable[..., Values]) -> Array:
        result = np.empty(self.fn.shape[0])
        for start in range(0, result.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = function(self.fn[block], self.fp[block], pos=self.pos)
        return result

    def _profile(self, cut: int) -> ErrorProfile:
        return ErrorProfile(fn=float(self.fn[cut]), fp=float(self.fp[cut]), pos=self.pos)

    def _threshold(self, cut: int) -> float:
        """One threshold, without those of all other cuts."""
        if cut == self.fn.shape[0] - 1:
            return -np.inf
        return float(midpoint(self.lowest_score[cut], self.lowest_score[cut + 1]))


def _slack(values: Array, level: float) -> float:
    """Distance from ``level`` that rounding can explain, for values of any unit."""
    if not np.isfinite(level):
        return 0.0
    sizes = np.abs(values)
    if not np.isfinite(largest := sizes.max()):
        largest = sizes[np.isfinite(sizes)].max()
    return TIE * max(abs(level), min(1.0, largest))


def _first_best(values: Array, metric: str | Metric) -> int:
    """First index of the largest value; NaN never wins."""
    if np.isnan(top := values.max()):
        missing = np.isnan(values)
        if missing.all():
            raise ValueError(f"metric {metric!r} is NaN at every allowed threshold, so there is no best one")
        values = np.where(missing, -np.inf, values)
        top = values.max()
    return int(np.argmax(values >= top - _slack(values, top)))


def sweep(is_pos: BoolArray, score: Array, sample_weight: Array | None = None) -> ThresholdCurve:
    """Threshold curve of valid arrays; the unchecked core of `threshold_curve`.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_samples,)
        Truth.
    score : ndarray of shape (n_samples,)
        Larger means more likely positive; infinities are allowed.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0; samples of weight zero do not count at all.

    Returns
    -------
    ThresholdCurve
        All thresholds.

    Raises
    ------
    ValueError
        If a score is NaN.

    Notes
    -----
    Scores of the two classes are sorted apart, by value, and merged; that takes less time than an argsort.

    Examples
    --------
    >>> import numpy as np
    >>> sweep(np.array([False, True, True]), np.array([0.2, 0.2, 0.7])).fp
    array([0.   , 0.   , 0.333])
    """
    score = np.ascontiguousarray(score, dtype=np.float64)
    n_samples = score.shape[0]
    if sample_weight is None:
        pos_scores, neg_scores = sorted_scores(score, is_pos)
        arrays = tuple(np.empty(n_samples + 1) for _ in range(3))
        n_cuts, pos = merge_cuts(pos_scores, neg_scores, *arrays)
    else:
        samples = sorted_samples(score, is_pos, np.ascontiguousarray(sample_weight, dtype=np.float64))
        arrays = tuple(np.empty(n_samples + 1) for _ in range(3))
        n_cuts, pos = merge_weighted_cuts(*samples, *arrays)
    # Few cuts of many samples should not keep the large arrays alive.
    wasteful = n_cuts < n_samples // 2
    lowest_score, fn, fp = (array[:n_cuts].copy() if wasteful else array[:n_cuts] for array in arrays)
    for array in (lowest_score, fn, fp):
        array.flags.writeable = False
    return ThresholdCurve(lowest_score, fn, fp, pos)


def threshold_curve(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label = None
) -> ThresholdCurve:
    """Error profile of the rule ``score >= threshold`` at every threshold on a score.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of two classes.
    y_score : array-like of shape (n_samples,)
        Scores or probabilities of the positive class: larger means more likely positive; +-inf allowed.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0, positive for at least one sample of each class.
    pos_label : label, default=None
        The positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    ThresholdCurve
        All thresholds.

    Raises
    ------
    ValueError
        If lengths differ, scores are NaN or not numbers, or a class is absent or weighs nothing.

    References
    ----------
    .. [1] O. Koyejo, N. Natarajan, P. Ravikumar, I. Dhillon, "Consistent binary classification with generalized
       performance metrics", NIPS 2014.

    Examples
    --------
    >>> curve = threshold_curve(["no", "yes", "no", "yes"], [0.2, 0.9, 0.4, 0.3], pos_label="yes")
    >>> curve.best("f1").value, curve.best("f1").threshold
    (0.8, 0.25)
    """
    _, is_pos, pos_label = check_binary_target(y_true, pos_label)
    score = check_scores(y_score, is_pos.shape[0])
    weight = check_weights(sample_weight, is_pos.shape[0])
    check_both_classes(is_pos, weight, f"sample_weight (pos_label={pos_label!r})")
    return sweep(is_pos, score, weight)


def check_both_classes(is_pos: BoolArray, sample_weight: Array | None, owner: str) -> None:
    """Raise a ValueError unless both classes have samples of positive weight."""
    weighs = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
    for name, mask in (("positive", is_pos), ("negative", ~is_pos)):
        if not weighs[mask].any():
            raise ValueError(f"{owner} leaves no {name} sample of positive weight; both classes are needed")
    check_class_totals(weighs[is_pos].sum(), weighs[~is_pos].sum(), owner)
