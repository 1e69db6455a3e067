"""Compiled loops over draws of samples."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit, on_lists

# Denominators below so much of their terms are rounding.
_ROUNDING = 4 * 2.220446049250313e-16

# ---------------------------------------------------------------- few samples, without compiled code


def _count_few(drawn, units, counts, most):
    counts[:] = np.minimum(counts + np.bincount(units[drawn], minlength=counts.size), most)


def _class_sums_of_few(is_pos, weight):
    return np.stack([weight[~is_pos].sum(axis=0, dtype=float), weight[is_pos].sum(axis=0, dtype=float)])


def _sums_of_few(codes, is_pos, weight, n_cuts, sums):
    n_draws, width = weight.shape[1], n_cuts + 1
    place = (codes + width * is_pos.astype(np.intp))[:, None] * n_draws + np.arange(n_draws)
    # Each sum adds its rows in their order, as the loop does.
    counted = np.bincount(place.ravel(), weight.ravel(), 2 * width * n_draws).reshape(2, width, n_draws)
    sums[:, :width, :n_draws] = counted
    np.cumsum(sums[:, :n_cuts, :n_draws], axis=1, out=sums[:, :n_cuts, :n_draws])


def _best_of_few(sums, n_cuts, pos, neg, numbers, tie, cuts, values):
    n_draws, total = pos.size, pos + neg
    (n0, n_fn, n_fp, d0, d_fn, d_fp), valid = numbers.T, np.flatnonzero((pos > 0.0) & (neg > 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        fn = np.maximum(pos - sums[1, :n_cuts, :n_draws], 0.0) / total
        fp = np.minimum(sums[0, :n_cuts, :n_draws], neg) / total
        below, value = d0 + d_fn * fn + d_fp * fp, n0 + n_fn * fn + n_fp * fp
        value /= below
        # Without terms that cancel no denominator is rounding, unless it is 0.
        cancels = (numbers[:, 3:] < 0.0).any()
        size = np.abs(d0) + np.abs(d_fn) * fn + np.abs(d_fp) * fp if cancels else below
        value[~(below > _ROUNDING * size)] = 0.0
    best = (value > value.max(axis=0) - tie).argmax(axis=0)
    cuts[valid], values[valid] = best[valid], value[best, np.arange(n_draws)][valid]


def _middle_of_few(sums, n_cuts, cuts):
    at_cuts = sums[:, :n_cuts, : cuts.size]
    # The last threshold before the draw has another sample.
    last = np.full(at_cuts.shape[1:], n_cuts - 1)
    last[:-1] = np.where((at_cuts[:, 1:] != at_cuts[:, :-1]).any(axis=0), np.arange(n_cuts - 1)[:, None], n_cuts - 1)
    last = np.minimum.accumulate(last[::-1], axis=0)[::-1]
    cuts[:] = (cuts + last[cuts, np.arange(cuts.size)]) // 2


# ---------------------------------------------------------------- compiled loops


@njit(cache=True, few=_count_few)
def count_drawn(drawn, units, counts, most):
    """Count in ``counts`` how often each unit was drawn, at most ``most`` times."""
    for sample in drawn:
        unit = units[sample]
        if counts[unit] < most:
            counts[unit] += 1


@njit(cache=True, few=_class_sums_of_few)
def class_sums(is_pos, weight):
    """Sum the weights of all negatives and of all positives on each draw, given those of entries on each draw."""
    sums = np.zeros((2, weight.shape[1]))
    for i in range(weight.shape[0]):
        kind = np.int64(is_pos[i])
        for draw in range(weight.shape[1]):
            sums[kind, draw] += weight[i, draw]
    return sums


@njit(cache=True, few=on_lists, most=1 << 11, nogil=True)
def candidate_cuts(score, is_pos, copies, every, keep, cuts):
    """Write the numbers of entries above each threshold that can be the best. Return the number of thresholds.

    Scores go downwards. A candidate ends a run of positives: lowering the threshold to the end of a
    run adds no error. Besides, there is a candidate after every ``every`` ``copies``, and one at ``keep`` entries.
    Groups of equal scores are never divided. The first candidate, above all scores, is left out where scores of +inf
    rule it out.
    """
    n_entries, size = len(score), 0
    if n_entries == 0 or score[0] < np.inf:
        cuts[0] = 0
        size = 1
    since = 0  # copies after the last cut
    start, had_pos = 0, False
    while start < n_entries:
        stop, any_pos, any_neg, n_found = start, False, False, 0
        while stop < n_entries and score[stop] == score[start]:
            if is_pos[stop]:
                any_pos = True
            else:
                any_neg = True
            n_found += copies[stop]
            stop += 1
        # The cut before this group ends a run of positives if the group has a negative.
        if start > 0 and ((had_pos and any_neg) or since >= every or start == keep):
            cuts[size] = start
            size += 1
            since = 0
        since += n_found
        had_pos = any_pos
        start = stop
    if n_entries > 0:
        cuts[size] = n_entries
        size += 1
    return size


@njit(cache=True, few=_sums_of_few)
def sums_at(codes, is_pos, weight, n_cuts, sums):
    """Write the weights of true (``sums[1]``) and false positives (``sums[0]``) at each threshold, for all draws.

    ``weight`` has a row for each entry and a column for each draw, ``sums[kind]`` a row for each threshold. Entries
    whose code is ``n_cuts`` are predicted positive at no threshold.
    """
    n_draws = weight.shape[1]
    sums[:, : n_cuts + 1] = 0
    for i in range(codes.shape[0]):
        kind, code = np.int64(is_pos[i]), np.int64(codes[i])
        for draw in range(n_draws):
            sums[kind, code, draw] += weight[i, draw]
    for kind in range(2):
        for cut in range(1, n_cuts):
            for draw in range(n_draws):
                sums[kind, cut, draw] += sums[kind, cut - 1, draw]


@njit(cache=True, few=_best_of_few, most=1 << 15)
def best_ratios(sums, n_cuts, pos, neg, numbers, tie, cuts, values):
    """Write the best threshold of each draw, and its value, for a ratio of two affine functions of the errors.

    ``numbers`` has the six numbers of `csf.metrics.base.Coefficients` for each draw. Among values within ``tie`` of
    each other the first is the best. Draws that lack a class are left as they are.
    """
    for draw in range(pos.shape[0]):
        if not (pos[draw] > 0.0 and neg[draw] > 0.0):
            continue
        total = pos[draw] + neg[draw]
        n0, n_fn, n_fp, d0, d_fn, d_fp = numbers[draw]
        best, best_cut = -np.inf, 0
        for cut in range(n_cuts):
            fn = max(pos[draw] - sums[1, cut, draw], 0.0) / total
            fp = min(np.float64(sums[0, cut, draw]), neg[draw]) / total
            below = d0 + d_fn * fn + d_fp * fp
            value = 0.0
            if below > _ROUNDING * (abs(d0) + abs(d_fn) * fn + abs(d_fp) * fp):
                value = (n0 + n_fn * fn + n_fp * fp) / below
            if value > best + tie:
                best, best_cut = value, cut
        cuts[draw], values[draw] = best_cut, best


@njit(cache=True, few=_middle_of_few)
def middle_of_ties(sums, n_cuts, cuts):
    """Move each draw's threshold to the middle of those between which the draw has no sample."""
    for draw in range(cuts.shape[0]):
        cut = cuts[draw]
        last = cut
        while last + 1 < n_cuts and (
            sums[0, last + 1, draw] == sums[0, cut, draw] and sums[1, last + 1, draw] == sums[1, cut, draw]
        ):
            last += 1
        cuts[draw] = (cut + last) // 2


