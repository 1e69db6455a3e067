"""Held-out scores on Spark: bins are counted by its own expressions in the executors, and their sums come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.feature import Bucketizer
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from csf._common.typing import Array
from csf.cluster import Bins, Scored
from csf.spark.sums import WeightSums

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["SparkScores"]

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
        """See `csf.cluster.Scored.quantiles`."""
        ranks = ", ".join(f"{(k + 0.5) / size!r}D" for k in range(size))
        found = F.expr(f"percentile_approx(score, array({ranks}), {2 * size})")
        told = self._rows.where(~F.isnan("score")).groupBy("positive").agg(found.alias("edges")).collect()
        return np.unique(np.concatenate([np.array(row["edges"], dtype=np.float64) for row in told] or [np.empty(0)]))

    def counts(self, edges: Array) -> Bins:
        """See `csf.cluster.Scored.counts`."""
        size = edges.shape[0] + 1
        rows = self._placed(edges).groupBy("fold", "positive", "bin").agg(*self._asked()).collect()
        bins = _empty(size, self.n_folds)
        for fold, positive, k, count, low, high, *digits in rows:
            if k == size:
                raise ValueError("the base gave NaN scores")
            bins.lowest[k], bins.highest[k] = min(bins.lowest[k], low), max(bins.highest[k], high)
            bins.rows[k] += count
            bins.weight[fold, int(positive), k] = self.sums.total(digits)
        return bins

    def distinct(self, low: Array, high: Array) -> Bins:
        """See `csf.cluster.Scored.distinct`."""
        # Intervals begin at every other edge. The numbers between two neighbours are none.
        edges = np.stack([low, np.nextafter(high, np.inf)], axis=1).ravel()
        edges = edges[:-1] if high[-1] == np.inf else edges
        inside = self._placed(edges).where((F.col("bin") % 2 == 1) & (F.col("bin") <= edges.shape[0]))
        rows = inside.groupBy("fold", "positive", "score").agg(*self._asked()).collect()
        scores = np.unique(np.array([row["score"] for row in rows], dtype=np.float64))
        bins = _empty(scores.shape[0], self.n_folds)
        bins.lowest[:], bins.highest[:] = scores, scores
        for fold, positive, score, count, _, _, *digits in rows:
            k = int(np.searchsorted(scores, score))
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


def _empty(size: int, n_folds: int) -> Bins:
    ends = np.full(size, np.inf), np.full(size, -np.inf)
    return Bins(*ends, np.zeros(size, dtype=np.int64), np.zeros((n_folds, 2, size)))
