"""Held-out scores in the file of a checkpoint, as long as they are small enough to be written after each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf.resampling import ScoreRow
from csf.search.states import decode, encode

if TYPE_CHECKING:
    from csf.resampling import ScoreStore, TrialKey


__all__ = ["ScoreFile"]

# Bytes of all scores in a file; of more, the trainings that gave them are repeated.
_LARGEST = 1 << 24


class ScoreFile:
    """Plain description of a store, which keeps what it has described already.

    Parameters
    ----------
    store : ScoreStore
        The scores.
    """

    def __init__(self, store: ScoreStore) -> None:
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

    def restore(self, record: list[Any] | None) -> bool:
        """Fill the store from a file.

        Parameters
        ----------
        record : list or None
            As `to_record` returns it.

        Returns
        -------
        bool
            ``False`` where the file holds no scores.
        """
        if record is None:
            return False
        n_dropped, rows = record
        for key, score, decided, lost, *rest in rows:
            row = ScoreRow(tuple(key), *(decode(part) for part in (score, decided, lost, *rest)))
            self.store.put(row)
        self.store.n_dropped = n_dropped
        return True


def _text(row: ScoreRow) -> list[Any]:
    """Plain description of a row; an infinite threshold is no number of JSON."""
    threshold = None if row.threshold is None else encode(np.float64(row.threshold))
    parts = [encode(part) for part in (row.score, row.decided, row.lost)]
    return [list(row.key), *parts, threshold, row.value, row.violation, row.neutral]
