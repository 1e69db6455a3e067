"""Warnings that point at the user's own line, whatever lies between it and csf."""

from __future__ import annotations

import sys
import threading
import warnings
from types import FrameType

__all__ = ["warn"]

# Packages and modules whose lines tell a user nothing: csf, what wraps its fits, and what runs them in threads.
_BETWEEN = {"csf", "sklearn", "joblib", "contextlib", "functools", "threading", "concurrent", "multiprocessing"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside csf and outside what calls it for the user."""
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
    """Innermost frame from this one on that belongs to none of the packages between; ``None`` without one."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return frame
