"""Several classes on Spark: what CostSearch finds on the same folds, and a rule that Spark applies itself."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as MemoryRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import PredefinedSplit

from csf import CostSearch
from csf.distributed import hash_folds
from csf.metrics import CostMatrix, RowCosts
from csf.spark import SparkCostSearch, SparkCostSearchModel
from csf.spark.engine import SparkEngine

pytestmark = pytest.mark.slow

COSTS = CostMatrix(pd.DataFrame([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0], [8.0, 5.0, 0.0]]))
SAME = ("best_score_", "corrected_score_", "score_interval_", "confusion_", "constraint_value_")


@pytest.fixture(scope="module")
def rows():
    """Samples, three classes of 70, 22 and 8 %, weights that are whole, and folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    score = X @ np.array([1.0, -0.5, 0.3, 0.2]) + 0.8 * rng.normal(size=900)
    return X, np.digitize(score, np.quantile(score, [0.7, 0.92])), rng.integers(1, 3, 900), hash_folds(0, 900, 3)


@pytest.fixture(scope="module")
def frame(framed, rows):
    X, y, weight, fold = rows
    return framed(X, 2, label=y, w=weight, fold=fold, row=np.arange(y.size))


def logistic(**options):
    from pyspark.ml.classification import LogisticRegression

    # The same model as scikit-learn's, to many digits.
    return LogisticRegression(tol=1e-12, maxIter=500, standardization=False, **options)


def predicted(model, frame):
    columns = model.transform(frame).select("row", "prediction").toArrow().to_pandas()
    return columns.sort_values("row")["prediction"].to_numpy().astype(int)


@pytest.mark.parametrize(
    ("metric", "weighted", "options"),
    [
        ("f1_macro", True, {}),
        ("gmean", False, {}),
        ("f1_macro", False, {"constraint": "recall[2] >= 0.9"}),
        (COSTS, True, {"normalize": "none"}),
        ("balanced_accuracy", False, {"threshold": None}),
    ],
    ids=["plain", "gmean", "constraint", "costs", "own"],
)
def test_it_finds_what_the_search_in_memory_finds(frame, rows, tmp_path, metric, weighted, options):
    X, y, weight, fold = rows
    base = MemoryRegression(C=np.inf, tol=1e-10, max_iter=1000)
    whole = CostSearch(base, metric, param_grid=None, n_trials=1, cv=PredefinedSplit(fold), **options)
    whole.fit(X, y, weight if weighted else None)
    search = SparkCostSearch(estimator=logistic(), metric=metric, foldCol="fold", **options)
    model = search.setParams(weightCol="w" if weighted else None).fit(frame)
    local = model.to_local()
    for name in SAME:
        mine, known = (np.array(getattr(each, name), float) for each in (local, whole))
        np.testing.assert_allclose(mine, known, atol=1e-6, err_msg=name)
    assert (local.feasible_, local.n_trials_, local.best_params_) == (whole.feasible_, 1, {})
    assert local.class_costs_.tolist() == [1.0, 1.0, 1.0]
    assert local.class_count_.tolist() == np.bincount(y).tolist()
    np.testing.assert_allclose(local.rule_.worth, whole.rule_.worth, atol=1e-6)
    assert (model.bestThreshold, model.bestCosts, model.bestScore) == (None, None, local.best_score_)
    # Models in memory, Spark's own and those of its files decide alike.
    found = predicted(model, frame)
    np.testing.assert_array_equal(found, local.predict(X))
    np.testing.assert_array_equal(found, whole.predict(X))
    model.save(str(tmp_path / "model"))
    again = SparkCostSearchModel.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(predicted(again, frame), found)
    assert (repr(again.attributes), again.trials) == (repr(model.attributes), model.trials)
    pd.testing.assert_frame_equal(again.results, model.results)
    assert list(again.results["pooled_test_score"]) == [trial.score for trial in model.trials]
    assert type(again.bestModel).__module__.startswith("pyspark.")
    added = [name for name in model.transform(frame).columns if name not in frame.columns]
    assert added == ["rawPrediction", "probability", "prediction"]
    empty = again.transform(frame.where("row < 0"))
    assert (empty.columns, empty.count()) == (model.transform(frame).columns, 0)


