"""Labels, built-in sets, LIBSVM files, sets in a folder, and what is no data set."""

import bz2
import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from csf.cli.data import (
    BUILTIN,
    FeatureColumns,
    ReadOptions,
    _is_svmlight,
    as_labels,
    binary_target,
    built_in,
    densified,
    id_key,
    read_dataset,
    read_ids,
    read_samples,
)
from csf.cli.tables import CliError, TableFormat


@pytest.mark.parametrize(
    ("values", "given", "positive"),
    [
        *(([0, 1, 1], None, 1), ([-1, 1, 1], None, 1), ([False, True], None, True), ([0.0, 1.0, 1.0], None, 1.0)),
        *(([0, 1, 1], "0", 0), ([1.5, 2.5], "2.5", 2.5), ([2, 4], "4.0", 4), ([False, True], "false", False)),
        (["no", "yes"], "no", "no"),
    ],
)
def test_two_classes_keep_their_labels_and_usual_ones_need_no_name(values, given, positive):
    y, found = binary_target(np.array(values), given)
    assert y.tolist() == values
    assert (found, type(found)) == (positive, type(positive))


def test_more_classes_are_joined():
    y, pos_label = binary_target(np.array([3, 1, 2, 3]), "3")
    assert (y.tolist(), pos_label) == (["3", "not 3", "not 3", "3"], "3")


@pytest.mark.parametrize(
    ("values", "positive", "message"),
    [
        (["0", "1"], "1.0", r"--positive '1\.0' is not in the target, which has 0 \(1\), 1 \(1\)"),
        (["no", "yes", "no"], None, r"name the positive class with --positive; the target has no \(2\), yes \(1\)$"),
        (range(30), None, r"11 \(1\), \.\.\. \(30 values\)$"),
        ([7] * 4, "7", r"the target has one value only \(7\)"),
    ],
)
def test_targets_without_two_classes_that_are_known(values, positive, message):
    with pytest.raises(CliError, match=message):
        binary_target(np.array(values), positive)


def test_whole_numbers_become_integers():
    assert as_labels(np.array([1.0, 2.0])).dtype == np.int64
    assert as_labels(np.array([1.0, 2.5])).dtype == np.float64


@pytest.mark.parametrize(
    ("source", "positive", "label"),
    [
        *(("digits:8", None, "8"), ("breast_cancer", None, "malignant"), ("breast_cancer:benign", None, "benign")),
        *(("wine", "2", "class_2"), ("iris:versicolor", None, "versicolor")),
    ],
)
def test_one_class_against_the_rest(source, positive, label):
    data, bunch = read_dataset(source, ReadOptions(positive=positive)), BUILTIN[source.partition(":")[0]][0]()
    assert (data.X.shape, data.features.kind) == ((data.y.shape[0], data.features.n_features), "dense")
    names = np.array([str(name) for name in bunch.target_names])
    np.testing.assert_array_equal(data.y == data.pos_label, names[bunch.target] == label)


def test_the_list_of_names_is_complete():
    for name, (load, default) in BUILTIN.items():
        last = f"{name}:{len(load().target_names) - 1}"
        assert (name if default else last) in built_in()


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("iris", ReadOptions(), "with --positive; the target has setosa .50., versicolor .50., virginica .50."),
        ("iris:3", ReadOptions(), "iris has no class '3'"),
        ("iris:1", ReadOptions(target="y"), "--target names a column"),
        ("foo", ReadOptions(), "there is no file 'foo', and built-in sets are breast_cancer, digits:0 to"),
        (".", ReadOptions(), "is a folder; give a file"),
    ],
)
def test_bad_names(source, options, message):
    with pytest.raises(CliError, match=message):
        read_dataset(source, options)


def test_samples_for_a_model():
    assert read_samples("digits", FeatureColumns("dense", 64)).shape == (1797, 64)
    with pytest.raises(CliError, match="the model takes 30 features; iris:1 has 4"):
        read_samples("iris:1", FeatureColumns("dense", 30))


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


def test_dense_data_with_their_own_positive_labels_or_one_of_the_options(folder):
    data = read_dataset("csf-data:dense", ReadOptions())
    assert data.X.tolist() == [[1, 0], [0, 2], [3, 0]]
    assert data.y.tolist() == [0, 1, 1]
    assert (data.pos_label, data.features, data.is_test) == (1, FeatureColumns("dense", 2), None)
    assert read_dataset("csf-data:dense", ReadOptions(positive="3")).y.tolist() == ["not 3", "not 3", "3"]


def test_sparse_data_with_one_label_against_the_rest_and_the_official_split(folder):
    data = read_dataset("csf-data:rows:2", ReadOptions())
    assert data.X.toarray().tolist() == [[1, 0], [0, 2], [3, 0]]
    assert data.y.tolist() == ["not 2", "2", "not 2"]
    assert data.is_test.tolist() == [False, True, True]
    assert data.features == FeatureColumns("sparse", 2)


def test_samples_of_a_folder_for_a_model(folder):
    assert read_samples("csf-data:rows", FeatureColumns("dense", 2)).tolist() == [[1, 0], [0, 2], [3, 0]]
    assert sp.issparse(read_samples("csf-data:dense", FeatureColumns("sparse", 2)))


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
def test_bad_names_of_sets_in_a_folder(folder, source, message):
    with pytest.raises(CliError, match=message):
        read_dataset(source, ReadOptions())


