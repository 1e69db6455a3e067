"""csf predict, csf monitor, and models as files that run no foreign code."""

import csv
import errno
import io
import json
import os
import pickle
import pkgutil
import re
import sys
import zipfile
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from builders import paper_search
from builders_of_kinds import KINDS as ALL_KINDS
from builders_of_kinds import search_of
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import Birch
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import csf
from csf import CostSearch
from csf.cli import main
from csf.cli.data import FeatureColumns
from csf.cli.predict import (
    _HOLDING,
    ALARM,
    PlainTree,
    _is_trusted,
    _stands_for,
    load_model,
    required_trust,
    save_model,
)
from csf.cli.problem import make_base
from csf.cli.tables import CliError
from csf.metrics import CostMatrix, Review
from csf.metrics.profile import Hull

pytest.importorskip("skops")

QUICK = ("--trials", 2, "--cv", 3, "--no-rivals")
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
    score = np.array([float(row["score"]) for row in rows])
    np.testing.assert_array_equal(score, search.score_samples(X))
    np.testing.assert_array_equal(np.where(score >= search.best_threshold_, "churn", "stay"), search.predict(X))
    np.testing.assert_array_equal([float(row["probability"]) for row in rows], search.predict_proba(X)[:, 0])


def test_order_and_further_columns_do_not_matter(ok, model, table, customers, tmp_path):
    expected = ok("predict", model, table)
    new = customers.drop(columns=["outcome", "weight"]).iloc[:, ::-1].assign(more="x")
    new.to_csv(tmp_path / "new.csv", index=False)
    assert ok("predict", model, tmp_path / "new.csv") == expected
    pytest.importorskip("pyarrow")
    new.to_parquet(tmp_path / "new.parquet")
    assert ok("predict", model, tmp_path / "new.parquet") == expected


def test_unseen_categories_are_ignored_and_missing_columns_named(ok, error_of, model, customers, tmp_path):
    new, path = customers.drop(columns="outcome").assign(city="Atlantis"), tmp_path / "new.csv"
    new.to_csv(path, index=False)
    assert len(read(ok("predict", model, path))) == len(customers)
    new.drop(columns=["age", "city"]).to_csv(path, index=False)
    message = "new.csv lacks the columns 'age', 'city', which the model was trained on"
    assert error_of("predict", model, path).endswith(message)
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


@pytest.mark.slow
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


X, Y = load_breast_cancer(return_X_y=True)
FEATURES = FeatureColumns("dense", X.shape[1])


def fitted(**options):
    base = options.pop("base", None) or make_base("linear-svc", FEATURES)
    return paper_search(base, **({"n_trials": 2, "cv": 2, "pos_label": 0} | options)).fit(X, Y)


def test_a_model_comes_back_as_it_was(tmp_path):
    search = fitted(param_grid={"classifier__C": [0.1, 1.0]}, constraint="precision >= 0.8")
    save_model(tmp_path / "m.skops", search, FEATURES)
    found, features = load_model(tmp_path / "m.skops")
    assert features == FEATURES
    assert found.trials_ == search.trials_
    assert found.best_params_ == search.best_params_
    np.testing.assert_array_equal(found.predict(X), search.predict(X))
    np.testing.assert_array_equal(found.decision_function(X), search.decision_function(X))


def forest(**options):
    base = make_base("random-forest", FEATURES)
    return base.set_params(classifier__n_estimators=3, classifier__random_state=0, classifier__max_depth=4, **options)


@pytest.mark.parametrize("base", [forest(), DecisionTreeClassifier(max_depth=3)], ids=["forest", "tree"])
def test_trees_that_csf_wrote_need_no_trust(base, tmp_path):
    search, path = fitted(base=base), tmp_path / "m.skops"
    before = search.predict(X)
    save_model(path, search, FEATURES)
    assert required_trust(path) == []
    np.testing.assert_array_equal(load_model(path)[0].predict(X), before)
    np.testing.assert_array_equal(search.predict(X), before)  # which is left as it was


