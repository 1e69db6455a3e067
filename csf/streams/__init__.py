"""Streams of chunks from files larger than memory, learners fed from them, and how good these are meanwhile."""

from csf.streams.arrays import ArrayChunks, iter_arrays
from csf.streams.base import ChunkIterator
from csf.streams.fitting import fit_stream, load_stream, save_stream
from csf.streams.parquet import ParquetChunks, iter_parquet
from csf.streams.prequential import PrequentialResult, prequential
from csf.streams.svmlight import SvmlightChunks, iter_svmlight

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
