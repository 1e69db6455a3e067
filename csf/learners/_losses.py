"""Compiled loops of structural losses: the worst labelling from sorted scores, and its slopes."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit


@njit(cache=True, nogil=True)
def share_top(score, count, last, out):
    """Write 1 for the ``count`` largest scores and 0 for others; those tied with ``last``, the lowest, share the rest.

    ``last`` is the ``ceil(count)``-th largest score.
    """
    above, tied = 0, 0
    for i in range(score.shape[0]):
        if score[i] > last:
            above += 1
        elif score[i] == last:
            tied += 1
    share = (count - above) / tied
    for i in range(score.shape[0]):
        out[i] = 1.0 if score[i] > last else (share if score[i] == last else 0.0)


@njit(cache=True, nogil=True)
def _choose(score, ordered, count, out):
    """`share_top` for a whole number; ``ordered`` holds at least that many of the largest scores."""
    if count == 0:
        out[:] = 0.0
    elif count == score.shape[0]:
        out[:] = 1.0
    else:
        share_top(score, count, ordered[ordered.shape[0] - count], out)


@njit(cache=True, nogil=True)
def _slopes(pos, neg, ordered_pos, ordered_neg, n_pos, n_neg, kappa_pos, kappa_neg, slope):
    """Slopes of the labelling with the best ``n_pos`` positives and ``n_neg`` negatives; returns the linear part."""
    of_pos, of_neg = slope[: pos.shape[0]], slope[pos.shape[0] :]
    _choose(pos, ordered_pos, n_pos, of_pos)
    _choose(neg, ordered_neg, n_neg, of_neg)
    linear = 0.0
    for i in range(pos.shape[0]):
        of_pos[i] -= 1.0
        linear += of_pos[i] * pos[i]
        of_pos[i] *= 2.0 * kappa_pos
    for i in range(neg.shape[0]):
        linear += of_neg[i] * neg[i]
        of_neg[i] *= 2.0 * kappa_neg
    return linear


@njit(cache=True, nogil=True)
def _sums(ordered):
    """Sums of the 0, 1, 2, ... largest."""
    n = ordered.shape[0]
    sums = np.empty(n + 1)
    sums[0] = 0.0
    for k in range(n):
        sums[k + 1] = sums[k] + ordered[n - 1 - k]
    return sums


@njit(cache=True, nogil=True)
def fbeta_tangent(pos, neg, ordered_pos, ordered_neg, share_pos, share_neg, kappa_pos, kappa_neg, b2, slope):
    """Worst labelling for F-beta; returns its loss and the linear part.

    Scores come times twice their kappa. ``ordered_neg`` may lack negatives that cannot be in the labelling. For a
    fixed number of positives the objective is concave in that of negatives, so that halving finds the best.
    """
    n_pos, n_neg = pos.shape[0], ordered_neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    total = b2 * share_pos * n_pos
    best, best_pos, best_neg, best_delta = -np.inf, 0, 0, 0.0
    for a in range(n_pos + 1):
        found, base = (1.0 + b2) * share_pos * a, share_pos * a + total
        lo, hi = 0, n_neg
        while lo < hi:
            b = (lo + hi) // 2
            below = base + share_neg * b
            if found * share_neg / (below * (below + share_neg)) + ordered_neg[n_neg - 1 - b] > 0.0:
                lo = b + 1
            else:
                hi = b
        delta = 1.0 - found / (base + share_neg * lo)
        value = delta + of_pos[a] - of_pos[n_pos] + of_neg[lo]
        if value > best:
            best, best_pos, best_neg, best_delta = value, a, lo, delta
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return best_delta, linear


@njit(cache=True, nogil=True)
def precision_tangent(pos, neg, ordered_pos, ordered_neg, share_pos, share_neg, kappa_pos, kappa_neg, top, slope):
    """Worst selection of a share ``top`` of the data; returns its loss and the linear part.

    Scores come times twice their kappa. ``ordered_neg`` holds as many as can be selected.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    slack = 0.5 * max(1.0, share_pos / share_neg)
    best, best_pos, best_neg = -np.inf, 0, 0
    for a in range(n_pos + 1):
        rest = (top - a * share_pos) / share_neg
        if rest < -slack:
            break
        if rest <= n_neg + slack:
            b = min(max(round(rest), 0), n_neg)
            value = -a * share_pos / top + of_pos[a] - of_pos[n_pos] + of_neg[b]
            if value > best:
                best, best_pos, best_neg = value, a, b
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return 1.0 - best_pos * share_pos / top, linear


