"""Strategies that choose the next training: pure functions of the trials so far, and a registry of their names."""

from __future__ import annotations

from collections.abc import Callable

from csf._common.messages import look_up
from csf.strategies.base import EqualCostsFirst, FunctionStrategy, Proposal, Strategy
from csf.strategies.named import (
    Bisection,
    Cone,
    Dinkelbach,
    GoldenSection,
    Grid,
    ImbalanceRatio,
    Ladder,
    Support,
)

__all__ = [
    "Bisection",
    "Cone",
    "Dinkelbach",
    "EqualCostsFirst",
    "FunctionStrategy",
    "GoldenSection",
    "Grid",
    "ImbalanceRatio",
    "Ladder",
    "Proposal",
    "STRATEGIES",
    "Strategy",
    "Support",
    "get_strategy",
]


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "cone": Cone,
    "grid": Grid,
    "bisection": Bisection,
    "dinkelbach": Dinkelbach,
    "imbalance_ratio": ImbalanceRatio,
    "support": Support,
    "golden_section": GoldenSection,
    "ladder": Ladder,
}


def get_strategy(strategy: str | Strategy | Callable[..., float | Proposal | None]) -> Strategy:
    """Return the strategy of a name or function, or the object itself.

    Parameters
    ----------
    strategy : str, Strategy or callable
        A name in ``STRATEGIES``, an object, or a function ``f(trials, *, metric, pos)``.

    Returns
    -------
    Strategy
        The strategy.

    Raises
    ------
    ValueError
        If the name is unknown.
    TypeError
        If it is none of the three.

    Examples
    --------
    >>> get_strategy("grid")
    Grid(size=None)
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str):
        return look_up(strategy, STRATEGIES, "strategy", "a Strategy object, or a function f(trials, *, metric, pos)")()
    if callable(strategy) and not isinstance(strategy, type):
        return FunctionStrategy(strategy)
    raise TypeError(
        f"strategy must be a name ({', '.join(STRATEGIES)}), a Strategy object or a function, got {strategy!r}"
    )
