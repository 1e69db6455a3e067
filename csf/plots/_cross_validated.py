"""Threshold curves of the models of cross-validation, on the parts that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Estimator, Label, Samples
from csf._sklearn import last_step, num_samples, safe_indexing
from csf._validation import check_binary_target, check_class_weights
from csf.metrics.aim import aim_of
from csf.plots._searched import is_macro_search, is_search
from csf.scores.responses import DECISION_FIRST, positive_score
from csf.thresholding._pooled import PooledThresholdClassifier
from csf.thresholding._scores import RESPONSE_METHODS
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["CrossValidatedMixin"]


class CrossValidatedMixin:
    """``from_cv_results`` of a display that has ``from_curves``."""

    from_curves: Any

    # Name of the horizontal axis.
    axis_name = "threshold: predict positive from this score on"

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Samples,
        y: ArrayLike,
        *,
        metric: str | Metric | None = None,
        threshold: float | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **plot_kwargs: Any,
    ) -> Self:
        """Draw how the cuts of cross-validated classifiers do on data that they have not seen.

        Scores of `CostSearch`, `PlugInClassifier` and relatives of that, alone or at the end of pipelines, count from
        the cut of each model: 0 is what they chose. The marks at the foot say where each fold had its best cut.

        Parameters
        ----------
        cv_results : dict
            Result of `sklearn.model_selection.cross_validate` with ``return_estimator=True`` and
            ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            The data that were cross-validated.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        metric : str or Metric, default=None
            ``None`` takes the classifiers' own, or ``"f1"``.
        threshold : float, default=None
            Threshold to mark; ``None`` marks the classifiers' own, 0, or for others the best of the pooled scores.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.
        pos_label : label, default=None
            Positive class; ``None`` means that of the classifiers, or 1 for labels {0, 1} or {-1, 1}.
        name : str, default=None
            Title; ``None`` takes the name of the class and the number of models.
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        **plot_kwargs
            Arguments of `plot`.

        Returns
        -------
        ThresholdCurveDisplay
            The display, drawn. Its ``value`` at 0 is the metric of all held-out predictions together.

        Raises
        ------
        ValueError
            If ``cv_results`` lacks the models or their parts of the data, or there are not two classes.
        TypeError
            If the classifiers have no score of one positive class.
        """
        found = _held_out(cv_results, X, y, sample_weight, pos_label)
        model, n_models = found.model, len(cv_results["estimator"])
        name = f"{type(model).__name__}, {n_models} models" if name is None else name
        options = {"fold_curves": found.fold_curves, "name": name, "ax": ax, "threshold": threshold} | plot_kwargs
        if not found.from_cut:
            return cls.from_curves(found.curve, "f1" if metric is None else metric, **options)
        if metric is None:
            metric = aim_of(model)
        options["threshold"] = 0.0 if threshold is None else threshold
        display = cls.from_curves(found.curve, metric, **options)
        display.axis_name = "threshold, counted from the cut of each model"
        display.ax_.set_xlabel(display.axis_name)
        return display


class _HeldOut(NamedTuple):
    """Pooled scores of all test parts and those of each, the first model, and whether scores count from its cut."""

    curve: ThresholdCurve
    fold_curves: list[ThresholdCurve]
    model: Estimator
    from_cut: bool


def _held_out(
    cv_results: Mapping[str, Any], X: Samples, y: ArrayLike, sample_weight: ArrayLike | None, pos_label: Label
) -> _HeldOut:
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
    return _HeldOut(curve, [sweep(*part) for part in parts if _has_both(part[0], part[2])], model, from_cut)


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
