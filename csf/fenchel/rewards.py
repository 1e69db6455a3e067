"""Hinge rewards of linear scores, and the weighted SVM that raises them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, Samples
from csf.solvers import Hinge, Rows

if TYPE_CHECKING:
    from csf.solvers.hinge import HingeSolution


__all__ = ["RewardProblem"]

# Smallest inverse strength of the regulariser in units of the rewards, and inverse of the largest one.
_SMALLEST = 1e-300


class RewardProblem:
    """A training set seen through the hinge loss of each class."""

    # The reward of a sample, 1 - max(0, 1 - margin), is never above the reward (margin > 0) of a correct prediction: so
    # averages of rewards bound the true rates from below. In units of the rewards the regulariser is
    # ``lam / 2 * ||w||**2`` with ``lam = 1 / (C * total weight)``.

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
        """Hinge losses summed over each class, as shares of all samples."""
        hinge = np.maximum(1.0 - margins, 0.0)
        return float(self._of_pos @ hinge), float(self._of_neg @ hinge)

    def rates(self, margins: Array) -> tuple[float, float]:
        """Average reward of each class."""
        fn, fp = self.losses(margins)
        return 1.0 - fn / self.pos, 1.0 - fp / (1.0 - self.pos)

    def errors(self, margins: Array) -> tuple[float, float]:
        """True errors of the rule that predicts positive when the score is above 0."""
        return float(self._of_pos @ (margins <= 0.0)), float(self._of_neg @ (margins < 0.0))

    def balanced(self, alpha: float = 0.5, beta: float = 0.5) -> tuple[float, float]:
        """Class costs of the two rates."""
        return alpha / self.pos, beta / (1.0 - self.pos)

    def margins(self, w: Array) -> Array:
        """Margins of coefficients."""
        return self._hinge.margins(w)

    def solve(self, costs: Costs, *, tol: float, start: HingeSolution | None = None) -> HingeSolution:
        """Weighted SVM ``min c_fn fn + c_fp fp + lam / 2 ||w||**2`` over hinge losses."""
        weight = np.where(self._is_pos, costs[0], costs[1]) * (self._unit / self.lam)
        # The objective of the solver is that of the rewards divided by lam, and so is its tolerance.
        return self._hinge.solve(weight, tol=0.0, atol=tol / self.lam, starts=() if start is None else [start])
