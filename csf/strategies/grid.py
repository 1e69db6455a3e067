"""Parambath's grid: levels at equal distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from csf._common.validation import check_count
from csf.strategies.base import SAME, Strategy, tried_levels

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Proposal
    from csf.trials import Trial


__all__ = ["Grid"]


@dataclass(frozen=True)
class Grid(Strategy):
    """Levels in the middles of ``size`` equal parts of the range, from low to high.

    Parameters
    ----------
    size : int, default=None
        Number of levels; ``None`` takes the number of trials of the search.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Grid(size=5).propose([], metric=FBeta(), pos=0.1)
    0.1
    """

    size: int | None = None

    batch_size = None

    def __post_init__(self) -> None:
        if self.size is not None:
            check_count(self.size, "size")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """First level of the grid that was not tried, see `Strategy.propose`."""
        size = 10 if self.size is None else self.size
        lo, hi = metric.range(pos)
        levels = lo + (np.arange(size) + 0.5) * (hi - lo) / size
        tried = np.array([-np.inf, *tried_levels(trials), np.inf])
        above = np.searchsorted(tried, levels)
        free = np.minimum(levels - tried[above - 1], tried[above] - levels) > SAME * (hi - lo)
        return float(levels[np.argmax(free)]) if free.any() else None

    def most_trials(self, n_trials: int) -> int:
        """One for each level, see `Strategy.most_trials`."""
        return n_trials if self.size is None else min(n_trials, self.size)

    def with_budget(self, n_trials: int) -> Strategy:
        """A grid of ``n_trials`` levels unless its size was given, see `Strategy.with_budget`."""
        return self if self.size is not None else replace(self, size=n_trials)
