"""Chunks from files larger than memory, learners trained from them, and evaluation while they learn."""

from csf.learners.streams import (
    ArrayChunks,
    ChunkIterator,
    ParquetChunks,
    PrequentialResult,
    SvmlightChunks,
    fit_stream,
    iter_arrays,
    iter_parquet,
    iter_svmlight,
    load_stream,
    prequential,
    save_stream,
)

__all__ = [
    "ArrayChunks",
    "ChunkIterator",
    "ParquetChunks",
    "PrequentialResult",
    "SvmlightChunks",
    "fit_stream",
    "iter_arrays",
    "iter_parquet",
    "iter_svmlight",
    "load_stream",
    "prequential",
    "save_stream",
]
