"""Rows of samples, dense or sparse, as compiled loops read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from csf._common.compiled import njit
from csf._common.typing import Array, Samples


def stacked(pieces: Sequence[Samples]) -> Samples:
    """Rows of all pieces, one below the other; sparse if one of them is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(map(issparse, pieces)):
        return csr_array(vstack([csr_array(piece) for piece in pieces]))
    return np.concatenate(pieces)


# Kernels take samples as a tuple, ``(X,)`` or ``(data, indices, indptr)``. numba knows the length of a tuple when it
# compiles and leaves out the branches of the other kind, so that one kernel serves both at full speed.
def parts(X: Samples) -> tuple[Array, ...]:
    """Samples as kernels take them: one array, or values, columns and ends of sparse rows."""
    return (X.data, X.indices, X.indptr) if issparse(X) else (X,)


# Places are unsigned: for signed ones the compiler allows for places counted from the end, which is slower.
@njit(cache=True, nogil=True)
def row_at(X, i) -> tuple[Any, ...]:
    """Row i: its values, and their columns if it is sparse."""
    if len(X) == 1:
        return (X[0][np.uint64(i)],)
    data, indices, indptr = X
    start, stop = indptr[np.uint64(i)], indptr[np.uint64(i) + np.uint64(1)]
    return data[start:stop], indices[start:stop]


@njit(cache=True, nogil=True)
def row_and_bounds(X, i) -> tuple[tuple[Any, ...], Any, Any]:
    """Arrays that hold row i, as `row_at` has them but not cut, with the row's first place and the one behind its last.

    To cut the arrays of a sparse row takes half as long as a product with its few values.
    """
    if len(X) == 1:
        values = X[0][np.uint64(i)]
        return (values,), np.uint64(0), np.uint64(values.size)
    data, indices, indptr = X
    return (data, indices), np.uint64(indptr[np.uint64(i)]), np.uint64(indptr[np.uint64(i) + np.uint64(1)])


@njit(cache=True, nogil=True)
def column_of(row, k) -> Any:
    """Column of value k of a row."""
    if len(row) == 1:
        return k
    return np.uint64(row[1][k])
