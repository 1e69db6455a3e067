"""Chunks of svmlight (LIBSVM) files, plain or compressed."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable, Iterator
from io import BufferedReader, BytesIO
from itertools import islice
from typing import IO, Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from csf._common.files import UNPACKING
from csf._common.typing import Array, PathLike, Samples
from csf._common.validation import check_count
from csf.streams.base import Chunk, ChunkIterator

__all__ = ["SvmlightChunks", "iter_svmlight"]

_COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
# From here on floats are further than 1 apart, so that labels may become one.
_EXACT = 2.0**53
# Declared without a type for ``zero_based``, whose default is a text.
_load: Callable[..., tuple[Any, Array]] = load_svmlight_file


def iter_svmlight(
    path: PathLike,
    chunk_size: int,
    *,
    n_features: int,
    zero_based: bool = False,
    passes: int = 1,
    progress: bool = False,
) -> SvmlightChunks:
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

    Returns
    -------
    SvmlightChunks
        Iterator over ``(X, y)`` with ``X`` a CSR array of float64 and ``y`` an ndarray of float64. A pickle of it
        keeps its place in the file.

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
    return SvmlightChunks(
        path, chunk_size, n_features=n_features, zero_based=zero_based, passes=passes, progress=progress
    )


class SvmlightChunks(ChunkIterator):
    """Iterator behind `iter_svmlight`.

    Parameters
    ----------
    path : str or Path
        File.
    chunk_size : int
        Rows in a chunk.
    n_features : int
        Number of columns.
    zero_based : bool, default=False
        Whether the first feature has number 0.
    passes : int, default=1
        How often to go over the file.
    progress : bool, default=False
        Whether to show a progress bar.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "train.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 1:0.5 3:2\\n-1 2:1\\n+1 1:1\\n")
    >>> chunks = SvmlightChunks(path, 2, n_features=3)
    >>> X, y = next(chunks)
    >>> X.nnz, y, chunks.n_rows, chunks.n_passes
    (3, array([ 1., -1.]), 2, 0)
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
            # All lines at once are several times faster to read; which of them is wrong is found one by one.
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
