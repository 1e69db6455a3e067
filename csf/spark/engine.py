"""Spark frames as an engine of cost searches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.util import inheritable_thread_target

from csf.cluster import Engine, FoldTotals, Job
from csf.spark.native import own_cut, scored
from csf.spark.scores import SparkScores
from csf.spark.sums import WeightSums
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.spark.frame import SparkData

__all__ = ["SparkEngine"]


class SparkEngine(Engine):
    """Trains and counts on a Spark frame.

    Parameters
    ----------
    data : SparkData
        The rows.
    tuned : bool, default=True
        Whether thresholds are searched, or models keep their own decision.
    parallelism : int, default=1
        Number of trainings at a time.
    checksum : bool, default=False
        Whether the data are to be told from others, see ``identity`` of `csf.cluster.Engine`.
    """

    def __init__(self, data: SparkData, *, tuned: bool = True, parallelism: int = 1, checksum: bool = False) -> None:
        self.data, self.tuned, self.parallelism = data, tuned, parallelism
        largest, self.n_folds, told = data.check_values(checksum=checksum)
        self.sums = WeightSums.below(largest)
        self.identity = told, data.frame.columns, data.label, data.weight, data.fold, self.n_folds, data.seed
        self._scores: SparkScores | None = None

    def totals(self) -> FoldTotals:
        """See `csf.cluster.Engine.totals`."""
        return self.data.totals(self.n_folds, self.sums)

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
            return error

    def scores(self, models: Sequence[Any]) -> SparkScores:
        """See `csf.cluster.Engine.scores`."""
        self.release()
        rows = reduce(DataFrame.unionAll, [self._held_out(fold, model) for fold, model in enumerate(models)])
        self._scores = SparkScores(rows, self.n_folds, own_cut(models[0], tuned=self.tuned), self.sums)
        return self._scores

    def _held_out(self, fold: int, model: Any) -> DataFrame:
        """What is counted of the rows of a fold."""
        rows, score = scored(model, self.data.held_out(fold), tuned=self.tuned)
        columns = {"positive": self.data.positive_name, "weight": self.data.weight_name}
        named = [F.col(name).alias(alias) for alias, name in columns.items()]
        return rows.select(F.lit(fold).alias("fold"), *named, score.alias("score"))

    def release(self) -> None:
        """Forget the scores that are kept in the executors."""
        if self._scores is not None:
            self._scores.release()
        self._scores = None
