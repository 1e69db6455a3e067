"""Targets of functions and of what is no estimator: good arguments, and what their results must be like."""

import contextlib
import inspect

import numpy as np
import pandas as pd
from fuzz.contract import sane
from fuzz.target import data, function
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import LinearSVC

import csf
from csf import ErrorProfile, Study, bounds, metrics, strategies, streams, structural, testing, thresholding
from csf.bounds import BOUNDS
from csf.data.folds import resolve_splits
from csf.data.labels import read_classes, read_labels
from csf.metrics import METRICS, Concave, LinearFractional, get_metric
from csf.metrics.profile import Hull
from csf.online import OFO, OnlineLogistic
from csf.trainers import make_trainers

__all__ = ["FUNCTIONS"]


def truth(rng, **more):
    """Labels, scores, weights and predictions of the same samples."""
    X, y, weight = data(rng)
    score = 1.0 / (1.0 + np.exp(-X[:, 0]))
    full = {"y_true": y, "y_score": score, "sample_weight": weight, "pos_label": 1, "y_pred": (score > 0.5).astype(int)}
    return {name: value for name, value in (full | more).items() if value is not ...}


def in_range(value, metric, pos, what):
    lo, hi = metric.range(pos)
    with np.errstate(all="ignore"):  # levels worth aiming at start above the worst value of some metrics
        lo = np.fmin(lo, metric.value(pos, 1.0 - pos, pos=pos))
    slack = 1e-9 * max(1.0, abs(lo), abs(hi))
    sane(np.isfinite(value), f"{what} is {value}")
    sane((np.asarray(value) >= lo - slack) & (np.asarray(value) <= hi + slack), f"{what}={value} not in [{lo}, {hi}]")


def call_tuned(*, y_true, y_score, sample_weight, metric, constraint):
    name, value, larger = thresholding.lightgbm_metric(metric, constraint)(y_true, y_score, sample_weight)
    sane(larger is True and name.startswith("tuned_"), f"{name}, {larger}")
    pos = thresholding.threshold_curve(y_true, y_score, sample_weight=sample_weight, pos_label=1).pos
    in_range(value, get_metric(metric), pos, "value")


def call_threshold_curve(*, y_true, y_score, sample_weight, pos_label, metric, constraint):
    curve = thresholding.threshold_curve(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)
    metric = get_metric(metric)
    cut = curve.best(metric, metrics.get_constraint(constraint))
    sane(~np.isnan(curve.thresholds), f"thresholds {curve.thresholds}")
    sane(np.diff(curve.thresholds) < 0, f"thresholds do not fall: {curve.thresholds}")
    in_range(cut.value, metric, curve.pos, "value")
    sane(curve.at(cut.threshold) == cut.profile, f"{cut} is another rule: {curve.at(cut.threshold)}")


def scores(rng, *names):
    """Arguments of what takes scores, or predictions, of no classifier."""
    X, y, weight = data(rng)
    groups = np.arange(y.size) // 2
    full = {"y": y, "score": X[:, 0], "metric": "f1", "groups": groups, "sample_weight": weight, "pos_label": 1}
    full |= dict.fromkeys(("pred", "pred_a"), (X[:, 0] > 0.0).astype(int)) | {"pred_b": y[::-1], "level": 0.9}
    return {name: full[name] for name in (*names, "y", "metric", "groups", "sample_weight", "pos_label")}


def call_decide(*, y, score, **options):
    decision = csf.tune_threshold(y, score, **options)
    sane(not np.isnan(decision.threshold), "threshold is NaN")
    sane(np.isnan(decision.value) or decision.interval[0] <= decision.value <= decision.interval[1], "value outside")
    sane(decision.predict(score).shape == np.shape(y), "one label for each score")


def call_certify(*, y, score, confidence, pos_label):
    band = csf.certify(y, score, confidence, pos_label=pos_label)
    best = band.best("f1", "recall >= 0.1")
    sane(0.0 <= best.value <= 1.0, f"{best}")


def certify_arguments(rng):
    given = scores(rng, "score")
    return {name: given[name] for name in ("y", "score", "pos_label")} | {"confidence": 0.9}


