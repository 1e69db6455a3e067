"""Tables with named columns: CSV, Parquet and JSON Lines files, and warnings of odd columns."""

import gzip
import json
import math
import sys
import warnings
import zipfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.cli.data import FeatureColumns, ReadOptions, read_dataset, read_ids, read_samples
from csf.cli.tables import (
    CliError,
    TableFormat,
    format_mean,
    format_number,
    format_table,
    in_options,
    number_options,
    require,
    warn_of_columns,
)

pandas = pytest.importorskip("pandas")

OPTIONS = ReadOptions(target="y", positive="yes")


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_numbers_stay_numbers_and_everything_else_becomes_a_category(tmp_path):
    """Question marks and blanks are missing, blank lines are no rows."""
    path = write(tmp_path, "\na,b,c,d,y\n\n1,x,True, ?,yes\n2.5, ?,False,x7,no\n   \n ?, z,True,7,no\n\n")
    data = read_dataset(path, OPTIONS)
    assert data.features == FeatureColumns("frame", 4, ("a",), ("b", "c", "d"))
    np.testing.assert_array_equal(data.X["a"], [1.0, 2.5, np.nan])
    assert data.X["b"].isna().tolist() == [False, True, False]
    assert data.X["b"][2] == "z"
    assert data.X["c"].tolist() == ["True", "False", "True"]
    assert data.X["d"].tolist()[1:] == ["x7", "7"]
    assert (data.y.tolist(), data.pos_label) == (["yes", "no", "no"], "yes")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_read_off_the_header_and_may_end_all_lines(tmp_path, separator):
    for text, drop in (("a,y\n1,yes\n2,no\n", ()), ("a,y,\n1,yes,\n2,no,\n", ("Unnamed: 2",))):
        path = write(tmp_path, text.replace(",", separator))
        assert read_dataset(path, ReadOptions("y", "yes", drop=drop)).X["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("data.tsv.gz", b"a\ty\n1\tyes\n2\tno\n", "CSV"),
        ("data.jsonl.gz", b'{"a": 1, "y": "yes"}\n{"a": 2, "y": "no"}\n', "JSON Lines"),
        ("data.parquet", None, "Parquet"),
    ],
)
def test_compressed_files_are_read_and_broken_ones_are_named(tmp_path, name, text, kind):
    path = tmp_path / name
    if text is None:
        pytest.importorskip("pyarrow")
        path.write_bytes(b"a,y\n1,0\n")
    else:
        path.write_bytes(gzip.compress(text))
        assert read_dataset(str(path), OPTIONS).X["a"].tolist() == [1.0, 2.0]
        path.write_bytes(gzip.compress(1000 * text)[:40])
    with pytest.raises(CliError, match=rf"cannot read .* as {kind}"):
        read_dataset(str(path), OPTIONS)


def test_all_formats_give_the_same(tmp_path, customers):
    pytest.importorskip("pyarrow")
    customers.to_csv(tmp_path / "data.csv", index=False)
    customers.to_parquet(tmp_path / "data.parquet")
    customers.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    options = ReadOptions("outcome", "churn", "weight")
    first, *others = (read_dataset(str(tmp_path / f"data.{suffix}"), options) for suffix in ("csv", "parquet", "jsonl"))
    for other in others:
        assert other.X.equals(first.X)
        assert other.features == first.features
        np.testing.assert_array_equal(other.y, first.y)
        np.testing.assert_allclose(other.sample_weight, first.sample_weight)


def test_nullable_and_categorical_columns_of_parquet(tmp_path):
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
    data = read_dataset(str(tmp_path / "data.parquet"), ReadOptions("y"))
    np.testing.assert_array_equal(data.X["whole"], [1.0, np.nan, 3.0])
    assert data.features.categorical == ("kind", "flag")
    assert data.X["kind"].isna().tolist() == [False, False, True]
    assert data.X["flag"].isna().tolist() == [False, True, False]
    assert data.pos_label is True


