"""Strategies that move from level to level towards the best one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf._common.validation import check_number
from csf.evaluate.trials import Trial
from csf.metrics import LinearFractional, Metric
from csf.search.strategies.base import SAME, Strategy, balanced_level, require_levels, tried_levels

if TYPE_CHECKING:
    from csf.search.strategies.base import Proposal

__all__ = [
    "Bisection",
    "Dinkelbach",
    "GoldenSection",
]


@dataclass(frozen=True)
class Bisection(Strategy):
    """Halve the range of levels by the sign test of fractional programming.

    For an exact learner the model trained at t has a value of at least t exactly when some model has.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval, in units of the metric.

    References
    ----------
    .. [1] H. Narasimhan et al., "Consistent multiclass algorithms for complex performance measures", ICML 2015.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Bisection().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Middle of the interval that is left, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width = hi - lo
        # Levels that count as the same one cannot be distinguished by another training, whatever the tolerance.
        while hi - lo > max(self.tol, SAME * width):
            middle = 0.5 * (lo + hi)
            trained = metric.clip_level(middle, pos=pos)
            here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
            if not here:
                return middle
            # A failed training shows no model of this value.
            attained = any(t.value is not None and t.value >= middle for t in here)
            lo, hi = (middle, hi) if attained else (lo, middle)
        return None

    def check_metric(self, metric: Metric) -> None:
        """Bisection needs levels, see `Strategy.check_metric`."""
        require_levels(self, metric)


@dataclass(frozen=True)
class Dinkelbach(Strategy):
    """Train at the best value so far; with an exact learner the value rises until it is its own level.

    Parameters
    ----------
    tol : float, default=1e-4
        The strategy ends when the best value is this close to a tried level, in units of the metric.

    Notes
    -----
    It starts at the level that balances the classes (the middle of the range where there is none). With an exact
    learner it is Newton's method and takes a few trainings; with a real one it may stop early, at a level whose
    model is no better than its level says.

    References
    ----------
    .. [1] W. Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Dinkelbach().propose([], metric=FBeta(), pos=0.1)
    0.2
    """

    tol: float = 1e-4

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Best value seen, unless it was tried, see `Strategy.propose`."""
        values = [trial.value for trial in trials if trial.value is not None]
        tried = tried_levels(trials)
        if not values:
            balanced = balanced_level(metric, pos=pos)
            lo, hi = metric.range(pos)
            starts = ([] if balanced is None else [balanced]) + [0.5 * (lo + hi)]
            return next((t for t in starts if not self._close(t, tried)), None)
        t = metric.clip_level(max(values), pos=pos)
        return None if self._close(t, tried) else t

    def _close(self, t: float, tried: list[float]) -> bool:
        return any(abs(t - other) <= self.tol for other in tried)

    def check_metric(self, metric: Metric) -> None:
        """The best value must be a level, see `Strategy.check_metric`."""
        require_levels(self, metric)


# Share of an interval up to its inner level on the right: one of two inner levels serves the smaller interval again.
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class GoldenSection(Strategy):
    """Narrow down the level of the largest value, for values that rise with the level, then fall.

    With an exact learner, linear-fractional metrics and the G-mean and its kind are such functions of the level. Each
    training takes away 38 % of the levels left; all that is compared are values, so it serves every metric.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval of levels, as a share of the range.

    Notes
    -----
    Of two equal values of a linear-fractional metric the levels themselves say where the best one lies: above both
    where the values are. For other metrics the one at the lower level counts as better then. A failed training counts
    as the worst. A real learner is noisy: an interval that is given up does not come back. `Cone` and `Support` are
    safer then.

    References
    ----------
    .. [1] J. Kiefer, "Sequential minimax search for a maximum", Proceedings of the American Mathematical Society 4,
       1953.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> GoldenSection().propose([], metric=FBeta(), pos=0.1)
    0.382
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | None:
        """The inner level of the interval left that was not tried, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width, tells = hi - lo, isinstance(metric, LinearFractional)
        while hi - lo > max(self.tol, 4.0 * SAME) * width:
            left, right = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
            values = []
            for level in (left, right):
                trained = metric.clip_level(level, pos=pos)
                here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
                if not here:
                    return level
                values.append(max((t.attained for t in here if t.attained is not None), default=-math.inf))
            rises = values[1] > values[0] or (tells and values[0] == values[1] > right)
            lo, hi = (left, hi) if rises else (lo, right)
        return None

    @property
    def name(self) -> str:
        """``"golden_section"``."""
        return "golden_section"
