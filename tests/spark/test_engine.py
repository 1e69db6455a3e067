"""SparkEngine: the contract of engines, and counts that are those in memory."""

import numpy as np
import pytest

from csf.distributed import Job, MemoryScores, PartScores, counted_cut
from csf.metrics import Constrained, Constraint, FBeta, Precision, Recall
from csf.spark import SparkEngine
from csf.spark.engine import SparkBase, SparkData, SparkScores, WeightSums
from csf.testing import check_engine

pytestmark = pytest.mark.slow


@pytest.fixture
def uncollected(monkeypatch):
    """Function that leaves all scores in the executors."""
    return lambda: monkeypatch.setattr("csf.spark.engine.MOST_COLLECTED", 0)


def test_it_keeps_the_contract_of_engines(framed, uncollected):
    from pyspark.ml.classification import NaiveBayes

    uncollected()

    def make(X, y, fold, weight):
        columns = {"label": y, "fold": fold} | ({} if weight is None else {"w": weight})
        return SparkEngine(SparkData(framed(X, 2, **columns), "label", "w" if weight is not None else None, "fold",
                                     None, 0, "csf"), parallelism=2)  # fmt: skip

    check_engine(make, SparkBase(NaiveBayes(modelType="gaussian"), 0))


def test_scores_on_the_driver_are_in_one_order(framed, data, uncollected, monkeypatch):
    from pyspark.ml.classification import NaiveBayes
    from pyspark.sql import DataFrame

    X, y, weight = (np.concatenate([part, part[:50]]) for part in data)
    weight[::7] = 0.0
    fold = np.arange(y.size) % 4 - 1
    frame, base = framed(X, 2, label=y, w=weight, fold=fold), SparkBase(NaiveBayes(modelType="gaussian"), 0)

    def engine(rows):
        return SparkEngine(SparkData(rows, "label", "w", "fold", None, 0, "csf"))

    here, moved = engine(frame), engine(frame.repartition(5).orderBy("w"))
    entries = here.entries()
    assert entries.is_pos.size == ((fold >= 0) & (weight > 0)).sum()
    assert all(map(np.array_equal, moved.entries(), entries))
    ends = np.array([-np.inf]), np.array([np.inf])
    known = []
    for costs in ((1.0, 1.0), (4.0, 1.0)):
        models = [training.model for training in here.train([Job(base, k, costs) for k in range(3)])]
        score = here.scores(models).collected()
        np.testing.assert_array_equal(moved.scores(models).collected(), score)
        known.append((models, MemoryScores([entries._replace(score=score)], 3).distinct(*ends)))
    with monkeypatch.context() as patch:
        patch.setattr(DataFrame, "toArrow", raising)
        np.testing.assert_array_equal(here.scores(models).collected(), score)
    changed = engine(frame)
    changed._known[0][0] += 1
    with pytest.raises(ValueError, match="the rows of the frame changed"):
        changed.scores(models)
    # Each score is with the truth, the weight and the fold that it has in the executors.
    uncollected()
    far = engine(frame)
    assert far.entries() is None
    for models, listed in known:
        theirs = far.scores(models).distinct(*ends)
        np.testing.assert_array_equal(theirs.lowest, listed.lowest)
        np.testing.assert_array_equal(theirs.rows, listed.rows)
        np.testing.assert_allclose(theirs.sums, listed.sums, rtol=1e-13)
    far.release()


def raising(frame):
    raise ImportError("no pyarrow")


def scores_of(spark, tmp_path, score, is_pos, weight, fold, **options):
    """The same scores on Spark and in memory."""
    import pyarrow as pa
    from pyarrow import parquet

    names = {"fold": fold.astype(np.int32), "positive": is_pos, "weight": weight, "score": score}
    for k, rows in enumerate(np.array_split(np.arange(score.size), 3)):
        parquet.write_table(pa.table({n: v[rows] for n, v in names.items()}), tmp_path / f"part-{k}.parquet")
    n_folds = int(fold.max()) + 1
    known = MemoryScores([PartScores(score, is_pos, weight, fold)], n_folds, 0.1)
    return SparkScores(spark.read.parquet(str(tmp_path)), n_folds, 0.1, WeightSums.below(float(weight.max()))), known


