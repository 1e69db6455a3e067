"""SparkCostSearch: profiles that are those of Spark's own models and labels, its files, and what it refuses."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from builders import paper_search
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.distributed import hash_folds
from csf.export import linear_rule
from csf.search import CostSearch
from csf.spark import SparkCostSearch, SparkCostSearchModel
from csf.spark.engine import SparkData, SparkEngine
from csf.thresholding import threshold_curve

pytestmark = pytest.mark.slow

BASES = ("svc", "logistic", "multinomial", "boosting", "pipeline")
# The search of the papers.
PAPER = {"strategy": "cone", "threshold": "tune", "normalize": "none"}
OPTIONS = PAPER | {"nTrials": 1, "foldCol": "fold", "weightCol": "w", "parallelism": 2}
CONSTRAINED = {"nTrials": 2, "metric": "recall", "constraint": "precision >= 0.5"}


def base_of(name):
    from pyspark.ml import Pipeline
    from pyspark.ml import classification as c
    from pyspark.ml.feature import StandardScaler

    if name == "svc":
        return c.LinearSVC(maxIter=5, threshold=0.2)
    if name == "logistic":
        return c.LogisticRegression(maxIter=6, threshold=0.4)
    if name == "multinomial":
        return c.LogisticRegression(maxIter=6, family="multinomial")
    if name == "boosting":
        return c.GBTClassifier(maxIter=2, maxDepth=3)
    forest = c.RandomForestClassifier(numTrees=4, maxDepth=4, featuresCol="scaled")
    return Pipeline(stages=[StandardScaler(inputCol="features", outputCol="scaled"), forest])


@pytest.fixture(scope="module")
def frame(framed, data):
    X, y, weight = data
    return framed(X, 2, label=y, w=weight, fold=hash_folds(0, y.size, 2), row=np.arange(y.size))


@pytest.fixture(scope="module")
def fitted(frame):
    """Function that gives the model of a base, searched once."""
    known = {}

    def fit(name):
        if name not in known:
            options = OPTIONS | (CONSTRAINED if name == "svc" else {})
            known[name] = SparkCostSearch(estimator=base_of(name), **options).fit(frame)
        return known[name]

    return fit


def labelled(name, frame, costs, threshold):
    """Scores and labels that Spark's own models, trained by hand on the folds, give the rows they did not see."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as F

    column = "rawPrediction" if name == "svc" else "probability"
    parts = []
    for fold in (0, 1):
        cost = F.when(F.col("label") == 1, costs[0]).otherwise(costs[1]) * F.col("w")
        base = base_of(name)
        last = base.getStages()[-1] if name == "pipeline" else base
        if last.hasParam("seed"):
            last.setSeed(0)
        last.setWeightCol("cost")
        model = base.fit(frame.where(F.col("fold") != fold).withColumn("cost", cost))
        last = model.stages[-1] if name == "pipeline" else model
        if name in ("svc", "logistic"):
            last.setThreshold(threshold)
        else:
            last.setThresholds([1 - threshold, threshold])
        told = model.transform(frame.where(F.col("fold") == fold))
        parts += told.select("row", vector_to_array(column)[1].alias("score"), "prediction").collect()
    row, score, label = (np.array([part[k] for part in parts]) for k in range(3))
    order = np.argsort(row)
    return score[order], label[order] == 1


@pytest.mark.parametrize("name", BASES)
def test_profiles_are_those_of_native_models_and_their_labels(fitted, frame, data, name):
    _, y, weight = data
    model = fitted(name)
    trial = model.trials[model.bestIndex]
    # What the model of everything got from this cut, the models of the folds get too.
    score, label = labelled(name, frame, trial.costs, model.bestThreshold)
    wrong = [(weight * (found & (y == c))).sum() / weight.sum() for found, c in ((~label, 1), (label, 0))]
    own = threshold_curve(y, score if name == "svc" else score.astype(np.float32).astype(float), sample_weight=weight)
    cut = own.best(CONSTRAINED["metric"] if name == "svc" else "f1", *(constraint(name)))
    assert trial.threshold == cut.threshold
    assert trial.score == pytest.approx(cut.value, rel=1e-12)
    assert wrong == pytest.approx([cut.profile.fn, cut.profile.fp], rel=1e-12)
    assert max(found.n_passes for found in model.countedCuts) <= 4
    assert model.bestScore == trial.score == model.trials[model.bestIndex].score
    assert model.feasible
    assert model.upperBound >= model.bestScore
    assert model.numFolds == 2


