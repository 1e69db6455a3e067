"""Studies of two classes as a search begins them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csf.search.defaults import strategy_of
from csf.strategies import NeutralFirst
from csf.study import Study

if TYPE_CHECKING:
    from csf.search.config import SearchConfig

__all__ = ["make_studies"]


def make_studies(config: SearchConfig, n_settings: int, *, pos: float, fast: bool, rounds: bool = False) -> list[Study]:
    """One study for each setting, without trials."""
    strategy = strategy_of(config.strategy, fast=fast, rounds=rounds)
    # The gain rule compares with equal costs, so these have to be among the trials.
    strategy = strategy if config.min_gain is None else NeutralFirst(strategy)
    options = {"pos": pos, "n_trials": config.n_trials, "tol": config.tol, "bound": config.bound}
    return [Study(config.aim, strategy, **options) for _ in range(n_settings)]