def test_target_weights_and_dropped_columns_are_no_features(tmp_path):
    path = write(tmp_path, "a,b,w,y\n1,5,2,0\n2,6,0.5,1\n")
    data = read_dataset(path, ReadOptions(target="y", sample_weight="w", drop=("b",)))
    assert list(data.X.columns) == ["a"]
    assert data.sample_weight.tolist() == [2.0, 0.5]
    assert data.pos == pytest.approx(0.2)


def test_a_text_column_of_names_is_pointed_out(tmp_path):
    rows = "".join(f"{i % 9},name{i},{i % 2}\n" for i in range(30))
    path = write(tmp_path, f"a,name,y\n{rows}")
    with pytest.warns(UserWarning, match="column 'name' has 30 distinct texts in 30 rows.*--drop 'name'"):
        read_dataset(path, ReadOptions("y"))


def test_columns_of_new_data_are_found_by_name(tmp_path):
    features = FeatureColumns("frame", 2, ("a",), ("b",))
    X = read_samples(write(tmp_path, "more,b,a\n9,01,4\n9,,\n"), features)
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
        ("a,y\n1,yes\n2,\n", OPTIONS, "target 'y' is missing in 1 of 2 rows; --drop-unlabelled leaves these rows out"),
        ("y\nyes\nno\n", OPTIONS, "has no column left to learn from beside the column 'y'"),
        ("a,y\n", OPTIONS, "has no rows"),
        ("", OPTIONS, "cannot read .* as CSV: No columns to parse"),
        ("a,y\n1,2,3,4\n1\n1,2,3,4,5\n", OPTIONS, "cannot read .* as CSV: "),
        ("a,y,a\n1,yes,2\n2,no,3\n", OPTIONS, "as CSV: the header has the column 'a' more than once; rename or remove"),
        ("a,w,y\n1,x,yes\n2,1,no\n", ReadOptions("y", "yes", "w"), "weights in column 'w' must be numbers >= 0"),
        ("a,w,y\n1,,yes\n2,1,no\n", ReadOptions("y", "yes", "w"), "weights in column 'w' must be .* none missing"),
    ],
)
def test_bad_tables(tmp_path, text, options, message):
    path = write(tmp_path, text)
    with pytest.raises(CliError, match=message):
        read_dataset(path, options)


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
        read_dataset(path, OPTIONS)
    with pytest.raises(CliError, match=message):
        read_samples(path, FeatureColumns("frame", 1, ("a",)))


@pytest.mark.parametrize("name", ["None", "NA", "null", "nan"])
def test_a_class_may_be_called_like_a_missing_entry(tmp_path, name):
    data = read_dataset(write(tmp_path, f"a,y\n1,yes\nNA,{name}\n"), OPTIONS)
    assert data.y.tolist() == ["yes", name]
    assert np.isnan(data.X["a"][1])
    message = rf"column 'y': '{name}' \(2 rows\) is taken for a value, .* if it means a missing entry, give --na-values"
    with pytest.warns(UserWarning, match=message):
        data = read_dataset(write(tmp_path, f"a,y\n1,yes\n2,{name}\n3,no\n4,{name}\n"), OPTIONS)
    assert data.y.tolist() == ["yes", "not yes", "not yes", "not yes"]


TABLE = "id,s,g,a,y\nNA,{0},{0},1,yes\n02,EU,b,2,no\n03,EU,b,NA,yes\n4,{0},{0},,no\n"


