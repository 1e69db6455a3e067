"""Aligned tables for a terminal, readable as Markdown too."""

from __future__ import annotations

import math
from collections.abc import Sequence

from csf._common.tables import table_line

__all__ = ["format_mean", "format_number", "format_table"]


def format_number(value: float | None, spec: str = ".4f") -> str:
    """A number as text; ``-`` where there is none.

    Parameters
    ----------
    value : float or None
        The number.
    spec : str, default=".4f"
        Format of a finite number.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> format_number(0.5), format_number(float("inf")), format_number(None)
    ('0.5000', 'inf', '-')
    """
    if value is None or math.isnan(value):
        return "-"
    return format(value, spec) if math.isfinite(value) else str(float(value))


def format_mean(mean: float, spread: float, spec: str = ".4f") -> str:
    """A mean and its spread, such as ``0.8125 ± 0.0312``.

    Parameters
    ----------
    mean, spread : float
        The numbers; a spread that is not known (NaN) is left out.
    spec : str, default=".4f"
        Format of the mean; the spread takes it without a sign.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> format_mean(0.01, 0.002, "+.3f")
    '+0.010 ± 0.002'
    """
    if math.isnan(spread):
        return format_number(mean, spec)
    return f"{format_number(mean, spec)} ± {format_number(spread, spec.lstrip('+'))}"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Table with aligned columns and a rule below the header.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence of str
        Cells.
    left : int, default=1
        Number of columns, from the left, that are aligned to the left; the others hold numbers.

    Returns
    -------
    str
        Lines without a line break at the end.

    Examples
    --------
    >>> print(format_table(["method", "f1"], [["base as it is", "0.5"]]))
    | method        |  f1 |
    |---------------|----:|
    | base as it is | 0.5 |
    """
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        padded = (
            cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(zip(cells, widths))
        )
        return table_line(padded)

    rule = "|".join("-" * (width + 2) if at < left else "-" * (width + 1) + ":" for at, width in enumerate(widths))
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])
