"""JSON files that are either whole or not there, and texts that are the same in every process."""

import json
import os
import re
import tempfile

__all__ = ["read_json", "stable_repr", "write_json"]


def write_json(path, content):
    """Write JSON beside ``path`` and move it there, so that no reader ever meets half a file."""
    path = os.fspath(path)
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(dir=folder or ".", prefix=name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_json(path, expected, version):
    """Content of a file written by `write_json`, or a ValueError that says what the file is instead."""
    path = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is damaged or not a {expected} file ({error}); it was left as it is. Give another path, or "
            "remove it to start anew"
        ) from error
    if not isinstance(content, dict) or content.get("format") != expected:
        raise ValueError(f"{path} is not a {expected} file; it was left as it is. Give another path")
    if content.get("version") != version:
        raise ValueError(
            f"{path} has version {content.get('version')!r} of the {expected} format; this csf reads {version}"
        )
    return content


def stable_repr(part):
    """Description of an object without memory addresses, so that it is the same in every process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(part))
