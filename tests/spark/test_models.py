"""Several estimators on Spark, and the stages of pipelines before them."""

import numpy as np
import pytest

from csf.spark import SparkCostSearch

pytestmark = pytest.mark.slow


def test_several_estimators_are_searched_under_one_corrected_score(framed, data, tmp_path):
    from pyspark.ml.classification import LinearSVC, NaiveBayes
    from pyspark.ml.tuning import ParamGridBuilder

    X, y, _ = data
    bayes, margin = NaiveBayes(modelType="gaussian"), LinearSVC(maxIter=10)
    maps = ParamGridBuilder().addGrid(margin.regParam, [0.01, 10.0]).build()
    search = SparkCostSearch(estimator=[margin, bayes], estimatorParamMaps=maps, numFolds=2, nTrials=1, seed=3)
    search.save(str(tmp_path / "search"))
    again = SparkCostSearch.load(str(tmp_path / "search"))
    assert [type(each) for each in again.getEstimators()] == [LinearSVC, NaiveBayes]
    assert len(again.getEstimatorParamMaps()) == 2
    frame = framed(X, 2, label=y)
    model = again.fit(frame)
    models = list(model.results["param_model"])
    assert sorted(models) == ["linearsvc", "linearsvc", "naivebayes"]
    regularised = [params for params in model.results["params"] if params["model"] == "linearsvc"]
    assert sorted(params["regParam"] for params in regularised) == [0.01, 10.0]
    assert model.bestParams["model"] == models[model.bestIndex]
    low, high = model.scoreInterval
    assert low <= model.correctedScore <= high
    # What is trained on everything is the winner, with its threshold.
    assert type(model.bestModel).__name__.lower().startswith(model.bestParams["model"])
    assert model.transform(frame).where("prediction = label").count() > 0.8 * y.size
    assert model.trials[model.bestIndex].score > max(trial.score for trial in model.trials) - 0.02
    foreign = [{LinearSVC().regParam: 1.0}]
    with pytest.raises(ValueError, match="whose parameters are not those of one estimator"):
        search.setParams(estimatorParamMaps=foreign).fit(frame)


def test_stages_that_learn_are_fitted_on_each_training_part(spark, data):
    """Categories, one-hot columns and scales before the classifier, as in a pipeline of Spark by itself."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import OneHotEncoder, StandardScaler, StringIndexer, VectorAssembler

    X, y, _ = data
    kinds = np.array(["north", "south", "west"])[(X[:, 1] > 0).astype(int) + (X[:, 2] > 1)]
    rows = [(float(a), str(kind), int(label)) for a, kind, label in zip(X[:, 0], kinds, y, strict=True)]
    frame = spark.createDataFrame(rows, ["size", "kind", "label"]).persist()
    stages = [
        StringIndexer(inputCol="kind", outputCol="index", handleInvalid="keep"),
        OneHotEncoder(inputCol="index", outputCol="hot"),
        VectorAssembler(inputCols=["hot", "size"], outputCol="all"),
        StandardScaler(inputCol="all", outputCol="features", withMean=True),
        LogisticRegression(),
    ]
    search = SparkCostSearch(estimator=Pipeline(stages=stages), numFolds=2, nTrials=1, trainRatio=None)
    model = search.fit(frame)
    whole = Pipeline(stages=stages).fit(frame)
    probability = model.transform(frame).select("probability").toArrow().to_pandas()["probability"]
    known = whole.transform(frame).select("probability").toArrow().to_pandas()["probability"]
    of_rows = [np.array([each["values"] for each in column]) for column in (probability, known)]
    np.testing.assert_allclose(*of_rows, atol=1e-6)
    assert 0.4 < model.correctedScore < model.scoreInterval[1]