def constraint(name):
    from csf.metrics import get_constraint

    return (get_constraint(CONSTRAINED["constraint"]),) if name == "svc" else ()


@pytest.mark.parametrize("name", ["svc", "pipeline"])
def test_the_winner_is_sparks_own_model_and_knows_nothing_of_the_search(fitted, frame, name):
    from pyspark.ml import PipelineModel

    model = fitted(name)
    best = model.bestModel
    last = best.stages[-1] if isinstance(best, PipelineModel) else best
    assert type(best).__module__.startswith("pyspark.ml")
    assert (last.getLabelCol(), last.getOrDefault("weightCol")) == ("label", "")
    given = model.transform(frame)
    assert given.columns == best.transform(frame).columns
    assert not [name for name in given.columns if "SparkCostSearch" in name]
    score = "rawPrediction" if name == "svc" else "probability"
    from pyspark.ml.functions import vector_to_array

    rows = given.select(vector_to_array(score)[1], "prediction").collect()
    assert all((value > model.bestThreshold) == (label == 1) for value, label in rows)


SERVED = """
import importlib.util, json, os, sys
sys.path = [each for each in sys.path if not os.path.exists(os.path.join(each or ".", "csf"))]
sys.meta_path = [each for each in sys.meta_path if "editable" not in str(each)]
assert importlib.util.find_spec("csf") is None
from pyspark.ml.util import DefaultParamsReader
from pyspark.sql import SparkSession

folder, local = sys.argv[1], json.loads(sys.argv[2])
builder = SparkSession.builder.master("local[2]")
for name, value in local.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
told = {}
for name in sys.argv[3:]:
    model = DefaultParamsReader.loadParamsInstance(f"{folder}/{name}", spark)
    rows = model.transform(spark.read.parquet(f"{folder}/frame")).select("row", "prediction").collect()
    told[name] = [label for _, label in sorted(map(tuple, rows))]
print(json.dumps(told))
"""


