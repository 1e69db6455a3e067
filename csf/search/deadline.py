"""The moment by which a search has to be over, its last training included."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["LAST", "Deadline"]

# The last training sees everything and starts from nothing: its time is that of a fold's first training by this much.
LAST = 1.5


@dataclass
class Deadline:
    """Knows when there is no time left for another trial.

    Parameters
    ----------
    seconds : float
        Time from now on.
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.

    Examples
    --------
    >>> times = iter([0.0, 2.0, 4.0, 9.0])
    >>> deadline = Deadline(10.0, clock=lambda: next(times))
    >>> deadline.passes([1.0, 1.0]), deadline.passes([0.5, 0.5]), deadline.passes([0.5, 0.5])
    (False, False, True)
    """

    seconds: float
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _start: float = field(init=False, repr=False)
    _last: float = field(init=False, repr=False)
    _training: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._start = self._last = self.clock()

    def begin(self) -> None:
        """Trials start now; what was done before them is no measure of their time."""
        self._last = self.clock()

    def passes(self, fold_seconds: list[float]) -> bool:
        """Whether another trial like the one that has just ended, and the last training, would end too late.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of its folds.

        Returns
        -------
        bool
            Whether the search has to stop.
        """
        now = self.clock()
        trial, self._last = now - self._last, now
        self._training = max([self._training, *fold_seconds])
        return now + trial + LAST * self._training > self._start + self.seconds
