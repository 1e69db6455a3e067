"""The lower envelope of cones, computed exactly from its lines."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, BoolArray, Values
from csf.bounds._kernels import lower_to_highest

__all__ = ["highest_levels"]


def highest_levels(
    cones: tuple[Values, Values, Values, Values], lo: float, hi: float, *, is_open: BoolArray | None = None
) -> tuple[float, Array]:
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
    order = np.argsort(cones[0], kind="stable")
    apexes = np.empty((4, order.size + 2))
    apexes[:, 1:-1] = np.array(cones)[:, order]
    apexes[:, [0, -1]] = [[lo, hi], [np.inf, np.inf], [0.0, 0.0], [0.0, 0.0]]  # the ends of the range bound nothing
    is_open = np.ones(order.size + 1, dtype=bool) if is_open is None else is_open
    if not is_open.any():
        return -np.inf, np.empty((0, 2))
    start, end = np.empty(is_open.size), np.empty(is_open.size)
    height = lower_to_highest(apexes, is_open, start, end)
    fits = is_open & (start <= end)
    return height, np.column_stack([start[fits], end[fits]])