@pytest.mark.parametrize("name", ["NA", "null", "nan", "01", "007"])
@pytest.mark.filterwarnings("ignore:column")
def test_texts_of_segments_groups_and_ids_are_kept_as_they_are_written(tmp_path, name):
    path = write(tmp_path, TABLE.format(name))
    data = read_dataset(path, ReadOptions("y", "yes", group="g", segments="s", drop=("id",)))
    assert data.X["s"].tolist() == [name, "EU", "EU", name]
    assert data.groups.tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    assert list(data.X) == ["a", "s"]
    assert read_samples(path, data.features)["s"].tolist() == data.X["s"].tolist()
    assert np.isnan(data.X["a"][2:]).all()
    assert read_ids(path, "id").tolist() == ["NA", "02", "03", "4"]
    if name in ("01", "007"):
        return
    usual = read_dataset(path, ReadOptions("y", "yes", drop=("id",)))
    assert usual.X["s"].isna().tolist() == [True, False, False, True]
    kept = read_dataset(path, ReadOptions("y", "yes", drop=("id",), form=TableFormat(keep_na=True)))
    assert kept.X["g"].tolist() == [name, "b", "b", name]
    assert read_samples(path, kept.features)["g"].tolist() == kept.X["g"].tolist()
    with pytest.raises(ValueError, match="groups contains NaN or None in 2 of 4 samples"):
        read_dataset(path, ReadOptions("y", "yes", group="g", form=TableFormat(na_values=(name,))))


@pytest.mark.parametrize(("written", "known"), [("1 1 2 2", [1, 1, 2, 2]), ("01 01 02 02", ["01", "01", "02", "02"])])
def test_codes_of_segments_keep_their_spelling(tmp_path, written, known):
    path = write(tmp_path, "s,x,y\n" + "".join(f"{s},{k}.5,{k % 2}\n" for k, s in enumerate(written.split())))
    data = read_dataset(path, ReadOptions("y", segments="s"))
    assert data.X["s"].tolist() == known
    assert [type(each) for each in data.X["s"].tolist()] == [type(each) for each in known]
    as_feature = read_dataset(path, ReadOptions("y"))
    assert as_feature.X["s"].dtype == np.float64


DATA = "0.5,1.5,2\n0.7,2.5,1\n0.2,1.1,2\n"


def test_a_first_line_of_data_is_refused_or_taken(tmp_path):
    path = write(tmp_path, DATA)
    with pytest.raises(CliError, match=r"all names of its columns are numbers \(0.5, 1.5, 2, ...\).* give --no-header"):
        read_dataset(path, ReadOptions("2"))
    data = read_dataset(path, ReadOptions("2", "1", form=TableFormat(header=False)))
    assert data.X.to_dict("list") == {"0": [0.5, 0.7, 0.2], "1": [1.5, 2.5, 1.1]}
    assert data.y.tolist() == [2, 1, 2]
    assert read_samples(path, data.features, TableFormat(header=False)).shape == (3, 2)
    named = read_dataset(path, ReadOptions("2", "1", form=TableFormat(header=True)))
    assert named.y.tolist() == [1, 2]


@pytest.mark.parametrize("first", [0, 1])
def test_names_may_count_the_columns(tmp_path, first):
    names = ",".join(str(first + at) for at in range(3))
    data = read_dataset(write(tmp_path, f"{names}\n{DATA}"), ReadOptions(str(first + 2), "1"))
    assert data.y.shape == (3,)


def test_a_header_with_a_number_is_told(tmp_path):
    with pytest.warns(UserWarning, match="a column is called -0.5: if the first line holds data, give --no-header"):
        read_dataset(write(tmp_path, "-0.5,x\n1,a\n2,b\n"), ReadOptions("x", "a"))
    with pytest.raises(CliError, match=r"column '1' more than once.* if the first line holds data, give --no-header"):
        read_dataset(write(tmp_path, "a,1,1\nb,2,1\n"), ReadOptions("a", "b"))


