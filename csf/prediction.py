"""Prediction with a fitted classifier, a threshold on its score, and its costs taken out of its probabilities."""

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf.metrics import get_metric
from csf.profiles import ErrorProfile
from csf.responses import class_scores, margin, moved_scores, natural_threshold, null_column, respond, response_method

__all__ = ["CutPredictorMixin"]


def _base_has(*methods):
    """Condition for `available_if`: the base, fitted or not, has one of the methods."""

    def check(self):
        estimator = getattr(self, "best_estimator_", self.base)
        return any(hasattr(estimator, method) for method in methods)

    return check


class CutPredictorMixin:
    """Predicts with ``best_estimator_`` cut at ``best_threshold_``.

    The class that uses it has the parameters ``base``, ``metric`` and ``threshold`` (``None`` for the base's own
    decision), and sets ``best_threshold_``, ``best_cost_weights_``, ``classes_`` and ``null_class_`` in ``fit``, and
    the rest by `_adopt`.
    """

    def _adopt(self, estimator, known, names):
        """Keep the final estimator, the classes that it knows, and the user's names of them."""
        self.best_estimator_, self._known, self._names = estimator, known, names
        self._estimator_null = known[names.tolist().index(self.null_class_)]
        if self.best_threshold_ is None and response_method(estimator) is not None:
            self.best_threshold_ = natural_threshold(estimator)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def _check_predicts(self):
        check_is_fitted(self, "trials_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "this CostSearch was fitted with refit=False and has no best_estimator_ to predict with; use refit=True"
            )

    def predict(self, X):
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
        answer = respond(self.best_estimator_, X, self._estimator_null, tune=self.threshold is not None)
        decided = answer.decided if self.threshold is None else answer.score >= self.best_threshold_
        found = self._names[np.searchsorted(self._known, answer.found)]
        return np.where(decided, found, self.null_class_).astype(self.classes_.dtype, copy=False)

    @available_if(_base_has("decision_function", "predict_proba"))
    def decision_function(self, X):
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
        estimator, null = self.best_estimator_, self._estimator_null
        # The base's own decision leaves a score at its threshold negative; a tuned threshold takes it in.
        cut = np.nextafter(self.best_threshold_, np.inf) if self.threshold is None else self.best_threshold_
        if self.classes_.shape[0] == 2:
            return margin(respond(estimator, X, null, tune=True).score, cut, self.classes_[0] == self.null_class_)
        probabilities = response_method(estimator) == "predict_proba"
        scores = class_scores(estimator, X)
        return self._ordered(moved_scores(scores, null_column(estimator, null), cut, probabilities=probabilities))

    def _ordered(self, columns):
        """Columns in the order of ``classes_``."""
        return columns[:, np.argsort(self._names)]

    @available_if(_base_has("predict_proba"))
    def predict_proba(self, X):
        """Class probabilities with the costs taken out again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``: those of the winner, divided by the cost that their class was
            trained with, and scaled to sum 1. They estimate how likely each class is; ``predict`` cuts the score where
            the metric is best, which is not where the most likely class changes.
        """
        self._check_predicts()
        c_fn, c_fp = self.best_cost_weights_
        proba = np.asarray(self.best_estimator_.predict_proba(X), dtype=np.float64)
        proba = proba / np.where(self._known == self._estimator_null, c_fp, c_fn)
        total = proba.sum(axis=1, keepdims=True)
        return self._ordered(np.divide(proba, total, out=proba, where=total > 0.0))

    @available_if(_base_has("predict_proba"))
    def predict_log_proba(self, X):
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

    def score(self, X, y, sample_weight=None):
        """The metric of the search on new data.

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
            Value of ``metric`` (not the accuracy), as scikit-learn's searches do.
        """
        profile = ErrorProfile.from_classes(
            y, self.predict(X), null_class=self.null_class_, sample_weight=sample_weight
        )
        return get_metric(self.metric).of(profile)
