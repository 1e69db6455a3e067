"""What solvers share: solutions with their certificates, the contract, linear systems."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from csf._common.typing import Array, FloatArray


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and a proof of how good they are.

    Parameters
    ----------
    w : ndarray of shape (n_coefficients,)
        Coefficients; the last one belongs to the constant feature.
    objective : float
        Value of the minimised function.
    gap : float
        Largest possible distance of ``objective`` from the optimum.
    n_iter : int
        Newton steps, or passes.
    margins : ndarray of shape (n_samples,)
        Scores times the sign of the class.
    dual : ndarray of shape (n_samples,), default=None
        Dual variables, where the method has them: ``w`` is the sum of the rows times their signs and these.
    totals : ndarray of shape (2,), default=None
        Weights of the classes, the positive one first, where a method starts from them.
    anchor : ndarray of shape (n_coefficients,), default=None
        Coefficients where second derivatives were taken that serve the next problem, with these.
    of_all : bool, default=False
        Whether these are of all samples, where the problem is one of a part of them.

    Examples
    --------
    >>> from csf.solvers import Rows, SquaredHinge
    >>> problem = SquaredHinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solution = problem.solve(np.ones(3), tol=1e-6)
    >>> solution.objective, solution.relative_gap < 1e-6
    (1.048, True)
    """

    w: Array
    objective: float
    gap: float
    n_iter: int
    margins: Array
    dual: Array | None = None
    totals: Array | None = None
    anchor: Array | None = None
    of_all: bool = False

    @property
    def relative_gap(self) -> float:
        """``gap`` as a share of ``objective``."""
        return self.gap / self.objective if self.objective > 0 else 0.0


@dataclass(frozen=True, eq=False)
class HingeSolution:
    """A weighted linear SVM and a proof of how good it is.

    Parameters
    ----------
    w : ndarray of shape (n_coefficients,)
        Coefficients; the last one belongs to the constant feature.
    margins : ndarray of shape (n_samples,)
        Scores times the sign of the class, at least 1 where there is no loss.
    share : ndarray of shape (n_samples,)
        Dual variables divided by the weights, in [0, 1].
    objective : float
        Half the squared norm plus the weighted hinge loss.
    bound : float
        Dual objective: no ``w`` has a smaller objective.
    penalty : float
        Penalty reached by the method, for a warm start.
    n_iter : int
        Newton steps, or passes.
    dual : ndarray of shape (n_samples,), default=None
        Dual variables, where the next solution starts from them.

    Examples
    --------
    >>> from csf.solvers import Hinge, Rows
    >>> problem = Hinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solution = problem.solve(np.full(3, 10.0), tol=1e-6)
    >>> solution.objective, solution.relative_gap < 1e-6
    (2.500, True)
    """

    w: Array
    margins: Array
    share: Array
    objective: float
    bound: float
    penalty: float
    n_iter: int
    dual: Array | None = None

    @property
    def gap(self) -> float:
        """Largest possible distance of ``objective`` from the optimum."""
        return self.objective - self.bound

    @property
    def relative_gap(self) -> float:
        """``gap`` as a share of ``objective``."""
        return self.gap / self.objective if self.objective > 0 else 0.0


class Solver(Protocol):
    """What every solver offers: its data are arranged once, and solved for any weights.

    Examples
    --------
    >>> from csf.solvers import Rows, SquaredHinge
    >>> solver: Solver = SquaredHinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solver.solve(np.full(3, 10.0), tol=1e-9).w
    array([ 0.89, -1.74])
    """

    def solve(
        self, weight: Array, *, tol: float, atol: float = ..., starts: Sequence[Any] = ..., max_iter: int = ...
    ) -> Solution | HingeSolution:
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of solution
            Solutions of the same solver for other weights, the nearest first.
        max_iter : int
            Limit of steps or passes.

        Returns
        -------
        solution
            The solution; its gap shows whether ``tol`` or ``atol`` was reached.
        """
        ...


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
# What applies the inverse of a matrix.
Inverse: TypeAlias = Callable[[FloatArray], FloatArray]
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
_posv, _potrf, _potrs = get_lapack_funcs(("posv", "potrf", "potrs"), dtype=np.float64)


def quietly(solve: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorator of solvers, which check for overflow themselves."""

    @wraps(solve)
    def solve_quietly(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with np.errstate(over="ignore", invalid="ignore"):
            return solve(*args, **kwargs)

    return solve_quietly


def check_finite(value: Scalar) -> None:
    """Raise a ValueError if sums have overflowed."""
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


def inverse_of(matrix: Array, ridge: Array) -> Inverse:
    """Function that applies the inverse of an upper triangle and a ridge; changes the matrix."""
    diagonal = matrix.diagonal() + ridge
    # The constant feature, and features that vanish under the curvatures, may have none. Rounding may then leave no
    # factor: the diagonal grows until there is one.
    growth = 0.0
    while True:
        matrix.flat[:: ridge.size + 1] = diagonal * (1.0 + growth) + (growth if growth else 0.0)
        # The library reads columns: its lower triangle is the upper one of the matrix.
        factor, failed = _potrf(matrix.T, lower=True)
        if not failed:
            return lambda slope: _potrs(factor, slope, lower=True)[0]
        growth = max(10.0 * growth, 1e-14)


def conjugate_directions(
    rhs: Array, *, diagonal: Array | None = None, left: float, max_iter: int
) -> Generator[Array, Array, tuple[Array, int]]:
    """Solve ``A x = rhs`` roughly for a positive definite matrix A, of which it asks the images of directions.

    ``diagonal`` is the diagonal of A, or a preconditioner like it; ``left`` is the share of the squared residual that
    ends the search. Yields directions, is sent their images, and returns the solution and the number of images.
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
