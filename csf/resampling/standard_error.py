"""How far the value of given decisions is from that on all data there could be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray
from csf.resampling.resampling import decisions

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling.store import ScoreRow, ScoreStore

__all__ = ["standard_error"]

# Relative step of the derivatives.
_STEP = 1e-4


def standard_error(store: ScoreStore, row: ScoreRow, metric: Metric) -> float:
    """Standard error of the metric of a trial's own decisions, by the delta method.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores.
    row : ScoreRow
        One of its trials.
    metric : Metric
        The metric.

    Returns
    -------
    float
        In units of the metric. Entries of one sample count together.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> from csf.resampling import ScoreStore
    >>> store = ScoreStore(np.arange(100) < 50)
    >>> store.add((0, 0), decided=np.arange(100) % 5 > 0, value=0.5)
    >>> standard_error(store, store[0, 0], get_metric("recall"))  # sqrt(0.8 * 0.2 / 50)
    0.057
    """
    found, weight = decisions(row), np.ones(store.is_pos.size) if store.weight is None else store.weight
    cells = [_sums(store, kind & hit, weight) for kind in (store.is_pos, ~store.is_pos) for hit in (found, ~found)]
    totals = np.array([cell.sum() for cell in cells])
    influence = np.zeros(store.n_samples)
    for at, cell in enumerate(cells):
        step = _STEP * max(totals[at], _STEP * totals.sum())
        above, below = totals.copy(), totals.copy()
        above[at] += step
        below[at] = max(below[at] - step, 0.0)
        influence += (_value(metric, above) - _value(metric, below)) / (above[at] - below[at]) * cell
    return float(np.sqrt(np.sum(influence**2)))


def _sums(store: ScoreStore, counted: BoolArray, weight: Array) -> Array:
    """Weight of the counted entries of each sample."""
    return np.bincount(store.samples, weights=np.where(counted, weight, 0.0), minlength=store.n_samples)


def _value(metric: Metric, totals: Array) -> float:
    """Metric of the weights of true and false positives and negatives: tp, fn, fp, tn."""
    tp, fn, fp, tn = totals / totals.sum()
    return float(metric.value(fn, fp, pos=tp + fn)) if tp + fn > 0.0 and fp + tn > 0.0 else 0.0
