"""What all classifiers with a threshold share: out-of-fold scores, a refit, and prediction by the threshold."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array
from csf._sklearn import clone, routing_enabled
from csf._validation import check_binary_target, check_n_jobs, check_samples, check_weights
from csf.metrics import get_metric
from csf.samples.splits import resolve_splits
from csf.scores.responses import margin, positive_score
from csf.thresholding._calibration import fit_calibrator
from csf.thresholding._scores import RESPONSE_METHODS, fold_scores, weight_argument
from csf.thresholding.curve import check_both_classes, sweep
from csf.thresholding.oracle import check_probabilities

__all__ = ["PooledThresholdClassifier", "ProbabilityThresholdClassifier"]


@dataclass(frozen=True)
class _Pooled:
    """Scores of held-out samples, fold after fold; a sample counts as often as it was held out."""

    score: np.ndarray
    is_pos: np.ndarray
    sample_weight: np.ndarray | None
    borders: np.ndarray

    def folds(self) -> Any:
        """Truth, scores and weights of each fold in which both classes weigh something."""
        for start, stop in zip(self.borders[:-1], self.borders[1:]):
            fold = slice(start, stop)
            weight = None if self.sample_weight is None else self.sample_weight[fold]
            counts = self.is_pos[fold] if weight is None else self.is_pos[fold][weight > 0]
            if counts.any() and not counts.all():
                yield self.is_pos[fold], self.score[fold], weight


def _base_has(method):
    """Condition for `available_if`: the base, or its fitted copy, has a method."""

    def check(self):
        getattr(getattr(self, "estimator_", self.base), method)
        return True

    return check


def _gives_probabilities(self):
    return self.calibration is not None or _base_has("predict_proba")(self)


class PooledThresholdClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class of classifiers that cut a base's score at a threshold found on out-of-fold scores.

    Subclasses have the parameters ``base``, ``metric``, ``cv``, ``calibration``, ``pos_label``, ``n_jobs`` and
    ``random_state``, and write `_best_cut` and `_response_methods`.
    """

    @abstractmethod
    def _best_cut(self, curve):
        """Cut of a `ThresholdCurve` of out-of-fold scores."""

    @abstractmethod
    def _response_methods(self):
        """Names of the methods of the base that may give the score, in order of preference."""

    def _choose(self, curve):
        """Cut of the pooled curve; subclasses that have more to store do it here."""
        return self._best_cut(curve)

    def _check_parameters(self):
        """Hook for checks before any fitting."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Find the threshold on out-of-fold scores, then fit the base to everything.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in any form that the base accepts.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0. They always count in the metric, and reach the base where its ``fit`` (or that of a
            pipeline's last step) takes them; with metadata routing enabled, where the base requests them.
        **params
            Further arguments for the base's ``fit``, and ``groups`` for the splitter; with metadata routing
            enabled, whatever base and splitter request.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter is not valid, or the data has not two classes of positive weight.
        """
        self._check_parameters()
        check_n_jobs(self.n_jobs)
        X, y = check_samples(X, y)
        classes, is_pos, pos_label = check_binary_target(y, self.pos_label)
        y = np.asarray(y).reshape(-1)
        weight = check_weights(sample_weight, is_pos.shape[0])
        check_both_classes(is_pos, weight, "sample_weight")
        fit_params, split_params = self._route(weight, params)
        pooled = self._pool(X, y, is_pos, pos_label, weight, fit_params, split_params)
        check_both_classes(pooled.is_pos, pooled.sample_weight, "the held-out part of cv")
        self.classes_, self.pos_label_ = classes, pos_label
        self._set_threshold(pooled)
        self.estimator_ = self.base if self._is_prefit() else clone(self.base).fit(X, y, **fit_params)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _is_prefit(self):
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route(self, weight, params):
        """Arguments for the base's ``fit`` and for the splitter."""
        if isinstance(self.base, type) or not hasattr(self.base, "fit"):
            raise TypeError(f"base must be a classifier object with fit, got {self.base!r}")
        given = {} if weight is None else {"sample_weight": weight}
        if routing_enabled():
            routed = process_routing(self, "fit", **given, **params)
            return routed.base.fit, routed.splitter.split
        fit_params = dict(params)
        split_params = {"groups": fit_params.pop("groups")} if "groups" in fit_params else {}
        name = weight_argument(self.base)
        if weight is not None and name is not None:
            fit_params[name] = weight
        return fit_params, split_params

    def _pool(self, X, y, is_pos, pos_label, weight, fit_params, split_params):
        """Scores of each held-out fold from a model that has not seen it."""
        methods = self._response_methods()
        if self._is_prefit():
            check_is_fitted(self.base)
            tests, scores = [np.arange(y.shape[0])], [positive_score(self.base, X, pos_label, methods)]
        else:
            splits = resolve_splits(self.cv, X, y, random_state=self.random_state, split_params=split_params)
            tests = [test for _, test in splits]
            scores = Parallel(n_jobs=self.n_jobs)(
                delayed(fold_scores)(clone(self.base), X, y, train, test, fit_params, methods, pos_label)
                for train, test in splits
            )
        index = np.concatenate(tests)
        borders = np.cumsum([0] + [score.shape[0] for score in scores])
        return _Pooled(np.concatenate(scores), is_pos[index], None if weight is None else weight[index], borders)

    def _set_threshold(self, pooled):
        """Everything that is learnt from the pooled scores."""
        self.calibrator_ = fit_calibrator(self.calibration, pooled.score, pooled.is_pos, pooled.sample_weight)
        self.curve_ = sweep(pooled.is_pos, self._calibrated(pooled.score), pooled.sample_weight)
        cut = self._choose(self.curve_)
        self.threshold_, self.best_score_ = cut.threshold, cut.value
        self.profile_, self.feasible_ = cut.profile, cut.feasible
        self.fold_curves_ = tuple(sweep(y, self._calibrated(score), w) for y, score, w in pooled.folds())
        self.fold_thresholds_ = np.array([self._best_cut(curve).threshold for curve in self.fold_curves_])
        self.threshold_std_ = self._spread()

    def _spread(self):
        """Standard deviation over folds; an infinite threshold counts as the nearest finite pooled score."""
        if self.fold_thresholds_.shape[0] < 2:
            return np.nan
        scores = self.curve_.lowest_score
        scores = scores[np.isfinite(scores)]
        return float(np.std(np.clip(self.fold_thresholds_, scores[-1], scores[0]))) if scores.size else np.nan

    def _calibrated(self, score):
        return score if self.calibrator_ is None else self.calibrator_.predict(score)

    def positive_score(self, X: ArrayLike) -> Array:
        """Score of the positive class, the one that `threshold_` cuts: larger means more likely positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The base's score, calibrated where a calibration was asked for.
        """
        check_is_fitted(self)
        return self._calibrated(positive_score(self.estimator_, X, self.pos_label_, self._response_methods()))

    def _positive_is_last(self):
        return self.classes_[1] == self.pos_label_

    def _labels(self, predicted_pos):
        return self.classes_[(predicted_pos == self._positive_is_last()).astype(int)]

    def predict(self, X: ArrayLike) -> Array:
        """Predict the positive class where the score reaches `threshold_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels(self.positive_score(X) >= self.threshold_)

    def decision_function(self, X: ArrayLike) -> Array:
        """Distance of the score from `threshold_`, positive exactly where ``classes_[1]`` is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Distances in units of the score. An infinite threshold is no distance away from anything; the score,
            squashed to a width of 2, then keeps its order and gets the sign of the prediction.
        """
        return margin(self.positive_score(X), self.threshold_, self._positive_is_last())

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the base, or calibrated ones; the threshold does not change them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of `classes_`. Their argmax is the prediction for threshold 1/2, not for `threshold_`.
        """
        check_is_fitted(self)
        if self.calibrator_ is None:
            return self.estimator_.predict_proba(X)
        proba = self.positive_score(X)
        columns = (1.0 - proba, proba) if self._positive_is_last() else (proba, 1.0 - proba)
        return np.column_stack(columns)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Log-probabilities of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Value of ``metric`` (not the accuracy) on new data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : array-like of shape (n_samples,)
            Labels of both classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value of the predictions.
        """
        metric = get_metric(self.metric)
        return metric.score(y, self.predict(X), sample_weight=sample_weight, pos_label=self.pos_label_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: to the base's ``fit``, to the splitter, and sample weights to this object itself.

        Returns
        -------
        MetadataRouter
            The routes, see scikit-learn's metadata routing.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(base=self.base, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        base_tags = get_tags(self.base)
        tags.input_tags.sparse = base_tags.input_tags.sparse
        tags.input_tags.allow_nan = base_tags.input_tags.allow_nan
        return tags


class ProbabilityThresholdClassifier(PooledThresholdClassifier):
    """Base class of classifiers whose thresholds have a meaning for probabilities only."""

    def _response_methods(self):
        return ("predict_proba",) if self.calibration is None else RESPONSE_METHODS[::-1]

    def _set_threshold(self, pooled):
        if self.calibration is None:
            check_probabilities(pooled.score, f"the scores of {type(self.base).__name__}")
        super()._set_threshold(pooled)
