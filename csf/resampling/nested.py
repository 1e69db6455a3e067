"""The choice of a search, with draws of its own, made again on parts of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf.resampling._kernels import sums_at
from csf.resampling.choices import averaged, decide_gain, steadiest
from csf.resampling.draws import LARGE, bootstrap_counts
from csf.resampling.retuning import class_weights, draw_weights, retune, retune_all
from csf.resampling.shares import shares

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, IntArray
    from csf.metrics.base import Metric
    from csf.resampling.choices import Chooser
    from csf.resampling.retuning import CodedRow
    from csf.resampling.units import Units

__all__ = ["Chosen", "choose_on_parts"]

# Draws of each part: the parts are many, so that few of each do; fewer where samples are many and chance says little.
_N_DRAWS, _N_DRAWS_OF_MANY = 16, 4
# Rows that are the best ones of a part at their best cuts, of which draws say which is best on average; and as many of
# equal costs.
_CLOSE = 4


class Chosen(NamedTuple):
    """Row and threshold chosen on each part, both -1 where it lacks a class, and what they find in all the rest.

    Parameters
    ----------
    places, cuts : ndarray of int, shape (n_parts,)
        The choice.
    left_out : ndarray of shape (n_parts, 4)
        Weight of found and of all positives and negatives that the part does not hold.
    """

    places: IntArray
    cuts: IntArray
    left_out: Array


def choose_on_parts(
    units: Units,
    rows: list[CodedRow],
    metric: Metric,
    chooser: Chooser,
    neutral: BoolArray,
    counts: Array,
    seeds: Sequence[Sequence[int]],
) -> Chosen:
    """The choice on each part of the samples.

    ``counts``, of shape (n_units, n_parts), says how many samples of each unit a part holds; ``seeds`` are those of
    their draws.
    """
    own = retune(units, rows, metric, counts, middle=True)
    # The mean of cuts that satisfy a constraint on draws need not do so: there the best cut is taken.
    steady = chooser.margin is not None and metric.constraint is None
    drawn = steady or chooser.min_gain is not None
    n_parts = counts.shape[1]
    places, cuts, spoken = np.full(n_parts, -1), np.full(n_parts, -1), {}
    for part in np.flatnonzero(~np.isnan(own.value).all(axis=0)).tolist():
        among = np.arange(len(rows))
        if drawn:
            said = own.value[:, part], own.violation[:, part]
            among, spoken[part] = _steady(units, rows, metric, chooser, neutral, counts[:, part], said, seeds[part])
        at = among[np.lexsort([-own.value[among, part], own.violation[among, part]])[0]]
        places[part], cuts[part] = at, own.cuts[at, part]
    left_out, copies = np.zeros((n_parts, 4)), units.copies.astype(counts.dtype)[:, None]
    for row in np.unique(places[places >= 0]).tolist():
        parts = np.flatnonzero(places == row)
        held = _Held.of(units, rows[row], counts[:, parts])
        if steady:
            cuts[parts] = [held.averaged(at, metric, int(cuts[part]), spoken[part]) for at, part in enumerate(parts)]
        whole = _Held.of(units, rows[row], copies)
        # Sums of weights are rounded.
        left_out[parts] = np.maximum(whole.at(cuts[parts]) - held.at(cuts[parts]), 0.0)
    return Chosen(places, cuts, left_out)


class _Spoken(NamedTuple):
    """Best cuts of a row on draws, and the standard deviation of its values there."""

    cuts: IntArray
    error: float


def _steady(
    units: Units,
    rows: list[CodedRow],
    metric: Metric,
    chooser: Chooser,
    neutral: BoolArray,
    counts: Array,
    said: tuple[Array, Array],
    seed: Sequence[int],
) -> tuple[IntArray, _Spoken | None]:
    """The row that draws of a part speak for, as the only one left, and its cuts there; all rows without draws.

    ``said`` are values and violations of the rows on the part itself.
    """
    value, violation = said
    among = _close(value, neutral) if chooser.min_gain is None else np.arange(len(rows))
    n_draws = _N_DRAWS if units.copies.sum() <= LARGE else _N_DRAWS_OF_MANY
    draws = bootstrap_counts(counts.astype(np.int64), n_draws, seed)
    drawn = retune_all(units, [rows[at] for at in among], metric, draws)
    told = ~np.isnan(drawn.value).all(axis=0)
    if not told.any():
        return among, None
    values = drawn.value[:, told]
    if chooser.min_gain is None:
        place = steadiest(values, neutral[among], chooser.margin or 0.0)
    else:
        place = decide_gain(value, violation, neutral, lambda: values, chooser.min_gain).at
    return among[[place]], _Spoken(drawn.cuts[place, told], float(np.nanstd(values[place])))


def _close(value: Array, neutral: BoolArray) -> IntArray:
    """The few best rows, and the few best ones of equal costs, in their order."""
    order = np.argsort(-value, kind="stable")
    return np.unique(np.concatenate([order[:_CLOSE], order[neutral[order]][:_CLOSE]]))


@dataclass(frozen=True, eq=False)
class _Held:
    """What some parts hold: weights of negatives and positives at a row's cuts, (2, n_cuts, n_parts), and of all."""

    sums: Array
    neg: Array
    pos: Array

    @classmethod
    def of(cls, units: Units, row: CodedRow, counts: Array) -> _Held:
        """What parts hold that have each unit so often."""
        weight = draw_weights(units, counts)
        pos, neg = class_weights(units, weight)
        sums = np.empty((2, row.thresholds.size + 1, weight.shape[1]))
        sums_at(row.codes, units.is_pos, weight, row.thresholds.size, sums)
        return cls(np.minimum(sums[:, :-1], np.stack([neg, pos])[:, None]), neg, pos)

    def at(self, cuts: IntArray) -> Array:
        """Weight of found and of all positives and negatives, each part at a cut of its own, or one at several."""
        fp, tp = self.sums[:, cuts, np.arange(cuts.size) % self.pos.size]
        return np.stack(np.broadcast_arrays(tp, fp, self.pos, self.neg), axis=1)

    def averaged(self, part: int, metric: Metric, best: int, spoken: _Spoken | None) -> int:
        """Mean of the cuts that draws of a part speak for; see `csf.search.stable_choice`."""
        (fp, tp), pos, neg = self.sums[:, :, part], self.pos[part], self.neg[part]
        if spoken is None or tp.size == 1:
            return best
        found = (tp + fp) / (tp[-1] + fp[-1])

        def value(cut: int) -> float:
            return float(metric.value(*shares(pos - tp[cut], fp[cut], pos, neg)[:2], pos=pos / (pos + neg)))

        return averaged(found, spoken.cuts, best, lambda share: _place(found, share), value, spoken.error)


def _place(found: Array, share: float) -> int:
    """Place of the cut that finds a share; between cuts that find the same the middle one, as for a threshold."""
    values, first, count = np.unique(found, return_index=True, return_counts=True)
    return int(np.round(np.interp(share, values, first + 0.5 * (count - 1))))
