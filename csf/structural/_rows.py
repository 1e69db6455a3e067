"""Rows of a matrix, dense or sparse, and what mini-batches do with them: scores, and sums of rows.

Dense rows are an array; sparse ones are ``(data, indices, indptr)``, where ``indptr`` may be a part of the whole.
"""

import numpy as np
from numba import njit
from scipy import sparse

__all__ = ["add_rows", "copy_rows", "cut_rows", "rows_of", "score_rows", "split_classes", "stack_rows", "take_rows"]


def rows_of(X):
    """Rows of an array or a CSR matrix, without copying."""
    return (X.data, X.indices, X.indptr) if sparse.issparse(X) else X


def cut_rows(rows, start, stop):
    """Rows ``start`` to ``stop``, without copying."""
    if isinstance(rows, tuple):
        return rows[0], rows[1], rows[2][start : stop + 1]
    return rows[start:stop]


def copy_rows(rows):
    """Rows that share no memory with others."""
    return stack_rows([rows])


def take_rows(rows, places):
    """Copy of the rows at some places, in that order."""
    if not isinstance(rows, tuple):
        return rows[places]
    data, indices, indptr = rows
    lengths = np.diff(indptr)[places]
    ends = np.cumsum(lengths)
    at = np.repeat(indptr[places] - (ends - lengths), lengths) + np.arange(lengths.sum())
    return data[at], indices[at], np.concatenate([[0], ends])


def stack_rows(parts):
    """Copy of the rows of all parts; sparse if one of them is."""
    if not any(isinstance(part, tuple) for part in parts):
        return np.concatenate(parts)
    parts = [part if isinstance(part, tuple) else rows_of(sparse.csr_array(part)) for part in parts]
    spans = [slice(indptr[0], indptr[-1]) for _, _, indptr in parts]
    lengths = np.concatenate([np.diff(indptr) for _, _, indptr in parts])
    data = np.concatenate([part[0][span] for part, span in zip(parts, spans)])
    indices = np.concatenate([part[1][span] for part, span in zip(parts, spans)])
    return data, indices, np.concatenate([[0], np.cumsum(lengths)])


def score_rows(rows, w, x_scale, constant):
    """Products of scaled rows with ``w``, whose last entry belongs to a constant feature where ``constant > 0``."""
    if isinstance(rows, tuple):
        out = np.empty(rows[2].shape[0] - 1)
        scores_csr(*rows, w, x_scale, constant, out)
    else:
        out = np.empty(rows.shape[0])
        scores_dense(rows, w, x_scale, constant, out)
    return out


def add_rows(rows, factors, x_scale, constant, out):
    """Add the sum of scaled rows, each times its factor, to ``out``, laid out as ``w`` in `score_rows`."""
    if isinstance(rows, tuple):
        add_csr(*rows, factors, x_scale, constant, out)
    else:
        add_dense(rows, factors, x_scale, constant, out)


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
def scores_dense(X, w, x_scale, constant, out):
    shift = w[-1] * constant if constant > 0.0 else 0.0
    for i in range(X.shape[0]):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * w[j]
        out[i] = total * x_scale + shift


@njit(cache=True, nogil=True)
def scores_csr(data, indices, indptr, w, x_scale, constant, out):
    shift = w[-1] * constant if constant > 0.0 else 0.0
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        out[i] = total * x_scale + shift


@njit(cache=True, nogil=True)
def add_dense(X, factors, x_scale, constant, out):
    for i in range(X.shape[0]):
        if factors[i] != 0.0:
            factor = factors[i] * x_scale
            for j in range(X.shape[1]):
                out[j] += factor * X[i, j]
            if constant > 0.0:
                out[-1] += factors[i] * constant


@njit(cache=True, nogil=True)
def add_csr(data, indices, indptr, factors, x_scale, constant, out):
    for i in range(indptr.shape[0] - 1):
        if factors[i] != 0.0:
            factor = factors[i] * x_scale
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += factor * data[k]
            if constant > 0.0:
                out[-1] += factors[i] * constant
