"""Logistic regression with an L2 penalty and a weight for each sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from csf._common.compiled import njit
from csf._common.typing import Array
from csf.linear._solve import DIRECT, NOISE, Scalar, check_finite, conjugate_gradients, quietly
from csf.linear.solution import Solution

if TYPE_CHECKING:
    from csf.linear.matrix import Rows


__all__ = ["Logistic"]

# An old factor serves as long as a step with it leaves less than this share of the squared slope.
_STALE = 0.1
# Share of the slope that inexact Newton steps leave.
_FORCING = 0.3


@njit(cache=True, nogil=True)
def _terms(margins: Array, weight: Array, residual: Array, curvature: Array) -> float:
    """Weighted loss; its slopes (with the sign turned) and curvatures in the margins are filled in."""
    loss = 0.0
    for i in range(margins.size):
        z = margins[i]
        e = math.exp(-abs(z))
        share = e / (1.0 + e) if z >= 0.0 else 1.0 / (1.0 + e)
        loss += weight[i] * (math.log1p(e) + max(0.0, -z))
        residual[i] = weight[i] * share
        curvature[i] = weight[i] * e / ((1.0 + e) * (1.0 + e))
    return loss


@njit(cache=True, nogil=True)
def _loss(margins: Array, along: Array, length: float, weight: Array) -> float:
    loss = 0.0
    for i in range(margins.size):
        z = margins[i] + length * along[i]
        loss += weight[i] * (math.log1p(math.exp(-abs(z))) + max(0.0, -z))
    return loss


class Logistic:
    r"""Data of a logistic regression, solved for any weights.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.
    penalise_constant : bool, default=False
        Whether the coefficient of the constant feature is regularised like the others.

    Notes
    -----
    For weights :math:`c_i \ge 0` and signs :math:`y_i` it minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \log(1 + e^{-y_i \langle w, x_i \rangle})

    by Newton's method. With few features a Cholesky factor of the second derivatives is kept as long as it brings
    the slope down tenfold; with many features the equations are solved by conjugate gradients. The gap is that of
    the dual variables :math:`c_i \sigma(-y_i \langle w, x_i \rangle)`, evened over the classes where the constant
    feature is free [1]_.

    References
    ----------
    .. [1] H.-F. Yu, F.-L. Huang, C.-J. Lin, "Dual coordinate descent methods for logistic regression and maximum
       entropy models", Machine Learning 85, 2011.

    Examples
    --------
    >>> from csf.linear import Rows
    >>> problem = Logistic(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> problem.solve(np.full(3, 10.0), tol=1e-9).w
    array([ 2.21, -4.48])
    """

    def __init__(self, rows: Rows, sign: Array, *, penalise_constant: bool = False) -> None:
        self.rows, self.sign = rows, sign
        self._ridge = np.ones(rows.n_coefficients)
        self._free = rows.constant != 0.0 and not penalise_constant
        if self._free:
            self._ridge[-1] = 0.0

    @quietly
    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[Solution] = (),
        max_iter: int = 200,
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
            Solutions for other weights of the same problem, the nearest first; this method starts from that one.
        max_iter : int, default=200
            Limit of Newton steps.

        Returns
        -------
        Solution
            The solution; its gap tells whether ``tol`` was reached. Steps that are lost in rounding end the search.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        rows, sign, ridge = self.rows, self.sign, self._ridge
        w = starts[0].w if starts else np.zeros(rows.n_coefficients)
        margins = sign * rows.scores(w)
        residual, curvature = np.empty((2, rows.n_rows))
        factor, before, count = None, np.inf, 0
        while True:
            loss = _terms(margins, weight, residual, curvature)
            slope = ridge * w - rows.combine(residual * sign)
            objective, square = 0.5 * w @ (ridge * w) + loss, slope @ slope
            check_finite(square)
            # Half the squared slope bounds the gap where all coefficients are regularised. With a free constant it is
            # but a cheap sign that the true gap, which takes another product with the data, is worth a look.
            gap = 0.5 * square
            if gap <= max(atol, tol * objective) or count >= max_iter:
                if self._free:
                    gap = objective - self._dual_objective(residual, weight)
                if gap <= max(atol, tol * objective) or count >= max_iter:
                    break
            # Second derivatives change little near the optimum and from one weight to the next. To make and factor
            # their matrix costs as much as dozens of steps with the old one.
            if factor is None or square > _STALE * before:
                factor, before = self._factor(curvature), np.inf
            step, before = -factor(slope), square
            along = sign * rows.scores(step)
            length = self._length(w, step, margins, along, weight, slope @ step, objective)
            if length == 0.0:
                gap = objective - self._dual_objective(residual, weight)
                # A poor start may lead to where all curvatures vanish, and no step helps. From zero none can.
                if starts and gap > max(atol, tol * objective):
                    return self.solve(weight, tol=tol, atol=atol, max_iter=max_iter)
                break
            w, margins = w + length * step, margins + length * along
            count += 1
        return Solution(w, float(objective), float(max(gap, NOISE * objective)), count, margins)

    def _factor(self, curvature: Array) -> Callable[[Array], Array]:
        """Function that applies the inverse of the second derivatives."""
        rows, ridge = self.rows, self._ridge
        if rows.n_coefficients > DIRECT:
            diagonal = ridge + rows.combine(curvature, squares=True)
            diagonal[diagonal == 0.0] = 1.0

            def product(v: Array) -> Array:
                return ridge * v + rows.combine(curvature * rows.scores(v))

            def solve(slope: Array) -> Array:
                goal = _FORCING**2 * slope @ (slope / diagonal)
                return conjugate_gradients(
                    product, slope, diagonal=diagonal, stop=lambda _, r: r @ (r / diagonal) <= goal, max_iter=200
                )[0]

            return solve
        matrix = np.zeros((ridge.shape[0], ridge.shape[0]))
        rows.add_gram(np.arange(rows.n_rows), curvature, matrix)
        diagonal = matrix.diagonal() + ridge
        # Neither the constant feature nor one that vanishes under the curvatures needs to have any: rounding may leave
        # no factor, and the smallest growth that leaves one is taken.
        growth = 0.0
        while True:
            matrix.flat[:: ridge.shape[0] + 1] = diagonal * (1.0 + growth) + (growth if growth else 0.0)
            try:
                factor = cho_factor(matrix, check_finite=False)
                return lambda slope: cho_solve(factor, slope, check_finite=False)
            except LinAlgError:
                growth = max(10.0 * growth, 1e-14)

    def _length(
        self,
        w: Array,
        step: Array,
        margins: Array,
        along: Array,
        weight: Array,
        descent: Scalar,
        objective: Scalar,
    ) -> float:
        """Length of a step that goes down enough, or 0 where rounding hides descent."""
        ridge, length = self._ridge, 1.0
        while length > 1e-10:
            moved = w + length * step
            value = 0.5 * moved @ (ridge * moved) + _loss(margins, along, length, weight)
            if value <= objective + 1e-4 * length * descent and value < objective:
                return length
            length *= 0.5
        return 0.0

    def _dual_objective(self, residual: Array, weight: Array) -> Scalar:
        """Value of the dual function, where the larger class is scaled down if the constant feature is free."""
        dual = residual
        if self._free:
            of_pos = self.sign > 0
            totals = dual[of_pos].sum(), dual[~of_pos].sum()
            if min(totals) <= 0.0:
                return -np.inf
            even = min(totals)
            dual = dual * np.where(of_pos, even / totals[0], even / totals[1])
        v = self.rows.combine(dual * self.sign)
        if self._free:
            v[-1] = 0.0
        share = np.divide(dual, weight, out=np.zeros_like(dual), where=weight > 0)
        return weight @ _entropy(share) - 0.5 * v @ v


def _entropy(share: Array) -> Array:
    rest = np.log1p(-np.where(share < 1, share, 0.0))  # the logarithm of 1 - share would lose the digits of small ones
    return -(share * np.log(np.where(share > 0, share, 1.0)) + (1.0 - share) * rest)
