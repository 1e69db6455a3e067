"""Error profiles at every threshold of a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, BoolArray, Label, Values
from csf._common.validation import check_binary_target, check_class_totals, check_scores, check_weights, floats
from csf.data.responses import TIE, midpoint
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile, hull_cuts
from csf.thresholding._kernels import merge_cuts

if TYPE_CHECKING:
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- curves


# Metrics are evaluated on blocks of cuts that stay in the processor's cache.
_BLOCK = 1 << 15


class _HasViolation(Protocol):
    """Constraint that a threshold may have to satisfy."""

    def violation(self, fn: Values, fp: Values, *, pos: float) -> Values: ...


@dataclass(frozen=True)
class Cut:
    """One threshold with the error profile and the value that it achieves.

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
        """Compute a metric at every threshold.

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

    def best(self, metric: str | Metric, constraint: _HasViolation | None = None) -> Cut:
        """Choose the threshold with the largest value; of equal values the one with the fewest predicted positives.

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
        constraint = metric.constraint if constraint is None else constraint
        if constraint is None:
            cut, value = _first_best(partial(self._blocks, metric.value), metric)
            return Cut(self.threshold_of(cut), value, self._profile(cut))
        violation = self._at_every_cut(constraint.violation)
        least = np.nanmin(violation) if not np.isnan(violation).all() else np.nan
        if np.isnan(least):
            raise ValueError(f"the violation of {constraint!r} is NaN at every threshold; it must be numbers >= 0")
        feasible = bool(least <= 0)
        slack = 0.0 if feasible else _slack(least, _magnitude(violation))
        allowed = np.flatnonzero(violation <= max(least, 0.0) + slack)
        values = self.value(metric)[allowed]
        place, value = _first_best(lambda: [values], metric)
        cut = int(allowed[place])
        return Cut(self.threshold_of(cut), value, self._profile(cut), feasible)

    def fewest_errors(self) -> float:
        """Find the threshold with the fewest errors, also where one class has no weight; break ties as `best`."""
        return self.threshold_of(_first_best(lambda: [1.0 - self.fn - self.fp], "accuracy")[0])

    def at(self, threshold: float) -> ErrorProfile:
        """Compute the error profile of the rule ``score >= threshold``.

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
        """Find the index of the rule ``score >= threshold`` among the thresholds.

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
        """Compute the convex hull's corners: all thresholds that can minimise a nonnegative sum of both errors.

        Returns
        -------
        ndarray of shape (n_corners, 2)
            ``(fn, fp)`` by increasing ``fn``, so decreasing ``fp``. Points within rounding of an edge are no
            corners.
        """
        cuts = hull_cuts(self.fn, self.fp)[::-1]
        return np.column_stack((self.fn[cuts], self.fp[cuts]))

    def _at_every_cut(self, function: Callable[..., Values]) -> Array:
        result, start = np.empty(self.fn.shape[0]), 0
        for values in self._blocks(function):
            result[start : start + values.size] = values
            start += values.size
        return result

    def _blocks(self, function: Callable[..., Values]) -> Iterator[Array]:
        """Compute a function of the errors at some thresholds after the other."""
        for start in range(0, self.fn.shape[0], _BLOCK):
            fn, fp = (errors[start : start + _BLOCK] for errors in (self.fn, self.fp))
            yield np.broadcast_to(function(fn, fp, pos=self.pos), fn.shape)

    def _profile(self, cut: int) -> ErrorProfile:
        return ErrorProfile(fn=float(self.fn[cut]), fp=float(self.fp[cut]), pos=self.pos)

    def threshold_of(self, cut: int) -> float:
        """Compute one of `thresholds`, at a place, without all others."""
        if cut == self.fn.shape[0] - 1:
            return -np.inf
        return float(midpoint(self.lowest_score[cut], self.lowest_score[cut + 1]))


