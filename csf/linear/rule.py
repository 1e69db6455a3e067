"""The rule of a classifier of two classes by a score, said once: labels, scores, tags, checks of its parameters."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.sklearn import DocLinkMixin
from csf._common.typing import Array, Label, Samples
from csf._common.validation import check_bool
from csf.scores.linear import linear_scores
from csf.scores.responses import margin

__all__ = ["LinearRule", "TwoClassRule", "check_intercept", "check_positive"]


class TwoClassRule(DocLinkMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers of two classes by the sign of a score.

    Subclasses set ``classes_`` and ``pos_label_`` in ``fit`` and write ``decision_function``.
    """

    classes_: Array
    pos_label_: Label

    @abstractmethod
    def decision_function(self, X: Samples) -> Array:
        """Score of each sample, above 0 exactly where ``predict`` gives ``classes_[1]``."""

    def predict(self, X: Samples) -> Array:
        """Class of each sample."""
        score = self.decision_function(X)
        return self.classes_[(score > 0.0).astype(int)]

    def _orientation(self) -> float:
        """1 where scores of the positive class are those of ``classes_[1]``, else -1."""
        return 1.0 if self.pos_label_ == self.classes_[1] else -1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class LinearRule(TwoClassRule):
    """Base of linear classifiers of two classes.

    Subclasses have ``coef_`` of shape (1, n_features) and ``intercept_`` of shape (1,) of the score for
    ``classes_[1]``, stored or as properties.
    """

    coef_: Array
    intercept_: Array

    # How samples are checked before they are scored.
    _sample_checks: ClassVar[Mapping[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}
    # Least score of the positive class of a prediction of it; None where a score of 0 belongs to ``classes_[0]``.
    _cut: float | None = None

    def decision_function(self, X: Samples) -> Array:
        """Signed score of each sample; above 0 exactly where ``predict`` gives ``classes_[1]``."""
        check_is_fitted(self)
        score, cut = self._scores(validate_data(self, X, reset=False, **self._sample_checks)), self._cut
        if cut is None:
            return score
        sign = self._orientation()
        return margin(sign * score, cut, sign > 0)

    def _scores(self, X: Samples) -> Array:
        """Linear scores of checked samples."""
        return linear_scores(X, self.coef_[0], self.intercept_[0])


def check_positive(value: Any, name: str) -> float:
    """Check that ``value`` is a finite number > 0 and return it as float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a positive number, got {value!r}")
    number: Any = value
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def check_intercept(fit_intercept: Any, intercept_scaling: Any) -> None:
    """Check the two parameters of the constant feature."""
    check_bool(fit_intercept, "fit_intercept")
    check_positive(intercept_scaling, "intercept_scaling")
