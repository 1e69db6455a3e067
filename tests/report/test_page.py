"""Pages: complete, self-contained, the numbers of the search, and nothing that is shown can break them."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from builders import paper_search
from builders_of_kinds import KINDS as BY_KIND
from builders_of_kinds import samples_of, search_of
from builders_of_reports import EVIL, KINDS, data, fitted, page_of
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.metrics import Column, Review, RowCosts, get_confusion_metric
from csf.plots import ConeDisplay, ProgressDisplay, ThresholdCurveDisplay
from csf.report import Comparison, write_comparison, write_report
from csf.report.checks import findings
from csf.report.facts import Facts
from csf.report.held_out import ClassJudge, HeldOut, confusion, held_out, matrix_of
from csf.report.kinds import facts_of
from csf.report.page import check_page, templates
from csf.thresholding import ClassProbabilityRule


def write(kind, path):
    """All that a page can hold."""
    search, X, y = fitted(kind)
    search.report(path, X, y, rivals={EVIL: y}, title=EVIL, facts={"Data": f'"{EVIL}".csv'})


def slow(kind):
    """What CI does of other kinds too."""
    return pytest.param(kind, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Function that gives the page of a kind of search, written once."""
    folder = tmp_path_factory.mktemp("pages")

    def path_of(kind):
        path = folder / f"{kind}.html"
        if not path.exists():
            write(kind, path)
        return path

    return path_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_holds_all_that_it_shows_and_loads_nothing(kind, written):
    text, words, reader = page_of(written(kind))
    assert len(text) < 3_000_000
    assert (reader.loaded, reader.handlers, reader.scripts) == ([], [], 1)
    assert len(set(reader.ids)) == len(reader.ids)
    assert "http://" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)
    assert EVIL in words
    assert "Settings and data" in words
    assert "nan" not in re.sub(r"\b\w*nan\w+|\w+nan\b", "", words.lower().replace("error_score nan", ""))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind if kind in ("plain", "labels") else slow(kind) for kind in KINDS])
def test_the_same_search_writes_the_same_page(kind, written, tmp_path):
    write(kind, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == written(kind).read_bytes()


@pytest.mark.slow
def test_the_winner_is_told_with_its_numbers(tmp_path):
    search, X, y = fitted("plain")
    search.report(tmp_path / "r.html", X, y, rivals={"everything": np.ones_like(y)})
    _, words, _ = page_of(tmp_path / "r.html")
    assert f"{search.score(X, y):.3f}   f1 on {len(y)} held-out samples" in words
    assert f"{search.best_score_:.3f}" in words
    assert "this search is ahead by" in words
    assert f"+{search.gap_:.3f} at most, with other class weights" in words
    assert f"{search.upper_bound_:.3f} upper bound of f1" in words


@pytest.mark.slow
def test_without_data_the_page_says_what_is_missing(tmp_path):
    search, _, _ = fitted("plain")
    search.report(tmp_path / "r.html")
    _, words, _ = page_of(tmp_path / "r.html")
    assert "report(path, X_test, y_test)" in words
    assert "Confusion matrix" not in words


@pytest.mark.slow
def test_an_infeasible_constraint_is_called_that(written):
    _, words, _ = page_of(written("infeasible"))
    assert "Does not satisfy precision >= 1." in words
    assert "Loosen the constraint" in words


@pytest.mark.slow
def test_failed_trials_are_counted_with_their_cause(written):
    search, *_ = fitted("failed")
    _, words, _ = page_of(written("failed"))
    failed = sum(trial.state == "failed" for trial in search.trials_)
    assert failed
    assert f"{failed} of {search.n_trials_} trials failed" in words
    assert f"ValueError: no {EVIL} today" in words


def estimates_of(search):
    return Facts(search=search, winner="", template="", figures={}).estimates


def test_corrected_scores_and_intervals_are_shown_where_they_are_known():
    known = SimpleNamespace(best_score_=0.5, n_trials_=3)
    (only,) = estimates_of(known)
    assert (only.name, only.value) == ("out-of-fold", 0.5)
    known.corrected_score_, known.score_interval_ = 0.4321, (0.1112, 0.9998)
    first = estimates_of(known)[0]
    assert (first.name, first.value, first.interval) == ("cross-validated", 0.4321, (0.1112, 0.9998))
    known.corrected_score_ = float("nan")
    assert len(estimates_of(known)) == 1


def rows_of(path, caption):
    """Texts of the cells of a table, by rows."""
    text = path.read_text(encoding="utf-8")
    table = re.search(rf"<caption>{caption}.*?</caption>(.*?)</table>", text, re.S)[1]
    rows = re.findall(r"<tr.*?>(.*?)</tr>", table, re.S)
    return [
        [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.S)]
        for row in rows
    ]


