"""Scores as weighted counts in bins, and the exact best threshold computed from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, FloatArray, IntArray, Values
from csf._common.validation import check_class_totals
from csf.data.responses import TIE, midpoint
from csf.metrics.profile import ErrorProfile
from csf.thresholding.curve import Cut, ThresholdCurve, sweep

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint

# ---------------------------------------------------------------- bins


_NAN_SCORES = "the base gave NaN scores"


@dataclass(frozen=True, eq=False)
class Bins:
    """Weighted counts of both classes in bins of the score, for each fold.

    Samples of weight zero are not counted.

    Parameters
    ----------
    lowest, highest : ndarray of shape (n_bins,)
        Smallest and largest score in each bin; +inf and -inf in an empty one.
    rows : ndarray of int, shape (n_bins,)
        Number of samples.
    weight : ndarray of shape (n_folds, 2, n_bins)
        Sum of weights of the negatives (at 0) and the positives (at 1) of each fold.
    rest : ndarray of shape (n_folds, 2, n_bins), default=None
        Rounding errors of these sums, where they were kept; ``None`` if they were not.

    Examples
    --------
    >>> bins = count_bins(np.array([0.1, 0.4, 0.8]), np.array([False, True, True]), None, None, np.array([0.3]))
    >>> bins.weight[0].tolist(), bins.lowest.tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [0.1, 0.4])
    """

    lowest: Array
    highest: Array
    rows: IntArray
    weight: Array
    rest: Array | None = None

    @property
    def sums(self) -> Array:
        """Sums of weights with their rounding errors added, rounded once."""
        return self.weight if self.rest is None else self.weight + self.rest

    def take(self, at: IntArray | BoolArray) -> Self:
        """Select some of the bins.

        Parameters
        ----------
        at : ndarray of int or bool
            Indices or mask of the bins.

        Returns
        -------
        Bins
            The selected bins.
        """
        rest = None if self.rest is None else self.rest[..., at]
        return type(self)(self.lowest[at], self.highest[at], self.rows[at], self.weight[..., at], rest)


def count_bins(
    score: Array,
    is_pos: BoolArray,
    weight: Array | None,
    fold: IntArray | None,
    edges: Array,
    *,
    n_folds: int = 1,
) -> Bins:
    """Count one part between ascending edges, as in `Scored.counts`; raise a ValueError if a score is NaN."""
    score = np.ascontiguousarray(score, dtype=np.float64)
    n, size = score.shape[0], edges.shape[0] + 1
    weight = np.ones(n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    fold = np.zeros(n, dtype=np.int64) if fold is None else np.ascontiguousarray(fold, dtype=np.int64)
    bins = empty_bins(size, n_folds)
    assert bins.rest is not None
    edges = np.ascontiguousarray(edges, dtype=np.float64)
    sums = bins.lowest, bins.highest, bins.rows, bins.weight, bins.rest
    if not _count(score, np.ascontiguousarray(is_pos), weight, fold, edges, *sums):
        raise ValueError(_NAN_SCORES)
    return bins


def empty_bins(size: int, n_folds: int) -> Bins:
    """Make bins without samples."""
    weight, rest = np.zeros((2, n_folds, 2, size))
    return Bins(np.full(size, np.inf), np.full(size, -np.inf), np.zeros(size, dtype=np.int64), weight, rest)


@njit(cache=True, nogil=True)
def _count(score, is_pos, weight, fold, edges, lowest, highest, rows, total, rest):
    """Add samples to bins, with compensated sums; return False if a score is NaN."""
    for i in range(score.shape[0]):
        s, w = score[i], weight[i]
        if s != s:
            return False
        if not w > 0.0:
            continue
        low, high = 0, edges.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] <= s:
                low = middle + 1
            else:
                high = middle
        lowest[low], highest[low] = min(lowest[low], s), max(highest[low], s)
        rows[low] += 1
        f, c = fold[i], 1 if is_pos[i] else 0
        before = total[f, c, low]
        grown = before + w
        part = grown - before
        rest[f, c, low] += (before - (grown - part)) + (w - part)
        total[f, c, low] = grown
    return True


def add_bins(parts: Sequence[Bins]) -> Bins:
    """Add the counts of several parts in the same bins."""
    lowest = np.min([part.lowest for part in parts], axis=0)
    highest = np.max([part.highest for part in parts], axis=0)
    rows = np.sum([part.rows for part in parts], axis=0)
    weight: Array = np.zeros_like(parts[0].weight)
    rest: Array = np.zeros_like(weight)
    for part in parts:
        weight, rest = _sum(weight, rest, part.weight, part.rest)
    return Bins(lowest, highest, rows, weight, rest)


def _sum(weight: Array, rest: Array, more: Array, more_rest: Array | None) -> tuple[Array, Array]:
    """Add two compensated sums, with compensation."""
    grown = weight + more
    part = grown - weight
    lost = (weight - (grown - part)) + (more - part)
    return grown, rest + lost if more_rest is None else rest + more_rest + lost


def count_distinct(
    score: Array,
    is_pos: BoolArray,
    weight: Array | None,
    fold: IntArray | None,
    low: Array,
    high: Array,
    *,
    n_folds: int = 1,
) -> Bins:
    """Count one part at each distinct score within intervals, as in `Scored.distinct`."""
    if np.isnan(score).any():
        raise ValueError(_NAN_SCORES)
    score = np.asarray(score, dtype=np.float64)
    place = np.searchsorted(low, score, side="right") - 1
    inside = np.flatnonzero((place >= 0) & (score <= high[place]))
    score = score[inside]
    weight, fold = (None if values is None else values[inside] for values in (weight, fold))
    # A bin begins at each score, so that the first bin of all is empty.
    bins = count_bins(score, is_pos[inside], weight, fold, np.unique(score), n_folds=n_folds)
    return bins.take(bins.rows > 0)


def unite_bins(parts: Sequence[Bins]) -> Bins:
    """Merge the counts of several parts at distinct scores: one bin for each score of any part, ascending."""
    scores = np.unique(np.concatenate([part.lowest for part in parts]))
    whole = empty_bins(scores.shape[0], parts[0].weight.shape[0])
    assert whole.rest is not None
    whole.lowest[:], whole.highest[:] = scores, scores
    for part in parts:
        places = np.searchsorted(scores, part.lowest)
        whole.rows[places] += part.rows
        sums = _sum(whole.weight[..., places], whole.rest[..., places], part.weight, part.rest)
        whole.weight[..., places], whole.rest[..., places] = sums
    return whole


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Approximate quantiles of the scores of each class.

    Parameters
    ----------
    scores : tuple of ndarray
        Ascending scores of negatives and of positives that represent all of them.
    mass : tuple of ndarray
        Number of samples that each score represents.

    Examples
    --------
    >>> score = np.arange(1000.0)
    >>> Quantiles.of_part(score, score >= 500, 5).edges().tolist()
    [50.0, 150.0, 250.0, 350.0, 450.0, 550.0, 650.0, 750.0, 850.0, 950.0]
    """

    scores: tuple[Array, Array]
    mass: tuple[Array, Array]

    @classmethod
    def of_part(cls, score: Array, is_pos: BoolArray, size: int) -> Self:
        """Compute the quantiles of one part of the data.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores; NaN are left out.
        is_pos : ndarray of bool, shape (n_samples,)
            Truth.
        size : int
            Number of scores to keep of each class.

        Returns
        -------
        Quantiles
            At evenly spaced ranks.
        """
        score = np.asarray(score, dtype=np.float64)
        kept = [_thinned(score[side & ~np.isnan(score)], None, size) for side in (~is_pos, is_pos)]
        (negatives, n_mass), (positives, p_mass) = kept
        return cls((negatives, positives), (n_mass, p_mass))

    def edges(self) -> Array:
        """Return all scores, ascending and distinct."""
        return np.unique(np.concatenate(self.scores))


