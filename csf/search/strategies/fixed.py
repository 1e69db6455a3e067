"""Strategies whose costs do not depend on results: levels or ratios in equal steps, and the ratio of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from csf._common.validation import check_bool, check_count
from csf.search.strategies.base import SAME, Proposal, Strategy, balanced_level, level_of_costs, tried_levels

if TYPE_CHECKING:
    from csf.evaluate.trials import Trial
    from csf.metrics.base import Metric

__all__ = [
    "Grid",
    "ImbalanceRatio",
    "Ladder",
]


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


# Classes of nearly the same size leave no ratio to climb to; the top is then this far from equal costs.
_LEAST_TOP = 3.0
# Ratios of costs closer than this (relative) are the same step.
_SAME = 1e-9


@dataclass(frozen=True)
class Ladder(Strategy):
    """Ratios ``c_fn : c_fp`` in equal steps of their logarithm, from 1 to the one that balances the classes.

    Equal costs come first, then the other ratios in an order in which each one is far from those before it, so that a
    search that is ended early has seen the whole range. The ratios do not depend on the metric: with a tuned threshold,
    costs act through the direction of the model, and for that their ratio is what counts. F-beta, Jaccard and the
    G-mean have their best levels between these two ends.

    Parameters
    ----------
    size : int, default=6
        Number of ratios, equal costs and balancing ones among them.
    race : bool, default=True
        Whether settings of ``param_grid`` that are behind with equal costs drop out of a `csf.CostSearch`, see there;
        ``False`` trains all of them at all ratios.

    Notes
    -----
    The top is at least 3 (at most 1/3 where positives are the majority). Costs add up to 2.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Ladder().propose([], metric=FBeta(), pos=0.2)
    Proposal(t=None, c_fn=1.0, c_fp=1.0)
    >>> [round(step, 1) for step in _order(6)]
    [0.0, 1.0, 0.6, 0.8, 0.4, 0.2]
    """

    size: int = 6
    race: bool = True

    def __post_init__(self) -> None:
        check_count(self.size, "size")
        check_bool(self.race, "race")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """First ratio that was not tried, see `Strategy.propose`."""
        tried = [math.log(trial.c_fn / trial.c_fp) for trial in trials if trial.c_fn > 0 and trial.c_fp > 0]
        for step in _order(self.size):
            ratio = _top(pos) * step
            if all(abs(ratio - other) > _SAME * max(1.0, abs(ratio)) for other in tried):
                c_fp = 2.0 / (1.0 + math.exp(ratio))
                costs = 2.0 - c_fp, c_fp
                return Proposal(level_of_costs(metric, *costs, pos=pos), *costs)
        return None

    def most_trials(self, n_trials: int) -> int:
        """One for each ratio, see `Strategy.most_trials`."""
        return min(n_trials, self.size)

    def only_equal(self, *, pos: float) -> str:
        """Its size, see `Strategy.only_equal`."""
        return "its only ratio is that of equal costs; strategy=Ladder(3) tries others"


@dataclass(frozen=True)
class OnlyEqualCosts(Ladder):
    """Equal costs alone, and ``why`` there are no others."""

    size: int = 1
    why: str = ""

    def only_equal(self, *, pos: float) -> str:
        """What it was made with, see `Strategy.only_equal`."""
        return self.why

    @property
    def name(self) -> str:
        """``"equal_costs"``."""
        return "equal_costs"


def _top(pos: float) -> float:
    """Logarithm of the largest ratio."""
    balance = math.log1p(-pos) - math.log(pos)
    return math.copysign(max(abs(balance), math.log(_LEAST_TOP)), balance)


def _order(size: int) -> list[float]:
    """Rungs from 0 to 1: both ends, then always the one that is farthest from those before (the higher of equals)."""
    steps = [at / max(size - 1, 1) for at in range(size)]
    order = steps[:1]
    left = steps[1:]
    while left:
        step = max(left, key=lambda at: (round(min(abs(at - other) for other in order), 9), at))
        order.append(step)
        left.remove(step)
    return order


@dataclass(frozen=True)
class ImbalanceRatio(Strategy):
    """One trial in which each class costs the share of the other one: ``c_fn = 1 - pos``, ``c_fp = pos``.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> ImbalanceRatio().propose([], metric=FBeta(), pos=0.1)
    Proposal(t=0.2, c_fn=0.9, c_fp=0.1)
    """

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """The balanced costs, once, see `Strategy.propose`."""
        if trials:
            return None
        return Proposal(balanced_level(metric, pos=pos), 1.0 - pos, pos)

    def most_trials(self, n_trials: int) -> int:
        """A single one, see `Strategy.most_trials`."""
        return 1

    @property
    def name(self) -> str:
        """``"imbalance_ratio"``."""
        return "imbalance_ratio"
