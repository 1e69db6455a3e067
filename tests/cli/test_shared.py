"""Tables of the terminal, and errors that users can correct."""

import math
import sys

import pytest

from csf.cli.shared import CliError, format_mean, format_number, format_table, require


def test_columns_are_as_wide_as_their_widest_cell():
    lines = format_table(["a", "bb"], [["x", "1"], ["long", "22.5"]]).splitlines()
    assert lines == ["| a    |   bb |", "|------|-----:|", "| x    |    1 |", "| long | 22.5 |"]


def test_the_number_of_text_columns_can_be_chosen():
    assert format_table(["a", "b"], [["x", "yy"]], left=2).splitlines() == ["| a | b  |", "|---|----|", "| x | yy |"]


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        format_table(["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345, "0.1235"), (None, "-"), (math.nan, "-"), (math.inf, "inf"), (-math.inf, "-inf")]
)
def test_numbers(value, text):
    assert format_number(value) == text


def test_a_spread_that_is_not_known_is_left_out():
    assert format_mean(0.5, math.nan) == "0.5000"
    assert format_mean(0.5, 0.25, "+.2f") == "+0.50 ± 0.25"


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    for name in ("skops", "skops.io"):  # whoever came before may have imported it
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CliError, match=r"^saving a model needs skops: pip install 'csf-search\[cli\]'$"):
        require("skops.io", "saving a model")
