"""Linear systems and step lengths that the solvers share."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from csf._common.compiled import njit

__all__ = [
    "NOISE",
    "check_finite",
    "conjugate_gradients",
    "hinge_step",
    "newton_step",
    "note_changes",
    "quietly",
    "squared_terms",
]

_FAST = {"contract", "reassoc", "nsz"}
# Rounding of an objective and its bound, as a share of their largest terms: no smaller gap is proven.
NOISE = 4 * np.finfo(np.float64).eps
_TOO_LARGE = (
    "the features are too large for a linear model to be solved, or C times the weights is; scale them, e.g. to [0, 1]"
)


def quietly(solve: Any) -> Any:
    """Decorator of solvers that say by themselves where sums have overflown."""

    @wraps(solve)
    def solve_quietly(*args, **kwargs):
        with np.errstate(over="ignore", invalid="ignore"):
            return solve(*args, **kwargs)

    return solve_quietly


def check_finite(value: Any) -> None:
    """Say so where sums have overflown."""
    if not np.isfinite(value):
        raise ValueError(_TOO_LARGE)


def newton_step(matrix: Any, slope: Any) -> Any:
    """Minus the inverse of a positive definite matrix times the slope; its diagonal may be overwritten.

    Only its upper triangle counts; the diagonal grows a little where rounding made it singular.
    """
    diagonal, growth = matrix.diagonal().copy(), 0.0
    while growth < 1.0:
        _, step, failed = dposv(matrix, slope)
        if not failed:
            return -step
        growth = max(10.0 * growth, 1e-14)
        matrix.flat[:: matrix.shape[0] + 1] = diagonal * (1.0 + growth)
    raise ValueError(_TOO_LARGE)


def conjugate_gradients(
    product: Any, rhs: Any, *, diagonal: Any = None, start: Any = None, stop: Any, max_iter: Any
) -> Any:
    """Solve ``A x = rhs`` roughly for the positive definite matrix A that ``product`` multiplies with.

    ``diagonal`` is the diagonal of A, or alike, that evens its scales; ``stop(x, residual)`` ends the search. Returns
    the solution and the number of products.
    """
    scale = 1.0 if diagonal is None else 1.0 / diagonal
    x = np.zeros_like(rhs) if start is None else start.copy()
    residual = rhs.copy() if start is None else rhs - product(x)
    direction = scale * residual
    norm = residual @ direction
    count = int(start is not None)
    while count < max_iter and norm > 0.0 and not stop(x, residual):
        image = product(direction)
        curvature = direction @ image
        if not curvature > 0.0:  # the matrix is singular there
            break
        length = norm / curvature
        x += length * direction
        residual -= length * image
        scaled = scale * residual
        new = residual @ scaled
        direction = scaled + (new / norm) * direction
        norm = new
        count += 1
    return x, count


@njit(cache=True, nogil=True, fastmath=_FAST)
def _slope_and_curvature(length, margins, along, weight, w_step, step_step):
    slope, curvature = w_step + length * step_step, step_step
    for i in range(margins.size):
        slack = 1.0 - margins[i] - length * along[i]
        push = 2.0 * weight[i] * along[i] if slack > 0.0 else 0.0
        slope -= push * slack
        curvature += push * along[i]
    return slope, curvature


@njit(cache=True, nogil=True, fastmath=_FAST)
def squared_terms(margins, sign, weight, factor):
    """Weighted squared-hinge loss; ``factor`` receives minus its slopes in the scores."""
    loss = 0.0
    for i in range(margins.size):
        slack = max(1.0 - margins[i], 0.0)
        lost = weight[i] * slack
        loss += lost * slack
        factor[i] = 2.0 * lost * sign[i]
    return loss


@njit(cache=True, nogil=True)
def note_changes(factor, weight, was_active, places, change):
    """Write the samples that began or ceased to lose, and by how much their outer products change the Hessian.

    ``factor`` is what `squared_terms` wrote; ``was_active`` is brought up to date. Returns how many samples changed
    and how many lose now. There are no branches, since no one can foresee them.
    """
    count, n_active = 0, 0
    for i in range(factor.size):
        active = factor[i] != 0.0
        places[count] = i
        change[count] = 2.0 * weight[i] * (1.0 if active else -1.0)
        count += active != was_active[i]
        n_active += active
        was_active[i] = active
    return count, n_active


@njit(cache=True, nogil=True)
def hinge_step(margins, along, weight, initial, w_step, step_step):
    """Length that minimises the squared-hinge objective along a step, or 0 where rounding hides descent.

    ``initial`` is the slope at length 0; ``w_step`` and ``step_step`` are the products of the coefficients and of
    the step with the step.
    """
    if not initial < 0.0:
        return 0.0
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        slope, curvature = _slope_and_curvature(length, margins, along, weight, w_step, step_step)
        if abs(slope) <= 1e-2 * abs(initial):
            return length
        if slope < 0.0:
            low = length
        else:
            high = length
        length -= slope / curvature
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low
