"""Compiled loops over the rows of a dense or CSR matrix, whose columns are followed by one constant feature.

``X`` is the matrix as `csf._common.compiled.parts` gives it, so that one loop serves both kinds at full speed. ``rows``
names the rows that take part, in order; arrays of results and multipliers are indexed by the place in ``rows``. The
last coefficient belongs to the constant feature and counts where ``constant`` is not 0.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from csf._common.compiled import column_of, njit, row_and_bounds
from csf._common.typing import Array, IntArray
from csf.solvers.base import Scalar

# ``(X,)``, or ``(data, indices, indptr)``.
Parts: TypeAlias = "tuple[Array, ...]"

_FAST = {"contract", "reassoc", "nsz"}
# Dense rows of a block, and a line of so many numbers: lines a power of two apart would compete for cache lines.
_BLOCK, _LINE = 256, 264


@njit(cache=True, nogil=True, fastmath=_FAST)
def _score(X: Parts, i: Scalar, w: Array) -> float:
    """Product of row i with its coefficients, without the constant feature."""
    # A function of its own: within a loop over rows, references to the arrays of a row would be counted.
    row, start, stop = row_and_bounds(X, i)
    values, total = row[0], 0.0
    for k in range(start, stop):
        total += values[k] * w[column_of(row, k)]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores(X: Parts, constant: float, rows: IntArray, w: Array, out: Array) -> None:
    """Products of the rows with the coefficients."""
    shift = constant * w[w.size - 1]
    for place in range(rows.size):
        out[place] = _score(X, rows[place], w) + shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to ``out``."""
    # Which factors are 0 is hard to predict: to list the others without a branch takes a third of the time.
    count, places, shift = 0, np.empty(rows.size, np.int64), 0.0
    for place in range(rows.size):
        places[count] = place
        count += factor[place] != 0.0
    for place in places[:count]:
        (row, start, stop), v = row_and_bounds(X, rows[place]), factor[place]
        values = row[0]
        for k in range(start, stop):
            out[column_of(row, k)] += v * values[k]
        shift += v
    out[out.size - 1] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_by_sign(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to the first line of ``out``, or to the second if the factor is negative."""
    last = out.shape[1] - 1
    for place in range(rows.size):
        (row, start, stop), v = row_and_bounds(X, rows[place]), factor[place]
        values, line = row[0], out[np.uint64(v < 0.0)]
        for k in range(start, stop):
            line[column_of(row, k)] += v * values[k]
        line[last] += constant * v


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_images(X: Parts, constant: float, rows: IntArray, factor: Array, v: Array, out: Array) -> None:
    """Add to ``out`` the image of ``v`` under the sum of the rows' outer products, each times its factor."""
    last = out.size - 1
    bias, shift = constant * v[last], 0.0
    for place in range(rows.size):
        if factor[place] != 0.0:
            # Scored and added at once: each row is read from memory only once.
            row, start, stop = row_and_bounds(X, rows[place])
            values, times = row[0], factor[place] * (_score(X, rows[place], v) + bias)
            for k in range(start, stop):
                out[column_of(row, k)] += times * values[k]
            shift += times
    out[last] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add the squares of each row times its factor to ``out``."""
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            row, start, stop = row_and_bounds(X, rows[place])
            values = row[0]
            for k in range(start, stop):
                out[column_of(row, k)] += v * values[k] * values[k]
            shift += v
    out[out.size - 1] += constant * constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def norms(X: Parts, constant: float, rows: IntArray, scale: Array, out: Array) -> None:
    """Sum of the squares of each row, those of each feature times its ``scale``, with the constant feature."""
    last = constant * constant * scale[scale.size - 1]
    for place in range(rows.size):
        row, start, stop = row_and_bounds(X, rows[place])
        values, total = row[0], last
        for k in range(start, stop):
            total += scale[column_of(row, k)] * values[k] * values[k]
        out[place] = total


@njit(cache=True, nogil=True)
def gram_sparse(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add factor times the outer product of each CSR row to the upper triangle of ``out``; its columns ascend."""
    last = np.uint64(out.shape[0] - 1)
    for place in range(rows.size):
        v = factor[place]
        if v == 0.0:
            continue
        (values, columns), start, stop = row_and_bounds(X, rows[place])
        for k in range(start, stop):
            scaled = v * values[k]
            line = out[np.uint64(columns[k])]
            for q in range(k, stop):
                line[np.uint64(columns[q])] += scaled * values[q]
            line[last] += scaled * constant
        out[last, last] += v * constant * constant


@njit(cache=True, nogil=True, fastmath=_FAST)
def gram_dense(X: Parts, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add factor times the outer product of each dense row to the upper triangle of ``out``."""
    d = X[0].shape[1]
    even = d + 1 + (d + 1) % 2
    # A block of rows is kept as columns, whose products are long loops. Two columns are multiplied by two others: each
    # number that is read serves two products.
    part, one, two = np.zeros((even, _LINE)), np.empty(_BLOCK), np.empty(_BLOCK)
    part[d] = constant
    total = np.zeros((even, even))
    for start in range(0, rows.size, _BLOCK):
        size = min(_BLOCK, rows.size - start)
        for k in range(size):
            x = X[0][np.uint64(rows[start + k])]
            for j in range(np.uint64(d)):
                part[j, k] = x[j]
        for i in range(0, even, 2):
            for k in range(np.uint64(size)):
                one[k] = factor[start + k] * part[i, k]
                two[k] = factor[start + k] * part[i + 1, k]
            for j in range(i, even, 2):
                a, b = part[j], part[j + 1]
                one_a = one_b = two_a = two_b = 0.0
                for k in range(np.uint64(size)):
                    one_a += one[k] * a[k]
                    one_b += one[k] * b[k]
                    two_a += two[k] * a[k]
                    two_b += two[k] * b[k]
                total[i, j] += one_a
                total[i, j + 1] += one_b
                total[i + 1, j] += two_a
                total[i + 1, j + 1] += two_b
    out += total[: d + 1, : d + 1]


@njit(cache=True, nogil=True)
def compact(
    X: Parts, rows: IntArray, factor: Array, mark: IntArray, columns: IntArray
) -> tuple[Array, IntArray, IntArray, int]:
    """Copy of CSR rows, each times its factor, whose columns are renumbered in the order of their first use.

    ``mark`` is -1 everywhere, and so again at the end; ``columns`` receives the old numbers. Returns the three arrays
    of the copy and the number of its columns.
    """
    count = 0
    for row in rows:
        count += X[2][row + 1] - X[2][row]
    values = np.empty(count)
    places = np.empty(count, np.int32)
    starts = np.zeros(rows.size + 1, np.int64)
    n_columns, q = 0, 0
    for place in range(rows.size):
        (given, used), start, stop = row_and_bounds(X, rows[place])
        for k in range(start, stop):
            column = np.uint64(used[k])
            if mark[column] < 0:
                mark[column] = n_columns
                columns[n_columns] = column
                n_columns += 1
            values[q] = factor[place] * given[k]
            places[q] = mark[column]
            q += 1
        starts[place + 1] = q
    for column in columns[:n_columns]:
        mark[column] = -1
    return values, places, starts, n_columns


@njit(cache=True, nogil=True, fastmath=_FAST)
def outer_product(X: Parts, bias: Array, v: Array, buffer: Array, out: Array) -> None:
    """Product of the rows of a compact copy with the sum of these rows times ``v``; ``bias`` is their last feature."""
    buffer[:] = 0.0
    shift = 0.0
    for i in range(v.size):
        (row, start, stop), factor = row_and_bounds(X, i), v[i]
        values = row[0]
        for k in range(start, stop):
            buffer[column_of(row, k)] += factor * values[k]
        shift += v[i] * bias[i]
    for i in range(v.size):
        (row, start, stop), total = row_and_bounds(X, i), shift * bias[i]
        values = row[0]
        for k in range(start, stop):
            total += values[k] * buffer[column_of(row, k)]
        out[i] = total


# Dual coordinate descent for linear SVMs (Hsieh et al., ICML 2008), with shrinking, on any of the rows.


@njit(cache=True, nogil=True)
def _shuffle(order: IntArray, count: Scalar, state: Scalar) -> int:
    """Mix the first ``count`` places by a xorshift generator; returns its new state."""
    for k in range(count - 1):
        state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        state ^= state >> np.uint64(7)
        state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
        other = k + np.int64(state % np.uint64(count - k))
        order[k], order[other] = order[other], order[k]
    return state


@njit(cache=True, nogil=True)
def _verdict(gradient: Scalar, value: Scalar, upper: Scalar, high: Scalar, low: Scalar) -> tuple[float, bool]:
    """Projected gradient of one dual variable, and whether it is shrunk away for now."""
    if value <= 0.0:
        return min(gradient, 0.0), gradient > high
    if value >= upper:
        return max(gradient, 0.0), gradient < low
    return gradient, False


@njit(cache=True, nogil=True)
def descend(
    X: Parts,
    constant: float,
    rows: IntArray,
    problem: tuple[Array, Array, Array, Array],
    dual: Array,
    w: Array,
    order: IntArray,
    enough: float,
    max_iter: int,
    seed: int,
) -> int:
    """Improve ``dual`` and ``w`` in place; ``problem`` is what `csf.solvers.hinge.BoxProgram` is made of.

    Passes over the places in ``order``, which are mixed. Ends when the largest and the smallest projected gradient of
    those that are not shrunk away are within ``enough``; returns the passes used.
    """
    # The order of a pass is random, results are not.
    sign, ridge, upper, squares = problem
    count, last = order.size, w.size - 1
    state = np.uint64(88172645463325252 + seed)
    high, low = np.inf, -np.inf
    for passes in range(max_iter):
        top, bottom = -np.inf, np.inf
        state = _shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            gradient = sign[i] * (_score(X, rows[i], w) + constant * w[last]) - 1.0 + ridge[i] * dual[i]
            projected, shrunk = _verdict(gradient, dual[i], upper[i], high, low)
            # Likely to stay at its bound: left out until all are looked at again.
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                curvature = squares[i] + ridge[i]
                # A sample of zeros has no curvature, and all of its weight is lost.
                value = min(max(dual[i] - gradient / curvature, 0.0), upper[i]) if curvature > 0.0 else upper[i]
                change = sign[i] * (value - dual[i])
                dual[i] = value
                row, start, stop = row_and_bounds(X, rows[i])
                for q in range(start, stop):
                    w[column_of(row, q)] += change * row[0][q]
                w[last] += change * constant
            k += 1
        # Gradients beyond which variables at a bound are shrunk in the next pass.
        high, low = (top if top > 0.0 else np.inf), (bottom if bottom < 0.0 else -np.inf)
        if top - bottom <= enough:
            return passes + 1
    return max_iter
