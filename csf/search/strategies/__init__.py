"""Where to train next: pure functions of the trials so far."""

from csf.search.strategies import registry
from csf.search.strategies.base import EqualCostsFirst, Proposal, Strategy
from csf.search.strategies.registry import *  # noqa: F403 - a new strategy is listed in one file

__all__ = ["EqualCostsFirst", "Proposal", "Strategy"]
__all__ += registry.__all__
