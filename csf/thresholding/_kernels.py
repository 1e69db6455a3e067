"""Compiled loops over sorted scores: the cuts of a sweep, their midpoints and their lower-left hull."""

import numpy as np
from numba import njit

__all__ = ["gather_cuts", "hull_cuts", "merge_cuts", "midpoint", "midpoints"]

_BLOCK = 2048
_LARGEST = np.finfo(np.float64).max
_EPS = np.finfo(np.float64).eps


@njit(cache=True)
def merge_cuts(pos_scores, neg_scores, lowest_score, fn, fp):
    """Write the cuts of unit-weight samples; both inputs ascend, the outputs descend. Return their number and the
    share of positives.

    A tie group writes its cut again and again: the last writer, which has seen the whole group, wins.
    """
    n_pos, n_neg = pos_scores.shape[0], neg_scores.shape[0]
    total = n_pos + n_neg
    last, current = 0, np.inf
    lowest_score[0], fn[0], fp[0] = np.inf, n_pos, 0.0
    i, j = n_pos - 1, n_neg - 1
    while i >= 0 or j >= 0:
        if j < 0 or (i >= 0 and pos_scores[i] >= neg_scores[j]):
            score = pos_scores[i]
            i -= 1
        else:
            score = neg_scores[j]
            j -= 1
        if score != current:
            last += 1
            current = score
        lowest_score[last], fn[last], fp[last] = score, i + 1, n_neg - 1 - j
    pos = n_pos / total
    neg = 1.0 - pos
    for cut in range(last + 1):
        fn[cut] /= total
        fp[cut] = min(fp[cut] / total, neg)
    fp[last] = neg
    return last + 1, pos


@njit(cache=True)
def gather_cuts(score, signed_weight, order, lowest_score, fn, fp):
    """Write the cuts of weighted samples, ``order`` sorting ``score`` upwards. Return their number and the
    share of positives.

    The sums are compensated, so that cuts which are equal in exact arithmetic hardly ever differ. Random reads
    go through a small buffer: in a loop of their own the processor keeps many of them in flight.
    """
    scores, weights = np.empty(_BLOCK), np.empty(_BLOCK)
    tp, tp_rest, false_pos, fp_rest = 0.0, 0.0, 0.0, 0.0
    last, current = 0, np.inf
    lowest_score[0], fn[0], fp[0] = np.inf, 0.0, 0.0
    stop = order.shape[0]
    while stop > 0:
        start = max(stop - _BLOCK, 0)
        for i in range(stop - start):
            scores[i] = score[order[start + i]]
        for i in range(stop - start):
            weights[i] = signed_weight[order[start + i]]
        for i in range(stop - start - 1, -1, -1):
            if scores[i] != current:
                last += 1
                current = scores[i]
            added = max(weights[i], 0.0)
            grown = tp + added
            part = grown - tp
            tp_rest += (tp - (grown - part)) + (added - part)
            tp = grown
            added = max(-weights[i], 0.0)
            grown = false_pos + added
            part = grown - false_pos
            fp_rest += (false_pos - (grown - part)) + (added - part)
            false_pos = grown
            lowest_score[last], fn[last], fp[last] = current, tp + tp_rest, false_pos + fp_rest
        stop = start
    return last + 1, _shares(fn, fp, last)


@njit(cache=True)
def _shares(fn, fp, last):
    """Turn true positive (in ``fn``) and false positive weights into monotone shares; return that of positives."""
    weight_pos = fn[last]
    total = weight_pos + fp[last]
    pos = weight_pos / total
    neg = 1.0 - pos
    least_fn, most_fp = pos, 0.0
    for cut in range(last + 1):
        least_fn = min(least_fn, (weight_pos - fn[cut]) / total)
        most_fp = min(max(most_fp, fp[cut] / total), neg)
        fn[cut], fp[cut] = least_fn, most_fp
    fp[last] = neg
    return pos


@njit(cache=True)
def midpoint(upper, lower):
    """Threshold between two neighbouring scores; the upper one where rounding leaves no room between them."""
    middle = 0.5 * upper + 0.5 * max(lower, -_LARGEST)
    return middle if lower < middle <= upper else upper


@njit(cache=True)
def midpoints(lowest_score, out):
    """Write the threshold of every cut: halfway down to the next distinct score, -inf counted as finite."""
    last = lowest_score.shape[0] - 1
    out[0] = np.inf
    for cut in range(1, last):
        out[cut] = midpoint(lowest_score[cut], lowest_score[cut + 1])
    out[last] = -np.inf


@njit(cache=True)
def hull_cuts(fn, fp):
    """Cuts on the lower-left convex hull, by decreasing ``fn``, without corners within rounding of an edge."""
    first, end = 0, fn.shape[0] - 1
    largest_fn, largest_fp = fn[first], fp[end]
    while first < end and fp[first + 1] == fp[first]:
        first += 1
    while end > first and fn[end - 1] == fn[end]:
        end -= 1
    stack = np.empty(end - first + 1, dtype=np.int64)
    size = 0
    for cut in range(first, end + 1):
        while size > 1:
            a, b = stack[size - 2], stack[size - 1]
            turn = (fn[a] - fn[b]) * (fp[cut] - fp[b]) - (fp[b] - fp[a]) * (fn[b] - fn[cut])
            if turn > _EPS * (largest_fn * (fp[cut] - fp[a]) + largest_fp * (fn[a] - fn[cut])):
                break
            size -= 1
        stack[size] = cut
        size += 1
    return stack[:size].copy()
