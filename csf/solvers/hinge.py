"""Linear support vector machine with the hinge loss and a weight for each sample.

LIBLINEAR's solver of the same problem stops after a fixed number of passes, takes no weights for single samples and
does not return its dual variables, so that neither warm starts nor a certificate are possible with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csf._common.typing import Array, IntArray
from csf.solvers.base import DIRECT, NOISE, HingeSolution, check_finite, conjugate_gradients, newton_step, quietly
from csf.solvers.kernels import descend
from csf.solvers.losses import HINGE, multiplier_step, multiplier_terms, note_free, survey
from csf.solvers.matrix import Rows

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
    r"""Minimises a quadratic function over a box.

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
        """Some passes of coordinate descent, then conjugate gradients where the passes do not end by themselves.

        Changes ``dual`` and ``w``; ``margins`` tell which variables passes may leave out, ``wanted`` is the share of
        the gap that may be left. Returns the coefficients and the passes used.
        """
        order, enough = self._order(dual, margins)
        rows, problem = self.rows, (self.sign, self.ridge, self.upper, self.squares)
        used = descend(rows.parts, rows.constant, rows.at, problem, dual, w, order, enough, passes, seed)
        # Passes that end by themselves are all that easy problems need.
        if used == passes:
            self.improve_free(dual, w, wanted=wanted)
        # Both have changed the coefficients along with the variables, with the rounding of each change: they are
        # summed anew from the variables, which alone are the state.
        return self.rows.combine(dual * self.sign), used

    def _order(self, dual: Array, margins: Array) -> tuple[IntArray, float]:
        """Variables to pass over, and the range of projected gradients that is enough."""
        gradient = margins - 1.0 + self.ridge * dual
        gradient = np.where(dual <= 0.0, np.minimum(gradient, 0.0), gradient)
        projected = np.where(dual >= self.upper, np.maximum(gradient, 0.0), gradient)
        projected[self.upper <= 0.0] = 0.0
        span = projected.max(initial=0.0) - projected.min(initial=0.0)
        return np.flatnonzero(projected), _LEFT * float(span)

    def improve_free(self, dual: Array, w: Array, *, wanted: float = 0.0) -> None:
        """Lower the function in the variables that are not at a bound, by conjugate gradients."""
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
            moved = np.clip(dual[free] + length * step, 0.0, self.upper[free])
            change = moved - dual[free]
            if slope @ change + 0.5 * change @ product(change) < 0.0:
                dual[free] = moved
                return


# ---------------------------------------------------------------- the hinge


# All samples take part until the gap is this share of the objective. Then samples that a step may take across the
# margin are solved for alone, as are those that are this much of the inverse penalty away from it.
_COARSE, _BAND = 0.1, 0.05
# Share of the wanted gap that the samples solved for alone may leave: their steps cost little, and others may change
# sides.
_INNER = 0.1


