"""How much better the metric could still get, from the trials that are there."""

from csf.bounds.base import Bound, known_profiles
from csf.bounds.cone import Cone, ConeBound, DiagonalBound, ParambathBound
from csf.bounds.registry import BOUNDS, get_bound, upper_bound
from csf.bounds.support_line import SupportLineBound

__all__ = [
    "BOUNDS",
    "Bound",
    "Cone",
    "ConeBound",
    "DiagonalBound",
    "ParambathBound",
    "SupportLineBound",
    "get_bound",
    "known_profiles",
    "upper_bound",
]
