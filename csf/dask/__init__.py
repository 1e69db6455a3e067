"""Cost search on Dask collections: the data are not moved; only counts, sums and coefficients are sent."""

from csf.dask.engine import DaskEngine
from csf.dask.search import DaskCostSearch

__all__ = [
    "DaskCostSearch",
    "DaskEngine",
]
