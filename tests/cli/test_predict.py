"""csf predict."""

import csv
import errno
import io
import os
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from csf.cli.persistence import load_model

pytest.importorskip("skops")

QUICK = ("--trials", 2, "--cv", 3)
LABELS = ("--target", "outcome", "--positive", "churn", "--drop", "weight")


def read(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def model(ok, table, tmp_path):
    path = tmp_path / "model.skops"
    ok("search", table, *LABELS, *QUICK, "--base", "logistic", "--save", path)
    return path


def test_predictions_are_those_of_the_search_in_the_process(ok, model, table, customers):
    rows = read(ok("predict", model, table))
    search, _ = load_model(model)
    X = customers[["age", "city", "smoker", "member"]].astype({"member": str, "city": object, "smoker": object})
    assert [row["prediction"] for row in rows] == search.predict(X).tolist()
    # "churn" sorts first, so that the distance of the second class has the other sign.
    np.testing.assert_array_equal([float(row["score"]) for row in rows], -search.decision_function(X))
    np.testing.assert_array_equal([float(row["probability"]) for row in rows], search.predict_proba(X)[:, 0])


def test_scores_are_positive_where_the_positive_class_is_predicted(ok, model, table):
    rows = read(ok("predict", model, table))
    assert {row["prediction"] for row in rows} == {"churn", "stay"}
    assert all((float(row["score"]) >= 0) == (row["prediction"] == "churn") for row in rows)


def test_order_and_further_columns_do_not_matter(ok, model, table, customers, tmp_path):
    expected = ok("predict", model, table)
    new = customers.drop(columns=["outcome", "weight"]).iloc[:, ::-1].assign(more="x")
    new.to_csv(tmp_path / "new.csv", index=False)
    assert ok("predict", model, tmp_path / "new.csv") == expected
    pytest.importorskip("pyarrow")
    new.to_parquet(tmp_path / "new.parquet")
    assert ok("predict", model, tmp_path / "new.parquet") == expected


def test_unseen_categories_are_ignored(ok, model, customers, tmp_path):
    new = customers.drop(columns="outcome").assign(city="Atlantis")
    new.to_csv(tmp_path / "new.csv", index=False)
    assert len(read(ok("predict", model, tmp_path / "new.csv"))) == len(customers)


def test_a_missing_column_is_named(error_of, model, customers, tmp_path):
    customers.drop(columns=["age", "city"]).to_csv(tmp_path / "new.csv", index=False)
    message = error_of("predict", model, tmp_path / "new.csv")
    assert message.endswith("new.csv lacks the columns 'age', 'city', which the model was trained on")


def test_another_kind_of_data(error_of, model):
    assert "takes a table with named columns (CSV, ...); digits has none" in error_of("predict", model, "digits")


def test_a_file_instead_of_the_standard_output(ok, model, table, tmp_path):
    text = ok("predict", model, table, "-o", tmp_path / "scores.csv")
    rows = read((tmp_path / "scores.csv").read_text(encoding="utf-8"))
    positive = sum(row["prediction"] == "churn" for row in rows)
    assert text == f"{tmp_path / 'scores.csv'}: 240 rows, {positive} predicted positive (churn)\n"


def test_built_in_sets(ok, tmp_path):
    ok("search", "digits:8", *QUICK, "--save", tmp_path / "m.skops")
    rows = read(ok("predict", tmp_path / "m.skops", "digits"))
    assert list(rows[0]) == ["prediction", "score"]
    assert [row["prediction"] for row in rows] == load_model(tmp_path / "m.skops")[0].predict(
        load_digits().data
    ).tolist()


def test_svmlight_files(ok, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{1 if a > 0.7 else -1} 1:{a:.3f} 5:{b:.3f}" for a, b in rng.random((90, 2))]
    (tmp_path / "train").write_text("\n".join(lines) + "\n", encoding="utf-8")
    # Fewer features than in training, and the first of them missing from every row.
    (tmp_path / "new").write_text("0 2:1\n0 3:1\n", encoding="utf-8")
    ok("search", tmp_path / "train", *QUICK, "--save", tmp_path / "m.skops")
    assert len(read(ok("predict", tmp_path / "m.skops", tmp_path / "new"))) == 2
    assert {row["prediction"] for row in read(ok("predict", tmp_path / "m.skops", tmp_path / "train"))} == {"1", "-1"}


def test_forests_that_csf_wrote_need_no_trust(ok, tmp_path):
    path = tmp_path / "m.skops"
    ok("search", "iris:1", *QUICK, "--base", "random-forest", "--param", "n_estimators=2", "--save", path)
    assert len(read(ok("predict", path, "iris"))) == 150


@pytest.mark.parametrize("base", ["lightgbm", "xgboost"])
def test_boosting_of_other_packages_with_trust(ok, error_of, tmp_path, base):
    pytest.importorskip(base)
    path = tmp_path / "m.skops"
    options = ["--base", base, "--param", "n_estimators=2", "--param", "n_jobs=1"]
    ok("search", "iris:1", *QUICK, *options, "--save", path)
    words = error_of("predict", path, "iris").rpartition("add ")[2].split()
    assert len(read(ok("predict", path, "iris", *words))) == 150


def test_skops_is_named_when_it_is_missing(error_of, model, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert error_of("predict", model, table) == "reading a model needs skops: pip install 'csf-search[cli]'"


def test_labels_that_a_spreadsheet_would_run_are_texts(ok, tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{x:.3f},{'=1+1' if x > 0.5 else '-none'}\n" for x in rng.normal(size=80))
    (tmp_path / "data.csv").write_text(f"a,y\n{rows}", encoding="utf-8")
    ok("search", tmp_path / "data.csv", "--target", "y", "--positive", "=1+1", *QUICK, "--save", tmp_path / "m.skops")
    labels = [row["prediction"] for row in read(ok("predict", tmp_path / "m.skops", tmp_path / "data.csv"))]
    assert set(labels) == {"'=1+1", "'-none"}


def test_a_full_disk_leaves_the_old_predictions(run, model, table, tmp_path, monkeypatch):
    out = tmp_path / "scores.csv"
    out.write_text("old")

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("predict", model, table, "-o", out)
    assert code != 0
    assert "No space left on device" in err
    assert out.read_text() == "old"


def test_a_device_is_written_as_it_is(ok, model, table):
    assert os.devnull in ok("predict", model, table, "-o", os.devnull)
