"""The file of a state: it is read before each change and written after it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeAlias

from csf._common.files import locked, read_record, write_record
from csf._common.typing import Keywords, PathLike

# Values that JSON can hold, by their names; of a file they are still to be checked.
State: TypeAlias = Keywords


class Recorded(ABC):
    """A state with a file, or without one."""

    path: PathLike | None
    # Kind and version of the file; another version wherever the content changes.
    _record: tuple[str, int]

    def save(self, path: PathLike) -> None:
        """Save the state to a JSON file of some kilobytes, in one step.

        Parameters
        ----------
        path : path-like
            File to write; ``search.monitor(..., path=path)`` reads it.
        """
        write_record(path, *self._record, self._content())

    @contextmanager
    def _saved(self) -> Iterator[None]:
        """Start from the state of the file, and write it after the block; where one fails, nothing changes."""
        before = self._content()
        with nullcontext() if self.path is None else locked(self.path):
            try:
                self._resume()
                yield
                if self.path is not None:
                    self.save(self.path)
            except BaseException:
                self._restore(before, self.path)
                raise

    def _resume(self) -> None:
        """Restore the state of the file, where there is one."""
        if self.path is not None and os.path.exists(self.path):
            self._restore(read_record(self.path, *self._record), self.path)

    @abstractmethod
    def _content(self) -> State:
        """Return what identifies the state, and the state, as JSON can hold it."""

    @abstractmethod
    def _restore(self, content: State, path: object) -> None:
        """Set the state that `_content` returned; raise a ValueError where it is something else."""
