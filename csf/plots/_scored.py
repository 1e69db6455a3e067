"""Whose scores a threshold curve is of: one fitted classifier on some data, or those of cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Estimator, Label
from csf._sklearn import last_step, num_samples, safe_indexing
from csf._validation import check_binary_target, check_class_weights
from csf.metrics import Constrained, Precision, PredictedPositiveRate, Recall, get_constraint, get_metric
from csf.scores.responses import DECISION_FIRST, positive_score
from csf.search import CostSearch
from csf.search.macro import MacroCostSearch
from csf.thresholding import threshold_curve
from csf.thresholding._pooled import PooledThresholdClassifier
from csf.thresholding._scores import RESPONSE_METHODS
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraint import Constraint
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["HeldOut", "aim", "companions", "curve_on", "held_out"]

COMPANIONS = {"precision": Precision(), "recall": Recall(), "predicted positive": PredictedPositiveRate()}


class HeldOut(NamedTuple):
    """Scores that the models of cross-validation give to what they have not seen.

    Parameters
    ----------
    curve : ThresholdCurve
        All cuts of the pooled scores; a sample counts as often as it was held out.
    fold_curves : list of ThresholdCurve
        Those of each fold that holds both classes.
    model : estimator
        The first of the models, or its last step.
    from_cut : bool
        Whether scores count from the cut of each model.
    """

    curve: ThresholdCurve
    fold_curves: list[ThresholdCurve]
    model: Estimator
    from_cut: bool


def companions(constraint: Constraint | None) -> dict[str, Metric]:
    """What is drawn besides a metric: the usual rates, and that of a constraint."""
    rates = dict(COMPANIONS)
    if constraint is not None and constraint.quantity not in rates.values():
        rates[constraint.quantity.name] = constraint.quantity
    return rates


def aim(estimator: Estimator) -> str | Metric:
    """Metric and constraint of a classifier as one; F1 for those that have none."""
    if not isinstance(estimator, (CostSearch, PooledThresholdClassifier)):
        return "f1"
    constraint = get_constraint(getattr(estimator, "constraint", None))
    metric = get_metric(estimator.metric)
    return metric if constraint is None else Constrained(metric, constraint)


def curve_on(
    estimator: Estimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label
) -> ThresholdCurve:
    """All cuts of the score that a fitted classifier cuts, or gives first, on some data."""
    if isinstance(estimator, MacroCostSearch):
        raise TypeError(
            "a MacroCostSearch has one threshold for each class; draw that of one class k with "
            "from_estimator(macro.searches_[k], X, y == macro.classes_[k])"
        )
    if isinstance(estimator, CostSearch):
        return estimator.threshold_curve(X, y, sample_weight)
    if isinstance(estimator, PooledThresholdClassifier):
        score, pos_label = estimator.positive_score(X), estimator.pos_label_
    else:
        _, _, pos_label = check_binary_target(y, pos_label)
        score = positive_score(estimator, X, pos_label, RESPONSE_METHODS)
    return threshold_curve(y, score, sample_weight=sample_weight, pos_label=pos_label)


def held_out(
    cv_results: Mapping[str, Any], X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label
) -> HeldOut:
    """Scores of all test parts by the models that were trained without them."""
    models, tests = _models_and_parts(cv_results, num_samples(X))
    model = last_step(models[0])[1]
    if isinstance(model, MacroCostSearch):
        raise TypeError("a MacroCostSearch has one threshold for each class; cross-validate a CostSearch of one class")
    # Models of folds choose other settings, so that their scores have other units; their cuts are what they share.
    from_cut = isinstance(model, (CostSearch, PooledThresholdClassifier))
    if from_cut:
        pos_label = model.pos_label_ if pos_label is None else pos_label
    _, is_pos, pos_label = check_binary_target(y, pos_label)
    weight = check_class_weights(sample_weight, is_pos)
    methods = DECISION_FIRST if from_cut else RESPONSE_METHODS
    scores = [positive_score(m, safe_indexing(X, test), pos_label, methods) for m, test in zip(models, tests)]
    curves = [
        sweep(is_pos[test], score, None if weight is None else weight[test])
        for score, test in zip(scores, tests)
        if _has_both(is_pos[test], None if weight is None else weight[test])
    ]
    pooled = np.concatenate(tests)
    curve = sweep(is_pos[pooled], np.concatenate(scores), None if weight is None else weight[pooled])
    return HeldOut(curve, curves, model, from_cut)


def _models_and_parts(cv_results: Mapping[str, Any], n_samples: int) -> tuple[list[Estimator], list[Array]]:
    """Fitted models and the samples that each of them has not seen."""
    if not {"estimator", "indices"} <= set(cv_results):
        raise ValueError(
            f"cv_results holds {sorted(cv_results)} and no models with their parts of the data; call "
            "cross_validate(..., return_estimator=True, return_indices=True)"
        )
    tests = [np.asarray(test) for test in cv_results["indices"]["test"]]
    last = max(int(test.max()) for test in tests)
    if last >= n_samples:
        raise ValueError(
            f"X has {n_samples} samples, cv_results speaks of sample {last}; give the X and y that were cross-validated"
        )
    return list(cv_results["estimator"]), tests


def _has_both(is_pos: Array, weight: Array | None) -> bool:
    counts = is_pos if weight is None else is_pos[weight > 0]
    return bool(counts.any() and not counts.all())
