"""Where a threshold lies between two scores, and which values are one: the same everywhere that thresholds are made."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array

__all__ = ["TIE", "above", "midpoint"]

# Values closer than this (relative to the larger of 1 and the best value) are ties that rounding tore apart.
TIE = 8 * np.finfo(np.float64).eps


def midpoint(upper: Array | float, lower: Array | float) -> Array:
    """Thresholds between neighbouring scores; the upper one where rounding leaves no number between them."""
    # Infinite scores have no middle: what comes out is NaN, and the upper one is taken.
    with np.errstate(invalid="ignore", over="ignore"):
        middle = 0.5 * np.asarray(upper) + 0.5 * np.asarray(lower)
    return np.where((lower < middle) & (middle <= upper), middle, upper)


def above(threshold: float) -> float:
    """Threshold of the rule ``score >= threshold`` that decides as ``score > threshold`` does.

    A classifier's own decision leaves a score at its natural threshold negative; a tuned threshold takes it in.
    """
    return float(np.nextafter(threshold, np.inf))
