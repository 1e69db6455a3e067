"""Spark frames as an engine of cost searches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.util import inheritable_thread_target

from csf.cluster import Engine, FoldTotals, Job, MemoryScores, PartScores, Scored
from csf.spark.native import own_cut, scored
from csf.spark.scores import SparkScores
from csf.spark.sums import WeightSums
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf._common.typing import Array, IntArray
    from csf.spark.frame import SparkData

__all__ = ["MOST_COLLECTED", "SparkEngine"]

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
        Whether the data are to be distinguished from others, see ``identity`` of `csf.cluster.Engine`.
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
        """See `csf.cluster.Engine.totals`."""
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
        """See `csf.cluster.Engine.entries`."""
        return None if self._known is None else self._known[1]

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `csf.cluster.Engine.train`."""
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
        """See `csf.cluster.Engine.scores`."""
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
