"""JSON Lines files."""

import gzip
import json

import numpy as np
import pytest

from csf.cli.data import Features, ReadOptions, read_dataset, read_samples
from csf.cli.errors import CliError

pytest.importorskip("pandas")

OPTIONS = ReadOptions(target="y", positive="yes")


def write(tmp_path, *rows, name="data.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


def test_columns_are_the_keys_and_may_be_missing(tmp_path):
    path = write(
        tmp_path,
        {"a": 1, "b": "x", "c": True, "y": "yes"},
        "",
        {"y": "no", "d": 7, "a": 2.5},
        {"a": None, "b": "z", "c": False, "d": "x7", "y": "no"},
    )
    data = read_dataset(path, OPTIONS)
    assert data.features == Features("frame", 4, ("a",), ("b", "c", "d"))
    np.testing.assert_array_equal(data.X["a"], [1.0, 2.5, np.nan])
    assert data.X["b"].isna().tolist() == [False, True, False]
    assert data.X["c"][0] == "True"
    assert data.X["d"].tolist()[1:] == ["7", "x7"]
    assert data.y.tolist() == ["yes", "no", "no"]


@pytest.mark.parametrize("name", ["data.ndjson", "DATA.JSONL"])
def test_numbers_as_target(tmp_path, name):
    data = read_dataset(write(tmp_path, {"a": 1, "y": 0}, {"a": 2, "y": 1}, name=name), ReadOptions(target="y"))
    assert data.y.tolist() == [0, 1]
    assert data.pos_label == 1


def test_true_and_false_as_target(tmp_path):
    path = write(tmp_path, {"a": 1, "y": True}, {"a": 2, "y": False})
    assert read_dataset(path, ReadOptions(target="y", positive="true")).pos_label is True


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1, "y": "yes"}\n{"a": 2, "y": "no"}\n'))
    assert read_dataset(str(path), OPTIONS).X["a"].tolist() == [1.0, 2.0]


def test_it_gives_the_same_as_csv(tmp_path, customers):
    customers.to_csv(tmp_path / "data.csv", index=False)
    customers.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    options = ReadOptions("outcome", "churn", "weight")
    first, second = (read_dataset(str(tmp_path / f"data.{suffix}"), options) for suffix in ("csv", "jsonl"))
    assert first.features == second.features
    assert first.X.equals(second.X)
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_allclose(first.sample_weight, second.sample_weight)


def test_categories_that_look_like_numbers_stay_texts(tmp_path):
    features = Features("frame", 1, (), ("code",))
    path = write(tmp_path, {"code": 7}, {"code": None}, {"code": 8})
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
        ('{"a": 1' + 400 * "0" + "}", "cannot read .* too large"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(tmp_path, row, message):
    path = write(tmp_path, {"a": 1, "y": "yes"}, row)
    with pytest.raises(CliError, match=message):
        read_dataset(path, OPTIONS)


def test_an_empty_file(tmp_path):
    with pytest.raises(CliError, match="has no rows"):
        read_dataset(write(tmp_path), OPTIONS)


def test_a_broken_archive(tmp_path):
    path = tmp_path / "data.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1, "y": "yes"}\n' * 1000)[:40])
    with pytest.raises(CliError, match=r"cannot read .* as JSON Lines"):
        read_dataset(str(path), OPTIONS)


def test_the_command_line_takes_it(tmp_path, ok, customers):
    customers.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    out = ok("search", tmp_path / "data.jsonl", "--target", "outcome", "--positive", "churn", "--trials", "2")
    assert "f1" in out