@pytest.mark.slow
@pytest.mark.parametrize("positive", ["ant", slow("zebra")])
def test_the_positive_class_is_last_whatever_it_is_called(positive, tmp_path):
    """Rows are true and columns predicted classes."""
    base, X, y = fitted("plain")
    names = np.array(["bee", positive])
    search = paper_search(base.base, param_grid=None, n_trials=1, cv=3, pos_label=positive).fit(X[:150], names[y[:150]])
    search.report(tmp_path / "r.html", X, names[y])
    head, *rows = rows_of(tmp_path / "r.html", "Confusion matrix")
    assert head[1:] == ["bee", positive]
    counts = [[int(cell.partition(" ")[0]) for cell in row[1:]] for row in rows]
    np.testing.assert_array_equal(counts, confusion_matrix(names[y], search.predict(X), labels=["bee", positive]))


@pytest.mark.slow
def test_trials_are_shown_by_one_measure_the_winner_first(tmp_path):
    X, y = data()[:2]
    search = CostSearch(LinearSVC(), param_grid=None, cv=3, random_state=0).fit(X, y)
    trial = search.trials_[search.best_index_]
    assert search.best_threshold_ != trial.threshold
    search.report(tmp_path / "r.html")
    head, first, *_ = rows_of(tmp_path / "r.html", "6 of 6 trials")
    shown = dict(zip(head, first))
    assert (shown["trial"], shown["state"]) == (str(search.best_index_), "winner")
    assert shown["threshold"] == f"{trial.threshold:.4g}"
    assert shown["tuned f1"] == f"{trial.score:.4f}"
    assert f"if the score is at least {search.best_threshold_:.4g}" in page_of(tmp_path / "r.html")[1]


def test_a_missing_template_engine_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    templates.cache_clear()
    with pytest.raises(ImportError, match="jinja2, which is not installed: pip install jinja2"):
        fitted("labels")[0].report(tmp_path / "r.html")


def test_what_cannot_be_reported_is_refused(tmp_path):
    search, X, y = fitted("plain")
    labels, _, Y = fitted("labels")
    path = tmp_path / "r.html"
    with pytest.raises(NotFittedError):
        paper_search(LinearSVC()).report(path)
    with pytest.raises(TypeError, match=r"a fitted csf\.CostSearch, got LinearSVC"):
        write_report(LinearSVC(), path)
    for one, arguments, rivals, message in (
        (search, (X,), {}, "X and y together"),
        (search, (), {"a": y}, "belong to held-out data"),
        (search, (X, np.where(y == 1, 7, 0)), {}, r"y holds the labels \[0, 7\]"),
        (search, (X, y), {"a": y[:-1]}, r"rivals\['a'\] must be the labels .* of shape \(200,\)"),
        (labels, (X, Y[:, :2]), {}, "y must have a column for each of 3 labels, got 2"),
        (labels, (X, Y), {"a": Y[:, 0]}, r"rivals\['a'\] .* of shape \(200, 3\); got shape \(200,\)"),
        (labels, (X, Y), {"a": np.full(Y.shape, 0.4)}, r"'a' must predict 0 or 1 for each label, got 0\.4"),
    ):
        with pytest.raises(ValueError, match=message):
            one.report(path, *arguments, rivals=rivals)
    assert not path.exists()


@pytest.mark.parametrize("name", ["x.pdf", "report.HTML.txt", "x.json"])
def test_a_name_of_another_format_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"ends in '\.\w+'; give a name such as 'report.html'"):
        fitted(KINDS[0])[0].report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    for known in ("x.html", "x.HTM", "x"):
        check_page(tmp_path / known)


