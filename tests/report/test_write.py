"""Reports as files: complete, self-contained, and nothing that is shown can break them."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from builders import paper_search
from builders_of_reports import EVIL, KINDS, data, fitted, page_of
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import get_constraint, get_metric
from csf.report import write_report
from csf.report.held_out import judge, one_problem
from csf.report.page import check_page, templates
from csf.report.search import _estimates


def write(kind, path):
    """All that a page can hold."""
    search, X, y = fitted(kind)
    search.report(path, X, y, rivals={EVIL: y}, title=EVIL, facts={"Data": f'"{EVIL}".csv'})


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


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_search_writes_the_same_page(kind, written, tmp_path):
    write(kind, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == written(kind).read_bytes()


def test_the_winner_is_told_with_its_numbers(tmp_path):
    search, X, y = fitted("plain")
    search.report(tmp_path / "r.html", X, y, rivals={"everything": np.ones_like(y)})
    _, words, _ = page_of(tmp_path / "r.html")
    assert f"{search.score(X, y):.3f}  f1, held-out" in words
    assert f"{search.best_score_:.3f}" in words
    assert "this search is ahead by" in words
    assert "trials leave f1 up to" in words
    assert "at most" not in words


def test_without_data_the_page_says_what_is_missing(tmp_path):
    search, _, _ = fitted("plain")
    search.report(tmp_path / "r.html")
    _, words, _ = page_of(tmp_path / "r.html")
    assert "report(path, X_test, y_test)" in words
    assert "Confusion matrix" not in words


def test_an_infeasible_constraint_is_called_that(tmp_path):
    search, X, y = fitted("infeasible")
    search.report(tmp_path / "r.html", X, y)
    _, words, _ = page_of(tmp_path / "r.html")
    assert "Does not satisfy precision >= 1." in words
    assert "Loosen the constraint" in words


def test_failed_trials_are_counted_with_their_cause(tmp_path):
    search, X, y = fitted("failed")
    search.report(tmp_path / "r.html", X, y)
    _, words, _ = page_of(tmp_path / "r.html")
    failed = sum(trial.state == "failed" for trial in search.trials_)
    assert failed
    assert f"{failed} of {search.n_trials_} trials failed" in words
    assert f"ValueError: no {EVIL} today" in words


def test_corrected_scores_and_intervals_are_shown_where_they_are_known():
    known = SimpleNamespace(best_score_=0.5, n_trials_=3)
    assert [row[:3] for row in _estimates(known, None)] == [("out-of-fold", 0.5, "")]
    known.corrected_score_, known.score_interval_ = 0.4321, (0.1112, 0.9998)
    assert _estimates(known, None)[0][:3] == ("cross-validated", 0.4321, "0.111 to 1.000")
    known.corrected_score_ = float("nan")
    assert len(_estimates(known, None)) == 1


def rows_of(path, caption):
    """Texts of the cells of a table, by rows."""
    text = path.read_text(encoding="utf-8")
    table = re.search(rf"<caption>{caption}.*?</caption>(.*?)</table>", text, re.S)[1]
    rows = re.findall(r"<tr.*?>(.*?)</tr>", table, re.S)
    return [
        [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.S)]
        for row in rows
    ]


@pytest.mark.parametrize("positive", ["ant", "zebra"])
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


def test_the_winner_is_the_first_trial_with_the_threshold_in_use(tmp_path):
    X, y = data()[:2]
    search = CostSearch(LinearSVC(), param_grid=None, cv=3, random_state=0).fit(X, y)
    assert search.best_threshold_ != search.trials_[search.best_index_].threshold
    search.report(tmp_path / "r.html")
    head, first, *_ = rows_of(tmp_path / "r.html", "6 of 6 trials")
    shown = dict(zip(head, first))
    assert (shown["trial"], shown["state"]) == (str(search.best_index_), "winner")
    assert shown["threshold"] == f"{search.best_threshold_:.4g}"
    assert shown["f1 at threshold"] == f"{search.best_score_:.3f}"
    assert f"from a score of {search.best_threshold_:.4g} on" in page_of(tmp_path / "r.html")[1]


def test_a_missing_template_engine_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    templates.cache_clear()
    with pytest.raises(ImportError, match="jinja2, which is not installed: pip install jinja2"):
        fitted("plain")[0].report(tmp_path / "r.html")


def test_what_cannot_be_reported_is_refused(tmp_path):
    search, X, y = fitted("plain")
    path = tmp_path / "r.html"
    with pytest.raises(NotFittedError):
        paper_search(LinearSVC()).report(path)
    with pytest.raises(TypeError, match=r"csf\.CostSearch or csf\.MacroCostSearch, got LinearSVC"):
        write_report(LinearSVC(), path)
    with pytest.raises(ValueError, match="X and y together"):
        search.report(path, X)
    with pytest.raises(ValueError, match="belong to held-out data"):
        search.report(path, rivals={"a": y})
    with pytest.raises(ValueError, match=r"y holds the labels \[0, 7\]"):
        search.report(path, X, np.where(y == 1, 7, 0))
    with pytest.raises(ValueError, match=r"rivals\['a'\] must be the labels .* of shape \(200,\)"):
        search.report(path, X, y, rivals={"a": y[:-1]})
    assert not path.exists()


@pytest.mark.parametrize("name", ["x.pdf", "report.HTML.txt", "x.json"])
def test_a_name_of_another_format_is_refused(name, tmp_path):
    search, _, _ = fitted(KINDS[0])
    with pytest.raises(ValueError, match=r"ends in '\.\w+'; give a name such as 'report.html'"):
        search.report(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.html", "x.HTM", "x"])
def test_names_of_pages(name, tmp_path):
    check_page(tmp_path / name)


def test_by_how_much_each_one_misses_the_constraint():
    truth = np.repeat([1, 0], [10, 30])
    answers = {"own": truth, "all": np.ones(40, int)}
    own, rival = judge(get_metric("recall"), one_problem(0), truth, answers, None, get_constraint("precision >= 0.75"))
    assert own.misses == 0.0
    assert rival.misses == pytest.approx(0.5)
    assert judge(get_metric("recall"), one_problem(0), truth, answers)[1].misses == 0.0
