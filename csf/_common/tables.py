"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["markdown_table", "table_line"]


def table_line(cells: Iterable[str]) -> str:
    """One line of a table.

    Parameters
    ----------
    cells : iterable of str
        Texts.

    Returns
    -------
    str
        The line, without a line break.

    Examples
    --------
    >>> table_line(["a", "b"])
    '| a | b |'
    """
    return f"| {' | '.join(cells)} |"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table whose first column holds names and whose others hold numbers.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        Cells.

    Returns
    -------
    str
        Lines without a line break at the end.

    Examples
    --------
    >>> print(markdown_table(["method", "f1"], [["grid", "0.5"]]))
    | method | f1 |
    | --- | ---: |
    | grid | 0.5 |
    """
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(table_line(cells) for cells in [header, rule, *rows])
