"""The seconds that a command has, and whether its user watches them pass."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable

__all__ = ["Budget", "shows_progress"]


class Budget:
    """Seconds from now on; ``None`` for no limit."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._start = clock()

    def share(self, part: float) -> float | None:
        """A part of the seconds that are left, more than 0; ``None`` without a limit."""
        return None if self.seconds is None else max(part * self._left(), 1e-9)

    def refusal(self, seconds: float) -> str | None:
        """Why something that takes about so long is left out; ``None`` where there is time for it."""
        if self.seconds is None or seconds <= self._left():
            return None
        about = f", which takes about {seconds:.1f} s" if seconds else ""
        return f"the time limit of {self.seconds:g} s leaves no time for it{about}"

    def _left(self) -> float:
        assert self.seconds is not None, "asked for with a limit only"
        return self._start + self.seconds - self._clock()


def shows_progress(options: Namespace) -> bool:
    """Whether a command shows bars: where it is asked to, and on a terminal unless it is asked to be quiet."""
    return options.verbose or (not options.quiet and sys.stderr.isatty())