def test_a_folder_is_refused_before_the_work(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder; give a name such as 'report.html'"):
        check_page(tmp_path)


@pytest.fixture(scope="module")
def held():
    """A search, and held-out data with weights."""
    search, X, y = fitted("classes")
    weight = np.random.default_rng(0).integers(0, 4, y.size).astype(float)
    return search, held_out(search, X, y, weight, {"rare": np.full_like(y, 2)})


def test_the_page_tells_values_matrices_and_what_decides(tmp_path):
    search, X, y = fitted("classes")
    search.report(tmp_path / "r.html", X, y, rivals={"rare": np.full_like(y, 2)})
    _, words, _ = page_of(tmp_path / "r.html")
    low, high = search.score_interval_
    assert re.search(rf"cross-validated.*{search.corrected_score_:.3f}\s+{low:.3f} to {high:.3f}", words, re.S)
    assert f"{f1_score(y, search.predict(X), average='macro'):.3f}   f1_macro on {len(y)} held-out samples" in words
    assert "No upper bound is given" in words
    assert "rare" in words
    for count in confusion_matrix(y, search.predict(X)).ravel():
        assert f" {count} " in words or f" {count} (" in words


def test_matrices_and_scores_of_classes_are_those_of_scikit_learn(held):
    search, data = held
    matrix = confusion(search, data)
    y, predicted, weight = data.y, search.predict(data.X), data.weight
    counts = [[count for count, _, _ in row] for _, row in matrix.rows]
    np.testing.assert_allclose(counts, confusion_matrix(y, predicted, sample_weight=weight))
    options = {"average": None, "sample_weight": weight}
    expected = [score(y, predicted, **options) for score in (recall_score, precision_score, f1_score)]
    np.testing.assert_allclose([values for *_, values in matrix.scores], np.transpose(expected))
    out = np.array([[count for count, _, _ in row] for _, row in matrix_of(search, search.confusion_).rows])
    np.testing.assert_allclose(out.sum(axis=1) * search.class_count_.sum(), search.class_count_)
    assert get_confusion_metric("f1_macro").value(out / out.sum()) == pytest.approx(search.best_score_)
    columns = {column.title: column.values for column in facts_of(search).trial_columns}
    values = columns["rule" if search.rule_.kind == "affine" else "own f1_macro"]
    assert search.best_score_ == pytest.approx(values[search.best_index_])


def test_classifiers_are_judged_by_the_metric_of_the_matrix(held):
    search, data = held
    metric = get_confusion_metric("mcc")
    judge = ClassJudge(metric, None, search.classes_)
    own, rare = judge.judge(data)
    counts = confusion_matrix(data.y, data.answers["this search"], sample_weight=data.weight)
    assert own.value == pytest.approx(metric.value(counts / counts.sum()))
    assert own.interval[0] < own.value < own.interval[1]
    assert (rare.value, rare.difference) == (0.0, pytest.approx(own.value))
    low, high = rare.difference_interval
    # That the rival never predicts the other classes is not known.
    assert 0.0 < low < own.interval[0] < own.interval[1] < high
    (odd,) = judge.judge(HeldOut(None, data.y, None, {"odd": np.full_like(data.y, 7)}, []))
    assert odd.value == 0.0


def with_rule(rule, **attributes):
    search = fitted("classes")[0]
    other = CostSearch(search.base, search.metric)
    vars(other).update(vars(search) | {"rule_": rule} | attributes)
    return other


@pytest.mark.parametrize(
    ("rule", "words", "columns", "matrix"),
    [
        (ClassProbabilityRule.argmax(3), "its own decision", 1, False),
        (ClassProbabilityRule(np.ones(3), np.zeros(3)), "the largest a p − b", 3, False),
        (ClassProbabilityRule(np.ones(3), np.zeros(3), np.eye(3)), "the largest sum of G(j, k) p(j)", 1, True),
    ],
)
def test_what_decides_is_told_in_words_and_numbers(rule, words, columns, matrix, tmp_path):
    search = with_rule(rule)
    tables = facts_of(search).tables
    assert len(tables[0].columns) == 2 + columns
    assert (len(tables) == 2) == matrix
    search.report(tmp_path / "r.html")
    assert words in page_of(tmp_path / "r.html")[1]
    assert ("The matrix G" in page_of(tmp_path / "r.html")[1]) == matrix


def test_rare_classes_are_named():
    rare = with_rule(ClassProbabilityRule.argmax(3), class_count_=np.array([300, 24, 25]))
    found, unseen = findings(rare)
    assert (found.code, unseen.code) == ("CSF001", "CSF010")
    assert found.text.startswith("Fewer than 25 samples of “1”: ")
    assert findings(with_rule(ClassProbabilityRule.argmax(3)), mute=["CSF010"]) == []


@pytest.mark.parametrize("display", [ConeDisplay, ProgressDisplay, ThresholdCurveDisplay])
def test_what_is_drawn_of_costs_and_cuts_says_what_there_is_instead(display):
    with pytest.raises(ValueError, match=r"ConfusionMatrixDisplay\(search\.confusion_"):
        display.from_estimator(fitted("classes")[0])


def test_every_label_is_told_with_its_value_interval_and_threshold(tmp_path):
    search, X, y = fitted("labels")
    search.report(tmp_path / "r.html", X, y, rivals={"everything": np.ones_like(y)})
    _, words, _ = page_of(tmp_path / "r.html")
    assert f"{search.score(X, y):.3f}   f1_macro on {len(y)} held-out samples" in words
    low, high = search.score_interval_
    assert re.search(rf"cross-validated.*{search.corrected_score_:.3f}\s+{low:.3f} to {high:.3f}", words, re.S)
    assert f"lowest for “{search.label_names_[search.best_scores_.argmin()]}”" in words
    heads, *rows = rows_of(tmp_path / "r.html", "The search of each label")
    for name, one, row in zip(search.label_names_, search.searches_, rows, strict=True):
        told = dict(zip(heads, row))
        low, high = one.score_interval_
        assert (told["label"], told["samples"]) == (name.replace("<", "&lt;").replace(">", "&gt;"), str(y_count(one)))
        assert told["f1, cross-validated"] == f"{one.corrected_score_:.3f}"
        assert told["90 % interval"] == f"{low:.3f} to {high:.3f}"
        assert (told["out-of-fold"], told["threshold"]) == (f"{one.best_score_:.3f}", f"{one.best_threshold_:.4g}")
    expected = [score(y, search.predict(X), average=None) for score in (recall_score, precision_score, f1_score)]
    shown = [row[5:] for row in rows_of(tmp_path / "r.html", "Each label, held-out data")[1:]]
    assert shown == [[f"{value:.3f}" for value in row] for row in np.transpose(expected)]
    assert re.search(rf"Trainings\s+{search.n_trials_ * search.n_splits_}\s", words)
    assert "everything" in words


@pytest.mark.parametrize("kind", ["labels micro", "labels samples"])
def test_labels_that_share_a_threshold_have_a_page(kind, tmp_path):
    search, (X, y) = search_of(kind), samples_of(kind)
    name, path = kind.replace("labels ", "f1_"), tmp_path / "r.html"
    search.report(path, X, y, rivals={"everything": np.ones_like(y)})
    _, words, reader = page_of(path)
    assert f"{search.score(X, y):.3f}   {name} on {len(y)} held-out samples" in words
    assert f"{search.corrected_score_:.3f}" in words
    assert f"{search.best_threshold_:.4g}" in words
    assert "of 3 labels" in words or "for 3 labels" in words
    assert (reader.loaded, reader.handlers, reader.scripts) == ([], [], 1)
    assert rows_of(path, f"{search.n_trials_} of {search.n_trials_} trials")
    check_labels_table(rows_of(path, "Each label, held-out data"), y, search.predict(X))
    search.report(path)
    _, words, _ = page_of(path)
    assert "report(path, X_test, y_test)" in words
    assert "No threshold curve" not in words


def test_the_table_out_of_fold_has_the_labels_in_the_order_of_the_target(tmp_path):
    X, y = samples_of("labels micro")
    folds = [(np.arange(120), np.arange(120, 240)), (np.arange(120, 240), np.arange(120))]
    tables = []
    for columns in ([0, 1, 2], [2, 0, 1]):
        names = np.array(["a", "b", "c"], dtype=object)[columns]
        target = pd.DataFrame(y[:, columns], columns=names)
        search = CostSearch(LogisticRegression(), "f1_micro", cv=folds, n_trials=2, param_grid=None).fit(X, target)
        search.report(tmp_path / "r.html")
        _, *rows = rows_of(tmp_path / "r.html", "Each label, out-of-fold, at the threshold in use")
        assert [row[0] for row in rows] == names.tolist()
        tables.append(sorted(rows))
    assert tables[0] == tables[1]
    assert [int(row[1]) for row in tables[0]] == y.sum(axis=0).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "rows", "classes", "labels", "labels micro"])
