"""How much better the metric could still get, from the trials that are there."""

from csf.search.bounds.base import Bound, known_profiles
from csf.search.bounds.cone import Cone, ConeBound, DiagonalBound, ParambathBound
from csf.search.bounds.registry import BOUNDS, get_bound, upper_bound
from csf.search.bounds.support_line import SupportLineBound

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
