"""Chunks of arrays, Parquet and svmlight files, learners fitted from them, and their value while they learn."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from itertools import islice
from types import NoneType
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import issparse
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_consistent_length, column_or_1d
from tqdm import tqdm

from csf._common.files import UNPACKING, reading, replaced
from csf._common.messages import did_you_mean
from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, Estimator, FloatArray, Foreign, IntArray, Keywords, Label, PathLike, Samples
from csf._common.validation import check_count, check_path, label_array
from csf.metrics import Metric, get_metric
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

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


# ---------------------------------------------------------------- iterators that know their place


# Samples and their labels.
Chunk: TypeAlias = tuple[Samples, Array]
# Where a chunk begins: a row, or bytes and lines; each source has its own.
Place: TypeAlias = Any


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
    _beginning: Place = 0

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
        """Return the size of the source, in units of the progress bar."""

    @abstractmethod
    def _read(self, place: Place) -> Iterator[tuple[Samples, Array, Place, int]]:
        """Yield ``(X, y, place, done)`` from a place to the end of the source.

        ``place`` is where the next chunk begins, ``done`` how much of `_size` lies before it.
        """

    def __next__(self) -> Chunk:
        """Return the next chunk ``(X, y)``."""
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
        look: Keywords = {"unit": self._unit, "unit_scale": self._unit == "B", "disable": not self.progress}
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

    def __getstate__(self) -> Keywords:
        # An open file cannot be pickled; the place is enough to open it again.
        return self.__dict__ | {"_chunks": None}


# ---------------------------------------------------------------- arrays


class ArrayChunks(ChunkIterator):
    """Chunks of arrays, in their order.

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
        self._y: Array = column_or_1d(label_array(y, "y"))
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
    """Chunks of a Parquet file, in memory that does not depend on its length.

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

    def _check_columns(self, columns: list[str], kinds: Sequence[Foreign], features: Iterable[str] | None) -> list[str]:
        """Return the names of the features; check that they and the target are there and hold numbers."""
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
        """Yield batches of rows from ``start`` on; row groups before it are not read."""
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
        """Convert a batch that begins at a row to numbers and labels."""
        import pyarrow as pa

        X = np.empty((batch.num_rows, len(self.features)))
        for column, name in enumerate(self.features):
            with self._reading():
                X[:, column] = batch.column(name).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            bad = ~np.isfinite(X[:, column])
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


def _texts(types: Foreign) -> tuple[Callable[[Foreign], bool], ...]:
    return types.is_string, types.is_large_string, types.is_string_view


def _joined(parts: list[Chunk]) -> Chunk:
    """Join several pairs of arrays."""
    if len(parts) == 1:
        return parts[0]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts))
    return X, y


# ---------------------------------------------------------------- svmlight


_COMPRESSED: dict[str, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File]] = {".gz": gzip.open, ".bz2": bz2.open}
# From here on floats are further than 1 apart, so that labels may become one.
_EXACT = 2.0**53
# Declared without a type for ``zero_based``, whose default is a text.
_load: Callable[..., tuple[Samples, Array]] = load_svmlight_file


class SvmlightChunks(ChunkIterator):
    """Chunks of an svmlight file, in memory that does not depend on its length.

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
        rows = _NumberedLines(text, *place)
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

    def _next_lines(self, rows: _NumberedLines) -> list[tuple[int, bytes]]:
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


class _NumberedLines:
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


# ---------------------------------------------------------------- fitting from a stream


FORMAT = "csf-stream"
# The last bytes of a file: a checksum of all before it, as a pickle itself does not notice flipped bits.
_MARK = b"\ncsf-stream sha256 "
_END = len(_MARK) + 2 * hashlib.sha256().digest_size