def _thinned(score: Array, mass: Array | None, size: int) -> tuple[Array, Array]:
    """Keep at most ``size`` scores at evenly spaced ranks, and the number of samples that each represents."""
    order = np.argsort(score, kind="stable")
    score, mass = score[order], None if mass is None else mass[order]
    if score.shape[0] <= size:
        return score, np.ones(score.shape[0]) if mass is None else mass
    reached = np.arange(1.0, score.shape[0] + 1.0) if mass is None else np.cumsum(mass)
    total = reached[-1]
    places = np.searchsorted(reached, (np.arange(size) + 0.5) * total / size, side="right")
    return score[np.minimum(places, score.shape[0] - 1)], np.full(size, total / size)


def merge_quantiles(parts: Sequence[Quantiles], size: int) -> Quantiles:
    """Merge the quantiles of several parts; each merge adds a rank error of at most one part in ``size``."""
    merged = [
        _thinned(np.concatenate([p.scores[c] for p in parts]), np.concatenate([p.mass[c] for p in parts]), size)
        for c in (0, 1)
    ]
    (negatives, n_mass), (positives, p_mass) = merged
    return Quantiles((negatives, positives), (n_mass, p_mass))


# ---------------------------------------------------------------- scores that stay where they are


class Scored(ABC):
    """Held-out scores of one trial, counted where they are stored; only counts are returned.

    Each sample has the score that the model of its fold gives it; samples that are never held out have none and are
    left out. Samples of weight zero do not count.

    Attributes
    ----------
    own_cut : float
        The model's own decision is positive where the score is at least this.
    method : str
        Method of scikit-learn that scores such as these are of.
    """

    own_cut: float = 0.0
    method: str = "decision_function"

    @abstractmethod
    def quantiles(self, size: int) -> Array:
        """Return scores at roughly evenly spaced ranks, by any method, as candidate edges of bins.

        Parameters
        ----------
        size : int
            Approximate number of scores for each class.

        Returns
        -------
        ndarray of shape (n_edges,)
            Ascending distinct numbers. They affect only the number of passes.
        """

    @abstractmethod
    def counts(self, edges: Array) -> Bins:
        """Count the samples between edges exactly, in one pass.

        Parameters
        ----------
        edges : ndarray of shape (n_edges,)
            Ascending; bin k holds ``edges[k - 1] <= score < edges[k]``.

        Returns
        -------
        Bins
            ``n_edges + 1`` bins.

        Raises
        ------
        ValueError
            If a score is NaN.
        """

    @abstractmethod
    def distinct(self, low: Array, high: Array) -> Bins:
        """Count the samples at each distinct score within some intervals exactly, in one pass.

        Parameters
        ----------
        low, high : ndarray of shape (n_intervals,)
            Ends of the intervals, which are closed, ascending and disjoint. They are intervals where `counts` returned
            few samples.

        Returns
        -------
        Bins
            One bin for each distinct score, ascending.
        """

    def collected(self) -> Array | None:
        """Return all scores, in the order of `Engine.entries`, if the engine gives these entries.

        Returns
        -------
        ndarray of shape (n_entries,) or None
            Scores; ``None`` (the default) where they stay where they are.
        """
        return None


