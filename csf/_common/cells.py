"""Cells of CSV files that spreadsheets show as they are."""

from __future__ import annotations

__all__ = ["cell"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: object) -> object:
    """A value for a CSV file; a text that a spreadsheet would run as a formula gets an apostrophe in front.

    Parameters
    ----------
    value : object
        Number or text.

    Returns
    -------
    object
        The value; only texts change, and among them no numerals.

    Examples
    --------
    >>> cell("=1+1"), cell("-x"), cell("-1"), cell(-1), cell("a=b")
    ("'=1+1", "'-x", '-1', -1, 'a=b')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