def fit_stream(
    learner: Estimator,
    chunks: Iterable[Chunk],
    *,
    classes: ArrayLike | None = None,
    save_to: PathLike | None = None,
    save_every: int = 100,
) -> Estimator:
    """Train a learner on chunks, one ``partial_fit`` for each.

    Parameters
    ----------
    learner : estimator
        Anything with ``partial_fit(X, y)``. It is trained further, not from scratch.
    chunks : iterable
        Pairs ``(X, y)``, such as `iter_svmlight`, `iter_parquet` or `iter_arrays` give them. Several passes are a
        matter of these (``passes=3``).
    classes : array-like, default=None
        Labels to give the learner with the first chunk, which need not hold all of them.
    save_to : str or Path, default=None
        File that keeps the learner and the place in the stream, see `save_stream`; ``None`` saves nothing.
    save_every : int, default=100
        Chunks between two savings; the end of the stream is saved too.

    Returns
    -------
    estimator
        The learner.

    Raises
    ------
    ValueError
        If there is not a single chunk.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> chunks = iter_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], 2, passes=5)
    >>> fit_stream(SGDClassifier(random_state=0), chunks, classes=[0, 1]).predict([[0.0], [3.0]])
    array([0, 1])
    """
    save_every = check_count(save_every, "save_every")
    check_path(save_to, "save_to")
    if not hasattr(learner, "partial_fit"):
        raise TypeError(f"{learner!r} cannot learn from a stream: it has no partial_fit")
    n_chunks = 0
    for X, y in chunks:
        if n_chunks == 0 and classes is not None:
            learner.partial_fit(X, y, classes=classes)
        else:
            learner.partial_fit(X, y)
        n_chunks += 1
        if save_to is not None and n_chunks % save_every == 0:
            save_stream(save_to, learner, cast("ChunkIterator", chunks))  # others are refused there
    # A stream that was saved at its end has nothing left, rightly.
    if n_chunks == 0 and getattr(chunks, "n_rows", 0) == 0:
        raise ValueError("the stream has no chunks: the source is empty, or an iterator is used a second time")
    if save_to is not None and n_chunks % save_every:
        save_stream(save_to, learner, cast("ChunkIterator", chunks))
    return learner


def save_stream(path: PathLike, learner: Estimator, chunks: ChunkIterator) -> None:
    """Save a learner and its place in a stream to a file.

    The file is written beside ``path`` and moved there, so that a crash leaves the one before.

    Parameters
    ----------
    path : str or Path
        File, written by joblib.
    learner : estimator
        The learner, its random state included.
    chunks : ChunkIterator
        The stream, at the place where the learner is to go on.

    Raises
    ------
    TypeError
        If the stream cannot be pickled, as a generator cannot.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> path = os.path.join(tempfile.mkdtemp(), "state.joblib")
    >>> chunks = iter_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], 2)
    >>> learner = SGDClassifier(random_state=0).partial_fit(*next(chunks), classes=[0, 1])
    >>> save_stream(path, learner, chunks)
    >>> learner, chunks = load_stream(path)
    >>> fit_stream(learner, chunks).t_
    5.0
    """
    path = os.fspath(path)
    try:
        with replaced(path, "w+b") as file:
            joblib.dump({"format": FORMAT, "learner": learner, "chunks": chunks}, file)
            file.seek(0)
            checksum = hashlib.file_digest(file, "sha256").hexdigest().encode()
            file.write(_MARK + checksum)
    except TypeError as error:
        raise TypeError(f"cannot save this stream or learner: {error}. Streams of csf.streams can be saved") from error


def load_stream(path: PathLike) -> tuple[Estimator, ChunkIterator]:
    """Load the learner and the stream of a file of `save_stream`; both go on as if they had never stopped.

    Parameters
    ----------
    path : str or Path
        File from a trusted source: like every pickle it can run code.

    Returns
    -------
    learner : estimator
        The learner.
    chunks : ChunkIterator
        The rest of the stream.

    Raises
    ------
    ValueError
        If the file is something else, or damaged: its checksum is compared before anything is unpickled.
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        _check_whole(file, path)
        with reading(path, "a file of csf.streams.save_stream"):
            content = joblib.load(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} was not written by csf.streams.save_stream")
    return content["learner"], content["chunks"]


def _check_whole(file: IO[bytes], path: str) -> None:
    """Raise a ValueError where a file's content and checksum differ; else go to its beginning."""
    size = os.path.getsize(path)
    file.seek(max(size - _END, 0))
    end = file.read()
    if not end.startswith(_MARK):
        raise ValueError(
            f"{path} was not written by csf.streams.save_stream, or it is truncated: it does not end with a checksum. "
            "Start again; files of an earlier csf had none, so that they cannot be distinguished from damaged ones"
        )
    file.seek(0)
    digest, left = hashlib.sha256(), size - _END
    while block := file.read(min(left, 1 << 20)):
        digest.update(block)
        left -= len(block)
    if digest.hexdigest().encode() != end.removeprefix(_MARK):
        raise ValueError(f"{path} is damaged: its content and its checksum differ. Start again, or from a copy of it")
    file.seek(0)


