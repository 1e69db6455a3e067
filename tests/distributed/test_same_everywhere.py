"""What one engine refuses, memory and the others refuse with the same sentence; what is taken decides alike."""

import importlib
import inspect
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline

from csf import CostSearch
from csf.distributed import hash_folds
from csf.metrics import RowCosts

COSTS = RowCosts(fn="amount", fp=2.0)
FEATURES = ["a", "b", "c"]
OPTIONS = {"param_grid": None, "n_trials": 1, "random_state": 0}
N = 360


def table():
    """Rows with amounts, labels, folds, and weights of which a fifth is 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    rows = pd.DataFrame(X, columns=FEATURES).assign(row=np.arange(N), amount=np.exp(rng.normal(size=N)) + X[:, 1])
    rows["amount"] = rows["amount"].clip(lower=0.1)
    rows["label"] = (X[:, 0] - X[:, 1] + 0.8 * rng.normal(size=N) > 1.0).astype(int)
    return rows.assign(w=(np.arange(N) % 5 != 2).astype(float), fold=hash_folds(0, N, 3))


class Memory:
    """`csf.CostSearch`."""

    @property
    def base(self):
        """The amount is no feature."""
        return make_pipeline(ColumnTransformer([("kept", "passthrough", FEATURES)]), LogisticRegression(tol=1e-10))

    def fit(self, rows, metric):
        search = CostSearch(self.base, metric, cv=PredefinedSplit(rows["fold"]), **OPTIONS)
        return search.fit(rows[[*FEATURES, "amount"]], rows["label"], rows["w"])

    def answers(self, search, rows):
        return search.predict(rows[[*FEATURES, "amount"]])

    def found(self, search):
        return search


class OnDask(Memory):
    """`csf.dask.DaskCostSearch`, in this process, on three partitions."""

    def fit(self, rows, metric):
        dask = pytest.importorskip("dask")
        dd = pytest.importorskip("dask.dataframe")
        from csf.dask import DaskCostSearch

        given = dd.from_pandas(rows, npartitions=3, sort=False)
        search = DaskCostSearch(self.base, metric, **OPTIONS)
        with dask.config.set(scheduler="synchronous"):
            return search.fit(given[[*FEATURES, "amount"]], given["label"], given["w"], folds=given["fold"])

    def answers(self, search, rows):
        import dask
        import dask.dataframe as dd

        with dask.config.set(scheduler="synchronous"):
            lazy = search.predict(dd.from_pandas(rows[[*FEATURES, "amount"]], npartitions=3, sort=False))
            return lazy.compute()


class OnSpark:
    """`csf.spark.SparkCostSearch` on frames of two partitions."""

    def __init__(self, session):
        self.session = session

    def frame(self, rows):
        from pyspark.ml.feature import VectorAssembler

        kinds = dict.fromkeys([*FEATURES, "amount", "w"], "double") | {"label": "int", "fold": "int", "row": "int"}
        values = rows[list(kinds)].astype(object).assign(label=rows["label"].astype("Int64").astype(object))
        values, half = values.where(values.notna(), None).to_numpy().tolist(), len(rows) // 2
        schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        first, second = (self.session.createDataFrame(part, schema) for part in (values[:half], values[half:]))
        made = first.union(second)
        return VectorAssembler(inputCols=FEATURES, outputCol="features", handleInvalid="keep").transform(made)

    def fit(self, rows, metric):
        from pyspark.ml.classification import LogisticRegression as SparkRegression

        from csf.spark import SparkCostSearch

        base = SparkRegression(regParam=0.01, tol=1e-12, maxIter=500)
        columns = {"weightCol": "w", "foldCol": "fold"}
        return SparkCostSearch(estimator=base, metric=metric, nTrials=1, **columns).fit(self.frame(rows))

    def answers(self, model, rows):
        found = model.transform(self.frame(rows)).select("row", "prediction").collect()
        by_row = {row: int(answer) for row, answer in found}
        return np.array([by_row[row] for row in rows["row"]])

    def found(self, model):
        return model.to_local()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    pytest.importorskip("pyspark.ml", reason="needs PySpark: pip install 'csf-search[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java 17 or later for Spark: no java on the path, and JAVA_HOME is not set")
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[1]").appName("csf")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    # Not stopped: other tests of this process may use it.
    return builder.getOrCreate()


@pytest.fixture(scope="module", params=["memory", "dask", pytest.param("spark", marks=pytest.mark.slow)])
def engine(request):
    if request.param == "spark":
        return OnSpark(request.getfixturevalue("spark"))
    return {"memory": Memory, "dask": OnDask}[request.param]()


@pytest.fixture(scope="module")
def plain(engine):
    """Rows, the search on those of them that have a weight, and its answers to all."""
    rows = table()
    fitted = engine.fit(rows[rows["w"] > 0.0], COSTS)
    return SimpleNamespace(rows=rows, fitted=fitted, answers=engine.answers(fitted, rows))


def check_same(engine, plain, rows, digits=1e-5):
    """Fit other rows; the search is that on the plain ones."""
    fitted = engine.fit(rows, COSTS)
    found, known = engine.found(fitted), engine.found(plain.fitted)
    for name in ("best_score_", "dearest_share_"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=1e-5, err_msg=name)
    # These are resampled, row by row in their order.
    for name in ("corrected_score_", "score_interval_"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=digits, err_msg=name)
    assert found.class_count_.tolist() == known.class_count_.tolist()
    assert np.mean(engine.answers(fitted, plain.rows) != plain.answers) < 0.01


WRONG = {"missing": np.nan, "negative": -1.0, "infinite": np.inf}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_amounts_are_refused_in_fit_and_predict(engine, plain, wrong):
    at = plain.rows.index[plain.rows["w"] > 0.0][7]
    rows = plain.rows.assign(amount=plain.rows["amount"].mask(plain.rows.index == at, WRONG[wrong]))
    sentence = r"fn='amount' of the metric is (nan|NaN|null|-1.0|inf|Infinity)\b.*; costs are finite numbers >= 0"
    with pytest.raises(ValueError, match=sentence):
        engine.fit(rows, COSTS)
    with pytest.raises(Exception, match=sentence):
        engine.answers(plain.fitted, rows)


@pytest.mark.parametrize("wrong", [None, *WRONG])
def test_rows_of_weight_0_decide_nothing(engine, plain, wrong):
    """Neither their amounts, whatever these are, nor their features, folds and labels."""
    left_out = plain.rows["w"] == 0.0
    amount = plain.rows["amount"].mask(left_out, 1e6 if wrong is None else WRONG[wrong])
    label = plain.rows["label"].mask(left_out, 1 - plain.rows["label"])
    check_same(engine, plain, plain.rows.assign(amount=amount, label=label, a=plain.rows["a"].mask(left_out)))


@pytest.mark.parametrize("metric", ["f1", COSTS], ids=["f1", "costs"])
def test_a_class_of_weight_0_is_refused(engine, plain, metric):
    """It is a class all the same: nothing says whether its rows are there by mistake."""
    rows = plain.rows.assign(label=plain.rows["label"].mask(plain.rows["w"] == 0.0, 2))
    sentence = r"is zero for every sample of the classes \[2\]; remove these samples"
    with pytest.raises(ValueError, match=sentence):
        engine.fit(rows, metric)
    missing = plain.rows.assign(label=plain.rows["label"].astype(float).mask(plain.rows["w"] == 0.0))
    with pytest.raises(
        ValueError, match=r"NaN.*drop (those rows|rows without a label)|got null.*drop rows without a label"
    ):
        engine.fit(missing, metric)


@pytest.mark.parametrize("order", ["shuffled", "by amount", "by label"])
def test_the_order_of_rows_changes_nothing(engine, plain, order):
    """Sorted by label, parts of the rows lack one of the labels."""
    key = np.random.default_rng(1).random(N) if order == "shuffled" else plain.rows[order.removeprefix("by ")]
    moved = plain.rows.iloc[np.argsort(key, kind="stable")].reset_index(drop=True)
    check_same(engine, plain, moved, digits=0.05)


@pytest.mark.parametrize("name", ["review", "confidence", "null_class", "weighting", "bound_on", "n_jobs"])
@pytest.mark.parametrize("module", ["csf.dask", "csf.spark"])
def test_options_of_memory_alone_are_refused_with_the_reason(module, name):
    pytest.importorskip("pyspark.ml" if module == "csf.spark" else "dask.dataframe")
    kind = {"csf.dask": "DaskCostSearch", "csf.spark": "SparkCostSearch"}[module]
    search, base = getattr(importlib.import_module(module), kind), LogisticRegression()
    given = {"base": base} if module == "csf.dask" else {}
    with pytest.raises(
        TypeError, match=rf"{name}=1 is not for data on a cluster: .*\. Leave it out, or use csf.CostSearch"
    ):
        search(**given, **{name: 1})
    assert name in inspect.signature(CostSearch).parameters
    assert name not in inspect.signature(search).parameters
