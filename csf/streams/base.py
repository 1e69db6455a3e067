"""Iterators over chunks that know their place, so that a pickle of them continues where they were."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, TypeAlias

from tqdm import tqdm

from csf._common.typing import Array, Samples
from csf._common.validation import check_count

__all__ = ["Chunk", "ChunkIterator"]

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
            self._chunks = None  # asked again, it meets the same error instead of an end
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