def test_compiled_trees_need_trust_because_crafted_ones_can_crash(tmp_path, monkeypatch):
    pytest.importorskip("skops", minversion="0.15", reason="skops trusted trees before 0.15")
    monkeypatch.setattr("csf.cli.predict._with_plain_trees", lambda search: search)
    search, path = fitted(base=forest()), tmp_path / "m.skops"
    save_model(path, search, FEATURES)
    assert required_trust(path) == ["sklearn.tree._tree.Tree"]
    with pytest.raises(CliError, match=r"sklearn\.tree\._tree\.Tree\. .* add --trust sklearn\.tree\._tree\.Tree$"):
        load_model(path)
    np.testing.assert_array_equal(load_model(path, ["sklearn.tree._tree.Tree"])[0].predict(X), search.predict(X))


def plain_tree():
    _, arguments, state = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y).tree_.__reduce__()
    return PlainTree(*arguments, state | {"nodes": state["nodes"].copy()})


def test_a_tree_is_compiled_as_it_was():
    tree = plain_tree()
    samples = X.astype(np.float32)
    expected = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y).tree_.predict(samples)
    np.testing.assert_array_equal(tree.compiled(X.shape[1]).predict(samples), expected)


@pytest.mark.parametrize(
    "change",
    [
        *({"left_child": 10**6}, {"left_child": 0}, {"right_child": -5}, {"feature": X.shape[1]}, {"feature": -1}),
        *({"n_features": 3}, {"n_classes": np.array([2, 2])}, {"n_classes": np.array([0])}, {"n_outputs": 7}),
        *({"node_count": 10**6}, {"max_depth": 1}, {"values": np.zeros((1, 1, 1))}),
    ],
    ids=str,
)
def test_links_and_sizes_of_crafted_trees_are_refused(change):
    tree = plain_tree()
    ((name, value),) = change.items()
    if name in tree.state["nodes"].dtype.names:
        tree.state["nodes"][name][0] = value
    else:
        tree = replace(tree, **({"state": tree.state | change} if name in tree.state else change))
    with pytest.raises(ValueError, match=r"lead out of their arrays|Wrong shape for value array"):
        tree.compiled(X.shape[1])


# What splits by category hold besides trees; the commands have none.
BY_CATEGORY = ["functools.partial", "sklearn.utils.validation.check_array"]


def boosted():
    """A model of gradient boosting with a split by category, and its trees."""
    categorical = np.column_stack([np.arange(X.shape[0]) % 5, X[:, 0]])
    base = HistGradientBoostingClassifier(max_iter=3, max_depth=3, categorical_features=[0], random_state=0)
    y = np.isin(categorical[:, 0], [1, 3]) ^ (X[:, 0] > 15)
    search = paper_search(base, n_trials=1, cv=2).fit(categorical, y)
    return search, categorical, [tree for trees in search.best_estimator_._predictors for tree in trees]


def test_gradient_boosting_needs_no_trust(tmp_path):
    search, samples, trees = boosted()
    assert any(tree.nodes["is_categorical"].any() for tree in trees)
    save_model(tmp_path / "m.skops", search, FEATURES)
    assert required_trust(tmp_path / "m.skops") == BY_CATEGORY
    found, _ = load_model(tmp_path / "m.skops", BY_CATEGORY)
    np.testing.assert_array_equal(found.decision_function(samples), search.decision_function(samples))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left", 10**6),
        ("right", 10**6),
        ("left", 0),
        ("right", 0),
        ("feature_idx", 2),
        ("feature_idx", 10**9),
        ("feature_idx", -1),
        ("bitset_idx", 10**6),
        ("is_categorical", 1),
        ("bitsets", np.zeros((9, 1), dtype=np.uint32)),
        ("nodes", slice(0)),
    ],
)
def test_crafted_trees_of_gradient_boosting_are_refused_before_they_are_followed(tmp_path, field, value):
    """Compiled code looks at no index; a loop would never end."""
    search, _, trees = boosted()
    tree, at = next(
        (tree, at)
        for tree in trees
        for at in np.flatnonzero(tree.nodes["is_leaf"] == 0)
        if tree.nodes["is_categorical"][at] == (field in ("bitset_idx", "bitsets"))
    )
    if field == "bitsets":
        tree.raw_left_cat_bitsets = value
    elif field == "nodes":
        tree.nodes = tree.nodes[value]
    else:
        tree.nodes[field][at] = value
    save_model(tmp_path / "m.skops", search, FEATURES)
    with pytest.raises(CliError, match=r"cannot read .*m\.skops: the links of its trees lead out of their arrays"):
        load_model(tmp_path / "m.skops", BY_CATEGORY)


