"""The contract of a strategy: trials in, proposal out; functions as strategies, and equal costs first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from csf.metrics.trials import same_costs

if TYPE_CHECKING:
    from csf._common.typing import Costs
    from csf.metrics.base import Metric
    from csf.metrics.trials import Trial

# Name of a strategy, an object, or ``f(trials, *, metric, pos)``.
StrategyLike: TypeAlias = "str | Strategy | Callable[..., float | Proposal | None]"
# Levels closer than this share of the range count as the same level.
SAME = 1e-9


class Proposal(NamedTuple):
    """Costs that a strategy asks for directly, where no level of the metric gives them."""

    t: float | None
    c_fn: float
    c_fp: float


class Strategy(ABC):
    """Strategy that decides at which level to train next, from the trials alone.

    A strategy keeps no state: the same trials, in any order, give the same proposal. Pending trials (asked for and
    not yet answered) are part of the history.

    Attributes
    ----------
    batch_size : int or None
        How many proposals may be pending at once; ``None`` means any number. It belongs to the strategy, not to
        the number of workers, so that a search gives the same result however it is run.

    Examples
    --------
    >>> class Halves(Strategy):
    ...     def propose(self, trials, *, metric, pos):
    ...         return 0.5 ** (len(trials) + 1)
    >>> Halves().propose([], metric=None, pos=0.1)
    0.5
    """

    batch_size: int | None = 1

    @abstractmethod
    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the next level to train at.

        Parameters
        ----------
        trials : sequence of Trial
            Everything tried so far: complete, failed and pending trials, in any order.
        metric : Metric
            What is maximised.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float, Proposal or None
            A level in ``metric.range(pos)``, costs that belong to no level, or ``None`` when the strategy is done.
        """

    def with_budget(self, n_trials: int) -> Self:
        """Return the strategy adapted to a given number of trials.

        Parameters
        ----------
        n_trials : int
            Largest number of trials.

        Returns
        -------
        Strategy
            ``self`` unless the budget matters to the strategy.
        """
        return self

    def most_trials(self, n_trials: int) -> int:
        """Return the largest number of trials that the strategy asks for.

        Parameters
        ----------
        n_trials : int
            Largest number of trials of the search.

        Returns
        -------
        int
            ``n_trials`` unless the strategy has fewer costs to offer.
        """
        return n_trials

    def only_equal(self, *, pos: float) -> str:
        """Explain why the strategy has no costs other than equal ones, where it asked for no others.

        Parameters
        ----------
        pos : float
            Share of positives.

        Returns
        -------
        str
            The end of a sentence.
        """
        return f"at a share of positives of {pos:.4g} it has equal costs only"

    def check_metric(self, metric: Metric) -> None:  # noqa: B027 - most strategies serve every metric
        """Raise a TypeError if the strategy does not support ``metric``.

        Parameters
        ----------
        metric : Metric
            What is to be maximised.
        """

    @property
    def name(self) -> str:
        """Short name for tables and plots."""
        return type(self).__name__.lower()


def has_one_ratio(metric: Metric, *, pos: float) -> bool:
    """Check whether costs have the same ratio at every level, so that levels carry no information (as for accuracy)."""
    lo, hi = metric.range(pos)
    low, high = (metric.cost_weights(lo + share * (hi - lo), pos=pos) for share in (0.25, 0.75))
    return same_costs(low, high)


def tried_levels(trials: Sequence[Trial]) -> list[float]:
    """Return the sorted levels of all trials that have one, whatever their state."""
    return sorted(trial.t for trial in trials if trial.t is not None)


def level_of_costs(metric: Metric, c_fn: float, c_fp: float, *, pos: float) -> float | None:
    """Find the level of a metric at which costs have a given ratio; return ``None`` if there is none."""
    lo, hi = metric.range(pos)
    (a_fn, a_fp), (b_fn, b_fp) = (metric.cost_weights(t, pos=pos) for t in (lo, hi))
    # Costs are affine in t, so this difference is too, and crosses zero at most once.
    at_lo, at_hi = a_fn * c_fp - a_fp * c_fn, b_fn * c_fp - b_fp * c_fn
    if at_lo == at_hi:
        return None
    share = at_lo / (at_lo - at_hi)
    return lo + share * (hi - lo) if 0.0 < share < 1.0 else None


def balanced_level(metric: Metric, *, pos: float) -> float | None:
    """Find the level where costs balance the classes, ``c_fn : c_fp = (1 - pos) : pos``; see `level_of_costs`."""
    return level_of_costs(metric, 1.0 - pos, pos, pos=pos)


@dataclass(frozen=True)
class FunctionStrategy(Strategy):
    """Strategy from a function of the trials that returns the next level.

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
        """Return the proposal of the function, see `Strategy.propose`."""
        return self.function(trials, metric=metric, pos=pos)

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)


@dataclass(frozen=True)
class EqualCostsFirst(Strategy):
    """Strategy of equal costs first, then of the proposals of another strategy.

    Parameters
    ----------
    strategy : Strategy
        What to do next; it does not see the first trial unless it asks for equal costs itself. Of a `EqualCostsFirst`
        only what it does next is taken.

    Examples
    --------
    >>> from csf.strategies import Grid
    >>> EqualCostsFirst(Grid()).with_budget(11)
    EqualCostsFirst(strategy=Grid(size=10))
    """

    strategy: Strategy

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise TypeError(f"strategy must be a csf.strategies.Strategy object, got {self.strategy!r}")
        if isinstance(self.strategy, EqualCostsFirst):  # the inner one would propose equal costs for ever
            object.__setattr__(self, "strategy", self.strategy.strategy)

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose equal costs where they are missing, else ask the other strategy, see `Strategy.propose`."""
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
        """Return the strategy with one trial fewer for the other one, see `Strategy.with_budget`."""
        return replace(self, strategy=self.strategy.with_budget(max(n_trials - 1, 1)))

    def most_trials(self, n_trials: int) -> int:
        """Return one more than the other strategy does, see `Strategy.most_trials`."""
        return min(n_trials, 1 + self.strategy.most_trials(n_trials))

    def only_equal(self, *, pos: float) -> str:
        """Return the explanation of the other strategy, see `Strategy.only_equal`."""
        return self.strategy.only_equal(pos=pos)

    def check_metric(self, metric: Metric) -> None:
        """Check the metric by the other strategy, see `Strategy.check_metric`."""
        self.strategy.check_metric(metric)

    @property
    def batch_size(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride] - only read
        """Batch size of the other strategy."""
        return self.strategy.batch_size

    @property
    def name(self) -> str:
        """Name of the other strategy."""
        return self.strategy.name


def _costs_at(level: object, metric: Metric, pos: float) -> Costs | None:
    """Return the costs of a proposed level; ``None`` for an invalid level, which the study refuses."""
    return metric.cost_weights(metric.clip_level(float(level), pos=pos), pos=pos) if isinstance(level, Real) else None
