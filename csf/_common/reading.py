"""Errors of files that are damaged, whatever the libraries that read them raise."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from csf._common.typing import Array, PathLike, Samples

__all__ = ["UNPACKING", "read_arrays", "reading"]

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
