"""Threshold curves of the models of cross-validation, on the parts that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from csf._common.sklearn import last_step, num_samples, safe_indexing
from csf._common.typing import Array, Estimator, Label, Samples
from csf._common.validation import check_binary_target, check_class_weights
from csf.data.responses import DECISION_FIRST, positive_score
from csf.plots._searched import is_macro_search, is_search
from csf.thresholding._pooled import PooledThresholdClassifier
from csf.thresholding._scores import RESPONSE_METHODS
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["HeldOutCurves", "held_out"]


class HeldOutCurves(NamedTuple):
    """Pooled scores of all test parts and those of each, the first model, and whether scores count from its cut."""

    curve: ThresholdCurve
    fold_curves: list[ThresholdCurve]
    model: Estimator
    from_cut: bool


def held_out(
    cv_results: Mapping[str, Any], X: Samples, y: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label
) -> HeldOutCurves:
    """Scores of all test parts by the models that were trained without them."""
    models, tests = _models_and_parts(cv_results, num_samples(X))
    model = last_step(models[0])[1]
    if is_macro_search(model):
        raise TypeError("a MacroCostSearch has one threshold for each class; cross-validate a CostSearch of one class")
    # Each fold may have chosen another setting, whose scores have other units; what they share is the chosen cut.
    from_cut = is_search(model) or isinstance(model, PooledThresholdClassifier)
    if from_cut and pos_label is None:
        pos_label = model.pos_label_
    _, is_pos, pos_label = check_binary_target(y, pos_label)
    weight = check_class_weights(sample_weight, is_pos)
    methods = DECISION_FIRST if from_cut else RESPONSE_METHODS
    scores = [positive_score(m, safe_indexing(X, test), pos_label, methods) for m, test in zip(models, tests)]
    parts = [(is_pos[test], score, None if weight is None else weight[test]) for test, score in zip(tests, scores)]
    pooled = np.concatenate(tests)
    curve = sweep(is_pos[pooled], np.concatenate(scores), None if weight is None else weight[pooled])
    return HeldOutCurves(curve, [sweep(*part) for part in parts if _has_both(part[0], part[2])], model, from_cut)


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
            f"X has {n_samples} samples, cv_results refers to sample {last}; give the X and y that were cross-validated"
        )
    return list(cv_results["estimator"]), tests


def _has_both(is_pos: Array, weight: Array | None) -> bool:
    counts = is_pos if weight is None else is_pos[weight > 0]
    return bool(counts.any() and not counts.all())
