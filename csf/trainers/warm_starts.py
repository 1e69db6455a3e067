"""States of earlier trainings, and which of them a new training starts from."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

__all__ = ["Starts"]

# As many states are kept for one fold, and as many are handed over. A handful of solutions spans the later ones well.
_KEPT, _GIVEN = 24, 6
# Fewer states are kept where their arrays take more bytes than this.
_BYTES, _FEWEST = 1 << 26, 3


class Starts:
    """Latest states of one fold, by family and position.

    Examples
    --------
    >>> starts = Starts()
    >>> for level in (0.1, 0.5, 0.9):
    ...     starts.add("svm", (level,), f"state of {level}")
    >>> starts.nearest("svm", (0.6,))[0]
    'state of 0.5'
    """

    def __init__(self) -> None:
        self._known, self._sizes = [], []

    @property
    def known(self) -> Any:
        """All of them as tuples of family, position and state, the latest last."""
        return tuple(self._known)

    def add(self, family: str, position: tuple[float, float], state: object) -> None:
        """Keep a state; the oldest ones go when there are too many, or too large ones.

        Parameters
        ----------
        family : str
            Trainings that can use it.
        position : tuple of float
            Where it lies among them.
        state : object
            The state.
        """
        self._known.append((family, position, state))
        self._sizes.append(_size(state))
        kept = min(_KEPT, len(self._known))
        while kept > _FEWEST and sum(self._sizes[-kept:]) > _BYTES:
            kept -= 1
        del self._known[:-kept], self._sizes[:-kept]

    def nearest(self, family: str, position: tuple[float, float]) -> list[Any]:
        """States to start from.

        Parameters
        ----------
        family : str
            Family of the new training.
        position : tuple of float
            Where it lies.

        Returns
        -------
        list
            At most six states, the nearest first; of equally near ones the latest.
        """
        known = [(where, state) for name, where, state in reversed(self._known) if name == family]
        away = [sum(abs(a - b) for a, b in zip(where, position, strict=True)) for where, _ in known]
        return [known[i][1] for i in sorted(range(len(known)), key=away.__getitem__)[:_GIVEN]]


def _size(state):
    """Bytes of the arrays in a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    if is_dataclass(state):
        return sum(_size(getattr(state, field.name)) for field in fields(state))
    return sum(map(_size, state)) if isinstance(state, (tuple, list)) else 0
