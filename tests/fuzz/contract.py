"""The contract of every call: a sane result, or an error that names the argument; nothing else happens."""

import contextlib
import io
import re
import signal
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import FitFailedWarning, NotFittedError

import csf

__all__ = ["Insane", "judge", "sane"]

ALLOWED = ValueError, TypeError, NotFittedError
# Words for X, y and sample_weight in messages of scikit-learn and csf.
COMMON = r"X|y|array|features?|samples?|labels?|class(es)?|target|sample_weight|weights?|scores?|splits?"
PACKAGE, CHECKS = str(Path(csf.__file__).parent), "sklearn/utils/"


class Insane(Exception):
    """A result that no argument excuses."""


class Late(BaseException):
    """A call that took too long."""


def sane(holds, what):
    """Raise `Insane` unless something holds."""
    if not np.all(holds):
        raise Insane(what)


def judge(call, arguments, *, mutated, limit):
    """Make a call and say what was wrong with it.

    Parameters
    ----------
    call : callable
        Takes the arguments by name and raises `Insane` for a result that cannot be.
    arguments : dict
        The arguments.
    mutated : sequence of str
        Names of those that are not good; a call without any may not fail.
    limit : float
        Seconds that it may take.

    Returns
    -------
    tuple of (str, str) or None
        What is wrong and where, or ``None``.
    """
    before, state = {name: _print(value) for name, value in arguments.items()}, _random_state()
    said, fault = io.StringIO(), None
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(said), _alarm(limit):
        warnings.simplefilter("always")
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                call(**arguments)
            except Late:
                fault = f"took more than {limit:g} s", "time"
            except BaseException as error:
                fault = _blame(error, arguments, mutated)
    if fault is not None:
        return fault
    # What a base warns of, in its own code or in what it calls, is its business.
    owned = {"base", "search"} & set(arguments)
    for warning in warned:
        excused = issubclass(warning.category, FitFailedWarning) or (owned and "site-packages" in warning.filename)
        if issubclass(warning.category, RuntimeWarning) and not excused:
            return f"RuntimeWarning: {warning.message}", f"{_short(warning.filename)}:{warning.lineno}"
    changed = [name for name, value in arguments.items() if _print(value) != before[name]]
    if changed:
        return f"changed its arguments {changed}", "arguments"
    if said.getvalue() and "verbose" not in mutated:
        return f"printed {said.getvalue()[:60]!r}", "stdout"
    # By scikit-learn's convention random_state=None is numpy's global generator.
    if _random_state() != state and arguments.get("random_state", 0) is not None:
        return "changed numpy's global random state", "random state"
    return None


def _blame(error, arguments, mutated):
    """What is wrong with an error, and the place in csf that let it through; ``None`` for one that is allowed."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    place = f"{_short(own[-1].filename)}:{own[-1].lineno} {own[-1].name}" if own else _short(frames[-1].filename)
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, Insane):
        return text, re.sub(r"\W+", " ", str(error).partition(" ")[0])
    if not isinstance(error, ALLOWED) or isinstance(error, UnicodeError):
        return text, place
    last = Path(frames[-1].filename)
    if last.parent == Path(__file__).parent and not last.name.startswith("test_"):
        return f"the target itself fails, {text}", place
    if not mutated:
        return f"a good call fails, {text}", place
    named = re.search(rf"\b({COMMON}|{'|'.join(map(re.escape, arguments))})s?\b", str(error), re.IGNORECASE)
    if not named and CHECKS not in frames[-1].filename and CHECKS not in frames[-2].filename:
        return f"names no argument, {text}", place
    return None


@contextlib.contextmanager
def _alarm(limit):
    """Raise `Late` in the main thread after some seconds."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_):
        raise Late

    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)


def _print(value):
    """What must not change in an argument."""
    if sparse.issparse(value):
        parts = [getattr(value, name) for name in ("data", "indices", "indptr", "row", "col") if hasattr(value, name)]
        return value.shape, [np.asarray(part).tobytes() for part in parts if part.dtype != object], value.nnz
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tolist() if value.dtype.hasobject else value.tobytes()
    if hasattr(value, "to_numpy"):
        return repr(value.to_numpy().tolist())
    return repr(value)


def _random_state():
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    return kind, keys.tobytes(), *rest


def _short(path):
    for root in (str(Path(PACKAGE).parent) + "/", "site-packages/"):
        path = path.rpartition(root)[2]
    return path
