"""Prediction with a fitted classifier, a threshold on its score, and its costs taken out of its probabilities."""

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from csf.metrics import get_metric
from csf.responses import decides_positive, margin, positive_score

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
    decision), and sets ``best_estimator_``, ``best_threshold_``, ``best_cost_weights_``, ``classes_``, ``pos_label_``
    and ``_estimator_pos_label`` (the positive class as the estimator knows it) in ``fit``.
    """

    def _check_predicts(self):
        check_is_fitted(self, "trials_")
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                "this CostSearch was fitted with refit=False and has no best_estimator_ to predict with; use refit=True"
            )

    def _labels(self, decided):
        other = self.classes_[0] if self.classes_[1] == self.pos_label_ else self.classes_[1]
        return np.where(decided, self.pos_label_, other).astype(self.classes_.dtype, copy=False)

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
        if self.threshold is None:
            return self._labels(decides_positive(self.best_estimator_, X, self._estimator_pos_label))
        score = positive_score(self.best_estimator_, X, self._estimator_pos_label)
        return self._labels(score >= self.best_threshold_)

    @available_if(_base_has("decision_function", "predict_proba"))
    def decision_function(self, X):
        """Score of the winner minus its threshold: above 0 exactly where the positive class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            For the second of ``classes_``; the sign is turned where the positive class is the first.
        """
        self._check_predicts()
        score = positive_score(self.best_estimator_, X, self._estimator_pos_label)
        # The base's own decision leaves a score at its threshold negative; a tuned threshold takes it in.
        cut = np.nextafter(self.best_threshold_, np.inf) if self.threshold is None else self.best_threshold_
        return margin(score, cut, self.classes_[1] == self.pos_label_)

    @available_if(_base_has("predict_proba"))
    def predict_proba(self, X):
        """Class probabilities with the costs taken out again, odds times ``c_fp / c_fn``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``. They estimate how likely each class is; ``predict`` cuts the
            score where the metric is best, which is not at one half.
        """
        self._check_predicts()
        c_fn, c_fp = self.best_cost_weights_
        at = list(self.best_estimator_.classes_).index(self._estimator_pos_label)
        proba = np.asarray(self.best_estimator_.predict_proba(X), dtype=np.float64)[:, at]
        positive = proba * c_fp / (proba * c_fp + (1.0 - proba) * c_fn)
        columns = (1.0 - positive, positive) if self.classes_[1] == self.pos_label_ else (positive, 1.0 - positive)
        return np.column_stack(columns)

    @available_if(_base_has("predict_proba"))
    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
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
            Labels of both classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            Value of ``metric`` (not the accuracy), as scikit-learn's searches do.
        """
        metric = get_metric(self.metric)
        return metric.score(y, self.predict(X), sample_weight=sample_weight, pos_label=self.pos_label_)
