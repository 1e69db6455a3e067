"""Files: written whole or not at all, read with errors that name the file, and cells that no spreadsheet runs."""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from scipy import sparse

from csf._common.typing import Array, PathLike, Samples

__all__ = [
    "UNPACKING",
    "cell",
    "read_arrays",
    "read_record",
    "reading",
    "replaced",
    "write_figure",
    "write_json",
    "write_record",
]

try:
    import fcntl
except ImportError:  # not on Windows, where leftovers of killed runs stay
    fcntl = None


# File systems take names of up to 255 bytes; what is written beside a file needs a longer one.
_LONGEST = 200
# Why a device takes no more bytes of a file.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replaced(path: PathLike, mode: str = "w", **options: Any) -> Iterator[Any]:
    """Open a file that takes the place of ``path`` when the block has ended well.

    It is written beside ``path`` and moved there at the end. Whatever happens before (an error, a full disk, Ctrl-C,
    the end of the process), ``path`` stays as it was. Links are followed, the permissions of a file that is replaced
    stay, and what killed runs left beside this file is removed. What is not a file (a pipe, a device) is written as
    it is.
    """
    if mode == "w":
        options = {"encoding": "utf-8"} | options
    path = os.fsdecode(path)
    try:
        with _replaced(path, mode, options) as file:
            yield file
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        # Writing to an open file, which is what fails then, knows no name.
        raise OSError(error.errno, error.strerror, path) from error


@contextmanager
def _replaced(path, mode, options):
    known = _known(path)
    if known is not None and not stat.S_ISREG(known.st_mode):
        with open(path, mode, **options) as file:  # a folder is refused here
            yield file
        return
    target = os.path.realpath(path)
    _remove_leftovers(target)
    temporary = f"{_beside(target)}{secrets.token_hex(4)}.tmp"
    try:
        with _claimed(temporary, path, known), open(temporary, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is None:  # Windows moves closed files only
                file.close()
            os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _known(path):
    """Status of the file that is there, or ``None``."""
    try:
        known = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(known.st_mode) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "this file must not be written (its permissions say so)", path)
    return known


def _beside(target):
    """How the names of files begin that are written beside ``target``."""
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    return os.path.join(folder, f"{name}.")


@contextmanager
def _claimed(temporary, path, known):
    """Make the file to write, with the permissions that it is to have, and hold a lock on it."""
    while True:
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if known is None else 0o600)
        except OSError as error:
            why = f"cannot write a new file into its folder: {error.strerror}"
            raise OSError(error.errno, why, path) from error
        try:
            if fcntl is None:
                break
            _lock(handle, fcntl.LOCK_EX)
            if os.path.exists(temporary):  # else it was taken for a leftover before it was locked
                _keep_permissions(handle, known)
                yield
                return
        finally:
            os.close(handle)
    yield


def _lock(handle: int, how: int) -> bool:
    """Lock an open file; whether it worked. File systems that have no locks keep their leftovers."""
    assert fcntl is not None  # callers ask before
    try:
        fcntl.flock(handle, how)
    except OSError:
        return False
    return True


def _keep_permissions(handle: int, known: os.stat_result | None) -> None:
    if known is None:
        return
    with suppress(OSError):  # only its owner may give a file away
        os.fchown(handle, known.st_uid, known.st_gid)
    with suppress(OSError):
        os.fchmod(handle, stat.S_IMODE(known.st_mode))


def _remove_leftovers(target: str) -> None:
    """Remove what killed runs left beside a file; who still writes holds a lock."""
    folder, start = os.path.split(_beside(target))
    pattern = re.compile(re.escape(start) + r"[0-9a-f]{8}\.tmp")
    with suppress(OSError):
        for name in filter(pattern.fullmatch, os.listdir(folder) if fcntl else ()):
            _remove_unlocked(os.path.join(folder, name))


def _remove_unlocked(path: str) -> None:
    assert fcntl is not None  # nothing is listed without it
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _lock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB):
                os.unlink(path)
        finally:
            os.close(handle)


def write_figure(path: PathLike, figure: Any) -> None:
    """Write a matplotlib figure in one step, in the format of the suffix."""
    suffix = os.path.splitext(path)[1][1:].lower()
    with replaced(path, "w" if suffix == "pgf" else "wb") as file:
        figure.savefig(file, dpi=150, format=suffix)


