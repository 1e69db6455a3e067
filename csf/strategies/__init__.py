"""Where to train next: pure functions of the trials so far."""

from csf.strategies.base import Proposal, Strategy
from csf.strategies.bisection import Bisection
from csf.strategies.cone import Cone
from csf.strategies.dinkelbach import Dinkelbach
from csf.strategies.function import FunctionStrategy
from csf.strategies.grid import Grid
from csf.strategies.imbalance_ratio import ImbalanceRatio
from csf.strategies.neutral_first import NeutralFirst
from csf.strategies.registry import STRATEGIES, get_strategy
from csf.strategies.support import Support

__all__ = [
    "STRATEGIES",
    "Bisection",
    "Cone",
    "Dinkelbach",
    "FunctionStrategy",
    "Grid",
    "ImbalanceRatio",
    "NeutralFirst",
    "Proposal",
    "Strategy",
    "Support",
    "get_strategy",
]
