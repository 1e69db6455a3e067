"""CSV and Parquet files."""

import gzip
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pytest

from csf.cli.data import Features, ReadOptions
from csf.cli.data.table import read_labelled, read_unlabelled
from csf.cli.errors import CliError

pytest.importorskip("pandas")

OPTIONS = ReadOptions(target="y", positive="yes")


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_numbers_stay_numbers_and_everything_else_becomes_a_category(tmp_path):
    path = write(tmp_path, "a,b,c,d,y\n1,x,True,7,yes\n2.5,,False,x7,no\n,z,True,,no\n")
    data = read_labelled(path, OPTIONS)
    assert data.features == Features("frame", 4, ("a",), ("b", "c", "d"))
    np.testing.assert_array_equal(data.X["a"], [1.0, 2.5, np.nan])
    assert data.X["c"].tolist() == ["True", "False", "True"]
    assert data.X["d"].isna().tolist() == [False, False, True]
    assert data.y.tolist() == ["yes", "no", "no"]
    assert data.pos_label == "yes"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_read_off_the_header(tmp_path, separator):
    path = write(tmp_path, "a,y\n1,yes\n2,no\n".replace(",", separator))
    assert read_labelled(path, OPTIONS).X["a"].tolist() == [1.0, 2.0]


def test_question_marks_and_blanks_are_missing(tmp_path):
    data = read_labelled(write(tmp_path, "a,b,y\n1, ?,yes\n ?, u,no\n3, v,no\n"), OPTIONS)
    assert np.isnan(data.X["a"][1])
    assert data.X["b"].isna().tolist() == [True, False, False]
    assert data.X["b"][1] == "u"


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "data.tsv.gz"
    path.write_bytes(gzip.compress(b"a\ty\n1\tyes\n2\tno\n"))
    assert read_labelled(str(path), OPTIONS).X["a"].tolist() == [1.0, 2.0]


def test_csv_and_parquet_give_the_same(tmp_path, customers):
    pytest.importorskip("pyarrow")
    customers.to_csv(tmp_path / "data.csv", index=False)
    customers.to_parquet(tmp_path / "data.parquet")
    options = ReadOptions("outcome", "churn", "weight")
    first, second = (read_labelled(str(tmp_path / f"data.{suffix}"), options) for suffix in ("csv", "parquet"))
    assert first.X.equals(second.X)
    assert first.features == second.features
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(first.sample_weight, second.sample_weight)


def test_nullable_and_categorical_columns_of_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(
        {
            "whole": pandas.array([1, None, 3], dtype="Int64"),
            "kind": pandas.Categorical(["u", "v", None]),
            "flag": pandas.array([True, None, False], dtype="boolean"),
            "y": [True, False, True],
        }
    )
    frame.to_parquet(tmp_path / "data.parquet")
    data = read_labelled(str(tmp_path / "data.parquet"), ReadOptions("y"))
    np.testing.assert_array_equal(data.X["whole"], [1.0, np.nan, 3.0])
    assert data.features.categorical == ("kind", "flag")
    assert data.X["kind"].isna().tolist() == [False, False, True]
    assert data.X["flag"].isna().tolist() == [False, True, False]
    assert data.pos_label is True


def test_target_weights_and_dropped_columns_are_no_features(tmp_path):
    path = write(tmp_path, "a,b,w,y\n1,5,2,0\n2,6,0.5,1\n")
    data = read_labelled(path, ReadOptions(target="y", sample_weight="w", drop=("b",)))
    assert list(data.X.columns) == ["a"]
    assert data.sample_weight.tolist() == [2.0, 0.5]
    assert data.pos == pytest.approx(0.2)


def test_a_text_column_of_names_is_pointed_out(tmp_path):
    rows = "".join(f"{i},name{i},{i % 2}\n" for i in range(30))
    path = write(tmp_path, f"a,name,y\n{rows}")
    with pytest.warns(UserWarning, match="column 'name' has 30 distinct texts in 30 rows.*--drop 'name'"):
        read_labelled(path, ReadOptions("y"))


