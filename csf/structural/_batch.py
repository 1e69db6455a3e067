"""What the learners of a whole training set share: checks, coefficients, threshold, prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from csf._common.typing import Array, BoolArray, Label, Samples
from csf._common.validation import check_binary_target, check_intercept
from csf.data.responses import LinearRule
from csf.online.base import NUMBERS
from csf.structural._limits import check_moderate
from csf.structural._problem import StructuralProblem, longest_scale
from csf.structural._rows import rows_of
from csf.structural._threshold import check_tuning, choose_threshold
from csf.structural.losses import get_loss

if TYPE_CHECKING:
    from csf.structural.losses.base import StructuralLoss

__all__ = ["BatchLearner"]


class BatchLearner(LinearRule):
    """Base of learners of a whole training set.

    Subclasses have the parameters ``loss``, ``fit_intercept``, ``intercept_scaling``,
    ``tune_threshold`` and ``pos_label``. They write
    ``_check_parameters()`` and ``_solve(problem)``: best and last weights of a `StructuralProblem`.
    """

    loss: str | StructuralLoss
    fit_intercept: bool
    intercept_scaling: float
    tune_threshold: bool
    pos_label: Label
    n_features_in_: int
    n_seen_: int
    x_scale_: float
    coef_last_: Array
    threshold_: float

    _sample_checks = NUMBERS

    def fit(self, X: Samples, y: ArrayLike) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        BatchLearner
            Itself.
        """
        self._check_common_parameters()
        X, is_pos = self._check_data(X, y)
        loss = get_loss(self.loss)
        loss.check()
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        how = {"n_features": X.shape[1], "constant": constant, "x_scale": longest_scale(X)}
        problem = StructuralProblem(rows_of(X), is_pos, loss.class_tangent, **how)
        best, last = self._solve(problem)
        self.x_scale_ = problem.x_scale
        sign = self._orientation()
        self.coef_ = sign * self.x_scale_ * best[None, : X.shape[1]]
        self.coef_last_ = sign * self.x_scale_ * last[None, : X.shape[1]]
        self.intercept_ = np.array([sign * constant * best[-1]])
        chosen = loss.ranking or self.tune_threshold
        self.threshold_ = choose_threshold(loss, problem.scores(best)) if chosen else 0.0
        # a score of 0 is negative, unless a threshold was chosen
        self._cut = self.threshold_ if chosen else np.nextafter(0.0, np.inf)
        self.n_seen_ = X.shape[0]
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for a bad parameter."""

    @abstractmethod
    def _solve(self, problem: StructuralProblem) -> tuple[Array, Array]:
        """Best and last weights."""

    def _check_data(self, X: Samples, y: Any) -> tuple[Samples, BoolArray]:
        """Checked samples, and which are positive; sets ``classes_`` and ``pos_label_``."""
        X, y = validate_data(self, X, y, **NUMBERS)
        self.classes_, is_pos, self.pos_label_ = check_binary_target(y, self.pos_label)
        return X, is_pos

    def _check_common_parameters(self) -> None:
        check_tuning(get_loss(self.loss), self.tune_threshold)
        check_intercept(self.fit_intercept, self.intercept_scaling)
        check_moderate(self.intercept_scaling, "intercept_scaling")
        self._check_parameters()

    def _watch(self, objective: float, best: Array, last: Array) -> None:
        """Called after each iteration; does nothing but serve those who measure."""