class PartScores(NamedTuple):
    """Held-out scores of one part of the data.

    Parameters
    ----------
    score : ndarray of shape (n_samples,)
        Scores.
    is_pos : ndarray of bool, shape (n_samples,)
        Truth; the codes of the true classes where there are several.
    weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    fold : ndarray of int, shape (n_samples,), default=None
        Fold of each sample; ``None`` where there is one.
    """

    score: Array
    is_pos: BoolArray
    weight: Array | None = None
    fold: IntArray | None = None

    def quantiles(self, size: int) -> Quantiles:
        """See `Scored.quantiles`."""
        counted = slice(None) if self.weight is None else self.weight > 0
        return Quantiles.of_part(self.score[counted], self.is_pos[counted], size)

    def counts(self, edges: Array, n_folds: int) -> Bins:
        """See `Scored.counts`."""
        return count_bins(*self, edges, n_folds=n_folds)

    def distinct(self, low: Array, high: Array, n_folds: int) -> Bins:
        """See `Scored.distinct`."""
        return count_distinct(*self, low, high, n_folds=n_folds)


# What is done with a part, and what makes one of several results of it.
Result = TypeVar("Result")
OfPart: TypeAlias = Callable[[PartScores], Result]
OfResults: TypeAlias = Callable[[Sequence[Result]], Result]


class PartedScores(Scored):
    """Scores of an engine that runs Python on the parts of its data; subclasses write a single method.

    Parameters
    ----------
    n_folds : int
        Number of folds.
    own_cut : float
        See `Scored`.
    """

    def __init__(self, n_folds: int, own_cut: float) -> None:
        self.n_folds, self.own_cut = n_folds, own_cut

    @abstractmethod
    def reduced(self, of_part: OfPart[Result], of_results: OfResults[Result]) -> Result:
        """Run a function on the scores of each part, where that part is stored, and merge the results, a few at a time.

        Parameters
        ----------
        of_part : callable
            ``of_part(part_scores)``; it can be pickled.
        of_results : callable
            ``of_results(results)`` of some parts is again a result; its order does not matter but for rounding.

        Returns
        -------
        object
            The result of all parts.
        """

    def quantiles(self, size: int) -> Array:
        """See `Scored.quantiles`."""
        merged = self.reduced(partial(PartScores.quantiles, size=size), partial(merge_quantiles, size=size))
        return merge_quantiles([merged], size).edges()

    def counts(self, edges: Array) -> Bins:
        """See `Scored.counts`."""
        return self.reduced(partial(PartScores.counts, edges=edges, n_folds=self.n_folds), add_bins)

    def distinct(self, low: Array, high: Array) -> Bins:
        """See `Scored.distinct`."""
        return self.reduced(partial(PartScores.distinct, low=low, high=high, n_folds=self.n_folds), unite_bins)

    def collected(self) -> Array:
        """See `Scored.collected`."""
        return self.reduced(score_of, np.concatenate)


