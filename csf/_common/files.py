"""Files that are written completely or not at all, errors that name the file, and cells that no spreadsheet runs."""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from csf._common.typing import Array, Keywords, Params, PathLike, Samples

if TYPE_CHECKING:
    from matplotlib.figure import Figure

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # pyright: ignore[reportAssignmentType]

# Why a device takes no more bytes of a file.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replaced(path: PathLike, mode: str = "w", **options: Any) -> Iterator[Any]:
    """Open a file that replaces ``path`` when the block has ended without an error.

    It is written beside ``path`` and moved there at the end. Whatever happens before (an error, a full disk, Ctrl-C,
    the end of the process), ``path`` stays as it was. Links are followed, and the permissions of a replaced file stay.
    Anything but a regular file (a pipe, a device) is written in place.
    """
    if mode == "w":
        options = {"encoding": "utf-8"} | options
    path = os.fsdecode(path)
    try:
        known = os.stat(path)
    except FileNotFoundError:
        known = None
    if known is not None and not stat.S_ISREG(known.st_mode):
        with open(path, mode, **options) as file:  # a folder is refused here
            yield file
        return
    if known is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "this file must not be written (its permissions say so)", path)
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f"csf-{secrets.token_hex(8)}.tmp")
    try:
        with _written(temporary, mode, known, options) as file:
            yield file
        os.replace(temporary, target)
    except OSError as error:
        # Writing to an open file, which is what fails on a full disk, knows no name.
        if error.filename == temporary or (error.filename is None and error.errno in _FULL):
            raise OSError(error.errno, f"cannot write into its folder: {error.strerror}", path) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


@contextmanager
def _written(temporary: str, mode: str, known: os.stat_result | None, options: Keywords) -> Iterator[Any]:
    """Open a new file with the permissions of the known one, and flush it to the disk when the block ends."""

    def private(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_EXCL, 0o666 if known is None else 0o600)

    with open(temporary, mode, opener=private, **options) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    if known is not None:
        with suppress(OSError, AttributeError):  # only its owner may give a file away, and nobody on Windows
            os.chown(temporary, known.st_uid, known.st_gid)
        os.chmod(temporary, stat.S_IMODE(known.st_mode))


@contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Lock a folder: no other process that asks for the lock reads or writes its files meanwhile.

    The lock is on the folder. A lock on a file would vanish when the file is replaced, and a separate lock file would
    outlive a process that is killed. Where the system has no such locks, nothing waits.
    """
    if fcntl is None:
        yield
        return
    folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    try:
        with suppress(OSError):  # some network folders have none
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def write_figure(path: PathLike, figure: Figure) -> None:
    """Write a matplotlib figure in one step, in the format of the suffix."""
    suffix = os.path.splitext(path)[1][1:].lower()
    with replaced(path, "w" if suffix == "pgf" else "wb") as file:
        figure.savefig(file, dpi=150, format=suffix)


# ------------------------------------------------------------------ JSON


def write_json(path: PathLike, content: object) -> None:
    """Write JSON in one step, see `replaced`."""
    text = json.dumps(content)
    with replaced(path) as file:
        file.write(text)


def write_record(path: PathLike, kind: str, version: int, content: Params) -> None:
    """Write a record for `read_record`: plain JSON with its kind, its version and a checksum."""
    content = {"format": kind, "version": version, **content}
    write_json(path, content | {"sha256": _checksum(content)})


def read_record(path: PathLike, kind: str, version: int) -> Keywords:
    """Read a file written by `write_record`; raise a ValueError that says what the file is instead."""
    path = os.fsdecode(path)
    with open(path, "rb") as file:
        raw = file.read()
    try:
        content = json.loads(raw.decode("utf-8"), object_pairs_hook=_distinct)
        digest = content.pop("sha256", None) if isinstance(content, dict) else None
        intact = digest == _checksum(content)
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
    """Build the dict of a JSON object; raise a ValueError where a key occurs twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def check_fields(*values: object) -> None:
    """Raise a ValueError where an object lacks a field of its class: another version of csf has saved it."""
    for value in values:
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        state, kind = getattr(value, "__dict__", None), type(value)
        if state is None or not is_dataclass(kind) or not kind.__module__.startswith("csf."):
            continue
        for column in fields(kind):
            if column.init and column.name not in state:
                raise ValueError(
                    f"it was saved by another version of csf, whose {kind.__name__} has no {column.name!r}; train "
                    "and save it again, or load it with the version that saved it"
                )
        check_fields(*state.values())


# What the standard library raises for a damaged or shortened archive.
UNPACKING = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
_UNOPENED = (FileNotFoundError, IsADirectoryError, PermissionError)


@contextmanager
def reading(path: PathLike, kind: str, error: type[Exception] = ValueError) -> Iterator[None]:
    """Convert any error of a library that reads a file into one kind of error that names the file.

    A damaged file can fail anywhere in a library, with any error. Files that cannot be opened at all keep their
    OSError.
    """
    try:
        yield
    except Exception as caught:
        if isinstance(caught, _UNOPENED) and issubclass(error, ValueError):
            raise
        reason = str(caught)
        if not reason or not isinstance(caught, (ValueError, OSError)):
            reason = f"{type(caught).__name__}: {reason}" if reason else type(caught).__name__
        raise error(f"cannot read {path} as {kind}: {reason}") from caught


def read_arrays(path: PathLike, error: type[Exception] = ValueError) -> tuple[Samples, dict[str, Array]]:
    """Read the samples (as float64) and all arrays of an ``.npz`` file.

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
    """Return a value for a CSV file; text that a spreadsheet would run as a formula (no numeral) gets an apostrophe."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
