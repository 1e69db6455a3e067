"""Linear support vector machines with the hinge loss or its square, and a weight for each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from csf._common.typing import Array, IntArray
from csf.solvers.base import (
    DIRECT,
    HINGE,
    NOISE,
    SQUARED_HINGE,
    HingeSolution,
    Scalar,
    Solution,
    Solver,
    check_finite,
    conjugate_gradients,
    hinge_step,
    multiplier_terms,
    newton_step,
    note_changes,
    note_free,
    survey,
)
from csf.solvers.matrix import Rows, descend

# ---------------------------------------------------------------- quadratic programs in dual variables


# Products of conjugate gradients of one turn.
_PRODUCTS = 60
# Passes end where this share of the range of projected gradients is left.
_LEFT = 0.03
# Conjugate gradients end between these shares of the squared slope.
_REST = 1e-4, 0.1
# What they leave, as a share of what may be left.
_SHARE = 0.1
# Halvings of a step that leaves the box before it is given up.
_HALVINGS = 10


class BoxProgram:
    r"""Quadratic function to minimise over a box.

    Notes
    -----
    The function is :math:`\tfrac12 \|\sum_i \alpha_i y_i x_i\|^2 + \tfrac12 \sum_i r_i \alpha_i^2 - \sum_i \alpha_i`
    for ridges r. Coordinate descent [1]_ finds out quickly which variables are at their bounds, and is slow to solve
    for the others where features are alike or weights are large. So a few passes take turns with conjugate gradients
    on the variables that are free, whose step is shortened to the box [2]_.

    References
    ----------
    .. [1] C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.
    .. [2] J. Moré, G. Toraldo, "On the solution of large quadratic programming problems with bound constraints",
       SIAM Journal on Optimization 1, 1991.
    """

    def __init__(self, rows: Rows, sign: Array, ridge: Array, upper: Array, squares: Array) -> None:
        # The squared hinge adds a ridge to the diagonal, the hinge none; upper bounds may be infinite.
        self.rows, self.sign, self.ridge, self.upper, self.squares = rows, sign, ridge, upper, squares

    def turn(
        self, dual: Array, w: Array, margins: Array, passes: int, *, wanted: float = 0.0, seed: int = 0
    ) -> tuple[Array, int]:
        """Run passes of coordinate descent, then conjugate gradients where the passes do not converge.

        Changes ``dual`` and ``w``; ``margins`` decide which variables passes may leave out, ``wanted`` is the share of
        the gap that may remain. Returns the coefficients and the number of passes.
        """
        order, enough = self._order(dual, margins)
        rows, problem = self.rows, (self.sign, self.ridge, self.upper, self.squares)
        used = descend(rows.parts, rows.constant, rows.places, problem, dual, w, order, enough, passes, seed)
        # Passes that end by themselves are all that easy problems need.
        if used == passes:
            self.improve_free(dual, w, wanted=wanted)
        # Both have changed the coefficients along with the variables, with the rounding of each change: they are
        # summed anew from the variables, which alone are the state.
        return self.rows.combine(dual * self.sign), used

    def _order(self, dual: Array, margins: Array) -> tuple[IntArray, float]:
        """List the variables to pass over, and return the range of projected gradients that is small enough."""
        gradient = margins - 1.0 + self.ridge * dual
        gradient = np.where(dual <= 0.0, np.minimum(gradient, 0.0), gradient)
        projected = np.where(dual >= self.upper, np.maximum(gradient, 0.0), gradient)
        projected[self.upper <= 0.0] = 0.0
        span = projected.max(initial=0.0) - projected.min(initial=0.0)
        return np.flatnonzero(projected), _LEFT * float(span)

    def improve_free(self, dual: Array, w: Array, *, wanted: float = 0.0) -> None:
        """Minimise the function over the variables that are not at a bound, by conjugate gradients."""
        free = np.flatnonzero((dual > 0.0) & (dual < self.upper))
        if free.size == 0:
            return
        block, ridge = self.rows.block(free, self.sign[free]), self.ridge[free]
        slope = block.scores(w[block.columns]) - 1.0 + ridge * dual[free]
        diagonal, has_ridge = self.squares[free] + ridge, bool(ridge.any())
        diagonal[diagonal == 0.0] = 1.0

        def product(v: Array) -> Array:
            # The hinge has no ridge, and many products.
            return block.outer(v) + ridge * v if has_ridge else block.outer(v)

        left = np.clip(_SHARE * wanted, *_REST)
        step = conjugate_gradients(product, -slope, diagonal=diagonal, left=left, max_iter=_PRODUCTS)
        # The step ignores the box and may go up once it is clipped. A shorter one goes down eventually; if ten halvings
        # do not find it, the next passes will.
        for length in 0.5 ** np.arange(_HALVINGS):
            moved_dual = np.clip(dual[free] + length * step, 0.0, self.upper[free])
            change = moved_dual - dual[free]
            if slope @ change + 0.5 * change @ product(change) < 0.0:
                dual[free] = moved_dual
                return


# ---------------------------------------------------------------- the hinge


# All samples take part until the gap is this share of the objective. Then samples that a step may take across the
# margin are solved for alone, as are those that are this much of the inverse penalty away from it.
_COARSE, _BAND = 0.1, 0.05
# Share of the wanted gap that the samples solved for alone may leave: their steps cost little, and others may change
# sides.
_INNER = 0.1


class Hinge(Solver[HingeSolution]):
    r"""Data of a linear SVM, arranged once and solved for any weights.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature, which is regularised like the others.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.

    Notes
    -----
    For weights :math:`c_i \ge 0` and signs :math:`y_i = \pm 1` it minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - y_i \langle w, x_i \rangle)

    by the method of multipliers, whose smooth subproblems are solved by Newton steps on the samples that are
    strictly between their bounds. A few dozen steps reach a relative duality gap of 1e-6. The first few look at all
    samples, the others at those near the margin: the losses of the rest are linear or vanish, which a last look at
    all samples proves [3]_.

    References
    ----------
    .. [1] D. Bertsekas, "Constrained Optimization and Lagrange Multiplier Methods", 1982.
    .. [2] X. Li, D. Sun, K.-C. Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving
       Lasso problems", SIAM Journal on Optimization 28, 2018.
    .. [3] T. Joachims, "Making large-scale SVM learning practical", Advances in Kernel Methods, 1999.

    Examples
    --------
    >>> from csf.solvers import Rows
    >>> problem = Hinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solution = problem.solve(np.full(3, 10.0), tol=1e-9)
    >>> solution.w
    array([ 1., -2.])
    >>> solution.gap <= 1e-9
    True
    """

    _limit = 500

    def __init__(self, rows: Rows, sign: Array) -> None:
        self.rows, self.sign = rows, sign

    def margins(self, w: Array) -> Array:
        """Compute the margins of coefficients.

        Parameters
        ----------
        w : ndarray of shape (n_coefficients,)
            Coefficients, that of the constant feature last.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores times the signs of the classes.
        """
        return self.sign * self.rows.scores(w)

    def _solve(
        self, weight: Array, tol: float, atol: float, starts: Sequence[HingeSolution], max_iter: int
    ) -> HingeSolution:
        search, part = _Search(self.rows, self.sign, weight, starts), None
        while True:
            search.look()
            if part is not None:
                # What cancels in both is as large as the total weight. A gap closer than that rounding is not proven.
                noise = NOISE * (search.objective + search.total)
                gap = max(part.slope_gap + search.slack, noise)
                wanted = max(atol, max(tol, 1e-12) * search.objective, noise)
                if gap <= wanted or search.rounds >= max_iter or part.stuck:
                    break
                if search.is_worse():
                    part = search.return_to_last()
                    continue
            part = search.advance(tol, atol, max_iter)
        objective = search.objective
        return HingeSolution(
            search.w, search.margins, search.share, objective, objective - gap, search.penalty, search.steps
        )


class _Search:
    """Coefficients and dual variables of all samples, improved only on those near the margin.

    All samples take part until the gap is a few percent. Then few change sides, and the losses of all others are linear
    or vanish: a problem of few samples remains. Its solution is checked on all samples: those that changed sides join
    the few.
    """

    def __init__(self, rows: Rows, sign: Array, weight: Array, starts: Sequence[HingeSolution]) -> None:
        self.rows, self.sign, self.weight, self.total = rows, sign, weight, float(weight.sum())
        if starts:
            # The penalty that an end needed is more than a beginning needs: with two sizes less, the multipliers move
            # as freely as the new weights ask.
            start = starts[0]
            self.w, self.share = start.w, start.share.copy()
            self.penalty = max(start.penalty / GROWTH**2, FIRST_PENALTY)
        else:
            self.w, self.share, self.penalty = np.zeros(rows.n_coefficients), np.zeros(rows.n_rows), FIRST_PENALTY
        self.margins = self._before = sign * rows.scores(self.w)
        self.objective, self.slack = np.inf, np.inf
        self.steps = self.rounds = 0
        self._is_close, self._is_begun, self._are_few = np.zeros(rows.n_rows, dtype=bool), False, False
        self._factor = np.empty(rows.n_rows)

    def look(self) -> None:
        """Compute objective and near samples from all samples, and the loss that the dual variables do not cover."""
        of_samples = self.margins, self._before, self.share, self.weight, self.sign
        loss, self.slack, self._lost = survey(*of_samples, _BAND / self.penalty, self._is_close, self._factor)
        self._last_objective, self.objective = self.objective, 0.5 * float(self.w @ self.w) + loss

    def is_worse(self) -> bool:
        """Check whether too few samples were used: their solution cost others more than it saved."""
        return self._are_few and self.objective > self._last_objective

    def return_to_last(self) -> None:
        """Restore the previous solution, but remember which samples changed sides."""
        self.w, self.margins, self.share, self.penalty = self._last
        self._before, self.objective = self.margins, self._last_objective

    def advance(self, tol: float, atol: float, max_iter: int) -> SampledProblem:
        """Solve the problem of the samples that are near, or approach that of all samples; see `Hinge.solve`."""
        self._last = self.w, self.margins, self.share.copy(), self.penalty
        places = np.flatnonzero(self._is_close)
        self._are_few = bool(self.weight[places].sum() <= 0.5 * self.total)
        part = self._part(places) if self._are_few else None
        if part is None or not (self._is_begun or part.gap <= _COARSE * part.objective):
            self._are_few, places = False, np.arange(self.rows.n_rows)
            self._factor[:], self._lost = 0.0, 0.0
            part = self._part(places)
        if self._are_few:
            part.solve(_INNER * tol, _INNER * atol, max_iter - self.rounds)
        else:
            part.solve(tol if self._is_begun else max(tol, _COARSE), atol, max_iter - self.rounds)
            self._is_close[:] = False
        self.w, self.penalty, self.share[places] = part.w, part.penalty, part.clipped
        self.steps, self.rounds = self.steps + part.steps, self.rounds + part.rounds
        # Samples are near if one more step as large as the last one may take them across the margin.
        margins = self.sign * self.rows.scores(self.w)
        self._before, self.margins = self.margins if self._are_few else part.before, margins
        self._is_begun = True
        return part

    def _part(self, places: IntArray) -> SampledProblem:
        """Build the problem of some samples, the others being fixed."""
        rest = self.rows.combine(self._factor), self._lost
        start = self.w, self.margins[places], self.share[places], self.penalty
        return SampledProblem(
            self.rows.take(self.rows.places[places]), self.sign[places], self.weight[places], rest, start, self.total
        )


FIRST_PENALTY, GROWTH, _LAST_PENALTY = 0.1, 4.0, 1e9
# Steps in a row that rounding may swallow before the search ends.
_PATIENCE = 3


class SampledProblem:
    """Hinge losses of some samples, with losses of all others that are linear or vanish."""

    def __init__(
        self, rows: Rows, sign: Array, weight: Array, rest: tuple[Array, float],
        start: tuple[Array, Array, Array, float], total: float,
    ) -> None:  # fmt: skip
        self.rows, self.sign, self.weight, self.total = rows, sign, weight, total
        # Of the others that lose: the sum of their rows, times signs and weights, and of their weights.
        self.pull, self.constant = rest
        self.w, self.margins, self._share, self.penalty = start
        self.clipped, self._factor = np.empty(rows.n_rows), np.empty(rows.n_rows)
        self.steps, self.rounds, self.stuck = 0, 0, False
        self.before = self.margins
        self._look()

    def solve(self, tol: float, atol: float, max_iter: int) -> None:
        """Minimise until the gap is a small share of the objective, or small in absolute terms; see `Hinge.solve`."""
        newton, swallowed = _Newton(self.rows, self.weight), 0
        floor = self.objective - self.gap
        while self.gap > max(atol, max(tol, 1e-12) * self.objective, NOISE * (self.objective + self.total)):
            if self.rounds >= max_iter or self.objective < floor:
                return
            self.rounds += 1
            # The subproblem is 1-strongly convex: half the squared slope bounds what is left in it. As long as that
            # is a notable part of the whole gap, new multipliers would aim at what the next Newton step changes.
            if self.slope_gap > 0.1 * self.gap:
                if self._step(newton):
                    self.steps, swallowed = self.steps + 1, 0
                    self._look()
                    continue
                # Rounding hides the rest of this subproblem. New multipliers make another one, where it may go on.
                swallowed += 1
                if swallowed == _PATIENCE:
                    self.stuck = True
                    return
            self._share, self.clipped = self.clipped, np.empty(self.clipped.size)
            self.penalty = min(self.penalty * GROWTH, _LAST_PENALTY)
            self._look()

    def _look(self) -> None:
        """Compute the objective and the gap: the next multipliers, as dual variables, would be feasible."""
        parts = self.margins, self._share, self.weight, self.sign, self.penalty, self.clipped, self._factor
        loss, slack = multiplier_terms(*parts)
        gradient = self.w - self.pull
        self._slope = gradient - self.rows.combine(self._factor)
        self.slope_gap = 0.5 * float(self._slope @ self._slope)
        self.objective = 0.5 * float((gradient - self.pull) @ self.w) + loss + self.constant
        self.gap = self.slope_gap + slack
        check_finite(self.gap)

    def _step(self, newton: _Newton) -> bool:
        """Take one Newton step; return whether the objective decreases."""
        slope, share, penalty = self._slope, self._share, self.penalty
        step = newton.step(self.margins, share, penalty, slope)
        along = self.sign * self.rows.scores(step)
        products = slope @ step, (self.w - self.pull) @ step, step @ step
        length = hinge_step(self.margins, along, share, self.weight, (penalty, 1.0), 0.1, products)
        if length > 0.0:
            self.before = self.margins
            self.w, self.margins = self.w + length * step, self.margins + length * along
        return length > 0.0


class _Newton:
    """Solver of ``I + penalty * Z_J' diag(weight) Z_J`` for changing sets J of free samples."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight = rows, weight
        self._free, self._changed = np.zeros(rows.n_rows, dtype=bool), np.empty(rows.n_rows, dtype=bool)
        if rows.n_coefficients <= DIRECT:
            self._gram = np.zeros((rows.n_coefficients, rows.n_coefficients))

    def step(self, margins: Array, share: Array, penalty: float, slope: Array) -> Array:
        """Compute minus the solution for a slope."""
        if self.rows.n_coefficients > DIRECT:
            target = share + penalty * (1.0 - margins)
            return self._conjugate(np.flatnonzero((target > 0.0) & (target < 1.0)), penalty, slope)
        # Few samples come and go between two steps: only their outer products are added and taken away. Where most
        # have changed it takes less to begin anew, which also forgets the rounding of earlier differences.
        n_changed, n_free = note_free(margins, share, penalty, self._free, self._changed)
        if 2 * n_changed > n_free:
            self._gram[:] = 0.0
            places = np.flatnonzero(self._free)
            change = self.weight[places]
        else:
            places = np.flatnonzero(self._changed)
            change = np.where(self._free[places], 1.0, -1.0) * self.weight[places]
        self.rows.add_gram(places, change, self._gram)
        matrix = penalty * self._gram
        matrix.flat[:: slope.shape[0] + 1] += 1.0
        return newton_step(matrix, slope)

    def _conjugate(self, places: IntArray, penalty: float, slope: Array) -> Array:
        # Coefficients that no free sample uses have the identity as their matrix: their step is minus the slope.
        block, curvature = self.rows.block(places, np.ones(places.size)), penalty * self.weight[places]
        step, rhs = -slope, -slope[block.columns]
        step[block.columns] = conjugate_gradients(
            lambda v: v + block.combine(curvature * block.scores(v)), rhs, left=1e-6, max_iter=500
        )
        return step


