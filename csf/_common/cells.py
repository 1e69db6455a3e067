"""Cells of CSV files that spreadsheets show as they are."""

from __future__ import annotations

__all__ = ["cell"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: object) -> object:
    """A value for a CSV file; text that a spreadsheet would run as a formula, no numeral, gets an apostrophe."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
