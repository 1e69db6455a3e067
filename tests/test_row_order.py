"""Rows are taken by position: whatever takes two things of the same rows says where their pandas indexes disagree."""

import importlib
import inspect
import itertools
import re
import warnings
from functools import cache, partial
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from test_api import exported, function_of, members

import csf
from csf import CostSearch, ErrorProfile, Study, export, online, plots, structural, thresholding
from csf._common.validation import warn_of_order
from csf.metrics import Constraint, MeanCost, Review, RowCosts, get_metric
from csf.report import write_report
from csf.report.page import Drawn
from csf.search.threshold import Decision

N = 200
X, Y = make_classification(N, 4, n_informative=3, n_redundant=0, weights=[0.7], flip_y=0.1, random_state=0)
SCORE = X[:, 0] + Y
PRED = (SCORE > 0.5).astype(int)
PROBA = 1.0 / (1.0 + np.exp(-SCORE))
ONES, COST = np.linspace(1.0, 2.0, N), np.linspace(1.0, 3.0, N)
MIXED = np.random.default_rng(0).permutation(N)

# Parameters that hold arrays of something else than rows.
NOT_ROWS = {"classes", "thresholds", "fold_thresholds", "levels", "pos", "pos_label", "costs", "numbers", "X_new"}
NOT_ROWS |= {"at_most", "fit_params", "params", "options", "approxes"}
VALID, CORE = "takes arrays that are known to be valid", "the unchecked core of a function that is walked"
EXEMPT = {
    "csf.data.CostChannel.fit": VALID,
    "csf.distributed.Quantiles.of_part": VALID,
    "csf.metrics.ErrorProfile.from_masks": VALID,
    "csf.metrics.Averaged.of": VALID,
    "csf.structural.StructuralLoss.performance": VALID,
    "csf.thresholding.sweep": CORE,
    "csf.thresholding.sweep_several": CORE,
    "csf.thresholding.CatBoostMetric.evaluate": "CatBoost calls it, with arrays of its own",
    "csf.online.RiverClassifier.score": "needs river",
    "csf.dask.DaskCostSearch.fit": "see tests/dask/test_search.py",
    "csf.dask.DaskCostSearch.score": "see tests/dask/test_search.py",
    "csf.dask.DaskCostSearch.predict": "see tests/dask/test_row_costs.py",
    "csf.dask.DaskCostSearch.predict_proba": "see tests/dask/test_row_costs.py",
    # Inherited, and walked as those of CostSearch.
    "csf.dask.DaskCostSearch.prevalence": "csf.search.CostSearch.prevalence",
    "csf.dask.DaskCostSearch.report": "csf.search.CostSearch.report",
    "csf.dask.DaskCostSearch.audit": "csf.search.CostSearch.predict",
    "csf.search.CostSearch.audit": "csf.search.CostSearch.predict",
    "csf.export.ScoreRule.decide_with_review": "csf.export.ScoreRule.decide",
    "csf.thresholding.RowThresholds.beside": "csf.search.CostSearch.predict",
    "csf.thresholding.RowThresholds.values": "csf.search.CostSearch.predict",
    # Abstract, and walked as those of other classes.
    "csf.online.LinearOnlineClassifier.score": "csf.online.OFO.score",
    "csf.online.OnlineClassifier.score": "csf.online.OFO.score",
}
_SHAPE = re.compile(r"^ +([*\w, ]+) : .*\(n_(?:samples|rows)\b", re.MULTILINE)


def row_parameters(function):
    """Parameters that hold something of each row: by their type, or by the shape that their description gives."""
    described = {part.strip(" *") for names in _SHAPE.findall(function.__doc__ or "") for part in names.split(",")}
    parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    of_rows = [p for p in parameters if p.name in described or re.search("ArrayLike|Samples", str(p.annotation))]
    return [p.name for p in of_rows if p.kind is not p.VAR_KEYWORD and p.name not in NOT_ROWS] + [
        f"**{p.name}" for p in of_rows if p.kind is p.VAR_KEYWORD
    ]


