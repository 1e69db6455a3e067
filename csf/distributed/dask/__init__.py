"""Cost search on Dask collections: the data stay where they are, and counts, sums and coefficients travel."""

from csf.distributed.dask.engine import DaskEngine
from csf.distributed.dask.search import DaskCostSearch

__all__ = [
    "DaskCostSearch",
    "DaskEngine",
]
