"""Rows of a chunk: parts of it, their lengths, and rows that are too long."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from csf._common.compiled import njit
from csf._common.typing import Array, FloatArray, Samples

__all__ = [
    "are_ready",
    "canonical",
    "lengths",
    "linear_scores",
    "parts",
    "power_of_two_above",
    "rows",
    "shorten",
    "within_range",
]

# Inverses of powers of two up to this one are normal numbers.
_LONGEST = 2.0**1000
# Products of two numbers, each made so much smaller, stay in the range.
_SMALL = 2.0**-520


def are_ready(X: Any, y: Any, n_features: int) -> bool:
    """Whether a chunk is what the general check would return unchanged: one look at its values instead of several."""
    chunk = X
    if type(X) is np.ndarray:
        values, fits = chunk, X.ndim == 2 and X.flags.c_contiguous
    elif isinstance(X, csr_array | csr_matrix):
        values, fits = chunk.data, True
    else:
        return False
    if not (
        fits
        and values.dtype in (np.float64, np.float32)
        and chunk.shape[0] > 0
        and chunk.shape[1] == n_features
        and type(y) is np.ndarray
        and y.dtype.kind in "biu"
        and y.shape == chunk.shape[:1]
    ):
        return False
    # One value that is not finite makes the sum so; a sum that overflows is left to the general check.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def canonical(X: Samples) -> Samples:
    """Sparse rows with sorted columns, each at most once; anything else as it is."""
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def parts(X: Samples) -> tuple[Array, ...]:
    """Rows as kernels take them: one array, or values, columns and ends of sparse rows."""
    return (X.data, X.indices, X.indptr) if issparse(X) else (X,)


def rows(X: Samples, start: int, stop: int) -> Samples:
    """Rows from ``start`` to ``stop``, without a copy where that is all of them."""
    return X if start == 0 and stop == X.shape[0] else X[start:stop]


def linear_scores(X: Samples, coef: Array, intercept: float) -> FloatArray:
    """Scores of rows; sums that leave the range of numbers are as large as numbers go, with the right sign."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(X @ coef, dtype=np.float64).ravel() + intercept
        lost = np.flatnonzero(~np.isfinite(scores))
        if lost.size:
            small = (X[lost].astype(np.float64) * _SMALL) @ (coef * _SMALL) + intercept * _SMALL * _SMALL
            largest = np.finfo(np.float64).max
            scores[lost] = np.clip(np.asarray(small).ravel() / _SMALL / _SMALL, -largest, largest)
    return scores


def lengths(X: Samples) -> FloatArray:
    """Euclidean length of each row, at most 2**1000."""
    return np.minimum(row_lengths(parts(X)), _LONGEST)


def within_range(X: Samples) -> tuple[Samples, FloatArray]:
    """Rows and their lengths, below 2**1000; in rows that are longer each value counts as 2**960 at most."""
    length = lengths(X)
    far = np.flatnonzero(length >= _LONGEST)
    if far.size:
        X = X.copy()
        for i in far:
            values = X.data[X.indptr[i] : X.indptr[i + 1]] if issparse(X) else X[i]
            np.clip(values, -(2.0**960), 2.0**960, out=values)
        length[far] = lengths(X[far])
    return X, length


def shorten(X: Samples, length: FloatArray, limit: float) -> Samples:
    """Rows, the longer ones of which are shrunk to length ``limit``; a copy if there is one."""
    if not (length > limit).any():
        return X
    factors = (limit / np.maximum(length, limit)).astype(X.dtype)
    if not issparse(X):
        return X * factors[:, None]
    X = X.copy()
    X.data *= np.repeat(factors, np.diff(X.indptr))
    return X


def power_of_two_above(length: float) -> float:
    """Least power of two, from 2**-1000 on, that is not below ``length``."""
    fraction, exponent = math.frexp(length)
    return math.ldexp(1.0, max(exponent - (fraction == 0.5), -1000))


@njit(cache=True, nogil=True)
def _careful_length(values):
    """Euclidean length where squares would overflow or vanish."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(np.float64(value)))
    if largest == 0.0:
        return 0.0
    total = 0.0
    for value in values:
        total += (value / largest) ** 2
    return largest * math.sqrt(total)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def row_lengths(rows):
    """`lengths` of the rows of ``(X,)`` or ``(data, indices, indptr)``."""
    n_rows = rows[0].shape[0] if len(rows) == 1 else rows[2].shape[0] - 1
    out = np.empty(n_rows)
    for i in range(n_rows):
        values, square = _values(rows, i), 0.0
        for k in range(values.shape[0]):
            square += np.float64(values[k]) * np.float64(values[k])
        out[i] = math.sqrt(square) if 1e-280 < square < 1e280 else _careful_length(values)
    return out


# One kernel for dense and sparse rows: see `csf.online._ascent`.
@njit(cache=True, nogil=True)
def _values(rows, i):
    """Values of row i."""
    if len(rows) == 1:
        return rows[0][i]
    return rows[0][rows[2][i] : rows[2][i + 1]]