@pytest.mark.parametrize("gap", ["NA", "None", "", "?", "nan"])
def test_among_numbers_it_is_a_missing_label(tmp_path, gap):
    with pytest.raises(CliError, match="target 'y' is missing in 1 of 3 rows; --drop-unlabelled leaves these rows out"):
        read_dataset(write(tmp_path, f"a,y\n1,0\n2,1\n3,{gap}\n"), ReadOptions("y", "1"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("positive", [2**53, 2**53 + 1, -(2**62) - 1])
def test_integer_labels_stay_exact(tmp_path, kind, positive):
    pytest.importorskip("pyarrow")
    labels = [2**53, 2**53 + 1, 2**53 + 2, -(2**62), -(2**62) - 1]
    frame, path = pandas.DataFrame({"a": range(5), "y": labels}), tmp_path / f"data.{kind}"
    {"csv": partial(frame.to_csv, index=False), "parquet": frame.to_parquet}.get(
        kind, partial(frame.to_json, orient="records", lines=True)
    )(path)
    data = read_dataset(str(path), ReadOptions("y", str(positive)))
    assert (data.y == data.pos_label).tolist() == [label == positive for label in labels]
    two = frame[-2:].set_axis([0, 1])
    two.to_csv(tmp_path / "two.csv", index=False)
    assert read_dataset(str(tmp_path / "two.csv"), ReadOptions("y", str(labels[4]))).y.tolist() == labels[3:]
    # Beyond 64 bits they are texts.
    data = read_dataset(write(tmp_path, f"a,y\n1,{2**70}\n2,{2**70 + 1}\n"), ReadOptions("y", str(2**70)))
    assert data.y.tolist() == [str(2**70), str(2**70 + 1)]


@pytest.mark.parametrize("labels", [("1e300", "1e301"), ("9007199254740993.0", "0.5"), ("-1e16", "2.0"), ("inf", "1")])
def test_labels_that_floats_would_merge_are_refused(tmp_path, labels):
    path = write(tmp_path, "a,y\n1,{}\n2,{}\n".format(*labels))
    with pytest.raises(CliError, match=r"the target holds \S+, but floats of 2\^53 and more are not exact.* as texts"):
        read_dataset(path, ReadOptions("y", labels[0]))


def test_decimals_are_numbers(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    price, path = [Decimal("1.25"), None, Decimal("3.5")], str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"price": price, "y": [Decimal(1), Decimal(0), Decimal(1)]}), path)
    data = read_dataset(path, ReadOptions("y"))
    np.testing.assert_array_equal(data.X["price"], [1.25, np.nan, 3.5])
    assert data.y.tolist() == [1, 0, 1]
    assert data.y.dtype == np.int64
    np.testing.assert_array_equal(read_samples(path, data.features)["price"], [1.25, np.nan, 3.5])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2], [3]], "holds entries of the type ndarray; accepted: numbers, texts and booleans"),
        ([{"u": 1}, None], "holds entries of the type dict"),
        ([b"\xff", b"x"], "holds entries of the type bytes"),
        ([timedelta(1), timedelta(2)], "holds durations; turn it into numbers first"),
        ([date(2020, 1, 1), None], "holds dates; turn it into numbers first"),
        ([time(1), None], "holds dates; turn it into numbers first"),
        ([datetime(2020, 1, 1), datetime(2020, 1, 2)], "holds dates; turn it into numbers first"),
    ],
)
def test_entries_that_are_no_features_name_their_column(tmp_path, values, message):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"num": [1.0, 2.0], "odd": values, "y": [0, 1]}), path)
    for read in (
        lambda: read_dataset(path, ReadOptions("y")),
        lambda: read_dataset(path, ReadOptions("odd")),
        lambda: read_dataset(path, ReadOptions("y", sample_weight="odd")),
        lambda: read_samples(path, FeatureColumns("frame", 1, ("odd",))),
        lambda: read_samples(path, FeatureColumns("frame", 1, (), ("odd",))),
    ):
        with pytest.raises(CliError, match=f"column 'odd' {message}.*--drop odd"):
            read()
    assert read_dataset(path, ReadOptions("y", drop=("odd",))).features.numeric == ("num",)


