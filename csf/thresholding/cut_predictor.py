"""Prediction with a fitted classifier, a threshold on its score, and its costs taken out of its probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, Costs, Estimator, Label, Samples
from csf._sklearn import pass_on_features
from csf._validation import check_class_weights, check_labels
from csf.costs.one_vs_rest import problem_probabilities
from csf.errors.profile import ErrorProfile
from csf.metrics import get_metric
from csf.samples.routing import BaseRoutingMixin
from csf.scores.responses import (
    Response,
    class_scores,
    margin,
    moved_scores,
    natural_threshold,
    null_column,
    respond,
    response_method,
)
from csf.thresholding.multiclass_sweep import sweep_several

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve


__all__ = ["CutClassifierMixin", "CutPredictorMixin", "base_has"]


def base_has(*methods: str) -> Callable[[Any], bool]:
    """Condition for `available_if`: the base, fitted or not, has one of the methods."""

    def check(self: Any) -> bool:
        estimator = getattr(self, "best_estimator_", self.base)
        return any(hasattr(estimator, method) for method in methods)

    return check


def _has_probabilities(self: Any) -> bool:
    return hasattr(self, "predict_proba")


class CutClassifierMixin(BaseRoutingMixin):
    """What all classifiers share that cut the score of a fitted base: searches of costs and plug-ins.

    The class that uses it has the parameters ``base``, ``cv`` and ``metric``, and ``best_estimator_`` once it is
    fitted; it writes `_errors`, ``predict`` and ``predict_proba``.
    """

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


class CutPredictorMixin(CutClassifierMixin):
    """Predicts with ``best_estimator_`` cut at ``best_threshold_``.

    The class that uses it has the parameters ``base``, ``cv``, ``metric``, ``weighting`` and ``threshold`` (``None``
    for the base's own decision), and sets ``best_threshold_``, ``best_cost_weights_``, ``classes_`` and
    ``null_class_`` in ``fit``, and the rest by `_adopt`.
    """

    metric: str | Metric
    threshold: str | None
    weighting: str
    null_class_: Label
    best_cost_weights_: Costs
    best_threshold_: float | None
    best_estimator_: Estimator

    @property
    def threshold_(self) -> float | None:
        """``best_threshold_``, under its name in the classifiers of `csf.thresholding`."""
        return self.best_threshold_

    @property
    def estimator_(self) -> Estimator:
        """``best_estimator_``, under its name in the classifiers of `csf.thresholding`."""
        return self.best_estimator_

    def _adopt(self, estimator: Estimator, known: Array, names: Array) -> None:
        """Keep the final estimator, the classes that it knows, and the user's names of them."""
        self.best_estimator_, self._known, self._names = estimator, known, names
        self._estimator_null = known[names.tolist().index(self.null_class_)]
        if self.best_threshold_ is None and response_method(estimator) is not None:
            self.best_threshold_ = natural_threshold(estimator)
        pass_on_features(estimator, self)

    def _check_predicts(self) -> None:
        check_is_fitted(self, "trials_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "this CostSearch was fitted with refit=False and has no best_estimator_ to predict with; use refit=True"
            )

    def _scored(self, X: Samples) -> tuple[Response, Array]:
        """What the final estimator says with scores, and these scores."""
        answer = respond(self.best_estimator_, X, self._estimator_null, tune=True)
        assert answer.score is not None  # they were asked for
        return answer, answer.score

    def predict(self, X: Samples) -> Array:
        """Labels by the winner and its threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, as in ``classes_``.
        """
        self._check_predicts()
        if self.threshold is None:
            answer = respond(self.best_estimator_, X, self._estimator_null, tune=False)
            decided = answer.decided
        else:
            answer, score = self._scored(X)
            decided = score >= self.best_threshold_
        found = self._names[np.searchsorted(self._known, answer.found)]
        return np.where(decided, found, self.null_class_).astype(self.classes_.dtype, copy=False)

    @available_if(base_has("decision_function", "predict_proba"))
    def decision_function(self, X: Samples) -> Array:
        """Scores that say what `predict` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the score minus the threshold, above 0 exactly where the second of ``classes_`` is
            predicted. With more the scores of all classes as the winner gives them, except that the one of the null
            class is moved by the threshold: the largest one is the class that is predicted.
        """
        self._check_predicts()
        estimator, cut = self.best_estimator_, self.best_threshold_
        assert cut is not None  # where there are scores, `_adopt` takes the natural one at least
        if self.threshold is None:
            # The base's own decision leaves a score at its threshold negative; a tuned threshold takes it in.
            cut = float(np.nextafter(cut, np.inf))
        if self.classes_.shape[0] == 2:
            _, score = self._scored(X)
            return margin(score, cut, self.classes_[0] == self.null_class_)
        probabilities = response_method(estimator) == "predict_proba"
        scores = class_scores(estimator, X)
        column = null_column(estimator, self._estimator_null)
        return self._ordered(moved_scores(scores, column, cut, probabilities=probabilities))

    @available_if(base_has("decision_function", "predict_proba"))
    def threshold_curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """All cuts of the score that ``best_threshold_`` cuts, on new data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels, of ``classes_``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        ThresholdCurve
            Error profile at each threshold, see `csf.thresholding.threshold_curve`.

        Raises
        ------
        ValueError
            If ``y`` has one class only, or labels that the search has not seen.
        """
        self._check_predicts()
        labels, classes = check_labels(y)
        if not np.isin(classes, self.classes_).all():
            raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {self.classes_.tolist()}")
        answer, score = self._scored(X)
        found, is_pos = self._names[np.searchsorted(self._known, answer.found)], labels != self.null_class_
        weight = check_class_weights(sample_weight, is_pos)
        return sweep_several(is_pos, is_pos & (labels != found), score, weight)

    def _ordered(self, columns: Array) -> Array:
        """Columns in the order of ``classes_``."""
        return columns[:, np.argsort(self._names)]

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Samples) -> Array:
        """Class probabilities with the costs taken out again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``: those of the winner, divided by the cost that their class was
            trained with (with ``weighting="one-vs-rest"`` the odds of each problem, divided by the ratio of its own
            costs), and scaled to sum 1. They estimate how likely each class is; ``predict`` cuts the score where the
            metric is best, which is not where the most likely class changes.
        """
        self._check_predicts()
        c_fn, c_fp = self.best_cost_weights_
        if self.weighting == "one-vs-rest" and c_fn != c_fp:
            proba = problem_probabilities(self.best_estimator_, X, (c_fn, c_fp))
        else:
            proba = np.asarray(self.best_estimator_.predict_proba(X), dtype=np.float64)
            proba = proba / np.where(self._known == self._estimator_null, c_fp, c_fn)
        total = proba.sum(axis=1, keepdims=True)
        return self._ordered(np.divide(proba, total, out=proba, where=total > 0.0))

    def _errors(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> ErrorProfile:
        return ErrorProfile.from_classes(y, predicted, null_class=self.null_class_, sample_weight=sample_weight)