def test_columns_of_new_data_are_found_by_name(tmp_path):
    features = Features("frame", 2, ("a",), ("b",))
    X = read_unlabelled(write(tmp_path, "more,b,a\n9,01,4\n9,,\n"), features)
    assert list(X.columns) == ["a", "b"]
    np.testing.assert_array_equal(X["a"], [4.0, np.nan])
    # A category that looks like a number keeps its text.
    assert X["b"][0] == "01"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "a,y\n1,yes\n2,no\n",
            ReadOptions(),
            "name the column of the labels with --target; .* has the columns 'a', 'y'",
        ),
        (
            "age,y\n1,yes\n2,no\n",
            ReadOptions("Y"),
            "has no column 'Y'; it has .*Did you mean 'y'.$",
        ),
        (
            "age,y\n1,yes\n2,no\n",
            ReadOptions("y", drop=("aged",)),
            "has no column 'aged'; it has .*'age', 'y'. Did you mean 'age'?",
        ),
        ("age,y\n1,yes\n2,no\n", ReadOptions("y", sample_weight="w"), "has no column 'w'"),
        ("a,y\n1,yes\n2,\n", OPTIONS, "target 'y' is missing in 1 of 2 rows; drop those rows"),
        ("y\nyes\nno\n", OPTIONS, "has no column left to learn from beside the column 'y'"),
        ("a,y\n", OPTIONS, "has no rows"),
        ("", OPTIONS, "cannot read .* as CSV: No columns to parse"),
        ("a,y\n1,2,3,4\n1\n1,2,3,4,5\n", OPTIONS, "cannot read .* as CSV: "),
        ("a,w,y\n1,x,yes\n2,1,no\n", ReadOptions("y", "yes", "w"), "weights in column 'w' must be numbers >= 0"),
        ("a,w,y\n1,,yes\n2,1,no\n", ReadOptions("y", "yes", "w"), "weights in column 'w' must be .* none missing"),
    ],
)
def test_bad_tables(tmp_path, text, options, message):
    path = write(tmp_path, text)
    with pytest.raises(CliError, match=message):
        read_labelled(path, options)


