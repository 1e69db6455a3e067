"""Scores as weighted counts in bins: what parts of the data count by themselves, and how their counts are added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, IntArray

__all__ = ["Bins", "Quantiles", "add_bins", "count_bins", "count_distinct", "merge_quantiles", "unite_bins"]

_NAN_SCORES = "the base gave NaN scores"


@dataclass(frozen=True, eq=False)
class Bins:
    """Weighted counts of both classes in bins of the score, fold by fold.

    Samples of weight zero do not count at all.

    Parameters
    ----------
    lowest, highest : ndarray of shape (n_bins,)
        Smallest and largest score in each bin; +inf and -inf in an empty one.
    rows : ndarray of int, shape (n_bins,)
        Number of samples.
    weight : ndarray of shape (n_folds, 2, n_bins)
        Sum of weights of the negatives (at 0) and the positives (at 1) of each fold.
    rest : ndarray of shape (n_folds, 2, n_bins), default=None
        What rounding left out of these sums, where it was kept; ``None`` for nothing.

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
        """Sums of weights with what rounding left out of them, rounded once."""
        return self.weight if self.rest is None else self.weight + self.rest

    def take(self, at: IntArray | BoolArray) -> Self:
        """Some of the bins.

        Parameters
        ----------
        at : ndarray of int or bool
            Which ones.

        Returns
        -------
        Bins
            These.
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
    """Counts of one part between ascending edges, as in `Scored.counts`; a ValueError where a score is NaN."""
    score = np.ascontiguousarray(score, dtype=np.float64)
    n, size = score.shape[0], edges.shape[0] + 1
    weight = np.ones(n) if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
    fold = np.zeros(n, dtype=np.int64) if fold is None else np.ascontiguousarray(fold, dtype=np.int64)
    bins = _empty(size, n_folds)
    assert bins.rest is not None
    edges = np.ascontiguousarray(edges, dtype=np.float64)
    sums = bins.lowest, bins.highest, bins.rows, bins.weight, bins.rest
    if not _count(score, np.ascontiguousarray(is_pos), weight, fold, edges, *sums):
        raise ValueError(_NAN_SCORES)
    return bins


def _empty(size: int, n_folds: int) -> Bins:
    weight, rest = np.zeros((2, n_folds, 2, size))
    return Bins(np.full(size, np.inf), np.full(size, -np.inf), np.zeros(size, dtype=np.int64), weight, rest)


@njit(cache=True, nogil=True)
def _count(score, is_pos, weight, fold, edges, lowest, highest, rows, total, rest):
    """Add samples to bins, with compensated sums; whether no score is NaN."""
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
    """Counts of several parts in the same bins."""
    lowest = np.min([part.lowest for part in parts], axis=0)
    highest = np.max([part.highest for part in parts], axis=0)
    rows = np.sum([part.rows for part in parts], axis=0)
    weight: Array = np.zeros_like(parts[0].weight)
    rest: Array = np.zeros_like(weight)
    for part in parts:
        weight, rest = _sum(weight, rest, part.weight, part.rest)
    return Bins(lowest, highest, rows, weight, rest)


def _sum(weight: Array, rest: Array, more: Array, more_rest: Array | None) -> tuple[Array, Array]:
    """Compensated sum of two compensated sums."""
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
    """Counts of one part at each distinct score within intervals, as in `Scored.distinct`."""
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
    """Counts of several parts at distinct scores: one bin for each score of any part, ascending."""
    scores = np.unique(np.concatenate([part.lowest for part in parts]))
    whole = _empty(scores.shape[0], parts[0].weight.shape[0])
    assert whole.rest is not None
    whole.lowest[:], whole.highest[:] = scores, scores
    for part in parts:
        at = np.searchsorted(scores, part.lowest)
        whole.rows[at] += part.rows
        sums = _sum(whole.weight[..., at], whole.rest[..., at], part.weight, part.rest)
        whole.weight[..., at], whole.rest[..., at] = sums
    return whole


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Approximate quantiles of the scores of each class.

    Parameters
    ----------
    scores : tuple of ndarray
        Ascending scores of negatives and of positives that stand for all of them.
    mass : tuple of ndarray
        How many samples each one stands for.

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
        """Quantiles of one part of the data.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Scores; NaN are left out.
        is_pos : ndarray of bool, shape (n_samples,)
            Truth.
        size : int
            How many scores to keep of each class.

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
        """All scores, ascending and distinct."""
        return np.unique(np.concatenate(self.scores))


def _thinned(score: Array, mass: Array | None, size: int) -> tuple[Array, Array]:
    """At most ``size`` scores at evenly spaced ranks, and what each of them stands for."""
    order = np.argsort(score, kind="stable")
    score, mass = score[order], None if mass is None else mass[order]
    if score.shape[0] <= size:
        return score, np.ones(score.shape[0]) if mass is None else mass
    reached = np.arange(1.0, score.shape[0] + 1.0) if mass is None else np.cumsum(mass)
    total = reached[-1]
    at = np.searchsorted(reached, (np.arange(size) + 0.5) * total / size, side="right")
    return score[np.minimum(at, score.shape[0] - 1)], np.full(size, total / size)


def merge_quantiles(parts: Sequence[Quantiles], size: int) -> Quantiles:
    """Quantiles of several parts together; each merge adds an error of rank of at most a ``size``-th."""
    merged = [
        _thinned(np.concatenate([p.scores[c] for p in parts]), np.concatenate([p.mass[c] for p in parts]), size)
        for c in (0, 1)
    ]
    (negatives, n_mass), (positives, p_mass) = merged
    return Quantiles((negatives, positives), (n_mass, p_mass))