def call_interval(*, y, pred, **options):
    low, high = csf.metric_interval(y, pred, **options)
    sane(low <= high, f"{low} > {high}")


def call_difference(*, y, pred_a, pred_b, **options):
    found = csf.metric_difference(y, pred_a, pred_b, **options)
    sane(found.low <= found.value <= found.high, f"{found}")


def call_bisection(*, metric, tol, proba, target, sample_weight):
    curve = thresholding.probability_curve(proba, target, sample_weight=sample_weight)
    result = thresholding.bisection(curve, metric, tol=tol)
    in_range(result.cut.value, get_metric(metric), curve.pos, "value")
    sane(~np.isnan(result.cut.threshold), "threshold is NaN")
    sane(result.upper >= result.cut.value, f"upper={result.upper} < {result.cut.value}")


def call_frank_wolfe(*, metric, tol, max_iter, proba, target, sample_weight):
    curve = thresholding.probability_curve(proba, target, sample_weight=sample_weight)
    mixture = thresholding.frank_wolfe(curve, metric, tol=tol, max_iter=max_iter)
    in_range(mixture.value, get_metric(metric), curve.pos, "value")
    sane(abs(mixture.weights.sum() - 1.0) < 1e-9, f"weights {mixture.weights}")
    sane(~np.isnan(mixture.thresholds), "threshold is NaN")


def proba(rng, **more):
    good = truth(rng)
    return {"proba": good["y_score"], "target": None, "sample_weight": good["sample_weight"]} | more


def call_probability_curve(*, proba, target, sample_weight):
    curve = thresholding.probability_curve(proba, target, sample_weight=sample_weight)
    sane((curve.fn >= 0) & (curve.fn <= curve.pos), f"fn {curve.fn}")
    sane((curve.fp >= 0) & (curve.fp <= 1 - curve.pos), f"fp {curve.fp}")
    sane(0.0 < curve.pos < 1.0, f"pos {curve.pos}")


def call_cost_threshold(*, c_fn, c_fp):
    threshold = thresholding.cost_threshold(c_fn, c_fp)
    sane(~np.isnan(threshold), f"threshold {threshold}")


def told_trials(rng, metric="f1", strategy="cone", n_trials=4, pos=0.3):
    """Study with trials of an exact learner on a convex trade-off, its last one pending."""
    study = Study(metric, strategy, pos=pos, n_trials=n_trials)
    fnr = np.concatenate([[0.0, 1.0], rng.random(20)])
    points = np.column_stack([study.pos * fnr, (1.0 - study.pos) * (1.0 - fnr**0.4) ** 2.5])
    while len(study.trials) < 12 and (trial := study.ask()) is not None:
        fn, fp = points[np.argmin(points @ np.array(trial.costs))]
        study.tell(trial, profile=ErrorProfile(fn, fp, study.pos))
    return study


def bound(thing):
    def arguments(rng):
        return {
            "trials": told_trials(rng).trials,
            "metric": get_metric("f1"),
            "pos": 0.3,
            "eps": 0.0,
            "levels": np.array([0.5]),
        }

    def call(*, trials, metric, pos, eps, levels):
        bound = thing(trials, metric, pos=pos, eps=eps)
        in_range(bound.best_possible(), metric, pos, "best_possible")
        at = bound.upper_bound(levels)
        sane(np.shape(at) == np.shape(levels), f"upper_bound has the shape {np.shape(at)}")
        sane(~np.isnan(at) & (at <= metric.range(pos)[1]), f"upper_bound {at}")
        sane(bound.region().is_valid, "region is not valid")

    return function(thing, arguments, call)


def call_upper_bound(*, trials, metric, pos, bound):
    in_range(bounds.upper_bound(trials, metric, pos=pos, bound=bound), get_metric(metric), pos, "upper_bound")


def defaults(thing, **more):
    """Arguments of a class: its defaults, and others."""
    parameters = inspect.signature(thing).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty} | more


