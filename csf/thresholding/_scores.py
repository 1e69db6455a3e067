"""From a model and data to scores of samples that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.validation import has_fit_parameter

from csf._common.sklearn import last_step, safe_indexing, slice_params
from csf._common.typing import Array, Estimator, IntArray, Samples

__all__ = ["RESPONSE_METHODS", "fold_scores", "weight_argument"]

RESPONSE_METHODS = ("predict_proba", "decision_function")


def weight_argument(base: Estimator) -> str | None:
    """Name of the argument of the base's ``fit`` that takes sample weights, or ``None``."""
    prefix, last = last_step(base)
    return f"{prefix}sample_weight" if has_fit_parameter(last, "sample_weight") else None


def fold_scores(
    model: Estimator,
    X: Samples,
    y: Array,
    train: IntArray,
    test: IntArray,
    fit_params: dict[str, Any],
    read: Callable[[Estimator, Samples], Array],
) -> Array:
    """Fit to one part, read scores of another."""
    fit_params = slice_params(fit_params, train, y.shape[0])
    model.fit(safe_indexing(X, train), safe_indexing(y, train), **fit_params)
    return read(model, safe_indexing(X, test))