# ---------------------------------------------------------------- prequential values


@dataclass(frozen=True)
class PrequentialResult:
    """Predictions of a learner, each made before its example was learnt, counted as the stream goes by.

    Parameters
    ----------
    n_examples : ndarray of int, shape (n_records,)
        Examples seen at each record.
    seconds : ndarray of shape (n_records,)
        Time that the learner took for them, to predict and to learn.
    counts : ndarray of int, shape (n_records, 4)
        True positives, false positives, false negatives and true negatives among all predictions so far.
    every : int
        Examples between two records.
    metric : Metric
        What `values` shows.
    window : int or None
        Number of last examples that `values` looks at; ``None`` for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[1, 1, 2, 6], [4, 2, 2, 12]])
    >>> result = PrequentialResult(np.array([10, 20]), np.array([0.1, 0.2]), counts, 10, get_metric("f1"), None)
    >>> result.values
    array([0.4 , 0.667])
    >>> result.curve("f1", window=10), result.curve("recall")
    (array([0.4 , 0.857]), array([0.333, 0.667]))
    """

    n_examples: IntArray
    seconds: FloatArray
    counts: IntArray = field(repr=False)
    every: int
    metric: Metric
    window: int | None

    @property
    def values(self) -> FloatArray:
        """The metric at each record, ndarray of shape (n_records,); see `curve`."""
        return self.curve(self.metric, window=self.window)

    def curve(self, metric: str | Metric, *, window: int | None = None) -> FloatArray:
        """Compute any metric at each record.

        Parameters
        ----------
        metric : str or Metric
            A name in ``csf.metrics.METRICS`` or an object; ``"recall"`` and ``"specificity"`` are TPR and TNR.
        window : int, default=None
            Number of last examples to look at, a multiple of ``every``; ``None`` for all since the beginning. Before
            there are so many, it is all of them; at an end between two records it is up to ``every`` more.

        Returns
        -------
        ndarray of shape (n_records,)
            The values; NaN where only one class was met.
        """
        metric, window = get_metric(metric), _check_window(window, self.every)
        counts = self.counts
        if window is not None:
            before = np.searchsorted(self.n_examples, self.n_examples - window, side="right")
            counts = counts - np.vstack([np.zeros((1, 4), dtype=counts.dtype), counts])[before]
        return np.array([_value(metric, *row) for row in counts.tolist()])


