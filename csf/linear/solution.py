"""What a solver returns, and how several of its solutions make a start for the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from csf._common.typing import Array
from csf.linear._solve import Scalar
from csf.linear.hinge import HingeSolution
from csf.linear.losses import SQUARED_HINGE

# Declared as if it might return None.
lstsq: Callable[..., Any] = linalg.lstsq

__all__ = ["Solution", "Solver", "best_mixture"]


class Solver(Protocol):
    """What every solver offers: its data are arranged once, and solved for any weights.

    Examples
    --------
    >>> from csf.linear import Rows, SquaredHinge
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
    >>> from csf.linear import Rows, SquaredHinge
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


def best_mixture(solutions: Sequence[Solution], weight: Array, *, max_iter: int = 15) -> Array:
    """Mixture of solutions with the smallest squared-hinge objective for new weights."""
    # The coefficients of a mixture are the mixture of the coefficients, and so are its margins: the whole search goes
    # without the data.
    duals = np.array([solution.dual for solution in solutions])
    margins = np.array([solution.margins for solution in solutions])
    products = duals @ margins.T  # of the coefficients
    products = 0.5 * (products + products.T)

    def value(factor: Array) -> Scalar:
        return 0.5 * factor @ products @ factor + SQUARED_HINGE.value(factor @ margins, weight)

    factor = np.zeros(len(solutions))
    factor[0] = 1.0
    best = value(factor)
    for _ in range(max_iter):
        mixed = factor @ margins
        inside = np.flatnonzero(mixed < 1.0)
        part, of_part = margins[:, inside], (mixed[inside], weight[inside])
        slope = products @ factor - part @ SQUARED_HINGE.pull(*of_part)
        matrix = products + (part * SQUARED_HINGE.curvature(*of_part)) @ part.T
        # Solutions for alike weights are nearly multiples of each other: least squares, not a factor.
        step, length = -lstsq(matrix, slope, cond=1e-12, check_finite=False)[0], 1.0
        while length > 1e-3 and value(factor + length * step) >= best:
            length *= 0.5
        if length <= 1e-3:
            break
        factor = factor + length * step
        before, best = best, value(factor)
        if before - best <= 1e-4 * best:
            break
    return factor @ duals
