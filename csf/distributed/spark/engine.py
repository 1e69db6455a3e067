"""Spark frames as an engine of cost searches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Estimator, Model, Pipeline
from pyspark.ml.feature import Bucketizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel
from pyspark.util import inheritable_thread_target

from csf._common.typing import Array
from csf.distributed import Bins, Engine, FoldTotals, Job, MemoryScores, PartScores, Scored
from csf.distributed.counts import empty_bins
from csf.distributed.spark.frame import WeightSums, last_stage, own_cut, score_parameter, scored, stages
from csf.trainers.base import Training

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from csf._common.typing import Array, IntArray
    from csf.distributed.spark.frame import SparkData

# ---------------------------------------------------------------- bases


class SparkBase:
    """A classifier of pyspark.ml with ``weightCol``, or a pipeline that ends in one, in a copy of its own."""

    def __init__(self, estimator: Estimator, seed: int) -> None:
        self._check(estimator)
        self.estimator = estimator.copy()
        # Spark's own default seed differs in each process.
        for stage in stages(self.estimator):
            if stage.hasParam("seed") and not stage.isSet("seed"):
                stage.set(stage.getParam("seed"), seed)

    def __getstate__(self) -> list[Any]:
        """What tells it from others in every process: names and parameters, without the uids."""
        whole = list(stages(self.estimator))
        names = {stage.uid: f"stage{k}" for k, stage in enumerate(whole)}
        return [_description(stage, names) for stage in whole]

    @staticmethod
    def _check(estimator: Any) -> None:
        wanted = "estimator must be a classifier of pyspark.ml with weightCol, or a Pipeline that ends in one"
        if not isinstance(estimator, Estimator):
            raise TypeError(f"{wanted}, e.g. LinearSVC() of pyspark.ml.classification; got {estimator!r}")
        if isinstance(estimator, Pipeline) and not (estimator.isSet("stages") and estimator.getStages()):
            raise TypeError(f"{wanted}, got a Pipeline without stages")
        last = last_stage(estimator)
        if not last.hasParam("weightCol"):
            raise TypeError(f"{wanted}; {type(last).__name__} takes no weights, and costs are weights")
        if not (last.hasParam("probabilityCol") or (last.hasParam("threshold") and last.hasParam("rawPredictionCol"))):
            raise TypeError(f"{wanted}; {type(last).__name__} gives neither probabilities nor margins with a threshold")
        for name in ("labelCol", "predictionCol", score_parameter(last)):
            if not last.getOrDefault(name):
                raise ValueError(f"{type(last).__name__}({name}='') hides what the search reads; give it a name")

    def check_frame(self, frame: DataFrame) -> None:
        """Raise an error where the frame already has a column that the classifier adds."""
        last = last_stage(self.estimator)
        names = [
            last.getOrDefault(name)
            for name in ("predictionCol", "rawPredictionCol", "probabilityCol")
            if last.hasParam(name)
        ]
        taken = [name for name in names if name in frame.columns]
        if taken:
            raise ValueError(
                f"the frame has columns {', '.join(taken)} already, which {type(last).__name__} adds; drop them, or "
                "name the classifier's columns otherwise"
            )

    def trained(self, data: SparkData, fold: int | None, costs: tuple[float, float]) -> Model:
        """A model that does not know of the columns that were added."""
        estimator = self.estimator.copy()
        last = last_stage(estimator)
        own = last.getOrDefault("weightCol") if last.isDefined("weightCol") else ""
        last.set(last.getParam("labelCol"), data.label)
        last.set(last.getParam("weightCol"), data.weight_name)
        model = estimator.fit(data.training_rows(fold, costs))
        inner = last_stage(model)
        if inner.hasParam("weightCol"):
            inner.set(inner.getParam("weightCol"), own)
        return model


def _description(stage: Any, names: dict[str, str]) -> Any:
    """Plain values that tell a stage from others."""
    # What a fitted stage has learnt is known by its uid alone, which it keeps on disk.
    own = "" if isinstance(stage, Estimator) or not isinstance(stage, Model) else stage.uid
    values = {param.name: _plain(value, names) for param, value in stage.extractParamMap().items()}
    return [type(stage).__module__, type(stage).__qualname__, own, values]


def _plain(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for uid, name in names.items():
            value = value.replace(uid, name)
        return value
    if isinstance(value, list | tuple):
        return [_plain(each, names) for each in value]
    return value if isinstance(value, bool | int | float | None) else repr(value)


# ---------------------------------------------------------------- held-out scores


_INF = float("inf")


class SparkScores(Scored):
    """Scores of the rows in folds: columns ``fold``, ``positive``, ``weight`` (> 0) and ``score``."""

    def __init__(self, rows: DataFrame, n_folds: int, own_cut: float, sums: WeightSums) -> None:
        self.n_folds, self.own_cut, self.sums = n_folds, own_cut, sums
        # While they are counted, in memory or on the executors' disks.
        self._rows = rows.persist(StorageLevel.MEMORY_AND_DISK)

    def release(self) -> None:
        """Forget the scores."""
        self._rows.unpersist()

    def quantiles(self, size: int) -> Array:
        """See `csf.distributed.Scored.quantiles`."""
        ranks = ", ".join(f"{(k + 0.5) / size!r}D" for k in range(size))
        found = F.expr(f"percentile_approx(score, array({ranks}), {2 * size})")
        rows = self._rows.where(~F.isnan("score")).groupBy("positive").agg(found.alias("edges")).collect()
        return np.unique(np.concatenate([np.array(row["edges"], dtype=np.float64) for row in rows] or [np.empty(0)]))

    def counts(self, edges: Array) -> Bins:
        """See `csf.distributed.Scored.counts`."""
        size = edges.shape[0] + 1
        rows = self._placed(edges).groupBy("fold", "positive", "bin").agg(*self._asked()).collect()
        if any(row["bin"] == size for row in rows):
            raise ValueError("the base gave NaN scores")
        return self._bins(rows, size, [row["bin"] for row in rows])

    def distinct(self, low: Array, high: Array) -> Bins:
        """See `csf.distributed.Scored.distinct`."""
        # Intervals begin at every other edge. The numbers between two neighbours are none.
        edges = np.stack([low, np.nextafter(high, np.inf)], axis=1).ravel()
        edges = edges[:-1] if high[-1] == np.inf else edges
        inside = self._placed(edges).where((F.col("bin") % 2 == 1) & (F.col("bin") <= edges.shape[0]))
        rows = inside.groupBy("fold", "positive", "score").agg(*self._asked()).collect()
        scores, places = np.unique(np.array([row["score"] for row in rows], dtype=np.float64), return_inverse=True)
        return self._bins(rows, scores.shape[0], places.tolist())

    def _bins(self, rows: Sequence[Any], size: int, places: Sequence[int]) -> Bins:
        """Bins of sums by fold, class and place."""
        bins = empty_bins(size, self.n_folds)
        for k, (fold, positive, _, count, low, high, *digits) in zip(places, rows, strict=True):
            bins.lowest[k], bins.highest[k] = min(bins.lowest[k], low), max(bins.highest[k], high)
            bins.rows[k] += count
            bins.weight[fold, int(positive), k] = self.sums.total(digits)
        return bins

    def _asked(self) -> list[Column]:
        digits = [column.alias(f"d{k}") for k, column in enumerate(self.sums.columns(F.col("weight")))]
        return [F.count("*").alias("rows"), F.min("score").alias("low"), F.max("score").alias("high"), *digits]

    def _placed(self, edges: Array) -> DataFrame:
        """The rows with the number of edges that are not above the score; one more than all edges for NaN."""
        finite, below = edges[np.isfinite(edges)].tolist(), int((edges == -np.inf).sum())
        score, above = F.col("score"), below + len(finite)
        if finite:
            splits = [-_INF, *finite, _INF]
            found = Bucketizer(splits=splits, inputCol="score", outputCol="bin", handleInvalid="keep")
            rows = found.transform(self._rows)
        else:
            rows = self._rows.withColumn("bin", F.lit(0))
        place: Any = F.when(F.isnan(score), F.lit(edges.shape[0] + 1))
        if edges.size and edges[-1] == np.inf:
            place = place.when(score == F.lit(_INF), F.lit(above + 1))
        return rows.withColumn("bin", place.otherwise(F.col("bin") + F.lit(below)).cast("int"))


# ---------------------------------------------------------------- the engine


# Rows in folds whose scores come to the driver at most: 4 MB a trial with their keys.
MOST_COLLECTED = 1 << 18
# Spark's name of the error that a cancelled job ends with.
_CANCELLED = "SPARK_JOB_CANCELLED"


class SparkEngine(Engine):
    """Trains on a Spark frame; scores of few rows come to the driver, those of many are counted in the executors.

    Parameters
    ----------
    data : SparkData
        The rows.
    tuned : bool, default=True
        Whether thresholds are searched, or models keep their own decision.
    parallelism : int, default=1
        Number of trainings at a time.
    checksum : bool, default=False
        Whether the data are to be distinguished from others, see ``identity`` of `csf.distributed.Engine`.
    """

    def __init__(self, data: SparkData, *, tuned: bool = True, parallelism: int = 1, checksum: bool = False) -> None:
        self.data, self.tuned, self.parallelism = data, tuned, parallelism
        self.found = data.survey(checksum=checksum)
        self.n_folds, self.sums = self.found.n_folds, WeightSums.below(self.found.largest)
        self.identity = (
            self.found.checksum,
            data.frame.columns,
            data.label,
            data.weight,
            data.fold,
            self.n_folds,
            data.seed,
        )
        self._scores: SparkScores | None = None

    @cached_property
    def _totals(self) -> FoldTotals:
        return self.data.totals(self.found, self.sums)

    def totals(self) -> FoldTotals:
        """See `csf.distributed.Engine.totals`."""
        return self._totals

    @cached_property
    def _known(self) -> tuple[IntArray, PartScores] | None:
        """Keys of the rows in folds and what is known of them, where they are few enough."""
        data = self.data
        if self._totals.rows[:-1].sum() > MOST_COLLECTED:
            return None
        names = data.key_name, data.fold_name, data.positive_name, data.weight_name
        key, fold, positive, weight = _collected(data.held_out().select(*names))
        return key, PartScores(np.zeros(key.size), positive, None if data.weight is None else weight, fold)

    def entries(self) -> PartScores | None:
        """See `csf.distributed.Engine.entries`."""
        return None if self._known is None else self._known[1]

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `csf.distributed.Engine.train`."""
        self.release()
        threads = min(self.parallelism, len(jobs))
        if threads == 1:
            return [self._trained(job) for job in jobs]
        # Jobs that are started by threads belong to the group, and stop with it, that this thread is in.
        call: Any = inheritable_thread_target(self.data.frame.sparkSession)
        with ThreadPool(threads) as pool:
            return pool.map(call(self._trained), jobs)

    def _trained(self, job: Job) -> Training | Exception:
        try:
            return Training(job.base.trained(self.data, job.fold, job.costs))
        except Exception as error:
            # Whoever cancels Spark's jobs wants the search to end, and not its other trials.
            if _CANCELLED in str(error):
                raise
            return error

    def scores(self, models: Sequence[Any]) -> Scored:
        """See `csf.distributed.Engine.scores`."""
        self.release()
        rows = reduce(DataFrame.unionAll, [self._held_out(fold, model) for fold, model in enumerate(models)])
        cut = own_cut(models[0], tuned=self.tuned)
        if self._known is not None:
            return MemoryScores([self._answered(rows, *self._known)], self.n_folds, cut)
        self._scores = SparkScores(rows.drop("key"), self.n_folds, cut, self.sums)
        return self._scores

    def _held_out(self, fold: int, model: Any) -> DataFrame:
        """What is counted of the rows of a fold."""
        data = self.data
        rows, score = scored(model, data.held_out(fold), tuned=self.tuned)
        columns = {"key": data.key_name, "positive": data.positive_name, "weight": data.weight_name}
        named = [F.col(name).alias(alias) for alias, name in columns.items()]
        return rows.select(F.lit(fold).alias("fold"), *named, score.alias("score"))

    def _answered(self, rows: DataFrame, known: IntArray, entries: PartScores) -> PartScores:
        """The rows in folds with their scores, on the driver."""
        key, score = _collected(rows.select("key", "score"))
        if not np.array_equal(key, known):
            raise ValueError("the rows of the frame changed while it was searched; write it down, and read that")
        return entries._replace(score=score)

    def release(self) -> None:
        """Forget the scores that are kept in the executors."""
        if self._scores is not None:
            self._scores.release()
        self._scores = None


def _collected(rows: DataFrame) -> list[Array]:
    """Columns of rows on the driver, in the order of keys and then of the rest: Spark has none of its own."""
    try:
        columns = [column.to_numpy() for column in rows.toArrow().columns]
    except ImportError:
        # Without pyarrow, row by row.
        columns = [np.array(column) for column in zip(*rows.collect())]
    order = np.lexsort(columns[::-1])
    return [column[order] for column in columns]
