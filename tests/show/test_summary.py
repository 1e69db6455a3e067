"""Summaries: three numbers and three sentences that are the search's, one verdict, nothing that contradicts it."""

import re

import numpy as np
import pytest
from builders_of_reports import EVIL, KINDS, fitted
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from csf import CostSearch
from csf.report import summarise
from csf.show.held_out import Judged, held_out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unseen", [False, True])
def test_a_summary_is_short_and_begins_with_the_value_to_expect(kind, unseen):
    search, X, y = fitted(kind)
    found = summarise(search, held_out(search, X, y, None, None)) if unseen else search.summary()
    lines = str(found).splitlines()
    assert len(lines) <= 14
    assert max(map(len, lines[len(found.numbers) :])) <= 100
    value = search.score(X, y) if unseen else search.corrected_score_
    assert found.numbers[0][0] == f"{value:.3f}"
    if not unseen:
        assert found.numbers[1][0] == "{:.3f} to {:.3f}".format(*search.score_interval_)
    assert len(found.numbers) == len(found.sentences) == 3
    assert [line.partition(":")[0] for line in lines if line.startswith(("What", "How"))] == [
        "What you get",
        "How sure it is",
        "What to do",
    ]


def test_the_third_number_is_what_matters_for_the_kind():
    plain, X, y = fitted("plain")
    assert plain.summary().numbers[2][0] == f"+{plain.gap_:.3f}"
    rivals = held_out(plain, X, y, None, {"ones": np.ones_like(y)})
    assert summarise(plain, rivals).numbers[2][0] == f"{rivals.judged[1].difference:+.3f}"
    missed = fitted("infeasible")[0]
    assert missed.summary().numbers[2][0] == f"{missed.constraint_value_:.3f}"


def test_there_is_one_verdict():
    """Who is told to take the simpler method is not told to search on, and what misses its constraint is not used."""
    search, X, y = fitted("plain")
    held = held_out(search, X, y, None, None)
    own = held.judged[0]
    equal = held._replace(judged=[own, Judged("plain", own.value, own.interval, 0.0, (-0.1, 0.1))])
    found = summarise(search, equal)
    assert found.sentences[2].startswith("Take the simpler method.")
    assert not {"CSF002", "CSF003"} & {each.code for each in found.findings}
    assert "More trials" not in str(found)
    worse = held._replace(judged=[own, Judged("plain", 0.1, (0.0, 0.2), 0.3, (0.2, 0.4))])
    assert summarise(search, worse).sentences[2].startswith("Use it.")
    assert fitted("infeasible")[0].summary().sentences[2].startswith("Do not use it as it is. No trial satisfies")


def test_what_is_printed_points_at_the_summary_and_what_is_repeated_does_not():
    search, *_ = fitted("plain")
    assert str(search).endswith("# fitted; search.summary() says what was found")
    assert "summary" not in repr(search)
    assert "summary" not in str(clone(search))
    with pytest.raises(NotFittedError):
        clone(search).summary()


def test_notebooks_show_the_summary_above_the_diagram():
    search, *_ = fitted("plain")
    page = search._repr_mimebundle_()["text/html"]
    assert page.startswith(search.summary()._repr_html_())
    assert f"{search.corrected_score_:.3f}" in page
    assert "What to do" not in clone(search)._repr_mimebundle_()["text/html"]


def test_names_are_no_markup():
    search, X, y = fitted("plain")
    names = np.array(["no", EVIL])
    named = CostSearch(search.base, param_grid=None, n_trials=1, cv=3, pos_label=EVIL).fit(X, names[y])
    assert not re.search("<script|<img", named.summary()._repr_html_())