def test_the_folder_must_be_named(monkeypatch):
    monkeypatch.delenv("CSF_DATA", raising=False)
    with pytest.raises(CliError, match="csf-data:adult is looked up in the folder that the environment variable"):
        read_dataset("csf-data:adult", ReadOptions())


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
    assert _is_svmlight(write(tmp_path, text), "") == answer


def test_features_are_counted_from_one(tmp_path):
    data = read_dataset(write(tmp_path), ReadOptions())
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert data.y.tolist() == [1, -1]
    assert (data.pos_label, data.features) == (1, FeatureColumns("sparse", 3))


def test_a_feature_of_number_zero_says_that_they_are_counted_from_zero(tmp_path):
    data = read_dataset(write(tmp_path, "1 0:1 2:2\n0 1:3\n"), ReadOptions())
    assert data.X.shape == (2, 3)
    assert data.features.zero_based


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path, suffix, compress):
    path = tmp_path / f"data.svm{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    assert read_dataset(str(path), ReadOptions()).X.shape == (2, 3)


def test_new_data_are_counted_as_in_training(tmp_path):
    path = write(tmp_path, "0 1:4\n")
    assert read_samples(path, FeatureColumns("sparse", 3)).toarray().tolist() == [[4, 0, 0]]
    assert read_samples(path, FeatureColumns("sparse", 3, zero_based=True)).toarray().tolist() == [[0, 4, 0]]
    assert read_samples(path, FeatureColumns("dense", 2)).tolist() == [[4, 0]]


@pytest.mark.parametrize(
    ("text", "features", "message"),
    [
        ("0 7:4\n", FeatureColumns("sparse", 3), "cannot read .* as a LIBSVM file"),
        ("0 0:4\n", FeatureColumns("sparse", 3), "cannot read .* as a LIBSVM file: Invalid index 0"),
        (TEXT, FeatureColumns("frame", 1, ("a",)), "the model takes a table with named columns"),
    ],
)
def test_new_data_that_do_not_fit(tmp_path, text, features, message):
    path = write(tmp_path, text)
    with pytest.raises(CliError, match=message):
        read_samples(path, features)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", ReadOptions(), "has no rows"),
        ("1\n0\n", ReadOptions(), "has no features"),
        ("1 a:b\n", ReadOptions(), "cannot read .* as a LIBSVM file"),
        (TEXT, ReadOptions(target="y"), r"--target names a column of a table \(CSV, ...\); .* has no named columns"),
        (TEXT, ReadOptions(sample_weight="w"), "--sample-weight names a column"),
        (TEXT, ReadOptions(drop=("a",)), "--drop names a column"),
        ("9007199254740992 1:1\n9007199254740993 1:2\n5 1:3\n", ReadOptions(positive="5"), r"floats of 2\^53 and more"),
    ],
)
def test_bad_files(tmp_path, text, options, message):
    path = write(tmp_path, text, "data.svm")
    with pytest.raises(CliError, match=message):
        read_dataset(path, options)


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "data.svm.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(CliError, match=r"cannot read .* as a LIBSVM file"):
        read_dataset(str(path), ReadOptions())


def test_a_file_comes_before_a_built_in_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wine").write_text("1 1:2\n0 1:3\n", encoding="utf-8")
    assert read_dataset("wine", ReadOptions()).X.shape == (2, 1)


@pytest.mark.parametrize("content", [b"some words\n", b"\xff\xfe\x00", b""])
def test_an_unknown_format(tmp_path, content):
    path = tmp_path / "data.xyz"
    path.write_bytes(content)
    with pytest.raises(CliError, match=r"cannot recognise the format of .*data\.xyz; accepted: \.csv, \.tsv"):
        read_dataset(str(path), ReadOptions())


def test_a_dense_copy_where_it_fits():
    assert densified(sp.csr_matrix([[0.0, 1.0]]), "small").tolist() == [[0.0, 1.0]]
    X = np.ones((2, 2))
    assert densified(X, "dense") is X
    with pytest.raises(CliError, match=r"takes dense data only, and big \(100000 x 100000, sparse\) is too large"):
        densified(sp.csr_matrix((100000, 100000)), "big")


WRITTEN = {
    "plain": str,
    "float": lambda k: f"{k}.0",
    "spaces": lambda k: f"  {k} ",
    "quoted": lambda k: f'" {k}"',
    "zeros behind": lambda k: f"{k}.000",
}


@pytest.mark.parametrize("written", WRITTEN)
@given(numbers=st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, unique=True))
@settings(max_examples=20, deadline=None)
def test_ids_that_are_one_number_are_one_id(tmp_path_factory, written, numbers):
    path = tmp_path_factory.mktemp("ids") / "ids.csv"
    path.write_text("id,y\n" + "".join(f"{WRITTEN[written](k)},1\n" for k in numbers))
    assert [id_key(each) for each in read_ids(str(path), "id")] == list(map(str, numbers))


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_other_ids_keep_their_spelling(text):
    key = id_key(text)
    assert id_key(key) == key
    assert key == text.strip() or (key == str(int(key)) and float(key) == float(text))


@pytest.mark.parametrize("text", ["000800", "8.5", "1e3", "12e4", "A17", "50%", "-007", "1_000", str(2**70), "+5.50"])
def test_codes_and_texts_are_no_numbers(text):
    assert id_key(text) == text


def test_floats_that_are_not_exact_are_no_ids():
    assert id_key("9007199254740991.0") == "9007199254740991"
    with pytest.raises(CliError, match=r"9007199254740993.0 is a float of 2.53 or more.* Write the ids as texts"):
        id_key("9007199254740993.0")
    assert id_key("800,0", TableFormat(decimal=",")) == "800"
