"""What the two linear estimators share: checks of arguments and data, prediction, tags."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.typing import Array, Samples
from csf._common.warn import warn
from csf._validation import check_binary_target, check_class_totals, check_count, check_weights
from csf.fenchel.rewards import RewardProblem
from csf.scores.linear import linear_scores

__all__ = ["NUMBERS", "LinearAlternation", "history"]

# How the linear solver wants its samples.
NUMBERS = {"accept_sparse": "csr", "dtype": np.float64}


class LinearAlternation(ClassifierMixin, BaseEstimator):
    """Base of classifiers that alternate between a weighted linear SVM and a few numbers.

    Subclasses have the parameters ``C``, ``fit_intercept``, ``intercept_scaling``, ``tol``, ``max_iter``,
    ``pos_label`` and ``verbose``.
    """

    def decision_function(self, X: Samples) -> Array:
        """Signed score of each sample; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **NUMBERS)
        return linear_scores(X, self.coef_[0], self.intercept_[0])

    def predict(self, X: Samples) -> Array:
        """Class of each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of ``classes_``.
        """
        score = self.decision_function(X)
        return self.classes_[(score > 0.0).astype(int)]

    def _check_numbers(self):
        for name in ("C", "tol", "intercept_scaling"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"{name} must be a positive number, got {value!r}")
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        check_count(self.max_iter, "max_iter")

    def _check_data(self, X, y, sample_weight, **how):
        """Checked data; sets ``classes_`` and ``pos_label_``. ``how`` goes to scikit-learn's check of ``X``."""
        X, y = validate_data(self, X, y, **how)
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

    def _problem(self, X, is_pos, weight):
        return RewardProblem(
            X,
            is_pos,
            weight,
            C=self.C,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
        )

    def _set_linear(self, w):
        """Store coefficients of a score that is high for the positive class."""
        sign = 1.0 if self.pos_label_ == self.classes_[1] else -1.0
        w = sign * w
        self.coef_ = w[None, :-1].copy()
        self.intercept_ = np.array([w[-1] * self.intercept_scaling])

    def _report(self, step):
        if self.verbose:
            print("  ".join(f"{name} {number:.6g}" for name, number in step._asdict().items()))

    def _warn_if_open(self, gap):
        if not gap <= self.tol:
            warn(
                f"stopped after {self.n_iter_} steps with a gap of {gap:.2g} > tol={self.tol:g}; "
                "raise max_iter, scale the features or lower C",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def history(steps: Any) -> Any:
    """Steps as a dict of arrays, one for each field."""
    return {name: np.array(column) for name, column in zip(steps[0]._fields, zip(*steps))}
