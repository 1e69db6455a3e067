"""Compiled loops of linear rules: the class with the largest score, without a matrix of scores."""

import numpy as np

from csf._common.compiled import njit

__all__ = ["decide_affine", "decide_matrix"]

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
    n_changed, n_classes = 0, matrix.shape[0]
    scores = np.empty(n_classes)
    for i in range(proba.shape[0]):
        if counts[i]:
            for k in range(n_classes):
                scores[k] = proba[i, 0] * matrix[0, k]
            for j in range(1, n_classes):
                for k in range(n_classes):
                    scores[k] += proba[i, j] * matrix[j, k]
            at = 0
            for k in range(1, n_classes):
                if scores[k] > scores[at]:
                    at = k
            n_changed += decided[i] != at
            decided[i] = at
    return n_changed
