"""Compiled loops over the rows of a CSR matrix; its columns are followed by one constant feature.

``rows`` names the rows of the matrix that take part, in order; arrays of results and multipliers are indexed by the
place in ``rows``. The last coefficient belongs to the constant feature and counts where ``constant`` is not 0.
Inner loops run over unsigned numbers: for signed ones the compiler allows for places counted from the end, which
makes them three times slower.
"""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, IntArray
from csf.linear._solve import Scalar

__all__ = [
    "add_by_sign",
    "add_images",
    "add_rows",
    "add_squares",
    "compact",
    "gram",
    "norms",
    "outer_product",
    "row_score",
    "scores",
]

_FAST = {"contract", "reassoc", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def row_score(data: Array, indices: IntArray, start: Scalar, stop: Scalar, w: Array) -> float:
    """Product of the values from ``start`` to ``stop`` with their coefficients, the constant feature left out."""
    total = 0.0
    for k in range(start, stop):
        total += data[k] * w[np.uint64(indices[k])]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, w: Array, out: Array
) -> None:
    """Products of the rows with the coefficients."""
    shift = constant * w[w.size - 1]
    for place in range(rows.size):
        row = rows[place]
        out[place] = row_score(data, indices, np.uint64(indptr[row]), np.uint64(indptr[row + 1]), w) + shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, factor: Array, out: Array
) -> None:
    """Add each row times its factor to ``out``."""
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row = rows[place]
            for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                out[np.uint64(indices[k])] += v * data[k]
            shift += v
    out[out.size - 1] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_by_sign(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, factor: Array, out: Array
) -> None:
    """Add each row times its factor to the first line of ``out``, or to the second where that is negative."""
    last = out.shape[1] - 1
    for place in range(rows.size):
        v, row = factor[place], rows[place]
        line = out[np.uint64(v < 0.0)]
        for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            line[np.uint64(indices[k])] += v * data[k]
        line[last] += constant * v


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_images(
    data: Array,
    indices: IntArray,
    indptr: IntArray,
    constant: float,
    rows: IntArray,
    factor: Array,
    v: Array,
    out: Array,
) -> None:
    """Add to ``out`` the image of ``v`` under the sum of outer products of the rows, times a factor each."""
    last = out.size - 1
    bias, shift = constant * v[last], 0.0
    for place in range(rows.size):
        if factor[place] != 0.0:
            row = rows[place]
            start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
            # Scored and added at once: each row comes from memory but once.
            times = factor[place] * (row_score(data, indices, start, stop, v) + bias)
            for k in range(start, stop):
                out[np.uint64(indices[k])] += times * data[k]
            shift += times
    out[last] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, factor: Array, out: Array
) -> None:
    """Add the squares of each row times its factor to ``out``."""
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row = rows[place]
            for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                out[np.uint64(indices[k])] += v * data[k] * data[k]
            shift += v
    out[out.size - 1] += constant * constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def norms(data: Array, indptr: IntArray, constant: float, rows: IntArray, out: Array) -> None:
    """Squared lengths of the rows, with the constant feature."""
    for place in range(rows.size):
        row = rows[place]
        total = constant * constant
        for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            total += np.float64(data[k]) * data[k]
        out[place] = total


@njit(cache=True, nogil=True)
def gram(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, factor: Array, out: Array
) -> None:
    """Add factor times the outer product of each row to the upper triangle of ``out``; columns ascend in each row."""
    last = np.uint64(out.shape[0] - 1)
    for place in range(rows.size):
        v = factor[place]
        if v == 0.0:
            continue
        row = rows[place]
        start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        for k in range(start, stop):
            scaled = v * data[k]
            line = out[np.uint64(indices[k])]
            for q in range(k, stop):
                line[np.uint64(indices[q])] += scaled * data[q]
            line[last] += scaled * constant
        out[last, last] += v * constant * constant


@njit(cache=True, nogil=True)
def compact(
    data: Array, indices: IntArray, indptr: IntArray, rows: IntArray, factor: Array, mark: IntArray, columns: IntArray
) -> tuple[Array, IntArray, IntArray, int]:
    """Copy of the rows, times a factor each, with the columns that they use numbered anew.

    ``mark`` is -1 everywhere, and so again at the end; ``columns`` receives the old numbers. Returns the three arrays
    of the copy and the number of its columns.
    """
    count = 0
    for row in rows:
        count += indptr[row + 1] - indptr[row]
    values = np.empty(count)
    places = np.empty(count, np.int32)
    starts = np.zeros(rows.size + 1, np.int64)
    n_columns, q = 0, 0
    for place in range(rows.size):
        row = rows[place]
        for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            column = np.uint64(indices[k])
            if mark[column] < 0:
                mark[column] = n_columns
                columns[n_columns] = column
                n_columns += 1
            values[q] = factor[place] * data[k]
            places[q] = mark[column]
            q += 1
        starts[place + 1] = q
    for column in columns[:n_columns]:
        mark[column] = -1
    return values, places, starts, n_columns


@njit(cache=True, nogil=True, fastmath=_FAST)
def outer_product(
    values: Array, places: IntArray, starts: IntArray, bias: Array, v: Array, buffer: Array, out: Array
) -> None:
    """Product of the rows of a compact copy with the sum of these rows times ``v``; ``bias`` is their last feature."""
    buffer[:] = 0.0
    shift = 0.0
    for row in range(v.size):
        factor = v[row]
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            buffer[np.uint64(places[k])] += factor * values[k]
        shift += factor * bias[row]
    for row in range(v.size):
        total = shift * bias[row]
        for k in range(np.uint64(starts[row]), np.uint64(starts[row + 1])):
            total += values[k] * buffer[np.uint64(places[k])]
        out[row] = total
