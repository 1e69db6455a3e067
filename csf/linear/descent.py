"""Linear SVM with the hinge loss and many features: dual coordinate descent from any start."""

import numpy as np

from csf.linear._solve import check_finite
from csf.linear.hinge import HingeSolution

__all__ = ["HingeDescent"]


class HingeDescent:
    """Data of a linear SVM with many features, solved for any weights by dual coordinate descent.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature, which is regularised like the others.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.

    References
    ----------
    .. [1] C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.

    Examples
    --------
    >>> from csf.linear import Rows
    >>> problem = HingeDescent(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> problem.solve(np.full(3, 10.0), tol=1e-9).w
    array([ 1., -2.])
    """

    def __init__(self, rows, sign):
        self.rows, self.sign = rows, sign
        self._squares = rows.squared_norms()

    def solve(self, weight, *, tol, rtol=0.0, start=None, max_iter=1000):
        """Minimise the weighted objective of `Hinge`.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the hinge losses.
        tol : float
            Duality gap to reach, in units of the objective.
        rtol : float, default=0.0
            Duality gap to reach, as a share of the objective; the larger of the two counts.
        start : HingeSolution, default=None
            Solution for other weights of the same problem.
        max_iter : int, default=1000
            Limit of passes.

        Returns
        -------
        HingeSolution
            The solution; its gap tells whether ``tol`` was reached.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        rows, sign = self.rows, self.sign
        dual = np.zeros(rows.n_rows) if start is None else start.share * weight
        w, ridge = rows.combine(dual * sign), np.zeros(rows.n_rows)
        used, violation = 0, 1.0
        while True:
            margins = sign * rows.scores(w)
            objective = 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0)
            bound = dual.sum() - 0.5 * w @ w
            gap = objective - bound
            check_finite(gap)
            if gap <= max(tol, rtol * objective, 1e-12 * objective) or used >= max_iter or violation < 1e-13:
                break
            passes = rows.descend(sign, self._squares, ridge, weight, dual, w, violation, max_iter - used)
            used, violation = used + passes, 0.2 * violation
        share = np.divide(dual, weight, out=np.zeros_like(dual), where=weight > 0)
        return HingeSolution(w, margins, share, float(objective), float(bound), 1.0, used)