@njit(cache=True, nogil=True)
def top_precision_tangent(pos, neg, ordered_pos, ordered_neg, size, kappa, slope):
    """Worst selection of ``size`` samples against the mean of positives left out; returns its loss and linear part.

    Scores come times twice kappa.
    """
    n_pos = pos.shape[0]
    left = 0.0
    for i in range(n_pos - size):
        left += ordered_pos[i]
    best, false, part_neg = 0.0, 0, 0.0
    for b in range(1, min(size, ordered_neg.shape[0]) + 1):
        part_neg += ordered_neg[ordered_neg.shape[0] - b]
        left += ordered_pos[n_pos - 1 - (size - b)]
        value = b / size + part_neg - b * left / (n_pos - size + b)
        if value > best:
            best, false = value, b
    if false == 0:
        slope[:] = 0.0
        return 0.0, 0.0
    linear = 0.0
    of_pos, of_neg = slope[:n_pos], slope[n_pos:]
    _choose(pos, ordered_pos, size - false, of_pos)
    _choose(neg, ordered_neg, false, of_neg)
    weight = false / (n_pos - size + false)
    for i in range(n_pos):
        of_pos[i] = (of_pos[i] - 1.0) * weight
        linear += of_pos[i] * pos[i]
        of_pos[i] *= 2.0 * kappa
    for i in range(neg.shape[0]):
        linear += of_neg[i] * neg[i]
        of_neg[i] *= 2.0 * kappa
    return false / size, linear


@njit(cache=True, nogil=True)
def pair_hinges(pos, top, share, slope):
    """Sum over pairs of ``max(0, 1 - pos + neg)``, times the share of the negative.

    Positives rise, and so do the negatives ``top``. Writes the slopes, those of positives first, both in the order
    given, and returns the sum and the weight of all pairs with a loss.
    """
    n_pos = pos.shape[0]
    of_pos, of_neg = slope[:n_pos], slope[n_pos:]
    of_pos[:] = 0.0
    loss, active, c, part = 0.0, 0.0, 0, 0.0
    for k in range(top.shape[0]):
        while c < n_pos and pos[c] < top[k] + 1.0:
            part += pos[c]
            c += 1
        of_neg[k] = share[k] * c
        active += of_neg[k]
        loss += share[k] * (c * (1.0 + top[k]) - part)
        if c > 0:
            of_pos[c - 1] -= share[k]
    for i in range(n_pos - 2, -1, -1):
        of_pos[i] += of_pos[i + 1]
    return loss, active


@njit(cache=True, nogil=True)
def table_tangent(table, pos, neg, ordered_pos, ordered_neg, kappa_pos, kappa_neg, slope):
    """Worst labelling for a table of losses by counts; returns its loss and the linear part.

    Scores come times twice their kappa.
    """
    n_pos, n_neg = pos.shape[0], neg.shape[0]
    of_pos, of_neg = _sums(ordered_pos), _sums(ordered_neg)
    best, best_pos, best_neg = -np.inf, 0, 0
    for a in range(n_pos + 1):
        part_pos = of_pos[a] - of_pos[n_pos]
        for b in range(n_neg + 1):
            value = table[a, b] + (part_pos + of_neg[b])
            if value > best:
                best, best_pos, best_neg = value, a, b
    linear = _slopes(pos, neg, ordered_pos, ordered_neg, best_pos, best_neg, kappa_pos, kappa_neg, slope)
    return table[best_pos, best_neg], linear
