"""From names to readers, and the form in which models take samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from csf.cli.data import Features, ReadOptions, densified, read_dataset
from csf.cli.errors import CliError


def test_an_unknown_name_lists_the_built_in_sets():
    with pytest.raises(CliError, match="there is no file 'foo', and built-in sets are breast_cancer, digits:0 to"):
        read_dataset("foo", ReadOptions())


def test_a_file_comes_before_a_built_in_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wine").write_text("1 1:2\n0 1:3\n", encoding="utf-8")
    assert read_dataset("wine", ReadOptions()).X.shape == (2, 1)


def test_a_folder_is_no_data(tmp_path):
    with pytest.raises(CliError, match="is a folder; give a file"):
        read_dataset(str(tmp_path), ReadOptions())


@pytest.mark.parametrize("content", [b"some words\n", b"\xff\xfe\x00", b""])
def test_an_unknown_format(tmp_path, content):
    path = tmp_path / "data.xyz"
    path.write_bytes(content)
    with pytest.raises(CliError, match=r"cannot recognise the format of .*data\.xyz; accepted: \.csv, \.tsv"):
        read_dataset(str(path), ReadOptions())


def test_features_survive_as_plain_numbers():
    features = Features("frame", 2, ("a",), ("b",), zero_based=True)
    assert Features.from_dict(features.to_dict()) == features


def test_too_much_for_a_dense_copy():
    with pytest.raises(CliError, match=r"takes dense data only, and big \(100000 x 100000, sparse\) is too large"):
        densified(sp.csr_matrix((100000, 100000)), "big")


def test_a_dense_copy():
    assert densified(sp.csr_matrix([[0.0, 1.0]]), "small").tolist() == [[0.0, 1.0]]
    X = np.ones((2, 2))
    assert densified(X, "dense") is X
