"""Equal costs first, so that there is something to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

from csf.strategies.base import Proposal, Strategy
from csf.trials import same_costs

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.metrics.base import Metric
    from csf.trials import Trial


__all__ = ["NeutralFirst"]


@dataclass(frozen=True)
class NeutralFirst(Strategy):
    """Equal costs, then the proposals of another strategy.

    Parameters
    ----------
    strategy : Strategy
        What to do next; it does not see the first trial unless it asks for equal costs itself. Of a `NeutralFirst`
        only what it does next is taken.

    Examples
    --------
    >>> from csf.strategies import Grid
    >>> NeutralFirst(Grid()).with_budget(11)
    NeutralFirst(strategy=Grid(size=10))
    """

    strategy: Strategy

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise TypeError(f"strategy must be a csf.strategies.Strategy object, got {self.strategy!r}")
        if isinstance(self.strategy, NeutralFirst):  # the inner one would propose equal costs for ever
            object.__setattr__(self, "strategy", self.strategy.strategy)

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Equal costs where they are missing, else what the other strategy says, see `Strategy.propose`."""
        others = [trial for trial in trials if trial.c_fn != trial.c_fp]
        if len(others) == len(trials):
            return Proposal(None, 1.0, 1.0)
        proposal = self.strategy.propose(others, metric=metric, pos=pos)
        level = proposal.t if isinstance(proposal, Proposal) else proposal
        costs = proposal if isinstance(proposal, Proposal) else _costs_at(proposal, metric, pos)
        if costs is not None and same_costs(costs[-2:], (1.0, 1.0)):
            # A strategy that asks for equal costs itself has to know that they were tried, and at its own level.
            known = [
                replace(trial, t=level) if trial.c_fn == trial.c_fp and trial.t is None else trial for trial in trials
            ]
            return self.strategy.propose(known, metric=metric, pos=pos)
        return proposal

    def with_budget(self, n_trials: int) -> Strategy:
        """The same with one trial less for the other strategy, see `Strategy.with_budget`."""
        return replace(self, strategy=self.strategy.with_budget(max(n_trials - 1, 1)))

    def most_trials(self, n_trials: int) -> int:
        """One more than the other strategy, see `Strategy.most_trials`."""
        return min(n_trials, 1 + self.strategy.most_trials(n_trials))

    def only_equal(self, *, pos: float) -> str:
        """As the other strategy, see `Strategy.only_equal`."""
        return self.strategy.only_equal(pos=pos)

    def check_metric(self, metric: Metric) -> None:
        """As the other strategy, see `Strategy.check_metric`."""
        self.strategy.check_metric(metric)

    @property
    def batch_size(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride] - only read
        """As the other strategy."""
        return self.strategy.batch_size

    @property
    def name(self) -> str:
        """Name of the other strategy."""
        return self.strategy.name


def _costs_at(level: object, metric: Metric, pos: float) -> Costs | None:
    """Costs of a proposed level; ``None`` of what is none, which the study refuses."""
    return metric.cost_weights(metric.clip_level(float(level), pos=pos), pos=pos) if isinstance(level, Real) else None
