"""Metrics at the best threshold of what is scored: for grid searches, Optuna, and early stopping of boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.sklearn import num_samples
from csf._common.typing import Estimator, Label, Samples
from csf._common.validation import check_binary_target, check_weights
from csf.data.responses import DECISION_FIRST, positive_score
from csf.metrics.registry import aim
from csf.thresholding.curve import threshold_curve

if TYPE_CHECKING:
    from csf.metrics import Constraint, Metric


@dataclass(frozen=True)
class _TunedMetric:
    """Metric at the threshold that is best for it on the scored samples."""

    metric: Any
    pos_label: Label = None

    def value(self, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the value at the best threshold; the metric's smallest value where the constraint holds at none.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Labels of two classes.
        y_score : array-like of shape (n_samples,)
            Scores, larger for the positive class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value.
        """
        curve = threshold_curve(y_true, y_score, sample_weight=sample_weight, pos_label=self.pos_label)
        cut = curve.best(self.metric)
        return cut.value if cut.feasible else min(cut.value, float(self.metric.range(curve.pos)[0]))


@dataclass(frozen=True)
class TunedScorer(_TunedMetric):
    """Scorer that `tuned_scorer` makes.

    Examples
    --------
    >>> tuned_scorer("f1").value([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8
    """

    def __call__(self, estimator: Estimator, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted classifier at the threshold that is best on these samples.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``decision_function`` or ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value; larger is better.
        """
        pos_label = check_binary_target(y, self.pos_label)[2]
        score = positive_score(estimator, X, pos_label, DECISION_FIRST)
        return self.value(np.asarray(y), score, check_weights(sample_weight, num_samples(X), X=X, y=y))


@dataclass(frozen=True)
class EvalMetric(_TunedMetric):
    """Evaluation function that `lightgbm_metric` and `xgboost_metric` make.

    Examples
    --------
    >>> lightgbm_metric("gmean").__name__
    'tuned_gmean'
    """

    says_larger: bool = True

    @property
    def __name__(self) -> str:
        """Name in the logs of the training, which early stopping refers to."""
        return f"tuned_{self.metric.name}"

    def __call__(self, first: Any, second: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Evaluate the predictions of a training in the form that its library expects.

        Parameters
        ----------
        first, second : array-like of shape (n_samples,) or data set
            Scores and the data set, as ``train`` of both libraries gives them; or labels and scores, as their
            classifiers do.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, where the classifiers give them; those of a data set count.

        Returns
        -------
        tuple or float
            ``(name, value, True)`` for LightGBM; ``(name, value)`` for ``xgboost.train``, the value alone for
            ``XGBClassifier``.
        """
        whole = hasattr(second, "get_label")
        y, score = (second.get_label(), first) if whole else (first, second)
        weight = second.get_weight() if whole else sample_weight
        value = self.value(y, score, None if weight is None or np.size(weight) == 0 else weight)
        if self.says_larger:
            return self.__name__, value, True
        return (self.__name__, value) if whole else value


class CatBoostMetric(_TunedMetric):
    """Evaluation function that `catboost_metric` makes, with the methods that CatBoost asks for.

    Examples
    --------
    >>> catboost_metric("f1").evaluate([[0.1, 0.4, 0.35, 0.8]], [0, 0, 1, 1], None)
    (0.8, 1.0)
    """

    def is_max_optimal(self) -> bool:
        """Return True: larger values are better."""
        return True

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Compute the value of raw scores, and 1 as the weight that it is divided by.

        Parameters
        ----------
        approxes : sequence of one array-like of shape (n_samples,)
            Scores.
        target : array-like of shape (n_samples,)
            Labels 0 and 1.
        weight : array-like of shape (n_samples,) or None
            Weights >= 0.

        Returns
        -------
        tuple of float
            The value and 1.
        """
        return self.value(np.asarray(target), np.asarray(approxes[0]), None if weight is None else weight), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the value itself.

        Parameters
        ----------
        error, weight : float
            As of `evaluate`.

        Returns
        -------
        float
            The value.
        """
        return error


def tuned_scorer(
    metric: str | Metric = "f1", constraint: str | Constraint | None = None, *, pos_label: Label = None
) -> TunedScorer:
    """Make a scorer of a metric at the best threshold of the scored part, for `GridSearchCV`, Optuna and the like.

    ``scoring="f1"`` judges models at the threshold 0.5, where a good model of a rare class may predict no positives.
    This one tries every threshold of the part that is scored and takes the exact best one, so that models are compared
    for what a tuned threshold makes of them.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        What is scored, see `csf.metrics.get_metric`.
    constraint : str or Constraint, default=None
        What has to hold at the threshold: ``tuned_scorer("recall", "precision >= 0.9")`` is recall at a precision of
        0.9. A model that satisfies it at no threshold gets the smallest value of the metric.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    TunedScorer
        ``scorer(estimator, X, y, sample_weight=None)``.

    Notes
    -----
    The value is optimistic, as the threshold is chosen on the samples that are scored, the more so the fewer positives
    these have. It ranks models; what the best one is worth has to be judged with its threshold on other samples, as
    `csf.CostSearch` does with ``corrected_score_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0)
    >>> cross_val_score(forest, X, y, scoring=tuned_scorer("mcc"), cv=3)
    array([0.899, 0.944, 0.944])
    """
    return TunedScorer(aim(metric, constraint), pos_label)


def lightgbm_metric(metric: str | Metric = "f1", constraint: str | Constraint | None = None) -> EvalMetric:
    """Make an evaluation function for LightGBM: a metric at the exact best threshold, for early stopping.

    Parameters
    ----------
    metric, constraint : as for `tuned_scorer`
        What is scored.

    Returns
    -------
    EvalMetric
        For ``lightgbm.train(feval=...)`` and ``LGBMClassifier().fit(eval_metric=...)``, with labels 0 and 1. Set
        ``metric="None"`` in the parameters, so that early stopping looks at this one alone.

    Examples
    --------
    >>> lightgbm_metric("f1")([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    ('tuned_f1', 0.8, True)
    """
    return EvalMetric(aim(metric, constraint), 1)


def catboost_metric(metric: str | Metric = "f1", constraint: str | Constraint | None = None) -> CatBoostMetric:
    """Make an evaluation function for CatBoost: a metric at the exact best threshold, for early stopping.

    Parameters
    ----------
    metric, constraint : as for `tuned_scorer`
        What is scored.

    Returns
    -------
    CatBoostMetric
        For ``CatBoostClassifier(eval_metric=...)`` of labels 0 and 1, with ``early_stopping_rounds`` and an
        ``eval_set``.

    Examples
    --------
    >>> catboost_metric("f1").is_max_optimal()
    True
    """
    return CatBoostMetric(aim(metric, constraint), 1)


def xgboost_metric(metric: str | Metric = "f1", constraint: str | Constraint | None = None) -> EvalMetric:
    """Make an evaluation function for XGBoost: a metric at the exact best threshold, for early stopping.

    Parameters
    ----------
    metric, constraint : as for `tuned_scorer`
        What is scored.

    Returns
    -------
    EvalMetric
        For ``xgboost.train(custom_metric=..., maximize=True)`` and ``XGBClassifier(eval_metric=...)`` with the callback
        ``xgboost.callback.EarlyStopping(rounds=10, maximize=True)``: without ``maximize`` XGBoost looks for the
        smallest value. Labels are 0 and 1.

    Examples
    --------
    >>> xgboost_metric("f1")([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8
    """
    return EvalMetric(aim(metric, constraint), 1, says_larger=False)
