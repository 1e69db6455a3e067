"""Cost search on Dask collections."""
