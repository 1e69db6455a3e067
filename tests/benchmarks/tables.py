"""Tables of measurements, printed while they grow."""

__all__ = ["markdown", "print_table"]


def _cell(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _lines(rows, cell):
    """Lines of a table of dicts with the same keys, one by one."""
    for number, row in enumerate(rows):
        if number == 0:
            yield _line(row)
            yield _line(["---"] * len(row))
        yield _line(map(cell, row.values()))


def _line(cells):
    return f"| {' | '.join(cells)} |"


def markdown(rows, cell=_cell):
    """Markdown table of dicts with the same keys."""
    return "\n".join(_lines(rows, cell))


def print_table(rows, cell=_cell):
    """Print a Markdown table, each line as soon as it is known, and an empty line."""
    for line in _lines(rows, cell):
        print(line, flush=True)
    print()
