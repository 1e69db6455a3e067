"""Cache folder of compiled code, chosen in one place for all kernels.

By default numba keeps compiled code in the package. There it outlives an uninstalled csf, counts as fresh although a
kernel's helpers in another file have changed, and refuses to compile on a machine where the package is read-only. So
csf gives numba a folder named after the files that hold kernels: below ``NUMBA_CACHE_DIR``, else below the user's cache
folder. Where neither is writable, every process compiles again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache as once
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numba
from numba.core import config as _config
from numba.core import sigutils
from numba.core.caching import FunctionCache

from csf._common.typing import Foreign

config: Foreign = _config  # numba sets its options when it is imported

# Folders of other versions that stay, the latest used ones: some ten megabytes each.
KEPT = 8

_LOGGER = logging.getLogger("csf")

# What a file that holds kernels looks like. Kernels read nothing of csf from other files (a test checks it).
_HOLDS_KERNELS = re.compile(rb"^@njit\b|^def (?:njit|compiled)\b", re.MULTILINE)


def compiled(function: Callable[..., object], *, cache: bool = True, **options: Any) -> Callable[..., object]:
    """Compile a function with `numba.njit` and keep its code, if cached, in the folder of csf."""
    made: Foreign = numba.njit(**options)(function)
    folder = _folder() if cache and made is not function else None
    if folder is not None:
        # numba asks for its folder once, here; other packages keep theirs. Kernels are made one at a time.
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            made._cache = _Cache(function)
        finally:
            config.CACHE_DIR = before
    return made


@once
def _log_compilation(folder: str) -> None:
    """Log, once in a process that no other has started, that a call takes longer than later ones."""
    if parent_process() is None:
        # Who waits at a terminal is told; pages and files of output stay as they are.
        level = logging.WARNING if sys.stderr is not None and sys.stderr.isatty() else logging.INFO
        _LOGGER.log(level, "csf compiles its loops, once on this machine: some seconds, kept in %s", folder)


@once
def _folder() -> Path | None:
    """Return the folder for code that this numba version compiles from these kernels, or ``None``."""
    package = Path(__file__).parents[1]
    sources = {path: path.read_bytes() for path in sorted(package.rglob("*.py"))}
    if not sources:  # in an archive
        return None
    digest = hashlib.sha256(numba.__version__.encode())
    for path, source in sources.items():
        if _HOLDS_KERNELS.search(source):
            digest.update(f"\0{path.relative_to(package).as_posix()}\0".encode())
            digest.update(source)
    default = {"win32": os.environ.get("LOCALAPPDATA", ""), "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    of_user = chosen if os.path.isabs(chosen) else os.path.expanduser(default)
    for parent in (config.CACHE_DIR, of_user):
        with suppress(OSError):
            if parent:
                return _use(Path(parent, "csf", digest.hexdigest()[:16]))
    return None


def _use(folder: Path) -> Path:
    """Return the folder if it is writable, and clear the folders beside it that were not used for longest."""
    new = not folder.is_dir()
    # Cached code is unpickled: what csf makes, nobody else may write to.
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(folder)
    with suppress(OSError):
        os.utime(folder)
        others = [other for other in folder.parent.iterdir() if other != folder] if new else []
        for other in sorted(others, key=lambda other: other.stat().st_mtime)[: max(len(others) - KEPT, 0)]:
            shutil.rmtree(other, ignore_errors=True)
    return folder


class _Cache(FunctionCache):
    """Cache that may be damaged: unreadable code is compiled again, and code that cannot be written is not kept."""

    def load_overload(self, sig: object, target_context: object) -> object:
        """Load the compiled code of a signature; return ``None`` where there is none."""
        with suppress(Exception):  # unpickling half a file raises anything
            compiled_code = super().load_overload(sig, target_context)
            if compiled_code is None:
                _log_compilation(self.cache_path)
                return None
            # Processes that compile different signatures at once may have given their files the same name.
            if tuple(compiled_code.signature.args) == tuple(sigutils.normalize_signature(sig)[0]):
                return compiled_code
        with suppress(OSError):
            self.flush()
        return None

    def save_overload(self, sig: object, data: object) -> None:
        """Save compiled code where that is possible."""
        with suppress(Exception):  # numba at times has no object code to give
            super().save_overload(sig, data)
