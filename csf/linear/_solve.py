"""Linear systems and step lengths that the solvers share."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from math import isfinite
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from csf._common.typing import Array, FloatArray

__all__ = [
    "DIRECT",
    "NOISE",
    "Scalar",
    "check_finite",
    "conjugate_directions",
    "conjugate_gradients",
    "newton_step",
    "quietly",
]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
# A number: for numpy's types, products of vectors and elements of arrays may be arrays.
Scalar: TypeAlias = Any

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


def conjugate_directions(
    rhs: Array, *, diagonal: Array | None = None, left: float, max_iter: int
) -> Generator[Array, Array, tuple[Array, int]]:
    """Solve ``A x = rhs`` roughly for a positive definite matrix A, which is told what it makes of each direction.

    ``diagonal`` is the diagonal of A, or alike, that evens its scales; ``left`` is the share of the squared residual
    that ends the search. Yields directions, is sent their images, and returns the solution and the number of images.
    """
    even = 1.0 if diagonal is None else diagonal
    goal, scale = left * rhs @ (rhs / even), 1.0 / even
    x, residual = np.zeros_like(rhs), rhs.copy()
    direction = scale * residual
    norm = residual @ direction
    count = 0
    while count < max_iter and norm > 0.0 and not residual @ (residual / even) <= goal:
        image = yield direction
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


def conjugate_gradients(
    product: Callable[[Array], Array], rhs: Array, *, diagonal: Array | None = None, left: float, max_iter: int
) -> Array:
    """Solution of `conjugate_directions` for the matrix that ``product`` multiplies with."""
    search = conjugate_directions(rhs, diagonal=diagonal, left=left, max_iter=max_iter)
    try:
        direction = next(search)
        while True:
            direction = search.send(product(direction))
    except StopIteration as end:
        return end.value[0]
