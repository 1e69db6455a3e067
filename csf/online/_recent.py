"""Counts of recent scores by class, and what they say about probabilities and cuts: constant memory, any learner.

Posteriors that a learner emitted before it saw the label are kept as counts in bins of equal log-odds. Late examples
count more. The counts tell how often the positive class came at each score, whatever the learner believed.
"""

import math

import numpy as np
from numba import njit

__all__ = ["RecentScores", "is_due"]

# Bins of log-odds, and the largest log-odds: those of 1e-12.
_N_BINS, _LARGEST = 1024, 27.631
_WIDTH = 2.0 * _LARGEST / _N_BINS
# How much more late examples count: weights grow like t ** gain.
_GAIN = 1.0
_HEAVY = 1e100
# Place of weight and number of examples.
WEIGHT, SEEN = range(2)


def is_due(n_seen):
    """Number of examples after which what follows from the counts is worked out again: a sixteenth more."""
    return n_seen + 1 + n_seen // 16


class RecentScores:
    """Counts by class and bin.

    Parameters
    ----------
    window : int, default=None
        Examples to look back upon, about; ``None``: all, late ones more.
    """

    def __init__(self, window=None):
        self.window = float(window or np.inf)
        self.counts = np.zeros((2, _N_BINS))
        self.scalars = np.array([1.0, 0.0])

    def add(self, proba, is_pos):
        """Count posteriors, in order, with their labels."""
        count_scores(proba, is_pos, self.counts, self.scalars, self.window)

    def above(self):
        """Weights of positives and negatives at or above each edge; the last is above all, where none is."""
        sums = np.zeros((2, _N_BINS + 1))
        sums[:, :-1] = np.cumsum(self.counts[::-1, ::-1], axis=1)[:, ::-1]
        return sums

    def best(self, value_of):
        """Largest value over cuts, and the posterior at the cut; None until both classes have been seen.

        Parameters
        ----------
        value_of : callable
            From arrays ``tp, fp`` and totals ``pos, neg`` to values.
        """
        tp, fp = self.above()
        if min(tp[0], fp[0]) == 0.0:
            return None
        values = value_of(tp, fp, tp[0], fp[0])
        place = _N_BINS - int(np.argmax(values[::-1]))  # of equals the one with fewest positives
        return float(values[place]), posterior_at(place)


def posterior_at(place):
    """Posterior at the lower edge of a bin; 0 at the lowest, above 1 beyond the highest."""
    if place == 0:
        return 0.0
    return 2.0 if place == _N_BINS else 1.0 / (1.0 + math.exp(_LARGEST - place * _WIDTH))


@njit(cache=True, nogil=True, error_model="numpy")
def _bin_of(proba):
    """Bin of a posterior."""
    if proba <= 1e-12:
        return 0
    if proba >= 1.0 - 1e-12:
        return _N_BINS - 1
    place = int((math.log(proba / (1.0 - proba)) + _LARGEST) / _WIDTH)
    return min(max(place, 0), _N_BINS - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def count_scores(proba, is_pos, counts, s, window):
    """Add posteriors in order: row 0 of the counts is of negatives, row 1 of positives."""
    for i in range(proba.shape[0]):
        s[SEEN] += 1.0
        counts[1 if is_pos[i] else 0, _bin_of(proba[i])] += s[WEIGHT]
        s[WEIGHT] *= 1.0 + max(_GAIN / s[SEEN], 1.0 / window)
        if s[WEIGHT] > _HEAVY:
            counts /= s[WEIGHT]
            s[WEIGHT] = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def calibrated(counts):
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
