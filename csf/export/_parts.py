"""What rules of linear pipelines are made of: coefficients, what scalers multiply by and add, plain labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, StandardScaler

from csf._common.typing import Estimator, FloatArray
from csf.export.winner import Winner

__all__ = ["affine", "decision", "linear_part", "scaling", "steps_of"]


def steps_of(estimator: Estimator) -> list[Estimator]:
    """Steps of a pipeline that do something; anything else is a step of its own."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return [step for step in steps if not _does_nothing(step)]


def _does_nothing(step: Any) -> bool:
    """Whether a step hands on what it gets; ColumnTransformer puts a function that is none in its place."""
    return step is None or step == "passthrough" or (isinstance(step, FunctionTransformer) and step.func is None)


def linear_part(estimator: Estimator, winner: Winner) -> tuple[FloatArray, float]:
    """Coefficients and intercept of scores that grow with the belief in the positive class."""
    coef, intercept = affine(estimator)
    if winner.estimator.classes_.tolist()[0] == winner.known_positive:  # scores are those of the second class
        return -coef, -intercept
    return coef, intercept


def affine(estimator: Estimator) -> tuple[FloatArray, float]:
    """Coefficients and intercept in the features that an estimator is given."""
    *scalers, last = steps_of(estimator)
    if isinstance(last, Pipeline):
        coef, intercept = affine(last)
    elif np.shape(getattr(last, "coef_", 0.0))[:1] != (1,) or not hasattr(last, "decision_function"):
        raise TypeError(
            f"{type(last).__name__} is no linear classifier of two classes; export it with csf.export.fixed_threshold"
        )
    else:
        coef = last.coef_.toarray() if hasattr(last.coef_, "toarray") else last.coef_
        coef, intercept = np.asarray(coef, dtype=float).ravel(), float(np.ravel(last.intercept_)[0])
    for scaler in reversed(scalers):
        scale, shift = scaling(scaler, coef.shape[0])
        intercept += float(coef @ shift)
        coef = coef * scale
    return coef, intercept


def scaling(scaler: Estimator, n_features: int) -> tuple[FloatArray, FloatArray]:
    """What a scaler multiplies each feature by, and adds to it then."""
    ones, zeros = np.ones(n_features), np.zeros(n_features)
    if isinstance(scaler, StandardScaler):
        scale = ones if scaler.scale_ is None else ones / np.asarray(scaler.scale_)
        return scale, -np.asarray(scaler.mean_) * scale if scaler.with_mean else zeros
    if isinstance(scaler, MinMaxScaler) and not scaler.clip:
        return np.asarray(scaler.scale_), np.asarray(scaler.min_)
    if isinstance(scaler, MaxAbsScaler) and not getattr(scaler, "clip", False):
        return ones / np.asarray(scaler.scale_), zeros
    raise TypeError(
        f"the winner is not linear in the features: {type(scaler).__name__} comes before it. Export it with "
        "csf.export.fixed_threshold"
    )


def decision(rule: Any) -> dict[str, Any]:
    """How a rule decides from what is summed up, as JSON has it: numpy's labels and infinite cuts are none of it."""
    labels = {"negative": rule.negative, "positive": rule.positive}
    return {
        "intercept": float(rule.intercept),
        "threshold": float(np.nan_to_num(rule.threshold)),
        **{name: label.item() if isinstance(label, np.generic) else label for name, label in labels.items()},
    }
