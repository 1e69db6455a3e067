"""Targets of functions and of what is no estimator."""

import numpy as np
from fuzz.functions import (
    bound,
    call_bisection,
    call_chunks,
    call_constrained,
    call_constraint,
    call_cost_threshold,
    call_estimate_prevalence,
    call_file,
    call_fit_stream,
    call_frank_wolfe,
    call_from_classes,
    call_from_counts,
    call_from_predictions,
    call_from_rates,
    call_from_target,
    call_function_strategy,
    call_gain_rule,
    call_hull,
    call_prequential,
    call_probability_curve,
    call_profile,
    call_read_labels,
    call_score,
    call_splits,
    call_study,
    call_threshold_curve,
    call_told,
    call_upper_bound,
    check,
    gain_arguments,
    loss,
    metric,
    prevalence_arguments,
    proba,
    single,
    strategy,
    study_arguments,
    told_trials,
    truth,
)
from fuzz.target import data, function
from sklearn.svm import LinearSVC

from csf import (
    ErrorProfile,
    Study,
    bounds,
    metrics,
    strategies,
    streams,
    structural,
    testing,
    thresholding,
)
from csf.bounds import BOUNDS
from csf.errors import hull
from csf.metrics import get_metric
from csf.online import OnlineLogistic
from csf.samples import labels, splits
from csf.search import gain_rule
from csf.trainers import make_trainers

__all__ = ["FUNCTIONS"]

METRICS_OF_TABLES = {
    **{name: {} for name in ("BalancedAccuracy", "CohenKappa", "FalseNegativeRate", "FalsePositiveRate", "HMean")},
    **{name: {} for name in ("FowlkesMallows", "Informedness", "Jaccard", "MCC")},
    **{name: {} for name in ("MinRate", "Precision", "PredictedPositiveRate", "QMean", "Recall", "Specificity")},
    "FBeta": {"beta": 1.0},
    "GMean": {"eps": 1e-3},
    "GowerLegendre": {"sigma": 2.0},
    "Tversky": {"alpha": 0.5, "beta": 0.5},
    "WeightedAccuracy": {"w_fn": 1.0, "w_fp": 2.0},
    "CustomMetric": {"numbers": (1.0, -2.0, -1.0, 1.0, 0.0, 0.0), "label": "mine", "levels": (-1.0, 1.0)},
}
STRATEGY_PARAMETERS = {
    "Bisection": {"tol": 1e-3},
    "Cone": {"depth": None, "eps": 0.0, "batch_size": 1},
    "Dinkelbach": {"tol": 1e-4},
    "GoldenSection": {"tol": 1e-3},
    "Grid": {"size": None},
    "ImbalanceRatio": {},
    "NeutralFirst": {"strategy": strategies.Grid()},
    "Support": {"tol": 1e-3, "patience": 3, "reach": 0.01},
}
LOSS_PARAMETERS = {
    "FBetaLoss": {"beta": 1.0, "kappa": None},
    "PartialAUC": {"beta": 0.5, "mode": "count"},
    "PrecisionAtK": {"k": None, "kappa": None, "allow_k_neq_pos": False},
    "TableLoss": {"metric": "gmean", "kappa": None},
    "TopPrecision": {"k": 0.1, "kappa": None},
}


def _options(rng, **more):
    X, y, _ = data(rng)
    return {"X": X, "y": y, "chunk_size": 7} | more


