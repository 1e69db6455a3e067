"""What the two linear estimators share: checks of arguments and data, the linear rule, reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Label, Samples
from csf._common.validation import check_binary_target, check_class_totals, check_count, check_positive, check_weights
from csf.data.responses import LinearRule
from csf.fenchel.rewards import RewardProblem

__all__ = ["LinearAlternation", "history"]


class LinearAlternation(LinearRule):
    """Base of classifiers that alternate between a weighted linear SVM and a few numbers.

    Subclasses have the parameters ``C``, ``fit_intercept``, ``intercept_scaling``, ``tol``, ``max_iter``,
    ``pos_label`` and ``verbose``.
    """

    C: float
    fit_intercept: bool
    intercept_scaling: float
    tol: float
    max_iter: int
    pos_label: Label
    verbose: int
    n_iter_: int
    history_: dict[str, Array]

    def _check_numbers(self) -> None:
        for name in ("C", "tol", "intercept_scaling"):
            check_positive(getattr(self, name), name)
        check_count(self.max_iter, "max_iter")

    def _check_data(
        self, X: Samples, y: Any, sample_weight: ArrayLike | None, numbers: Mapping[str, Any]
    ) -> tuple[Samples, BoolArray, Array | None]:
        """Checked data; sets ``classes_`` and ``pos_label_``. ``numbers`` goes to scikit-learn's check of ``X``."""
        X, y = validate_data(self, X, y, **numbers)
        self.classes_, is_pos, self.pos_label_ = check_binary_target(y, self.pos_label)
        weight = check_weights(sample_weight, is_pos.shape[0])
        if weight is not None:
            for name, of_class in (("positive", is_pos), ("negative", ~is_pos)):
                if not weight[of_class].any():
                    raise ValueError(
                        f"sample_weight is zero for every sample of the {name} class; both classes are needed"
                    )
            check_class_totals(weight[is_pos].sum(), weight[~is_pos].sum())
        return X, is_pos, weight

    def _problem(self, X: Samples, is_pos: BoolArray, weight: Array | None) -> RewardProblem:
        return RewardProblem(
            X,
            is_pos,
            weight,
            C=self.C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
        )

    def _set_linear(self, w: Array) -> None:
        """Store coefficients of a score that is high for the positive class."""
        w = self._orientation() * w
        self.coef_ = w[None, :-1].copy()
        self.intercept_ = np.array([w[-1] * self.intercept_scaling])

    def _report(self, step: Any) -> None:
        if self.verbose:
            print("  ".join(f"{name} {number:.6g}" for name, number in step._asdict().items()))

    def _warn_if_open(self, gap: float) -> None:
        # Also where the gap is NaN.
        if not gap <= self.tol:
            warn(
                f"stopped after {self.n_iter_} steps with a gap of {gap:.2g} > tol={self.tol:g}; "
                "raise max_iter, scale the features or lower C",
                ConvergenceWarning,
            )


def history(steps: Sequence[Any]) -> dict[str, Array]:
    """Steps as a dict of arrays, one for each field."""
    return {name: np.array(column) for name, column in zip(steps[0]._fields, zip(*steps))}