def public_functions():
    """Functions and methods of exported names that take at least two things of the same rows."""
    found = {}
    for name, thing in (exported() | {"csf.Decision": Decision}).items():
        parts = {name: (thing, 0)} if inspect.isfunction(thing) else {}
        if inspect.isclass(thing):
            parts = {f"{name}.{part}": function_of(member) for part, member in members(thing)}
            parts |= {f"{name}.__call__": (thing.__call__, 1)} if "__call__" in vars(thing) else {}
        for each, function in parts.items():
            if function and not isinstance(function[0], property) and len(rows := row_parameters(function[0])) > 1:
                found[each] = rows
    return found


def quick(metric="f1", **options):
    return CostSearch(LogisticRegression(), metric, param_grid=None, n_trials=1, cv=3, **options)


@cache
def search():
    return quick().fit(X, Y)


@cache
def by_odd():
    return csf.tune_threshold(Y, SCORE, constraint="recall gap <= 0.2 by odd", by=np.arange(N) % 2)


@cache
def costly():
    return quick("savings", review=Review(cost=0.5)).fit(X, Y, **COSTS)


@cache
def folds():
    return cross_validate(LogisticRegression(), X, Y, return_estimator=True, return_indices=True)


def knowing(call):
    """A call that gives labels and probabilities as one argument."""
    return lambda y, proba: call((y, proba))


def reported(write, rival=None, **rows):
    """A report that is not kept, and so has no figures."""
    with TemporaryDirectory() as folder, patch("csf.report.page.figure", lambda *_, **__: Drawn("", "")):
        write(f"{folder}/report.html", rivals=None if rival is None else {"it": rival}, **rows)


def expected(metric="f1 >= 0.1", **rows):
    search().monitor(metric, max_weight=3.0).expect(**rows)


def told(**rows):
    study = Study.from_target(Y)
    study.tell(study.ask(), **rows)


def watched(metric="f1 >= 0.1", **rows):
    search().monitor(metric).update(**rows)


