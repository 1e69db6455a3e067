"""Aligned tables for a terminal, readable as Markdown too."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["format_mean", "format_number", "format_table"]


def format_number(value: float | None, spec: str = ".4f") -> str:
    """A number as text; ``-`` where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return format(value, spec) if math.isfinite(value) else str(float(value))


def format_mean(mean: float, spread: float, spec: str = ".4f") -> str:
    """A mean and its spread, such as ``0.8125 ± 0.0312``; a spread that is not known (NaN) is left out."""
    if math.isnan(spread):
        return format_number(mean, spec)
    return f"{format_number(mean, spec)} ± {format_number(spread, spec.lstrip('+'))}"


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Table with aligned columns; all but the ``left`` first ones hold numbers, which stand at the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]

    def line(cells):
        padded = (
            cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in enumerate(zip(cells, widths))
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (width + 2) if at < left else "-" * (width + 1) + ":" for at, width in enumerate(widths))
    return "\n".join([line(header), f"|{rule}|", *map(line, rows)])
