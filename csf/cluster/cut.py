"""The exact best threshold on scores that are not collected: counts in bins, and a closer look where it can lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, BoolArray, FloatArray, IntArray
from csf._common.validation import check_class_totals
from csf.cluster.bins import Bins
from csf.data.responses import TIE, midpoint
from csf.metrics.profile import ErrorProfile
from csf.thresholding import Cut, ThresholdCurve, sweep

if TYPE_CHECKING:
    from csf.cluster.scored import Scored
    from csf.metrics.base import Metric

__all__ = ["CountedCut", "counted_cut", "own_decision"]

# Edges for each class in the first pass of counts, and in all of a later one.
_EDGES = 2048
# So many samples are listed score by score rather than counted in bins once more.
_LISTED = 1 << 17


@dataclass(frozen=True, eq=False)
class CountedCut:
    """The best threshold on scores that were counted, and what else the counts show.

    Parameters
    ----------
    cut : Cut or None
        The best threshold; ``None`` where only the model's own decision was asked for.
    upper : float
        No threshold is worth more: the value of ``cut`` where it is exact. NaN without a threshold.
    own : ErrorProfile
        Errors of the model's own decision.
    curve : ThresholdCurve or None
        All thresholds between bins, whose profiles are exact.
    fold_profiles : list of ErrorProfile or None
        Errors within each fold at the threshold; ``None`` for a fold without one of the classes.
    n_passes : int
        How often the scores were gone through.
    n_listed : int
        Samples whose scores were listed one by one in the last pass.
    """

    cut: Cut | None
    upper: float
    own: ErrorProfile
    curve: ThresholdCurve | None
    fold_profiles: list[ErrorProfile | None]
    n_passes: int
    n_listed: int = 0


def own_decision(scored: Scored) -> CountedCut:
    """What the model decides by itself, in one pass.

    Parameters
    ----------
    scored : Scored
        Held-out scores.

    Returns
    -------
    CountedCut
        Without a threshold.
    """
    bins = _filled(scored.counts(np.array([scored.own_cut])))
    curve = _curve(bins)
    own = curve.at(scored.own_cut)
    return CountedCut(None, np.nan, own, None, _fold_profiles(bins, scored.own_cut), 1)


def counted_cut(
    scored: Scored, metric: Metric, *, n_edges: int = _EDGES, n_listed: int = _LISTED, tol: float = 0.0
) -> CountedCut:
    r"""Find the threshold that maximises a metric, from counts alone.

    Parameters
    ----------
    scored : Scored
        Held-out scores.
    metric : Metric
        What is maximised; its ``constraint``, if any, counts.
    n_edges : int, default=2048
        Edges of bins for each class in the first pass of counts.
    n_listed : int, default=131072
        So many samples at most are listed score by score.
    tol : float, default=0.0
        Stop where no threshold can be better by more than this, in units of the metric; 0 finds the exact threshold.

    Returns
    -------
    CountedCut
        The threshold that `ThresholdCurve.best` finds on all scores.

    Raises
    ------
    ValueError
        If a score is NaN, or one class has no weight.

    Notes
    -----
    The first pass takes approximate quantiles, the second counts exactly between them. Along the scores ``fn`` and
    ``fp`` are monotone, so a metric that falls with both cannot be larger inside a bin than at the ``fn`` of its
    lower end and the ``fp`` of its upper end. Bins where that is less than the best value known are done with. The
    others are a small share of the samples: near the best threshold the metric is flat, and a bin that holds a share s
    of them is in doubt only within about :math:`\sqrt s` of it. A third pass lists their scores if these are few
    enough; else it counts in narrower bins, and a fourth one lists.

    Examples
    --------
    >>> from csf.cluster import MemoryScores, PartScores
    >>> from csf.metrics import FBeta
    >>> rng = np.random.default_rng(0)
    >>> is_pos = rng.random(10**5) < 0.1
    >>> scores = MemoryScores([PartScores(rng.normal(size=10**5) + 2 * is_pos, is_pos)])
    >>> found = counted_cut(scores, FBeta(), n_edges=100)
    >>> found.n_passes, found.n_listed < 10**4, found.cut.value
    (3, True, 0.614)
    """
    edges = scored.quantiles(n_edges)
    # Samples with a score of +inf are a bin of their own, and the model's own decision is the end of one.
    edges = np.unique(np.concatenate([edges[np.isfinite(edges)], [scored.own_cut, np.inf]]))
    bins, passes, listed = _filled(scored.counts(edges)), 2, 0
    while True:
        curve = _curve(bins)
        best = curve.best(metric, metric.constraint)
        doubtful, promise = _could_win(curve, best, bins, metric)
        if not doubtful.any() or (tol > 0.0 and best.feasible and promise - best.value <= tol):
            break
        passes += 1
        if bins.rows[doubtful].sum() <= n_listed:
            listed = int(bins.rows[doubtful].sum())
            finer = scored.distinct(bins.lowest[doubtful], bins.highest[doubtful])
        else:
            finer = scored.counts(_finer_edges(bins, doubtful, 2 * n_edges))
            finer = _within(_filled(finer), bins.lowest[doubtful], bins.highest[doubtful])
        bins = _replaced(bins, doubtful, finer)
    best = replace(best, threshold=_threshold(bins, curve, best))
    upper = max(promise, best.value)
    own, folds = curve.at(scored.own_cut), _fold_profiles(bins, best.threshold)
    return CountedCut(best, upper, own, curve, folds, passes, listed)


def _filled(bins: Bins) -> Bins:
    """Bins that hold samples."""
    return bins.take(bins.rows > 0)


def _curve(bins: Bins) -> ThresholdCurve:
    """Cuts between bins: those of samples that stand for whole bins."""
    negatives, positives = bins.sums.sum(axis=0)
    check_class_totals(positives.sum(), negatives.sum(), "the held-out part")
    is_pos = np.arange(2 * bins.rows.shape[0]) >= bins.rows.shape[0]
    return sweep(is_pos, np.tile(bins.lowest, 2), np.concatenate([negatives, positives]))


def _could_win(curve: ThresholdCurve, best: Cut, bins: Bins, metric: Metric) -> tuple[BoolArray, float]:
    """Bins that may hold a better cut, or an equal one that finds less, and the most that any of them promises."""
    # Cuts descend, bins ascend. The samples of cut k, and not of the cut before it, are those of one bin.
    first = curve.lowest_score.shape[0] - bins.rows.shape[0]
    fn, fp = (np.concatenate([[start], errors[first:]]) for errors, start in ((curve.fn, curve.pos), (curve.fp, 0.0)))
    at = int(curve.cuts_at(best.threshold))
    earlier = np.arange(first, curve.lowest_score.shape[0]) <= at
    # Linear-fractional metrics and rates are monotone in each error, if not always falling: their extremes are corners.
    corners = [(fn[i], fp[j]) for i in (slice(None, -1), slice(1, None)) for j in (slice(None, -1), slice(1, None))]
    value = np.max([_as_array(metric.value(*corner, pos=curve.pos)) for corner in corners], axis=0)
    value = np.where(np.isnan(value), np.inf, value)
    slack = TIE * max(1.0, abs(best.value)) if np.isfinite(best.value) else 0.0
    # Of equal cuts the one that finds the fewest wins: after the best one known only better ones count.
    wins = np.where(earlier, value >= best.value - slack, value > best.value)
    if metric.constraint is not None:
        wins, value = _allowed(metric.constraint, corners, curve, best, wins, value)
    wins &= (bins.lowest < bins.highest)[::-1]
    promise = float(np.max(value[wins], initial=-np.inf))
    return wins[::-1], promise


def _allowed(
    constraint: Any, corners: list[tuple[Array, Array]], curve: ThresholdCurve, best: Cut, wins: Array, value: Array
) -> tuple[BoolArray, Array]:
    """The same under a constraint: a smaller violation comes before a larger value."""
    missed = np.min([_as_array(constraint.violation(*corner, pos=curve.pos)) for corner in corners], axis=0)
    if best.feasible:
        return wins & (missed <= 0.0), value
    least = constraint.violation(best.profile.fn, best.profile.fp, pos=curve.pos)
    slack = TIE * max(1.0, abs(least))
    return (missed < least - slack) | (wins & (missed <= least + slack)) | (missed <= 0.0), value


def _as_array(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _finer_edges(bins: Bins, doubtful: BoolArray, size: int) -> Array:
    """Edges inside doubtful bins: half of them evenly spaced in value, half evenly among the numbers of a computer.

    Either halves what is left at least; the first are quick where scores are evenly spread, the others where they are
    of very different sizes.
    """
    low, high = bins.lowest[doubtful], bins.highest[doubtful]
    share = np.arange(1, max(4, size // low.shape[0]) + 1)[:, None] / max(4, size // low.shape[0])
    # The last edge of each bin is its highest score, so that at least that is parted from the others.
    with np.errstate(invalid="ignore"):
        evenly = (1.0 - share) * low + share * high
    ranks = _rank(low) + np.floor(share * (_rank(high) - _rank(low)))
    edges = np.concatenate([low, high, np.nextafter(high, np.inf), evenly.ravel(), _number(ranks).ravel()])
    return np.unique(edges[~np.isnan(edges)])


def _rank(score: Array) -> Array:
    """Numbers, as float, that grow with the bits of a score."""
    bits = np.ascontiguousarray(score + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1))).astype(np.float64)


def _number(rank: Array) -> Array:
    """About the inverse of `_rank`."""
    size = np.abs(rank).astype(np.int64)
    return np.copysign(size.view(np.float64), rank)


def _within(bins: Bins, low: Array, high: Array) -> Bins:
    """Bins inside intervals."""
    place = np.searchsorted(low, bins.lowest, side="right") - 1
    return bins.take((place >= 0) & (bins.highest <= high[place]))


def _replaced(bins: Bins, doubtful: BoolArray, finer: Bins) -> Bins:
    """Bins with some of them replaced by finer ones, ascending."""
    kept = bins.take(~doubtful)
    order = np.argsort(np.concatenate([kept.lowest, finer.lowest]))

    def both(one: Array, other: Array) -> Array:
        return np.concatenate([one, other], axis=-1)[..., order]

    names = ("lowest", "highest", "rows", "sums")
    return Bins(*(both(getattr(kept, name), getattr(finer, name)) for name in names))


def _threshold(bins: Bins, curve: ThresholdCurve, best: Cut) -> float:
    """Halfway between the lowest score that is found and the highest one that is not."""
    at = int(curve.cuts_at(best.threshold))
    found = curve.lowest_score[at]
    below = np.flatnonzero(bins.lowest < found)
    if not np.isfinite(best.threshold) or not below.size:
        return best.threshold
    lower = bins.highest[below[-1]]
    return float(midpoint(found, lower))


def _fold_profiles(bins: Bins, threshold: float) -> list[ErrorProfile | None]:
    """Errors within each fold at a cut between bins."""
    found: IntArray = np.flatnonzero(bins.lowest >= threshold)
    profiles: list[ErrorProfile | None] = []
    for negatives, positives in bins.sums:
        total_pos, total_neg = positives.sum(), negatives.sum()
        if not (total_pos > 0 and total_neg > 0):
            profiles.append(None)
            continue
        tp, fp = min(positives[found].sum(), total_pos), min(negatives[found].sum(), total_neg)
        profiles.append(ErrorProfile.from_counts(tp=tp, fn=total_pos - tp, fp=fp, tn=total_neg - fp))
    return profiles