@njit(cache=True)
def row_gains(order, is_pos, n_labels, squared_beta, empty, gains):
    """Write by how much each entry, added to those before it in ``order``, changes the F-beta of its row.

    Entries are the labels of a row, then those of the next one. F-beta of a row without labels is ``empty`` as long as
    none of its entries is predicted positive.
    """
    n_rows = is_pos.shape[0] // n_labels
    below, hits, value = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
    for entry in range(is_pos.shape[0]):
        if is_pos[entry]:
            below[entry // n_labels] += squared_beta
    for row in range(n_rows):
        value[row] = empty if below[row] == 0.0 else 0.0
    for entry in order:
        row = entry // n_labels
        below[row] += 1.0
        if is_pos[entry]:
            hits[row] += 1.0
        new = (1.0 + squared_beta) * hits[row] / below[row]
        gains[entry] = new - value[row]
        value[row] = new


@njit(cache=True)
def add_gains(codes, gains, samples, counts, sums):
    """Add the gains of the entries that a threshold is the first to include to ``sums``, (n_cuts, n_draws).

    ``counts`` has a row for each sample and a column for each draw.
    """
    for i in range(codes.shape[0]):
        code, sample = np.int64(codes[i]), samples[i]
        for draw in range(counts.shape[1]):
            sums[code, draw] += gains[i] * counts[sample, draw]