def metric(thing, **more):
    """Target of a metric: its parameters, and its score on labels."""

    def arguments(rng):
        return defaults(thing, **more) | truth(rng, y_score=...)

    def call(*, y_true, y_pred, sample_weight, pos_label, **params):
        metric = thing(**params)
        value = metric.score(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)
        pos = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label).pos
        in_range(value, metric, pos, "score")
        sane(isinstance(metric.name, str), f"name {metric.name!r}")
        for level in metric.range(pos):
            costs = metric.cost_weights(metric.clip_level(level, pos=pos), pos=pos)
            sane(np.isfinite(costs), f"cost_weights {costs}")
        if isinstance(metric, LinearFractional):
            sane(np.isfinite(metric.coefficients(pos)), f"coefficients {metric.coefficients(pos)}")
        if isinstance(metric, Concave):
            sane(np.isfinite([metric.gradient(0.5, 0.25), metric.dual(-0.5, 0.5)]), "gradient or dual is not finite")
            sane(np.isfinite(metric.extension(-0.5, 0.5)), "extension is not finite")

    return function(thing, arguments, call)


def strategy(thing, **more):
    def arguments(rng):
        metric = "f1" if rng.random() < 0.5 else "jaccard"
        return defaults(thing, **more) | {"metric": metric, "pos": float(rng.choice([0.3, 0.01, 1e-6]))}

    def call(*, metric, pos, **params):
        study = told_trials(np.random.default_rng(0), metric, thing(**params), 6, pos)
        check_study(study)

    return function(thing, arguments, call)


def check_study(study):
    lo, hi = study.metric.range(study.pos)
    for trial in study.trials:
        sane(trial.t is None or lo <= trial.t <= hi, f"level {trial.t} outside [{lo}, {hi}]")
        sane(np.isfinite(trial.costs) & (np.array(trial.costs) > 0), f"costs {trial.costs}")
    if study.best_trial is not None:
        in_range(study.best_score, study.metric, study.pos, "best_score")
        sane(study.gap >= 0.0, f"gap {study.gap}")
        if study.metric.constraint is None:
            best = max(trial.attained for trial in study.trials if trial.attained is not None)
            sane(study.upper_bound >= best - 1e-9, f"upper_bound {study.upper_bound} < {best}")


def call_study(*, y_true, y_pred, y_score, sample_weight, pos_label, trial, **options):
    study = Study(**options)
    asked = study.ask()
    study.tell(
        asked if isinstance(trial, str) and trial == "asked" else trial,
        y_true,
        y_pred,
        y_score=y_score,
        sample_weight=sample_weight,
        pos_label=pos_label,
    )
    check_study(study)
    study.ask()


def study_arguments(rng):
    good = truth(rng)
    pos = float(good["sample_weight"][good["y_true"] == 1].sum() / good["sample_weight"].sum())
    options = {"metric": "f1", "strategy": "cone", "pos": pos, "n_trials": 3, "tol": None, "bound": "support"}
    return good | options | {"trial": "asked"}


def call_from_target(*, y, sample_weight, **options):
    study = Study.from_target(y, sample_weight=sample_weight, **options)
    sane(0.0 < study.pos < 1.0, f"pos {study.pos}")
    study.ask()
    check_study(study)


def call_told(*, metric, pos, fn, fp):
    study = Study(metric, pos=pos)
    study.tell(study.ask(), profile=ErrorProfile(fn, fp, pos))
    check_study(study)


def check_profile(profile):
    parts = [getattr(profile, name) for name in ("fn", "fp", "pos", "neg", "tp", "tn", "fnr", "fpr", "tpr", "tnr")]
    sane(all(type(part) is float for part in parts), f"shares are no floats: {parts}")
    sane((np.array(parts) >= -1e-9) & (np.array(parts) <= 1.0 + 1e-9), f"shares {parts}")


def profile_of(make, note, arguments):
    """Target of a way to make an error profile."""

    def call(**given):
        check_profile(make(**given))

    return function(ErrorProfile, arguments, call, note=note)


def call_hull(*, points):
    sane(np.isfinite(Hull(points).cheapest(1.0, 2.0)), "cheapest is not finite")


def call_read_classes(*, y):
    read, codes = read_classes(y)
    sane(read.decode(codes) == np.asarray(y).ravel(), "decoded labels are others")


