"""Cells of CSV files: texts that a spreadsheet would run, and numbers that stay numbers."""

import math

import pytest

from csf._common.cells import cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "- 1 2"])
def test_formulas_get_an_apostrophe(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a", "a=b", "", "-1", "+1.5", "-1e-3", -1, -0.5, 3, True, None, -math.inf, "'=1"])
def test_everything_else_is_left_as_it_is(value):
    assert cell(value) == value
    assert type(cell(value)) is type(value)
