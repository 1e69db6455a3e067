"""Common parts of solvers: solutions with their certificates, the interface, linear systems, and losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients and a certificate of their quality.

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
        """Duality gap as a share of ``objective``."""
        return self.gap / self.objective if self.objective > 0 else 0.0


@dataclass(frozen=True, eq=False)
class HingeSolution:
    """Weighted linear SVM and a certificate of its quality.

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
        """Duality gap as a share of ``objective``."""
        return self.gap / self.objective if self.objective > 0 else 0.0


# A number: for numpy's types, products of vectors and elements of arrays may be arrays.
Scalar: TypeAlias = Any
# What applies the inverse of a matrix.
Inverse: TypeAlias = Callable[[FloatArray], FloatArray]
Found = TypeVar("Found", Solution, HingeSolution)


class Solver(ABC, Generic[Found]):
    """Interface of every solver: its data are arranged once, and solved for any weights.

    Subclasses write ``_solve``, with the arguments of `solve` by position, and have their own limit of steps or passes.

    Examples
    --------
    >>> from csf.solvers import Rows, SquaredHinge
    >>> solver: Solver = SquaredHinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solver.solve(np.full(3, 10.0), tol=1e-9).w
    array([ 0.89, -1.74])
    """

    # Steps or passes, where nobody says how many.
    _limit: int = 1000

    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[Found] = (),
        max_iter: int | None = None,
    ) -> Found:
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float, default=0.0
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of solution, default=()
            Solutions of the same solver for other weights, the nearest first.
        max_iter : int, default=None
            Limit of steps or passes; ``None`` is that of the solver.

        Returns
        -------
        solution
            The solution; its gap shows whether ``tol`` or ``atol`` was reached. Steps that are lost in rounding end
            the search as well.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        # solvers check for overflow themselves
        with np.errstate(over="ignore", invalid="ignore"):
            return self._solve(weight, tol, atol, starts, self._limit if max_iter is None else max_iter)

    @abstractmethod
    def _solve(self, weight: Array, tol: float, atol: float, starts: Sequence[Found], max_iter: int) -> Found:
        """Solve as `solve` documents."""


# Up to this many coefficients Newton's equations are solved by a Cholesky factor. Beyond, solvers go without the
# matrix: it would take seconds to fill and to factor, and gigabytes to keep.
DIRECT = 512
# Rounding of an objective and its bound, as a share of their largest terms: no smaller gap is proven.
NOISE = 4 * np.finfo(np.float64).eps
_TOO_LARGE = (
    "the features are too large for a linear model to be solved, or C times the weights is; scale them, e.g. to [0, 1]"
)
_posv, _potrf, _potrs = get_lapack_funcs(("posv", "potrf", "potrs"), dtype=np.float64)


def check_finite(value: Scalar) -> None:
    """Raise a ValueError if sums have overflowed."""
    if not isfinite(value):
        raise ValueError(_TOO_LARGE)


def newton_step(matrix: FloatArray, slope: FloatArray) -> FloatArray:
    """Compute minus the inverse of a positive definite matrix times the slope; its diagonal may be overwritten.

    Only the upper triangle is used; the diagonal grows a little where rounding made the matrix singular.
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
    """Return a function that applies the inverse of an upper triangle plus a ridge; overwrite the matrix."""
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
    """Solve ``A x = rhs`` roughly for a positive definite matrix A, which is only used to multiply directions.

    ``diagonal`` is the diagonal of A, or a similar preconditioner; ``left`` is the share of the squared residual that
    ends the search. Yields directions, receives their products with A, and returns the solution and the number of
    products.
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
    """Solve `conjugate_directions` for the matrix that ``product`` multiplies with."""
    search = conjugate_directions(rhs, diagonal=diagonal, left=left, max_iter=max_iter)
    try:
        direction = next(search)
        while True:
            direction = search.send(product(direction))
    except StopIteration as end:
        return end.value[0]


# ---------------------------------------------------------------- losses
# Value, slope, curvature and certified gap of each, for memory and partitions alike. A loss is a function of the margin
# z, the score times the sign of the class. Factors of rows are minus the weighted slopes times the signs: what the rows
# are summed with to the coefficients that belong to them as dual variables.
#
# Compiled loops that fuse several of these with the steps of one method stand here too: a kernel's helpers and its loss
# are in its own file, so that code that numba keeps cannot be older than they are.


_FAST = {"contract", "reassoc", "nsz"}