def test_it_is_saved_and_served_without_csf(fitted, frame, tmp_path, local):
    frame.write.parquet(str(tmp_path / "frame"))
    expected = {}
    for name in BASES:
        fitted(name).bestModel.write().save(str(tmp_path / name))
        rows = fitted(name).transform(frame).select("row", "prediction").collect()
        expected[name] = [label for _, label in sorted(map(tuple, rows))]
    given = [sys.executable, "-c", SERVED, str(tmp_path), json.dumps(local), *BASES]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"capture_output": True, "text": True, "check": False, "cwd": tmp_path}
    done = subprocess.run(given, env=environment, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == expected
    assert all(0 < sum(labels) < len(labels) for labels in expected.values())


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_boosting_of_xgboost_gets_stages_that_cut(frame, tmp_path):
    """Its own models cut at a half."""
    from pyspark.ml import PipelineModel
    from pyspark.ml.functions import vector_to_array

    base = pytest.importorskip("xgboost.spark").SparkXGBClassifier(n_estimators=3, max_depth=3, num_workers=1)
    model = SparkCostSearch(estimator=base, **OPTIONS | {"parallelism": 1}).fit(frame)
    assert model.bestScore > 0.4
    model.bestModel.write().save(str(tmp_path / "model"))
    best = PipelineModel.load(str(tmp_path / "model"))
    told = best.transform(frame)
    assert [name for name in told.columns if name not in frame.columns] == [
        "rawPrediction",
        "probability",
        "prediction",
    ]
    rows = told.select(vector_to_array("probability")[1], "prediction").collect()
    assert all((value > model.bestThreshold) == (label == 1) for value, label in rows)


@pytest.mark.parametrize("name", ["logistic", "svc"])
def test_linear_winners_predict_in_memory(fitted, frame, data, tmp_path, name):
    model, (X, y, weight) = fitted(name), data
    local = pickle.loads(pickle.dumps(model.to_local()))
    told = [row["prediction"] for row in model.transform(frame).orderBy("row").select("prediction").collect()]
    assert np.mean(local.predict(X) != told) < 0.002
    assert (local.best_score_, local.corrected_score_) == (model.bestScore, model.correctedScore)
    assert (local.best_cost_weights_, local.upper_bound_) == (model.bestCosts, model.upperBound)
    assert local.class_count_.tolist() == np.bincount(y).tolist()
    np.testing.assert_array_equal(linear_rule(local).predict(X), local.predict(X))
    local.report(tmp_path / "report.html", X, y)
    assert "to expect on new data" in str(local.summary())
    assert local.at_prevalence(0.3).best_threshold_ != local.best_threshold_
    assert not local.monitor("f1 >= 0.1").update(y, local.predict(X), sample_weight=weight)


@pytest.mark.parametrize("name", ["tree", "pipeline"])
def test_other_winners_are_shown_in_memory_and_predict_on_spark(fitted, data, tmp_path, name):
    model = fitted(name)
    local = pickle.loads(pickle.dumps(model.to_local()))
    assert local.score_interval_ == model.scoreInterval
    local.report(tmp_path / "report.html")
    assert local.at_prevalence(0.3).best_score_ > 0.0
    with pytest.raises(AttributeError, match="transform of bestModel after a search on Spark"):
        local.predict(data[0])


def test_models_and_searches_are_files_too(fitted, frame, tmp_path):
    from pyspark.ml.tuning import ParamGridBuilder

    model = fitted("svc")
    model.write().overwrite().save(str(tmp_path / "model"))
    again = SparkCostSearchModel.load(str(tmp_path / "model"))
    assert (again.uid, again.attributes, again.trials) == (model.uid, model.attributes, model.trials)
    assert again.scoreInterval[0] < again.correctedScore < again.scoreInterval[1]
    assert again.boundMargin > 0
    with pytest.raises(
        ValueError, match="read from files, which keep no held-out scores; save the search that to_local"
    ):
        again.to_local()
    assert again.transform(frame).collect() == model.transform(frame).collect()
    assert again.results.shape == model.results.shape
    assert again.copy().bestScore == model.bestScore
    base = base_of("pipeline")
    maps = ParamGridBuilder().addGrid(base.getStages()[-1].maxDepth, [2, 3]).build()
    search = SparkCostSearch(estimator=base, estimatorParamMaps=maps, tol=0.01, **OPTIONS | {"threshold": None})
    search.save(str(tmp_path / "search"))
    other = SparkCostSearch.load(str(tmp_path / "search"))
    assert (other.uid, other.getNTrials(), other.getThreshold(), other.getTol()) == (search.uid, 1, None, 0.01)
    assert [list(each.values()) for each in other.getEstimatorParamMaps()] == [[2], [3]]
    assert other.getEstimator().getStages()[-1].getNumTrees() == 4
    other.setParams(metric=lambda fn, fp: 0.0)
    with pytest.raises(ValueError, match=r"metric=.* cannot be saved: give it by its name"):
        other.save(str(tmp_path / "other"))


def test_parameters_are_searched_with_the_models_own_decision(frame, data):
    from pyspark.ml.classification import DecisionTreeClassifier
    from pyspark.ml.tuning import ParamGridBuilder

    base = DecisionTreeClassifier()
    maps = ParamGridBuilder().addGrid(base.maxDepth, [1, 4]).build()
    search = SparkCostSearch(estimator=base, estimatorParamMaps=maps, nTrials=1, threshold=None)
    model = search.setParams(foldCol="fold", numFolds=2).fit(frame)
    assert (len(model.trials), model.bestThreshold) == (2, None)
    assert model.bestParams in ({"maxDepth": 1}, {"maxDepth": 4})
    assert model.bestModel.getMaxDepth() == model.bestParams["maxDepth"]
    assert not model.bestModel.isSet("thresholds")
    assert sorted(model.results["param_maxDepth"]) == [1, 4]
    assert all(trial.threshold is None for trial in model.trials)


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_the_plain_call_is_that_in_memory(frame, data, metric):
    """Of a base without a fast solver: engine="generic" trains scikit-learn's anew each time, as Spark does."""
    from pyspark.ml.classification import LogisticRegression as SparkLogisticRegression

    X, y, _ = data
    fold = hash_folds(0, y.size, 2)
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (0, 1)]
    base = LogisticRegression(C=1e8, tol=1e-10, max_iter=1000)
    known = CostSearch(base, metric, engine="generic", param_grid=None, cv=cv).fit(X, y)
    model = SparkCostSearch(estimator=SparkLogisticRegression(tol=1e-12), metric=metric, foldCol="fold").fit(frame)
    assert model.bestIndex == known.best_index_
    assert len(model.trials) == len(known.trials_) == 3
    assert model.bestCosts == pytest.approx(known.best_cost_weights_, rel=1e-12)
    assert [trial.score for trial in model.trials] == pytest.approx([t.score for t in known.trials_], abs=1e-6)
    # Draws are of rows in another order.
    assert model.bestThreshold == pytest.approx(1 / (1 + np.exp(-known.best_threshold_)), abs=0.05)
    assert model.bestScore == pytest.approx(known.best_score_, abs=0.01)
    assert model.correctedScore == pytest.approx(known.corrected_score_, abs=0.01)
    assert model.scoreInterval == pytest.approx(known.score_interval_, abs=0.02)
    assert model.boundMargin == pytest.approx(known.bound_margin_, abs=0.01)
    assert model.upperBound == pytest.approx(known.upper_bound_, abs=0.01)
    assert model.gap == pytest.approx(known.gap_, abs=0.01)


