"""Cost search on Dask collections: the data stay where they are, and counts, sums and coefficients travel."""

from csf.dask.engine import DaskEngine
from csf.dask.search import DaskCostSearch

__all__ = [
    "DaskCostSearch",
    "DaskEngine",
]
