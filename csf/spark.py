"""Cost search on Spark: a `pyspark.ml` estimator whose winner is Spark's own model with its threshold set."""

from csf.distributed.spark import SparkCostSearch, SparkCostSearchModel, SparkEngine

__all__ = ["SparkCostSearch", "SparkCostSearchModel", "SparkEngine"]
