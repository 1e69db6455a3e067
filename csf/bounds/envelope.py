"""The lower envelope of cones, computed exactly from its lines."""

import numpy as np

__all__ = ["highest_levels"]


def highest_levels(cones, lo, hi, *, is_open=None):
    """Highest value under all cones, and where it is attained between neighbouring apexes.

    Parameters
    ----------
    cones : Cone of ndarrays of shape (n_cones,)
        Apexes ``(t, value)`` and slopes >= 0 away from them. An apex of value ``inf`` bounds nothing and only
        divides an interval.
    lo, hi : float
        Range of the levels and of the metric.
    is_open : ndarray of bool, shape (n_cones + 1,), default=None
        Which intervals between sorted apexes (and the ends) to look at; ``None`` means all.

    Returns
    -------
    height : float
        Largest value of the envelope, at most ``hi``; ``-inf`` where all intervals are closed.
    ranges : ndarray of shape (n_ranges, 2)
        Maximising ranges of levels, one for each interval that attains ``height``.

    Notes
    -----
    Between two neighbouring apexes the envelope is the minimum of rising lines (apexes to the left) and falling
    lines (apexes to the right). At a height h the first leave the levels right of a running maximum of crossings,
    the second those left of a running minimum: O(n) for all intervals together. Newton's method on h, from above,
    replaces h by the crossing of the two lines that block each interval, and ends at the exact maximum.
    """
    order = np.argsort(cones.t, kind="stable")
    t, value, left, right = (np.asarray(part, dtype=float)[order] for part in cones)
    is_open = np.ones(t.size + 1, dtype=bool) if is_open is None else is_open
    if not is_open.any():
        return -np.inf, np.empty((0, 2))
    # The ends of the range are apexes that bound nothing.
    rising = np.array([np.append(lo, t), np.append(np.inf, value), np.append(0.0, right)])
    falling = np.array([np.append(t, hi), np.append(value, np.inf), np.append(left, 0.0)])
    height, step = hi, 1e-15 * max(abs(hi), hi - lo)
    while True:
        start, i = _blocked_until(rising, height)
        end, j = (part[::-1] for part in _blocked_until(falling[:, ::-1] * [[-1.0], [1.0], [1.0]], height))
        end, j = -end, falling.shape[1] - 1 - j
        fits = is_open & (start <= end)
        if fits.any():
            return float(height), np.column_stack([start[fits], end[fits]])
        lower = _crossing(rising[:, i], falling[:, j], height)[is_open].max()
        if not lower < height:  # rounding alone keeps the two lines of the best interval from crossing
            lower, step = height - step, 2.0 * step
        height = lower


def _blocked_until(lines, height):
    """Running maximum of the levels where lines rise to ``height``, and the line that attains it."""
    t, value, slope = lines
    need = height - value
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reached = t + np.where(need > 0, need / slope, 0.0)
    running = np.maximum.accumulate(reached)
    new = np.append(True, reached[1:] > running[:-1])
    return running, np.maximum.accumulate(np.where(new, np.arange(reached.size), 0))


def _crossing(rising, falling, height):
    """Height at which rising lines meet falling ones; a line that is high enough at its apex blocks as a wall."""
    (t_i, v_i, s_i), (t_j, v_j, s_j) = rising, falling
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        meet = v_i + s_i / (s_i + s_j) * (v_j - v_i + s_j * (t_j - t_i))
        meet = np.where(s_i + s_j > 0, meet, np.minimum(v_i, v_j))
        meet = np.where(v_i >= height, v_j + s_j * (t_j - t_i), meet)
        return np.where(v_j >= height, v_i + s_i * (t_j - t_i), meet)
