"""LIBSVM files."""

import bz2
import gzip

import numpy as np
import pytest

from csf.cli.data import Features, ReadOptions
from csf.cli.data.svmlight import is_svmlight, read_labelled, read_unlabelled
from csf.cli.errors import CliError

TEXT = "# a comment\n+1 1:0.5 3:2\n-1 2:1\n"


def write(tmp_path, text=TEXT, name="data"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("text", "answer"),
    [(TEXT, True), ("1 qid:3 1:5 # x\n", True), ("a,b\n1,2\n", False), ("1 2 3\n", False), ("", False)],
)
def test_files_without_a_suffix_are_told_by_their_first_line(tmp_path, text, answer):
    assert is_svmlight(write(tmp_path, text), "") == answer


def test_features_are_counted_from_one(tmp_path):
    data = read_labelled(write(tmp_path), ReadOptions())
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert data.y.tolist() == [1, -1]
    assert (data.pos_label, data.features) == (1, Features("sparse", 3))


def test_a_feature_of_number_zero_says_that_they_are_counted_from_zero(tmp_path):
    data = read_labelled(write(tmp_path, "1 0:1 2:2\n0 1:3\n"), ReadOptions())
    assert data.X.shape == (2, 3)
    assert data.features.zero_based


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path, suffix, compress):
    path = tmp_path / f"data.svm{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    assert read_labelled(str(path), ReadOptions()).X.shape == (2, 3)


def test_new_data_are_counted_as_in_training(tmp_path):
    path = write(tmp_path, "0 1:4\n")
    assert read_unlabelled(path, Features("sparse", 3)).toarray().tolist() == [[4, 0, 0]]
    assert read_unlabelled(path, Features("sparse", 3, zero_based=True)).toarray().tolist() == [[0, 4, 0]]
    assert read_unlabelled(path, Features("dense", 2)).tolist() == [[4, 0]]


@pytest.mark.parametrize(
    ("text", "features", "message"),
    [
        ("0 7:4\n", Features("sparse", 3), "cannot read .* as a LIBSVM file"),
        ("0 0:4\n", Features("sparse", 3), "cannot read .* as a LIBSVM file: Invalid index 0"),
        (TEXT, Features("frame", 1, ("a",)), "the model takes a table with named columns"),
    ],
)
def test_new_data_that_do_not_fit(tmp_path, text, features, message):
    path = write(tmp_path, text)
    with pytest.raises(CliError, match=message):
        read_unlabelled(path, features)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", ReadOptions(), "has no rows"),
        ("1\n0\n", ReadOptions(), "has no features"),
        ("1 a:b\n", ReadOptions(), "cannot read .* as a LIBSVM file"),
        (TEXT, ReadOptions(target="y"), r"--target names a column of a table \(CSV, ...\); .* has no named columns"),
        (TEXT, ReadOptions(sample_weight="w"), "--sample-weight names a column"),
        (TEXT, ReadOptions(drop=("a",)), "--drop names a column"),
    ],
)
def test_bad_files(tmp_path, text, options, message):
    path = write(tmp_path, text, "data.svm")
    with pytest.raises(CliError, match=message):
        read_labelled(path, options)


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "data.svm.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(CliError, match=r"cannot read .* as a LIBSVM file"):
        read_labelled(str(path), ReadOptions())


def test_labels_that_floats_would_merge_are_refused(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("9007199254740992 1:1\n9007199254740993 1:2\n5 1:3\n")
    with pytest.raises(CliError, match=r"floats of 2\^53 and more are not exact"):
        read_labelled(str(path), ReadOptions(positive="5"))
