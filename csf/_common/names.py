"""What a misspelt name was probably meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, TypeVar

__all__ = ["did_you_mean", "look_up"]

Entry = TypeVar("Entry")

# Words that other libraries add to names, and how alike two names must be to be offered for each other.
_NOISE = re.compile(r"(score|metric|loss|bound|strategy|macro|binary|weighted|micro)")
_ALIKE = 0.65


def did_you_mean(name: object, known: Iterable[Any], aliases: dict[str, str] | None = None) -> str:
    """Sentence, after a space, that offers the name which was probably meant; empty where none is like it.

    ``aliases`` are names in other libraries, in small letters and digits alone, and what they are called here.
    """
    known = list(known)
    for other in known:
        if isinstance(name, str) != isinstance(other, str) and str(name).casefold() == str(other).casefold():
            return f". Did you mean {other!r}?"
    if not isinstance(name, str):
        return ""
    spellings = {_plain(other): other for other in reversed([k for k in known if isinstance(k, str)])}
    spellings |= aliases or {}
    plain = _plain(name)
    for candidate in (plain, _NOISE.sub("", plain)):
        if candidate in spellings:
            return f". Did you mean {spellings[candidate]!r}?"
    close = difflib.get_close_matches(plain, spellings, n=1, cutoff=_ALIKE)
    return f". Did you mean {spellings[close[0]]!r}?" if close else ""


def look_up(
    name: object, registry: dict[str, Entry], what: str, more: str, *, aliases: dict[str, str] | None = None
) -> Entry:
    """Entry of a registry, or a ValueError with the names that are accepted and the one that was probably meant.

    ``what`` the entries are, such as ``"metric"``; ``more`` says what is accepted besides names.
    """
    if isinstance(name, str) and name in registry:
        return registry[name]
    hint = did_you_mean(name, registry, aliases)
    raise ValueError(f"unknown {what} {name!r}; known: {', '.join(registry)}, {more}{hint}")


def _plain(name):
    """Small letters, digits and points alone."""
    return re.sub(r"[^a-z0-9.]", "", name.casefold())