@dataclass(frozen=True, eq=False, repr=False)
class ValuedCurve(ThresholdCurve):
    """Curve with the values of a metric that is no function of its error profiles.

    Built by `csf.CostSearch.threshold_curve` and `csf.CostSearch.held_out_curve` for costs of rows, whose errors count
    by what they cost, and for means over samples with several labels.

    Parameters
    ----------
    lowest_score, fn, fp, pos : ndarray and float
        As for `ThresholdCurve`. For costs of rows the shares are those of all that is at stake.
    values : ndarray of shape (n_cuts,)
        Value of the search's metric at each threshold.
    counted : ThresholdCurve
        The same score, where each sample, or pair of a sample and a label, counts the same.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from csf import CostSearch
    >>> X, y = np.arange(40.0)[:, None], np.arange(40) > 15
    >>> search = CostSearch(LogisticRegression(), "cost", cv=2, n_trials=1).fit(X, y, fn_cost=X[:, 0], fp_cost=5.0)
    >>> curve = search.threshold_curve(X, y, fn_cost=X[:, 0], fp_cost=5.0)
    >>> float(curve.values[curve.cuts_at(np.inf)])  # minus what "negative" to all rows costs, per row
    -16.5
    """

    values: Array
    counted: ThresholdCurve


def _magnitude(values: Array) -> float:
    """Return the largest finite magnitude among values; NaN where there is none."""
    # Without a copy, of which millions of thresholds would have a second one.
    if not np.isfinite(largest := max(values.max(), -values.min())):
        finite = np.abs(values[np.isfinite(values)])
        largest = finite.max() if finite.size else np.nan
    return float(largest)


def _slack(level: float, magnitude: float) -> float:
    """Compute the distance from a level that rounding can explain, for values of any unit and this magnitude."""
    return TIE * max(abs(level), min(1.0, magnitude)) if np.isfinite(level) else 0.0


def _first_best(blocks: Callable[[], Iterable[Array]], metric: str | Metric) -> tuple[int, float]:
    """Return the first place of the largest value, and the value there; NaN is never the largest.

    The values come in blocks, and twice, so that those of millions of thresholds need not be held at once.
    """
    tops, magnitudes = np.transpose([(np.fmax.reduce(values), _magnitude(values)) for values in blocks()])
    if np.isnan(top := np.fmax.reduce(tops)):
        raise ValueError(f"metric {metric!r} is NaN at every allowed threshold, so there is no best one")
    least, start = top - _slack(top, np.fmax.reduce(magnitudes)), 0
    for values in blocks():
        if (place := int(np.argmax(values >= least))) or values[0] >= least:
            return start + place, float(values[place])
        start += values.size
    raise AssertionError("one of the values is the largest one")


def sweep(is_pos: BoolArray, score: Array, sample_weight: Array | None = None) -> ThresholdCurve:
    """Compute the threshold curve of valid arrays; this is the unchecked core of `threshold_curve`.

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
    score = np.asarray(score)
    if np.isnan(score).any():
        raise ValueError("scores contain NaN; accepted: finite numbers and +-inf. Impute them or drop those samples")
    n_samples = score.shape[0]
    lowest_score = np.empty(n_samples + 1)
    pos_scores, pos_weights = _descending(score, is_pos, sample_weight)
    neg_scores, neg_weights = _descending(score, ~is_pos, sample_weight)
    # The scores of negatives wait in the end of the array that the merged ones fill from the start.
    waiting = lowest_score[n_samples + 1 - neg_scores.size :]
    waiting[:] = neg_scores
    del neg_scores
    arrays = lowest_score, np.empty(n_samples + 1), np.empty(n_samples + 1)
    n_cuts, pos = merge_cuts(pos_scores, pos_weights, waiting, neg_weights, *arrays)
    # Few cuts of many samples should not keep the large arrays alive.
    wasteful = n_cuts < n_samples // 2
    lowest_score, fn, fp = (array[:n_cuts].copy() if wasteful else array[:n_cuts] for array in arrays)
    for array in (lowest_score, fn, fp):
        array.flags.writeable = False
    return ThresholdCurve(lowest_score, fn, fp, pos)


def _descending(score: Array, members: BoolArray, weight: Array | None) -> tuple[Array, Array | None]:
    """Sort the scores of a class downwards with their weights, without samples of weight zero."""
    if weight is None:
        scores = score[members]
        # In the precision of the scores, and in place: both take less.
        scores.sort()
        return scores[::-1].astype(np.float64, order="C", copy=False), None
    counted = np.flatnonzero(members & (weight > 0.0))
    order = counted[np.argsort(score[counted])[::-1]]
    return score[order].astype(np.float64, copy=False), np.asarray(weight[order], dtype=np.float64)


def threshold_curve(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label = None
) -> ThresholdCurve:
    """Compute the error profile of the rule ``score >= threshold`` at every threshold on a score.

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
    weight = check_weights(sample_weight, is_pos.shape[0], y_true=y_true, y_score=y_score)
    check_both_classes(is_pos, weight, f"sample_weight (pos_label={pos_label!r})")
    return sweep(is_pos, score, weight)