def prequential(
    learner: Estimator,
    chunks: Iterable[Chunk],
    *,
    metric: str | Metric = "f1",
    window: int | None = None,
    every: int = 1000,
    classes: ArrayLike | None = None,
    pos_label: Label = None,
) -> PrequentialResult:
    """Let a learner predict each chunk of a stream before it learns it, and count its predictions.

    Parameters
    ----------
    learner : estimator
        Anything with ``predict(X)`` and ``partial_fit(X, y)``. As long as it cannot predict, because it has not
        learnt anything yet, it learns only.
    chunks : iterable
        Pairs ``(X, y)``, such as `iter_svmlight`, `iter_parquet` or `iter_arrays` give them.
    metric : str or Metric, default="f1"
        What the ``values`` of the result show. All others can be had from the same result.
    window : int, default=None
        Number of last examples that the ``values`` look at, a multiple of ``every``; ``None`` for all.
    every : int, default=1000
        Examples between two records. Chunks are split there, so that no prediction is older than this.
    classes : array-like, default=None
        Labels to give the learner with the first chunk.
    pos_label : label, default=None
        Positive class; ``None`` means the learner's ``pos_label_``, or 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    PrequentialResult
        What it counted.

    Raises
    ------
    ValueError
        If there are no chunks, or the positive class is not known.

    Notes
    -----
    The seconds are those of ``predict`` and ``partial_fit``, without the reading of chunks. The first call of a
    compiled learner includes the compilation where it is not in the cache.

    References
    ----------
    .. [1] J. Gama, R. Sebastião, P. Rodrigues, "On evaluating stream learning algorithms", Machine Learning 90, 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> chunks = iter_arrays(X, y, 100)
    >>> result = prequential(SGDClassifier(random_state=0), chunks, every=1000, classes=[0, 1])
    >>> result.n_examples, result.values
    (array([1000, 2000, 3000, 4000]), array([0.447, 0.486, 0.514, 0.5  ]))
    """
    metric, every = get_metric(metric), check_count(every, "every")
    window = _check_window(window, every)
    counts, n_examples, seconds = np.zeros(4, dtype=np.int64), 0, 0.0
    records: list[tuple[int, float, IntArray]] = []
    for X, y in _pieces(chunks, every):
        start = time.perf_counter()
        predicted = _predictions(learner, X)
        # scikit-learn's learners want the classes at first only, and no others later
        learner.partial_fit(X, y, **({} if n_examples or classes is None else {"classes": classes}))
        seconds += time.perf_counter() - start
        n_examples += y.shape[0]
        if predicted is not None:
            counts = counts + _confusion(y, predicted, _positive(learner, y, pos_label))
        # A record between two due ones is made only to be the last, where the stream ends there.
        if records and records[-1][0] % every:
            records.pop()
        records.append((n_examples, seconds, counts))
    if not records:
        raise ValueError("the stream has no chunks: the source is empty, or an iterator is used a second time")
    seen, times, counted = map(np.array, zip(*records))
    return PrequentialResult(seen, times, counted, every, metric, window)


def _check_window(window: int | None, every: int) -> int | None:
    if window is None:
        return None
    if check_count(window, "window") % every:
        raise ValueError(f"window must be a multiple of every={every}, where the records are, got {window}")
    return window


def _pieces(chunks: Iterable[Chunk], every: int) -> Iterator[Chunk]:
    """Yield the chunks, split where a record is due."""
    n_examples = 0
    for X, y in chunks:
        y = np.asarray(y)
        start = 0
        while start < y.shape[0]:
            stop = min(y.shape[0], start + every - n_examples % every)
            whole = stop - start == y.shape[0]
            yield (X, y) if whole else (safe_indexing(X, slice(start, stop)), y[start:stop])
            n_examples += stop - start
            start = stop


def _predictions(learner: Estimator, X: Samples) -> Array | None:
    try:
        return np.asarray(learner.predict(X))
    except NotFittedError:
        return None


def _positive(learner: Estimator, y: Array, pos_label: Label) -> Label:
    if pos_label is not None:
        if np.ndim(pos_label) != 0:
            raise TypeError(f"pos_label must be one of the labels, got {pos_label!r}")
        return pos_label
    if hasattr(learner, "pos_label_"):
        return learner.pos_label_
    if not (y.dtype.kind in "biuf" and np.isin(y, (-1, 0, 1)).all()):
        raise ValueError(f"pos_label=None stands for 1 with labels {{0, 1}} or {{-1, 1}}, y holds {y.tolist()[0]!r}")
    return 1


def _confusion(y: Array, predicted: Array, positive: Label) -> IntArray:
    """Count true and false positives, false and true negatives."""
    return np.bincount(2 * (predicted != positive) + (y != positive), minlength=4)


def _value(metric: Metric, tp: int, fp: int, fn: int, tn: int) -> float:
    if tp + fn == 0 or fp + tn == 0:
        return float("nan")
    return metric.of(ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn))
