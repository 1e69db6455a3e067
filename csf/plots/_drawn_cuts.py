"""Which of the many cuts of a score a figure shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import IntArray

if TYPE_CHECKING:
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["drawn_cuts"]

# Enough for any screen, few enough for a vector graphic.
N_DRAWN = 500
TAIL = 0.02


def drawn_cuts(curve: ThresholdCurve, threshold: float) -> IntArray:
    """Indices of at most about `N_DRAWN` cuts: even in their number, even in the score, and the chosen one.

    Outliers would squeeze everything else: left out are thresholds that fewer than `TAIL` of the positives reach,
    or all but fewer than `TAIL` of the negatives.
    """
    last = curve.thresholds.shape[0] - 2
    chosen = min(max(int(curve.cuts_at(threshold)), 1), last)
    split = np.flatnonzero((curve.fn <= (1.0 - TAIL) * curve.pos) & (curve.fp <= (1.0 - TAIL) * (1.0 - curve.pos)))
    first, last = np.clip([split[0], split[-1]], 1, last) if split.size else (1, last)
    first, last = min(first, chosen), max(last, chosen)
    by_number = np.linspace(first, last, N_DRAWN // 2).astype(int)
    by_score = curve.cuts_at(np.linspace(curve.thresholds[first], curve.thresholds[last], N_DRAWN // 2))
    return np.unique(np.clip(np.concatenate([by_number, by_score, [chosen]]), first, last))