def test_searches_with_reviews_have_a_page(kind, tmp_path):
    base, metric, X, y, options = BY_KIND[kind]
    review = Review(cost=0.2, at_most=0.1)
    search = CostSearch(base, metric, review=review, n_trials=1, param_grid=None, cv=3, **options).fit(X, y)
    search.report(tmp_path / "r.html", X, y)
    _, words, _ = page_of(tmp_path / "r.html")
    if not kind.startswith("labels"):
        assert f"{search.review_.shares['review']:.1%} review" in words


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in BY_KIND if kind.endswith(("demand", "folds"))])
def test_searches_with_demands_and_means_of_folds_have_a_page(kind, tmp_path):
    search, (X, y) = search_of(kind), samples_of(kind)
    search.report(tmp_path / "r.html", X, y)
    assert f"{search.score(X, y):.3f}" in page_of(tmp_path / "r.html")[1] or kind.startswith("rows")


def check_labels_table(table, truth, found):
    """The rows of the table are those of scikit-learn."""
    heads, *rows = table
    assert heads == ["label", "samples", "share", "predicted", "share predicted", "recall", "precision", "F1"]
    measures = [
        score(truth, found, average=None, zero_division=0) for score in (recall_score, precision_score, f1_score)
    ]
    for at, row in enumerate(rows):
        n_true, n_found = truth[:, at].sum(), found[:, at].sum()
        assert row[1:5] == [str(n_true), f"{n_true / len(truth):.1%}", str(n_found), f"{n_found / len(truth):.1%}"]
        assert row[5:] == [f"{measure[at]:.3f}" for measure in measures]