def check_both_classes(is_pos: BoolArray, sample_weight: Array | None, owner: str) -> None:
    """Raise a ValueError unless both classes have samples of positive weight."""
    weighs = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
    for name, mask in (("positive", is_pos), ("negative", ~is_pos)):
        if not weighs[mask].any():
            raise ValueError(f"{owner} leaves no {name} sample of positive weight; both classes are needed")
    check_class_totals(weighs[is_pos].sum(), weighs[~is_pos].sum(), owner)


# ---------------------------------------------------------------- several classes beside a null class


def sweep_several(
    is_pos: BoolArray, lost: BoolArray | None, score: Array, sample_weight: Array | None = None
) -> ThresholdCurve:
    """Compute the curve as `sweep` does, where some positives are predicted correctly at no threshold.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_samples,)
        ``False`` for the null class.
    lost : ndarray of bool, shape (n_samples,)
        Positives that are taken for another positive class at every threshold that predicts them positive.
    score : ndarray of shape (n_samples,)
        Scores, not NaN.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    ThresholdCurve
        All thresholds; ``fn`` counts lost samples at each of them.

    Notes
    -----
    With several classes, a rule predicts the best of the others where its score exceeds that of the null class by a
    threshold. Which one is the best does not depend on the threshold. So a sample of a positive class is right from its
    own score downwards if that best one is its class, and wrong at every threshold otherwise: leaving the latter out
    turns all rules into those of two classes, and adding their weight to every ``fn`` makes the profiles those of all
    samples.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> is_pos, lost = np.array([False, True, True, True]), np.array([False, True, False, False])
    >>> curve = sweep_several(is_pos, lost, np.array([0.2, 0.9, 0.7, 0.1]))
    >>> curve.fn, curve.fp
    (array([0.75, 0.5 , 0.5 , 0.25]), array([0.  , 0.  , 0.25, 0.25]))
    """
    if lost is None or not lost.any():
        return sweep(is_pos, score, sample_weight)
    kept = ~lost
    weight = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
    curve = sweep(is_pos[kept], score[kept], None if sample_weight is None else sample_weight[kept])
    total, pos = weight.sum(), weight[is_pos].sum() / weight.sum()
    share = weight[kept].sum() / total
    # Rounding must neither push a cut out of the box nor leave something of a class that is wrong altogether.
    fn = np.clip(pos - share * (curve.pos - curve.fn), 0.0, pos)
    fp = np.where(curve.fp >= 1.0 - curve.pos, 1.0 - pos, np.minimum(share * curve.fp, 1.0 - pos))
    fn.flags.writeable = fp.flags.writeable = False
    return ThresholdCurve(curve.lowest_score, fn, fp, float(pos))


# ---------------------------------------------------------------- thresholds on probabilities


