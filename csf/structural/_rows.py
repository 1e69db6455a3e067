"""Rows of a matrix, dense or sparse, that are chosen without copying, and the products that learners need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from csf._common.compiled import njit
from csf._common.typing import Array, FloatArray, IntArray, Samples

__all__ = ["DenseRows", "SparseRows", "rows_of", "split_classes", "stack_rows"]


def rows_of(X: Samples) -> Rows:
    """All rows of an array or a CSR matrix."""
    if sparse.issparse(X):
        return _sparse_rows(X)
    return DenseRows(X, np.arange(X.shape[0]))


def _sparse_rows(X: Any) -> SparseRows:
    return SparseRows(X.data, X.indices, X.indptr[:-1], X.indptr[1:])


class DenseRows:
    """Some rows of an array."""

    def __init__(self, X: Array, at: IntArray) -> None:
        self.X, self.at = X, at

    def __len__(self) -> int:
        return self.at.shape[0]

    def take(self, places: IntArray | slice) -> DenseRows:
        """Some of these rows: an array of places or a slice."""
        return DenseRows(self.X, self.at[places])

    def copy(self) -> DenseRows:
        """The same rows in memory of their own."""
        X = self.X[self.at]
        return DenseRows(X, np.arange(X.shape[0]))

    def to_csr(self) -> SparseRows:
        """The same rows, sparse."""
        return _sparse_rows(sparse.csr_array(self.X[self.at]))

    def scores(self, w: Array, x_scale: float, constant: float) -> FloatArray:
        """Products of scaled rows with ``w``, whose last entry belongs to a constant feature where it is positive."""
        out = np.empty(len(self))
        _scores_dense(self.X, self.at, w, x_scale, constant, out)
        return out

    def add(self, slopes: Array, x_scale: float, constant: float, out: Array) -> float:
        """Add the sum of scaled rows, each times its slope, to ``out``; returns what its squared length gains."""
        return _add_dense(self.X, self.at, slopes, x_scale, constant, out)

    def touch(self, kernels: tuple[Any, Any], slopes: Array, *arguments: Any) -> None:
        """Call one of a pair of kernels, for all entries or for those of rows with a slope."""
        kernels[0](*arguments)


class SparseRows:
    """Some rows of a CSR matrix."""

    def __init__(self, data: Array, indices: Array, starts: IntArray, stops: IntArray) -> None:
        self.data, self.indices, self.starts, self.stops = data, indices, starts, stops

    def __len__(self) -> int:
        return self.starts.shape[0]

    def take(self, places: IntArray | slice) -> SparseRows:
        """Some of these rows: an array of places or a slice."""
        return SparseRows(self.data, self.indices, self.starts[places], self.stops[places])

    def copy(self) -> SparseRows:
        """The same rows in memory of their own."""
        lengths = self.stops - self.starts
        stops = np.cumsum(lengths)
        starts = stops - lengths
        at = np.repeat(self.starts - starts, lengths) + np.arange(lengths.sum())
        return SparseRows(self.data[at], self.indices[at], starts, stops)

    def to_csr(self) -> SparseRows:
        """The same rows."""
        return self

    def scores(self, w: Array, x_scale: float, constant: float) -> FloatArray:
        """Products of scaled rows with ``w``, whose last entry belongs to a constant feature where it is positive."""
        out = np.empty(len(self))
        _scores_csr(self.data, self.indices, self.starts, self.stops, w, x_scale, constant, out)
        return out

    def add(self, slopes: Array, x_scale: float, constant: float, out: Array) -> float:
        """Add the sum of scaled rows, each times its slope, to ``out``; returns what its squared length gains."""
        return _add_csr(self.data, self.indices, self.starts, self.stops, slopes, x_scale, constant, out)

    def touch(self, kernels: tuple[Any, Any], slopes: Array, *arguments: Any) -> None:
        """Call one of a pair of kernels, for all entries or for those of rows with a slope."""
        kernels[1](self.indices, self.starts, self.stops, slopes, *arguments)


Rows: TypeAlias = DenseRows | SparseRows


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """Copy of the rows of all parts; sparse if one of them is."""
    if len(parts) == 1:
        return parts[0].copy()
    dense = [part for part in parts if isinstance(part, DenseRows)]
    if len(dense) == len(parts):
        return rows_of(np.concatenate([part.X[part.at] for part in dense]))
    parts = [part.to_csr().copy() for part in parts]
    before = np.cumsum([0] + [part.data.shape[0] for part in parts[:-1]])
    return SparseRows(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.starts + shift for part, shift in zip(parts, before)]),
        np.concatenate([part.stops + shift for part, shift in zip(parts, before)]),
    )


@njit(cache=True, nogil=True)
def split_classes(score, sign, out, places):
    """Write the scores of positives to the front of ``out`` and those of negatives behind, all in their order.

    ``places`` gets the place of each sample in ``out``. Returns the number of positives.
    """
    n_pos = 0
    for i in range(sign.shape[0]):
        n_pos += sign[i] > 0.0
    front, back = 0, n_pos
    for i in range(sign.shape[0]):
        if sign[i] > 0.0:
            places[i] = front
            front += 1
        else:
            places[i] = back
            back += 1
        out[places[i]] = score[i]
    return n_pos


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _scores_dense(X, at, w, x_scale, constant, out):
    shift = w[-1] * constant if constant > 0.0 else 0.0
    for i in range(at.shape[0]):
        row, total = at[i], 0.0
        for j in range(X.shape[1]):
            total += X[row, j] * w[j]
        out[i] = total * x_scale + shift


@njit(cache=True, nogil=True)
def _scores_csr(data, indices, starts, stops, w, x_scale, constant, out):
    shift = w[-1] * constant if constant > 0.0 else 0.0
    for i in range(starts.shape[0]):
        total = 0.0
        for k in range(starts[i], stops[i]):
            total += data[k] * w[indices[k]]
        out[i] = total * x_scale + shift


@njit(cache=True, nogil=True)
def _add_dense(X, at, slopes, x_scale, constant, out):
    before = np.dot(out, out)
    for i in range(at.shape[0]):
        if slopes[i] != 0.0:
            row, factor = at[i], slopes[i] * x_scale
            for j in range(X.shape[1]):
                out[j] += factor * X[row, j]
            if constant > 0.0:
                out[-1] += slopes[i] * constant
    return np.dot(out, out) - before


@njit(cache=True, nogil=True)
def _add_csr(data, indices, starts, stops, slopes, x_scale, constant, out):
    gain, bias = 0.0, 0.0
    for i in range(starts.shape[0]):
        if slopes[i] != 0.0:
            factor = slopes[i] * x_scale
            for k in range(starts[i], stops[i]):
                j, change = indices[k], factor * data[k]
                gain += change * (2.0 * out[j] + change)
                out[j] += change
            bias += slopes[i] * constant
    if constant > 0.0:
        gain += bias * (2.0 * out[-1] + bias)
        out[-1] += bias
    return gain