def test_of_many_rows_only_counts_are_known(frame, monkeypatch):
    from pyspark.ml.classification import NaiveBayes

    monkeypatch.setattr("csf.spark.engine.MOST_COLLECTED", 1199)
    search = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), nTrials=2, foldCol="fold")
    with pytest.warns(UserWarning, match="the folds hold 1200 rows, too many for their scores to be collected"):
        model = search.fit(frame)
    best = model.trials[model.bestIndex]
    assert best.score == max(trial.score for trial in model.trials) == model.bestScore
    assert (model.correctedScore, model.scoreInterval, model.boundMargin) == (None, None, 0.0)
    assert best.threshold == pytest.approx(model.bestThreshold, abs=1e-6)


def test_time_may_end(frame):
    from pyspark.ml.classification import NaiveBayes

    options = {"estimator": NaiveBayes(modelType="gaussian"), "foldCol": "fold", "strategy": "cone"}
    model = SparkCostSearch(timeLimit=1e-3, **options).fit(frame)
    assert model.stopReason == "the time limit of 0.001 s leaves no time for another trial and the refit"
    assert len(model.trials) == 1


def test_one_part_is_held_out_and_callbacks_hear_of_each_trial(frame, tmp_path, capsys):
    from pyspark.ml.classification import NaiveBayes

    heard = []
    options = {"estimator": NaiveBayes(modelType="gaussian"), "trainRatio": 0.75, "verbose": 1}
    search = SparkCostSearch(callbacks=[lambda study, trial: heard.append(trial.number) or len(heard) == 2], **options)
    model = search.fit(frame)
    assert heard == [0, 1]
    assert (model.stopReason, model.numFolds, len(model.trials)) == ("a callback ended the search", 1, 2)
    assert model.correctedScore is not None
    assert "trial" in capsys.readouterr().err
    data = SparkData(frame, "label", None, None, 0.25, 0, "t")
    held_out = data.held_out().count()
    assert 200 < held_out < 400
    assert data.training_rows(0, (1.0, 1.0)).count() == 1200 - held_out
    # What a file keeps is everything but the callbacks.
    search.write().overwrite().save(str(tmp_path / "search"))
    again = SparkCostSearch.load(str(tmp_path / "search"))
    assert (again.getTrainRatio(), again.getVerbose(), again.getCallbacks()) == (0.75, 1, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trainRatio": 1.0}, "trainRatio must be"),
        ({"trainRatio": 0.8, "numFolds": 3}, "trainRatio holds out one part, numFolds and foldCol several"),
        ({"trainRatio": 0.8, "foldCol": "fold"}, "trainRatio holds out one part, numFolds and foldCol several"),
    ],
)
def test_one_part_or_several_are_held_out(frame, options, message):
    from pyspark.ml.classification import NaiveBayes

    with pytest.raises(ValueError, match=message):
        SparkCostSearch(estimator=NaiveBayes(), **options).fit(frame)


