"""CSV files: a header of distinct names, and rows with as many fields as it has."""

from __future__ import annotations

import csv
from typing import Any

from csf._common.messages import warn
from csf.cli.data.files import first_line, opened

__all__ = ["read_csv"]

_SEPARATORS = ",;\t|"
_ENCODING = "utf-8-sig"
_EMPTY = ("", "?")
# What spreadsheets, databases and languages write for an entry that is missing. A class may be called so, too.
_ABSENT = (
    *("NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NULL", "null", "None", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)


def read_csv(pandas: Any, path: str, text: tuple[str, ...] = (), target: str | None = None) -> Any:
    """Frame of a file; columns hold numbers where every entry is one, unless named in ``text``.

    Texts such as ``NA`` mean that an entry is missing, except in a ``target`` of texts, where they are classes.
    """
    separator = max(_SEPARATORS, key=first_line(path).count)
    names = _checked_names(path, separator)
    frame = pandas.read_csv(
        path,
        sep=separator,
        header=0,
        names=names,
        # pandas would take the first column for the names of the rows wherever these are longer than the header.
        index_col=False,
        dtype=str,
        keep_default_na=False,
        na_values={name: _EMPTY if name == target else (*_EMPTY, *_ABSENT) for name in names},
        skipinitialspace=True,
        encoding=_ENCODING,
    )
    for name in frame.columns.difference(text):
        column = frame[name]
        try:
            frame[name] = pandas.to_numeric(column.mask(column.isin(_ABSENT)) if name == target else column)
        except (ValueError, TypeError):
            if name == target:
                _warn_of_classes(column)
    return frame


def _checked_names(path: str, separator: str) -> list[str]:
    """Names of the columns, after a check that they differ and that every row has as many fields."""
    with opened(path, "rt", encoding=_ENCODING, newline="") as file:
        rows = csv.reader(file, delimiter=separator, skipinitialspace=True)
        names = next((row for row in rows if not _is_blank(row)), None)
        if names is None:
            raise ValueError("No columns to parse from file")
        names = [name or f"Unnamed: {at}" for at, name in enumerate(names)]
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise ValueError(f"the header has the column {twice!r} more than once; rename or remove the others")
        for row in rows:
            if len(row) != len(names) and not _is_blank(row):
                raise ValueError(
                    f"line {rows.line_num} has {_fields(len(row))}, the header has {len(names)} (separated by "
                    f"{separator!r}). Give each row as many fields as the header, without a separator at the end of a "
                    "line that the header lacks; quote texts that hold the separator"
                )
    return names


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _fields(number: int) -> str:
    return "1 field" if number == 1 else f"{number} fields"


def _warn_of_classes(column: Any) -> None:
    """Say which classes may be missing labels, where enough others are left for a search."""
    counts = column.value_counts()
    odd = [name for name in counts.index if name in _ABSENT]
    if odd and len(counts) - len(odd) >= 2:
        listed = ", ".join(f"{name!r} ({counts[name]} rows)" for name in odd)
        warn(f"target {column.name!r}: {listed} is taken for a class; if it means a missing label, drop those rows")
