"""Linear systems and step lengths that the solvers share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, FloatArray, IntArray

__all__ = [
    "DIRECT",
    "NOISE",
    "Scalar",
    "check_finite",
    "conjugate_gradients",
    "hinge_step",
    "newton_step",
    "note_changes",
    "quietly",
    "squared_terms",
]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
# A number: for numpy's types, products of vectors and elements of arrays may be arrays.
Scalar: TypeAlias = Any

_FAST = {"contract", "reassoc", "nsz"}
# Up to this many coefficients Newton's equations are solved by a Cholesky factor. Beyond, solvers go without the
# matrix: it would take seconds to fill and to factor, and gigabytes to keep.
DIRECT = 512
# Rounding of an objective and its bound, as a share of their largest terms: no smaller gap is proven.
NOISE = 4 * np.finfo(np.float64).eps
_TOO_LARGE = (
    "the features are too large for a linear model to be solved, or C times the weights is; scale them, e.g. to [0, 1]"
)
(_posv,) = get_lapack_funcs(("posv",), dtype=np.float64)


def quietly(solve: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator of solvers that say by themselves where sums have overflown."""

    @wraps(solve)
    def solve_quietly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with np.errstate(over="ignore", invalid="ignore"):
            return solve(*args, **kwargs)

    return solve_quietly


def check_finite(value: Scalar) -> None:
    """Say so where sums have overflown."""
    if not isfinite(value):
        raise ValueError(_TOO_LARGE)


def newton_step(matrix: FloatArray, slope: FloatArray) -> FloatArray:
    """Minus the inverse of a positive definite matrix times the slope; its diagonal may be overwritten.

    Only its upper triangle counts; the diagonal grows a little where rounding made it singular.
    """
    diagonal, growth = matrix.diagonal().copy(), 0.0
    while growth < 1.0:
        _, step, failed = _posv(matrix, slope)
        if not failed:
            return -step
        # Equal or constant features, or weights of very different sizes: a ridge as small as rounding is changes the
        # step less than its line search does.
        growth = max(10.0 * growth, 1e-14)
        matrix.flat[:: matrix.shape[0] + 1] = diagonal * (1.0 + growth)
    raise ValueError(_TOO_LARGE)


def conjugate_gradients(
    product: Callable[[Array], Array],
    rhs: Array,
    *,
    diagonal: Array | None = None,
    stop: Callable[[Array, Array], Scalar],
    max_iter: int,
) -> tuple[Array, int]:
    """Solve ``A x = rhs`` roughly for the positive definite matrix A that ``product`` multiplies with.

    ``diagonal`` is the diagonal of A, or alike, that evens its scales; ``stop(x, residual)`` ends the search. Returns
    the solution and the number of products.
    """
    scale = 1.0 if diagonal is None else 1.0 / diagonal
    x, residual = np.zeros_like(rhs), rhs.copy()
    direction = scale * residual
    norm = residual @ direction
    count = 0
    while count < max_iter and norm > 0.0 and not stop(x, residual):
        image = product(direction)
        curvature = direction @ image
        # Rounding has made the matrix singular there. What was found so far still goes down.
        if not curvature > 0.0:
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
def _slope_and_curvature(
    length: float, margins: Array, along: Array, weight: Array, w_step: Scalar, step_step: Scalar
) -> tuple[float, float]:
    slope, curvature = w_step + length * step_step, step_step
    for i in range(margins.size):
        slack = 1.0 - margins[i] - length * along[i]
        push = 2.0 * weight[i] * along[i] if slack > 0.0 else 0.0
        slope -= push * slack
        curvature += push * along[i]
    return slope, curvature


@njit(cache=True, nogil=True, fastmath=_FAST)
def squared_terms(margins: Array, sign: Array, weight: Array, factor: Array) -> float:
    """Weighted squared-hinge loss; ``factor`` receives minus its slopes in the scores."""
    loss = 0.0
    for i in range(margins.size):
        slack = max(1.0 - margins[i], 0.0)
        lost = weight[i] * slack
        loss += lost * slack
        factor[i] = 2.0 * lost * sign[i]
    return loss


@njit(cache=True, nogil=True)
def note_changes(
    factor: Array, weight: Array, was_active: BoolArray, places: IntArray, change: Array
) -> tuple[int, int]:
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
def hinge_step(
    margins: Array, along: Array, weight: Array, initial: Scalar, w_step: Scalar, step_step: Scalar
) -> float:
    """Length that minimises the squared-hinge objective along a step, or 0 where rounding hides descent.

    ``initial`` is the slope at length 0; ``w_step`` and ``step_step`` are the products of the coefficients and of
    the step with the step.
    """
    if not initial < 0.0:
        return 0.0
    # The slope rises along the step, in pieces: Newton's method for its root, kept within the bracket [low, high],
    # whose lower end is always safe to take. Most steps of length 1 pass the first look.
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
