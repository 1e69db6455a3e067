"""What is missing is missing in any container: it is never the text "nan", a class, a segment or a negative."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import csf
from csf import CostSearch
from csf._common.validation import are_missing, as_array, label_array
from csf.export import decision_rule
from csf.metrics import ErrorProfile, RowCosts, get_metric
from csf.online import OnlineLogistic
from csf.structural import CuttingPlane

N = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
TEXTS = np.where(X[:, 0] + RNG.normal(size=N) > 0.7, "yes", "no").tolist()
KINDS = np.array(["a", "b", "c"])[np.argmax(np.c_[X, RNG.normal(size=N)], axis=1)].tolist()
SEXES = RNG.choice(["f", "m"], N).tolist()
UNITS = [f"unit {at // 3}" for at in range(N)]
BINARY = {"pos_label": "yes", "param_grid": None, "n_trials": 1, "cv": 2}


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Containers of values of which one is missing, and what stands for it there.
CONTAINERS = {
    "list with NaN": (list, np.nan),
    "list with numpy's NaN": (list, np.float32("nan")),
    "list with None": (list, None),
    "list with NA": (list, pd.NA),
    "list with NaT": (list, pd.NaT),
    "tuple": (tuple, np.nan),
    "objects": (objects, np.nan),
    "objects with NA": (objects, pd.NA),
    "Series": (pd.Series, np.nan),
    "Series of objects": (lambda values: pd.Series(values, dtype=object), pd.NA),
    "Series of texts": (lambda values: pd.Series(values, dtype="string"), pd.NA),
    "categories": (lambda values: pd.Series(values, dtype="category"), None),
    "Index": (pd.Index, np.nan),
    "polars": (pl.Series, None),
    "polars' categories": (lambda values: pl.Series(values, dtype=pl.Categorical), None),
    "pyarrow": (pa.array, None),
    "pyarrow in pieces": (lambda values: pa.chunked_array([values[:9], values[9:]]), None),
}


def lacking(values, container, at=7):
    make, missing = CONTAINERS[container]
    return make([missing if place == at else value for place, value in enumerate(values)])


@cache
def binary():
    return CostSearch(LogisticRegression(), **BINARY).fit(X, TEXTS)


@cache
def several():
    return CostSearch(LogisticRegression(), "f1_macro", param_grid=None, n_trials=1, cv=2).fit(X, KINDS)


@cache
def costly():
    return CostSearch(LogisticRegression(), "savings", **BINARY).fit(X, TEXTS, fn_cost=3.0, fp_cost=1.0)


BY_SEX = {"constraint": "recall gap <= 0.5 by sex"}


@cache
def by_sex():
    return CostSearch(LogisticRegression(), **BINARY, **BY_SEX).fit(X, TEXTS, by=SEXES)


# What reads labels, predictions, segments and groups.
CALLS = {
    "fit": (lambda y: CostSearch(LogisticRegression(), **BINARY).fit(X, y), TEXTS),
    "fit of several classes": (lambda y: CostSearch(LogisticRegression(), "f1_macro", cv=2).fit(X, y), KINDS),
    "fit by=": (lambda by: CostSearch(LogisticRegression(), **BINARY, **BY_SEX).fit(X, TEXTS, by=by), SEXES),
    "fit groups=": (lambda groups: CostSearch(LogisticRegression(), **BINARY).fit(X, TEXTS, groups=groups), UNITS),
    "score": (lambda y: binary().score(X, y), TEXTS),
    "score of several classes": (lambda y: several().score(X, y), KINDS),
    "score of costs": (lambda y: costly().score(X, y, fn_cost=3.0, fp_cost=1.0), TEXTS),
    "threshold_curve": (lambda y: binary().threshold_curve(X, y), TEXTS),
    "tune_threshold": (lambda y: csf.tune_threshold(y, X[:, 0], pos_label="yes"), TEXTS),
    "tune_threshold by=": (
        lambda by: csf.tune_threshold(TEXTS, X[:, 0], pos_label="yes", by=by, **BY_SEX),
        SEXES,
    ),
    "tune_threshold groups=": (lambda g: csf.tune_threshold(TEXTS, X[:, 0], pos_label="yes", groups=g), UNITS),
    "metric_interval y": (lambda y: csf.metric_interval(y, TEXTS, pos_label="yes"), TEXTS),
    "metric_interval pred": (lambda pred: csf.metric_interval(TEXTS, pred, pos_label="yes"), TEXTS),
    "metric_interval of classes": (lambda pred: csf.metric_interval(KINDS, pred, "f1_macro"), KINDS),
    "metric_interval groups=": (lambda g: csf.metric_interval(TEXTS, TEXTS, pos_label="yes", groups=g), UNITS),
    "metric_difference": (lambda b: csf.metric_difference(TEXTS, TEXTS, b, pos_label="yes"), TEXTS),
    "Metric.score": (lambda pred: get_metric("f1").score(TEXTS, pred, pos_label="yes"), TEXTS),
    "ErrorProfile y": (lambda y: ErrorProfile.from_classes(y, TEXTS, null_class="no"), TEXTS),
    "ErrorProfile y_pred": (lambda pred: ErrorProfile.from_classes(TEXTS, pred, null_class="no"), TEXTS),
    "RowCosts.score": (lambda pred: RowCosts(fn=2.0, fp=1.0).score(TEXTS, pred, pos_label="yes"), TEXTS),
    "Monitor.update y_pred": (lambda pred: binary().monitor("f1 >= 0.1").update(TEXTS, pred), TEXTS),
    "Monitor.expect rows": (
        lambda rows: binary().monitor("f1 >= 0.1").expect(TEXTS, rows=rows),
        [f"row {at}" for at in range(N)],
    ),
    "ScoreRule.decide by=": (lambda by: decision_rule(by_sex()).decide(np.full(N, 0.4), by=by), SEXES),
    "OnlineLogistic.fit": (lambda y: OnlineLogistic().fit(X, y), TEXTS),
    "CuttingPlane.score": (
        lambda y: CuttingPlane(max_iter=20, pos_label="yes").fit(X, TEXTS).score(X, y),
        TEXTS,
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", CALLS)
def test_a_missing_value_is_refused(name, container):
    call, values = CALLS[name]
    with pytest.raises(ValueError, match=r"missing|NaN|None|nan|<NA>|NaT"):
        call(lacking(values, container))


@pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "list with NaT"])
def test_a_label_that_is_missing_is_none_yet(container):
    """Monitors leave out rows whose label is not known."""
    monitor = binary().monitor("f1 >= 0.1")
    monitor.update(lacking(TEXTS, container), TEXTS)
    assert monitor.n_samples == N - 1


@pytest.mark.parametrize("container", CONTAINERS)
def test_arrays_hold_the_values_of_the_user(container):
    array = as_array(lacking(TEXTS, container), "y")
    assert are_missing(array).tolist() == [at == 7 for at in range(N)]
    assert [each for each in array.tolist() if isinstance(each, str)] == TEXTS[:7] + TEXTS[8:]
    whole = as_array(CONTAINERS[container][0](TEXTS), "y")
    assert whole.tolist() == TEXTS
    assert not are_missing(whole).any()


@pytest.mark.parametrize("make", [list, tuple, objects, pd.Series])
def test_labels_of_two_kinds_are_refused(make):
    with pytest.raises(ValueError, match="y mixes texts with labels of another kind"):
        label_array(make([1, "a", 1, "a"]), "y")
    with pytest.raises(ValueError, match="y mixes texts"):
        CostSearch(LogisticRegression(), "f1_macro").fit(X, make([1, "a", "b"] * 40))


def test_a_text_that_reads_nan_is_a_text():
    assert as_array(["nan", "None"], "y").tolist() == ["nan", "None"]
    assert not are_missing(as_array(["nan", "a"], "y")).any()


@pytest.mark.parametrize("make", [objects, list, lambda values: pd.Series(values, dtype=object)])
def test_scalars_of_numpy_are_numbers_of_python(make):
    """Frames whose rows are of several types hold numpy's integers as objects."""
    by = make([np.int64(each == "f") for each in SEXES])
    search = CostSearch(LogisticRegression(), **BINARY, **BY_SEX).fit(X, TEXTS, by=by)
    assert set(search.thresholds_) == {0, 1}
    assert as_array(make([np.str_("a"), np.bool_(True), np.float64(0.5)]), "y").tolist() == ["a", True, 0.5]
