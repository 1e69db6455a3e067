"""Compiled loops of the cones: the highest point under their envelope, and the span of errors of better profiles."""

import numpy as np

from csf._common.compiled import njit

__all__ = ["extreme_errors", "lower_to_highest"]


@njit(cache=True, nogil=True, error_model="numpy")
def lower_to_highest(apexes, is_open, start, end):
    """Lower a ceiling to the highest point of the envelope in open intervals. Return its height.

    ``apexes`` holds the rows t, value, slope to the left and slope to the right, by t; the first and the last apex are
    the ends of the range and have the value inf. Interval k lies between the apexes k and k + 1; ``start`` and ``end``
    receive what the lines leave of it at the final height, and are crossed where they leave nothing.
    """
    t, value, left, right = apexes[0], apexes[1], apexes[2], apexes[3]
    n_intervals = start.shape[0]
    lo, hi = t[0], t[n_intervals]
    ceiling, step = hi, 1e-15 * max(abs(hi), hi - lo)
    from_left, from_right = np.empty(n_intervals, dtype=np.int64), np.empty(n_intervals, dtype=np.int64)
    while True:
        _leave(t, value, right, ceiling, start, from_left)
        _leave(-t[::-1], value[::-1], left[::-1], ceiling, end[::-1], from_right[::-1])
        fits, lower = False, -np.inf
        for k in range(n_intervals):
            end[k] = -end[k]
            if is_open[k]:
                fits |= start[k] <= end[k]
                i, j = from_left[k], n_intervals - from_right[k]
                lower = max(lower, _crossing(t[j] - t[i], value[i], right[i], value[j], left[j], ceiling))
        if fits:
            return ceiling
        if not lower < ceiling:  # rounding alone keeps the two lines of the best interval from crossing
            lower, step = ceiling - step, 2.0 * step
        ceiling = lower


@njit(cache=True, nogil=True, error_model="numpy")
def _leave(t, value, slope, height, reached, line):
    """Running maximum of the levels where lines rise to ``height``, and the line that attains it first."""
    running, attained_by = -np.inf, 0
    for k in range(reached.shape[0]):
        need = height - value[k]
        level = t[k] + need / slope[k] if need > 0.0 else t[k]
        if level > running:
            running, attained_by = level, k
        reached[k], line[k] = running, attained_by


@njit(cache=True, nogil=True, error_model="numpy")
def _crossing(distance, v_i, s_i, v_j, s_j, height):
    """Height where a rising line meets a falling one; a line that is high enough at its apex blocks as a wall."""
    if v_j >= height:
        return v_i + s_i * distance
    if v_i >= height:
        return v_j + s_j * distance
    if s_i + s_j > 0.0:
        return v_i + s_i / (s_i + s_j) * (v_j - v_i + s_j * distance)
    return min(v_i, v_j)


@njit(cache=True, nogil=True, error_model="numpy")
def extreme_errors(value, fn, fp, pos, n_fn, n_fp, d_fn, d_fp, lowest, highest):
    """Write the extremes of ``d·e`` over the profiles of the box with at least the value of each given one.

    They are the box cut by the level line through the given profile. A linear function is extreme at its corners:
    (0, 0) and the profile itself, and where the line meets the sides of the box or the box ends below it.
    """
    neg = 1.0 - pos
    for k in range(value.shape[0]):
        a_fn, a_fp = value[k] * d_fn - n_fn, value[k] * d_fp - n_fp
        rhs = a_fn * fn[k] + a_fp * fp[k]
        own = d_fn * fn[k] + d_fp * fp[k]
        low, high = min(0.0, own), max(0.0, own)
        for x in (0.0, pos):
            reach = _reach(rhs - a_fn * x, a_fp)
            if reach >= 0.0:
                span = d_fn * x + d_fp * min(reach, neg)
                low, high = min(low, span), max(high, span)
        for y in (0.0, neg):
            reach = _reach(rhs - a_fp * y, a_fn)
            if reach >= 0.0:
                span = d_fn * min(reach, pos) + d_fp * y
                low, high = min(low, span), max(high, span)
        lowest[k], highest[k] = low, high


@njit(cache=True, nogil=True, error_model="numpy")
def _reach(rest, cost):
    """Largest error whose ``cost`` fits in ``rest``: negative where none does, infinite where errors cost nothing."""
    if cost > 0.0:
        return rest / cost
    return np.inf if rest >= 0.0 else -np.inf