def test_numbers_that_became_texts_are_refused(tmp_path):
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": ["1.5", "2"]}).to_parquet(tmp_path / "data.parquet")
    with pytest.raises(CliError, match=r"column 'a' of .* must hold numbers, as in training; it has '1\.5'"):
        read_samples(str(tmp_path / "data.parquet"), FeatureColumns("frame", 1, ("a",)))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (FeatureColumns("frame", 3, ("a", "u"), ("v",)), "lacks the columns 'u', 'v', which the model was trained on"),
        (FeatureColumns("frame", 1, ("b",)), "column 'b' of .* must hold numbers, as in training; it has 'x'"),
        (FeatureColumns("dense", 4), "the model was trained on 4 features without names, not on a table"),
    ],
)
def test_new_data_that_do_not_fit(tmp_path, features, message):
    path = write(tmp_path, "a,b\n1,2\n1,x\n")
    with pytest.raises(CliError, match=message):
        read_samples(path, features)


def write_lines(tmp_path, *rows, name="data.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


def test_columns_are_the_keys_and_may_be_missing(tmp_path):
    path = write_lines(
        tmp_path,
        {"a": 1, "b": "x", "c": True, "y": "yes"},
        "",
        {"y": "no", "d": 7, "a": 2.5},
        {"a": None, "b": "z", "c": False, "d": "x7", "y": "no"},
    )
    data = read_dataset(path, OPTIONS)
    assert data.features == FeatureColumns("frame", 4, ("a",), ("b", "c", "d"))
    np.testing.assert_array_equal(data.X["a"], [1.0, 2.5, np.nan])
    assert data.X["b"].isna().tolist() == [False, True, False]
    assert data.X["c"][0] == "True"
    assert data.X["d"].tolist()[1:] == ["7", "x7"]
    assert data.y.tolist() == ["yes", "no", "no"]


@pytest.mark.parametrize("name", ["data.ndjson", "DATA.JSONL"])
@pytest.mark.parametrize(("labels", "positive"), [([0, 1], None), ([False, True], "true")])
def test_numbers_and_truth_as_target(tmp_path, name, labels, positive):
    path = write_lines(tmp_path, *({"a": int(label), "y": label} for label in labels), name=name)
    data = read_dataset(path, ReadOptions("y", positive))
    assert data.y.tolist() == labels
    assert data.pos_label == labels[1]


def test_categories_that_look_like_numbers_stay_texts(tmp_path):
    features = FeatureColumns("frame", 1, (), ("code",))
    path = write_lines(tmp_path, {"code": 7}, {"code": None}, {"code": 8})
    codes = read_samples(path, features)["code"]
    assert codes.tolist()[::2] == ["7", "8"]
    assert codes.isna()[1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{'a': 1}", "as JSON Lines: line 2: Expecting property name"),
        ("[1, 2]", r"line 2 holds \[1, 2\], not an object such as"),
        ('{"a": 1, "a": 2}', "line 2: the key 'a' occurs twice"),
        ({"a": {"b": 1}}, "line 2: 'a' holds .*; accepted: numbers, texts, true, false and null"),
        ({"a": [1]}, r"line 2: 'a' holds \[1\]"),
        ('{"a": 1' + 400 * "0" + "}", "line 2: 'a' holds a number too large for 64 bits; write it as a text"),
        ({"a": -(2**63) - 1}, "line 2: 'a' holds a number too large"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(tmp_path, row, message):
    path = write_lines(tmp_path, {"a": 1, "y": "yes"}, row)
    with pytest.raises(CliError, match=message):
        read_dataset(path, OPTIONS)


N = 100
DAYS = pandas.date_range("2024-01-01", periods=N)


def said_of(column, categorical=True):
    frame = pandas.DataFrame({"day": column})
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        warn_of_columns(frame, ["day"] if categorical else [])
    return [str(warning.message) for warning in met]


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S"),
        *("%Y-%m-%dT%H:%M:%SZ", "%d %b %Y", "%d-%B-%Y", "%B %d, %Y"),
    ],
)
def test_dates_are_pointed_out(form):
    (said,) = said_of(DAYS.strftime(form))
    first = DAYS[0].strftime(form)
    assert said.startswith(f"column 'day' holds dates or times, such as {first!r}, and each of the 100")
    assert said.endswith("leave it out with --drop 'day'")
    assert "holds dates or times, such as '10:00'" in said_of(["10:00", "11:30", None, "12:00"])[0]
    assert "holds dates" in said_of([first, DAYS[1].strftime(form)] * 50)[0]


@pytest.mark.parametrize(
    ("texts", "odd"),
    [
        ([*(f"{x:.2f}" for x in np.linspace(0, 1, 90)), *["unknown"] * 10], "'unknown'"),
        ([f"{x:.2f}".replace(".", ",") for x in np.linspace(0, 1, 15)], "'0,00'"),
        ([f"${1000 * x:,}" for x in range(1, N)], r"'$1,000'"),
        ([f"{x} %" for x in range(N)], "'0 %'"),
    ],
)
def test_numbers_among_texts_are_pointed_out(texts, odd):
    (said,) = said_of(texts)
    assert said.startswith(f"column 'day' looks like numbers, but {odd} is none, and each of the ")


@pytest.mark.parametrize("column", [[1.0] * 5, ["a"] * 5, [None] * 5, [True] * 5])
def test_columns_that_say_nothing_are_pointed_out(column):
    (said,) = said_of(column, categorical=isinstance(column[0], str))
    reason = "holds the same in every row, which carries no information"
    assert said == f"the column 'day' {reason}; leave it out with --drop"


@pytest.mark.parametrize(
    "column",
    [
        ["yes", "no"] * 50,
        ["1", "2", "3+"] * 30,
        ["18-25", "26-35", "36-50"] * 30,
        ["True", "False"] * 50,
        ["May", "June", "July"] * 30,
        ["1.2.3", "1.2.4"] * 20,
        [f"town {i % 30}" for i in range(N)],
    ],
)
def test_ordinary_categories_are_not(column):
    assert said_of(column) == []


# ---------------------------------------------------------------- tables for a terminal


def test_columns_are_as_wide_as_their_widest_cell():
    lines = format_table(["a", "bb"], [["x", "1"], ["long", "22.5"]]).splitlines()
    assert lines == ["| a    |   bb |", "|------|-----:|", "| x    |    1 |", "| long | 22.5 |"]
    assert format_table(["a", "b"], [["x", "yy"]], left=2).splitlines() == ["| a | b  |", "|---|----|", "| x | yy |"]
    with pytest.raises(ValueError, match="shorter"):
        format_table(["a", "b"], [["x"]])


def test_numbers_and_spreads_that_are_not_known():
    known = {0.12345: "0.1235", None: "-", math.nan: "-", math.inf: "inf", -math.inf: "-inf"}
    assert [format_number(value) for value in known] == list(known.values())
    assert format_mean(0.5, math.nan) == "0.5000"
    assert format_mean(0.5, 0.25, "+.2f") == "+0.50 ± 0.25"


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    for name in ("skops", "skops.io"):  # whoever came before may have imported it
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CliError, match=r"^saving a model needs skops: pip install 'csf-search\[cli\]'$"):
        require("skops.io", "saving a model")


