"""Sums of weights as the shares that metrics read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from csf._common.typing import Values

__all__ = ["shares"]


def shares(fn: Values, fp: Values, pos: Any, neg: Any) -> tuple[Values, Values, Any]:
    """Errors and positives as shares of all weight; rounding leaves no class more errors than it has."""
    share = pos / (pos + neg)
    return np.minimum(fn / (pos + neg), share), np.minimum(fp / (pos + neg), 1.0 - share), share
