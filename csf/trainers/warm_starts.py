"""States of earlier trainings, and which of them a new training starts from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Known", "WarmStarts"]

# As many states are kept for one fold, and as many are handed over. A handful of solutions spans the later ones well.
_KEPT, _GIVEN = 24, 6
# Fewer states are kept where their arrays take more bytes than this.
_BYTES, _FEWEST = 1 << 26, 3


class Known(NamedTuple):
    """A state, and where it belongs."""

    family: str
    position: tuple[float, ...]
    state: object


class WarmStarts:
    """Latest states of one fold, by family and position."""

    def __init__(self) -> None:
        self._known: list[Known] = []
        self._sizes: list[int] = []

    @property
    def known(self) -> tuple[Known, ...]:
        """All of them, the latest last."""
        return tuple(self._known)

    def copy(self) -> WarmStarts:
        """The same states, to which others can be added."""
        made = WarmStarts()
        made._known, made._sizes = list(self._known), list(self._sizes)
        return made

    def add(self, family: str, position: tuple[float, ...], state: object) -> None:
        """Keep a state; the oldest ones go when there are too many, or too large ones."""
        self._known.append(Known(family, position, state))
        self._sizes.append(_size(state))
        kept = min(_KEPT, len(self._known))
        while kept > _FEWEST and sum(self._sizes[-kept:]) > _BYTES:
            kept -= 1
        del self._known[:-kept], self._sizes[:-kept]

    def nearest(self, family: str, position: tuple[float, ...]) -> list[Any]:
        """States to start from."""
        known = [each for each in reversed(self._known) if each.family == family]
        away = [sum(abs(a - b) for a, b in zip(each.position, position, strict=True)) for each in known]
        return [known[i].state for i in sorted(range(len(known)), key=away.__getitem__)[:_GIVEN]]


def _size(state: object) -> int:
    """Bytes of the arrays in a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    # Numbers, which are most of a solution, are not asked what they are made of.
    if state is None or isinstance(state, (float, int, str)):
        return 0
    if is_dataclass(state):
        return sum(_size(getattr(state, field.name)) for field in fields(state))
    return sum(map(_size, state)) if isinstance(state, (tuple, list)) else 0
