"""Which samples a draw holds, and how often."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from csf._common.typing import Array, BoolArray
from csf.resampling._kernels import count_drawn

__all__ = ["bootstrap_counts", "draws_at_once", "partition_counts"]

# Bytes of the draws that are held at once, and the fewest and most of these: compiled loops go through a row of them.
_BYTES, _FEWEST, _MOST_DRAWS = 1 << 24, 4, 32


def draws_at_once(n_entries: int, itemsize: int = 1) -> int:
    """Number of draws that are made or summed at once, so that they take 16 MB at most where 4 draws do.

    Parameters
    ----------
    n_entries : int
        Number of entries of a draw.
    itemsize : int, default=1
        Bytes of an entry.

    Returns
    -------
    int
        From 4 to 32.

    Examples
    --------
    >>> draws_at_once(1000), draws_at_once(1_000_000), draws_at_once(100_000_000)
    (32, 16, 4)
    """
    return min(max(_BYTES // max(n_entries * itemsize, 1), _FEWEST), _MOST_DRAWS)


def bootstrap_counts(n_samples: int, n_draws: int, random_state: int) -> Iterator[Array]:
    """Bootstrap samples: each draw takes as many samples as there are, with replacement.

    Parameters
    ----------
    n_samples, n_draws : int
        Numbers of samples and of draws.
    random_state : int
        Seed.

    Yields
    ------
    ndarray of uint8, shape (n_samples, n_of_these_draws)
        How often each draw holds each sample, some draws at a time. Draws are the same whatever number of them
        follows.

    Examples
    --------
    >>> [counts.sum(axis=0) for counts in bootstrap_counts(3, 2, random_state=0)]
    [array([3, 3], dtype=uint64)]
    """
    rng = np.random.default_rng([random_state, 0])
    size = draws_at_once(n_samples)
    for start in range(0, n_draws, size):
        # A draw after the other in memory: writing them side by side would take longer than drawing.
        counts = np.zeros((min(size, n_draws - start), n_samples), dtype=np.uint8)
        for row in counts:
            count_drawn(rng.integers(0, n_samples, n_samples), row)
        yield counts.T


def partition_counts(is_pos: BoolArray, n_parts: int, n_repeats: int, random_state: int) -> Array:
    """Random partitions, stratified by class: each draw holds all parts of one partition but one.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_samples,)
        Class of each sample.
    n_parts, n_repeats : int
        Parts of a partition, and number of partitions.
    random_state : int
        Seed.

    Returns
    -------
    ndarray of uint8, shape (n_samples, n_parts * n_repeats)
        1 where a draw holds a sample, 0 where it is left out. Draws of one partition follow one another: each sample
        is left out by one of them.

    Examples
    --------
    >>> counts = partition_counts(np.arange(6) < 3, 3, 1, random_state=0)
    >>> (counts == 0).sum(axis=1)
    array([1, 1, 1, 1, 1, 1])
    """
    rng = np.random.default_rng([random_state, 1])
    classes = [np.flatnonzero(is_pos), np.flatnonzero(~is_pos)]
    counts = np.ones((n_repeats, n_parts, is_pos.size), dtype=np.uint8)
    for repeat in range(n_repeats):
        for samples in classes:
            # Where the dealing starts is random too, so that no part is always the larger one.
            part = (np.arange(samples.size) + rng.integers(n_parts)) % n_parts
            counts[repeat, part, rng.permutation(samples)] = 0
    return counts.reshape(-1, is_pos.size).T
