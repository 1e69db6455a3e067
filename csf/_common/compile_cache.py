"""Where compiled code is kept: the one decision for all kernels.

Nothing is written into the package, where it would outlive an uninstalled csf. The code goes into the folder of the
environment variable ``NUMBA_CACHE_DIR``, else into the user's cache folder, else into a private one beside the
temporary files; where none of them can be had, every process compiles anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from typing import Any, Self

import numba
from numba.core import config, sigutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

__all__ = ["compiled"]

# Folders of other versions that stay, the latest used ones: some ten megabytes each.
KEPT = 8


def compiled(function: Callable[..., Any], *, cache: bool = True, **options: Any) -> Callable[..., Any]:
    """`numba.njit` whose compiled code, if cached, is kept where csf keeps it.

    Parameters
    ----------
    function : callable
        What to compile.
    cache : bool, default=True
        Whether to keep the compiled code for other processes.
    **options : object
        Passed on to `numba.njit`.

    Returns
    -------
    callable
        The compiled function.
    """
    made: Any = numba.njit(**options)(function)
    if cache and made is not function and _folder() is not None:
        made._cache = _Cache(function)
    return made


@once
def _folder() -> Path | None:
    """Folder for the code compiled from these very sources by this numba, or ``None``."""
    digest = _digest()
    if digest is None:
        return None
    for place in (_chosen, _of_user, _temporary):
        with suppress(OSError):
            shelf = place()
            if shelf is not None:
                return _use(shelf, digest)
    return None


def _digest() -> str | None:
    """Text that changes with any source of csf: numba looks at a kernel's own file only, not at its helpers'."""
    package = Path(__file__).parents[1]
    sources = sorted(package.rglob("*.py"))
    if not sources:  # in an archive
        return None
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sources:
        digest.update(f"\0{source.relative_to(package).as_posix()}\0".encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _chosen() -> Path | None:
    """The user's choice, trusted as it is: it may be shared, or filled beforehand and read-only."""
    chosen = getattr(config, "CACHE_DIR")  # noqa: B009 - numba sets its options when it is imported
    return Path(chosen, "csf") if chosen else None


def _of_user() -> Path | None:
    """The platform's folder for caches of the user."""
    default = {"win32": os.environ.get("LOCALAPPDATA", ""), "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
    parent = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(default))
    return _private(parent / "csf") if parent.is_absolute() else None


def _temporary() -> Path:
    """A folder beside the temporary files, where other users may have made one of this name."""
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    return _private(Path(tempfile.gettempdir(), f"csf-{user}"))


def _private(folder: Path) -> Path:
    """The folder, made where it is missing. Cached code is unpickled: nobody else may be able to write there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{folder} is a link")
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise PermissionError(f"others can write to {folder}")
    return folder


def _use(shelf: Path, digest: str) -> Path:
    """The folder of this digest on a shelf, from which the folders that were not used for longest are cleared."""
    folder = shelf / digest
    new = not folder.is_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        os.utime(folder)
        others = sorted((o for o in shelf.iterdir() if o != folder), key=lambda o: o.stat().st_mtime) if new else []
        for other in others[: max(len(others) - KEPT, 0)]:
            shutil.rmtree(other, ignore_errors=True)
    return folder


class _Locator(_CacheLocator):
    """One folder for each module; the names of its kernels differ."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._path, self._stamp = str(folder / function.__module__), folder.name

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self | None:
        folder = _folder()
        return None if folder is None else cls(py_func, folder)

    def ensure_cache_path(self) -> None:
        os.makedirs(self._path, exist_ok=True)

    def get_cache_path(self) -> Any:
        return self._path

    def get_source_stamp(self) -> Any:
        return self._stamp

    def get_disambiguator(self) -> Any:
        return "kernel"


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    """A cache that may be lost: what cannot be read is compiled, what cannot be written is not kept."""

    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code of the signature, or ``None``."""
        with suppress(Exception):  # unpickling half a file raises anything
            found = super().load_overload(sig, target_context)
            # Processes that compile different signatures at once may have given their files the same name.
            if found is None or tuple(found.signature.args) == tuple(sigutils.normalize_signature(sig)[0]):
                return found
        with suppress(OSError):
            self.flush()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if there is room."""
        with suppress(Exception):  # numba at times has no object code to give
            super().save_overload(sig, data)
