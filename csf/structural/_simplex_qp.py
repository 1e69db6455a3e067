"""Small concave quadratic programs over a simplex, solved to the end by an active-set method."""

import numpy as np

from csf._common.compiled import njit

__all__ = ["solve_simplex_qp"]

# Ridge relative to the largest diagonal entry: equal cuts make the equations singular.
_RIDGE = 1e-13


@njit(cache=True, nogil=True)
def solve_simplex_qp(H, linear, total, alpha, tol):
    """Maximise ``linear @ alpha - alpha @ H @ alpha / 2`` over ``alpha >= 0`` with a given sum, from ``alpha`` on."""
    # A variable of zeros in H and linear turns the given sum into an upper bound. The duality gap that is returned is
    # above ``tol`` only where rounding prevents more.
    n = linear.shape[0]
    ridge = 1e-300
    for i in range(n):
        ridge = max(ridge, _RIDGE * H[i, i])
    free = alpha > 0.0
    gap = np.inf
    for _ in range(50 + 10 * n):
        while _move(H, linear, total, alpha, free, ridge):
            pass
        gradient = linear - H @ alpha
        best = int(np.argmax(gradient))
        before, gap = gap, total * gradient[best] - gradient @ alpha
        # free variables alone can gain only what a large ridge left, which falls from step to step
        if gap <= tol or (free[best] and gap > 0.5 * before):
            break
        free[best] = True
    return gap


@njit(cache=True, nogil=True)
def _move(H, linear, total, alpha, free, ridge):
    """Go to the maximum over the free variables, or to the first bound on the way, whose variable is then fixed.

    The ridge counts from where the variables are: it slows them down where the program is flat, and no more.
    """
    at = np.flatnonzero(free)
    size, last = at.shape[0] - 1, 0
    for a in range(size + 1):
        last = a if alpha[at[a]] > alpha[at[last]] else last
    # the largest one makes up for the moves of the others, so that the sum stays
    at[last], at[size] = at[size], at[last]
    pivot = at[size]
    slope, rest = linear[at] - linear[pivot], total
    for a in range(size + 1):
        rest -= alpha[at[a]]
        for b in range(size + 1):
            slope[a] -= (H[at[a], at[b]] - H[pivot, at[b]]) * alpha[at[b]]
    H_free, factor = np.empty((size, size)), np.empty((size, size))
    for a in range(size):
        for b in range(size):
            H_free[a, b] = (H[at[a], at[b]] - H[at[a], pivot]) - (H[pivot, at[b]] - H[pivot, pivot])
    while not _cholesky(H_free, ridge, factor):
        ridge *= 10.0
    move = np.append(_solve(factor, slope[:size]), 0.0)
    move[size] = rest - move.sum()
    step, block = 1.0, -1
    for a in range(size + 1):
        if alpha[at[a]] + move[a] < 0.0:
            reach = -alpha[at[a]] / move[a]
            if reach < step:
                step, block = reach, a
    for a in range(size + 1):
        alpha[at[a]] = max(alpha[at[a]] + step * move[a], 0.0)
    if block < 0:
        return False
    alpha[at[block]] = 0.0
    free[at[block]] = False
    return True


@njit(cache=True, nogil=True)
def _cholesky(H, ridge, factor):
    """Write the Cholesky factor of ``H`` plus the ridge; ``False`` where rounding hides it."""
    for a in range(H.shape[0]):
        for b in range(a):
            rest = H[a, b] - np.dot(factor[a, :b], factor[b, :b])
            factor[a, b] = rest / factor[b, b]
        rest = H[a, a] + ridge - np.dot(factor[a, :a], factor[a, :a])
        if not rest >= 0.5 * ridge:  # no pivot of the sum is smaller than the ridge
            return False
        factor[a, a] = np.sqrt(rest)
    return True


@njit(cache=True, nogil=True)
def _solve(factor, right):
    """Solve the equations of a Cholesky factor."""
    x = right.copy()
    for a in range(x.shape[0]):
        x[a] = (x[a] - np.dot(factor[a, :a], x[:a])) / factor[a, a]
    for a in range(x.shape[0] - 1, -1, -1):
        for b in range(a + 1, x.shape[0]):
            x[a] -= factor[b, a] * x[b]
        x[a] /= factor[a, a]
    return x