def test_a_search_goes_on_from_its_file(framed, data, tmp_path, monkeypatch):
    from pyspark.ml.classification import NaiveBayes

    from csf.spark.engine import SparkBase

    X, y, _ = data
    frame = framed(X, 1, label=y)
    options = {"nTrials": 2, "strategy": "grid", "numFolds": 2, "seed": 3}
    whole = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), **options).fit(frame)
    options["checkpoint"] = str(tmp_path / "search.json")
    trained, count = SparkBase.trained, []

    def killed(self, *arguments):
        count.append(1)
        if len(count) == 3:
            raise SystemExit
        return trained(self, *arguments)

    monkeypatch.setattr(SparkBase, "trained", killed)
    with pytest.raises(SystemExit):
        SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), **options).fit(frame)
    # Another object, with other uids, on the same rows in another order and other partitions.
    again = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), **options).fit(frame.repartition(3))
    assert len(again.countedCuts) == 1
    assert [(t.t, t.threshold, t.profile) for t in again.trials] == [
        (t.t, t.threshold, t.profile) for t in whole.trials
    ]
    assert again.attributes == whole.attributes
    for base, rows in (
        (NaiveBayes(modelType="gaussian", smoothing=2.0), frame),
        (NaiveBayes(modelType="gaussian"), frame.limit(1100)),
    ):
        with pytest.raises(ValueError, match="belongs to another search"):
            SparkCostSearch(estimator=base, **options).fit(rows)


DRIVER = """
import json, os, signal, sys
from pyspark.ml.classification import NaiveBayes
from pyspark.sql import SparkSession
from csf.spark import SparkCostSearch
from csf.spark.engine import SparkBase

folder, last, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[4])
builder = SparkSession.builder.master("local[2]")
for name, value in json.loads(sys.argv[3]).items():
    builder = builder.config(name, value)
frame = builder.getOrCreate().read.parquet(f"{folder}/frame")
trained, count = SparkBase.trained, []

def counted(self, *given):
    count.append(1)
    if len(count) == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return trained(self, *given)

SparkBase.trained = counted
options["checkpoint"] = f"{folder}/search.json"
model = SparkCostSearch(estimator=NaiveBayes(modelType="gaussian"), **options).fit(frame)
print(json.dumps([len(count), [(trial.t, trial.threshold, trial.score) for trial in model.trials]]))
"""


