"""Chunks of arrays, Parquet and svmlight files, by iterators that know their place."""

from __future__ import annotations

import bz2
import gzip
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from io import BufferedReader, BytesIO
from itertools import islice
from types import NoneType
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import issparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import check_consistent_length, column_or_1d
from tqdm import tqdm

from csf._common.files import UNPACKING, reading
from csf._common.messages import did_you_mean
from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, PathLike, Samples
from csf._common.validation import check_count

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

# ---------------------------------------------------------------- iterators that know their place


# Samples and their labels.
Chunk: TypeAlias = tuple[Samples, Array]


class ChunkIterator(Iterator[Chunk]):
    """Chunks ``(X, y)`` of a source that may be larger than memory, once or in several passes.

    It can be pickled at any time, also in the middle: what comes out of the pickle goes on with the chunk that
    follows the last one given out. Subclasses write `_size` and `_read`.

    Parameters
    ----------
    chunk_size : int
        Rows in a chunk; the last chunk of a pass may be smaller.
    passes : int, default=1
        How often to go over the source.
    progress : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    n_rows : int
        Rows given out so far, in all passes.
    n_passes : int
        Passes completed so far.

    Examples
    --------
    >>> import pickle
    >>> from csf.streams import iter_arrays
    >>> chunks = iter_arrays([[1.0], [2.0], [3.0]], [0, 1, 0], 2)
    >>> _ = next(chunks)
    >>> X, y = next(pickle.loads(pickle.dumps(chunks)))
    >>> X, y
    (array([[3.]]), array([0]))
    """

    # What the progress bar counts, and where a pass begins.
    _unit: str = "row"
    _beginning: Any = 0

    n_rows: int
    n_passes: int

    def __init__(self, chunk_size: int, *, passes: int = 1, progress: bool = False) -> None:
        self.chunk_size = check_count(chunk_size, "chunk_size")
        self.passes = check_count(passes, "passes")
        self.progress = progress
        self.n_rows = self.n_passes = self._done = 0
        self._place = self._beginning
        self._chunks: Iterator[Chunk] | None = None

    @abstractmethod
    def _size(self) -> int:
        """Size of the source, in units of the progress bar."""

    @abstractmethod
    def _read(self, place: Any) -> Iterator[tuple[Samples, Array, Any, int]]:
        """Yield ``(X, y, place, done)`` from a place to the end of the source.

        ``place`` is where the next chunk begins, ``done`` how much of `_size` lies before it.
        """

    def __next__(self) -> Chunk:
        """The next chunk ``(X, y)``."""
        if self._chunks is None:
            self._chunks = self._remaining()
        try:
            return next(self._chunks)
        except StopIteration:
            raise
        except BaseException:
            self._chunks = None  # the next call meets the same error instead of an end
            raise

    def _remaining(self) -> Iterator[Chunk]:
        size = self._size()
        look: dict[str, Any] = {"unit": self._unit, "unit_scale": self._unit == "B", "disable": not self.progress}
        with tqdm(total=self.passes * size, initial=self.n_passes * size + self._done, **look) as bar:
            while self.n_passes < self.passes:
                for X, y, place, done in self._read(self._place):
                    bar.update(done - self._done)
                    # The place moves before the chunk is given out: a pickle made while it is in use goes on behind it.
                    self._place, self._done = place, done
                    self.n_rows += y.shape[0]
                    yield X, y
                bar.update(size - self._done)
                self.n_passes, self._place, self._done = self.n_passes + 1, self._beginning, 0

    def __getstate__(self) -> dict[str, Any]:
        # An open file cannot be pickled; the place is enough to open it again.
        return self.__dict__ | {"_chunks": None}


# ---------------------------------------------------------------- arrays


class ArrayChunks(ChunkIterator):
    """Go through arrays in chunks, in their order.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels.
    chunk_size : int
        Rows in a chunk; the last one of a pass may be smaller.
    passes : int, default=1
        How often to go over the arrays.
    progress : bool, default=False
        Whether to show a progress bar of rows.

    Examples
    --------
    >>> for X, y in iter_arrays([[1.0], [2.0], [3.0]], ["a", "b", "a"], 2):
    ...     print(X.ravel(), y)
    [1. 2.] ['a' 'b']
    [3.] ['a']
    """

    def __init__(self, X: Samples, y: ArrayLike, chunk_size: int, *, passes: int = 1, progress: bool = False) -> None:
        super().__init__(chunk_size, passes=passes, progress=progress)
        if not hasattr(X, "shape"):  # rows of a list would not come out as arrays
            X = np.asarray(X)
        if issparse(X):  # not every layout can be cut by rows
            X = X.tocsr()
        self._X: Samples = X
        self._y: Array = column_or_1d(y)
        check_consistent_length(self._X, self._y)

    def _size(self) -> int:
        return num_samples(self._X)

    def _read(self, place: int) -> Iterator[tuple[Samples, Array, int, int]]:
        for start in range(place, self._size(), self.chunk_size):
            stop = min(start + self.chunk_size, self._size())
            yield safe_indexing(self._X, slice(start, stop)), self._y[start:stop], stop, stop


iter_arrays = ArrayChunks


# ---------------------------------------------------------------- Parquet


# Bytes read at a time for each column; pyarrow reads whole row groups otherwise.
_BUFFER = 1 << 16


class ParquetChunks(ChunkIterator):
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


iter_parquet = ParquetChunks


def _texts(types: Any) -> tuple[Callable[[Any], bool], ...]:
    return types.is_string, types.is_large_string, types.is_string_view


def _joined(parts: list[Chunk]) -> Chunk:
    """One pair of arrays out of several."""
    if len(parts) == 1:
        return parts[0]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts))
    return X, y