# ---------------------------------------------------------------- files as people have them


VALUES = [0.5, -1234.25, 12.0, 1234567.75, 999.125]
MARKS = [(",", None), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"), (".", None)]


def written(value, decimal, thousands, space=" "):
    """A number with these marks, by Python's own format."""
    text = f"{value:,.3f}".translate({ord(","): "T", ord("."): decimal})
    return text.replace("T", (space if thousands == " " else thousands) if thousands else "")


@pytest.mark.parametrize(("decimal", "thousands"), MARKS)
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u202f"])
def test_numbers_with_other_marks_are_the_same_numbers(tmp_path, decimal, thousands, space):
    rows = "".join(f"{written(value, decimal, thousands, space)};{at % 2}\n" for at, value in enumerate(VALUES))
    path = write(tmp_path, f"a;y\n{rows}")
    form = TableFormat(decimal=decimal, thousands=thousands)
    assert read_dataset(path, ReadOptions("y", "1", form=form)).X["a"].tolist() == VALUES
    assert read_samples(path, FeatureColumns("frame", 1, ("a",)), form)["a"].tolist() == VALUES


@given(st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1, max_size=5), st.sampled_from(MARKS))
def test_an_option_that_is_named_reads_all_of_them(values, marks):
    """Whatever options are named give the numbers that they say; no option is named for numbers as Python has them."""
    texts, form = [written(value, *marks) for value in values], TableFormat(decimal=marks[0], thousands=marks[1])
    assert [float(form.numeral(text)) for text in texts] == pytest.approx(values)
    readable = all(TableFormat().numeral(text) is not None for text in texts)
    assert bool(number_options(texts)) == (not readable)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1.5", TableFormat(decimal=",")),
        ("1,5", TableFormat()),
        ("1,2,3", TableFormat(thousands=",")),
        ("12,34", TableFormat(thousands=",")),
        ("1.234", TableFormat(decimal=",")),
        ("", TableFormat(decimal=",")),
        ("%", TableFormat()),
        ("x", TableFormat()),
    ],
)
def test_what_is_no_number_with_these_marks(text, form):
    assert form.numeral(text) is None


