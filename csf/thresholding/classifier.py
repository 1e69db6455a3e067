"""What all classifiers share that put a threshold on the score of a fitted base: searches of costs and plug-ins."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if

from csf._common.sklearn import DocLinkMixin, pass_on_input_tags, routing_enabled
from csf._common.typing import Array, Estimator, Label, Samples
from csf.metrics import get_metric
from csf.metrics.profile import ErrorProfile

__all__ = ["ThresholdClassifier", "base_has"]


def base_has(*methods: str) -> Callable[[Any], bool]:
    """Condition for `available_if`: the base, fitted or not, has one of the methods."""

    def check(self: Any) -> bool:
        estimator = getattr(self, "best_estimator_", self.base)
        return any(hasattr(estimator, method) for method in methods)

    return check


def _has_probabilities(self: Any) -> bool:
    return hasattr(self, "predict_proba")


class ThresholdClassifier(DocLinkMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class; a subclass has the parameters ``base``, ``cv`` and ``metric``, and writes what is declared here."""

    base: Estimator
    cv: Any
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

    def _route(self, fit_params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments of the base's fit and of the splitter."""
        if routing_enabled():
            routed = process_routing(self, "fit", **fit_params)
            return dict(routed.base.fit), dict(routed.splitter.split)
        groups = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
        return {name: value for name, value in fit_params.items() if name != "groups"}, groups

    def get_metadata_routing(self) -> MetadataRouter:
        """Routing of ``sample_weight`` to this object, of other arguments to the base and the splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(base=self.base, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        splitter = self.cv if hasattr(self.cv, "split") else StratifiedKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

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
        return self._value(y, self.predict(X), sample_weight)

    def _value(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Value of predicted labels."""
        return get_metric(self.metric).of(self._errors(y, predicted, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        pass_on_input_tags(self.base, tags)
        return tags
