"""What the rest of a search will take, said once where that is long."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from csf.search.deadline import LAST

__all__ = ["Forecast"]

# Seconds of a rest that nobody has to be told of.
_SHORT = 30.0
_LOGGER = logging.getLogger("csf")


@dataclass
class Forecast:
    """Logs one line when a trial shows that the rest takes long.

    A logger and no warning: it is no fault, and programs that turn warnings into errors go on. Python shows the line on
    stderr where nobody has set up logging.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.

    Examples
    --------
    >>> times = iter([0.0, 40.0])
    >>> Forecast(clock=lambda: next(times)).hear([8.0, 9.0], left=2, is_like_first=True)
    94
    """

    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _last: float = field(init=False, repr=False)
    _n_heard: int = field(default=0, init=False, repr=False)
    _is_said: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._last = self.clock()

    def hear(self, fold_seconds: list[float], *, left: int, is_like_first: bool) -> int | None:
        """Seconds that the rest takes at most, if that is said now.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of the folds of the trial that has just ended.
        left : int
            Trials that are left at most.
        is_like_first : bool
            Whether later trials take as long as the first one, not starting from earlier solutions.
        """
        now = self.clock()
        trial, self._last = now - self._last, now
        self._n_heard += 1
        rest = left * trial + LAST * max(fold_seconds, default=0.0)
        if self._is_said or rest <= _SHORT or not (is_like_first or self._n_heard > 1):
            return None
        self._is_said = True
        _LOGGER.warning(
            "the search takes %.0f s more at most: %d trials like the last one of %.0f s, and the last training; "
            "time_limit= ends it in time, n_jobs= shares it among processors, a smaller n_trials= shortens it, and "
            "verbose=1 shows its progress",
            *(rest, left, trial),
        )
        return round(rest)
