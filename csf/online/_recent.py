"""Counts of recent scores by class, and what they say about probabilities and cuts: constant memory, any learner.

Posteriors that a learner emitted before it saw the label are kept as counts in bins of equal log-odds. Late examples
count more. The counts tell how often the positive class came at each score, whatever the learner believed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import BoolArray, FloatArray, IntArray
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["RecentScores", "bins_of", "bins_of_scores", "next_due", "posterior_at"]

# Bins of log-odds, and the largest log-odds: those of 1e-12.
_N_BINS, _LARGEST = 1024, 27.631
_WIDTH = 2.0 * _LARGEST / _N_BINS
# How much more late examples count: weights grow like t ** gain.
_GAIN = 1.0
_HEAVY = 1e100
_BELOW_ONE = 1.0 - np.finfo(np.float64).epsneg
# Place of weight and number of examples.
WEIGHT, SEEN = range(2)


def next_due(n_seen: int, window: int | None = None) -> int:
    """Number of examples after which what follows from the counts is worked out again: an eighth more."""
    return n_seen + 1 + min(n_seen, window or n_seen) // 8


class RecentScores:
    """Counts by class and bin."""

    def __init__(self, window: int | None = None) -> None:
        self.window = float(window or np.inf)
        # negatives, positives
        self.counts = np.zeros((2, _N_BINS))
        self.scalars = np.array([1.0, 0.0])

    def add(self, bins: IntArray, is_pos: BoolArray) -> None:
        """Count posteriors by their bins, in order, with their labels."""
        count_scores(bins, is_pos, self.counts, self.scalars, self.window)

    def replace(self, bins: IntArray, is_pos: BoolArray) -> None:
        """Forget all counts, and count these."""
        self.counts[:], self.scalars[:] = 0.0, (1.0, 0.0)
        self.add(bins, is_pos)

    def has_both_classes(self) -> bool:
        """Whether both classes have come."""
        return bool(self.counts.any(axis=1).all())

    def shares(self) -> FloatArray:
        """Share of positives by bin, which rises with the score; 0 until both classes have come."""
        return pooled_shares(self.counts) if self.has_both_classes() else np.zeros(_N_BINS)

    def best(self, metric: Metric) -> tuple[float, ErrorProfile, int] | None:
        """Best cut for a metric."""
        places, fp, tp = sums_above(self.counts)
        if fp[0] == 0.0 or tp[0] == 0.0:
            return None
        total = tp[0] + fp[0]
        pos = tp[0] / total
        values = metric.value((tp[0] - tp) / total, fp / total, pos=pos)
        k = places.size - 1 - int(np.argmax(values[::-1]))
        return float(values[k]), ErrorProfile((tp[0] - tp[k]) / total, fp[k] / total, pos), int(places[k])


def posterior_at(place: int) -> float:
    """Posterior at the lower edge of a bin; 0 at the lowest, and beyond the highest the last number below 1."""
    if place == 0:
        return 0.0
    return _BELOW_ONE if place == _N_BINS else 1.0 / (1.0 + math.exp(_LARGEST - place * _WIDTH))


def bins_of_scores(scores: FloatArray) -> IntArray:
    """Bin of each score: those of posteriors, which are their log-odds."""
    return ((scores.clip(-_LARGEST, _LARGEST) + _LARGEST) / _WIDTH).astype(np.int64).clip(0, _N_BINS - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def bins_of(proba):
    """Bin of each posterior."""
    bins = np.empty(proba.shape[0], dtype=np.int64)
    for i in range(proba.shape[0]):
        p = min(max(proba[i], 1e-12), 1.0 - 1e-12)
        bins[i] = min(max(int((math.log(p / (1.0 - p)) + _LARGEST) / _WIDTH), 0), _N_BINS - 1)
    return bins


@njit(cache=True, nogil=True, error_model="numpy")
def count_scores(bins, is_pos, counts, s, window):
    """Count bins in order: row 0 is of negatives, row 1 of positives."""
    weight, seen, least = s[WEIGHT], s[SEEN], 1.0 / window
    for i in range(bins.shape[0]):
        seen += 1.0
        counts[1 if is_pos[i] else 0, bins[i]] += weight
        weight *= 1.0 + max(_GAIN / seen, least)
        if weight > _HEAVY:
            counts /= weight
            weight = 1.0
    s[WEIGHT], s[SEEN] = weight, seen


@njit(cache=True, nogil=True, error_model="numpy")
def sums_above(counts):
    """Bins where something was counted, and the place above all; negatives and positives at or above each of them."""
    n, size = counts.shape[1], 0
    for b in range(n):
        size += counts[0, b] + counts[1, b] != 0.0
    places, fp, tp = np.empty(size + 1, dtype=np.int64), np.zeros(size + 1), np.zeros(size + 1)
    places[size] = n
    for b in range(n - 1, -1, -1):
        if counts[0, b] + counts[1, b] != 0.0:
            size -= 1
            places[size], fp[size], tp[size] = b, fp[size + 1] + counts[0, b], tp[size + 1] + counts[1, b]
    return places, fp, tp


@njit(cache=True, nogil=True, error_model="numpy")
def pooled_shares(counts):
    """Share of positives by bin, made to rise with the score (pool adjacent violators)."""
    n = counts.shape[1]
    share, pos, total, first = np.zeros(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    size = 0
    for b in range(n):
        pos[size], total[size], first[size] = counts[1, b], counts[0, b] + counts[1, b], b
        size += 1
        while size > 1 and pos[size - 2] * total[size - 1] >= pos[size - 1] * total[size - 2]:
            pos[size - 2] += pos[size - 1]
            total[size - 2] += total[size - 1]
            size -= 1
    for k in range(size):
        stop = first[k + 1] if k + 1 < size else n
        share[first[k] : stop] = pos[k] / total[k] if total[k] > 0.0 else 0.0
    return share