SCORE = {"sample_weight": ..., "y_pred": ...}
FUNCTIONS = [
    *(bound(thing) for thing in BOUNDS.values()),
    *(metric(getattr(metrics, name), **good) for name, good in METRICS_OF_TABLES.items()),
    *(strategy(getattr(strategies, name), **good) for name, good in STRATEGY_PARAMETERS.items()),
    *(loss(getattr(structural, name), **good) for name, good in LOSS_PARAMETERS.items()),
    single(metrics.get_metric, "metric", "f1"),
    single(metrics.get_constraint, "constraint", "fpr <= 0.1"),
    single(strategies.get_strategy, "strategy", "cone"),
    single(bounds.get_bound, "bound", "support"),
    single(structural.get_loss, "loss", "pauc"),
    single(bounds.known_profiles, "trials", told_trials(np.random.default_rng(0)).trials),
    function(
        bounds.upper_bound,
        lambda rng: {"trials": told_trials(rng).trials, "metric": get_metric("f1"), "pos": 0.3, "bound": "support"},
        call_upper_bound,
    ),
    function(
        metrics.Constraint, lambda rng: {"quantity": metrics.Recall(), "side": ">=", "level": 0.5}, call_constraint
    ),
    function(
        metrics.Constrained,
        lambda rng: ({"metric": metrics.FBeta(), "constraint": metrics.get_constraint("fpr <= 0.1"), "pos": 0.3}),
        call_constrained,
    ),
    function(strategies.FunctionStrategy, lambda rng: {"proposed": 0.5}, call_function_strategy),
    function(Study, study_arguments, call_study),
    function(Study, lambda rng: {"metric": "f1", "pos": 0.3, "fn": 0.1, "fp": 0.1}, call_told, note=" told"),
    function(
        Study,
        lambda rng: (
            dict(zip(("X", "y", "sample_weight"), data(rng)))
            | {"metric": "f1", "strategy": "cone", "pos_label": 1, "n_trials": 3, "tol": None, "bound": "support"}
        ),
        lambda X, **arguments: call_from_target(**arguments),
        note=" from_target",
    ),
    function(ErrorProfile, lambda rng: {"fn": 0.1, "fp": 0.1, "pos": 0.3}, call_profile),
    function(
        ErrorProfile, lambda rng: dict(zip(("tp", "fp", "fn", "tn"), (3, 2.0, 1, 4))), call_from_counts, note=" counts"
    ),
    function(ErrorProfile, lambda rng: {"tpr": 0.5, "tnr": 0.5, "pos": 0.3}, call_from_rates, note=" rates"),
    function(ErrorProfile, lambda rng: truth(rng, y_score=...), call_from_predictions, note=" predictions"),
    function(
        ErrorProfile,
        lambda rng: truth(rng, y_score=..., pos_label=..., null_class=0),
        call_from_classes,
        note=" classes",
    ),
    function(labels.read_labels, lambda rng: {"y": data(rng)[1], "pos_label": 1, "null_class": None}, call_read_labels),
    function(hull.Hull, lambda rng: {"points": rng.random((9, 2))}, call_hull),
    function(gain_rule.GainRule, gain_arguments, call_gain_rule),
    function(splits.resolve_splits, lambda rng: {"cv": 3, "random_state": 0}, call_splits),
    function(
        thresholding.threshold_curve,
        lambda rng: truth(rng, y_pred=..., metric="f1", constraint=None),
        call_threshold_curve,
    ),
    function(thresholding.bisection, lambda rng: proba(rng, metric="f1", tol=1e-9), call_bisection),
    function(thresholding.frank_wolfe, lambda rng: proba(rng, metric="gmean", tol=1e-6, max_iter=20), call_frank_wolfe),
    function(thresholding.probability_curve, proba, call_probability_curve),
    function(thresholding.estimate_prevalence, prevalence_arguments, call_estimate_prevalence),
    function(thresholding.cost_threshold, lambda rng: {"c_fn": 1.0, "c_fp": 2.0}, call_cost_threshold),
    function(
        structural.partial_auc_score,
        lambda rng: truth(rng, **SCORE, beta=0.3, mode="count"),
        call_score(structural.partial_auc_score),
    ),
    function(
        structural.precision_at_k_score,
        lambda rng: truth(rng, **SCORE, k=0.3),
        call_score(structural.precision_at_k_score),
    ),
    function(streams.iter_arrays, lambda rng: _options(rng, passes=1, progress=False), call_chunks),
    function(streams.ArrayChunks, lambda rng: _options(rng, passes=2, progress=False), call_chunks),
    function(
        streams.prequential,
        lambda rng: _options(rng, metric="f1", window=None, every=10, classes=np.array([0, 1]), pos_label=1),
        call_prequential,
    ),
    function(
        streams.fit_stream,
        lambda rng: _options(rng, classes=np.array([0, 1]), save_to=None, save_every=2),
        call_fit_stream,
    ),
    function(
        streams.SvmlightChunks,
        lambda rng: {"chunk_size": 7, "n_features": 5, "zero_based": False, "passes": 1},
        call_file(streams.SvmlightChunks, "rows.svm"),
    ),
    function(
        streams.ParquetChunks,
        lambda rng: {"chunk_size": 7, "target": "y", "features": None, "passes": 1},
        call_file(streams.ParquetChunks, "rows.parquet"),
    ),
    check(testing.check_metric, "metric", get_metric("f1")),
    check(testing.check_strategy, "strategy", strategies.Cone(), metric="f1", n_trials=3),
    check(testing.check_online, "learner", OnlineLogistic(random_state=0)),
    check(testing.check_trainer, "base", LinearSVC(random_state=0), maker=make_trainers, n_classes=2),
]