class Hinge:
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

    def __init__(self, rows: Rows, sign: Array) -> None:
        self.rows, self.sign = rows, sign

    def margins(self, w: Array) -> Array:
        """Margins of coefficients.

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

    @quietly
    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[HingeSolution] = (),
        max_iter: int = 500,
    ) -> HingeSolution:
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights c >= 0 of the hinge losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float, default=0.0
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of HingeSolution, default=()
            Solutions for other weights of the same problem, the nearest first; this method starts from that one.
        max_iter : int, default=500
            Limit of Newton steps and multiplier updates together.

        Returns
        -------
        HingeSolution
            The solution; its gap shows whether ``tol`` was reached. A gap below 1e-12 of the objective, and steps
            that are lost in rounding, end the search as well.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
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
    """Coefficients and dual variables of all samples, improved on those near the margin alone.

    All samples take part until the gap is some percents. Then few change sides, and the losses of all others are linear
    or vanish: a problem of few samples is left. What comes of it is looked at on all of them: those that did change
    sides join the few.
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
        self._near, self._is_begun, self._are_few = np.zeros(rows.n_rows, dtype=bool), False, False
        self._factor = np.empty(rows.n_rows)

    def look(self) -> None:
        """Objective on all samples, what the dual variables leave of its loss, and which samples are near."""
        of_samples = self.margins, self._before, self.share, self.weight, self.sign
        loss, self.slack, self._lost = survey(*of_samples, _BAND / self.penalty, self._near, self._factor)
        self._last_objective, self.objective = self.objective, 0.5 * float(self.w @ self.w) + loss

    def is_worse(self) -> bool:
        """Whether few samples were too few: their solution made others lose more than it saved."""
        return self._are_few and self.objective > self._last_objective

    def return_to_last(self) -> None:
        """Forget the last solution, but not which samples it made change sides."""
        self.w, self.margins, self.share, self.penalty = self._last
        self._before, self.objective = self.margins, self._last_objective

    def advance(self, tol: float, atol: float, max_iter: int) -> Part:
        """Solve the problem of the samples that are near, or come closer to that of all; see `Hinge.solve`."""
        self._last = self.w, self.margins, self.share.copy(), self.penalty
        at = np.flatnonzero(self._near)
        self._are_few = bool(self.weight[at].sum() <= 0.5 * self.total)
        part = self._part(at) if self._are_few else None
        if part is None or not (self._is_begun or part.gap <= _COARSE * part.objective):
            self._are_few, at = False, np.arange(self.rows.n_rows)
            self._factor[:], self._lost = 0.0, 0.0
            part = self._part(at)
        if self._are_few:
            part.solve(_INNER * tol, _INNER * atol, max_iter - self.rounds)
        else:
            part.solve(tol if self._is_begun else max(tol, _COARSE), atol, max_iter - self.rounds)
            self._near[:] = False
        self.w, self.penalty, self.share[at] = part.w, part.penalty, part.clipped
        self.steps, self.rounds = self.steps + part.steps, self.rounds + part.rounds
        # Samples are near if one more step as large as the last one may take them across the margin.
        margins = self.sign * self.rows.scores(self.w)
        self._before, self.margins = self.margins if self._are_few else part.before, margins
        self._is_begun = True
        return part

    def _part(self, at: IntArray) -> Part:
        """Problem of some samples, the others being where they are."""
        rest = self.rows.combine(self._factor), self._lost
        start = self.w, self.margins[at], self.share[at], self.penalty
        return Part(self.rows.take(self.rows.at[at]), self.sign[at], self.weight[at], rest, start, self.total)


FIRST_PENALTY, GROWTH, _LAST_PENALTY = 0.1, 4.0, 1e9
# Steps in a row that rounding may swallow before the search ends.
_PATIENCE = 3


class Part:
    """Hinge losses of some samples, beside losses of all others that are linear or vanish."""

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
        """Minimise until the gap is a share of the objective, or absolute; see `Hinge.solve`."""
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
        """Objective and gap: the next multipliers, were they taken here, are feasible dual variables."""
        parts = self.margins, self._share, self.weight, self.sign, self.penalty, self.clipped, self._factor
        loss, slack = multiplier_terms(*parts)
        own = self.w - self.pull
        self._slope = own - self.rows.combine(self._factor)
        self.slope_gap = 0.5 * float(self._slope @ self._slope)
        self.objective = 0.5 * float((own - self.pull) @ self.w) + loss + self.constant
        self.gap = self.slope_gap + slack
        check_finite(self.gap)

    def _step(self, newton: _Newton) -> bool:
        """One Newton step; whether it goes down."""
        slope, share, penalty = self._slope, self._share, self.penalty
        step = newton.step(self.margins, share, penalty, slope)
        along = self.sign * self.rows.scores(step)
        products = slope @ step, (self.w - self.pull) @ step, step @ step
        length = multiplier_step(self.margins, along, share, self.weight, penalty, *products)
        if length > 0.0:
            self.before = self.margins
            self.w, self.margins = self.w + length * step, self.margins + length * along
        return length > 0.0


class _Newton:
    """Solves ``I + penalty * Z_J' diag(weight) Z_J`` for changing sets J of free samples."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight = rows, weight
        self._free, self._changed = np.zeros(rows.n_rows, dtype=bool), np.empty(rows.n_rows, dtype=bool)
        if rows.n_coefficients <= DIRECT:
            self._gram = np.zeros((rows.n_coefficients, rows.n_coefficients))

    def step(self, margins: Array, share: Array, penalty: float, slope: Array) -> Array:
        """Minus the solution for a slope."""
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


class HingeDescent:
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

    @quietly
    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[HingeSolution] = (),
        max_iter: int = 1000,
    ) -> HingeSolution:
        """Minimise the weighted objective of `Hinge`.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the hinge losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float, default=0.0
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of HingeSolution, default=()
            Solutions for other weights of the same problem, the nearest first.
        max_iter : int, default=1000
            Limit of passes.

        Returns
        -------
        HingeSolution
            The solution, with dual variables; its gap shows whether ``tol`` was reached.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
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
        """Dual variables of the nearest solution, cut to the box."""
        if not starts:
            return np.zeros(self.rows.n_rows)
        if starts[0].dual is None:
            raise ValueError("starts holds a solution without dual variables; accepted: those of HingeDescent")
        return np.clip(starts[0].dual, 0.0, weight)
