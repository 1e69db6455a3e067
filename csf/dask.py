"""Cost search on Dask collections: the data stay where they are, and counts, sums and coefficients travel."""

from csf.distributed.dask import *  # noqa: F403
from csf.distributed.dask import __all__ as __all__
