"""Cost search on Spark: a `pyspark.ml` estimator whose winner is Spark's own model with its threshold set."""

try:
    import pyspark.ml  # noqa: F401
except ImportError as error:
    raise ImportError(f"csf.spark needs PySpark ({error}): pip install 'csf-search[spark]'") from error

from csf.spark.engine import SparkEngine
from csf.spark.search import SparkCostSearch, SparkCostSearchModel

__all__ = ["SparkCostSearch", "SparkCostSearchModel", "SparkEngine"]
