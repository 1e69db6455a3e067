"""Small concave quadratic programs over a simplex, solved to the end by an active-set method."""

import numpy as np

from csf._compiled import njit

__all__ = ["solve_simplex_qp"]

# Ridge relative to the largest diagonal entry: equal cuts make the equations singular.
_RIDGE = 1e-13


@njit(cache=True, nogil=True)
def solve_simplex_qp(H, linear, total, alpha, tol):
    """Maximise ``linear @ alpha - alpha @ H @ alpha / 2`` over ``alpha >= 0`` with a given sum, starting at ``alpha``.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Gram matrix. A variable of zeros with ``linear = 0`` turns the given sum into an upper bound.
    linear : ndarray of shape (n,)
        Linear part.
    total : float
        Sum of the variables.
    alpha : ndarray of shape (n,)
        Feasible start, overwritten by the solution.
    tol : float
        Duality gap at which to stop.

    Returns
    -------
    float
        Duality gap reached; above ``tol`` only where rounding prevents more.
    """
    n = linear.shape[0]
    ridge = 0.0
    for i in range(n):
        ridge = max(ridge, _RIDGE * H[i, i])
    ridge = max(ridge, 1e-300)
    free = alpha > 0.0
    gap = np.inf
    for _ in range(50 + 10 * n):
        while _move(H, linear, total, alpha, free, ridge):
            pass
        gradient = linear - H @ alpha
        best = int(np.argmax(gradient))
        gap = total * gradient[best] - gradient @ alpha
        if gap <= tol or free[best]:
            break
        free[best] = True
    return gap


@njit(cache=True, nogil=True)
def _move(H, linear, total, alpha, free, ridge):
    """Go to the maximum over the free variables, or to the first bound on the way, whose variable is then fixed."""
    at = np.flatnonzero(free)
    size = at.shape[0]
    scale = ridge / _RIDGE
    system = np.zeros((size + 1, size + 1))
    right = np.empty(size + 1)
    for a in range(size):
        for b in range(size):
            system[a, b] = H[at[a], at[b]]
        system[a, a] += ridge
        system[a, size] = system[size, a] = scale
        right[a] = linear[at[a]] + ridge * alpha[at[a]]
    right[size] = scale * total
    target = np.linalg.solve(system, right)
    step, block = 1.0, -1
    for a in range(size):
        if target[a] < 0.0:
            reach = alpha[at[a]] / (alpha[at[a]] - target[a])
            if reach < step:
                step, block = reach, a
    for a in range(size):
        alpha[at[a]] = max(alpha[at[a]] + step * (target[a] - alpha[at[a]]), 0.0)
    if block < 0:
        return False
    alpha[at[block]] = 0.0
    free[at[block]] = False
    return True
