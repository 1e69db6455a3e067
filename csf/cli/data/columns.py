"""Warnings of columns that were probably meant to be something else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from csf._common.messages import warn

__all__ = ["is_numeral", "listed", "warn_of_columns"]

_SHOWN = 12
# More distinct texts than this are no categories, and so many share a column with what else is in it by accident.
_MANY = 20
_NAMED = r"\d{1,2}[ -]?[a-z]{3,9}\.?[ ,-]*\d{4}|[a-z]{3,9}\.? \d{1,2},? \d{4}"
_DAY = rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})|{_NAMED})"
_TIME = r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?( ?(z|utc|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(rf"{_DAY}([t ]{_TIME})?|{_TIME}", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[$€£]? ?[+-]?(\d[\d,.' ]*|\.\d+)(e[+-]?\d+)? ?[%$€£]?", re.IGNORECASE)


def warn_of_columns(frame: Any, categorical: Sequence[str]) -> None:
    """Warn of dates and numbers that are texts, of names and keys, and of columns without information."""
    for name in categorical:
        said = _suspicion(frame[name].dropna().astype(str), frame.shape[0])
        if said:
            warn(f"column {name!r} {said} --drop {name!r}")
    same = [name for name in frame.columns if frame[name].nunique(dropna=False) <= 1] if frame.shape[0] > 1 else []
    if same:
        tell = "holds" if len(same) == 1 else "hold"
        warn(f"{listed(same)} {tell} the same in every row, which carries no information; leave it out with --drop")


def _suspicion(texts, n_rows):
    """What is odd about the texts of a column, and the way out but for ``--drop``; empty for nothing."""
    counts = texts.value_counts()
    known = counts.index.tolist()
    dates = [text for text in known if _DATE.fullmatch(text.strip())]
    if dates and len(dates) >= 0.9 * len(known):
        return (
            f"holds dates or times, such as {dates[0]!r}, and each of the {len(known)} becomes a category; turn them "
            "into numbers (days since one day, the month, ...), or leave it out with"
        )
    numbers = [text for text in known if _NUMBER.fullmatch(text.strip())]
    if len(known) > _MANY and len(numbers) >= 0.5 * len(known):
        odd = next(text for text in known if not is_numeral(text))
        return (
            f"looks like numbers, but {odd!r} is none, and each of the {len(known)} texts becomes a category; correct "
            "such entries (missing ones are empty or ?, points are decimal), or leave it out with"
        )
    if len(known) > max(_MANY, n_rows / 2):
        return f"has {len(known)} distinct texts in {n_rows} rows; if it is a name or a key, leave it out with"
    return ""


def is_numeral(value: Any) -> bool:
    """Whether an entry is a number, or a text that says one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, bool)


def listed(names: Sequence[object]) -> str:
    """Names of columns for a message, the first ones of many."""
    rest = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names[:_SHOWN]))}{rest}"