# ---------------------------------------------------------------- svmlight


_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
# From here on floats are further than 1 apart, so that labels may become one.
_EXACT = 2.0**53
# Declared without a type for ``zero_based``, whose default is a text.
_load: Callable[..., tuple[Any, Array]] = load_svmlight_file


class SvmlightChunks(ChunkIterator):
    """Read an svmlight file in chunks, in memory that does not depend on its length.

    Parameters
    ----------
    path : str or Path
        File with a line ``label index:value index:value ...`` for each row; ``.gz`` and ``.bz2`` are unpacked on
        the way. Empty lines and comments are skipped.
    chunk_size : int
        Rows in a chunk; the last one of a pass may be smaller.
    n_features : int
        Number of columns; a file that is read in pieces does not show it.
    zero_based : bool, default=False
        Whether the first feature has number 0; most files begin with 1.
    passes : int, default=1
        How often to go over the file.
    progress : bool, default=False
        Whether to show a progress bar of bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        While reading, if a line is malformed or holds a number that is not finite; it names the line.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 1:0.5 3:2\\n-1 2:1\\n+1 1:1\\n")
    >>> for X, y in iter_svmlight(path, 2, n_features=3):
    ...     print(X.shape, X.sum(), y)
    (2, 3) 3.5 [ 1. -1.]
    (1, 3) 1.0 [1.]
    """

    # A place is (bytes before it, lines before it), both of the unpacked text.
    _unit = "B"
    _beginning: tuple[int, int] = (0, 0)

    def __init__(
        self,
        path: PathLike,
        chunk_size: int,
        *,
        n_features: int,
        zero_based: bool = False,
        passes: int = 1,
        progress: bool = False,
    ) -> None:
        super().__init__(chunk_size, passes=passes, progress=progress)
        self.path = os.fspath(path)
        self.n_features = check_count(n_features, "n_features")
        self.zero_based = bool(zero_based)
        if not os.path.isfile(self.path):
            raise FileNotFoundError(f"there is no file {self.path!r}")

    def _size(self) -> int:
        return os.path.getsize(self.path)

    def _read(self, place: tuple[int, int]) -> Iterator[tuple[Samples, Array, tuple[int, int], int]]:
        unpack = _COMPRESSED.get(os.path.splitext(self.path)[1].lower())
        with open(self.path, "rb") as raw:
            if unpack is None:
                yield from self._chunks_of(raw, raw, place)
            else:
                with BufferedReader(unpack(raw)) as text:
                    yield from self._chunks_of(text, raw, place)

    def _chunks_of(
        self, text: IO[bytes], raw: IO[bytes], place: tuple[int, int]
    ) -> Iterator[tuple[Samples, Array, tuple[int, int], int]]:
        self._seek(text, place)
        rows = _Rows(text, *place)
        while numbered := self._next_lines(rows):
            X, y = self._parse(numbered)
            # What was unpacked ahead of the rows counts as done: the bar need not be exact.
            yield X, y, (rows.offset, rows.number), rows.offset if text is raw else raw.tell()

    def _seek(self, text: IO[bytes], place: tuple[int, int]) -> None:
        """Go to a place, which must follow the end of a line."""
        offset, number = place
        if offset:
            try:
                text.seek(offset - 1)
                last = text.read(1)
            except UNPACKING as error:
                raise ValueError(f"{self.path} is damaged before line {number}: {error}") from error
            if last != b"\n":
                raise ValueError(
                    f"{self.path} has changed: byte {offset} is no longer the end of line {number}. Start again"
                )

    def _next_lines(self, rows: _Rows) -> list[tuple[int, bytes]]:
        try:
            return list(islice(rows, self.chunk_size))
        except UNPACKING as error:
            raise ValueError(f"{self.path} is damaged after line {rows.number}: {error}") from error

    def _parse(self, numbered: list[tuple[int, bytes]]) -> Chunk:
        try:
            return self._load(b"".join(line for _, line in numbered))
        except (ValueError, OverflowError):
            # Reading all lines in one go is several times faster. Only after an error are they read one by one.
            for number, line in numbered:
                self._parse_line(number, line)
            raise  # pragma: no cover - some line fails alone, too

    def _parse_line(self, number: int, line: bytes) -> None:
        try:
            self._load(line)
        except (ValueError, OverflowError) as error:
            first = 0 if self.zero_based else 1
            raise ValueError(
                f"{self.path}, line {number}: {error}. Got {line[:60]!r}; accepted: 'label index:value ...' with "
                f"finite numbers and ascending indices from {first} to {self.n_features - 1 + first} "
                f"(n_features={self.n_features}, zero_based={self.zero_based})"
            ) from error

    def _load(self, lines: bytes) -> Chunk:
        X, y = _load(BytesIO(lines), n_features=self.n_features, zero_based=self.zero_based)
        if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
            raise ValueError("NaN or infinity")
        if (np.abs(y) >= _EXACT).any():
            raise ValueError("a label of 2^53 or more is not exact as a float; renumber the classes")
        # 32 bits are enough for a chunk, and what other sparse arrays have.
        parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return sparse.csr_array(parts, shape=X.shape), y


iter_svmlight = SvmlightChunks


class _Rows:
    """Numbered lines with content; counts the bytes and lines before the next one."""

    def __init__(self, text: IO[bytes], offset: int, number: int) -> None:
        self.text, self.offset, self.number = text, offset, number

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for line in self.text:
            self.offset += len(line)
            self.number += 1
            content = line.lstrip()
            if content and not content.startswith(b"#"):
                yield self.number, line if line.endswith(b"\n") else line + b"\n"
