"""Shares of classes or labels as a user gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from csf._common.typing import Array
from csf._common.validation import floats

__all__ = ["in_order"]


def in_order(shares: Mapping[Any, float], names: Sequence[Any]) -> Array:
    """Shares that are given by name, in the order of the names; a ValueError where they are those of others."""
    if set(shares) != set(names):
        raise ValueError(f"pos must have a share for each of {list(names)}, got those of {list(shares)}")
    return floats([shares[name] for name in names], "pos")
