"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["markdown_table", "table_line"]


def table_line(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table whose first column holds names and whose others hold numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(table_line(cells) for cells in [header, rule, *rows])