def test_marks_that_two_options_explain_are_named_with_what_each_makes_of_them():
    assert number_options(["1,234", "5,678"]) == "--decimal , (1,234 is 1.234) or --thousands , (1,234 is 1234)"
    assert number_options(["0,64"]) == "--decimal , (0,64 is 0.64)"
    assert number_options(["a", "0,64"]) == number_options(["1.5", "2"]) == number_options([]) == ""


def test_other_marks_are_an_error_that_names_the_option(tmp_path):
    rows = "".join(f"{at},{at % 7};{at % 2}\n" for at in range(40))
    path = write(tmp_path, f"a;y\n{rows}")
    with pytest.raises(CliError, match=r"column 'a' looks like numbers, but '0,0' is none.*give --decimal , \(0,0 is"):
        read_dataset(path, ReadOptions("y"))
    with pytest.raises(CliError, match="must hold numbers, as in training; it has '0,0'; give --decimal ,"):
        read_samples(path, FeatureColumns("frame", 1, ("a",)))
    with pytest.raises(CliError, match=r"sample weights.*give --decimal ,"):
        read_dataset(path, ReadOptions("y", sample_weight="a"))


def test_percent_signs(tmp_path):
    rows = "".join(f"{at}%,{at % 2}\n" for at in range(5))
    assert read_dataset(write(tmp_path, f"a,y\n{rows}"), ReadOptions("y")).X["a"].tolist() == [0, 1, 2, 3, 4]
    mixed = "".join(f"{at}{'%' * (at % 3 > 0)},{at % 2}\n" for at in range(30))
    with pytest.warns(UserWarning, match="looks like numbers, but '1%' is none"):
        read_dataset(write(tmp_path, f"a,y\n{mixed}"), ReadOptions("y"))


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("latin-1", "cp1252"), ("cp1252", "cp1252"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le")],
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_another_encoding_is_named_and_read(tmp_path, encoding, named, suffix):
    path = tmp_path / f"data.{suffix}"
    rows = [{"größe": 1, "y": 0}, {"größe": 2, "y": 1}]
    lines = ["größe,y", "1,0", "2,1"] if suffix == "csv" else [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes("\n".join(lines).encode(encoding))
    if (suffix, encoding) != ("jsonl", "utf-16-le"):  # no JSON, as its zero bytes are valid UTF-8
        with pytest.raises(CliError, match=f"--encoding {named}"):
            read_dataset(str(path), ReadOptions("y"))
    form = TableFormat(encoding=encoding)
    assert read_dataset(str(path), ReadOptions("y", form=form)).X["größe"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["data.csv.zip", "data.zip"])
def test_a_packed_table(tmp_path, name):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("__MACOSX/other", "")
        archive.writestr("inner.csv", "a,y\n1,0\n2,1\n")
    assert read_dataset(str(path), ReadOptions("y")).X["a"].tolist() == [1.0, 2.0]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("second.csv", "a,y\n")
    with pytest.raises(CliError, match="the archive holds 2 files; accepted: one"):
        read_dataset(str(path), ReadOptions("y"))


def test_texts_with_tabs_spaces_or_libsvm_lines(tmp_path):
    assert read_dataset(write(tmp_path, "a\ty\n1\t0\n2\t1\n", "t.txt"), ReadOptions("y")).X["a"].tolist() == [1, 2]
    path = write(tmp_path, "a y\n1 0\n2 1\n", "s.txt")
    with pytest.raises(CliError, match=r"it has the column 'a y'\. Name what separates columns with --sep"):
        read_dataset(path, ReadOptions("y"))
    assert read_dataset(path, ReadOptions("y", form=TableFormat(sep=" "))).X["a"].tolist() == [1, 2]
    assert read_dataset(write(tmp_path, "1 1:2 2:3\n0 1:4 2:5\n", "l.txt"), ReadOptions()).features.kind == "sparse"


def test_rows_without_a_label(tmp_path):
    path = write(tmp_path, "a,y,w\n1,0,1\n2,,5\n3,1,2\n4,NA,-1\n")
    data = read_dataset(path, ReadOptions("y", sample_weight="w", drop_unlabelled=True))
    assert (data.X["a"].tolist(), data.y.tolist(), data.sample_weight.tolist()) == ([1, 3], [0, 1], [1, 2])
    assert data.counted == "2 rows (2 without a label dropped)"
    with pytest.raises(CliError, match="missing in 2 of 2 rows; the labels are needed"):
        read_dataset(write(tmp_path, "a,y\n1,\n2,\n"), ReadOptions("y", drop_unlabelled=True))
    path = write(tmp_path, "a,y\n-999,no\n2,yes\n3,-999\n")
    data = read_dataset(path, ReadOptions("y", "yes", drop_unlabelled=True, form=TableFormat(na_values=("-999",))))
    np.testing.assert_array_equal(data.X["a"], [np.nan, 2.0])


def test_options_of_csv_files_are_refused_for_others(tmp_path):
    path = write(tmp_path, '{"a": 1, "y": 0}\n', "data.jsonl")
    with pytest.raises(CliError, match=r"--keep-na and --no-header are for CSV files; .* is JSON Lines"):
        read_dataset(path, ReadOptions("y", form=TableFormat(decimal=",")))


def test_counters_are_pointed_out(tmp_path):
    rows = "".join(f"{at},{at % 9},{at % 2}\n" for at in range(60))
    with pytest.warns(
        UserWarning, match="column 'Unnamed: 0' has another whole number in each row.*--drop 'Unnamed: 0'"
    ):
        read_dataset(write(tmp_path, f",a,y\n{rows}"), ReadOptions("y"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wrong_at_most= decides a batch", "--wrong-at-most decides a batch"),
        ("at_most= and wrong_at_most= take", "--at-most and --wrong-at-most take"),
        ("wrong_at_most of 'urgent' must", "--wrong-at-most of 'urgent' must"),
        (
            "limit it: constraint=csf.metrics.Constraint(metric, '<=', level)",
            "limit it: --constraint 'metric <= level'",
        ),
    ],
)
def test_messages_name_options_of_the_command_line(text, expected):
    assert in_options(text) == expected