# ------------------------------------------------------------------ JSON


def write_json(path: PathLike, content: Any) -> None:
    """Write JSON in one step, see `replaced`."""
    text = json.dumps(content)
    with replaced(path) as file:
        file.write(text)


def write_record(path: PathLike, kind: str, version: int, content: dict[str, Any]) -> None:
    """Write a record for `read_record`: plain JSON with its kind, its version and a checksum."""
    content = {"format": kind, "version": version, **content}
    write_json(path, content | {"sha256": _checksum(content)})


def read_record(path: PathLike, kind: str, version: int) -> dict[str, Any]:
    """Content of a file written by `write_record`, or a ValueError that says what the file is instead."""
    path = os.fsdecode(path)
    with open(path, "rb") as file:
        raw = file.read()
    try:
        content = json.loads(raw.decode("utf-8"), object_pairs_hook=_distinct)
        found = content.pop("sha256", None) if isinstance(content, dict) else None
        intact = found == _checksum(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is damaged or not a {kind} file ({error}); it was left as it is. Give another path, or remove it "
            "to start again"
        ) from error
    if not isinstance(content, dict) or content.get("format") != kind:
        raise ValueError(f"{path} is not a {kind} file; it was left as it is. Give another path")
    if type(content.get("version")) is not int or content["version"] != version:
        raise ValueError(
            f"{path} has version {content.get('version')!r} of the {kind} format; this csf reads {version}. It was "
            "left as it is; go on with the csf that wrote it, or give another path"
        )
    if not intact:
        raise ValueError(
            f"{path} is damaged: its content and its checksum differ; it was left as it is. Give another path, or "
            "remove it to start again"
        )
    return content


def _checksum(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _distinct(pairs):
    """Dict of a JSON object whose keys all differ."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


# What the standard library raises for a damaged or shortened archive.
UNPACKING = (EOFError, OSError, zlib.error, lzma.LZMAError)
_UNOPENED = (FileNotFoundError, IsADirectoryError, PermissionError)


@contextmanager
def reading(path: PathLike, kind: str, error: type[Exception] = ValueError) -> Iterator[None]:
    """Context in which a library reads a file: whatever it raises becomes one kind of error that names the file.

    A damaged file can fail anywhere in a library, with any error. Files that cannot be opened at all keep their
    OSError.
    """
    try:
        yield
    except Exception as caught:
        if isinstance(caught, _UNOPENED) and issubclass(error, ValueError):
            raise
        said = str(caught)
        if not said or not isinstance(caught, (ValueError, OSError)):
            said = f"{type(caught).__name__}: {said}" if said else type(caught).__name__
        raise error(f"cannot read {path} as {kind}: {said}") from caught


def read_arrays(path: PathLike, error: type[Exception] = ValueError) -> tuple[Samples, dict[str, Array]]:
    """Samples (float64) and all arrays of an ``.npz`` file.

    It holds ``y``, and ``X`` or the parts ``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape``.
    """
    # numpy leaves a damaged file open, so that it is opened here
    with reading(path, "a data set", error), open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
        arrays = dict(file)
    if "y" not in arrays or not ("X" in arrays or "X_data" in arrays):
        raise error(f"{path} has no arrays X (or X_data, X_indices, X_indptr, X_shape) and y")
    with reading(path, "a data set", error):
        X = np.asarray(arrays["X"], dtype=np.float64) if "X" in arrays else _csr(arrays)
    shape = arrays["y"].shape
    if X.ndim != 2 or shape != X.shape[:1] or arrays.get("is_test", arrays["y"]).shape != shape:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in (arrays | {"X": X}).items())
        raise error(f"{path} is damaged: X must have rows and columns, y and is_test one entry a row, got {shapes}")
    return X, arrays


def _csr(arrays: dict[str, Array]) -> Samples:
    parts = (np.asarray(arrays["X_data"], dtype=np.float64), arrays["X_indices"], arrays["X_indptr"])
    X = sparse.csr_array(parts, shape=tuple(int(n) for n in arrays["X_shape"]))
    X.check_format(full_check=True)
    return X


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: object) -> object:
    """A value for a CSV file; a text that a spreadsheet would run as a formula (no numeral) gets an apostrophe."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
