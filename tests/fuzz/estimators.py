"""Targets of estimators: hyper-parameters, data to fit and data to predict."""

import inspect

import numpy as np
from fuzz.contract import sane
from fuzz.target import Target, choices_of, data, full_name
from scipy.sparse import issparse

from csf import CostSearch, metrics
from csf.metrics import get_metric

__all__ = ["estimator"]

# Results that are NaN where there is nothing to tell.
UNKNOWN = ("gap_", "best_ts_", "fold_thresholds_", "threshold_std_")


def estimator(thing, *, n_classes=2, partial=False, fixed=None, **good):
    """Target of a classifier: hyper-parameters, data to fit and data to predict."""
    fixed = fixed or {}
    weighted = not partial and "sample_weight" in inspect.signature(thing.fit).parameters

    def arguments(rng):
        X, y, weight = data(rng, n_classes)
        params = {name: value(rng) if callable(value) else value for name, value in good.items()}
        params = thing(**params, **fixed).get_params(deep=False)
        params = {name: value for name, value in params.items() if name not in fixed}
        if "random_state" in params:
            params["random_state"] = 0
        extra = {"sample_weight": weight if rng.random() < 0.5 else None} if weighted else {}
        extra |= {"classes": np.array([0, 1])} if partial else {}
        return params | {"X": X, "y": y, "X_new": rng.normal(size=(7, X.shape[1]))} | extra

    def call(*, X, y, X_new, classes=None, **params):
        extra = {"sample_weight": params.pop("sample_weight")} if weighted else {}
        model = thing(**params, **fixed)
        if partial:
            model.partial_fit(X, y, classes).partial_fit(X, y)
        else:
            model.fit(X, y, **extra)
        same = model.get_params(deep=False)
        sane(all(same[name] is value for name, value in params.items()), "fit changed a parameter")
        _check_fitted(model)
        _check_predictions(model, X_new)

    return Target(full_name(thing) + (" partial_fit" if partial else ""), arguments, call, choices_of(thing))


def _check_fitted(model):
    """Numbers that a fitted model tells of itself."""
    for name, value in vars(model).items():
        numeric = isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind == "f"
        if name.endswith("_") and numeric and name not in UNKNOWN:
            sane(~np.isnan(value), f"{name} is NaN: {value!r}")
    if isinstance(model, CostSearch):
        lo, hi = get_metric(model.metric).range(float(np.mean([s.pos for s in model.studies_])))
        sane(lo - 1e-9 <= model.best_score_ <= hi + 1e-9, f"best_score_={model.best_score_} outside [{lo}, {hi}]")
        sane(model.gap_ >= 0.0 or not model.feasible_, f"gap_={model.gap_}")
        if model.bound_on == "validation":
            best = max(study.best_trial.attained for study in model.studies_ if study.best_trial is not None)
            unbounded = metrics.get_constraint(model.constraint) is not None
            sane(unbounded or model.upper_bound_ >= best - 1e-9, f"upper_bound_={model.upper_bound_} < {best}")


def _check_predictions(model, X):
    """Labels among the classes, probabilities that are some, finite scores."""
    if not getattr(model, "refit", True):
        return
    predicted, n = model.predict(X), np.shape(X)[0] if hasattr(X, "shape") else len(X)
    sane(predicted.shape == (n,), f"predict gave the shape {predicted.shape} for {n} samples")
    sane(np.isin(predicted, model.classes_), f"predict gave {set(predicted.tolist())}, classes {model.classes_}")
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        sane(proba.shape == (n, model.classes_.size), f"predict_proba gave the shape {proba.shape}")
        sane((proba >= 0.0) & (proba <= 1.0), f"predict_proba is not in [0, 1]: {proba}")
        sane(np.abs(proba.sum(axis=1) - 1.0) < 1e-6, f"predict_proba sums to {proba.sum(axis=1)}")
    if hasattr(model, "decision_function"):
        score = model.decision_function(X)
        sane(np.isfinite(score) | _overflows(X), f"decision_function is not finite: {score}")
        sane(~np.isnan(score), f"decision_function is NaN: {score}")
    if hasattr(model, "threshold_curve") and model.classes_.size == 2 and n > 1:
        curve = model.threshold_curve(X, model.classes_[np.arange(n) % 2])
        sane(~np.isnan(curve.thresholds) & (curve.fn <= curve.pos), f"threshold_curve {curve}")


def _overflows(X):
    """Whether features are so large that a sum of them is no number any more."""
    X = X.data if issparse(X) and X.format not in ("lil", "dok") else X
    try:
        return float(np.max(np.abs(np.asarray(X, dtype=np.float64)), initial=0.0)) > 1e150
    except (TypeError, ValueError):
        return False
