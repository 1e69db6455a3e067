"""Compiled loops over sorted scores, and over the scores of several classes."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit

# ---------------------------------------------------------------- sweeps


@njit(cache=True)
def _with_weight(total, rest, weights, place):
    """Add one weight (1 without weights) to a compensated sum. Return the sum and its remainder."""
    if weights is None:
        return total + 1.0, rest
    added = weights[place]
    grown = total + added
    part = grown - total
    return grown, rest + ((total - (grown - part)) + (added - part))


def _merge_few(pos_scores, pos_weights, neg_scores, neg_weights, lowest_score, fn, fp):
    """Do what `merge_cuts` does for few samples, without compiled code."""
    neg_scores = neg_scores.copy()
    values = np.unique(np.concatenate([pos_scores, neg_scores]))[::-1]
    size = values.size + 1
    lowest_score[0], lowest_score[1:size] = np.inf, values
    # An infinite score is no cut of its own.
    for scores, weights, sums in ((pos_scores, pos_weights, fn), (neg_scores, neg_weights, fp)):
        sums[0] = 0.0
        sums[1:size] = _totals(weights, scores.size)[scores.size - np.searchsorted(scores[::-1], values)]
    start = int(values.size > 0 and values[0] == np.inf)
    for array in (lowest_score, fn, fp):
        array[: size - start] = array[start:size]
    last = size - start - 1
    weight_pos, weight_neg = fn[last], fp[last]
    total = weight_pos + weight_neg
    pos = weight_pos / total
    fn[: last + 1] = np.minimum.accumulate(np.minimum((weight_pos - fn[: last + 1]) / total, pos))
    shares = np.where(fp[: last + 1] == weight_neg, 1.0 - pos, np.minimum(fp[: last + 1] / total, 1.0 - pos))
    fp[: last + 1] = np.maximum.accumulate(shares)
    return last + 1, pos


def _totals(weights, size):
    """Sum weights, from 0 up to all of them; sums are compensated as in `merge_cuts`."""
    if weights is None:
        return np.arange(size + 1.0)
    total, rest, totals = 0.0, 0.0, [0.0]
    for added in weights.tolist():
        grown = total + added
        part = grown - total
        total, rest = grown, rest + ((total - (grown - part)) + (added - part))
        totals.append(total + rest)
    return np.array(totals)


@njit(cache=True, few=_merge_few)
def merge_cuts(pos_scores, pos_weights, neg_scores, neg_weights, lowest_score, fn, fp):
    """Write the thresholds between samples of both classes. Return their number and the share of positives.

    Scores and thresholds descend. A group of ties writes its threshold repeatedly; the last write counts all of it.
    The sums are compensated, so that thresholds which are equal in exact arithmetic hardly ever differ. Where both
    weights are ``None`` each sample weighs 1. ``neg_scores`` may be the end of ``lowest_score``: what is written there
    has been read before.
    """
    tp, tp_rest, false_pos, fp_rest = 0.0, 0.0, 0.0, 0.0
    last, current = 0, np.inf
    lowest_score[0], fn[0], fp[0] = np.inf, 0.0, 0.0
    n_pos, n_neg, i, j = pos_scores.shape[0], neg_scores.shape[0], 0, 0
    while i < n_pos or j < n_neg:
        if j == n_neg or (i < n_pos and pos_scores[i] >= neg_scores[j]):
            score = pos_scores[i]
            tp, tp_rest = _with_weight(tp, tp_rest, pos_weights, i)
            i += 1
        else:
            score = neg_scores[j]
            false_pos, fp_rest = _with_weight(false_pos, fp_rest, neg_weights, j)
            j += 1
        last += score != current  # no branch: this is where the time goes
        current = score
        lowest_score[last], fn[last], fp[last] = score, tp + tp_rest, false_pos + fp_rest
    return last + 1, _shares(fn, fp, last)


@njit(cache=True)
def _shares(fn, fp, last):
    """Turn true positive (in ``fn``) and false positive weights into monotone shares. Return the share of positives."""
    weight_pos, weight_neg = fn[last], fp[last]
    total = weight_pos + weight_neg
    pos = weight_pos / total
    neg = 1.0 - pos
    least_fn, most_fp = pos, 0.0
    for cut in range(last + 1):
        least_fn = min(least_fn, (weight_pos - fn[cut]) / total)
        most_fp = neg if fp[cut] == weight_neg else min(max(most_fp, fp[cut] / total), neg)
        fn[cut], fp[cut] = least_fn, most_fp
    return pos


# ---------------------------------------------------------------- windows


@njit(cache=True)
def add_window_maxima(rates, worth, starts, ends, totals):
    """Add to each of ``totals`` the largest worth where the rate is from a start to its end, or -inf.

    Rates, starts and ends ascend. Places that may still be the largest wait in a queue of falling worth.
    """
    queue = np.empty(rates.shape[0], np.int64)
    first, last, entered = 0, 0, 0
    for window in range(starts.shape[0]):
        while entered < rates.shape[0] and rates[entered] <= ends[window]:
            while last > first and worth[queue[last - 1]] < worth[entered]:
                last -= 1
            queue[last] = entered
            last += 1
            entered += 1
        while first < last and rates[queue[first]] < starts[window]:
            first += 1
        totals[window] += worth[queue[first]] if first < last else -np.inf


# ---------------------------------------------------------------- linear rules


_ROWS = 64
# Scores are rounded as `ClassProbabilityRule.scores` rounds them, so that ties in tuning are ties in prediction.


def _decide_few(proba, slopes, offsets, counts, decided):
    best = (proba * slopes - offsets).argmax(axis=1)
    changed = np.flatnonzero(counts & (decided != best))
    decided[changed] = best[changed]
    return changed.size


@njit(cache=True, few=_decide_few, nogil=True)
def decide_affine(proba, slopes, offsets, counts, decided):
    """Write the class with the largest ``slope * p - offset`` for entries that count. Return the number of changes."""
    n_changed = 0
    for i in range(proba.shape[0]):
        if counts[i]:
            best, best_class = proba[i, 0] * slopes[0] - offsets[0], 0
            for k in range(1, slopes.shape[0]):
                score = proba[i, k] * slopes[k] - offsets[k]
                if score > best:
                    best, best_class = score, k
            n_changed += decided[i] != best_class
            decided[i] = best_class
    return n_changed


@njit(cache=True, nogil=True)
def decide_matrix(proba, matrix, counts, decided):
    """Decide as `decide_affine` does, by the scores ``p @ matrix``."""
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
                best_class = 0
                for k in range(1, n_classes):
                    if scores[k, i] > scores[best_class, i]:
                        best_class = k
                n_changed += decided[start + i] != best_class
                decided[start + i] = best_class
    return n_changed
