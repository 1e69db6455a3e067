"""Cost search on Dask collections: the data stay where they are, and counts, sums and coefficients travel."""

from csf.distributed.dask import DaskCostSearch, DaskEngine

__all__ = ["DaskCostSearch", "DaskEngine"]