def test_a_weight_of_two_is_a_row_that_is_there_twice(framed, rows):
    X, y, weight, fold = (np.asarray(each)[:400] for each in rows)
    names = np.arange(400)
    twice = np.repeat(names, weight)
    weighted = framed(X, 2, label=y, w=weight, fold=fold)
    repeated = framed(X[twice], 3, label=y[twice], fold=fold[twice])
    options = {"estimator": logistic(regParam=0.01), "metric": "f1_macro", "foldCol": "fold"}
    one = SparkCostSearch(weightCol="w", **options).fit(weighted).to_local()
    other = SparkCostSearch(**options).fit(repeated).to_local()
    assert one.best_score_ == pytest.approx(other.best_score_, abs=1e-6)
    np.testing.assert_allclose(one.confusion_, other.confusion_, atol=1e-6)
    np.testing.assert_allclose(one.rule_.worth, other.rule_.worth, atol=1e-6)


def test_several_estimators_and_pipelines_are_searched_together(frame, rows, tmp_path):
    """Of labels, a StringIndexer may have noted a class more than there are."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import DecisionTreeClassifier, RandomForestClassifier
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import StandardScaler, StringIndexer
    from pyspark.ml.tuning import ParamGridBuilder
    from pyspark.sql import functions as F

    given = frame.withColumn("name", F.element_at(F.array(*map(F.lit, "abc")), F.col("label").cast("int") + 1))
    indexer = StringIndexer(inputCol="name", outputCol="code", stringOrderType="alphabetAsc", handleInvalid="keep")
    given = indexer.fit(given).transform(given)
    forest = RandomForestClassifier(numTrees=4, maxDepth=4, featuresCol="scaled")
    pipeline = Pipeline(stages=[StandardScaler(inputCol="features", outputCol="scaled"), forest])
    tree = DecisionTreeClassifier()
    maps = ParamGridBuilder().addGrid(tree.maxDepth, [1, 4]).build()
    search = SparkCostSearch(estimator=[pipeline, tree], estimatorParamMaps=maps, metric="f1_macro", numFolds=2)
    model = search.setParams(labelCol="code", parallelism=2).fit(given)
    assert len(model.trials) == 3
    assert sorted(model.results["param_model"]) == ["decisiontreeclassifier"] * 2 + ["randomforestclassifier"]
    assert model.trials[model.bestIndex].setting == model.bestIndex
    low, high = model.scoreInterval
    assert low <= model.correctedScore <= high
    assert "only the settings and the rule" in model.stopReason
    assert len(model.transform(given).first()["probability"]) == 3
    judge = MulticlassClassificationEvaluator(labelCol="code", metricName="accuracy")
    assert judge.evaluate(model.transform(given)) > 0.7
    score = f1_score(rows[1], predicted(model, given), average="macro")
    assert score > model.correctedScore - 0.05
    local = model.to_local()
    local.report(tmp_path / "report.html")
    assert "f1_macro" in str(local.summary())
    with pytest.raises(AttributeError, match="transform of bestModel after a search on Spark"):
        local.predict(rows[0])


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_boosting_of_xgboost(frame, rows, tmp_path):
    from pyspark.ml import PipelineModel
    from pyspark.ml.functions import vector_to_array

    base = pytest.importorskip("xgboost.spark").SparkXGBClassifier(n_estimators=3, max_depth=3, num_workers=1)
    model = SparkCostSearch(estimator=base, metric="gmean", foldCol="fold", weightCol="w").fit(frame)
    assert model.bestScore > 0.5
    rule = model.to_local().rule_
    assert rule.kind != "argmax"
    model.bestModel.write().save(str(tmp_path / "model"))
    told = PipelineModel.load(str(tmp_path / "model")).transform(frame)
    given = np.array(told.select(vector_to_array("probability").alias("p"), "prediction").toArrow().to_pandas())
    np.testing.assert_array_equal(given[:, 1].astype(int), rule.decide(np.stack(given[:, 0])))


def test_a_sample_stands_for_all_rows(frame, rows, monkeypatch):
    monkeypatch.setattr("csf.spark.engine.MOST_COLLECTED", 400)
    model = SparkCostSearch(estimator=logistic(), metric="f1_macro", foldCol="fold").fit(frame)
    store = model.to_local().held_out_
    counts = np.bincount(store.truth)
    assert counts[2] == np.sum(rows[1] == 2)
    assert counts.sum() == pytest.approx(400, abs=60)
    np.testing.assert_allclose(np.bincount(store.truth, store.weight), np.bincount(rows[1]), atol=90)
    low, high = model.scoreInterval
    assert low <= model.correctedScore <= high
    assert low < f1_score(rows[1], predicted(model, frame), average="macro") < high


def test_a_search_goes_on_from_its_file(frame, tmp_path):
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.tuning import ParamGridBuilder

    base = DecisionTreeClassifier()
    maps = ParamGridBuilder().addGrid(base.maxDepth, [1, 4]).build()
    options = {"estimator": base, "estimatorParamMaps": maps, "metric": "f1_macro", "foldCol": "fold"}
    checkpoint = str(tmp_path / "search.json")
    first = SparkCostSearch(checkpoint=checkpoint, callbacks=[lambda study, trial: True], **options).fit(frame)
    again = SparkCostSearch(checkpoint=checkpoint, **options).fit(frame.repartition(3))
    plain = SparkCostSearch(**options).fit(frame)
    assert (len(first.trials), len(again.trials)) == (1, 2)
    assert (again.bestParams, again.bestScore) == (plain.bestParams, pytest.approx(plain.bestScore, abs=1e-6))
    assert again.bestParams == {"maxDepth": 4}


@pytest.mark.parametrize(
    ("base", "label", "options", "message"),
    [
        ("LinearSVC", "label", {}, "Only binary .* by LinearSVC. .* 3 classes. Use LogisticRegression.* == 1"),
        ("GBTClassifier", "label", {}, "Only binary .* by GBTClassifier. .* 3 classes. Use LogisticRegression"),
        ({"family": "binomial"}, "label", {}, r"Only binary .* by LogisticRegression\(family='binomial'\)"),
        ({"thresholds": [0.5, 0.3, 0.2]}, "label", {}, r"\(thresholds=\[0.5, 0.3, 0.2\]\) .* leave thresholds out"),
        ({}, "label", {"metric": "f1"}, "'f1' is a metric of two classes; for more, write 'f1_macro'"),
        ({}, "label", {"metric": RowCosts(fn=2.0, fp=1.0)}, "must hold 1 for the positive class .* other, got 2"),
        ({}, "label", {"constraint": "recall[3] >= 0.9"}, "3"),
        ({}, "label * 2", {}, r"1 for the positive class and 0 for the other, or 0, 1, \.\.\., .* got 4 without 1"),
        ({}, "label - 1", {}, r"or 0, 1, \.\.\., K - 1 for K <= 100 classes, got -1; .* StringIndexer"),
        ({}, "label + 0.5", {}, "classes, got 2.5"),
        ({}, "row + 1000000", {}, "classes, got 1000"),
        ({}, "if(label = 1 and fold <> 1, 0, label)", {}, "without fold 1 there is no 1 row of positive weight"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_training(frame, monkeypatch, base, label, options, message):
    from pyspark.ml import classification
    from pyspark.sql import functions as F

    monkeypatch.setattr(SparkEngine, "train", None)
    estimator = logistic(**base) if isinstance(base, dict) else getattr(classification, base)()
    options = {"metric": "f1_macro", "foldCol": "fold"} | options
    with pytest.raises(ValueError, match=message):
        SparkCostSearch(estimator=estimator, **options).fit(frame.withColumn("label", F.expr(label)))