# Turns in a row that rounding may swallow before the search ends.
_PATIENCE_OF_DESCENT = 5
# Passes of coordinate descent of a turn, at most.
_PASSES = 20
# A start whose gap is a larger share of the objective is improved as a whole before single variables are.
_POOR = 0.1


class HingeDescent(Solver[HingeSolution]):
    """Data of a linear SVM with many features, solved for any weights in its dual variables.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature, which is regularised like the others.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.

    Notes
    -----
    See `BoxProgram`. The start is the nearest solution, clipped to the new weights.

    Examples
    --------
    >>> from csf.solvers import Rows
    >>> problem = HingeDescent(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> problem.solve(np.full(3, 10.0), tol=1e-9).w
    array([ 1., -2.])
    """

    def __init__(self, rows: Rows, sign: Array) -> None:
        self.rows, self.sign = rows, sign
        self._squares = rows.squared_norms()

    def _solve(
        self, weight: Array, tol: float, atol: float, starts: Sequence[HingeSolution], max_iter: int
    ) -> HingeSolution:
        rows, sign = self.rows, self.sign
        dual = self._start(weight, starts)
        program = BoxProgram(rows, sign, np.zeros(rows.n_rows), weight, self._squares)
        w = rows.combine(dual * sign)
        used, before, swallowed, total = 0, -np.inf, 0, weight.sum()
        check_finite(self._squares.max(initial=0.0))
        while True:
            margins = sign * rows.scores(w)
            objective = 0.5 * w @ w + HINGE.value(margins, weight)
            value = HINGE.dual_value(dual, w)
            # What cancels in them is as large as the total weight. A bound closer than that rounding is not proven.
            bound = min(value, objective - NOISE * (objective + total))
            gap = objective - bound
            check_finite(gap)
            if (
                gap <= max(atol, tol * objective, 1e-12 * objective)
                or used >= max_iter
                or swallowed == _PATIENCE_OF_DESCENT
            ):
                break
            # The dual objective never falls but for rounding. One such turn may be followed by a better one, since the
            # order of the passes differs; several in a row are the end.
            swallowed = swallowed + 1 if value <= before else 0
            before = max(before, value)
            if starts and not used and gap > _POOR * objective:
                program.improve_free(dual, w)
                w = rows.combine(dual * sign)
                margins = sign * rows.scores(w)
            w, passes = program.turn(dual, w, margins, min(_PASSES, max_iter - used), seed=used)
            used += passes
        share = np.divide(dual, weight, out=np.zeros_like(dual), where=weight > 0)
        return HingeSolution(w, margins, share, float(objective), float(bound), 1.0, used, dual)

    def _start(self, weight: Array, starts: Sequence[HingeSolution]) -> Array:
        """Clip the dual variables of the nearest solution to the box."""
        if not starts:
            return np.zeros(self.rows.n_rows)
        if starts[0].dual is None:
            raise ValueError("starts holds a solution without dual variables; accepted: those of HingeDescent")
        return np.clip(starts[0].dual, 0.0, weight)


