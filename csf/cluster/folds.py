"""Fold numbers from a hash of what distinguishes rows: the same in every pass, without an index of the data."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, IntArray
from csf._common.validation import check_count, check_fraction

__all__ = ["check_folds", "hash_folds"]

_ODD, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def check_folds(cv: int | float) -> int | float:
    """Check a number of folds >= 2 or a share to hold out in (0, 1)."""
    if isinstance(cv, float):
        return check_fraction(cv, "cv")
    try:
        return check_count(cv, "cv", minimum=2)
    except TypeError:
        raise TypeError(
            f"cv must be a number of folds >= 2 or a share to hold out in (0, 1), got {cv!r}; splits of your own are a "
            "column of fold numbers"
        ) from None


def hash_folds(part: int, n_rows: int, cv: int | float, seed: int = 0) -> IntArray:
    """Fold of each row of a part of the data.

    Parameters
    ----------
    part : int
        Number of the part.
    n_rows : int
        Its rows.
    cv : int or float
        Number of folds, or the share that is held out as fold 0 while all other rows have -1.
    seed : int, default=0
        Another seed gives other folds.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Numbers that depend on the part, the place in it and the seed alone. Classes are not stratified: with
        thousands of rows in a fold their shares differ by little.

    References
    ----------
    .. [1] G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Examples
    --------
    >>> hash_folds(0, 8, 3).tolist()
    [0, 0, 0, 2, 0, 2, 2, 0]
    >>> round(float((hash_folds(0, 10**5, 0.25) == 0).mean()), 2)
    0.25
    """
    with np.errstate(over="ignore"):
        key = _mixed(np.full(1, seed % 2**64, dtype=np.uint64)) ^ _mixed(np.full(1, part + 1, dtype=np.uint64))
        uniform = _mixed(_mixed(key) + np.arange(n_rows, dtype=np.uint64)) >> np.uint64(11)
    share = uniform.astype(np.float64) * 2.0**-53
    if isinstance(cv, float):
        return np.where(share < cv, 0, -1)
    return (share * cv).astype(np.int64)


def _mixed(bits: Array) -> Array:
    """The finaliser of splitmix64."""
    bits = bits + _ODD
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
