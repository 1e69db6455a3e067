"""Which samples a draw holds, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, IntArray
from csf.resampling._kernels import count_drawn

if TYPE_CHECKING:
    from csf.resampling.units import Units

__all__ = ["LARGE", "LeftOut", "bootstrap_counts", "draws_at_once", "judge_left_out", "partition_counts"]

# So many samples leave chance little say: fewer partitions and draws do.
LARGE = 10_000
# Bytes of the draws that are held at once, and the fewest and most of these: compiled loops go through a row of them.
_BYTES, _FEWEST, _MOST_DRAWS = 1 << 24, 4, 32
# Drawing how often a unit is drawn takes as long as drawing so many samples.
_SAMPLES_OF_A_NUMBER = 25
# Counts of so many samples in draws of all fit a byte but for one draw in 1e50.
_FEW_COPIES = 64
# Partitions into three parts, a third of the samples left out each time: as many as leave so much to chance at most.
_PARTS, _PARTITIONS, _ENOUGH = 3, (4, 8, 16, 33), 0.002


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


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Decisions that were made on two thirds of the samples, judged on the third that is left out.

    Parameters
    ----------
    sums : ndarray of shape (n_partitions, 3, ...)
        What the metric is computed from, summed over each part that is left out.
    value : callable
        Metric of such sums; NaN where they lack a class.
    """

    sums: Array
    value: Callable[[Array], float]

    @property
    def corrected_score(self) -> float:
        """Metric of all parts that are left out, pooled."""
        return self.value(self.sums.sum(axis=(0, 1)))

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of `corrected_score`, because its partitions are a few of all there could be."""
        values = np.array([self.value(sums) for sums in self.sums.sum(axis=1)])
        known = values[~np.isnan(values)]
        return float(known.std(ddof=1) / np.sqrt(known.size)) if known.size > 1 else np.nan


def judge_left_out(
    units: Units, judge: Callable[[Array, int], Array], value: Callable[[Array], float], random_state: int
) -> LeftOut:
    """Judge decisions on left-out thirds, over as many partitions as the error of their mean asks for.

    ``judge(counts, first)`` decides on each draw of ``counts``, of shape (n_units, n_draws), which says how many
    samples of each unit it holds, and returns the sums of the samples that it leaves out, (n_draws, ...); ``first`` is
    the number of the first of them.
    """
    partitions = partition_counts(units.kinds, units.copies, _PARTS, random_state)
    found, done = None, 0
    for n_partitions in _PARTITIONS:
        counts = np.concatenate(list(islice(partitions, n_partitions - done)), axis=1)
        sums = judge(counts, _PARTS * done)
        sums = sums.reshape(-1, _PARTS, *sums.shape[1:])
        found = LeftOut(sums if found is None else np.concatenate([found.sums, sums]), value)
        done = n_partitions
        # The error is an estimate too: from a few partitions it may be far too small.
        if found.monte_carlo_error * (1.0 + 2.0 / np.sqrt(done - 1.0)) <= _ENOUGH:
            break
    assert found is not None, "there is at least one partition"
    return found


def _kind(copies: IntArray) -> type[np.unsignedinteger]:
    """Type of counts: bytes where no draw will ever hold more of a unit."""
    return np.uint8 if copies.max(initial=0) <= _FEW_COPIES else np.uint32
