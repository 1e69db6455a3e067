"""How much better the metric could still get, from the trials that are there."""

from csf.search.bounds import (
    BOUNDS,
    Bound,
    Cone,
    ConeBound,
    DiagonalBound,
    ParambathBound,
    SupportLineBound,
    get_bound,
    known_profiles,
    upper_bound,
)

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
