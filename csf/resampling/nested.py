"""The choice of a search, with draws of its own, made again on parts of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf.resampling._kernels import sums_at
from csf.resampling.choices import mean_share, steadiest
from csf.resampling.draws import LARGE, bootstrap_counts
from csf.resampling.retuning import class_weights, draw_weights, retune, retune_all
from csf.resampling.shares import shares

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, IntArray
    from csf.metrics.base import Metric
    from csf.resampling.choices import Chooser
    from csf.resampling.retuning import CodedRow, Retuned
    from csf.resampling.units import Units

__all__ = ["choose_on_parts"]

# Draws of each part: the parts are many, so that few of each do; fewer where samples are many and chance says little.
_N_DRAWS, _N_DRAWS_OF_MANY = 16, 4
# Rows that are the best ones of a part at their best cuts, of which draws say which is best on average; and as many of
# equal costs.
_CLOSE = 4


def choose_on_parts(
    units: Units, rows: list[CodedRow], metric: Metric, chooser: Chooser, neutral: BoolArray, counts: Array, seed: int
) -> tuple[IntArray, IntArray]:
    """Row and threshold that are chosen on each part of the samples, both -1 where it lacks a class.

    ``counts``, of shape (n_units, n_parts), says how many samples of each unit a part holds.
    """
    own = retune(units, rows, metric, counts, middle=True)
    # The mean of cuts that satisfy a constraint on draws need not do so: there the best cut is taken.
    drawn = chooser.min_gain is not None or (chooser.margin is not None and metric.constraint is None)
    places, cuts = (np.full(counts.shape[1], -1) for _ in range(2))
    for part in np.flatnonzero(~np.isnan(own.value).all(axis=0)).tolist():
        at, cut = _best(own, np.arange(len(rows)), part)
        if drawn:
            at, cut = _steady(units, rows, metric, chooser, neutral, counts[:, part], own, part, seed)
        places[part], cuts[part] = at, cut
    return places, cuts


def _best(own: Retuned, among: IntArray, part: int) -> tuple[int, int]:
    """The row that is best on a part, and its best cut."""
    at = among[np.lexsort([-own.value[among, part], own.violation[among, part]])[0]]
    return int(at), int(own.cuts[at, part])


def _steady(
    units: Units,
    rows: list[CodedRow],
    metric: Metric,
    chooser: Chooser,
    neutral: BoolArray,
    counts: Array,
    own: Retuned,
    part: int,
    seed: int,
) -> tuple[int, int]:
    """The row and the cut that draws of a part speak for."""
    among = _close(own.value[:, part], neutral) if chooser.min_gain is None else np.arange(len(rows))
    n_draws = _N_DRAWS if units.copies.sum() <= LARGE else _N_DRAWS_OF_MANY
    draws = bootstrap_counts(counts.astype(np.int64), n_draws, [seed, part])
    drawn = retune_all(units, [rows[at] for at in among], metric, draws)
    told = ~np.isnan(drawn.value).all(axis=0)
    if not told.any():
        return _best(own, among, part)
    values = drawn.value[:, told]
    kept = chooser.kept(own.value[among, part], own.violation[among, part], values, neutral[among])
    if chooser.margin is None or metric.constraint is not None:
        return _best(own, among if kept is None else among[[kept]], part)
    place = steadiest(values, neutral[among], chooser.margin) if kept is None else kept
    at, error = int(among[place]), float(np.nanstd(values[place]))
    return at, _averaged(units, rows[at], metric, counts, drawn.cuts[place, told], int(own.cuts[at, part]), error)


def _close(value: Array, neutral: BoolArray) -> IntArray:
    """The few best rows, and the few best ones of equal costs, in their order."""
    order = np.argsort(-value, kind="stable")
    return np.unique(np.concatenate([order[:_CLOSE], order[neutral[order]][:_CLOSE]]))


def _averaged(
    units: Units, row: CodedRow, metric: Metric, counts: Array, cuts: IntArray, best: int, error: float
) -> int:
    """Mean of cuts, unless it loses more than an error against the best one; see `stable_choice`."""
    if row.thresholds.size == 1:
        return best
    weight = draw_weights(units, counts[:, None])
    pos, neg = (float(each[0]) for each in class_weights(units, weight))
    sums = np.empty((2, row.thresholds.size + 1, 1))
    sums_at(row.codes, units.is_pos, weight, row.thresholds.size, sums)
    tp, fp = np.minimum(sums[1, :-1, 0], pos), np.minimum(sums[0, :-1, 0], neg)
    found = (tp + fp) / (tp[-1] + fp[-1])
    inner = found[cuts]
    inner = inner[(inner > 0.0) & (inner < 1.0)]
    if not inner.size:
        return best
    mean = _place(found, mean_share(inner))
    fn, wrong, share = shares(pos - tp[[mean, best]], fp[[mean, best]], pos, neg)
    value = metric.value(fn, wrong, pos=share)
    return mean if value[0] >= value[1] - error else best


def _place(found: Array, share: float) -> int:
    """Place of the cut that finds a share; between cuts that find the same the middle one, as for a threshold."""
    values, first, count = np.unique(found, return_index=True, return_counts=True)
    return int(np.round(np.interp(share, values, first + 0.5 * (count - 1))))