BOTH = "precision >= 0.1, recall >= 0.1"
LABELS = {"y_true": Y, "y_pred": PRED, "sample_weight": ONES}
SCORES = {"y_true": Y, "y_score": SCORE, "sample_weight": ONES}
DATA, WEIGHTED = {"X": X, "y": Y}, {"X": X, "y": Y, "sample_weight": ONES}
COSTS = {"fn_cost": 3.0 * COST, "fp_cost": COST}
MASKS, KNOWN = {"score": SCORE, "is_pos": Y == 1}, {"y": Y, "proba": PROBA}
# What is called, and good arguments of rows. Of several ways all are tried.
CALLS = {
    "csf.tune_threshold": [
        (csf.tune_threshold, {"y": Y, "score": SCORE, "groups": np.arange(N) // 2, "sample_weight": ONES})
    ],
    "csf.certify": [(csf.certify, {"y": Y, "score": SCORE})],
    "csf.Decision.predict": [
        (lambda **rows: by_odd().predict(**rows), {"score": SCORE, "by": np.arange(N) % 2}),
    ],
    "csf.evaluate.metric_interval": [
        (csf.metric_interval, {"y": Y, "pred": PRED, "groups": np.arange(N), "sample_weight": ONES})
    ],
    "csf.evaluate.metric_difference": [
        (
            csf.metric_difference,
            {"y": Y, "pred_a": PRED, "pred_b": 1 - PRED, "groups": np.arange(N), "sample_weight": ONES},
        )
    ],
    "csf.evaluate.audit": [(partial(csf.audit, labels=20), {"score": PROBA, "predicted": PRED})],
    "csf.search.CostSearch.fit": [
        (lambda **rows: quick().fit(**rows), WEIGHTED | {"groups": np.arange(N)}),
        (lambda **rows: quick("savings").fit(**rows), DATA | COSTS),
    ],
    "csf.search.CostSearch.predict": [(lambda **rows: costly().predict(**rows), {"X": X} | COSTS)],
    "csf.search.CostSearch.predict_proba": [(lambda **rows: costly().predict_proba(**rows), {"X": X} | COSTS)],
    "csf.search.CostSearch.score_samples": [(lambda **rows: costly().score_samples(**rows), {"X": X} | COSTS)],
    "csf.search.CostSearch.decision_function": [(lambda **rows: costly().decision_function(**rows), {"X": X} | COSTS)],
    "csf.search.CostSearch.predict_with_review": [
        (lambda **rows: costly().predict_with_review(**rows), {"X": X} | COSTS)
    ],
    "csf.search.CostSearch.score": [
        (lambda **rows: search().score(**rows), WEIGHTED),
        (lambda **rows: costly().score(**rows), WEIGHTED | COSTS),
    ],
    "csf.search.CostSearch.threshold_curve": [
        (lambda **rows: search().threshold_curve(**rows), WEIGHTED),
        (lambda **rows: costly().threshold_curve(**rows), WEIGHTED | COSTS),
    ],
    "csf.search.CostSearch.prevalence": [(knowing(lambda known: search().prevalence(X, known)), KNOWN)],
    "csf.search.CostSearch.report": [
        (lambda **rows: reported(search().report, **rows), WEIGHTED | {"rival": PRED}),
        (lambda **rows: reported(costly().report, **rows), DATA | COSTS),
    ],
    "csf.report.write_report": [
        (lambda **rows: reported(lambda path, **o: write_report(search(), path, **o), **rows), WEIGHTED)
    ],
    "csf.metrics.ErrorProfile.from_predictions": [(ErrorProfile.from_predictions, LABELS)],
    "csf.metrics.ErrorProfile.from_classes": [(lambda **r: ErrorProfile.from_classes(null_class=0, **r), LABELS)],
    "csf.metrics.Metric.score": [(get_metric("f1").score, LABELS)],
    "csf.metrics.RowCosts.table": [(RowCosts(fn=None).table, {"X": X} | COSTS)],
    "csf.metrics.RowCosts.score": [(RowCosts(fn=None).score, LABELS | {"X": X} | COSTS)],
    "csf.Study.from_target": [(Study.from_target, {"y": Y, "sample_weight": ONES})],
    "csf.Study.tell": [(lambda **rows: told(**rows), LABELS | {"y_score": SCORE, "sample_weight": np.ones(N)})],
    "csf.monitoring.Monitor.expect": [(expected, {"y_pred": PRED, "rows": np.arange(N), "sample_weight": ONES})],
    "csf.monitoring.Monitor.update": [
        (watched, {"y": Y, "y_pred": PRED}),
        (partial(watched, Constraint(MeanCost(5.0), "<=", 1.5)), {"y": Y, "y_pred": PRED, "cost": COST}),
        (lambda **rows: costly().monitor(max_cost=1e3).update(**rows), {"y": Y, "y_pred": PRED, "X": X} | COSTS),
    ],
    "csf.monitoring.MonitorGroup.expect": [(partial(expected, BOTH), {"y_pred": PRED, "rows": np.arange(N)})],
    "csf.monitoring.MonitorGroup.update": [(partial(watched, BOTH), {"y": Y, "y_pred": PRED})],
    "csf.monitoring.Monitor.retune": [(lambda **rows: search().monitor("f1 >= 0.1").retune(**rows), WEIGHTED)],
    "csf.export.ScoreRule.decide": [
        (lambda **rows: export.decision_rule(costly()).decide(**rows), {"scores": PROBA} | COSTS),
        (
            lambda **rows: export.decision_rule(by_odd().search).decide(**rows),
            {"scores": SCORE, "by": np.arange(N) % 2},
        ),
    ],
    "csf.plots.NetBenefitDisplay.from_predictions": [
        (plots.NetBenefitDisplay.from_predictions, {"y_true": Y, "y_proba": PROBA})
    ],
    "csf.plots.ThresholdCurveDisplay.from_predictions": [(plots.ThresholdCurveDisplay.from_predictions, SCORES)],
    "csf.plots.ThresholdCurveDisplay.from_estimator": [
        (lambda **r: plots.ThresholdCurveDisplay.from_estimator(search(), **r), WEIGHTED),
        (lambda **r: plots.ThresholdCurveDisplay.from_estimator(search().best_estimator_, **r), WEIGHTED),
    ],
    "csf.plots.ThresholdCurveDisplay.from_cv_results": [
        (lambda **r: plots.ThresholdCurveDisplay.from_cv_results(folds(), **r), WEIGHTED)
    ],
    "csf.structural.StructuralLoss.tangent": [(structural.FBetaLoss().tangent, MASKS)],
    "csf.structural.StructuralLoss.value": [(structural.FBetaLoss().value, MASKS)],
    "csf.structural.partial_auc_score": [(structural.partial_auc_score, {"y_true": Y, "y_score": SCORE})],
    "csf.structural.precision_at_k_score": [(structural.precision_at_k_score, {"y_true": Y, "y_score": SCORE})],
    "csf.thresholding.threshold_curve": [(thresholding.threshold_curve, SCORES)],
    "csf.thresholding.probability_curve": [
        (thresholding.probability_curve, {"proba": PROBA, "target": Y, "sample_weight": ONES})
    ],
    "csf.thresholding.estimate_prevalence": [
        (lambda **r: thresholding.estimate_prevalence(pos=0.3, **r), {"y_score": PROBA, "sample_weight": ONES}),
        (knowing(lambda known: thresholding.estimate_prevalence(PROBA, 0.3, known=known)), KNOWN),
    ],
    "csf.thresholding.fold_probabilities": [
        (lambda **r: thresholding.fold_probabilities(LogisticRegression(), X_new=X, random_state=0, **r), DATA)
    ],
    "csf.thresholding.TunedScorer.__call__": [
        (lambda **r: thresholding.tuned_scorer("f1")(search().best_estimator_, **r), WEIGHTED)
    ],
    "csf.thresholding.EvalMetric.__call__": [
        (lambda y, score, **r: thresholding.lightgbm_metric("f1")(y, score, **r), {"y": Y, "score": SCORE})
    ],
}
LEARNERS = {
    "csf.plugin": ("BisectionPlugIn", "FrankWolfePlugIn", "PlugInClassifier", "RandomizedFrankWolfePlugIn"),
    "csf.fenchel": ("AMP", "FenchelSVM"),
    "csf.structural": ("CuttingPlane", "FTRL", "OnePassMiniBatch", "ProjectedSubgradient", "TwoPassMiniBatch"),
    "csf.online": ("FOFO", "OFO", "OMCSL", "SPADE", "STAMP", "OnlineLogistic"),
}


@cache
def learner(kind):
    good = {"base": LogisticRegression(), "cv": 3}
    return kind(**{name: good[name] for name in inspect.signature(kind).parameters if name in good})


@cache
def trained(kind):
    return clone(learner(kind)).fit(X, Y)


def learner_calls():
    for module, names in LEARNERS.items():
        for name in names:
            kind = getattr(importlib.import_module(module), name)
            weighted = WEIGHTED if "sample_weight" in inspect.signature(kind.fit).parameters else DATA
            if module != "csf.online":
                yield f"{module}.{name}.fit", (lambda kind=kind, **rows: clone(learner(kind)).fit(**rows)), weighted
            yield f"{module}.{name}.score", (lambda kind=kind, **rows: trained(kind).score(**rows)), WEIGHTED
    yield "csf.online.OnlineClassifier.fit", (lambda **rows: online.OFO().fit(**rows)), DATA
    yield "csf.online.OnlineClassifier.partial_fit", (lambda **rows: online.OFO().partial_fit(**rows)), DATA
    yield "csf.structural.TwoPassMiniBatch.collect", (lambda **r: structural.TwoPassMiniBatch().collect(**r)), DATA
    for name, scorer in {
        "TunedScorer": thresholding.tuned_scorer("f1"),
        "EvalMetric": thresholding.lightgbm_metric("f1"),
        "CatBoostMetric": thresholding.catboost_metric("f1"),
    }.items():
        yield f"csf.thresholding.{name}.value", scorer.value, SCORES


for place, function, its_rows in learner_calls():
    CALLS.setdefault(place, []).append((function, its_rows))
# Reports are drawn, and learners compiled.
COMPILED = ("csf.fenchel", "csf.structural", "csf.online")
SLOW = {name: [pytest.mark.slow] for name in CALLS if name.startswith(COMPILED) or "report" in name}
CASES = [pytest.param(*c, id=name, marks=SLOW.get(name, ())) for name, cases in CALLS.items() for c in cases]


def with_index(values, index):
    return pd.DataFrame(values, index=index) if values.ndim == 2 else pd.Series(values, index=index)


def warned(call, rows):
    """What a call says of the order of its rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(**rows)
    return {str(each.message) for each in caught if "in another order" in str(each.message)}


def test_the_walk_is_complete():
    """A new function that takes two things of the same rows needs a call here: then it has to warn."""
    walked = set(public_functions())
    assert walked == set(CALLS) | set(EXEMPT)
    assert not set(CALLS) & set(EXEMPT)


@pytest.mark.slow
@pytest.mark.parametrize(("call", "rows"), CASES)
def test_rows_in_another_order_are_warned_of(call, rows):
    index = np.arange(N) + 7
    for first, other in itertools.combinations(rows, 2):
        moved = {first: with_index(rows[first], index), other: with_index(rows[other], index).iloc[MIXED]}
        assert warned(call, rows | moved), f"{other} in another order than {first} is not warned of"


@pytest.mark.slow
@pytest.mark.parametrize(("call", "rows"), CASES)
def test_rows_in_one_order_are_not(call, rows):
    """Nor are those whose indexes differ in what they hold: the default one, that of other samples, duplicates."""
    first, *others = rows
    halves = np.r_[np.arange(N // 2), np.arange(N // 2)]
    for of_first, of_others in ((MIXED, MIXED), (MIXED, MIXED + 7), (MIXED + 7, None), (halves, halves)):
        indexes = dict.fromkeys(others, of_others) | {first: of_first}
        assert not warned(call, {name: with_index(values, indexes[name]) for name, values in rows.items()})
    assert not warned(call, rows)


def test_each_pair_is_compared():
    """Also where neither is the first argument; each that is out of order is named once."""
    mixed = pd.Series(ONES).iloc[MIXED]
    (said,) = warned(csf.tune_threshold, {"y": Y, "score": pd.Series(SCORE), "sample_weight": mixed})
    assert "the index of sample_weight is that of score in another order" in said
    said = warned(search().score, {"X": pd.DataFrame(X), "y": pd.Series(Y)[MIXED], "sample_weight": mixed})
    assert sorted(text.split(" in another")[0] for text in said) == [
        "the index of sample_weight is that of X",
        "the index of y is that of X",
    ]


PAIRS = pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")])
DAYS = pd.date_range("2026-01-01", periods=3)


@pytest.mark.parametrize(
    ("index", "other", "is_moved"),
    [
        ([1, 1, 2], [1, 2, 1], True),
        ([1, 1, 2], [2, 2, 1], False),  # of other samples
        (["a", "b", None], [None, "b", "a"], True),
        ([1.0, 2.0, 3.0], [1, 2, 3], False),
        (PAIRS, [0, 1, 2], False),
        (PAIRS, PAIRS[::-1], True),
        (DAYS, DAYS[::-1], True),
        (DAYS, DAYS.astype(str), False),
    ],
    ids=str,
)
def test_indexes_of_all_kinds(index, other, is_moved):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_order(y=pd.Series([0, 1, 1], index=index), score=pd.Series([0.1, 0.2, 0.3], index=other))
    assert len(caught) == is_moved


def test_polars_has_no_index():
    assert not warned(search().score, {"X": pl.DataFrame(X), "y": pl.Series(Y[MIXED])})


def test_what_is_recommended_gives_the_right_value():
    y_true, y_pred = pd.Series(Y), pd.Series(PRED).sample(frac=1, random_state=0)
    (said,) = warned(ErrorProfile.from_predictions, {"y_true": y_true, "y_pred": y_pred})
    assert "give y_pred.loc[y_true.index], else give y_pred.to_numpy()" in said
    assert ErrorProfile.from_predictions(y_true, y_pred.loc[y_true.index]) == ErrorProfile.from_predictions(Y, PRED)
