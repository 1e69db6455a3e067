"""Linear support vector machine with the hinge loss and a weight for each sample.

LIBLINEAR's solver of the same problem stops after a fixed number of passes, takes no weights for single samples and
does not return its dual variables, so that neither warm starts nor a certificate are possible with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, IntArray
from csf.linear._solve import DIRECT, NOISE, Scalar, check_finite, conjugate_gradients, newton_step, quietly

if TYPE_CHECKING:
    from csf.linear.matrix import Rows


__all__ = ["Hinge", "HingeSolution"]

_FIRST_PENALTY, _GROWTH, _LAST_PENALTY = 0.1, 4.0, 1e9
# Steps in a row that rounding may swallow before the search ends.
_PATIENCE = 3


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
    >>> from csf.linear import Hinge, Rows
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
    strictly between their bounds. A few dozen steps reach a relative duality gap of 1e-6; each costs a handful of
    products with the data.

    References
    ----------
    .. [1] D. Bertsekas, "Constrained Optimization and Lagrange Multiplier Methods", 1982.
    .. [2] X. Li, D. Sun, K.-C. Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving
       Lasso problems", SIAM Journal on Optimization 28, 2018.

    Examples
    --------
    >>> from csf.linear import Rows
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
            The solution; its gap tells whether ``tol`` was reached. A gap below 1e-12 of the objective, and steps
            that are lost in rounding, end the search as well.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        if starts:
            # The penalty that an end needed is more than a beginning needs: with two sizes less, the multipliers move
            # as freely as the new weights ask.
            start = starts[0]
            w, share, penalty = start.w, start.share, max(start.penalty / _GROWTH**2, _FIRST_PENALTY)
        else:
            w, share, penalty = np.zeros(self.rows.n_coefficients), np.zeros(self.rows.n_rows), _FIRST_PENALTY
        margins, newton, total = self.margins(w), _Newton(self.rows, weight), weight.sum()
        rounds = steps = swallowed = 0
        while True:
            # The next multipliers, were they taken here, are feasible dual variables: a bound at every round.
            target = share + penalty * (1.0 - margins)
            clipped = np.clip(target, 0.0, 1.0)
            dual_w = self.rows.combine(self.sign * weight * clipped)
            objective = 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0)
            bound = weight @ clipped - 0.5 * dual_w @ dual_w
            # What cancels in them is as large as the total weight. A bound closer than that rounding is not proven.
            bound = min(bound, objective - NOISE * (objective + total))
            gap = objective - bound
            check_finite(gap)
            if gap <= max(atol, tol * objective, 1e-12 * objective) or rounds >= max_iter:
                break
            rounds += 1
            slope = w - dual_w
            # The subproblem is 1-strongly convex: half the squared slope bounds what is left in it. As long as that
            # is a notable part of the whole gap, new multipliers would aim at what the next Newton step changes.
            if 0.5 * slope @ slope > 0.02 * gap:
                step = newton.step((target > 0.0) & (target < 1.0), penalty, slope)
                along = self.margins(step)
                parts = (margins, along, share, weight, penalty, w @ step, step @ step)
                length = _step_length(slope @ step, parts)
                if length > 0.0:
                    w, margins = w + length * step, margins + length * along
                    steps, swallowed = steps + 1, 0
                    continue
                # Rounding hides the rest of this subproblem. New multipliers make another one, where it may go on.
                swallowed += 1
                if swallowed == _PATIENCE:
                    break
            share, penalty = clipped, min(penalty * _GROWTH, _LAST_PENALTY)
        return HingeSolution(w, margins, clipped, float(objective), float(bound), penalty, steps)


class _Newton:
    """Solves ``I + penalty * Z_J' diag(weight) Z_J`` for changing sets J of free samples."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight = rows, weight
        if rows.n_coefficients <= DIRECT:
            self._gram = np.zeros((rows.n_coefficients, rows.n_coefficients))
            self._free = np.zeros(rows.n_rows, dtype=bool)

    def step(self, free: BoolArray, penalty: float, slope: Array) -> Array:
        """Minus the solution for a slope."""
        if self.rows.n_coefficients > DIRECT:
            return self._conjugate(np.flatnonzero(free), penalty, slope)
        # Few samples come and go between two steps: only their outer products are added and taken away. Where most
        # have changed it takes less to begin anew, which also forgets the rounding of earlier differences.
        changed = np.flatnonzero(free != self._free)
        if 2 * changed.size > np.count_nonzero(free):
            self._gram[:], changed = 0.0, np.flatnonzero(free)
        self.rows.add_gram(changed, np.where(free[changed], 1.0, -1.0) * self.weight[changed], self._gram)
        self._free = free
        return newton_step(penalty * self._gram + np.eye(slope.shape[0]), slope)

    def _conjugate(self, places: IntArray, penalty: float, slope: Array) -> Array:
        # Coefficients that no free sample uses have the identity as their matrix: their step is minus the slope.
        block, curvature = self.rows.block(places, np.ones(places.size)), penalty * self.weight[places]
        step, rhs = -slope, -slope[block.columns]
        goal = 1e-6 * rhs @ rhs
        step[block.columns] = conjugate_gradients(
            lambda v: v + block.combine(curvature * block.scores(v)), rhs, stop=lambda _, r: r @ r <= goal, max_iter=500
        )[0]
        return step


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _derivatives(
    length: float,
    margins: Array,
    along: Array,
    share: Array,
    weight: Array,
    penalty: float,
    w_step: Scalar,
    step_step: Scalar,
) -> tuple[float, float]:
    """First and second derivative of the augmented Lagrangian along a step."""
    first, curvature = w_step + length * step_step, 0.0
    # Without branches, which no one can foresee.
    for i in range(margins.size):
        target = share[i] + penalty * (1.0 - margins[i] - length * along[i])
        pull = weight[i] * along[i]
        first -= pull * min(max(target, 0.0), 1.0)
        curvature += pull * along[i] if 0.0 < target < 1.0 else 0.0
    return first, step_step + penalty * curvature


def _step_length(initial: Scalar, parts: tuple[Any, ...]) -> float:
    """Length of a Newton step that about minimises the augmented Lagrangian, or 0 where rounding hides descent.

    ``initial`` is the slope at length 0, ``parts`` is what `_derivatives` takes behind the length.
    """
    # Newton's method for the root of the slope, within a bracket whose lower end is safe; see `_solve.hinge_step`.
    low, high, length = 0.0, np.inf, 1.0
    if not initial < 0.0:
        return 0.0
    for _ in range(60):
        first, second = _derivatives(length, *parts)
        if abs(first) <= 0.1 * abs(initial):
            return length
        low, high = (length, high) if first < 0.0 else (low, length)
        length -= first / second
        if not low < length < high:
            length = 2.0 * low if high == np.inf else 0.5 * (low + high)
    return low