def test_a_driver_that_was_killed_goes_on_in_another_process(frame, tmp_path, local):
    frame.write.parquet(str(tmp_path / "frame"))
    options = {"nTrials": 2, "strategy": "grid", "numFolds": 2, "seed": 3}

    def driver(last):
        given = [sys.executable, "-c", DRIVER, str(tmp_path), str(last), json.dumps(local), json.dumps(options)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run(given, env=environment, capture_output=True, text=True, check=False)

    assert driver(4).returncode == -signal.SIGKILL
    again = driver(0)
    assert again.returncode == 0, again.stderr[-3000:]
    whole = SparkCostSearch(estimator=gaussian(), **options).fit(frame)
    # The second trial on both folds, and the winner on everything.
    assert json.loads(again.stdout.splitlines()[-1]) == [3, [[t.t, t.threshold, t.score] for t in whole.trials]]


def test_hashed_folds_depend_on_the_rows_and_the_seed_alone(frame):
    def folds(rows, seed):
        data = SparkData(rows, "label", None, None, 3, seed, "own")
        return dict(map(tuple, data.coded.select("row", data.fold_name).collect()))

    known = folds(frame, 0)
    assert folds(frame.repartition(5).orderBy("w"), 0) == known
    assert folds(frame, 1) != known
    assert sorted(set(known.values())) == [0, 1, 2]
    assert min(np.bincount(list(known.values()))) > 1200 / 4


def persisted(spark):
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def gaussian():
    from pyspark.ml.classification import NaiveBayes

    return NaiveBayes(modelType="gaussian")


def test_the_rows_are_kept_while_they_are_searched_and_no_longer(spark, frame, monkeypatch):
    from csf.spark.engine import SparkBase

    frame.count()
    rows = frame.where("row >= 0")
    trained, before, seen = SparkBase.trained, persisted(spark), []

    def told(self, data, fold, costs, *given):
        seen.append((persisted(spark) - before, data.training_rows(fold, costs, *given).columns))
        return trained(self, data, fold, costs, *given)

    monkeypatch.setattr(SparkBase, "trained", told)
    options = {"estimator": gaussian(), "foldCol": "fold", "nTrials": 1}
    search = SparkCostSearch(**options)
    search.fit(rows)
    assert persisted(spark) == before
    # Two folds and everything; stages that take all columns see the weights alone besides the user's own.
    assert seen == [(1, [*frame.columns, f"{search.uid}__weight"])] * 3
    seen.clear()
    search.fit(frame)
    assert [kept for kept, _ in seen] == [0] * 3
    for error in (KeyboardInterrupt, SystemExit):

        def broken(*given, error=error):
            raise error

        monkeypatch.setattr(SparkBase, "trained", broken)
        with pytest.raises(error):
            SparkCostSearch(**options).fit(rows)
        assert persisted(spark) == before


def test_a_cancelled_job_ends_the_search(spark, frame, monkeypatch):
    from csf.spark.engine import SparkBase

    context, calls, trained = spark.sparkContext, [], SparkBase.trained

    def cancelled(self, data, fold, costs, *given):
        calls.append(fold)
        threading.Timer(1.0, context.cancelJobGroup, ["searched"]).start()
        data.frame.rdd.map(lambda row: time.sleep(0.05)).count()
        return trained(self, data, fold, costs, *given)

    monkeypatch.setattr(SparkBase, "trained", cancelled)
    frame.count()
    before = persisted(spark)
    context.setJobGroup("searched", "a search", interruptOnCancel=True)
    try:
        with pytest.raises(Exception, match="SPARK_JOB_CANCELLED"):
            SparkCostSearch(estimator=gaussian(), foldCol="fold", nTrials=3).fit(frame)
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    assert (calls, persisted(spark)) == ([0], before)


def test_a_search_is_a_stage_of_a_pipeline(spark, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import StandardScaler

    scaler = StandardScaler(inputCol="features", outputCol="scaled")
    base = gaussian().setFeaturesCol("scaled")
    search = SparkCostSearch(estimator=base, foldCol="fold", nTrials=2)
    model = Pipeline(stages=[scaler, search]).fit(frame)
    alone = search.fit(scaler.fit(frame).transform(frame))
    assert (model.stages[1].bestThreshold, model.stages[1].trials) == (alone.bestThreshold, alone.trials)
    model.save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    told, known = (each.transform(frame).select("row", "prediction").collect() for each in (again, model))
    assert told == known
    assert again.stages[1].bestScore == alone.bestScore
    Pipeline(stages=[scaler, search]).save(str(tmp_path / "pipeline"))
    assert Pipeline.load(str(tmp_path / "pipeline")).getStages()[1].getNTrials() == 2


# ---------------------------------------------------------------- what cannot be used


def test_the_search_in_memory_names_this_one(frame, data):
    with pytest.raises(TypeError, match=r"X must be in memory, got a pyspark DataFrame.*csf\.spark\.SparkCostSearch"):
        paper_search(LinearSVC()).fit(frame, data[1])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ("label * 2 as label", {}, "labelCol='label' must hold 1 for the positive class .* got 2"),
        ("if(row = 5, null, label) as label", {}, "labelCol='label' must hold .* got null"),
        (
            "label > 0 as label",
            {},
            r"labelCol='label' must hold numbers 0 and 1, .*\.cast\('int'\); got a column of boolean",
        ),
        ("label", {"labelCol": "y"}, "labelCol='y' is no column of the frame, which has w, fold"),
        ("label, if(row = 5, -1, w) as w", {"weightCol": "w"}, "weightCol='w' must hold finite numbers >= 0, got -1"),
        ("label, double('NaN') as w", {"weightCol": "w"}, "weightCol='w' must hold finite numbers >= 0, got NaN"),
        ("label", {"foldCol": "fold", "numFolds": 2}, r"foldCol='fold' must hold fold numbers 0, \..., 1 .* got 2"),
        ("label", {"foldCol": "features"}, "foldCol='features' must hold integers"),
        ("label, int(row % 2) * 2 as fold", {"foldCol": "fold"}, "fold 1 of 3 holds out no row"),
        ("label, int(label) as fold", {"foldCol": "fold"}, "there is no negative row .*use fewer folds"),
        ("0 as label", {}, r"labelCol='label' has one class only \(0\)"),
        (
            "label, array(1.0D) as features",
            {},
            "featuresCol='features' must hold vectors, as VectorAssembler makes them",
        ),
        ("label, 1 as features", {}, "featuresCol='features' must hold vectors"),
        ("label, 1 as prediction", {}, "the frame has columns prediction already, which LogisticRegression adds"),
        ("label", {"numFolds": 1}, "numFolds must be .* >= 2"),
        ("label", {"threshold": "best"}, "threshold must be"),
        ("label", {"timeLimit": 0.0}, "timeLimit must be positive and finite, got 0.0"),
        ("label", {"estimatorParamMaps": []}, "estimatorParamMaps must be a list of dicts"),
    ],
)
def test_what_cannot_be_used(frame, change, options, message):
    from pyspark.ml.classification import LogisticRegression
    from pyspark.sql import functions as F

    columns = [name for name in ("w", "fold", "features", "row") if f" as {name}" not in change]
    rows = frame.withColumn("fold", F.expr("int(fold + label)")).selectExpr(*columns, *split(change))
    with pytest.raises((TypeError, ValueError), match=message):
        SparkCostSearch(estimator=LogisticRegression(), **options).fit(rows)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
