"""What decisions come to on each sample, and how far their value is from that on all data there could be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.resampling.draws import bootstrap_counts
from csf.resampling.shares import shares
from csf.resampling.units import distinct

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling.store import ScoreRow, ScoreStore

__all__ = ["Judged", "decisions", "differences", "influence", "outcomes", "standard_error"]

# Relative step of the derivatives.
_STEP = 1e-4
# Samples that each kind of outcome is taken to have been met besides (Jeffreys' prior): an error that was not made yet
# can be made.
_UNMET = 0.5


def decisions(row: ScoreRow) -> BoolArray:
    """Which entries a row finds for what they are, at its own threshold."""
    if row.score is None or row.threshold is None:
        assert row.decided is not None, "a row has scores and a threshold, or decisions"
        found = row.decided
    else:
        found = row.score >= row.threshold
    return found if row.lost is None else found & ~row.lost


def outcomes(store: ScoreStore, row: ScoreRow) -> Array:
    """Weight of true positives, false negatives, false positives and true negatives in one copy of each sample."""
    place = 4 * store.samples + 2 * ~store.is_pos + ~decisions(row)
    table = np.bincount(place, store.importance, minlength=4 * store.n_samples).reshape(-1, 4)
    # A byte each, where no sample is held out more often.
    return table.astype(np.uint8) if table.dtype.kind == "i" and table.max() < 256 else table


def influence(metric: Metric, outcome: Array, copies: IntArray) -> Array:
    """By how much the metric moves with one more copy of each sample."""
    totals = copies @ outcome.astype(float)
    slope = np.zeros(4)
    for at in range(4):
        step = _STEP * max(totals[at], _STEP * totals.sum())
        above, below = totals.copy(), totals.copy()
        above[at] += step
        below[at] = max(below[at] - step, 0.0)
        slope[at] = (_value(metric, above) - _value(metric, below)) / (above[at] - below[at])
    return outcome @ slope


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
        In units of the metric. Entries of one sample count together, a sample of weight 2 as two samples.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> from csf.resampling import ScoreStore
    >>> store = ScoreStore(np.arange(100) < 50)
    >>> store.add((0, 0), decided=np.arange(100) % 5 > 0, value=0.5)
    >>> standard_error(store, store[0, 0], get_metric("recall"))  # sqrt(0.8 * 0.2 / 50)
    0.057
    """
    return float(np.sqrt(store.copies @ influence(metric, outcomes(store, row), store.copies) ** 2))


def differences(store: ScoreStore, metric: Metric, rows: Sequence[ScoreRow], to: Sequence[int]) -> tuple[Array, Array]:
    """How far rows are above some of them, and the standard errors of that, by the delta method.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores.
    metric : Metric
        The metric.
    rows : sequence of ScoreRow
        Trials, at their own thresholds.
    to : sequence of int
        Places of those that all are compared with.

    Returns
    -------
    gain : ndarray of shape (n_to, n_rows)
        In units of the metric.
    error : ndarray of shape (n_to, n_rows)
        Standard errors of it. All rows are about the same samples, so that what is hard for both cancels out.
    """
    moves = [influence(metric, outcomes(store, row), store.copies) for row in rows]
    value = np.array([row.value for row in rows])
    gain = value - value[list(to), None]
    return gain, np.array([[np.sqrt(store.copies @ (move - moves[at]) ** 2) for move in moves] for at in to])


def _value(metric: Metric, totals: Array) -> float:
    """Metric of the weights of true and false positives and negatives: tp, fn, fp, tn."""
    tp, fn, fp, tn = totals
    if tp + fn <= 0.0 or fp + tn <= 0.0:
        return 0.0
    fn, fp, pos = shares(fn, fp, tp + fn, fp + tn)
    return float(metric.value(fn, fp, pos=pos))


@dataclass(frozen=True, eq=False)
class Judged:
    """Decisions on the same samples, whose mean value is asked for.

    Parameters
    ----------
    metrics : tuple of Metric
        One for each problem.
    outcomes : tuple of ndarray of shape (n_samples, 4)
        One for each problem.
    copies : ndarray of int, shape (n_samples,)
        How many samples each one stands for.
    """

    metrics: tuple[Metric, ...]
    outcomes: tuple[Array, ...]
    copies: IntArray

    @classmethod
    def of(cls, store: ScoreStore, row: ScoreRow, metric: Metric) -> Judged:
        """Own decisions of a trial."""
        return cls((metric,), (outcomes(store, row),), store.copies)

    @classmethod
    def mean(cls, parts: Sequence[Judged]) -> Judged:
        """Those of several problems on the same samples."""
        metrics, tables = ([each for part in parts for each in getattr(part, name)] for name in ("metrics", "outcomes"))
        return cls(tuple(metrics), tuple(tables), parts[0].copies)

    def errors(self, n_draws: int, random_state: int) -> Array:
        """Bootstrap errors of the mean value, of shape (n_draws,).

        A bootstrap alone would say that what never happened never happens: decisions without an error would have no
        error of their value. So each draw adds to each outcome a gamma number of samples, of mean 1 / 2.
        """
        columns = [column for table in self.outcomes for column in table.T]
        order, starts = distinct(columns, np.flatnonzero(self.copies > 0))
        cells = np.stack([column[order[starts]].astype(float) for column in columns])
        copies = np.add.reduceat(self.copies[order], starts)
        sums = np.concatenate([cells @ counts for counts in bootstrap_counts(copies, n_draws, random_state)], axis=1)
        sums = sums.T.reshape(n_draws, -1, 4)
        rng = np.random.default_rng([random_state, 2])
        sums += rng.gamma(_UNMET, size=sums.shape) * _typical_weight(cells.reshape(-1, 4, copies.size), copies)
        values = [[_value(metric, row) for metric, row in zip(self.metrics, draw)] for draw in sums]
        means = np.mean(values, axis=1)
        return means - means.mean()


def _typical_weight(cells: Array, copies: IntArray) -> Array:
    """Weight of a sample of the class of each outcome, such that as many of them vary as much, (n_problems, 4)."""
    weight = cells.reshape(len(cells), 2, 2, -1).sum(axis=2)
    totals = weight @ copies
    typical = np.divide(weight**2 @ copies, totals, out=np.zeros_like(totals), where=totals > 0.0)
    return np.repeat(typical, 2, axis=1)
