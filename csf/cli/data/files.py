"""Plain and compressed text files."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from typing import IO, Any

from csf._common.files import UNPACKING

__all__ = ["first_line", "format_suffix", "opened"]

_COMPRESSED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def format_suffix(path: str) -> str:
    """Suffix of the format, without the one of the compression.

    Parameters
    ----------
    path : str
        File name.

    Returns
    -------
    str
        In lower case, with its dot.

    Examples
    --------
    >>> format_suffix("train.CSV.gz")
    '.csv'
    """
    name = Path(path)
    if name.suffix.lower() in _COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower()


def opened(path: str, mode: str, **options: Any) -> IO[Any]:
    """File that is unpacked as it is read, where it is packed."""
    return _COMPRESSED.get(Path(path).suffix.lower(), open)(path, mode, **options)


def first_line(path: str) -> str:
    """First line with content, without comments that take a line."""
    try:
        with opened(path, "rt", encoding="utf-8-sig") as file:
            return next((line.strip() for line in file if line.strip() and not line.startswith("#")), "")
    except UnicodeDecodeError:
        return ""
    except UNPACKING as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        return ""
