"""Chunks of arrays in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length, column_or_1d

from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, Samples
from csf.streams.base import ChunkIterator

__all__ = ["ArrayChunks", "iter_arrays"]


def iter_arrays(X: Samples, y: ArrayLike, chunk_size: int, *, passes: int = 1, progress: bool = False) -> ArrayChunks:
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

    Returns
    -------
    ArrayChunks
        Iterator over ``(X, y)``.

    Examples
    --------
    >>> for X, y in iter_arrays([[1.0], [2.0], [3.0]], ["a", "b", "a"], 2):
    ...     print(X.ravel(), y)
    [1. 2.] ['a' 'b']
    [3.] ['a']
    """
    return ArrayChunks(X, y, chunk_size, passes=passes, progress=progress)


class ArrayChunks(ChunkIterator):
    """Iterator behind `iter_arrays`.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Labels.
    chunk_size : int
        Rows in a chunk.
    passes : int, default=1
        How often to go over the arrays.
    progress : bool, default=False
        Whether to show a progress bar.

    Raises
    ------
    ValueError
        If the lengths differ.

    Examples
    --------
    >>> chunks = ArrayChunks([[1.0], [2.0], [3.0]], [0, 1, 0], 2, passes=2)
    >>> len(list(chunks)), chunks.n_rows, chunks.n_passes
    (4, 6, 2)
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
