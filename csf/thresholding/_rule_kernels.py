"""Compiled loops of linear rules: the class with the largest score, and what the offset of one class changes."""

import numpy as np

from csf._common.compiled import njit

__all__ = ["class_margins", "decide_affine", "decide_matrix", "moved_matrices", "moved_sums"]

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


@njit(cache=True, nogil=True)
def class_margins(scores, offsets, code, margins, others):
    """Write what the offset of a class must exceed to win an entry, and the class that wins it below that."""
    for i in range(scores.shape[0]):
        best, at = -np.inf, -1
        for k in range(offsets.shape[0]):
            if k != code:
                score = scores[i, k] + offsets[k]
                if at < 0 or score > best:
                    best, at = score, k
        others[i] = at
        # A score of -inf wins nothing by any offset, and infinite ones have no difference.
        margins[i] = np.inf if scores[i, code] == -np.inf else best - scores[i, code]


@njit(cache=True, nogil=True)
def moved_matrices(order, start, margins, codes, others, weight, code, matrix, matrices, ends):
    """Move entries in their order to a class until all matrices are written, one where a run of equal margins ends.

    ``matrix`` holds the counts so far, ``ends`` how many entries have moved in each written one. Return the numbers of
    entries that have moved and of matrices that are written.
    """
    n_written, n_entries = 0, order.shape[0]
    while start < n_entries and n_written < matrices.shape[0]:
        margin = margins[order[start]]
        while start < n_entries and margins[order[start]] == margin:
            i = order[start]
            # What rounding leaves of nothing is nothing.
            matrix[codes[i], others[i]] = max(matrix[codes[i], others[i]] - weight[i], 0.0)
            matrix[codes[i], code] += weight[i]
            start += 1
        matrices[n_written] = matrix
        ends[n_written] = start
        n_written += 1
    return start, n_written


@njit(cache=True, nogil=True)
def moved_sums(
    order,
    start,
    margins,
    codes,
    others,
    weight,
    code,
    worth,
    least,
    predicted,
    weighted,
    sums_predicted,
    sums_weighted,
    ends,
):
    """`moved_matrices` that keeps sums alone: those of columns, and those of rows in which cells count as in ``worth``.

    The latter are never less than ``least``.
    """
    n_written, n_entries = 0, order.shape[0]
    while start < n_entries and n_written < ends.shape[0]:
        margin = margins[order[start]]
        while start < n_entries and margins[order[start]] == margin:
            i = order[start]
            true, before = codes[i], others[i]
            predicted[before] = max(predicted[before] - weight[i], 0.0)
            predicted[code] += weight[i]
            change = weight[i] * (worth[true, code] - worth[true, before])
            weighted[true] = max(weighted[true] + change, least[true])
            start += 1
        sums_predicted[n_written] = predicted
        sums_weighted[n_written] = weighted
        ends[n_written] = start
        n_written += 1
    return start, n_written
