"""iter_arrays: chunks of everything that scikit-learn takes."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from csf.streams import iter_arrays

X = np.arange(14.0).reshape(7, 2)
Y = np.array(list("abaabba"))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_chunks_join_to_the_whole(kind, size):
    chunks = list(iter_arrays(kind(X), Y, size))
    assert [y.shape[0] for _, y in chunks[:-1]] == [min(size, 7)] * (len(chunks) - 1)
    np.testing.assert_array_equal(np.concatenate([y for _, y in chunks]), Y)
    parts = [part.toarray() if sparse.issparse(part) else np.asarray(part) for part, _ in chunks]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert isinstance(chunks[0][0], pd.DataFrame) == (kind is pd.DataFrame)


def test_passes():
    chunks = list(iter_arrays(X, Y, 4, passes=3))
    assert [y.shape[0] for _, y in chunks] == [4, 3] * 3


def test_no_rows_give_no_chunks():
    assert list(iter_arrays(X[:0], Y[:0], 4)) == []


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        iter_arrays(X, Y[:3], 2)


@pytest.mark.parametrize("layout", ["coo", "csc", "bsr", "dia", "lil", "dok"])
def test_every_sparse_layout_is_cut_by_rows(layout):
    X = np.arange(12.0).reshape(6, 2)
    chunks = [part for part, _ in iter_arrays(sparse.csr_matrix(X).asformat(layout), np.arange(6), 4)]
    assert np.array_equal(sparse.vstack(chunks).toarray(), X)


def test_rows_and_passes_are_counted():
    chunks = iter_arrays(np.arange(3.0)[:, None], [0, 1, 0], 2, passes=2)
    assert [y.size for _, y in chunks] == [2, 1, 2, 1]
    assert (chunks.n_rows, chunks.n_passes) == (6, 2)
