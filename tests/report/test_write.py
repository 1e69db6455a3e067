"""Reports as files: complete, self-contained, and nothing that is shown can break them."""

import re
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
from builders import paper_search
from builders_of_reports import EVIL, KINDS, fitted, page_of
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from csf.metrics import get_constraint, get_metric
from csf.report import write_report
from csf.report.advice import to_mind
from csf.report.facts import estimates
from csf.report.held_out import Judged, judge, one_problem
from csf.report.page import check_page
from csf.search.guarantee import Guarantee


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
    assert "What was asked" in words
    assert "nan" not in re.sub(r"\b\w*nan\w+|\w+nan\b", "", words.lower().replace("error_score nan", ""))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_search_writes_the_same_page(kind, written, tmp_path):
    write(kind, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == written(kind).read_bytes()


def test_the_winner_is_told_with_its_numbers(tmp_path):
    search, X, y = fitted("plain")
    search.report(tmp_path / "r.html", X, y, rivals={"everything": np.ones_like(y)})
    _, words, _ = page_of(tmp_path / "r.html")
    assert f"{search.best_score_:.3f} on samples that its folds had not learnt from" in words
    assert f"{search.score(X, y):.3f}" in words
    assert "this search is ahead by" in words
    assert "leaves room for f1 up to" in words
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
    assert "Infeasible" in words
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
    known = SimpleNamespace(metric="f1", best_score_=0.5)
    assert [value for _, value in estimates(known)] == ["0.500", None, None, None]
    known.corrected_score_, known.score_interval_ = 0.4321, (0.1112, 0.9998)
    known.threshold_interval_ = -0.5, 0.25
    assert [value for _, value in estimates(known)] == ["0.500", "0.432", "0.111 to 1.000", "-0.5 to 0.25"]
    known.corrected_score_, known.score_interval_ = float("nan"), (float("nan"), float("nan"))
    assert [value for _, value in estimates(known)][1:3] == [None, None]


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


@pytest.mark.parametrize(("missed", "promised"), [(False, False), (True, False), (False, True)])
def test_a_rival_that_keeps_less_is_not_said_to_be_better(missed, promised):
    """Like with like: who misses the constraint finds more, and who promises nothing is not what was asked for."""
    search, *_ = fitted(KINDS[0])
    search = copy(search)
    if promised:
        search.guarantee_ = Guarantee("precision >= 0.9", 0.9, True, 0.0, 0.05, {}, 10, 5, 1)
    own = Judged("this search", 0.5, (0.4, 0.6), 0.0, (0.0, 0.0))
    rival = Judged("plain", 0.7, (0.6, 0.8), -0.2, (-0.3, -0.1), 0.1 if missed else 0.0)
    text = " ".join(to_mind(search, [own, rival]))
    assert ("“plain” misses the constraint on these data, and is not compared." in text) == missed
    assert ("“plain” is better on these data by 0.200: take it." in text) == (not missed and not promised)
    assert ("take it if it promises precision >= 0.9 too, with confidence 0.9." in text) == promised


def test_by_how_much_each_one_misses_the_constraint():
    truth = np.repeat([1, 0], [10, 30])
    answers = {"own": truth, "all": np.ones(40, int)}
    own, rival = judge(get_metric("recall"), one_problem(0), truth, answers, None, get_constraint("precision >= 0.75"))
    assert own.misses == 0.0
    assert rival.misses == pytest.approx(0.5)
    assert judge(get_metric("recall"), one_problem(0), truth, answers)[1].misses == 0.0
