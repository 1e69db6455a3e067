"""Which samples a draw holds, and how often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from csf._common.typing import Array, IntArray
from csf.resampling._kernels import count_drawn

__all__ = ["LARGE", "bootstrap_counts", "draws_at_once", "partition_counts"]

# So many samples leave chance little say: fewer partitions and draws do.
LARGE = 10_000
# Bytes of the draws that are held at once, and the fewest and most of these: compiled loops go through a row of them.
_BYTES, _FEWEST, _MOST_DRAWS = 1 << 24, 4, 32
# Drawing how often a unit is drawn takes as long as drawing so many samples.
_SAMPLES_OF_A_NUMBER = 25
# Counts of so many samples in draws of all fit a byte but for one draw in 1e50.
_FEW_COPIES = 64


def draws_at_once(n_entries: int, itemsize: int = 1) -> int:
    """Number of draws that are made or summed at once, from 4 to 32: 16 MB at most where 4 draws take no more."""
    return min(max(_BYTES // max(n_entries * itemsize, 1), _FEWEST), _MOST_DRAWS)


def bootstrap_counts(copies: IntArray, n_draws: int, random_state: int | Sequence[int]) -> Iterator[Array]:
    """How often each unit is drawn by bootstrap draws of as many samples as there are, some draws at a time.

    A draw is the same whatever number of them follows.
    """
    rng = np.random.default_rng([*np.atleast_1d(random_state), 0])
    size, n_samples, kind = draws_at_once(copies.size), int(copies.sum()), _kind(copies)
    few = n_samples > max(_SAMPLES_OF_A_NUMBER * copies.size, LARGE)
    # Unit of each sample.
    units = np.repeat(np.arange(copies.size, dtype=np.int32), copies)
    most = np.iinfo(kind).max
    for start in range(0, n_draws, size):
        n_rows = min(size, n_draws - start)
        if few:
            # How often each of a few units is drawn, at once.
            yield np.minimum(rng.multinomial(n_samples, copies / n_samples, n_rows), most).astype(kind).T
            continue
        # A draw after the other in memory: writing them side by side would take longer than drawing.
        counts = np.zeros((n_rows, copies.size), dtype=kind)
        for row in counts:
            # The same numbers as in eight bytes each, in a third of the time.
            drawn = rng.integers(0, n_samples, n_samples, dtype=np.int32 if n_samples < 1 << 31 else np.int64)
            count_drawn(drawn, units, row, most)
        yield counts.T


def partition_counts(kinds: Array, copies: IntArray, n_parts: int, random_state: int) -> Iterator[Array]:
    """Random partitions of the samples, stratified by class, without end: a draw holds all parts of one but one.

    Each, of shape (n_units, n_parts), says how many samples of each unit a draw holds.
    """
    rng = np.random.default_rng([random_state, 1])
    every = np.unique(kinds)[::-1]
    classes = [np.repeat(units, copies[units]) for units in (np.flatnonzero(kinds == kind) for kind in every)]
    while True:
        counts = np.empty((n_parts, copies.size), dtype=_kind(copies))
        counts[:] = copies
        for samples in classes:
            # Where the dealing starts is random too, so that no part is always the larger one.
            part = (np.arange(samples.size) + rng.integers(n_parts)) % n_parts
            left_out = np.bincount(part * copies.size + rng.permutation(samples), minlength=counts.size)
            counts -= left_out.reshape(counts.shape).astype(counts.dtype)
        yield counts.T


def _kind(copies: IntArray) -> type[np.unsignedinteger]:
    """Type of counts: bytes where no draw will ever hold more of a unit."""
    return np.uint8 if copies.max(initial=0) <= _FEW_COPIES else np.uint32