@pytest.mark.parametrize(
    ("text", "line", "has"),
    [
        ("a,b,y\n1,2,yes\n3,4,no,\n", 3, "4 fields"),
        ("a,b,y\n1,2,yes,\n3,4,no,\n", 2, "4 fields"),
        ('a,b,y\n"1\n",2,yes\n\n3,4\n', 5, "2 fields"),
        ("a,b,y\n1,2,yes\n3\n", 3, "1 field"),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_have_as_many_fields_as_the_header(tmp_path, text, line, has, separator):
    """A separator at the end of each row once shifted all columns by one."""
    path = write(tmp_path, text.replace(",", separator))
    message = rf"cannot read .*data\.csv as CSV: line {line} has {has}, the header has 3 .*\. Give each row as many"
    with pytest.raises(CliError, match=message):
        read_labelled(path, OPTIONS)
    with pytest.raises(CliError, match=message):
        read_unlabelled(path, Features("frame", 1, ("a",)))


def test_a_separator_at_the_end_of_all_lines_is_an_empty_column(tmp_path):
    path = write(tmp_path, "a,y,\n1,yes,\n2,no,\n")
    data = read_labelled(path, ReadOptions("y", "yes", drop=("Unnamed: 2",)))
    assert data.X["a"].tolist() == [1.0, 2.0]


def test_blank_lines_are_no_rows(tmp_path):
    data = read_labelled(write(tmp_path, "\na,y\n\n1,yes\n   \n2,no\n\n"), OPTIONS)
    assert data.X["a"].tolist() == [1.0, 2.0]


def test_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(CliError, match=r"as CSV: the header has the column 'a' more than once; rename or remove"):
        read_labelled(write(tmp_path, "a,y,a\n1,yes,2\n2,no,3\n"), OPTIONS)


@pytest.mark.parametrize("name", ["None", "NA", "null", "nan"])
def test_a_class_may_be_called_like_a_missing_entry(tmp_path, name):
    data = read_labelled(write(tmp_path, f"a,y\n1,yes\nNA,{name}\n"), OPTIONS)
    assert data.y.tolist() == ["yes", name]
    assert np.isnan(data.X["a"][1])


def test_such_a_class_beside_two_others_is_pointed_out(tmp_path):
    path = write(tmp_path, "a,y\n1,yes\n2,NA\n3,no\n4,NA\n")
    with pytest.warns(UserWarning, match=r"target 'y': 'NA' \(2 rows\) is taken for a class; if it means a missing"):
        data = read_labelled(path, OPTIONS)
    assert data.y.tolist() == ["yes", "not yes", "not yes", "not yes"]


@pytest.mark.parametrize("gap", ["NA", "None", "", "?", "nan"])
def test_among_numbers_it_is_a_missing_label(tmp_path, gap):
    with pytest.raises(CliError, match="target 'y' is missing in 1 of 3 rows; drop those rows"):
        read_labelled(write(tmp_path, f"a,y\n1,0\n2,1\n3,{gap}\n"), ReadOptions("y", "1"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("positive", [2**53, 2**53 + 1, -(2**62) - 1])
def test_integer_labels_stay_exact(tmp_path, kind, positive):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    labels = [2**53, 2**53 + 1, 2**53 + 2, -(2**62), -(2**62) - 1]
    frame, path = pandas.DataFrame({"a": range(5), "y": labels}), tmp_path / f"data.{kind}"
    {"csv": partial(frame.to_csv, index=False), "parquet": frame.to_parquet}.get(
        kind, partial(frame.to_json, orient="records", lines=True)
    )(path)
    data = read_labelled(str(path), ReadOptions("y", str(positive)))
    assert (data.y == data.pos_label).tolist() == [label == positive for label in labels]
    two = frame[-2:].set_axis([0, 1])
    two.to_csv(tmp_path / "two.csv", index=False)
    assert read_labelled(str(tmp_path / "two.csv"), ReadOptions("y", str(labels[4]))).y.tolist() == labels[3:]


@pytest.mark.parametrize("labels", [("1e300", "1e301"), ("9007199254740993.0", "0.5"), ("-1e16", "2.0"), ("inf", "1")])
def test_labels_that_floats_would_merge_are_refused(tmp_path, labels):
    path = write(tmp_path, "a,y\n1,{}\n2,{}\n".format(*labels))
    with pytest.raises(CliError, match=r"the target holds \S+, but floats of 2\^53 and more are not exact.* as texts"):
        read_labelled(path, ReadOptions("y", labels[0]))


def test_integers_beyond_64_bits_are_texts(tmp_path):
    data = read_labelled(write(tmp_path, f"a,y\n1,{2**70}\n2,{2**70 + 1}\n"), ReadOptions("y", str(2**70)))
    assert data.y.tolist() == [str(2**70), str(2**70 + 1)]


def test_decimals_are_numbers(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    price, path = [Decimal("1.25"), None, Decimal("3.5")], str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"price": price, "y": [Decimal(1), Decimal(0), Decimal(1)]}), path)
    data = read_labelled(path, ReadOptions("y"))
    np.testing.assert_array_equal(data.X["price"], [1.25, np.nan, 3.5])
    assert data.y.tolist() == [1, 0, 1]
    assert data.y.dtype == np.int64
    np.testing.assert_array_equal(read_unlabelled(path, data.features)["price"], [1.25, np.nan, 3.5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2], [3]], "holds entries of the type ndarray; accepted: numbers, texts and booleans"),
        ([{"u": 1}, None], "holds entries of the type dict"),
        ([b"\xff", b"x"], "holds entries of the type bytes"),
        ([timedelta(1), timedelta(2)], "holds durations; turn it into numbers first"),
        ([date(2020, 1, 1), None], "holds dates; turn it into numbers first"),
        ([time(1), None], "holds dates; turn it into numbers first"),
    ],
)
def test_entries_that_are_no_features_name_their_column(tmp_path, values, message):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"num": [1.0, 2.0], "odd": values, "y": [0, 1]}), path)
    for read in (
        lambda: read_labelled(path, ReadOptions("y")),
        lambda: read_labelled(path, ReadOptions("odd")),
        lambda: read_labelled(path, ReadOptions("y", sample_weight="odd")),
        lambda: read_unlabelled(path, Features("frame", 1, ("odd",))),
        lambda: read_unlabelled(path, Features("frame", 1, (), ("odd",))),
    ):
        with pytest.raises(CliError, match=f"column 'odd' {message}.*--drop odd"):
            read()
    assert read_labelled(path, ReadOptions("y", drop=("odd",))).features.numeric == ("num",)


def test_numbers_that_became_texts_are_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": ["1.5", "2"]}).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(CliError, match=r"column 'a' of .* must hold numbers, as in training; it has '1\.5'"):
        read_unlabelled(str(tmp_path / "data.parquet"), Features("frame", 1, ("a",)))


def test_bytes_that_are_no_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    path = write(tmp_path, "a,y\n1,0\n", "data.parquet")
    with pytest.raises(CliError, match=r"cannot read .*data\.parquet as Parquet: "):
        read_labelled(path, OPTIONS)


def test_dates_are_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"when": pandas.to_datetime(["2020-01-01", "2020-01-02"]), "y": [0, 1]})
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(CliError, match=r"column 'when' holds dates; .* --drop when"):
        read_labelled(str(tmp_path / "data.parquet"), ReadOptions("y"))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (Features("frame", 3, ("a", "u"), ("v",)), "lacks the columns 'u', 'v', which the model was trained on"),
        (Features("frame", 1, ("b",)), "column 'b' of .* must hold numbers, as in training; it has 'x'"),
        (Features("dense", 4), "the model was trained on 4 features without names, not on a table"),
    ],
)
def test_new_data_that_do_not_fit(tmp_path, features, message):
    path = write(tmp_path, "a,b\n1,2\n1,x\n")
    with pytest.raises(CliError, match=message):
        read_unlabelled(path, features)
