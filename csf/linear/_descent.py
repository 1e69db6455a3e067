"""Compiled dual coordinate descent for linear SVMs (Hsieh et al., ICML 2008), with shrinking, on any of the rows."""

from __future__ import annotations

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, IntArray
from csf.linear._csr import row_score as csr_score
from csf.linear._dense import row_score as dense_score
from csf.linear._solve import Scalar

__all__ = ["descend_csr", "descend_dense"]


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
def _minimiser(value: Scalar, gradient: Scalar, curvature: Scalar, upper: Scalar) -> Scalar:
    """Best value of one dual variable; a sample of zeros has no curvature, and all of its weight is lost."""
    return min(max(value - gradient / curvature, 0.0), upper) if curvature > 0.0 else upper


@njit(cache=True, nogil=True)
def _bounds(high: Scalar, low: Scalar) -> tuple[float, float]:
    """Gradients beyond which variables at a bound are shrunk in the next pass."""
    return (high if high > 0.0 else np.inf), (low if low < 0.0 else -np.inf)


@njit(cache=True, nogil=True)
def descend_csr(
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
        state = _shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            row = rows[i]
            start, stop = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
            score = csr_score(data, indices, start, stop, w) + constant * w[last]
            gradient = sign[i] * score - 1.0 + ridge[i] * dual[i]
            projected, shrunk = _verdict(gradient, dual[i], upper[i], high, low)
            # Likely to stay at its bound: left out until someone looks at all again.
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                value = _minimiser(dual[i], gradient, squares[i] + ridge[i], upper[i])
                change = sign[i] * (value - dual[i])
                dual[i] = value
                for q in range(start, stop):
                    w[np.uint64(indices[q])] += change * data[q]
                w[last] += change * constant
            k += 1
        high, low = _bounds(top, bottom)
        if top - bottom <= enough:
            return passes + 1
    return max_iter


@njit(cache=True, nogil=True)
def descend_dense(
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
    """As `descend_csr`, for a dense matrix.

    Twins on purpose: a row of each kind is reached in its own way in the middle of the loop, and compiled code has no
    means to choose one that costs nothing there.
    """
    count, last = order.size, w.size - 1
    state = np.uint64(88172645463325252 + seed)
    high, low = np.inf, -np.inf
    for passes in range(max_iter):
        top, bottom = -np.inf, np.inf
        state = _shuffle(order, count, state)
        k = 0
        while k < count:
            i = order[k]
            x = X[rows[i]]
            gradient = sign[i] * (dense_score(x, w) + constant * w[last]) - 1.0 + ridge[i] * dual[i]
            projected, shrunk = _verdict(gradient, dual[i], upper[i], high, low)
            if shrunk:
                count -= 1
                order[k], order[count] = order[count], order[k]
                continue
            top, bottom = max(top, projected), min(bottom, projected)
            if abs(projected) > 1e-12:
                value = _minimiser(dual[i], gradient, squares[i] + ridge[i], upper[i])
                change = sign[i] * (value - dual[i])
                dual[i] = value
                for j in range(last):
                    w[j] += change * x[j]
                w[last] += change * constant
            k += 1
        high, low = _bounds(top, bottom)
        if top - bottom <= enough:
            return passes + 1
    return max_iter
