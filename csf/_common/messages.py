"""Messages to users: suggestions for misspelt names, and warnings that point at the user's line."""

from __future__ import annotations

import difflib
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from types import FrameType
from typing import TypeVar

import numpy as np

from csf._common.dtypes import is_number, is_text
from csf._common.typing import Label

Entry = TypeVar("Entry")
Kind = TypeVar("Kind")

# Words that other libraries add to names, and how alike two names must be to be offered for each other.
_NOISE = re.compile(r"(score|metric|loss|bound|strategy|macro|binary|weighted|micro)")
_ALIKE = 0.65
# So many names of a list are written.
_MOST = 8


def did_you_mean(name: object, known: Iterable[object], aliases: dict[str, str] | None = None) -> str:
    """Suggest the name that was probably meant, in a sentence after a space; return "" where no name is similar.

    ``aliases`` maps names in other libraries, in lower-case letters and digits only, to names in csf.
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


def listed(names: Iterable[object]) -> str:
    """Write a list; of many names the first ones and their number.

    Examples
    --------
    >>> listed("abc"), listed(range(1500))
    ("['a', 'b', 'c']", '[0, 1, 2, 3, 4, 5, 6, 7, ...], 1500 in all')
    """
    names = [plain(name) for name in names]
    return f"{names}" if len(names) <= _MOST else f"{str(names[:_MOST])[:-1]}, ...], {len(names)} in all"


def plain(label: Label) -> Label:
    """Convert a label or number of numpy to Python's own, which has the same value and reads well."""
    return label.item() if isinstance(label, np.generic) and (is_number(label) or is_text(label)) else label


def shown(value: object) -> str:
    """Write a value that a user gave as code, without the types that numpy writes.

    Examples
    --------
    >>> shown({np.str_("urgent"): np.float64(1.5)}), shown(np.int64(3)), shown([np.str_("a")])
    ("{'urgent': 1.5}", '3', "['a']")
    """
    if isinstance(value, Mapping):
        return repr({plain(name): plain(entry) for name, entry in value.items()})
    return repr([plain(entry) for entry in value] if isinstance(value, list) else plain(value))


def called_elsewhere(**names: str) -> Callable[[type[Kind]], type[Kind]]:
    """Decorate a class so that arguments by their names in other libraries are errors that say what to write.

    The signature stays as it is: scikit-learn and editors see the arguments that exist.
    """

    def decorate(kind: type[Kind]) -> type[Kind]:
        init = kind.__init__

        @wraps(init)
        def checked(self: Kind, *args: object, **kwargs: object) -> None:
            for name in names.keys() & kwargs.keys():
                raise TypeError(f"{type(self).__name__} has no argument {name!r}; write {names[name]}")
            init(self, *args, **kwargs)

        kind.__init__ = checked
        return kind

    return decorate


def look_up(name: object, registry: dict[str, Entry], what: str, more: str) -> Entry:
    """Look up a registry entry; raise a ValueError with the accepted names and the one that was probably meant.

    ``what`` names the kind of entry, such as ``"metric"``; ``more`` says what is accepted besides names.
    """
    if isinstance(name, str) and name in registry:
        return registry[name]
    hint = did_you_mean(name, registry)
    raise ValueError(f"unknown {what} {name!r}; known: {', '.join(registry)}, {more}{hint}")


def _plain(name):
    """Reduce a name to lower-case letters, digits and points."""
    return re.sub(r"[^a-z0-9.]", "", name.casefold())


# Packages and modules whose lines tell a user nothing: csf, what wraps its fits, and what runs them in threads.
_BETWEEN = {"csf", "sklearn", "joblib", "contextlib", "functools", "threading", "concurrent", "multiprocessing"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside csf and outside the libraries that call it for the user."""
    inner = sys._getframe(1)
    # A worker thread has no line of the user's: the main thread waits for it at one.
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    frame = _outside(inner) or _outside(main) or inner
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__", "<unknown>"),
        registry=names.setdefault("__warningregistry__", {}),
    )


def _outside(frame: FrameType | None) -> FrameType | None:
    """Find the innermost frame, from this one on, outside csf and the libraries that call it; ``None`` without one."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return frame
