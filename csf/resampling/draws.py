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
    size, unit, n_samples = draws_at_once(copies.size), _units(copies), int(copies.sum())
    for start in range(0, n_draws, size):
        # A draw after the other in memory: writing them side by side would take longer than drawing.
        counts = np.zeros((min(size, n_draws - start), copies.size), dtype=_kind(copies))
        for row in counts:
            # The same numbers as in eight bytes each, in a third of the time.
            drawn = rng.integers(0, n_samples, n_samples, dtype=np.int32 if n_samples < 1 << 31 else np.int64)
            count_drawn(drawn if unit is None else unit[drawn], row, np.iinfo(row.dtype).max)
        yield counts.T


def partition_counts(kinds: Array, copies: IntArray, n_parts: int, n_repeats: int, random_state: int) -> Array:
    """Random partitions of the samples, stratified by class: each draw holds all parts of one partition but one.

    What is returned, of shape (n_units, n_parts * n_repeats), is how many samples of each unit a draw holds. Draws of
    one partition follow one another: each sample is left out by one of them.
    """
    rng = np.random.default_rng([random_state, 1])
    counts = np.empty((n_repeats, n_parts, copies.size), dtype=_kind(copies))
    counts[:] = copies
    every = np.unique(kinds)[::-1]
    classes = [np.repeat(units, copies[units]) for units in (np.flatnonzero(kinds == kind) for kind in every)]
    for repeat in counts:
        for samples in classes:
            # Where the dealing starts is random too, so that no part is always the larger one.
            part = (np.arange(samples.size) + rng.integers(n_parts)) % n_parts
            left_out = np.bincount(part * copies.size + rng.permutation(samples), minlength=repeat.size)
            repeat -= left_out.reshape(repeat.shape).astype(repeat.dtype)
    return counts.reshape(-1, copies.size).T


def _units(copies: IntArray) -> IntArray | None:
    """Unit of each sample; ``None`` where they are the same."""
    return None if (copies == 1).all() else np.repeat(np.arange(copies.size, dtype=np.int32), copies)


def _kind(copies: IntArray) -> type[np.unsignedinteger]:
    """Type of counts: bytes where no draw will ever hold more of a unit."""
    return np.uint8 if copies.max(initial=0) <= _FEW_COPIES else np.uint32
