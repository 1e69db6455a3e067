"""Linear support vector machine with the hinge loss and a weight for each sample.

LIBLINEAR's solver of the same problem stops after a fixed number of passes, takes no weights for single samples and
does not return its dual variables, so that neither warm starts nor a certificate are possible with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from csf._common.typing import Array, IntArray
from csf.linear._multipliers import FIRST_PENALTY, GROWTH, Part
from csf.linear._solve import NOISE, quietly
from csf.linear.losses import survey
from csf.linear.matrix import Rows

__all__ = ["Hinge", "HingeSolution"]

# All samples take part until the gap is this share of the objective. Then samples that a step may take across the
# margin are solved for alone, as are those that are this much of the inverse penalty away from it.
_COARSE, _BAND = 0.1, 0.05
# Share of the wanted gap that the samples solved for alone may leave: their steps cost little, and others may change
# sides.
_INNER = 0.1


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
