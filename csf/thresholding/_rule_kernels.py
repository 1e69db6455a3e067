"""Compiled loops of linear rules: the class with the largest score."""

import numpy as np

from csf._common.compiled import njit

__all__ = ["decide_affine", "decide_matrix"]

_ROWS = 64
# Scores are rounded as `LinearRule.scores` rounds them, so that ties in tuning are ties in prediction.


@njit(cache=True, nogil=True)
def decide_affine(proba, slopes, offsets, counts, decided):
    """Write the class with the largest ``slope * p - offset`` for entries that count. Return how many have changed."""
    n_changed = 0
    for i in range(proba.shape[0]):
        if counts[i]:
            best, at = proba[i, 0] * slopes[0] - offsets[0], 0
            for k in range(1, slopes.shape[0]):
                score = proba[i, k] * slopes[k] - offsets[k]
                if score > best:
                    best, at = score, k
            n_changed += decided[i] != at
            decided[i] = at
    return n_changed


@njit(cache=True, nogil=True)
def decide_matrix(proba, matrix, counts, decided):
    """`decide_affine` by the scores ``p @ matrix``."""
    n_entries, n_classes = proba.shape
    n_changed = 0
    # Classes by entries, in blocks that stay in the processor's cache: the innermost loops run over many entries.
    columns, scores = np.empty((n_classes, _ROWS)), np.empty((n_classes, _ROWS))
    for start in range(0, n_entries, _ROWS):
        size = min(_ROWS, n_entries - start)
        for i in range(size):
            for j in range(n_classes):
                columns[j, i] = proba[start + i, j]
        for k in range(n_classes):
            column, score, worth = columns[0], scores[k], matrix[0, k]
            for i in range(size):
                score[i] = column[i] * worth
            for j in range(1, n_classes):
                column, worth = columns[j], matrix[j, k]
                for i in range(size):
                    score[i] += column[i] * worth
        for i in range(size):
            if counts[start + i]:
                at = 0
                for k in range(1, n_classes):
                    if scores[k, i] > scores[at, i]:
                        at = k
                n_changed += decided[start + i] != at
                decided[start + i] = at
    return n_changed
