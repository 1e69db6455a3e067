"""Linear support vector machine with the squared hinge loss and a weight for each sample."""

import numpy as np

from csf.linear._solve import check_finite, conjugate_gradients, hinge_step, newton_step, squared_terms
from csf.linear.solution import Solution, best_mixture

__all__ = ["SquaredHinge"]

# Up to this many coefficients, Newton's equations are solved by a Cholesky factor, beyond by conjugate gradients.
_DIRECT = 512
# With many coefficients: passes of coordinate descent for a start from nothing, and the share of a Newton step's gain
# that its inexact solution may miss.
_PASSES, _LEFT = 60, 0.1
# Relative gap that is enough once a quarter of the products are spent: what LinearSVC reaches when it runs out of passes.
_ENOUGH = 1e-2


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

    Newton's method on this piecewise quadratic function ends after a few steps, fewer from a good start [1]_. With
    few features its equations are formed and solved directly. With many features each step solves the equivalent
    system in the dual variables of the samples inside the margin by conjugate gradients, from the dual variables at
    hand, so that the certificate is as good as the solution; the first solution comes from dual coordinate descent
    [2]_, later ones start from the best mixture of earlier solutions.

    References
    ----------
    .. [1] S. Keerthi, D. DeCoste, "A modified finite Newton method for fast solution of large scale linear SVMs",
       Journal of Machine Learning Research 6, 2005.
    .. [2] C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.

    Examples
    --------
    >>> from csf.linear import Rows
    >>> problem = SquaredHinge(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> solution = problem.solve(np.full(3, 10.0), tol=1e-9)
    >>> solution.w
    array([ 0.89, -1.74])
    >>> solution.relative_gap < 1e-9
    True
    """

    def __init__(self, rows, sign):
        self.rows, self.sign = rows, sign

    def solve(self, weight, *, tol, starts=(), max_products=1000):
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        starts : sequence of Solution, default=()
            Solutions for other weights of the same problem, the nearest first.
        max_products : int, default=1000
            With many features: limit of products with the samples inside the margin. After a quarter of them a
            relative gap of 1e-2 is enough, for later solutions as well.

        Returns
        -------
        Solution
            The solution; its gap tells whether ``tol`` was reached. Steps that are lost in rounding end the search.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        if self.rows.n_coefficients <= _DIRECT:
            return self._direct(weight, tol, starts)
        return self._dual(weight, tol, starts, max_products)

    def _direct(self, weight, tol, starts, max_iter=100):
        rows, sign = self.rows, self.sign
        w = starts[0].w if starts else np.zeros(rows.n_coefficients)
        margins = sign * rows.scores(w)
        matrix = np.zeros((rows.n_coefficients, rows.n_coefficients))
        was_active, factor = np.zeros(rows.n_rows, dtype=bool), np.empty(rows.n_rows)
        for count in range(max_iter + 1):
            loss = squared_terms(margins, sign, weight, factor)
            slope = w - rows.combine(factor)
            objective, gap = 0.5 * w @ w + loss, 0.5 * slope @ slope
            check_finite(gap)
            if gap <= tol * objective or count == max_iter:
                break
            active = factor != 0.0
            changed = np.flatnonzero(active != was_active)
            if 2 * changed.size > active.sum() and count:
                matrix[:], changed = 0.0, np.flatnonzero(active)
            rows.add_gram(changed, 2.0 * weight[changed] * np.where(active[changed], 1.0, -1.0), matrix)
            was_active = active
            step = newton_step(matrix + np.eye(w.shape[0]), slope)
            along = sign * rows.scores(step)
            length = hinge_step(margins, along, weight, slope @ step, w @ step, step @ step)
            if length == 0.0:
                break
            w, margins = w + length * step, margins + length * along
        return Solution(w, float(objective), float(gap), count, tol, margins)

    def _dual(self, weight, tol, starts, max_products):
        rows, sign = self.rows, self.sign
        squares = rows.squared_norms()
        inverse = np.divide(0.5, weight, out=np.zeros_like(weight), where=weight > 0)
        if starts:
            w, dual, margins = best_mixture(starts, weight)
            dual = dual * (weight > 0)
            goal = max(tol, starts[0].goal)
        else:
            w, dual = self._descend(weight, squares, inverse)
            margins, goal = sign * rows.scores(w), tol
        left, count = max_products, 0
        while True:
            slack = np.maximum(1.0 - margins, 0.0)
            objective = 0.5 * w @ w + weight @ slack**2
            gap = objective - self._dual_objective(dual, inverse)
            check_finite(gap)
            if left < 0.75 * max_products:
                goal = max(goal, _ENOUGH)
            if gap <= goal * objective or left <= 0:
                break
            step_dual, used = self._step(
                slack > 0.0,
                dual,
                weight,
                inverse,
                squares,
                objective=objective,
                goal=goal * objective,
                max_products=left,
            )
            left, count = left - used, count + 1
            step = rows.combine(step_dual * sign)
            along = sign * rows.scores(step)
            descent = w @ step - 2.0 * (weight * slack) @ along
            length = hinge_step(margins, along, weight, descent, w @ step, step @ step)
            if length == 0.0:
                break
            dual, w, margins = dual + length * step_dual, w + length * step, margins + length * along
        if gap > tol * objective:  # the dual variables that belong to the coefficients may prove more
            slope = w - rows.combine(2.0 * weight * slack * sign)
            gap = min(gap, 0.5 * slope @ slope)
        if left <= 0 and objective > 0:
            goal = max(goal, min(gap / objective, 2.0 * _ENOUGH))
        return Solution(w, float(objective), float(gap), count, goal, margins, dual)

    def _descend(self, weight, squares, inverse):
        """Start from nothing by passes of coordinate descent."""
        dual, w = np.zeros_like(weight), np.zeros(self.rows.n_coefficients)
        upper = np.where(weight > 0, np.inf, 0.0)
        self.rows.descend(self.sign, squares, inverse, upper, dual, w, 1e-2, _PASSES)
        return w, dual

    def _dual_objective(self, dual, inverse):
        """Value of the dual function where negative variables, which a Newton step may leave, count as 0."""
        dual = np.maximum(dual, 0.0)
        w = self.rows.combine(dual * self.sign)
        return dual.sum() - 0.5 * w @ w - 0.5 * inverse @ dual**2

    def _step(self, active, dual, weight, inverse, squares, *, objective, goal, max_products):
        """Step of the dual variables towards the solution of Newton's equations for the active samples.

        It is exact enough to go down once ``c @ residual**2``, which bounds the distance of the new coefficients
        from the minimum of Newton's model, is small beside the gain that the model promises.
        """
        places = np.flatnonzero(active & (weight > 0))
        block = self.rows.block(places, self.sign[places])
        c, shift = weight[places], inverse[places]

        def product(v):
            return block.outer(v) + shift * v

        def stop(x, residual):
            promise = objective - 0.5 * x @ (1.0 + residual)
            return c @ residual**2 <= max(0.1 * goal, _LEFT * promise)

        solved, used = conjugate_gradients(
            product, np.ones(places.size), diagonal=squares[places] + shift, start=dual[places], stop=stop,
            max_iter=max_products,
        )  # fmt: skip
        step = -dual
        step[places] += solved
        return step, used