def test_the_cut_is_the_one_in_memory(spark, tmp_path):
    rng = np.random.default_rng(0)
    is_pos = rng.random(6000) < 0.2
    score = np.round(rng.normal(size=6000) + 1.5 * is_pos, 2) + 0.0  # with many ties
    score[:4] = [np.inf, -np.inf, 1e300, -1e300]
    weight, fold = rng.lognormal(size=6000), rng.integers(0, 3, 6000)
    spread, known = scores_of(spark, tmp_path, score, is_pos, weight, fold)
    for metric in (FBeta(), Constrained(Recall(), Constraint(Precision(), ">=", 0.7))):
        for n_edges, n_listed in ((64, 10**5), (16, 40)):
            found = counted_cut(spread, metric, n_edges=n_edges, n_listed=n_listed)
            cut = counted_cut(known, metric).cut
            assert found.cut.threshold == cut.threshold
            mine, theirs = found.cut.profile, cut.profile
            assert (mine.fn, mine.fp, mine.pos) == pytest.approx((theirs.fn, theirs.fp, theirs.pos), rel=1e-13)
            assert found.cut.value == pytest.approx(cut.value, rel=1e-13)
    for edges in (np.array([-np.inf, -1.0, 0.1, 2.0, np.inf]), np.array([0.1]), np.array([np.inf])):
        mine, theirs = spread.counts(edges), known.counts(edges)
        np.testing.assert_array_equal(mine.rows, theirs.rows)
        np.testing.assert_array_equal(mine.lowest, theirs.lowest)
        np.testing.assert_array_equal(mine.highest, theirs.highest)
        np.testing.assert_allclose(mine.sums, theirs.sums, rtol=1e-13)
    spread.release()


def test_scores_that_are_none_are_refused(spark, tmp_path):
    score = np.array([0.1, np.nan, 0.3, 0.4])
    given = score, np.array([True, False, True, False]), np.ones(4), np.zeros(4, dtype=int)
    spread, _ = scores_of(spark, tmp_path, *given)
    with pytest.raises(ValueError, match="NaN scores"):
        counted_cut(spread, FBeta())
    spread.release()


def test_counts_and_not_rows_are_moved(spark, monkeypatch):
    """By Spark's own counters: what is shuffled are bins of partitions, and what comes back are bins."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    n_rows, back = 400_000, []
    known = spark.range(0, n_rows, 1, 4).select(
        F.lit(0).alias("fold"), (F.rand(1) < 0.1).alias("positive"), F.lit(1.0).alias("weight"), F.randn(2).alias("z")
    )
    rows = known.withColumn("score", F.col("z") + F.when(F.col("positive"), 2.0).otherwise(0.0)).drop("z")
    collect = DataFrame.collect
    monkeypatch.setattr(DataFrame, "collect", lambda self: back.append(collect(self)) or back[-1])
    before = shuffled(spark)
    spread = SparkScores(rows, 1, 0.0, WeightSums.below(1.0))
    found = counted_cut(spread, FBeta(), n_edges=256)
    spread.release()
    assert found.n_passes <= 4
    assert found.n_listed < n_rows / 20
    assert sum(map(len, back)) < 2 + 3 * 512 * 2 + 2 * found.n_listed
    moved = shuffled(spark) - before
    assert 0 < moved < 4 * (2 + 3 * 512 * 2 + 2 * found.n_listed)


def shuffled(spark):
    """Records that stages have written for others so far."""
    context = spark.sparkContext
    store, none = context._jsc.sc().statusStore(), context._gateway.new_array(context._jvm.double, 0)
    stages = store.stageList(None, False, False, none, context._jvm.java.util.ArrayList())
    return sum(stages.apply(k).shuffleWriteRecords() for k in range(stages.size()))
