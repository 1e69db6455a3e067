"""Held-out scores in the file of a checkpoint, as long as they are small enough to be written after each trial."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from csf.search.states import decode, encode

if TYPE_CHECKING:
    from csf.resampling import TrialKey
    from csf.trials import Trial


__all__ = ["ScoreFile"]

# Bytes of all scores in a file; of more, the trainings that gave them are repeated.
_LARGEST = 1 << 24


class ScoreFile:
    """Plain description of a store, which keeps what it has described already.

    Parameters
    ----------
    store : ScoreStore or ClassStore
        The scores.
    """

    def __init__(self, store: Any) -> None:
        self.store = store
        self._texts: dict[TrialKey, list[Any]] = {}

    def to_record(self) -> list[Any] | None:
        """Plain description for a file.

        Returns
        -------
        list or None
            The rows and how many were dropped; ``None`` where they are too large.
        """
        rows = list(self.store)
        if sum(row.n_bytes for row in rows) > _LARGEST:
            return None
        self._texts = {row.key: self._texts.get(row.key) or _text(row) for row in rows}
        return [self.store.n_dropped, list(self._texts.values())]

    def restore(self, record: list[Any] | None, trials: Mapping[TrialKey, Trial]) -> bool:
        """Fill the store from a file, as it was when it got the trials; whether the file holds scores.

        A ValueError or the like where they cannot be those of the trials.
        """
        if record is None:
            return False
        n_dropped, rows = record
        complete = {key: trial for key, trial in trials.items() if trial.state == "complete"}
        if type(n_dropped) is not int or n_dropped < 0 or len(rows) + n_dropped != len(complete):
            raise ValueError(f"scores of {len(rows)} trials without {n_dropped!r} dropped ones, of {len(complete)}")
        for (setting, number), *parts in rows:
            arrays = [decode(part) for part in parts]
            self.store.check(arrays)
            self.store.hear((setting, number), complete.pop((setting, number)), *arrays)
        self.store.n_dropped = n_dropped
        return True


def _text(row: Any) -> list[Any]:
    """Plain description of a row: what its trial does not say itself."""
    return [list(row.key), *map(encode, row.arrays)]