@pytest.mark.parametrize("trusted", [[], ["numpy.loadtxt"]])
def test_foreign_code_is_not_run_by_trust_in_another_type(tmp_path, trusted):
    base = make_pipeline(FunctionTransformer(np.savetxt), LinearSVC(dual=False))
    save_model(tmp_path / "m.skops", paper_search(base), FEATURES)
    message = (
        r"holds types that a crafted file could misuse: numpy\.savetxt\. If you know .* add --trust numpy\.savetxt$"
    )
    with pytest.raises(CliError, match=message):
        load_model(tmp_path / "m.skops", trusted)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_is_loaded_without_trust(kind, tmp_path):
    search, samples = search_of(kind), ALL_KINDS[kind][2]
    save_model(tmp_path / "m.skops", search, FeatureColumns("dense", samples.shape[1]))
    assert required_trust(tmp_path / "m.skops") == []
    again = csf.load(tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(samples), search.predict(samples))
    assert again.summary().numbers == search.summary().numbers


def test_what_skops_cannot_store_is_an_error_of_one_line(tmp_path):
    with pytest.raises(CliError, match=r"^cannot save this model: .*Birch"):
        save_model(tmp_path / "m.skops", paper_search(Birch()), FEATURES)


@given(
    arrays(float, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(0, 1)),
    st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)),
)
def test_a_hull_rebuilt_from_its_corners_is_itself(points, protocol):
    hull = Hull(points)
    assert pickle.loads(pickle.dumps(hull, protocol)) == hull


def archive(path, name):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, "{}")


@pytest.mark.parametrize(
    "write",
    [
        *(lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"PK")),
        *(lambda path: archive(path, "other.json"), lambda path: archive(path, "schema.json")),
        lambda path: pytest.importorskip("skops.io").dump({"format": "something else"}, path),
    ],
)
def test_other_files_are_no_models(tmp_path, write):
    path = tmp_path / "m.skops"
    with pytest.raises(CliError, match=r"cannot read .*m\.skops: No such file"):
        load_model(path)
    write(path)
    with pytest.raises(CliError, match=r"m\.skops is not a model saved by csf search --save"):
        load_model(path)


