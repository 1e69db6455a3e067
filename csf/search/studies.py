"""Studies of two classes as a search begins them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csf._common.messages import warn
from csf.search.defaults import strategy_of
from csf.strategies import EqualCostsFirst, Ladder
from csf.study import Study

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.search.config import SearchConfig
    from csf.search.defaults import Pace

__all__ = ["make_studies", "warn_of_trivial"]

# A demand that the trivial answer does not keep, for each of them.
_WAYS_OUT = {"positive": "precision >= 0.8", "negative": "recall >= 0.8"}


def make_studies(config: SearchConfig, n_settings: int, *, pos: float, pace: Pace) -> list[Study]:
    """One study for each setting, without trials."""
    warn_of_trivial(config.aim, pos)
    strategy = strategy_of(config.strategy, pace)
    # The gain rule compares with equal costs, so these have to be among the trials; a ladder begins with them.
    begins_equal = config.min_gain is None or isinstance(strategy, Ladder)
    strategy = strategy if begins_equal else EqualCostsFirst(strategy)
    options = {"pos": pos, "n_trials": config.n_trials, "tol": config.tol, "bound": config.bound}
    return [Study(config.aim, strategy, **options) for _ in range(n_settings)]


def warn_of_trivial(metric: Metric, pos: float) -> None:
    """Tell where a search has nothing to find: the same answer to every sample is best."""
    answer = metric.trivial_answer(pos=pos)
    if answer is not None:
        warn(
            f"{metric.name} is largest where every sample is predicted {answer}, whatever the base has learnt, and "
            "that is what a search for it finds; add a constraint that this violates, such as "
            f"constraint={_WAYS_OUT[answer]!r}, or maximise a metric that counts both errors, such as 'f1'"
        )