def score_of(part: PartScores) -> Array:
    """Return the scores of a part."""
    return part.score


class MemoryScores(PartedScores):
    """Scores in memory, in one part or several.

    Parameters
    ----------
    parts : sequence of PartScores
        The parts.
    n_folds : int, default=1
        Number of folds.
    own_cut : float, default=0.0
        See `Scored`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = MemoryScores([PartScores(np.array([0.1, 0.4]), np.array([False, True]))])
    >>> scores.counts(np.array([0.3])).rows.tolist()
    [1, 1]
    """

    def __init__(self, parts: Sequence[PartScores], n_folds: int = 1, own_cut: float = 0.0) -> None:
        super().__init__(n_folds, own_cut)
        self.parts = list(parts)

    def reduced(self, of_part: OfPart[Result], of_results: OfResults[Result]) -> Result:
        """See `PartedScores.reduced`."""
        return of_results([of_part(part) for part in self.parts])


# ---------------------------------------------------------------- the exact best threshold


# Edges for each class in the first pass of counts, and in all of a later one.
_EDGES = 2048
# So many samples are listed score by score rather than counted in bins once more.
_LISTED = 1 << 17


@dataclass(frozen=True, eq=False)
class CountedCut:
    """Best threshold on counted scores, with the other results of the counts.

    Parameters
    ----------
    cut : Cut or None
        The best threshold; ``None`` where only the model's own decision was requested.
    own : ErrorProfile
        Errors of the model's own decision.
    curve : ThresholdCurve or None
        All thresholds between bins, whose profiles are exact.
    fold_profiles : list of ErrorProfile or None
        Errors within each fold at the threshold; ``None`` for a fold without one of the classes.
    n_passes : int
        Number of passes over the scores.
    n_listed : int
        Number of samples whose scores were listed one by one in the last pass.
    """

    cut: Cut | None
    own: ErrorProfile
    curve: ThresholdCurve | None
    fold_profiles: list[ErrorProfile | None]
    n_passes: int
    n_listed: int = 0


