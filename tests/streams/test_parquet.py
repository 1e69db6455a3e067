"""iter_parquet: the same rows as pandas, whatever the row groups; clear errors; places."""

import pickle
import sys
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from csf.streams import iter_parquet  # noqa: E402

N_ROWS = 40


def frame(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.random(n_rows),
            "label": rng.choice(["no", "yes"], n_rows),
            "b": rng.integers(-5, 5, n_rows).astype(np.int8),
            "c": rng.random(n_rows) < 0.5,
            "d": rng.random(n_rows).astype(np.float32),
        }
    )


@pytest.fixture(scope="module", params=[7, 10, 1000], ids=lambda size: f"groups of {size}")
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "rows.parquet"
    frame().to_parquet(path, row_group_size=request.param)
    return path


@pytest.mark.parametrize("size", [1, 7, 8, 10, 39, 40, 500])
def test_rows_are_those_of_the_table(path, size):
    chunks = list(iter_parquet(path, size, target="label"))
    assert [y.shape[0] for _, y in chunks] == [size] * (N_ROWS // size) + [N_ROWS % size] * (N_ROWS % size > 0)
    data = frame()
    np.testing.assert_array_equal(np.concatenate([y for _, y in chunks]), data["label"])
    X = np.concatenate([X for X, _ in chunks])
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, data[["a", "b", "c", "d"]].to_numpy(float))


def test_features_in_the_order_asked_for(path):
    X, y = next(iter_parquet(path, 5, target="c", features=["d", "a"]))
    np.testing.assert_array_equal(X, frame()[["d", "a"]].to_numpy(float)[:5])
    np.testing.assert_array_equal(y, frame()["c"][:5])
    assert y.dtype == bool


@pytest.mark.parametrize("taken", [0, 1, 2, 5, 6, 7, 10, 12])
def test_a_pickle_goes_on_at_its_place(path, taken):
    chunks = iter_parquet(path, 7, target="label", passes=2)
    for _ in range(taken):
        next(chunks)
    rest, expected = list(pickle.loads(pickle.dumps(chunks))), list(chunks)
    assert len(rest) == len(expected) == 12 - taken
    for (A, a), (B, b) in zip(rest, expected):
        np.testing.assert_array_equal(A, B)
        np.testing.assert_array_equal(a, b)


def test_progress_is_in_rows(path, capsys):
    list(iter_parquet(path, 8, target="label", passes=2, progress=True))
    assert "80/80" in capsys.readouterr().err


def write(folder, **columns):
    pq.write_table(pa.table(columns), folder / "table.parquet", row_group_size=2)
    return folder / "table.parquet"


@pytest.mark.parametrize(
    "values", [[1.0, 2.0, None], [1.0, 2.0, np.nan], [0.0, 1.0, np.inf], [1, 2, None], [True, True, None]]
)
def test_missing_values_name_row_and_column(tmp_path, values):
    path = write(tmp_path, a=values, y=[0, 1, 0])
    chunks = iter_parquet(path, 2, target="y")
    next(chunks)
    with pytest.raises(ValueError, match=r"table\.parquet, row 2 \(from 0\), column 'a': missing or not finite"):
        next(chunks)


def test_missing_labels_name_their_row(tmp_path):
    chunks = iter_parquet(write(tmp_path, a=[1.0, 2.0, 3.0], y=["u", None, "v"]), 2, target="y")
    with pytest.raises(ValueError, match=r"row 1 \(from 0\), column 'y': the label is missing"):
        next(chunks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "z"}, "target: .* has 0 columns 'z', one is needed; columns: a, t, y"),
        ({"target": "y", "features": ["a", "q"]}, "features: .* has 0 columns 'q'"),
        ({"target": "y", "features": ["a", "y"]}, "the target 'y' must not be one of the features"),
        ({"target": "y", "features": []}, "has no features beside the target 'y'"),
        ({"target": "y"}, "column 't' of .* holds string, accepted: numbers and booleans"),
    ],
)
def test_columns_are_checked_at_once(tmp_path, options, message):
    path = write(tmp_path, a=[1.0], t=["text"], y=[0])
    with pytest.raises(ValueError, match=message):
        iter_parquet(path, 2, **options)


@pytest.mark.parametrize("labels", [[[1]], [{"u": 1}], [b"u"], [Decimal(1)], [timedelta(1)]])
def test_labels_are_numbers_texts_or_booleans(tmp_path, labels):
    path = write(tmp_path, a=[1.0], y=labels)
    with pytest.raises(ValueError, match=r"target: column 'y' of .*table\.parquet holds .*, accepted: numbers, texts"):
        iter_parquet(path, 2, target="y")


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_labels_of_all_kinds_of_texts(tmp_path, kind):
    path = write(tmp_path, a=[1.0, 2.0], y=pa.array(["u", "v"], getattr(pa, kind)()))
    assert next(iter_parquet(path, 2, target="y"))[1].tolist() == ["u", "v"]


def test_labels_of_a_dictionary(tmp_path):
    path = write(tmp_path, a=[1.0, 2.0, 3.0], y=pa.array(["u", "v", "u"]).dictionary_encode())
    chunks = list(iter_parquet(path, 2, target="y"))
    assert np.concatenate([y for _, y in chunks]).tolist() == ["u", "v", "u"]


def test_no_parquet_file(tmp_path):
    (tmp_path / "text.parquet").write_text("no table")
    with pytest.raises(ValueError, match=r"cannot read .*text\.parquet as a Parquet file"):
        iter_parquet(tmp_path / "text.parquet", 2, target="y")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing\.parquet"):
        iter_parquet(tmp_path / "missing.parquet", 2, target="y")


def test_a_file_that_has_changed_is_noticed(tmp_path):
    chunks = iter_parquet(write(tmp_path, a=[1.0, 2.0, 3.0], y=[0, 1, 0]), 2, target="y")
    next(chunks)
    other = pickle.loads(pickle.dumps(chunks))
    write(tmp_path, a=[1.0], y=[0])
    with pytest.raises(ValueError, match="has changed: it no longer has 2 rows"):
        next(other)


def test_without_pyarrow_it_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, a=[1.0], y=[0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="iter_parquet needs pyarrow: pip install"):
        iter_parquet(path, 2, target="y")


def test_memory_does_not_grow_with_the_file(tmp_path):
    """One row group for all rows: it is the worst case."""
    peaks = []
    for n_rows in (20_000, 400_000):
        X = np.random.default_rng(0).random(n_rows)
        pq.write_table(pa.table({"a": X, "b": X[::-1], "y": X > 0.5}), tmp_path / "long.parquet", use_dictionary=False)
        pa.default_memory_pool().release_unused()
        before = pa.total_allocated_bytes()
        peak = 0
        for _ in iter_parquet(tmp_path / "long.parquet", 1000, target="y"):
            peak = max(peak, pa.total_allocated_bytes() - before)
        peaks.append(peak)
    assert max(peaks) < 2_000_000


@pytest.mark.parametrize("features", ["a", 5, {"a": 1}])
def test_features_are_a_list_of_names(tmp_path, features):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1.0], "y": [0]}).to_parquet(path)
    with pytest.raises(TypeError, match="features must be a list of column names or None, got"):
        iter_parquet(path, 2, target="y", features=features)
