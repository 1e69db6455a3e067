"""JSON Lines: one object a line, whose keys are the columns."""

import json
import sys
from typing import Any

import numpy as np

from csf.cli.data.files import opened

__all__ = ["read_json_lines"]


def read_json_lines(pandas: Any, path: str, text: tuple[str, ...] = ()) -> Any:
    """File as a frame; a column of numbers and nulls holds floats, any other one the values as they are."""
    rows = []
    with opened(path, "rt", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                rows.append(_row(line, number))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pandas.DataFrame(
        {name: pandas.Series(_typed(values, name in text)) for name, values in columns.items()},
        index=range(len(rows)),
    )


def _row(line: str, number: int) -> dict[str, Any]:
    """Object of one line, checked."""
    try:
        row = json.loads(line, object_pairs_hook=_without_repetition)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None
    if not isinstance(row, dict):
        raise ValueError(f'line {number} holds {line.strip()[:40]}, not an object such as {{"age": 42}}')
    for name, value in row.items():
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise ValueError(f"line {number}: {name!r} holds a number too large for 64 bits; write it as a text")
        if isinstance(value, dict | list):
            raise ValueError(
                f"line {number}: {name!r} holds {json.dumps(value)[:40]}; accepted: numbers, texts, true, false and "
                "null. Give nested values columns of their own"
            )
    return row


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return row


def _typed(values: list[Any], as_text: bool) -> np.ndarray:
    """Integers that fit, else floats where every value is a number or missing; booleans; else objects."""
    present = [value for value in values if value is not None]
    if not as_text and present and all(isinstance(value, bool) for value in values):
        return np.array(values, dtype=bool)
    if not as_text and all(type(value) is int and abs(value) < 1 << 63 for value in values):
        return np.array(values, dtype=np.int64)
    if not as_text and all(map(_is_number, present)):
        return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
