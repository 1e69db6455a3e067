"""Reading folders of data sets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from notebooks.experiments.datasets import DataSet, folder_names, load_set


def test_names_of_a_folder_include_the_papers_classes(folder):
    assert folder_names(folder) == ["abalone", "abalone10", "abalone12", "plain", "sparse"]


def test_positive_labels_come_from_the_file_the_name_or_the_usual_codes(folder):
    with np.load(folder / "abalone.npz") as file:
        rings = file["y"]
    np.testing.assert_array_equal(load_set(folder, "abalone10").y, rings == 10)
    np.testing.assert_array_equal(load_set(folder, "abalone:9").y, rings == 9)
    with np.load(folder / "plain.npz") as file:
        np.testing.assert_array_equal(load_set(folder, "plain").y, file["y"] == 1)
    with np.load(folder / "sparse.npz") as file:
        np.testing.assert_array_equal(load_set(folder, "sparse").y, file["y"] == 6)


def test_multiclass_sets_keep_their_classes(folder):
    data = load_set(folder, "abalone")
    assert data.is_multiclass
    assert data.null_class == 9
    assert data.pos == pytest.approx(np.mean(data.y != 9))
    np.testing.assert_array_equal(data.codes, np.searchsorted([9, 10, 12], data.y))
    middle = DataSet("middle", data.X, data.y, null_class=10)
    assert {label: set(middle.codes[data.y == label]) for label in (9, 10, 12)} == {9: {1}, 10: {0}, 12: {2}}


def test_sparse_sets_stay_sparse_and_keep_their_official_split(folder):
    data = load_set(folder, "sparse")
    assert sparse.issparse(data.X)
    assert data.X.shape == (120, 7)
    assert data.is_test.sum() == 40
    assert isinstance(data.transformer(), MaxAbsScaler)
    assert isinstance(load_set(folder, "plain").transformer(), MinMaxScaler)


def test_own_preparation_is_used(data):
    assert isinstance(DataSet("own", data.X, data.y, prepare=StandardScaler()).transformer(), StandardScaler)


def test_digest_tells_samples_and_labels_apart(data):
    assert data.digest == DataSet("other name", data.X.copy(), data.y.copy()).digest
    changed = data.X.copy()
    changed[3, 1] += 1e-9
    assert DataSet("x", changed, data.y).digest != data.digest
    assert DataSet("y", data.X, ~data.y).digest != data.digest
    rows = sparse.csr_array(data.X)
    other = rows.copy()
    other.data[0] += 1.0
    assert DataSet("s", rows, data.y).digest != DataSet("s", other, data.y).digest


def test_frames_have_a_digest():
    pandas = pytest.importorskip("pandas")
    frame, y = pandas.DataFrame({"a": ["x", None, "z"] * 4, "b": range(12)}), np.arange(12) < 4
    changed = frame.assign(a=["x", None, "q"] * 4)
    assert DataSet("f", frame, y).digest == DataSet("f", frame.copy(), y).digest
    assert DataSet("f", frame, y).digest != DataSet("f", changed, y).digest


def test_unknown_sets_and_labels(folder):
    with pytest.raises(ValueError, match=r"no data set 'nothing' in .*; there are: abalone, abalone10, abalone12, p"):
        load_set(folder, "nothing")
    with pytest.raises(ValueError, match="has no label '11'; its labels are 9, 10, 12"):
        load_set(folder, "abalone:11")


def test_files_that_are_no_data_sets(tmp_path):
    np.savez(tmp_path / "empty.npz", y=np.arange(4))
    with pytest.raises(ValueError, match=r"empty\.npz has no arrays X"):
        load_set(tmp_path, "empty")
    np.savez(tmp_path / "text.npz", X=np.eye(12), y=np.array(["a", "b", "c"] * 4))
    with pytest.raises(ValueError, match="labels of a multiclass set must be whole numbers"):
        load_set(tmp_path, "text")


def test_problems_that_cannot_be_split():
    with pytest.raises(ValueError, match="X has 3 rows and y 4"):
        DataSet("d", np.eye(3), np.arange(4) < 2)
    with pytest.raises(ValueError, match="all 5 samples belong to one class"):
        DataSet("d", np.eye(5), np.zeros(5, dtype=bool))
    with pytest.raises(ValueError, match="class True has 2 samples, 4 are needed"):
        DataSet("d", np.eye(9), np.arange(9) < 2)
    with pytest.raises(ValueError, match=r"null_class must be one of \[0, 1, 2\], got None"):
        DataSet("d", np.eye(12), np.arange(12) % 3)