class Loss(Protocol):
    """Smooth loss, summed over samples with a weight each."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> float:
        """Compute the value; ``factor`` receives the factors of the rows."""
        ...

    def value(self, margins: Array, weight: Array) -> Scalar:
        """Compute the value alone."""
        ...

    def curvature(self, margins: Array, weight: Array) -> Array:
        """Compute the second derivatives by the margins."""
        ...


def least_gap(w: Array, ridge: Array, pulls: Array) -> tuple[Scalar, Array]:
    """Compute half the squared distance from coefficients to those of their dual variables, and feasible factors.

    Where all coefficients are regularised this is half the squared slope, and the whole gap: the objective is strongly
    convex. An unpenalised constant, whose ``ridge`` is 0, requires equal sums of the dual variables of both classes:
    those of the class with the larger sum are scaled down by the factors, and the resulting loss is added. ``pulls``
    are the sums of the rows of each class times their factors.
    """
    scale = np.ones(2)
    if ridge[-1] == 0.0:
        sums = np.abs(pulls[:, -1])
        scale = sums.min() / np.maximum(sums, np.finfo(float).tiny)
    change = (w - scale @ pulls) * ridge
    return 0.5 * change @ change, scale


class _LogisticLoss:
    """Logistic loss ``log(1 + exp(-z))``."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> Scalar:
        """Compute value and factors, see `Loss.terms`."""
        # numpy's exponentials are several times faster than those of compiled loops, and cost no compilation. Two of
        # them are faster than one and a choice by the sign.
        low, rest, small = np.empty((3, margins.size))
        np.minimum(margins, 0.0, out=low)
        np.subtract(low, margins, out=rest)
        np.exp(np.add(low, rest, out=small), out=small)
        np.multiply(weight, np.exp(rest, out=rest), out=rest)
        loss = weight @ np.subtract(np.log1p(small, out=factor), low, out=low)
        np.divide(rest, np.add(small, 1.0, out=small), out=factor)
        factor *= sign
        return loss

    def value(self, margins: Array, weight: Array) -> Scalar:
        """Compute the value, see `Loss.value`."""
        return weight @ np.logaddexp(0.0, -margins)

    def curvature(self, margins: Array, weight: Array | None) -> Array:
        """Compute the second derivatives, see `Loss.curvature`; ``None`` are weights of 1."""
        small = np.abs(margins)
        np.exp(np.negative(small, out=small), out=small)
        small /= np.square(1.0 + small)
        return small if weight is None else np.multiply(small, weight, out=small)

    def lost(self, margins: Array, weight: Array, less: Scalar) -> Scalar:
        """Bound the decrease of the dual value beyond the first order when dual variables shrink by the share ``less``.

        For a factor s = 1 - less that is at most 1 - s times the loss, and at most :math:`(1-s)^2 e^{-z} / 2s`.
        """
        losses = np.minimum(0.5 * less**2 / (1.0 - less) * np.exp(-margins), less * np.logaddexp(0.0, -margins))
        return weight @ losses


class _SquaredHingeLoss:
    """Squared hinge loss ``max(0, 1 - z)^2``."""

    def terms(self, margins: Array, sign: Array, weight: Array, factor: Array) -> float:
        """Compute value and factors in one compiled pass, see `Loss.terms`."""
        return _squared_terms(margins, sign, weight, factor)

    # The same without the other terms. They are summed in another order than in the compiled loop: solvers that only
    # ask for them keep their last digits.
    def value(self, margins: Array, weight: Array) -> Scalar:
        """Compute the value, see `Loss.value`."""
        return weight @ np.maximum(1.0 - margins, 0.0) ** 2

    def pull(self, margins: Array, weight: Array) -> Array:
        """Compute minus the derivatives by the margins."""
        return 2.0 * weight * np.maximum(1.0 - margins, 0.0)

    def curvature(self, margins: Array, weight: Array) -> Array:
        """Compute the second derivatives, see `Loss.curvature`."""
        return np.where(margins < 1.0, 2.0 * weight, 0.0)

    def dual_value(self, dual: Array, w: Array, inverse: Array) -> Scalar:
        """Compute the dual value, a lower bound of objectives; ``inverse`` is half the inverse of each weight."""
        return dual.sum() - 0.5 * w @ w - 0.5 * inverse @ dual**2


class _HingeLoss:
    """Hinge loss ``max(0, 1 - z)``, which has no curvature; `multiplier_terms` smooths it."""

    def value(self, margins: Array, weight: Array) -> Scalar:
        """Compute the value, see `Loss.value`."""
        return weight @ np.maximum(1.0 - margins, 0.0)

    def dual_value(self, dual: Array, w: Array) -> Scalar:
        """Compute the dual value, a lower bound of objectives, for dual variables with coefficients ``w``."""
        return dual.sum() - 0.5 * w @ w


LOGISTIC, SQUARED_HINGE, HINGE = _LogisticLoss(), _SquaredHingeLoss(), _HingeLoss()