def cost_threshold(c_fn: float, c_fp: float) -> float:
    r"""Compute the threshold on the probability of the positive class with the smallest expected cost.

    Predicting positive costs ``c_fp`` times the probability of the negative class, predicting negative ``c_fn``
    times that of the positive class.

    Parameters
    ----------
    c_fn, c_fp : float
        Costs of a false negative and of a false positive, >= 0 and not both 0.

    Returns
    -------
    float
        ``c_fp / (c_fn + c_fp)``, in [0, 1]; predict positive from there on.

    Raises
    ------
    ValueError
        If a cost is negative or NaN, or both are 0.

    Notes
    -----
    With the costs of F-beta at level t this is :math:`t / (1 + \beta^2)`, with those of the Jaccard index
    :math:`t / (1 + t)`. For a gain ``g`` of each rate the costs are ``g / pos`` and ``g / (1 - pos)``.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> cost_threshold(*FBeta(2.0).cost_weights(0.5, pos=0.1))
    0.1
    """
    for name, cost in (("c_fn", c_fn), ("c_fp", c_fp)):
        if not isinstance(cost, Real):
            raise TypeError(f"{name} must be a number >= 0, got {cost!r}")
    if not (c_fn >= 0 and c_fp >= 0 and 0 < c_fn + c_fp < np.inf):
        raise ValueError(f"costs must be >= 0, finite and not both 0, got c_fn={c_fn!r}, c_fp={c_fp!r}")
    return float(c_fp / (c_fn + c_fp))


def probability_curve(
    proba: ArrayLike, target: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> ThresholdCurve:
    """Compute the threshold curve of probabilities, counted on labels or on probabilities in their place.

    Parameters
    ----------
    proba : array-like of shape (n_samples,)
        Probability of the positive class, in [0, 1].
    target : array-like of shape (n_samples,), default=None
        What a sample counts as: 1 or ``True`` for a positive, 0 for a negative, anything between for a share of
        both. ``None`` takes ``proba`` itself: the profiles are then those expected if the probabilities are right.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    ThresholdCurve
        All thresholds on ``proba``.

    Raises
    ------
    ValueError
        If lengths differ, a probability or target is NaN or outside [0, 1], or a class weighs nothing.

    Examples
    --------
    >>> curve = probability_curve([0.9, 0.6, 0.3, 0.2])
    >>> curve.pos, curve.at(0.5)
    (0.5, ErrorProfile(fn=0.125, fp=0.125, pos=0.5))
    """
    rows = {"proba": proba, "target": target}
    proba = check_probabilities(proba, "proba")
    share = proba if target is None else check_probabilities(target, "target", proba.shape)
    weight = check_weights(sample_weight, proba.shape[0], **rows)
    weight = np.ones(proba.shape[0]) if weight is None else weight
    as_pos, as_neg = weight * share, weight * (1.0 - share)
    for name, mass in (("positive", as_pos), ("negative", as_neg)):
        if not (mass > 0).any():
            raise ValueError(f"the {name} class weighs nothing; both classes are needed")
    owner = "proba" if target is None else "target"
    check_class_totals(as_pos.sum(), as_neg.sum(), owner if sample_weight is None else f"sample_weight times {owner}")
    is_pos = np.repeat([True, False], proba.shape[0])
    return sweep(is_pos, np.concatenate((proba, proba)), np.concatenate((as_pos, as_neg)))


def check_probabilities(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Check an array of numbers in [0, 1], of a given or any one-dimensional shape; return it as float64."""
    checked = floats(values, name)
    if checked.ndim != 1 or checked.shape[0] == 0 or (shape is not None and checked.shape != shape):
        raise ValueError(f"{name} must have shape {shape or '(n_samples,)'}, got {checked.shape}")
    outside = ~((checked >= 0.0) & (checked <= 1.0))
    if outside.any():
        raise ValueError(
            f"{name} must hold probabilities in [0, 1], got {checked[outside][0]!r}; calibration='sigmoid' or "
            "'isotonic' of the classifiers makes probabilities of other scores"
        )
    return checked
