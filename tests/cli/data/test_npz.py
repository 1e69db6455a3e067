"""Sets in the folder of CSF_DATA."""

import numpy as np
import pytest
import scipy.sparse as sp

from csf.cli.data import Features, ReadOptions
from csf.cli.data.npz import read_labelled, read_unlabelled
from csf.cli.errors import CliError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CSF_DATA", str(tmp_path))
    X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], dtype=np.float32)
    y, rows = np.array([1, 2, 3]), sp.csr_matrix(X)
    parts = {"X_data": rows.data, "X_indices": rows.indices, "X_indptr": rows.indptr, "X_shape": np.array(X.shape)}
    np.savez_compressed(tmp_path / "dense.npz", X=X, y=y, positive=np.array([2, 3]))
    np.savez_compressed(tmp_path / "rows.npz", **parts, y=y, is_test=np.array([False, True, True]))
    np.savez_compressed(tmp_path / "empty.npz", X=X)
    (tmp_path / "broken.npz").write_bytes(b"PK")
    return tmp_path


def test_dense_data_with_their_own_positive_labels(folder):
    data = read_labelled("csf-data:dense", ReadOptions())
    assert data.X.tolist() == [[1, 0], [0, 2], [3, 0]]
    assert data.y.tolist() == [0, 1, 1]
    assert (data.pos_label, data.features, data.is_test) == (1, Features("dense", 2), None)


def test_sparse_data_with_one_label_against_the_rest_and_the_official_split(folder):
    data = read_labelled("csf-data:rows:2", ReadOptions())
    assert data.X.toarray().tolist() == [[1, 0], [0, 2], [3, 0]]
    assert data.y.tolist() == ["not 2", "2", "not 2"]
    assert data.is_test.tolist() == [False, True, True]
    assert data.features == Features("sparse", 2)


def test_the_label_may_come_from_the_options(folder):
    assert read_labelled("csf-data:dense", ReadOptions(positive="3")).y.tolist() == ["not 3", "not 3", "3"]


def test_samples_for_a_model(folder):
    assert read_unlabelled("csf-data:rows", Features("dense", 2)).tolist() == [[1, 0], [0, 2], [3, 0]]
    assert sp.issparse(read_unlabelled("csf-data:dense", Features("sparse", 2)))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("csf-data:rows", r"name the positive class with --positive; the target has 1 \(1\), 2 \(1\), 3 \(1\)"),
        ("csf-data:other", "no data set 'other' in CSF_DATA .*; there are: broken, dense, empty, rows"),
        ("csf-data:../rows", "no data set '../rows'"),
        ("csf-data:empty", "has no arrays X .* and y"),
        ("csf-data:broken", "cannot read .*broken"),
    ],
)
def test_bad_names(folder, source, message):
    with pytest.raises(CliError, match=message):
        read_labelled(source, ReadOptions())


def test_the_folder_must_be_named(monkeypatch):
    monkeypatch.delenv("CSF_DATA", raising=False)
    with pytest.raises(CliError, match="csf-data:adult is looked up in the folder that the environment variable"):
        read_labelled("csf-data:adult", ReadOptions())
