"""Linear SVM with the hinge loss and many features, solved in its dual variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csf._common.typing import Array
from csf.linear._solve import NOISE, check_finite, quietly
from csf.linear.hinge import HingeSolution
from csf.linear.losses import HINGE
from csf.linear.matrix import Rows
from csf.linear.turns import BoxProgram

__all__ = ["HingeDescent"]

# Turns in a row that rounding may swallow before the search ends.
_PATIENCE = 5
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
    See `csf.linear.turns`. The start is the nearest solution, clipped to the new weights.

    Examples
    --------
    >>> from csf.linear import Rows
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
            if gap <= max(atol, tol * objective, 1e-12 * objective) or used >= max_iter or swallowed == _PATIENCE:
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
