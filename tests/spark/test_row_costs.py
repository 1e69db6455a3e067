"""Costs of rows on Spark: what CostSearch finds on the same folds, and decisions by row that Spark makes itself."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as MemoryRegression
from sklearn.model_selection import PredefinedSplit

from csf import CostSearch
from csf.distributed import hash_folds
from csf.export import ScoreRule, decision_rule
from csf.export.records import restored
from csf.metrics import Column, RowCosts
from csf.spark import SparkCostSearch, SparkCostSearchModel
from csf.spark.decisions import answer_in_sql, answer_or_error
from csf.thresholding.base import ScoredElsewhere
from csf.thresholding.cost_decisions import CONSTANT, CostDecision
from csf.thresholding.row_costs import RowCostRule

pytestmark = pytest.mark.slow

COSTS = RowCosts(fn="amount", fp=2.0)


def rule_of(costs, decision, *, margin=False, power=0.0):
    """The rule of a decision on given scores."""
    reads, names = "decision_function" if margin else "predict_proba", np.array([0, 1])
    known = {"known": names, "names": names, "null": 0, "method": reads, "threshold": decision.threshold}
    source = ScoredElsewhere("", reads, names)
    return RowCostRule(source, **known, row_costs=costs, decision=decision, alone=0.0, power=power)


@pytest.fixture(scope="module")
def rows(data):
    X, y, weight = data
    rng = np.random.default_rng(1)
    return X, y, weight, hash_folds(0, y.size, 3), np.exp(rng.normal(size=y.size) + X[:, 0])


@pytest.fixture(scope="module")
def frame(framed, rows):
    X, y, weight, fold, amount = rows
    return framed(X, 2, label=y, w=weight, fold=fold, amount=amount)


def answers(model, frame):
    columns = model.transform(frame).select("amount", "label", "prediction").toArrow().to_pandas()
    return columns.sort_values("amount", ignore_index=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_it_finds_what_the_search_in_memory_finds(frame, rows, weighted, tmp_path):
    from pyspark.ml.classification import LogisticRegression

    X, y, weight, fold, amount = rows
    known = pd.DataFrame(X).assign(amount=amount)
    # Spark regularises the mean of the losses, with features as they are.
    n_trained = y.size * 2 / 3
    estimator = LogisticRegression(regParam=1.0 / n_trained, standardization=False, tol=1e-12, maxIter=500)
    search = SparkCostSearch(estimator=estimator, metric=COSTS, foldCol="fold", weightCol="w" if weighted else None)
    model = search.fit(frame)
    local = model.to_local()
    base = MemoryRegression(tol=1e-9)
    names = {"fn_cost": amount, "fp_cost": 2.0}
    whole = CostSearch(base, "savings", cv=PredefinedSplit(fold), param_grid=None, n_trials=1)
    whole.fit(X, y, weight if weighted else None, **names)
    assert (local.row_rule_, local.n_trials_) == (whole.row_rule_, 1)
    for name in ("best_score_", "corrected_score_", "score_interval_", "dearest_share_"):
        np.testing.assert_allclose(getattr(local, name), getattr(whole, name), atol=2e-2, err_msg=name)
    found = answers(model, frame)
    order = np.argsort(amount)
    assert np.mean(found["prediction"] != whole.predict(X, fn_cost=amount)[order]) < 0.02
    # In memory the costs are given with the rows, as they are no entries of the vectors.
    np.testing.assert_array_equal(local.predict(X, fn_cost=amount)[order], found["prediction"])
    rule, proba = decision_rule(local), local.best_estimator_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(rule.decide(proba, fn_cost=amount)[order], found["prediction"])
    with pytest.warns(UserWarning, match="fit was given costs that are not given here"):
        local.predict(X)
    value = COSTS.score(y[order], found["prediction"].to_numpy().astype(int), known.iloc[order])
    assert value == pytest.approx(model.bestScore, abs=0.1)
    # What is saved is Spark's own.
    model.save(str(tmp_path / "model"))
    again = SparkCostSearchModel.load(str(tmp_path / "model"))
    assert type(again.bestModel).__module__.startswith("pyspark.")
    pd.testing.assert_frame_equal(answers(again, frame), found)
    assert (again.bestScore, again.correctedScore) == (model.bestScore, model.correctedScore)
    assert list(model.results["pooled_test_score"]) == [trial.score for trial in model.trials]


def test_a_sample_and_a_pipeline(frame, rows, monkeypatch):
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StandardScaler

    monkeypatch.setattr("csf.spark.engine.MOST_COLLECTED", 700)
    scaler = StandardScaler(inputCol="features", outputCol="scaled")
    estimator = Pipeline(stages=[scaler, NaiveBayes(modelType="gaussian", featuresCol="scaled")])
    search = SparkCostSearch(estimator=estimator, metric=COSTS, numFolds=2, constraint="recall >= 0.5")
    model = search.fit(frame)
    held = model.to_local().held_out_
    assert 500 < held.truth.size < 900
    # All of the rare class, and of the other one weights that stand for all.
    assert held.truth.sum() == rows[1].sum()
    assert np.average(held.truth, weights=held.weight) == pytest.approx(rows[1].mean(), rel=0.1)
    assert held.truth.mean() > 1.3 * rows[1].mean()
    low, high = model.scoreInterval
    assert low <= model.correctedScore <= high
    found = answers(model, frame)
    assert found.loc[found["label"] == 1, "prediction"].mean() >= 0.4


def test_what_memory_refuses_is_refused_where_the_model_serves(spark):
    """Costs that are none, and scores that are missing, are errors and not the answer "negative"."""
    from pyspark.errors import SparkRuntimeException
    from pyspark.sql import functions as F

    name, nan, inf = "what's `due`", float("nan"), float("inf")
    costs = RowCosts(fn=name, fp="fp", tp=1.0)
    answer = answer_or_error("`score`", answer_in_sql("`score`", rule_of(costs, CostDecision()), costs))
    schema = f"score double, fp double, `{name.replace('`', '``')}` double"

    def answered(score, fp, fn):
        return spark.createDataFrame([(score, fp, fn)], schema).select(F.expr(answer)).collect()[0][0]

    assert (answered(0.5, 2.0, 4.0), answered(0.1, 2.0, 4.0), answered(0.5, 2.0, 1.0)) == (1.0, 0.0, 0.0)
    for wrong, shown in ((None, "null"), (nan, "NaN"), (-1.0, "-1.0"), (inf, "Infinity")):
        message = re.escape(f"fn={name!r} of the metric is {shown}; costs are finite numbers >= 0")
        with pytest.raises(SparkRuntimeException, match=message):
            answered(0.5, 2.0, wrong)
        with pytest.raises(SparkRuntimeException, match=f"fp='fp' of the metric is {shown}; costs are finite"):
            answered(0.5, wrong, 4.0)
    for missing in (None, nan):
        with pytest.raises(SparkRuntimeException, match="the model gives no score; fill missing features"):
            answered(missing, 2.0, 4.0)


# Extra costs below 0 make both errors cheaper than the right answers in some rows.
@pytest.mark.parametrize("extra", [(0.5, 0.25), (-1.2, -1.1)])
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize("kind", ["plain", "sigmoid", "swept", "negative", "positive"])
def test_answers_in_sql_are_those_in_memory(spark, kind, margin, extra):
    from pyspark.sql import functions as F

    rng = np.random.default_rng(0)
    fn, tp, fp, tn = (rng.choice([0.0, 1.0, 1.5, 7.0, 1e6], 400) for _ in range(4))
    score = rng.normal(size=400) * 3 if margin else rng.choice([0.0, 1.0, 1e-9, 0.3, 0.5, 0.9], 400)
    table = pd.DataFrame({"fn": fn, "tp": tp, "fp": fp, "tn": tn, "score": score})
    table = table[~((table["fn"] < table["tp"]) & (table["fp"] < table["tn"]))]
    costs, power = RowCosts(fn="fn", fp="fp", tp="tp", tn="tn"), 0.0 if kind == "plain" else 0.5
    options = {"slope": 0.7, "intercept": 0.2, "farthest": 5.0} if kind == "sigmoid" else {"intercept": 0.1}
    threshold = {"swept": 0.4}.get(kind, CONSTANT.get(kind, 0.0))
    decision = CostDecision(kind, threshold, extra=extra, **options)
    rule = rule_of(costs, decision, margin=margin, power=power)
    given = {f"{name}_cost": table[name] for name in ("fn", "fp", "tp", "tn")}
    # What a file of the rule holds decides the same.
    held = ScoreRule(replace(rule, row_costs=RowCosts(tp=None, tn=None)))
    saved = restored(json.loads(json.dumps(held.to_dict())))
    expected = saved.decide(table["score"].to_numpy(), **given)
    answer = F.expr(answer_in_sql("`score`", saved.rule, costs))
    frame = spark.createDataFrame(table.to_numpy().tolist(), list(table.columns))
    found = np.array(frame.select(answer.alias("answer")).collect())[:, 0]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("metric", "options", "error", "message"),
    [
        (RowCosts(fn="size", fp=1.0), {}, ValueError, "fn of the metric='size' is no column of the frame"),
        (RowCosts(fn=Column(1), fp=1.0), {}, ValueError, "fn of the metric must be a number or the name of a column"),
        ("savings", {}, ValueError, r"fn of the metric must be .*RowCosts\(fn='amount', fp=5.0\)"),
        (RowCosts(fn="negative", fp=1.0), {}, ValueError, "fn='negative' of the metric is -1.* costs are finite"),
        (RowCosts(fn="amount", fp=0.0), {}, ValueError, "there is nothing to decide"),
        (RowCosts(fn=1.0, tp=2.0, fp=0.0, tn=1.0), {}, ValueError, "both errors cost less .* in 1200 rows"),
        (COSTS, {"constraint": "recall >= 0.8 in each label"}, ValueError, "is by segments"),
        (COSTS, {"threshold": "tune"}, ValueError, "threshold='tune' is not for costs of rows"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_training(frame, monkeypatch, metric, options, error, message):
    from pyspark.ml.classification import NaiveBayes
    from pyspark.sql import functions as F

    monkeypatch.setattr("csf.spark.engine.SparkEngine.train", None)
    search = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), metric=metric, numFolds=2, **options)
    with pytest.raises(error, match=message):
        search.fit(frame.withColumn("negative", F.col("amount") - 2.0))
