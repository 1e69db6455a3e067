"""A limit of the evidence that is lower than 1 / alpha: it holds for a number of batches, and not for ever."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from csf._common.typing import Array
from csf.monitoring.bets import log_capital_of, log_opened

# Streams that are simulated at the level.
_STREAMS = 10_000


def log_limits(counts: Sequence[int], share: float, growth: Array, alpha: float, weeks: int) -> Array:
    """Compute the logarithm of the capital that is an alarm after each batch.

    The probability of an alarm while the level is kept grows evenly with the batches, to ``alpha`` after ``weeks`` of
    them (alpha spending [1]_). How many samples a batch counts may vary, and need not be known beforehand: streams at
    the level are simulated with the counts so far.

    Parameters
    ----------
    counts : sequence of int
        Samples that each batch counted.
    share : float
        Share of ones among them at the level.
    growth : ndarray of shape (2, n_stakes)
        What a one, and a zero, adds to the logarithm of each bet's capital.
    alpha : float
        Probability of an alarm.
    weeks : int
        Number of batches.

    Returns
    -------
    ndarray of shape (n_batches,)
        The logarithms, infinite where no capital is an alarm yet.

    References
    ----------
    .. [1] K. K. G. Lan, D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983.
    """
    rng = np.random.default_rng(0)
    mixed, alive, before = np.full((_STREAMS, growth.shape[1]), -np.inf), np.ones(_STREAMS, dtype=bool), 0
    limits = np.full(len(counts), np.inf)
    for batch, count in enumerate(counts, 1):
        ones = rng.binomial(count, share, _STREAMS)
        mixed = np.logaddexp(mixed, log_opened(before, before + count))
        mixed += np.column_stack([ones, count - ones]) @ growth
        before += count
        capital = np.where(alive, log_capital_of(mixed, before), -np.inf)
        expected = min(alpha * batch / weeks, 1.0) * _STREAMS
        # A standard error less, for the chance in the simulation.
        more = int(expected - np.sqrt(expected)) - np.count_nonzero(~alive)
        largest = np.sort(capital)[::-1]
        # Equal capitals are above the limit together, or none of them is.
        if 0 < more < _STREAMS:
            limits[batch - 1] = min(largest[:more][largest[:more] > largest[more]], default=np.inf)
        alive &= capital < limits[batch - 1]
    return limits
