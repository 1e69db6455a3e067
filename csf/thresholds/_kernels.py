"""Compiled loops over sorted scores, and over the scores of several classes."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit

# ---------------------------------------------------------------- sweeps


_LONGEST_REPAIR = 32
_SIGN = np.uint64(1 << 63)
_EPS = np.finfo(np.float64).eps


@njit(cache=True)
def split(score, is_pos, out):
    """Write the scores of positives to the front of ``out``, of negatives to its end. Return the border.

    The border is -1 if a score is NaN.
    """
    front, back = 0, score.shape[0]
    for i in range(score.shape[0]):
        if score[i] != score[i]:
            return -1
        if is_pos[i]:
            out[front] = score[i]
            front += 1
        else:
            back -= 1
            out[back] = score[i]
    return front


@njit(cache=True)
def split_weighted(score, is_pos, weight, out_score, out_weight):
    """`split` with weights, without the samples of weight zero. Return the end of the front and start of the back.

    Negatives are written from the end backwards, so they come out in reverse order.
    """
    front, back = 0, score.shape[0]
    for i in range(score.shape[0]):
        if score[i] != score[i]:
            return -1, -1
        if weight[i] > 0.0:
            if is_pos[i]:
                at = front
                front += 1
            else:
                back -= 1
                at = back
            out_score[at] = score[i]
            out_weight[at] = weight[i]
    return front, back


@njit(cache=True)
def _rank(bits):
    """Unsigned integer that orders like the number with these bits: negative numbers flipped, below positive ones."""
    return ~bits if bits & _SIGN else bits | _SIGN


@njit(cache=True)
def pack_keys(score_bits, index_bits, keys):
    """Write integers that sort like the scores: as many leading bits as fit, then the index of the sample.

    ``score_bits`` are the scores seen as uint64. They are counted from the lowest score, so that scores which are
    close together keep all their bits.
    """
    lowest = highest = _rank(score_bits[0])
    for i in range(score_bits.shape[0]):
        rank = _rank(score_bits[i])
        lowest, highest = min(lowest, rank), max(highest, rank)
    shift, dropped = np.uint64(index_bits), np.uint64(0)
    too_large = (highest - lowest) >> (np.uint64(64) - shift)
    while too_large >> dropped > np.uint64(0):
        dropped += np.uint64(1)
    for i in range(score_bits.shape[0]):
        keys[i] = ((_rank(score_bits[i]) - lowest) >> dropped << shift) | np.uint64(i)


@njit(cache=True)
def unpack_keys(keys, index_bits, score, sorted_score, unsorted):
    """Turn sorted keys into the indices that sort the scores. Return at how many places that is still to be done.

    Scores that agree in their leading bits but not in all are put in order by insertion. Where there are too many
    of them in one place they stay as they are, and the place is marked in ``unsorted``.
    """
    shift = np.uint64(index_bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    n_samples, n_unsorted, start = keys.shape[0], 0, 0
    while start < n_samples:
        stop = start + 1
        while stop < n_samples and keys[stop] >> shift == keys[start] >> shift:
            stop += 1
        mixed = sorted_score[start] != sorted_score[stop - 1]
        if mixed and stop - start > _LONGEST_REPAIR:
            unsorted[start:stop] = True
            n_unsorted += stop - start
            mixed = False
        for i in range(start, stop):
            index = keys[i] & mask
            j = i
            while mixed and j > start and score[keys[j - 1]] > score[index]:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = index
        start = stop
    return n_unsorted


@njit(cache=True)
def merge_cuts(pos_scores, neg_scores, lowest_score, fn, fp):
    """Write the cuts of unit-weight samples. Return their number and the share of positives.

    Both inputs ascend, cuts descend. A tie group writes its cut again and again: the last writer, which has seen
    all of it, wins.
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
        last += score != current  # no branch: this is where the time goes
        current = score
        lowest_score[last], fn[last], fp[last] = score, i + 1, n_neg - 1 - j
    pos = n_pos / total
    neg = 1.0 - pos
    for cut in range(last + 1):
        fn[cut] /= total
        # no rest of the negatives is left where all of them are wrong
        fp[cut] = neg if fp[cut] == n_neg else min(fp[cut] / total, neg)
    return last + 1, pos


@njit(cache=True)
def merge_weighted_cuts(pos_scores, pos_weights, neg_scores, neg_weights, lowest_score, fn, fp):
    """`merge_cuts` with weights.

    The sums are compensated, so that cuts which are equal in exact arithmetic hardly ever differ.
    """
    tp, tp_rest, false_pos, fp_rest = 0.0, 0.0, 0.0, 0.0
    last, current = 0, np.inf
    lowest_score[0], fn[0], fp[0] = np.inf, 0.0, 0.0
    i, j = pos_scores.shape[0] - 1, neg_scores.shape[0] - 1
    while i >= 0 or j >= 0:
        if j < 0 or (i >= 0 and pos_scores[i] >= neg_scores[j]):
            score, added = pos_scores[i], pos_weights[i]
            i -= 1
            grown = tp + added
            part = grown - tp
            tp_rest += (tp - (grown - part)) + (added - part)
            tp = grown
        else:
            score, added = neg_scores[j], neg_weights[j]
            j -= 1
            grown = false_pos + added
            part = grown - false_pos
            fp_rest += (false_pos - (grown - part)) + (added - part)
            false_pos = grown
        last += score != current  # no branch: this is where the time goes
        current = score
        lowest_score[last], fn[last], fp[last] = score, tp + tp_rest, false_pos + fp_rest
    return last + 1, _shares(fn, fp, last)


@njit(cache=True)
def _shares(fn, fp, last):
    """Turn true positive (in ``fn``) and false positive weights into monotone shares; return that of positives."""
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
        if cut > first and fn[cut] == fn[cut - 1]:  # the one before is better
            continue
        while size > 1:
            a, b = stack[size - 2], stack[size - 1]
            turn = (fn[a] - fn[b]) * (fp[cut] - fp[b]) - (fp[b] - fp[a]) * (fn[b] - fn[cut])
            if turn > _EPS * (largest_fn * (fp[cut] - fp[a]) + largest_fp * (fn[a] - fn[cut])):
                break
            size -= 1
        stack[size] = cut
        size += 1
    return stack[:size].copy()


# ---------------------------------------------------------------- linear rules


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
