"""A function of the user's own as a strategy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf.strategies.base import Strategy

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Proposal
    from csf.trials import Trial


__all__ = ["FunctionStrategy"]


@dataclass(frozen=True)
class FunctionStrategy(Strategy):
    """A function of the trials that returns the next level.

    Parameters
    ----------
    function : callable
        ``function(trials, *, metric, pos)``, returning a level or ``None`` when it is done.

    Examples
    --------
    >>> def thirds(trials, *, metric, pos):
    ...     levels = [1 / 3, 2 / 3]
    ...     return levels[len(trials)] if len(trials) < 2 else None
    >>> FunctionStrategy(thirds).propose([], metric=None, pos=0.1)
    0.333
    """

    function: Callable[..., float | Proposal | None]

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """What the function returns, see `Strategy.propose`."""
        return self.function(trials, metric=metric, pos=pos)

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)
