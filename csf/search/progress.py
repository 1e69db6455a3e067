"""The bar that grows with the trials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

__all__ = ["Progress"]


class Progress:
    """A progress bar, or nothing.

    Parameters
    ----------
    total, done : int
        Number of trials, and of those that are finished.
    shown : bool
        Whether there is a bar.
    """

    def __init__(self, *, total: int, done: int, shown: bool) -> None:
        self._bar: Any = None
        if shown:
            # Few look at bars, and everyone would wait for the import.
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, desc="csf", unit="trial")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def expect(self, total: int) -> None:
        """So many trials there will be at most, as far as is known now."""
        if self._bar is not None:
            self._bar.total = total

    def step(self, note: Callable[[], str]) -> None:
        """Count one more trial; the note is asked for where it is shown."""
        if self._bar is not None:
            self._bar.set_postfix_str(note(), refresh=False)
            self._bar.update()

    def finish(self) -> None:
        """All is done, although a strategy or a tolerance may have ended some studies early."""
        if self._bar is not None:
            self._bar.total = self._bar.n
