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
    """Markdown table of dicts with the same keys.

    Parameters
    ----------
    rows : iterable of dict
        Rows; the keys are the header.
    cell : callable, optional
        Text of a value; four digits of numbers by default.

    Returns
    -------
    str
        Lines without a line break at the end; empty without rows.

    Examples
    --------
    >>> print(markdown([{"set": "wine", "gap": 0.00012345}]))
    | set | gap |
    | --- | --- |
    | wine | 0.0001234 |
    """
    return "\n".join(_lines(rows, cell))


def print_table(rows, cell=_cell):
    """Print a Markdown table, each line as soon as it is known, and an empty line.

    Parameters
    ----------
    rows : iterable of dict
        As for `markdown`.
    cell : callable, optional
        As for `markdown`.
    """
    for line in _lines(rows, cell):
        print(line, flush=True)
    print()