@pytest.mark.parametrize("base", ["LogisticRegression", "DecisionTreeClassifier"])
def test_features_that_are_no_numbers_are_refused_before_any_training(frame, monkeypatch, value, base):
    from pyspark.ml import classification
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.sql import functions as F

    monkeypatch.setattr(SparkEngine, "train", None)
    given = vector_to_array("features")
    bad = F.when(F.col("row") != 5, given).otherwise(
        None if value is None else F.transform(given, lambda _: F.lit(value))
    )
    rows = frame.withColumn("features", F.when(bad.isNotNull(), array_to_vector(bad)))
    with pytest.raises(ValueError, match=r"featuresCol='features' must hold finite numbers, got .*Imputer"):
        SparkCostSearch(estimator=getattr(classification, base)()).fit(rows)
    message = "featuresCol='other' is no column of the frame"
    with pytest.raises(ValueError, match=message):
        SparkCostSearch(estimator=getattr(classification, base)(featuresCol="other")).fit(frame)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("if(row = 5, 'rare', 'usual') as kind", "1.0D as x"), "Unseen label: rare.*StringIndexer"),
        (("'usual' as kind", "if(row = 5, null, 1.0D) as x"), "null while assembling a row.*Imputer"),
    ],
)
def test_rows_that_a_stage_refuses_are_told_in_short(frame, change, message):
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    index = StringIndexer(inputCol="kind", outputCol="index")
    made = VectorAssembler(inputCols=["index", "x"], outputCol="made")
    pipeline = Pipeline(stages=[index, made, LogisticRegression(featuresCol="made")])
    rows = frame.selectExpr("label", "fold", *change)
    with pytest.raises(ValueError, match=message) as raised, pytest.warns(FitFailedWarning, match="Spark: "):
        SparkCostSearch(estimator=pipeline, foldCol="fold", nTrials=1).fit(rows)
    assert len(str(raised.value).splitlines()) < 4


def split(change):
    """Expressions with commas between them, but for those inside parentheses."""
    return change.replace("label, ", "label;").split(";")


def test_estimators_that_cannot_be_used(frame):
    from pyspark.ml import Pipeline
    from pyspark.ml import classification as c
    from pyspark.ml.feature import StandardScaler

    cases = [
        (c.MultilayerPerceptronClassifier(layers=[4, 2]), "MultilayerPerceptronClassifier takes no weights"),
        (c.OneVsRest(classifier=c.LogisticRegression()), "OneVsRest gives neither probabilities nor margins"),
        (StandardScaler(), "StandardScaler takes no weights"),
        (Pipeline(stages=[]), "got a Pipeline without stages"),
        (LinearSVC(), "estimator must be a classifier of pyspark.ml"),
        ([c.LinearSVC(), LinearSVC()], "estimator must be a classifier of pyspark.ml"),
        (c.LogisticRegression(probabilityCol=""), "hides what the search reads"),
    ]
    for estimator, message in cases:
        with pytest.raises((TypeError, ValueError), match=message):
            SparkCostSearch(estimator=estimator).fit(frame)
    with pytest.raises(ValueError, match="has no estimator"):
        SparkCostSearch().fit(frame)
    with pytest.raises(ValueError, match="labelCol='w' of the search is not that of LinearSVC, 'label'"):
        SparkCostSearch(estimator=c.LinearSVC(labelCol="label"), labelCol="w").fit(frame)
