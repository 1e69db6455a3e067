"""States of trainings as plain JSON and back, to the last bit and without pickle."""

from __future__ import annotations

import base64
import zlib
from dataclasses import fields
from typing import Any

import numpy as np

from csf.solvers import HingeSolution, Solution

__all__ = ["decode", "encode"]

_SOLUTIONS = {kind.__name__: kind for kind in (HingeSolution, Solution)}


def encode(state: Any) -> Any:
    """Plain description of a state.

    Parameters
    ----------
    state : object
        Arrays, numbers, texts, solutions of `csf.solvers`, and tuples and lists of these.

    Returns
    -------
    object
        For JSON; arrays are packed.

    Raises
    ------
    TypeError
        If the state holds something else.

    Examples
    --------
    >>> decode(encode((np.arange(3), "a", None)))
    (array([0, 1, 2]), 'a', None)
    """
    if state is None or type(state) in (bool, int, float, str):
        return state
    if isinstance(state, tuple | list):
        return [type(state).__name__, *map(encode, state)]
    if isinstance(state, np.ndarray) and not state.dtype.hasobject:
        packed = zlib.compress(np.ascontiguousarray(state).tobytes(), 1)
        return ["array", state.dtype.str, list(state.shape), base64.b64encode(packed).decode("ascii")]
    if isinstance(state, np.generic):
        return ["number", encode(np.asarray(state))]
    name = type(state).__name__
    if _SOLUTIONS.get(name) is type(state):
        return [name, *(encode(getattr(state, field.name)) for field in fields(_SOLUTIONS[name]))]
    raise TypeError(f"a state that holds a {name} cannot be kept in a file")


def decode(record: Any) -> Any:
    """State of a description.

    Parameters
    ----------
    record : object
        As `encode` returns it.

    Returns
    -------
    object
        The state.

    Raises
    ------
    ValueError
        If the record is none.
    """
    if not isinstance(record, list):
        return record
    try:
        kind, *parts = record
        if kind == "array":
            dtype, shape, packed = parts
            return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=dtype).reshape(shape).copy()
        if kind == "number":
            return decode(parts[0])[()]
        parts = [decode(part) for part in parts]
        return {"tuple": tuple, "list": list}[kind](parts) if kind not in _SOLUTIONS else _SOLUTIONS[kind](*parts)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"this is not the record of a state: {error!r}") from error
