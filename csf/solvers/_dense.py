"""Compiled loops over the rows of a dense matrix; see `csf.solvers._csr` for the conventions."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, IntArray
from csf.solvers._csr import minimiser, shrinking_bounds, shuffle, verdict

__all__ = ["add_by_sign", "add_images", "add_rows", "add_squares", "descend", "gram", "norms", "row_score", "scores"]

_FAST = {"contract", "reassoc", "nsz"}
# Rows at a time, and a line of so many numbers: lines a power of two apart would be in each other's way in the cache.
_BLOCK, _LINE = 256, 264


@njit(cache=True, nogil=True, fastmath=_FAST)
def row_score(x: Array, w: Array) -> float:
    """Product of one row with its coefficients, the constant feature left out."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * w[j]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores(X: Array, constant: float, rows: IntArray, w: Array, out: Array) -> None:
    """Products of the rows with the coefficients."""
    d = np.uint64(X.shape[1])
    shift = constant * w[d]
    for place in range(rows.size):
        out[place] = row_score(X[np.uint64(rows[place])], w) + shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(X: Array, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to ``out``."""
    d = np.uint64(X.shape[1])
    # Which factors are 0 is hard to foresee: to note the others without a branch takes a third of the time.
    count, places = 0, np.empty(rows.size, np.int64)
    for place in range(rows.size):
        places[count] = place
        count += factor[place] != 0.0
    shift = 0.0
    for place in places[:count]:
        x, v = X[np.uint64(rows[place])], factor[place]
        for j in range(d):
            out[j] += v * x[j]
        shift += v
    out[d] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_by_sign(X: Array, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add each row times its factor to the first line of ``out``, or to the second where that is negative."""
    d = np.uint64(X.shape[1])
    for place in range(rows.size):
        v = factor[place]
        x, line = X[np.uint64(rows[place])], out[np.uint64(v < 0.0)]
        for j in range(d):
            line[j] += v * x[j]
        line[d] += constant * v


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_images(X: Array, constant: float, rows: IntArray, factor: Array, v: Array, out: Array) -> None:
    """Add to ``out`` the image of ``v`` under the sum of outer products of the rows, times a factor each."""
    d = np.uint64(X.shape[1])
    bias, shift = constant * v[d], 0.0
    for place in range(rows.size):
        if factor[place] != 0.0:
            x = X[np.uint64(rows[place])]
            times = factor[place] * (row_score(x, v) + bias)
            for j in range(d):
                out[j] += times * x[j]
            shift += times
    out[d] += constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(X: Array, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add the squares of each row times its factor to ``out``."""
    d = np.uint64(X.shape[1])
    shift = 0.0
    for place in range(rows.size):
        v = factor[place]
        if v != 0.0:
            x = X[np.uint64(rows[place])]
            for j in range(d):
                out[j] += v * x[j] * x[j]
            shift += v
    out[d] += constant * constant * shift


@njit(cache=True, nogil=True, fastmath=_FAST)
def norms(X: Array, constant: float, rows: IntArray, scale: Array, out: Array) -> None:
    """Sums of the squares of the rows, those of each feature times its ``scale``, with the constant feature."""
    d = np.uint64(X.shape[1])
    for place in range(rows.size):
        x = X[np.uint64(rows[place])]
        total = constant * constant * scale[d]
        for j in range(d):
            total += scale[j] * x[j] * x[j]
        out[place] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def gram(X: Array, constant: float, rows: IntArray, factor: Array, out: Array) -> None:
    """Add factor times the outer product of each row to the upper triangle of ``out``."""
    d = X.shape[1]
    even = d + 1 + (d + 1) % 2
    # Some rows at a time as columns, whose products are long loops. Two columns by two others: a number that is read
    # serves two products.
    part, one, two = np.zeros((even, _LINE)), np.empty(_BLOCK), np.empty(_BLOCK)
    part[d] = constant
    total = np.zeros((even, even))
    for start in range(0, rows.size, _BLOCK):
        size = min(_BLOCK, rows.size - start)
        for k in range(size):
            x = X[np.uint64(rows[start + k])]
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
def descend(
    X: Array,
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
    """As `csf.solvers._csr.descend`, for a dense matrix.

    Twins on purpose: a row of each kind is reached in its own way in the middle of the loop, and compiled code has no
    means to choose one that costs nothing there.
    """
    count, last = order.size, w.size - 1
    state = np.uint64(88172645463325252 + seed)
    high, low = np.inf, -np.inf
    for passes in range(max_iter):
        top, bottom = -np.inf, np.inf
        state = shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            x = X[rows[i]]
            gradient = sign[i] * (row_score(x, w) + constant * w[last]) - 1.0 + ridge[i] * dual[i]
            projected, shrunk = verdict(gradient, dual[i], upper[i], high, low)
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                value = minimiser(dual[i], gradient, squares[i] + ridge[i], upper[i])
                change = sign[i] * (value - dual[i])
                dual[i] = value
                for j in range(last):
                    w[j] += change * x[j]
                w[last] += change * constant
            k += 1
        high, low = shrinking_bounds(top, bottom)
        if top - bottom <= enough:
            return passes + 1
    return max_iter
