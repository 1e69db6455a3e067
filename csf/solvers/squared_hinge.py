"""Linear support vector machine with the squared hinge loss and a weight for each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from csf._common.typing import Array, IntArray
from csf.solvers.base import DIRECT, NOISE, Scalar, Solution, check_finite, conjugate_gradients, newton_step, quietly
from csf.solvers.hinge import BoxProgram
from csf.solvers.losses import SQUARED_HINGE, hinge_step, note_changes
from csf.solvers.matrix import Rows

# Limit of Newton steps, which a dozen seldom reach.
_STEPS = 100
# Share of the slope that inexact Newton steps leave, and products with the data that they take at most.
_FORCING, _PRODUCTS = 0.2, 200
# Passes of coordinate descent of a turn, and of the first one from earlier solutions, which is close already.
_PASSES, _FIRST_PASSES = 8, 5


class SquaredHinge:
    r"""Data of a linear SVM with squared hinge loss, solved for any weights.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature, which is regularised like the others.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.

    Notes
    -----
    For weights :math:`c_i \ge 0` and signs :math:`y_i` it minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - y_i \langle w, x_i \rangle)^2 .

    With few features Newton's method on this piecewise quadratic function ends after a few steps, fewer from a good
    start [1]_. With many features its equations are solved by conjugate gradients; with more features than samples the
    dual variables are solved for (`csf.solvers.hinge.BoxProgram`), from the best mixture of
    earlier solutions.

    References
    ----------
    .. [1] S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs",
       Journal of Machine Learning Research 6, 2005.

    Examples
    --------
    >>> from csf.solvers import Rows
    >>> problem = SquaredHinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solution = problem.solve(np.full(3, 10.0), tol=1e-9)
    >>> solution.w
    array([ 0.89, -1.74])
    >>> solution.relative_gap < 1e-9
    True
    """

    def __init__(self, rows: Rows, sign: Array) -> None:
        self.rows, self.sign = rows, sign

    @quietly
    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[Solution] = (),
        max_iter: int = 1000,
    ) -> Solution:
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float, default=0.0
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of Solution, default=()
            Solutions for other weights of the same problem, the nearest first.
        max_iter : int, default=1000
            With many features: limit of passes over the samples.

        Returns
        -------
        Solution
            The solution; its gap shows whether ``tol`` was reached. Steps that are lost in rounding end the search.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        if self.rows.n_coefficients <= DIRECT or self._is_tall():
            return self._primal(weight, tol, atol, [start for start in starts if start.w is not None])
        return self._dual(weight, tol, atol, [start for start in starts if start.dual is not None], max_iter)

    def _is_tall(self) -> bool:
        """Whether the problem in the coefficients is the smaller one: as LinearSVC chooses too."""
        return self.rows.n_rows > self.rows.n_coefficients

    def _primal(self, weight: Array, tol: float, atol: float, starts: Sequence[Solution]) -> Solution:
        """Newton's method on the coefficients; with many features its equations are solved by conjugate gradients."""
        rows, sign = self.rows, self.sign
        w = starts[0].w if starts else np.zeros(rows.n_coefficients)
        margins, factor, count = sign * rows.scores(w), np.empty(rows.n_rows), 0
        hessian = _Hessian(rows, weight) if rows.n_coefficients <= DIRECT else None
        while True:
            loss = SQUARED_HINGE.terms(margins, sign, weight, factor)
            slope = w - rows.combine(factor)
            objective, gap = 0.5 * w @ w + loss, 0.5 * slope @ slope
            check_finite(gap)
            if gap <= max(atol, tol * objective) or count == _STEPS:
                break
            if hessian is not None:
                step = newton_step(hessian.follow(factor) + np.eye(w.shape[0]), slope)
            else:
                step = self._inexact_step(slope, margins, weight, np.flatnonzero(factor))
            along = rows.scores(step)
            along *= sign
            length = hinge_step(margins, along, weight, slope @ step, w @ step, step @ step)
            # The step goes down in exact numbers: what is left is rounding, and the gap above says how much it is.
            if length == 0.0:
                break
            w, count = w + length * step, count + 1
            along *= length
            margins += along
        return Solution(w, float(objective), float(max(gap, NOISE * objective)), count, margins)

    def _inexact_step(self, slope: Array, margins: Array, weight: Array, active: IntArray) -> Array:
        """About minus the inverse of the second derivatives, to which samples that lose add, times the slope."""
        part, curvature = self.rows.take(self.rows.at[active]), SQUARED_HINGE.curvature(margins[active], weight[active])
        diagonal = 1.0 + part.combine(curvature, squares=True)
        return conjugate_gradients(
            lambda v: v + part.image(curvature, v), -slope, diagonal=diagonal, left=_FORCING**2, max_iter=_PRODUCTS
        )

    def _dual(self, weight: Array, tol: float, atol: float, starts: Sequence[Solution], max_iter: int) -> Solution:
        """Turns of coordinate descent and conjugate gradients on the dual variables."""
        rows, sign = self.rows, self.sign
        inverse = np.divide(0.5, weight, out=np.zeros_like(weight), where=weight > 0)
        upper = np.where(weight > 0, np.inf, 0.0)
        program = BoxProgram(rows, sign, inverse, upper, rows.squared_norms())
        dual = np.zeros_like(weight)
        # A mixture may go beyond the solutions it is made of, and so leave the box.
        if starts:
            dual = np.clip(best_mixture(starts, weight), 0.0, upper)
        w, used, before = rows.combine(dual * sign), 0, -np.inf
        while True:
            margins = sign * rows.scores(w)
            objective = 0.5 * w @ w + SQUARED_HINGE.value(margins, weight)
            bound = SQUARED_HINGE.dual_value(dual, w, inverse)
            gap = objective - bound
            check_finite(gap)
            # Turns never lower the bound but for rounding: one that does is the last.
            if gap <= max(atol, tol * objective) or used >= max_iter or bound <= before:
                break
            before = bound
            passes = min(_FIRST_PASSES if starts and not used else _PASSES, max_iter - used)
            wanted = max(atol, tol * objective) / gap
            w, passes = program.turn(dual, w, margins, passes, wanted=wanted, seed=used)
            used += passes
        if gap > max(atol, tol * objective):  # the dual variables that belong to the coefficients may prove more
            slope = w - rows.combine(SQUARED_HINGE.pull(margins, weight) * sign)
            gap = min(gap, 0.5 * slope @ slope)
        gap = max(gap, NOISE * (objective + dual.sum()))
        return Solution(w, float(objective), float(gap), used, margins, dual)


class _Hessian:
    """Second derivatives of the losses, which follow the samples that begin or cease to lose."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight, self._matrix = rows, weight, np.zeros((rows.n_coefficients, rows.n_coefficients))
        self._active, self._is_begun = np.zeros(rows.n_rows, dtype=bool), False
        self._places, self._change = np.empty(rows.n_rows, dtype=np.int32), np.empty(rows.n_rows)

    def follow(self, factor: Array) -> Array:
        """The matrix for the samples with these factors; its upper triangle alone."""
        given = factor, self.weight, self._active, self._places, self._change
        n_changed, n_active = note_changes(*given)
        if 2 * n_changed > n_active and self._is_begun:  # it takes less to begin anew
            self._matrix[:], self._active[:] = 0.0, False
            n_changed, _ = note_changes(*given)
        self._is_begun = True
        self.rows.add_gram(self._places[:n_changed], self._change[:n_changed], self._matrix)
        return self._matrix


# Declared as if it might return None.
lstsq: Callable[..., Any] = linalg.lstsq


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
        # Solutions for similar weights are nearly multiples of each other: least squares instead of a factorisation.
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
