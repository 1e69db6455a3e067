"""Small studies and searches that all displays are tested on."""

from displays import (
    _same_style,
    concave_search,
    data,
    grid_search,
    guide,
    search,
    study,
    unfitted,
    without_csf,
)

__all__ = [
    "_same_style",
    "concave_search",
    "data",
    "grid_search",
    "guide",
    "search",
    "study",
    "unfitted",
    "without_csf",
]