def rewritten(path, old, new):
    """The same archive with a text of its schema replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts["schema.json"]
    parts["schema.json"] = parts["schema.json"].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)


def test_other_versions_are_pointed_out_or_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.skops"
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.__version__", "1.5.0")
        save_model(path, fitted(), FEATURES)
    with pytest.warns(UserWarning, match=r"was saved with scikit-learn 1\.5\.0, this is "):
        load_model(path)
    with monkeypatch.context() as patch:
        patch.setattr("csf.cli.predict.VERSION", 99)
        save_model(path, fitted(), FEATURES)
    with pytest.raises(CliError, match="has version 99 of the model format; this csf reads 1"):
        load_model(path)


def test_a_damaged_model_is_an_error_of_one_line(tmp_path):
    path = tmp_path / "m.skops"
    save_model(path, fitted(), FEATURES)
    rewritten(path, json.dumps("CostSearch"), json.dumps("NoSuchSearch"))
    with pytest.raises(
        CliError, match=r"holds csf\.search\.estimator\.NoSuchSearch, which .* does not have: .* Train the model again"
    ):
        load_model(path)


# ---------------------------------------------------------------- csf monitor


@pytest.mark.slow
def test_batches_are_counted_and_an_alarm_is_an_exit_code(ok, model, table, customers, tmp_path):
    state, plot = tmp_path / "monitor.json", tmp_path / "monitor.png"
    options = ("--target", "outcome", "--state", state, "--constraint", "f1 >= 0.3")
    text = ok("monitor", model, table, *options, "--name", "May")
    assert "no evidence against it" in text
    assert json.loads(state.read_text(encoding="utf-8"))["n_batches"] == 1
    wrong = customers.copy()
    wrong["outcome"] = np.where(customers["outcome"] == "churn", "stay", "churn")
    wrong.loc[:5, "outcome"] = None
    other = tmp_path / "june.csv"
    wrong.to_csv(other, index=False)
    command = ["monitor", str(model), str(other), *map(str, options), "--plot", str(plot), "-q"]
    assert [main([*command, "--name", name]) for name in ("June", "July")] == [ALARM, ALARM]
    assert plot.stat().st_size > 1000


def test_an_audit_names_rows_and_reads_their_labels(ok, error_of, model, table, customers, tmp_path):
    path, options = tmp_path / "audit.csv", ("audit", model, table, "--labels", 60, "--metric", "recall")
    assert "recall is then known within an interval about" in ok(*options, "-o", path)
    rows = [int(each["row"]) - 1 for each in read(path.read_text(encoding="utf-8"))]
    plan = csf.load(model).audit(samples_of(csf.load(model), customers), 60, "recall")
    assert rows == plan.rows.tolist()
    labels = customers["outcome"].to_numpy()[rows]
    path.write_text("\n".join(["label", *labels]) + "\n", encoding="utf-8")
    value, low, high = plan.interval(labels)
    text = ok(*options, "--labelled", path)
    assert text.strip() == f"recall on all {len(customers)} rows: {value:.4f}, 90 % interval [{low:.4f}, {high:.4f}]"
    assert "must hold a label for each of the 50 rows" in error_of(
        "audit", model, table, "--labels", 50, "--labelled", path
    )


def test_a_limit_on_alerts_says_what_a_miss_is_treated_as_worth(ok, model, table, customers, tmp_path):
    for n in (10, 100):
        text = ok("predict", model, table, "--at-most", n, "-o", tmp_path / "p.csv")
        assert re.search(r"\nOne (miss|false alarm) is treated as worth [\d.e+]+ (false alarms|misses) \(", text)
    lean, X = csf.load(model).without_scores(winner=False), samples_of(csf.load(model), customers)
    assert _stands_for(lean, X, lean.predict(X)) == ""


def test_alerts_need_no_labels(ok, model, table, tmp_path):
    state = ("--state", tmp_path / "alerts.json", "--constraint", "predicted_positive_rate <= 0.9")
    assert "no evidence against it" in ok("monitor", model, table, *state)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "outcom"), "has no column 'outcom'"),
        (("--target", "city"), "and the model knows the labels 'churn', 'stay'"),
        (("--target", "outcome", "--weight", "weigh"), "has no column 'weigh'"),
        (
            ("--target", "outcome", "--weight", "weight"),
            "bets on weights of at most 1: start another one with a larger",
        ),
        (("--retune", "m.skops"), "--retune finds a threshold by labels; name their column with --target"),
        (("--target", "outcome", "--alpha", "3"), "must be a number in (0, 1), got 3"),
        (("--target", "outcome", "--constraint", "gmean >= 0.5"), "cannot read constraint"),
        (("--target", "outcome", "--audit", "0", "--constraint", "f1 >= 0.5"), "audit=0 only alerts have labels"),
    ],
)
def test_mistakes_are_said_in_one_line(error_of, model, table, tmp_path, options, message):
    assert message in error_of("monitor", model, table, "--state", tmp_path / "state.json", *options)


def test_a_state_is_needed_to_count(error_of, model, table):
    assert error_of("monitor", model, table, "--target", "outcome").startswith("--state names the file of the state")


def test_the_same_file_is_counted_once(ok, error_of, model, table, tmp_path):
    options = ("monitor", model, table, "--target", "outcome", "--state", tmp_path / "s.json")
    ok(*options)
    assert "'customers.csv' with these labels and predictions was counted before" in error_of(*options)
    assert "480 labelled samples in 2 batches" in ok(*options, "--name", "other customers")


@pytest.mark.slow
def test_decisions_wait_for_labels_by_id(ok, run, error_of, model, customers, tmp_path):
    """Tables of decisions, then one of all labels so far, in another order and with ids that begin with zeros."""
    options = ("--id", "customer", "--state", tmp_path / "late.json", "--constraint", "f1 >= 0.3")
    frame = customers.assign(customer=[f"{k:04d}" for k in range(len(customers))])
    for name, part in {"may": frame[:120], "june": frame[120:]}.items():
        part.drop(columns="outcome").to_csv(tmp_path / f"{name}.csv", index=False)
        text = ok("monitor", model, tmp_path / f"{name}.csv", *options)
    assert "2 batches wait since may.csv: 0 of their 240 rows have a label" in text
    labels = frame[["customer", "outcome"]].sample(frac=1.0, random_state=0)
    path = tmp_path / "labels.csv"
    labels[labels.outcome == "stay"].to_csv(path, index=False)
    assert "0 labelled samples in 0 batches" in ok("monitor", model, path, *options, "--target", "outcome")
    labels.to_csv(path, index=False)
    text = ok("monitor", model, path, *options, "--target", "outcome")
    assert "labels.csv: 240 of 240 rows are of batches that wait for labels" in text
    assert "240 labelled samples in 2 batches" in text
    search = csf.load(model)
    value = f1_score(customers.outcome, search.predict(samples_of(search, customers)), pos_label="churn")
    assert f"f1: {value:.4f}" in text
    assert "0 of 240 rows are of batches that wait" in ok("monitor", model, path, *options, "--target", "outcome")
    assert "was expected before" in error_of("monitor", model, tmp_path / "june.csv", *options)
    assert ok("monitor", model, tmp_path / "may.csv", *options, "--name", "again")
    labels.assign(customer="x").to_csv(path, index=False)
    before = (tmp_path / "late.json").read_bytes()
    error = error_of("monitor", model, path, *options, "--target", "outcome")
    assert "0 of 240 rows are of batches that wait for labels; 'x' and the like are not; rows such as '0000'" in error
    assert (tmp_path / "late.json").read_bytes() == before


def test_ids_of_numbers_match_however_they_are_written(ok, model, customers, tmp_path):
    """A column of whole numbers that once had a gap is written with points; texts keep their spelling."""
    options = ("--id", "id", "--state", tmp_path / "late.json", "--constraint", "f1 >= 0.3")
    frame = customers.assign(id=[*range(800, 1038), "A1", "007"])
    frame.drop(columns="outcome").to_csv(tmp_path / "may.csv", index=False)
    ok("monitor", model, tmp_path / "may.csv", *options)
    written = [f" {k}.0" for k in range(800, 1038)] + ["A1", "7"]
    frame.assign(id=written)[["id", "outcome"]].to_csv(tmp_path / "labels.csv", index=False)
    text = ok("monitor", model, tmp_path / "labels.csv", *options, "--target", "outcome")
    assert "239 of 240 rows are of batches that wait for labels; '7' and the like are not" in text
    assert "239 of their 240 rows have a label" in text


def test_the_ids_and_the_expected_gain_are_written(ok, table, tmp_path):
    path, frame = tmp_path / "rows.csv", pytest.importorskip("pandas").read_csv(table)
    frame.assign(id=[f"{k:04d}" for k in range(len(frame))]).to_csv(path, index=False)
    costs = ("--fn-cost", "weight", "--fp-cost", "0.5*weight", "--drop", "id")
    model, labels = tmp_path / "m.skops", ("--target", "outcome", "--positive", "churn")
    ok("search", path, *labels, *costs, *QUICK, "--base", "logistic", "--save", model)
    rows, (search, _) = read(ok("predict", model, path, "--id", "id")), load_model(model)
    assert list(rows[0]) == ["id", "prediction", "score", "expected_gain", "probability"]
    assert [row["id"] for row in rows] == [f"{k:04d}" for k in range(len(frame))]
    assert [row["prediction"] == "churn" for row in rows] == [
        float(row["score"]) >= search.best_threshold_ for row in rows
    ]
    assert np.isfinite([float(row["expected_gain"]) for row in rows]).all()
    asked = ok("predict", model, path, "--columns", "id,city,reason,expected_gain,prediction", "--at-most", "5")
    asked, before = read(asked), [row["prediction"] for row in rows]
    assert list(asked[0]) == ["id", "city", "reason", "expected_gain", "prediction"]
    assert [row["city"] for row in asked] == frame["city"].fillna("").tolist()
    for row, plain, unlimited in zip(asked, rows, before):
        sign, threshold = row["reason"].split(", expected gain")[0].split(" ")[2:]
        assert (sign == ">=") == (unlimited == "churn")
        assert abs(float(threshold) - search.best_threshold_) < 1e-4
        assert plain["prediction"] == unlimited
        assert ("but --at-most 5 decides" in row["reason"]) == (unlimited != row["prediction"])
    assert sum(row["prediction"] == "churn" for row in asked) == 5


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "prediction,reasons",
            "--columns: .*has no column 'reasons'.* Results of this model are prediction, score, .*, reason",
        ),
        ("prediction,,score", "must be names with commas"),
    ],
)
def test_columns_that_are_not_there_are_named(error_of, model, table, columns, message):
    assert re.search(message, error_of("predict", model, table, "--columns", columns))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--id", "custome"), "has no column 'custome'"),
        (("--id", "smoker"), "rows without an entry in the column of ids 'smoker'"),
        (("--id", "age", "--target", "outcome", "--weight", "weight"), "--weight belongs to the decisions"),
        (("--mature-after", "3"), "--mature-after and unlabelled go together"),
        (("--mature-after", "3", "--unlabelled", "positive"), "invalid choice"),
    ],
)
def test_mistakes_with_ids_are_said_in_one_line(error_of, model, table, tmp_path, options, message):
    assert message in error_of("monitor", model, table, "--state", tmp_path / "state.json", *options)


def test_an_old_table_of_decisions_counts_without_all_labels(ok, model, customers, tmp_path):
    options = ("--id", "customer", "--state", tmp_path / "s.json", "--constraint", "f1 >= 0.01")
    options += ("--mature-after", 1, "--unlabelled", "negative")
    frame = customers.assign(customer=np.arange(len(customers)))
    for name, part in {"may": frame[:120], "june": frame[120:]}.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        ok("monitor", model, tmp_path / f"{name}.csv", *options)
    frame[frame.outcome == "churn"].to_csv(tmp_path / "churned.csv", index=False)
    text = ok("monitor", model, tmp_path / "churned.csv", *options, "--target", "outcome")
    assert "120 labelled samples in 1 batches" in text
    assert "1 batches wait since june.csv" in text


def test_weights_of_rows_are_a_column(ok, table, tmp_path):
    labels = ("--target", "outcome", "--positive", "churn", "--sample-weight", "weight")
    ok("search", table, *labels, *QUICK, "--base", "logistic", "--save", tmp_path / "m.skops")
    options = ("monitor", tmp_path / "m.skops", table, "--target", "outcome", "--constraint", "f1 >= 0.1")
    text = ok(*options, "--weight", "weight", "--state", tmp_path / "s.json")
    search, frame = csf.load(tmp_path / "m.skops"), pandas_of(table)
    value = f1_score(
        frame.outcome, search.predict(samples_of(search, frame)), sample_weight=frame.weight, pos_label="churn"
    )
    assert f"f1: {value:.4f}, 95% interval" in text


# ---------------------------------------------------------------- after an alarm, with a model of the command line


def pandas_of(path):
    return pytest.importorskip("pandas").read_csv(path)


def samples_of(search, frame):
    """What a model of the command line takes of a table: its columns, texts where they are no numbers."""
    frame = frame[list(search.feature_names_in_)]
    return frame.astype(dict.fromkeys(frame.select_dtypes("bool").columns, str))


@pytest.mark.slow
def test_each_step_after_an_alarm_works(ok, run, model, customers, tmp_path):
    """As it is recommended: in Python, and as a command, with the same thresholds."""
    later, state = tmp_path / "later.csv", ("--state", tmp_path / "state.json", "--constraint", "f1 >= 0.95")
    customers.to_csv(later, index=False)
    code, text, _ = run("monitor", model, later, "--target", "outcome", *state)
    assert code == ALARM
    assert "(csf predict --prevalence estimate)" in text
    assert "(csf monitor --retune)" in text
    search, frame = csf.load(model), pandas_of(later)
    X = samples_of(search, frame)
    monitor = search.monitor("f1 >= 0.95", path=tmp_path / "state.json")
    assert monitor.alarm == "later.csv"
    assert monitor.report() + "\n" == text

    share = search.prevalence(X)
    moved = search.at_prevalence(share)
    assert 0.0 < moved.corrected_score_ < 1.0
    assert moved.score_interval_[0] < moved.score_interval_[1]
    out = ("-o", tmp_path / "p.csv", "--save", tmp_path / "moved.skops")
    ok("predict", model, later, "--prevalence", "estimate", *out)
    assert csf.load(tmp_path / "moved.skops").best_threshold_ == moved.best_threshold_
    np.testing.assert_array_equal(pandas_of(tmp_path / "p.csv").prediction, moved.predict(X))
    ok("predict", model, later, "--prevalence", 0.2, *out)
    assert csf.load(tmp_path / "moved.skops").best_threshold_ == search.at_prevalence(0.2).best_threshold_

    again = monitor.retune(X, frame.outcome.to_numpy())
    text = ok("monitor", model, later, "--target", "outcome", "--retune", tmp_path / "retuned.skops")
    assert (
        f"tuned on {len(frame)} labelled rows; {again.corrected_score_:.3f} f1 to expect on new data, 90 % interval"
        in text
    )
    retuned = csf.load(tmp_path / "retuned.skops")
    assert retuned.best_threshold_ == again.best_threshold_
    np.testing.assert_array_equal(retuned.predict_proba(X), again.predict_proba(X))
    # And so on with each of them.
    for name in ("moved", "retuned"):
        assert 0.0 < csf.load(tmp_path / f"{name}.skops").prevalence(X) < 1.0
        watched = ("--target", "outcome", "--state", tmp_path / f"{name}.json")
        assert run("monitor", tmp_path / f"{name}.skops", later, *watched)[0] in (0, ALARM)


@pytest.mark.slow
def test_rows_without_a_label_are_not_tuned_on(ok, model, customers, tmp_path):
    some = customers["outcome"].where(customers.index % 3 > 0, None)
    customers.assign(outcome=some).to_csv(tmp_path / "some.csv", index=False)
    text = ok("monitor", model, tmp_path / "some.csv", "--target", "outcome", "--retune", tmp_path / "r.skops")
    assert "tuned on 160 labelled rows" in text


# ---------------------------------------------------------------- csf.load


def test_csf_load_says_what_python_expects(tmp_path):
    with pytest.raises(FileNotFoundError):
        csf.load(tmp_path / "none.skops")
    (tmp_path / "other.skops").write_bytes(b"PK")
    with pytest.raises(ValueError, match="is not a model saved by csf search --save"):
        csf.load(tmp_path / "other.skops")
    save_model(
        tmp_path / "m.skops",
        paper_search(make_pipeline(FunctionTransformer(np.savetxt), LinearSVC(dual=False))),
        FEATURES,
    )
    with pytest.raises(ValueError, match=r"If you know where .* name them in trust= of csf\.load"):
        csf.load(tmp_path / "m.skops")
    assert csf.load(tmp_path / "m.skops", trust=["numpy.savetxt"]).metric == "f1"


LABELLED = make_classification(240, 6, weights=[0.7], random_state=0)
SEVERAL = make_classification(240, 6, n_classes=3, n_informative=4, random_state=0)
OPTIONS = {"n_trials": 2, "param_grid": None, "cv": 2, "random_state": 0}
COSTS = {"fn_cost": 5.0, "fp_cost": np.linspace(1.0, 2.0, 240)}
KINDS = {
    "two classes": (lambda: CostSearch(LogisticRegression(), **OPTIONS), *LABELLED, {}),
    "margins": (lambda: CostSearch(LinearSVC(), "gmean", strategy="cone", **OPTIONS), *LABELLED, {}),
    "own decisions": (lambda: CostSearch(LogisticRegression(), threshold=None, **OPTIONS), *LABELLED, {}),
    "neighbours": (lambda: CostSearch(KNeighborsClassifier(), **OPTIONS), *LABELLED, {}),
    "neighbours by balls": (
        lambda: CostSearch(KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"), **OPTIONS),
        *(*LABELLED, {}),
    ),
    "models": (
        lambda: CostSearch([LogisticRegression(), KNeighborsClassifier()], **OPTIONS | {"param_grid": "auto"}),
        *(*LABELLED, {}),
    ),
    "constraint": (
        lambda: CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.3", confidence=0.8, **OPTIONS),
        *(*LABELLED, {}),
    ),
    "review": (lambda: CostSearch(LogisticRegression(), review=Review(at_most=0.1), **OPTIONS), *LABELLED, {}),
    "mean of folds": (lambda: CostSearch(LogisticRegression(), refit="folds", **OPTIONS), *LABELLED, {}),
    "prefit": (lambda: CostSearch(LogisticRegression().fit(*LABELLED), cv="prefit"), *LABELLED, {}),
    "null class": (lambda: CostSearch(LogisticRegression(), null_class=0, **OPTIONS), *SEVERAL, {}),
    "classes": (lambda: CostSearch(LogisticRegression(), "f1_macro", **OPTIONS), *SEVERAL, {}),
    "classes by margins": (lambda: CostSearch(LinearSVC(), "mcc", **OPTIONS), *SEVERAL, {}),
    "cost matrix": (lambda: CostSearch(LogisticRegression(), CostMatrix(1 - np.eye(3)), **OPTIONS), *SEVERAL, {}),
    "costs of rows": (lambda: CostSearch(LogisticRegression(), "savings", **OPTIONS), *LABELLED, COSTS),
    "weights": (
        lambda: CostSearch(LogisticRegression(), **OPTIONS),
        *(*LABELLED, {"sample_weight": np.arange(240) % 3 + 1.0}),
    ),
    **{
        f"labels, {mean}": (
            lambda mean=mean: CostSearch(LogisticRegression(), f"f1_{mean}", **OPTIONS),
            *(LABELLED[0], np.column_stack([LABELLED[1], 1 - LABELLED[1]]), {}),
        )
        for mean in ("macro", "micro", "samples")
    },
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_search_is_loaded_without_trust(name, tmp_path):
    make, X, y, given = KINDS[name]
    search, path = make().fit(X, y, **given), tmp_path / "m.skops"
    save_model(path, search, FeatureColumns("dense", 6))
    assert required_trust(path) == []
    loaded = csf.load(path)
    costs = {cost: value for cost, value in given.items() if cost in COSTS}
    np.testing.assert_array_equal(loaded.predict(X, **costs), search.predict(X, **costs))
    if name not in ("labels, micro", "labels, samples"):
        assert loaded.score_interval_ == search.score_interval_
    save_model(path, loaded, FeatureColumns("dense", 6))  # and once more
    np.testing.assert_array_equal(csf.load(path).predict(X, **costs), search.predict(X, **costs))


@pytest.mark.parametrize(
    "name",
    [
        *("csf._common.files.write_json", "csf.evaluate.assessment.assess", "csf.cli.main", "csf.data.folds.np"),
        *("csf.search.no_such.Thing", "csf.report.page.Comparison", "csfx.search.Study"),
        *("csf.search.study.Study.save", "csf.monitoring.os", "builtins.eval", "csf"),
        *("csf.thresholding.label_rule.OneVsRestClassifier", "csf.search.estimator.Path"),
    ],
)
def test_functions_and_what_is_no_class_of_results_need_trust(name):
    """Also packages that write files, and classes of others that a module of csf imports."""
    assert not _is_trusted(name)


@pytest.mark.parametrize("name", ["csf.search.problems.multilabel.MultilabelRule", "csf.search.CostSearch"])
def test_a_class_is_read_by_the_name_of_a_module_that_imports_it(name):
    """Files of an older csf name the module where it was."""
    assert _is_trusted(name)


def test_classes_that_are_trusted_run_nothing_when_they_are_read():
    """Reading sets attributes, unless a class says otherwise: those that do are known here."""
    known, odd = {"Bunch", "Cause", "EntryStore", "ErrorProfile", "FittedSearch", "Hull", "Trial"}, set()
    for package in _HOLDING:
        folder = import_module(package.removesuffix("."))
        inner = pkgutil.walk_packages(getattr(folder, "__path__", []), package)
        for name in [folder.__name__, *(info.name for info in inner)]:
            for kind in vars(import_module(name)).values():
                if isinstance(kind, type) and _is_trusted(f"{kind.__module__}.{kind.__qualname__}"):
                    odd |= {kind.__name__ for special in ("__setstate__", "__reduce__") if special in vars(kind)}
    assert odd <= known


def test_alerts_of_which_at_most_a_share_is_wrong(ok, model, table, customers, tmp_path):
    search, _ = load_model(model)
    X = customers[["age", "city", "smoker", "member"]].astype({"member": str, "city": object, "smoker": object})
    rows = read(ok("predict", model, table, "--wrong-at-most", "0.4", "--at-most", 9))
    expected = search.predict(X, at_most=9, wrong_at_most=0.4)
    assert [row["prediction"] for row in rows] == expected.tolist()
    said = ok("predict", model, table, "--wrong-at-most", "0.4", "-o", tmp_path / "alerts.csv")
    assert "on average over such batches at most 40 % of the alerts are wrong, whatever the share of positives" in said
