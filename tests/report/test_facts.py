"""Summaries, pages and the command line show the same facts, in the same words."""

from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
from builders_of_reports import fitted, page_of

from csf.cli.search import _about
from csf.report.facts import Table, TableColumn, Unit
from csf.report.held_out import held_out
from csf.report.kinds import facts_of


def flat(text):
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "three", "labels", "classes", "infeasible", "prefit"])
def test_a_fact_has_the_same_words_wherever_it_is_shown(kind, tmp_path):
    search, *_ = fitted(kind)
    facts = facts_of(search)
    search.report(tmp_path / "r.html")
    page, summary = flat(page_of(tmp_path / "r.html")[1]), flat(str(search.summary()))
    command = flat(_about(facts, SimpleNamespace(options=Namespace(time_limit=None))))
    for number, what in facts.numbers:
        for shown in (page, summary):
            assert f"{number} {what}" in shown
        assert f"{number} {what.partition(', of ')[0]}" in command
    for shown in (page, summary, command):
        assert facts.gets in shown
    for name, text in facts.details:
        assert f"{name} {text}" in page
        assert f"{name}: {text}" in command
    for kept in facts.demands:
        assert str(facts.demanded(kept)) in page
        assert str(facts.demanded(kept)) in command


def test_held_out_data_replace_the_estimates_and_keep_the_rest():
    search, X, y = fitted("plain")
    alone, judged = facts_of(search), facts_of(search, held_out(search, X, y, None, {"never": np.zeros_like(y)}))
    assert [each.name for each in alone.estimates] == ["cross-validated", "out-of-fold"]
    assert [each.name for each in judged.estimates] == ["held-out", "cross-validated", "out-of-fold"]
    assert alone.expected == judged.expected
    assert judged.numbers[0] == (f"{search.score(X, y):.3f}", "f1 on 200 held-out samples")
    assert judged.comparison == (f"{search.score(X, y):+.3f}", judged.comparison.what)
    assert (alone.winner, alone.stands_for, alone.record) == (judged.winner, judged.stands_for, judged.record)


@pytest.mark.parametrize(
    ("unit", "values", "shown"),
    [
        (Unit("f1"), (0.12345,), "0.123"),
        (Unit("f1"), (0.1, 0.2), "0.100 to 0.200"),
        (Unit("saved", 100.0, ".1f", " %"), (-0.02, 0.105), "-2.0 to 10.5 %"),
        (Unit("cost", -1.0), (-0.3, -0.1), "0.100 to 0.300"),
        (Unit("f1"), (np.nan, np.nan), "–"),
        (Unit("f1"), (np.nan,), "–"),
    ],
)
def test_values_are_shown_in_their_units(unit, values, shown):
    assert unit.shown(*values) == shown


def test_rows_of_a_table_carry_the_formats_of_its_columns():
    table = Table("what", [TableColumn("name", ["a", "b"]), TableColumn("f1", [0.5, None], ".3f")])
    assert table.rows == [[("a", ""), (0.5, ".3f")], [("b", ""), (None, ".3f")]]