def y_count(search):
    """Samples that have the label of a search."""
    return search.class_count_[search.classes_ == 1].item()


def test_checks_look_at_each_label_and_at_the_value_of_all():
    search, X, y = fitted("labels")
    of_all = [found for found in findings(search) if found.code == "CSF010"]
    assert len(of_all) == 1
    own = [found for one in search.searches_ for found in findings(one, mute=["CSF010"])]
    assert len(findings(search, mute=["CSF010"])) == len(own)
    named = [found for found in findings(search) if found.code == "CSF015"]
    assert all(found.text.split(": ")[0] in search.label_names_ for found in named)
    better = findings(search, held_out(search, X, y, None, {"truth": y}))
    assert "“truth” is better on these data" in " ".join(found.text for found in better)
    assert findings(search, mute=[found.code for found in findings(search)]) == []


@pytest.mark.slow
def test_weights_count_on_the_page_of_labels_in_any_container(tmp_path):
    search, X, y = fitted("labels")
    weight, path, pages = np.random.default_rng(0).integers(1, 4, len(X)).astype(float), tmp_path / "r.html", set()
    for kind in (np.asarray, sp.csr_array, lambda y: y.astype(bool), lambda y: y.tolist()):
        search.report(path, X, kind(y), sample_weight=weight, rivals={"all": kind(np.ones_like(y))})
        pages.add(path.read_bytes())
    assert len(pages) == 1
    assert f"{search.score(X, y, weight):.3f}   f1_macro on {len(y)} held-out samples" in page_of(path)[1]
    shown = [row[1] for row in rows_of(path, "Each label, held-out data, in sample weights")[1:]]
    assert shown == [f"{count:.6g}" for count in weight @ y]


def outcomes():
    a = Comparison("csf <i>", np.array([0.8, 0.9]), 0.1, 0.2, np.nan, 0.5)
    b = Comparison("plain", np.array([0.7, 0.8]), 0.0, 0.0, np.nan, 0.1)
    return [a, b]


def test_the_best_method_is_named_and_doubted(tmp_path):
    path = tmp_path / "c.html"
    options = {"metric_name": "f1", "facts": {"Data": "<x>"}, "notes": ["left out"]}
    write_comparison(path, outcomes(), reference="plain", **options)
    text = path.read_text(encoding="utf-8")
    assert "csf &lt;i&gt; has the highest mean f1 of 2 methods: 0.850" in text
    assert "less than two standard errors" in text
    assert "left out" in text
    assert "&lt;x&gt;" in text
    assert "constrained rate" not in text
    with pytest.raises(ValueError, match="reference must be a method of outcomes, got 'other'"):
        write_comparison(path, outcomes(), reference="other", **options)


