"""Hinge rewards of linear scores, and the weighted SVM that raises them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, Samples
from csf.linear import Hinge, Rows

if TYPE_CHECKING:
    from csf.linear.hinge import HingeSolution


__all__ = ["RewardProblem"]

# Smallest inverse strength of the regulariser in units of the rewards, and inverse of the largest one.
_SMALLEST = 1e-300


class RewardProblem:
    r"""A training set seen through the hinge loss of each class.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n_samples, n_features)
        Training data.
    is_pos : ndarray of bool, shape (n_samples,)
        ``True`` for the positive class.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights >= 0 with a positive sum in each class.
    C : float
        Inverse strength of regularisation, as in `sklearn.svm.LinearSVC`.
    fit_intercept : bool, default=True
        Whether to learn an intercept, regularised like the coefficients.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept.

    Notes
    -----
    The reward of a sample is ``1 - max(0, 1 - margin)``, never above the reward ``margin > 0`` of a correct
    prediction; so averages of rewards bound the true rates from below. In units of the rewards the regulariser is
    ``lam / 2 * ||w||**2`` with ``lam = 1 / (C * total weight)``.

    Examples
    --------
    >>> problem = RewardProblem(np.array([[-1.0], [0.0], [2.0]]), np.array([False, False, True]), None, C=1.0)
    >>> problem.rates(np.array([0.4, -0.2, 3.0]))
    (1.0, 0.1)
    """

    def __init__(
        self,
        X: Samples,
        is_pos: BoolArray,
        sample_weight: Array | None,
        *,
        C: float,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
    ) -> None:
        weight = np.ones(is_pos.shape[0]) if sample_weight is None else sample_weight
        total = float(weight.sum())
        self._is_pos = is_pos
        self._unit = weight / total
        self._of_pos = np.where(is_pos, self._unit, 0.0)
        self._of_neg = self._unit - self._of_pos
        self.pos = float(self._of_pos.sum())
        # in floats of Python, whose products overflow in silence
        if not _SMALLEST <= float(C) * total <= 1.0 / _SMALLEST:
            raise ValueError(
                f"C times the total weight must be between {_SMALLEST:g} and {1.0 / _SMALLEST:g}, got C={C!r} and a "
                f"total of {total:.6g}"
            )
        self.lam = 1.0 / (C * total)
        rows = Rows(X, constant=intercept_scaling if fit_intercept else 0.0)
        self._hinge = Hinge(rows, np.where(is_pos, 1.0, -1.0))

    def losses(self, margins: Array) -> tuple[float, float]:
        """Hinge losses summed over each class, as shares of all samples.

        Parameters
        ----------
        margins : ndarray of shape (n_samples,)
            Scores times the signs of the classes.

        Returns
        -------
        tuple of float
            Upper bounds of ``(fn, fp)``.
        """
        hinge = np.maximum(1.0 - margins, 0.0)
        return float(self._of_pos @ hinge), float(self._of_neg @ hinge)

    def rates(self, margins: Array) -> tuple[float, float]:
        """Average reward of each class.

        Parameters
        ----------
        margins : ndarray of shape (n_samples,)
            Scores times the signs of the classes.

        Returns
        -------
        tuple of float
            ``(P, N)``: at most 1, perhaps negative, not above ``(tpr, tnr)``.
        """
        fn, fp = self.losses(margins)
        return 1.0 - fn / self.pos, 1.0 - fp / (1.0 - self.pos)

    def errors(self, margins: Array) -> tuple[float, float]:
        """True errors of the rule that predicts positive when the score is above 0.

        Parameters
        ----------
        margins : ndarray of shape (n_samples,)
            Scores times the signs of the classes.

        Returns
        -------
        tuple of float
            ``(fn, fp)``, shares of all samples.
        """
        return float(self._of_pos @ (margins <= 0.0)), float(self._of_neg @ (margins < 0.0))

    def balanced(self, alpha: float = 0.5, beta: float = 0.5) -> tuple[float, float]:
        """Class costs that price the two rates.

        Parameters
        ----------
        alpha, beta : float, default=0.5
            Prices of the true positive and of the true negative rate.

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``.
        """
        return alpha / self.pos, beta / (1.0 - self.pos)

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
        return self._hinge.margins(w)

    def solve(self, costs: Costs, *, tol: float, start: HingeSolution | None = None) -> HingeSolution:
        """Weighted SVM ``min c_fn fn + c_fp fp + lam / 2 ||w||**2`` over hinge losses.

        Parameters
        ----------
        costs : tuple of float
            ``(c_fn, c_fp)``, not negative.
        tol : float
            Duality gap to reach, in units of the objective above.
        start : HingeSolution, default=None
            Solution for other costs.

        Returns
        -------
        HingeSolution
            In units of the objective divided by ``lam``.
        """
        weight = np.where(self._is_pos, costs[0], costs[1]) * (self._unit / self.lam)
        # The objective of the solver is that of the rewards divided by lam, and so is its tolerance.
        return self._hinge.solve(weight, tol=0.0, atol=tol / self.lam, starts=() if start is None else [start])
