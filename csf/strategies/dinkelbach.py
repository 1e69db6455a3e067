"""Dinkelbach's iteration: aim at the best value seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf._common.validation import check_number
from csf.strategies.base import Strategy, balanced_level, require_levels, tried_levels

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Proposal
    from csf.trials import Trial


__all__ = ["Dinkelbach"]


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
