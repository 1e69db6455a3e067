"""Cost search on Spark: a `pyspark.ml` estimator whose winner is Spark's own model with its threshold set."""

from csf.distributed.spark import *  # noqa: F403
from csf.distributed.spark import __all__ as __all__