# ---------------------------------------------------------------- the squared hinge


# Limit of Newton steps, which a dozen seldom reach.
_STEPS = 100
# Share of the slope that inexact Newton steps leave, and products with the data that they take at most.
_FORCING, _MOST_PRODUCTS = 0.2, 200
# Passes of coordinate descent of a turn, and of the first one from earlier solutions, which is close already.
_PASSES_A_TURN, _FIRST_PASSES = 8, 5


class SquaredHinge(Solver[Solution]):
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

    def _solve(self, weight: Array, tol: float, atol: float, starts: Sequence[Solution], max_iter: int) -> Solution:
        if self.rows.n_coefficients <= DIRECT or self._is_tall():
            return self._primal(weight, tol, atol, [start for start in starts if start.w is not None])
        return self._dual(weight, tol, atol, [start for start in starts if start.dual is not None], max_iter)

    def _is_tall(self) -> bool:
        """Check whether the primal problem, in the coefficients, is the smaller one, as LinearSVC does too."""
        return self.rows.n_rows > self.rows.n_coefficients

    def _primal(self, weight: Array, tol: float, atol: float, starts: Sequence[Solution]) -> Solution:
        """Minimise over the coefficients by Newton's method, with conjugate gradients for many features."""
        rows, sign = self.rows, self.sign
        w = starts[0].w if starts else np.zeros(rows.n_coefficients)
        margins, factor, count = sign * rows.scores(w), np.empty(rows.n_rows), 0
        none = np.zeros(rows.n_rows)
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
            products = slope @ step, w @ step, step @ step
            length = hinge_step(margins, along, none, 2.0 * weight, (1.0, np.inf), 1e-2, products)
            # The step goes down in exact numbers: what is left is rounding, and the gap above says how much it is.
            if length == 0.0:
                break
            w, count = w + length * step, count + 1
            along *= length
            margins += along
        return Solution(w, float(objective), float(max(gap, NOISE * objective)), count, margins)

    def _inexact_step(self, slope: Array, margins: Array, weight: Array, active: IntArray) -> Array:
        """Compute about minus the inverse Hessian, summed over samples with a loss, times the slope."""
        part, curvature = (
            self.rows.take(self.rows.places[active]),
            SQUARED_HINGE.curvature(margins[active], weight[active]),
        )
        diagonal = 1.0 + part.combine(curvature, squares=True)
        return conjugate_gradients(
            lambda v: v + part.image(curvature, v), -slope, diagonal=diagonal, left=_FORCING**2, max_iter=_MOST_PRODUCTS
        )

    def _dual(self, weight: Array, tol: float, atol: float, starts: Sequence[Solution], max_iter: int) -> Solution:
        """Alternate coordinate descent and conjugate gradients on the dual variables."""
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
            passes = min(_FIRST_PASSES if starts and not used else _PASSES_A_TURN, max_iter - used)
            wanted = max(atol, tol * objective) / gap
            w, passes = program.turn(dual, w, margins, passes, wanted=wanted, seed=used)
            used += passes
        if gap > max(atol, tol * objective):  # the dual variables that belong to the coefficients may prove more
            slope = w - rows.combine(SQUARED_HINGE.pull(margins, weight) * sign)
            gap = min(gap, 0.5 * slope @ slope)
        gap = max(gap, NOISE * (objective + dual.sum()))
        return Solution(w, float(objective), float(gap), used, margins, dual)


class _Hessian:
    """Second derivatives of the losses, updated for samples whose loss becomes positive or zero."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight, self._matrix = rows, weight, np.zeros((rows.n_coefficients, rows.n_coefficients))
        self._active, self._is_begun = np.zeros(rows.n_rows, dtype=bool), False
        self._places, self._change = np.empty(rows.n_rows, dtype=np.int32), np.empty(rows.n_rows)

    def follow(self, factor: Array) -> Array:
        """Update the matrix for the samples with these factors; only its upper triangle."""
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
    """Mix solutions to minimise the squared-hinge objective for new weights."""
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