@pytest.mark.slow
def test_of_several_models_the_page_tells_who_was_dropped(tmp_path):
    X, y = make_classification(400, 5, n_redundant=0, weights=[0.8], class_sep=2.0, flip_y=0.02, random_state=0)
    blind = make_pipeline(FunctionTransformer(np.zeros_like), DecisionTreeClassifier())
    search = CostSearch({"good": LogisticRegression(), "blind": blind}, random_state=0).fit(X, y)
    write_report(search, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "LogisticRegression with C = " in page
    assert "blind was dropped after 4 folds: f1 0." in page
    assert "good: LogisticRegression; blind: FunctionTransformer, DecisionTreeClassifier" in page
    n_good = sum(model == "good" for model in search.cv_results_["param_model"])
    assert re.search(f"Trainings</dt><dd>{8 * n_good + 4}<", page)


def urgent_classes():
    X, y, X_test, y_test = data(3)
    names = np.array(["later", "soon", "urgent"])
    return X, names[y], X_test, names[y_test]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "metric", "constraint", "shown"),
    [
        (
            lambda y: y,
            "f1_macro",
            "recall[urgent] >= 0.5, accuracy >= 0.3",
            "recall[urgent] out-of-fold: recall[urgent] >= 0.5 holds",
        ),
        (
            lambda y: np.column_stack([y != "later", y == "urgent"]).astype(int),
            "f1_macro",
            "recall >= 0.6",
            "recall[1] out-of-fold: recall[1] >= 0.6 holds",
        ),
        (
            lambda y: (y == "urgent").astype(int),
            RowCosts(fn=3.0, fp=Column(0)),
            "recall >= 0.6",
            "recall out-of-fold: recall >= 0.6 holds",
        ),
    ],
)
def test_constraints_and_reviews_of_each_kind_are_on_the_page(truth, metric, constraint, shown, tmp_path):
    X, y, X_test, y_test = urgent_classes()
    review = Review(cost=0.3, at_most=0.2)
    search = CostSearch(LogisticRegression(), metric, constraint=constraint, review=review, param_grid=None, cv=3)
    search.fit(np.abs(X), truth(y)).report(tmp_path / "r.html", np.abs(X_test), truth(y_test))
    _, said, _ = page_of(tmp_path / "r.html")
    said = " ".join(said.split())
    assert shown in said
    assert f"Under the constraint {constraint}" in said
    for worth in search.review_ if isinstance(search.review_, list) else [search.review_]:
        for answer, share in worth.shares.items():
            assert answer in said
            assert f"{share:.1%}" in said
    assert "% wrong)" in said


def test_certificates_of_labels_are_named(tmp_path):
    X, y, *_ = data()
    labels = np.column_stack([y, X[:, 0] > 0])
    search = CostSearch(LogisticRegression(), "f1_macro", constraint="recall >= 0.3", confidence=0.8, param_grid=None)
    search.set_params(cv=3, n_trials=1).fit(X, labels.astype(int)).report(tmp_path / "r.html")
    said = " ".join(page_of(tmp_path / "r.html")[1].split())
    for name, test in enumerate(search.guarantee_):
        assert test.confidence == pytest.approx(0.9)
        assert f"Certificate: {name}: {test}." in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two", "rows", "classes", "labels"])
def test_groups_can_be_seen(kind, tmp_path):
    base, metric, X, y, options = BY_KIND[kind]
    search = CostSearch(base, metric, n_trials=1, param_grid=None, cv=3, **options).fit(X, y)
    hospital = np.where(np.arange(len(y)) % 3 == 0, "north", "south")
    search.report(tmp_path / "r.html", X, y, groups=hospital)
    _, words, _ = page_of(tmp_path / "r.html")
    rows = np.flatnonzero(hospital == "north")
    value = search.score(X[rows] if isinstance(X, np.ndarray) else X.iloc[rows], y[rows])
    assert f"north {rows.size} {value:.3f}" in " ".join(words.split())
    search.report(tmp_path / "r.html", X, y, groups=np.arange(len(y)))
    assert "This search in each group" not in page_of(tmp_path / "r.html")[1]