def own_decision(scored: Scored) -> CountedCut:
    """Count the errors of the model's own decision, in one pass.

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
    profile = curve.at(scored.own_cut)
    return CountedCut(None, profile, None, _fold_profiles(bins, scored.own_cut), 1)


def counted_cut(scored: Scored, metric: Metric, *, n_edges: int = _EDGES, n_listed: int = _LISTED) -> CountedCut:
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
        Largest number of samples whose scores are listed one by one.

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
    lower end and the ``fp`` of its upper end. Bins where that is less than the best value known are excluded. The
    others are a small share of the samples: near the best threshold the metric is flat, and a bin that holds a share s
    of them is in doubt only within about :math:`\sqrt s` of it. A third pass lists their scores if these are few
    enough; else it counts in narrower bins, and a fourth one lists.

    Examples
    --------
    >>> from csf.distributed import MemoryScores, PartScores
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
        doubtful = _could_win(curve, best, bins, metric)
        if not doubtful.any():
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
    profile, folds = curve.at(scored.own_cut), _fold_profiles(bins, best.threshold)
    return CountedCut(best, profile, curve, folds, passes, listed)


def _filled(bins: Bins) -> Bins:
    """Select the bins that hold samples."""
    return bins.take(bins.rows > 0)


def _curve(bins: Bins) -> ThresholdCurve:
    """Compute the thresholds between bins, each of which counts as one negative and one positive sample."""
    negatives, positives = bins.sums.sum(axis=0)
    check_class_totals(positives.sum(), negatives.sum(), "the held-out part")
    is_pos = np.arange(2 * bins.rows.shape[0]) >= bins.rows.shape[0]
    return sweep(is_pos, np.tile(bins.lowest, 2), np.concatenate([negatives, positives]))


def _could_win(curve: ThresholdCurve, best: Cut, bins: Bins, metric: Metric) -> BoolArray:
    """Select the bins that may hold a better threshold, or an equal one that predicts fewer positives."""
    # Cuts descend, bins ascend. The samples of cut k, and not of the cut before it, are those of one bin.
    first = curve.lowest_score.shape[0] - bins.rows.shape[0]
    fn, fp = (np.concatenate([[start], errors[first:]]) for errors, start in ((curve.fn, curve.pos), (curve.fp, 0.0)))
    best_cut = int(curve.cuts_at(best.threshold))
    earlier = np.arange(first, curve.lowest_score.shape[0]) <= best_cut
    # Linear-fractional metrics and rates are monotone in each error, if not always falling: their extremes are corners.
    corners = [(fn[i], fp[j]) for i in (slice(None, -1), slice(1, None)) for j in (slice(None, -1), slice(1, None))]
    value = np.max([_as_array(metric.value(*corner, pos=curve.pos)) for corner in corners], axis=0)
    value = np.where(np.isnan(value), np.inf, value)
    slack = TIE * max(1.0, abs(best.value)) if np.isfinite(best.value) else 0.0
    # Of equal cuts the one that finds the fewest wins: after the best one known only better ones count.
    wins = np.where(earlier, value >= best.value - slack, value > best.value)
    if metric.constraint is not None:
        wins = _allowed(metric.constraint, corners, curve, best, wins)
    wins &= (bins.lowest < bins.highest)[::-1]
    return wins[::-1]


def _allowed(
    constraint: Constraint, corners: list[tuple[Array, Array]], curve: ThresholdCurve, best: Cut, wins: Array
) -> BoolArray:
    """Restrict the selection by a constraint: a smaller violation comes before a larger value."""
    missed = np.min([_as_array(constraint.violation(*corner, pos=curve.pos)) for corner in corners], axis=0)
    if best.feasible:
        return wins & (missed <= 0.0)
    least = constraint.violation(best.profile.fn, best.profile.fp, pos=curve.pos)
    slack = TIE * max(1.0, abs(least))
    return (missed < least - slack) | (wins & (missed <= least + slack)) | (missed <= 0.0)


def _as_array(values: Values) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _finer_edges(bins: Bins, doubtful: BoolArray, size: int) -> Array:
    """Choose edges inside doubtful bins: half evenly spaced in value, half among the floating-point numbers.

    Either set of edges at least halves the intervals that remain; the first is faster where scores are evenly spread,
    the other where their magnitudes differ widely.
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
    """Return integers, as floats, that increase with the bits of a score."""
    bits = np.ascontiguousarray(score + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.int64(2**63 - 1))).astype(np.float64)


def _number(rank: Array) -> Array:
    """Invert `_rank`, approximately."""
    size = np.abs(rank).astype(np.int64)
    return np.copysign(size.view(np.float64), rank)


def _within(bins: Bins, low: Array, high: Array) -> Bins:
    """Select the bins inside intervals."""
    place = np.searchsorted(low, bins.lowest, side="right") - 1
    return bins.take((place >= 0) & (bins.highest <= high[place]))


def _replaced(bins: Bins, doubtful: BoolArray, finer: Bins) -> Bins:
    """Replace doubtful bins by finer ones, in ascending order."""
    kept = bins.take(~doubtful)
    order = np.argsort(np.concatenate([kept.lowest, finer.lowest]))

    def both(one: Array, other: Array) -> Array:
        return np.concatenate([one, other], axis=-1)[..., order]

    names = ("lowest", "highest", "rows", "sums")
    return Bins(*(both(getattr(kept, name), getattr(finer, name)) for name in names))


def _threshold(bins: Bins, curve: ThresholdCurve, best: Cut) -> float:
    """Return the midpoint of the lowest score predicted positive and the highest one predicted negative."""
    best_cut = int(curve.cuts_at(best.threshold))
    lowest = curve.lowest_score[best_cut]
    below = np.flatnonzero(bins.lowest < lowest)
    if not np.isfinite(best.threshold) or not below.size:
        return best.threshold
    lower = bins.highest[below[-1]]
    return float(midpoint(lowest, lower))


def _fold_profiles(bins: Bins, threshold: float) -> list[ErrorProfile | None]:
    """Compute the errors within each fold at a threshold between bins."""
    positive: IntArray = np.flatnonzero(bins.lowest >= threshold)
    profiles: list[ErrorProfile | None] = []
    for negatives, positives in bins.sums:
        total_pos, total_neg = positives.sum(), negatives.sum()
        if not (total_pos > 0 and total_neg > 0):
            profiles.append(None)
            continue
        tp, fp = min(positives[positive].sum(), total_pos), min(negatives[positive].sum(), total_neg)
        profiles.append(ErrorProfile.from_counts(tp=tp, fn=total_pos - tp, fp=fp, tn=total_neg - fp))
    return profiles
