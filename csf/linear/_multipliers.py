"""The method of multipliers for the hinge loss on some samples, where the side of all others is known."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, IntArray
from csf.linear._solve import DIRECT, NOISE, check_finite, conjugate_gradients, newton_step
from csf.linear.losses import multiplier_step, multiplier_terms, note_free
from csf.linear.matrix import Rows

__all__ = ["FIRST_PENALTY", "GROWTH", "Part"]

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
