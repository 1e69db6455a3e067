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
from csf.solvers.base import Scalar

__all__ = [
    "add_by_sign",
    "add_images",
    "add_rows",
    "add_squares",
    "compact",
    "descend",
    "gram",
    "minimiser",
    "norms",
    "outer_product",
    "row_score",
    "scores",
    "shrinking_bounds",
    "shuffle",
    "verdict",
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
def norms(
    data: Array, indices: IntArray, indptr: IntArray, constant: float, rows: IntArray, scale: Array, out: Array
) -> None:
    """Sums of the squares of the rows, those of each feature times its ``scale``, with the constant feature."""
    last = constant * constant * scale[scale.size - 1]
    for place in range(rows.size):
        row = rows[place]
        total = last
        for k in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            total += scale[np.uint64(indices[k])] * data[k] * data[k]
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


# Dual coordinate descent for linear SVMs (Hsieh et al., ICML 2008), with shrinking, on any of the rows.


@njit(cache=True, nogil=True)
def shuffle(order: IntArray, count: Scalar, state: Scalar) -> int:
    """Mix the first ``count`` places by a xorshift generator; returns its new state."""
    for k in range(count - 1):
        state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        state ^= state >> np.uint64(7)
        state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        other = k + np.int64(state % np.uint64(count - k))
        order[k], order[other] = order[other], order[k]
    return state


@njit(cache=True, nogil=True)
def verdict(gradient: Scalar, value: Scalar, upper: Scalar, high: Scalar, low: Scalar) -> tuple[float, bool]:
    """Projected gradient of one dual variable, and whether it is shrunk away for now."""
    if value <= 0.0:
        return min(gradient, 0.0), gradient > high
    if value >= upper:
        return max(gradient, 0.0), gradient < low
    return gradient, False


@njit(cache=True, nogil=True)
def minimiser(value: Scalar, gradient: Scalar, curvature: Scalar, upper: Scalar) -> Scalar:
    """Best value of one dual variable; a sample of zeros has no curvature, and all of its weight is lost."""
    return min(max(value - gradient / curvature, 0.0), upper) if curvature > 0.0 else upper


@njit(cache=True, nogil=True)
def shrinking_bounds(high: Scalar, low: Scalar) -> tuple[float, float]:
    """Gradients beyond which variables at a bound are shrunk in the next pass."""
    return (high if high > 0.0 else np.inf), (low if low < 0.0 else -np.inf)


@njit(cache=True, nogil=True)
def descend(
    data: Array,
    indices: IntArray,
    indptr: IntArray,
    constant: float,
    rows: IntArray,
    sign: Array,
    squares: Array,
    ridge: Array,
    upper: Array,
    dual: Array,
    w: Array,
    order: IntArray,
    enough: float,
    max_iter: int,
    seed: int,
) -> int:
    """Improve ``dual`` and ``w`` in place; ``ridge`` is the diagonal that the squared hinge adds.

    Passes over the places in ``order``, which are mixed. Ends when the largest and the smallest projected gradient of
    those that are not shrunk away are within ``enough``; returns the passes used.
    """
    # The order of a pass is random, results are not.
    count, last = order.size, w.size - 1
    state = np.uint64(88172645463325252 + seed)
    high, low = np.inf, -np.inf
    for passes in range(max_iter):
        top, bottom = -np.inf, np.inf
        state = shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            row = rows[i]
            start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
            score = row_score(data, indices, start, stop, w) + constant * w[last]
            gradient = sign[i] * score - 1.0 + ridge[i] * dual[i]
            projected, shrunk = verdict(gradient, dual[i], upper[i], high, low)
            # Likely to stay at its bound: left out until someone looks at all again.
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                value = minimiser(dual[i], gradient, squares[i] + ridge[i], upper[i])
                change = sign[i] * (value - dual[i])
                dual[i] = value
                for q in range(start, stop):
                    w[np.uint64(indices[q])] += change * data[q]
                w[last] += change * constant
            k += 1
        high, low = shrinking_bounds(top, bottom)
        if top - bottom <= enough:
            return passes + 1
    return max_iter
