"""Names win over order: whatever takes a table whose columns have names that are known from elsewhere goes by these."""

import warnings
from functools import cache, partial
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import csf
from csf import CostSearch, export
from csf.report.page import Drawn

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
LABELS = ["cat", "dog", "fox"]
Y = pd.DataFrame((X + RNG.normal(size=(N, 3)) > [1.0, 0.6, 0.2]).astype(int), columns=LABELS)
CLASSES = ["red", "rose", "white"]
KIND = np.array(CLASSES)[np.argmax(X + RNG.normal(size=(N, 3)), axis=1)]
QUICK = {"param_grid": None, "n_trials": 1, "cv": 2, "random_state": 0}
MIXED = [2, 0, 1]


@cache
def labels(metric="f1_macro"):
    return CostSearch(LogisticRegression(), metric, **QUICK).fit(X, Y)


@cache
def classes():
    return CostSearch(LogisticRegression(), "f1_macro", **QUICK).fit(X, KIND)


def probabilities():
    return pd.DataFrame(classes().best_estimator_.predict_proba(X), columns=CLASSES)


def found(search):
    return pd.DataFrame(search.predict(X), columns=LABELS)


def watched(metric, y, y_pred):
    monitor = labels(metric).monitor("f1 >= 0.1" if metric == "f1_macro" else None)
    monitor.update(y, y_pred)
    return str(getattr(monitor, "monitors", monitor))


def awaited(y, y_pred):
    monitor = labels().monitor("f1 >= 0.1")
    monitor.expect(y_pred, rows=np.arange(N))
    monitor.update(y, rows=np.arange(N))
    return str(monitor.monitors)


def reported(y, rival):
    """What a report compares; it has no figures."""
    with TemporaryDirectory() as folder, patch("csf.report.page.figure", lambda *_, **__: Drawn("", "")):
        labels().report(f"{folder}/report.html", X, y, rivals={"it": rival})
        with open(f"{folder}/report.html", encoding="utf-8") as page:
            return page.read()


def tuned(score):
    return csf.tune_threshold(KIND, score, "f1_macro", random_state=0)


def rule_of(metric="f1", **beside):
    y, options = np.where(Y["cat"] > 0, "yes", "no"), {"cv": "prefit", "pos_label": "yes"}
    if "by" in beside:
        options["constraint"] = "recall gap <= 0.9 by s"
    return export.decision_rule(CostSearch(GaussianNB().fit(X, y), metric, **options).fit(X, y, **beside))


SEGMENTS = np.array(["a", "b"] * (N // 2))
TWO = pd.DataFrame({"no": RNG.random(N)}).assign(yes=lambda table: 1.0 - table["no"])
PRED = Y.sample(frac=1.0, random_state=0).reset_index(drop=True)
# What takes tables with named columns.
CALLS = {
    "score": (lambda y: labels().score(X, y), [Y]),
    "score with one threshold": (lambda y: labels("f1_micro").score(X, y), [Y]),
    "threshold_curve": (lambda y: labels("f1_micro").threshold_curve(X, y).fn, [Y]),
    "metric_interval": (lambda y, pred: csf.metric_interval(y, pred, "f1_macro"), [Y, PRED]),
    "metric_difference": (lambda y, a, b: csf.metric_difference(y, a, b, "f1_macro"), [Y, PRED, Y]),
    "Monitor.update": (partial(watched, "f1_samples"), [Y, PRED]),
    "MonitorGroup.update": (partial(watched, "f1_macro"), [Y, PRED]),
    "MonitorGroup.expect": (awaited, [Y, PRED]),
    "report": (reported, [Y, PRED]),
    "tune_threshold": (lambda score: tuned(score).value, [probabilities]),
    "Decision.predict": (lambda score: tuned(probabilities()).predict(score), [probabilities]),
    "ScoreRule.decide": (rule_of().decide, [TWO]),
    "ScoreRule.decide of classes": (lambda scores: export.decision_rule(classes()).decide(scores), [probabilities]),
    "ScoreRule.decide of labels": (
        lambda scores: export.decision_rule(labels()).decide(scores),
        [lambda: pd.DataFrame(labels().decision_function(X), columns=LABELS)],
    ),
    "ScoreRule.decide by segment": (lambda scores: rule_of(by=SEGMENTS).decide(scores, by=SEGMENTS), [TWO]),
    "ScoreRule.decide of costs": (rule_of("cost", fn_cost=3.0, fp_cost=1.0).decide, [TWO]),
}
CASES = [pytest.param(name, marks=[pytest.mark.slow] * (name == "report")) for name in CALLS]
KINDS = {"pandas": lambda table: table, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def moved(table):
    order = MIXED if table.shape[1] == 3 else [1, 0]
    return table[table.columns[order]]


def same(one, other):
    one, other = np.asarray(one), np.asarray(other)
    # The draws of an interval come in the order of the columns of y.
    return np.array_equal(one, other) if one.dtype.kind in "OU" else np.allclose(one, other, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_columns_go_by_their_names(name, kind):
    call, tables = CALLS[name]
    tables = [table() if callable(table) else table for table in tables]
    plain = call(*tables)
    for at in range(len(tables)):
        given = [KINDS[kind](moved(each)) if at == place else each for place, each in enumerate(tables)]
        assert same(call(*given), plain)


@pytest.mark.parametrize("name", CASES)
def test_other_names_are_refused_with_both_orders(name):
    call, tables = CALLS[name]
    tables = [table() if callable(table) else table for table in tables]
    for at in range(len(tables)):
        # The first one says what the others should be called, where no search does.
        if at == 0 and "metric" in name:
            continue
        given = list(tables)
        given[at] = given[at].set_axis(["other", *given[at].columns[1:]], axis=1)
        with pytest.raises(ValueError, match=r"has the columns \['other', .*\], and there should be \["):
            call(*given)


@pytest.mark.parametrize("name", CASES)
def test_numbered_columns_are_taken_by_position(name):
    call, tables = CALLS[name]
    tables = [table() if callable(table) else table for table in tables]
    bare = [table.to_numpy() for table in tables]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(call(*map(pd.DataFrame, bare)), call(*bare))