@njit(cache=True, nogil=True, fastmath=_FAST)
def _squared_terms(margins: Array, sign: Array, weight: Array, factor: Array) -> float:
    """Compute the weighted squared-hinge loss; ``factor`` receives minus its slopes in the scores."""
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
    """Write the samples whose loss became positive or zero, and the change of their outer products in the Hessian.

    ``factor`` is the output of `_squared_terms`; ``was_active`` is updated. Returns the number of samples that changed
    and of those with a loss now. There are no branches, because no one can predict them.
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


# Without branches, which no one can foresee, and without counted places to write to, loops take a sixth of the time.
@njit(cache=True, nogil=True, fastmath=_FAST)
def survey(
    margins: Array,
    before: Array,
    share: Array,
    weight: Array,
    sign: Array,
    band: float,
    marked: BoolArray,
    factor: Array,
) -> tuple[float, float, float]:
    """Mark the samples near the margin, and measure how far coefficients and dual variables are from each other.

    Samples are near within a band around the margin, which is wider by their movement from the margins ``before``.
    Samples whose dual variables do not belong to their side are near too, and those that were near already. The dual
    variables of the others are set to their side; ``factor`` receives the factors of their rows, and 0 for those that
    are near. Returns the loss of all, the part of it that the given dual variables do not cover, and the weight of
    samples with a loss that are not near.
    """
    loss, slack, lost = 0.0, 0.0, 0.0
    for i in range(margins.size):
        below = 1.0 - margins[i]
        hinge = max(below, 0.0)
        missing = hinge - share[i] * below
        loss += weight[i] * hinge
        slack += weight[i] * missing
        is_near = marked[i] | (missing > 0.0) | (abs(below) < band + abs(margins[i] - before[i]))
        marked[i] = is_near
        full_share = 1.0 if below > 0.0 else 0.0
        share[i] = share[i] if is_near else full_share
        taken = 0.0 if is_near else full_share * weight[i]
        factor[i] = taken * sign[i]
        lost += taken
    return loss, slack, lost


@njit(cache=True, nogil=True, fastmath=_FAST)
def multiplier_terms(
    margins: Array, share: Array, weight: Array, sign: Array, penalty: float, clipped: Array, factor: Array
) -> tuple[float, float]:
    """Compute the loss and the part that the next dual variables do not cover; write these and the row factors."""
    loss, slack = 0.0, 0.0
    for i in range(margins.size):
        below = 1.0 - margins[i]
        hinge = max(below, 0.0)
        next_share = min(max(share[i] + penalty * below, 0.0), 1.0)
        clipped[i] = next_share
        factor[i] = weight[i] * next_share * sign[i]
        loss += weight[i] * hinge
        slack += weight[i] * (hinge - next_share * below)
    return loss, slack


@njit(cache=True, nogil=True, fastmath=_FAST)
def note_free(margins: Array, share: Array, penalty: float, free: BoolArray, changed: BoolArray) -> tuple[int, int]:
    """Mark the samples strictly between their bounds, and those for which that has changed; count both."""
    n_changed, n_free = 0, 0
    for i in range(margins.size):
        target = share[i] + penalty * (1.0 - margins[i])
        is_free = (target > 0.0) & (target < 1.0)
        is_changed = is_free != free[i]
        changed[i] = is_changed
        free[i] = is_free
        n_changed += is_changed
        n_free += is_free
    return n_changed, n_free


@njit(cache=True, nogil=True, fastmath=_FAST)
def hinge_step(
    margins: Array,
    along: Array,
    share: Array,
    weight: Array,
    limits: tuple[float, float],
    enough: float,
    products: tuple[Scalar, Scalar, Scalar],
) -> float:
    """Compute the length of a step that nearly minimises an objective, or 0 where rounding hides descent.

    The objective is the augmented Lagrangian of the hinge loss, whose multipliers are at most 1: ``limits`` are the
    penalty and this 1. With twice the weights, no multipliers, and limits 1 and infinity it is that of the squared
    hinge. ``products`` are those of the step with the slope at length 0, with the coefficients, and with itself;
    ``enough`` is the share of the first that may remain.
    """
    # The slope rises along the step, in pieces: Newton's method for its root, kept within the bracket [low, high],
    # whose lower end is always safe to take. Most steps of length 1 pass the first look.
    (penalty, most), (initial, w_step, step_step) = limits, products
    low, high, length = 0.0, np.inf, 1.0
    if not initial < 0.0:
        return 0.0
    for _ in range(60):
        slope, curvature = w_step + length * step_step, 0.0
        for i in range(margins.size):
            target = share[i] + penalty * (1.0 - margins[i] - length * along[i])
            pull = weight[i] * along[i]
            slope -= pull * min(max(target, 0.0), most)
            curvature += pull * along[i] * ((target > 0.0) & (target < most))
        if abs(slope) <= enough * abs(initial):
            return length
        if slope < 0.0:
            low = length
        else:
            high = length
        length -= slope / (step_step + penalty * curvature)
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low
