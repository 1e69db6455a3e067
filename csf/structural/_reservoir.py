"""Uniform sample of rows of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import FloatArray
from csf.structural._rows import stack_rows

if TYPE_CHECKING:
    from csf.structural._rows import Rows

__all__ = ["Reservoir"]


class Reservoir:
    """Each row that was added is kept with the same probability."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: Rows | None = None
        self.n_kept = 0
        self.n_seen = 0

    def add(self, rows: Rows, random: FloatArray) -> None:
        """Add rows, given a uniform random number in [0, 1) for each."""
        number = self.n_seen + np.arange(1, random.size + 1)
        place = np.where(number <= self.size, number - 1, (random * number).astype(np.int64))
        kept = np.flatnonzero(place < self.size)
        self.n_seen += random.size
        if kept.size == 0:
            return
        n_before = self.n_kept
        self.n_kept = min(self.size, self.n_seen)
        source = np.arange(self.n_kept)
        for k in kept:  # in order: a later row takes the place of an earlier one
            source[place[k]] = n_before + k
        parts = [rows] if self.rows is None else [self.rows, rows]
        self.rows = stack_rows(parts).take(source).copy()
