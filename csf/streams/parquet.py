"""Chunks of Parquet files; needs pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.files import reading
from csf._common.messages import did_you_mean
from csf._common.typing import Array, PathLike
from csf.streams.base import Chunk, ChunkIterator

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

__all__ = ["ParquetChunks", "iter_parquet"]

# Bytes read at a time for each column; pyarrow reads whole row groups otherwise.
_BUFFER = 1 << 16


def iter_parquet(
    path: PathLike,
    chunk_size: int,
    *,
    target: str,
    features: Sequence[str] | None = None,
    passes: int = 1,
    progress: bool = False,
) -> ParquetChunks:
    """Read a Parquet file in chunks, in memory that does not depend on its length.

    Parameters
    ----------
    path : str or Path
        File.
    chunk_size : int
        Rows in a chunk; the last one of a pass may be smaller.
    target : str
        Column of labels.
    features : sequence of str, default=None
        Columns of numbers or booleans, in the order of the features; ``None`` means all except ``target``.
    passes : int, default=1
        How often to go over the file.
    progress : bool, default=False
        Whether to show a progress bar of rows.

    Returns
    -------
    ParquetChunks
        Iterator over ``(X, y)`` with ``X`` an ndarray of float64 and ``y`` an ndarray of labels. A pickle of it keeps
        its place in the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ImportError
        If pyarrow is not installed.
    ValueError
        If a column is missing or has no numbers; while reading, if a value is missing or not finite.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> path = os.path.join(tempfile.mkdtemp(), "train.parquet")
    >>> pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "label": ["no", "yes", "no"]}), path)
    >>> for X, y in iter_parquet(path, 2, target="label"):
    ...     print(X.ravel(), y)
    [1. 2.] ['no' 'yes']
    [3.] ['no']
    """
    return ParquetChunks(path, chunk_size, target=target, features=features, passes=passes, progress=progress)


class ParquetChunks(ChunkIterator):
    """Iterator behind `iter_parquet`.

    Parameters
    ----------
    path : str or Path
        File.
    chunk_size : int
        Rows in a chunk.
    target : str
        Column of labels.
    features : sequence of str, default=None
        Columns of the features.
    passes : int, default=1
        How often to go over the file.
    progress : bool, default=False
        Whether to show a progress bar.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> path = os.path.join(tempfile.mkdtemp(), "train.parquet")
    >>> pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "b": [0.0, 0.0, 1.0], "label": [0, 1, 0]}), path)
    >>> chunks = ParquetChunks(path, 2, target="label", features=["b"])
    >>> [X.ravel().tolist() for X, y in chunks], chunks.n_rows
    ([[0.0, 0.0], [1.0]], 3)
    """

    def __init__(
        self,
        path: PathLike,
        chunk_size: int,
        *,
        target: str,
        features: Sequence[str] | None = None,
        passes: int = 1,
        progress: bool = False,
    ) -> None:
        super().__init__(chunk_size, passes=passes, progress=progress)
        self.path, self.target = os.fspath(path), target
        if not os.path.isfile(self.path):
            raise FileNotFoundError(f"there is no file {self.path!r}")
        with self._open() as file:
            with self._reading():
                columns, kinds = file.schema_arrow.names, file.schema_arrow.types
            self.features = self._check_columns(columns, kinds, features)

    def _open(self) -> ParquetFile:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError("iter_parquet needs pyarrow: pip install 'csf-search[cli]'") from error
        with self._reading():
            return pq.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "a Parquet file")

    def _check_columns(self, columns: list[str], kinds: Sequence[Any], features: Iterable[str] | None) -> list[str]:
        """Names of the features, after a check that they and the target are there and hold numbers."""
        import pyarrow.types as types

        if isinstance(features, str) or not isinstance(features, (Sequence, np.ndarray, NoneType)):
            raise TypeError(f"features must be a list of column names or None, got {features!r}")
        names = [name for name in columns if name != self.target] if features is None else list(features)
        for role, name in (("target", self.target), *(("features", name) for name in names)):
            if columns.count(name) != 1:
                raise ValueError(
                    f"{role}: {self.path} has {columns.count(name)} columns {name!r}, one is needed; "
                    f"columns: {', '.join(columns)}{did_you_mean(name, columns)}"
                )
        if self.target in names:
            raise ValueError(f"the target {self.target!r} must not be one of the features")
        if not names:
            raise ValueError(f"{self.path} has no features beside the target {self.target!r}")
        for name in names:
            kind = kinds[columns.index(name)]
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"column {name!r} of {self.path} holds {kind}, accepted: numbers and booleans. Encode it, or "
                    "name the other columns in features="
                )
        kind = kinds[columns.index(self.target)]
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if not any(fits(kind) for fits in (types.is_integer, types.is_floating, types.is_boolean, *_texts(types))):
            raise ValueError(
                f"target: column {self.target!r} of {self.path} holds {kind}, accepted: numbers, texts and booleans"
            )
        return names

    def _size(self) -> int:
        with self._open() as file:
            return file.metadata.num_rows

    def _read(self, place: int) -> Iterator[tuple[Array, Array, int, int]]:
        with self._open() as file:
            if place > file.metadata.num_rows:
                raise ValueError(f"{self.path} has changed: it no longer has {place} rows. Start again")
            row, n_waiting = place, 0
            waiting: list[Chunk] = []
            for batch in self._batches(file, place):
                while batch.num_rows:
                    part = batch.slice(0, self.chunk_size - n_waiting)
                    batch = batch.slice(part.num_rows)
                    waiting.append(self._arrays(part, row))
                    row, n_waiting = row + part.num_rows, n_waiting + part.num_rows
                    if n_waiting == self.chunk_size:
                        yield *_joined(waiting), row, row
                        waiting, n_waiting = [], 0
            if waiting:
                yield *_joined(waiting), row, row

    def _batches(self, file: ParquetFile, start: int) -> Iterator[RecordBatch]:
        """Batches of rows from ``start`` on; row groups before it are not read."""
        group, first = 0, 0
        with self._reading():
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        while group < len(sizes) and first + sizes[group] <= start:
            first += sizes[group]
            group += 1
        if group == len(sizes):
            return
        groups, columns = range(group, len(sizes)), [*self.features, self.target]
        skip = start - first
        with self._reading():
            batches = file.iter_batches(self.chunk_size, row_groups=groups, columns=columns, use_threads=False)
        while True:
            with self._reading():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch.slice(skip)
            skip = max(skip - batch.num_rows, 0)

    def _arrays(self, batch: RecordBatch, row: int) -> Chunk:
        """Numbers and labels of a batch that begins at a row."""
        import pyarrow as pa

        X = np.empty((batch.num_rows, len(self.features)))
        for at, name in enumerate(self.features):
            with self._reading():
                X[:, at] = batch.column(name).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            bad = ~np.isfinite(X[:, at])
            if bad.any():
                where = row + int(np.argmax(bad))
                raise ValueError(
                    f"{self.path}, row {where} (from 0), column {name!r}: missing or not finite; fill it first"
                )
        labels = batch.column(self.target)
        if labels.null_count:
            where = row + int(np.argmax(labels.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(f"{self.path}, row {where} (from 0), column {self.target!r}: the label is missing")
        with self._reading():
            return X, labels.to_numpy(zero_copy_only=False)


def _texts(types: Any) -> tuple[Callable[[Any], bool], ...]:
    return types.is_string, types.is_large_string, types.is_string_view


def _joined(parts: list[Chunk]) -> Chunk:
    """One pair of arrays out of several."""
    if len(parts) == 1:
        return parts[0]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts))
    return X, y
