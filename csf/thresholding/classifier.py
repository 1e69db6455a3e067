"""What all classifiers share that put a threshold on the score of a fitted base: searches of costs and plug-ins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metaestimators import available_if

from csf._common.typing import Array, Label, Samples
from csf._sklearn import pass_on_input_tags
from csf.errors.profile import ErrorProfile
from csf.metrics import get_metric
from csf.samples.routing import BaseRoutingMixin

__all__ = ["ThresholdClassifier", "base_has"]


def base_has(*methods: str) -> Callable[[Any], bool]:
    """Condition for `available_if`: the base, fitted or not, has one of the methods."""

    def check(self: Any) -> bool:
        estimator = getattr(self, "best_estimator_", self.base)
        return any(hasattr(estimator, method) for method in methods)

    return check


def _has_probabilities(self: Any) -> bool:
    return hasattr(self, "predict_proba")


class ThresholdClassifier(BaseRoutingMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class; a subclass has the parameters ``base``, ``cv`` and ``metric``, and writes what is declared here."""

    # A name or a metric; subclasses say of which kind.
    metric: Any
    classes_: Array
    pos_label_: Label
    # Methods, declared alone: that of the subclass may come and go with those of the base.
    predict: Any
    predict_proba: Any

    @abstractmethod
    def _errors(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> ErrorProfile:
        """Error profile of predictions."""

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Samples) -> Array:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Value of ``metric`` (not the accuracy) on new data, as scikit-learn's searches do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value of the predictions.
        """
        metric = get_metric(self.metric)
        return metric.of(self._errors(y, self.predict(X), sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        pass_on_input_tags(self.base, tags)
        return tags