def call_read_labels(*, y, pos_label, null_class):
    read, codes = read_labels(y, pos_label=pos_label, null_class=null_class)
    sane(codes.min() == 0, f"codes {codes}")
    sane(read.decode(codes) == np.asarray(y).ravel(), "decoded labels are others")


MASKS = dict(zip(("is_pos", "decided", "reference"), np.array([[1, 1, 0] * 9, [1, 0, 0] * 9, [0, 1, 1] * 9], bool)))


def call_estimate_prevalence(**params):
    share = thresholding.estimate_prevalence(**params)
    sane(0.0 <= share <= 1.0, f"share {share}")


def prevalence_arguments(rng):
    known = np.arange(40) % 2, rng.random(40)
    return {"y_score": rng.random(30), "pos": 0.3, "known": known, "confidence": 0.8, "tol": 1e-6, "max_iter": 100}


def call_splits(*, cv, random_state):
    X, y = np.ones((9, 1)), np.arange(9) % 2
    for train, test in resolve_splits(cv, X, y, random_state=random_state):
        sane(np.size(test) > 0 and np.unique(y[train]).size > 1, f"{train}, {test}")


def call_score(thing):
    def call(**arguments):
        score = thing(**arguments)
        sane(0.0 <= score <= 1.0, f"score {score}")

    return call


def call_chunks(*, X, y, **options):
    chunks = streams.iter_arrays(X, y, **options)
    sizes = [(np.shape(part)[0], len(labels)) for part, labels in chunks]
    sane(all(a == b > 0 for a, b in sizes), f"chunks {sizes}")


def call_prequential(*, X, y, chunk_size, **options):
    result = streams.prequential(OFO(random_state=0), streams.iter_arrays(X, y, chunk_size), **options)
    sane(result.counts >= 0, f"counts {result.counts}")
    sane(np.diff(result.n_examples) > 0, f"n_examples {result.n_examples}")


def call_fit_stream(*, X, y, chunk_size, **options):
    chunks = streams.iter_arrays(X, y, chunk_size)
    sane(streams.fit_stream(OFO(random_state=0), chunks, **options).n_seen_ > 0, "nothing learnt")


def written(X, y, name):
    """Path of a file of samples in the working directory."""
    if name.endswith("svm"):
        dump_svmlight_file(X, y, name, zero_based=False)
    else:
        pd.DataFrame(X, columns=[f"c{at}" for at in range(X.shape[1])]).assign(y=y).to_parquet(name)
    return name


def call_file(thing, name):
    def call(**options):
        chunks = list(thing(written(*data(np.random.default_rng(0))[:2], name), **options))
        sane(all(np.shape(X)[0] == len(y) > 0 for X, y in chunks), "a chunk of other labels")

    return call


def confusion_metric(thing, **more):
    """Target of a metric of the confusion matrix: its parameters, and what it says of three classes."""

    def call(**params):
        metric = metrics.get_confusion_metric(thing(**params))
        shares = np.array([[0.3, 0.1, 0.0], [0.0, 0.3, 0.1], [0.1, 0.0, 0.1]])
        sane(np.isfinite(metric.value(shares)), f"value {metric.value(shares)}")
        sane(np.isfinite(metric.gradient(shares)), "gradient is not finite")

    return function(thing, lambda rng: defaults(thing, **more), call)


def check(thing, name, good, **more):
    """Target of a conformance check: what it finds wrong is an AssertionError, and so no fault."""

    def call(**arguments):
        with contextlib.suppress(AssertionError):
            thing(**arguments)

    return function(thing, lambda rng: {name: good, "random_state": 0} | more, call)


def single(thing, name, good):
    """Target of a function of one argument whose result is an object."""
    return function(thing, lambda rng: {name: good}, lambda **arguments: thing(arguments[name]))


def call_constrained(*, metric, constraint, pos):
    metric = metrics.Constrained(metric, constraint)
    check_study(told_trials(np.random.default_rng(0), metric, pos=pos))
    sane(metric.constraint.violation(0.1, 0.1, pos=0.3) >= 0, "violation")


def call_constraint(*, quantity, side, level):
    demand = metrics.Constraint(quantity, side, level)
    sane(np.isfinite(demand.violation(0.1, 0.1, pos=0.3)), "violation is not finite")
    sane(np.isfinite(demand.half_plane(pos=0.3)[1]), "half plane is not finite")


