"""Columns that were probably meant to be something else are pointed out; others are not."""

import warnings

import numpy as np
import pytest

from csf.cli.data import ReadOptions
from csf.cli.data.columns import warn_of_columns
from csf.cli.data.table import read_labelled

pandas = pytest.importorskip("pandas")
N = 100
DAYS = pandas.date_range("2024-01-01", periods=N)


def said_of(column, categorical=True):
    frame = pandas.DataFrame({"day": column})
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        warn_of_columns(frame, ["day"] if categorical else [])
    return [str(warning.message) for warning in met]


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d",
        "%d.%m.%Y",
        "%m/%d/%y",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%d %b %Y",
        "%d-%B-%Y",
        "%B %d, %Y",
    ],
)
def test_dates_are_pointed_out(form):
    (said,) = said_of(DAYS.strftime(form))
    assert said.startswith(
        f"column 'day' holds dates or times, such as {DAYS[0].strftime(form)!r}, and each of the 100"
    )
    assert said.endswith("leave it out with --drop 'day'")


def test_times_and_few_dates_are_pointed_out_too():
    assert "holds dates or times, such as '10:00'" in said_of(["10:00", "11:30", None, "12:00"])[0]
    assert "holds dates" in said_of(["2024-01-01", "2024-01-02"] * 50)[0]


@pytest.mark.parametrize(
    ("texts", "odd"),
    [
        ([*(f"{x:.2f}" for x in np.linspace(0, 1, 90)), *["unknown"] * 10], "'unknown'"),
        ([f"{x:.2f}".replace(".", ",") for x in np.linspace(0, 1, N)], "'0,00'"),
        ([f"${1000 * x:,}" for x in range(1, N)], r"'$1,000'"),
        ([f"{x} %" for x in range(N)], "'0 %'"),
    ],
)
def test_numbers_among_texts_are_pointed_out(texts, odd):
    (said,) = said_of(texts)
    assert said.startswith(f"column 'day' looks like numbers, but {odd} is none, and each of the ")


@pytest.mark.parametrize("column", [[1.0] * 5, ["a"] * 5, [None] * 5, [True] * 5])
def test_columns_that_say_nothing_are_pointed_out(column):
    (said,) = said_of(column, categorical=isinstance(column[0], str))
    reason = "holds the same in every row, which carries no information"
    assert said == f"the column 'day' {reason}; leave it out with --drop"


@pytest.mark.parametrize(
    "column",
    [
        ["yes", "no"] * 50,
        ["1", "2", "3+"] * 30,
        ["18-25", "26-35", "36-50"] * 30,
        ["True", "False"] * 50,
        ["May", "June", "July"] * 30,
        ["1.2.3", "1.2.4"] * 20,
        [f"town {i % 30}" for i in range(N)],
    ],
)
def test_ordinary_categories_are_not(column):
    assert said_of(column) == []


def test_a_file_with_dates(tmp_path):
    rows = "".join(f"{i % 7},{day:%Y-%m-%d},{i % 2}\n" for i, day in enumerate(DAYS))
    (tmp_path / "data.csv").write_text(f"a,day,y\n{rows}", encoding="utf-8")
    with pytest.warns(UserWarning, match=r"column 'day' holds dates or times, such as '2024-01-01'.*--drop 'day'"):
        read_labelled(str(tmp_path / "data.csv"), ReadOptions("y"))
