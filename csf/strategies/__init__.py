"""Where to train next: pure functions of the trials so far."""

from csf.strategies import registry
from csf.strategies.base import EqualCostsFirst, Proposal, Strategy
from csf.strategies.registry import *  # noqa: F403 - a new strategy is listed in one file

__all__ = ["EqualCostsFirst", "Proposal", "Strategy"]
__all__ += registry.__all__