def call_function_strategy(*, proposed):
    strategy = strategies.FunctionStrategy(lambda trials, *, metric, pos: None if trials else proposed)
    check_study(told_trials(np.random.default_rng(0), "f1", strategy))


def loss(thing):
    """Target of a structural loss: its parameters, and a learner with it."""

    def arguments(rng):
        X, y, _ = data(rng)
        return defaults(thing) | {"X": X, "y": y}

    def call(*, X, y, **params):
        model = structural.CuttingPlane(thing(**params), max_iter=20, eps=0.1).fit(X, y)
        sane(np.isfinite(model.coef_), f"coef_ {model.coef_}")

    return function(thing, arguments, call)


def _options(rng, **more):
    X, y, _ = data(rng)
    return {"X": X, "y": y, "chunk_size": 7} | more


SCORE = {"sample_weight": ..., "y_pred": ...}
FUNCTIONS = [
    *(bound(thing) for thing in BOUNDS.values()),
    *(metric(thing) for thing in dict.fromkeys(type(make()) for make in METRICS.values())),
    *(metric(getattr(metrics, name)) for name in ("FalseNegativeRate", "FalsePositiveRate", "PredictedPositiveRate")),
    metric(metrics.CustomMetric, numbers=(1.0, -2.0, -1.0, 1.0, 0.0, 0.0), levels=(-1.0, 1.0)),
    confusion_metric(metrics.Averaged, metric=metrics.FBeta()),
    confusion_metric(metrics.WeightedKappa),
    confusion_metric(metrics.CostMatrix, costs=((0.0, 1.0, 2.0), (1.0, 0.0, 1.0), (2.0, 1.0, 0.0))),
    confusion_metric(metrics.OfTwoClasses, confusion=metrics.Averaged(metrics.FBeta())),
    *(strategy(thing) for name, thing in strategies.STRATEGIES.items() if name != "ladder"),
    strategy(strategies.EqualCostsFirst, strategy=strategies.Grid()),
    *(loss(thing) for thing in (*structural.LOSSES.values(), structural.TableLoss)),
    single(metrics.get_metric, "metric", "f1"),
    single(metrics.get_confusion_metric, "metric", "f1_macro"),
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
    profile_of(ErrorProfile, "", lambda rng: {"fn": 0.1, "fp": 0.1, "pos": 0.3}),
    profile_of(ErrorProfile.from_counts, " counts", lambda rng: dict(zip(("tp", "fp", "fn", "tn"), (3, 2.0, 1, 4)))),
    profile_of(ErrorProfile.from_rates, " rates", lambda rng: {"tpr": 0.5, "tnr": 0.5, "pos": 0.3}),
    profile_of(ErrorProfile.from_predictions, " predictions", lambda rng: truth(rng, y_score=...)),
    profile_of(ErrorProfile.from_classes, " classes", lambda rng: truth(rng, y_score=..., pos_label=..., null_class=0)),
    function(read_classes, lambda rng: {"y": rng.integers(3, size=20)}, call_read_classes),
    function(read_labels, lambda rng: {"y": data(rng)[1], "pos_label": 1, "null_class": None}, call_read_labels),
    function(Hull, lambda rng: {"points": rng.random((9, 2))}, call_hull),
    function(resolve_splits, lambda rng: {"cv": 3, "random_state": 0}, call_splits),
    function(
        thresholding.threshold_curve,
        lambda rng: truth(rng, y_pred=..., metric="f1", constraint=None),
        call_threshold_curve,
    ),
    function(
        thresholding.lightgbm_metric,
        lambda rng: truth(rng, y_pred=..., pos_label=..., metric="f1", constraint=None),
        call_tuned,
    ),
    function(csf.certify, certify_arguments, call_certify),
    function(csf.tune_threshold, lambda rng: scores(rng, "score"), call_decide),
    function(csf.metric_interval, lambda rng: scores(rng, "pred", "level"), call_interval),
    function(csf.metric_difference, lambda rng: scores(rng, "pred_a", "pred_b", "level"), call_difference),
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
