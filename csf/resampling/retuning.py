"""Every trial's threshold tuned again on draws of samples, by the weighted sweep over orders that are known already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.data.responses import TIE, midpoint
from csf.metrics.base import LinearFractional
from csf.resampling._kernels import best_ratios, candidate_cuts, class_sums, code_samples, middle_of_ties, sums_at
from csf.resampling.draws import draws_at_once
from csf.resampling.shares import shares

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling.store import ScoreRow, ScoreStore

__all__ = ["CodedRow", "Entries", "Retuned", "class_weights", "draw_weights", "retune", "retune_all"]

# A score of many samples is cut at the ends of runs of positives and, besides, at about so many places.
_PLACES = 256
# Beyond so many cuts only those that lie about evenly among the positives count.
_MOST_CUTS = 1024


class Entries(Protocol):
    """Truth, weight and sample of held-out entries."""

    @property
    def is_pos(self) -> BoolArray: ...

    @property
    def weight(self) -> Array | None: ...

    @property
    def samples(self) -> IntArray: ...


@dataclass(frozen=True, eq=False)
class CodedRow:
    """A row of the store as places on its list of thresholds.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n_entries,)
        First threshold that finds an entry; ``thresholds.size`` where none does.
    thresholds : ndarray of shape (n_cuts,)
        Thresholds between the scores, decreasing; NaN for an own decision.
    """

    codes: Array
    thresholds: Array

    @classmethod
    def of(cls, row: ScoreRow, store: ScoreStore) -> CodedRow:
        """Codes of a row."""
        n_entries = store.is_pos.size
        if row.score is None:
            decided = row.decided
            assert decided is not None, "a row has scores or decisions"
            found = decided if row.lost is None else decided & ~row.lost
            # cut 0 finds what was decided; a second cut, the rest, is none of its choices
            return cls(np.where(found, 0, 1).astype(np.uint16), np.array([np.nan]))
        copies = store.copies[store.samples]
        counted = copies > 0 if row.lost is None else (copies > 0) & ~row.lost
        entries = np.flatnonzero(counted)
        score, is_pos = row.score[entries], store.is_pos[entries]
        order = np.argsort(score)[::-1]
        # How many entries the row's own threshold finds: that cut is always among them.
        keep = -1 if row.threshold is None else int(np.count_nonzero(score >= row.threshold))
        cuts = np.empty(entries.size + 2, dtype=np.int64)
        # Samples that are held out several times have no more cuts for that.
        n_samples = int(store.copies.sum())
        every = max(n_samples // _PLACES, 1) * int(copies.sum()) // n_samples
        n_cuts = candidate_cuts(score, is_pos, copies[entries], order, max(every, 1), keep, cuts)
        cuts = _thinned(cuts[:n_cuts], keep)
        codes = np.full(n_entries, cuts.size, dtype=np.uint16)
        code_samples(order, entries, cuts, codes)
        return cls(codes, _thresholds(score[order].astype(np.float64), cuts, keep, row.threshold))


def _thinned(cuts: IntArray, keep: int) -> IntArray:
    if cuts.size <= _MOST_CUTS:
        return cuts
    # Candidate cuts are about as dense as the positives.
    stays = cuts == keep
    stays[np.linspace(0, cuts.size - 1, _MOST_CUTS).round().astype(int)] = True
    return cuts[stays]


def _thresholds(ordered: Array, cuts: IntArray, keep: int, threshold: float | None) -> Array:
    """Midpoint of each cut between its neighbouring scores; the row's own one where it is known."""
    upper = np.where(cuts > 0, ordered[np.maximum(cuts - 1, 0)], np.inf)
    lower = np.where(cuts < ordered.size, ordered[np.minimum(cuts, ordered.size - 1)], -np.inf)
    result = midpoint(upper, lower)
    result[cuts == ordered.size] = -np.inf
    result[cuts == 0] = np.inf
    if threshold is not None:
        result[cuts == keep] = threshold
    return result


@dataclass(frozen=True, eq=False)
class Retuned:
    """Best threshold of each row on each draw.

    Parameters
    ----------
    cuts : ndarray of int, shape (n_rows, n_draws)
        Places in the list of thresholds of the row.
    value : ndarray of shape (n_rows, n_draws)
        Metric of the threshold on the draw; NaN where the draw lacks a class.
    violation : ndarray of shape (n_rows, n_draws)
        By how much it misses the constraint.
    """

    cuts: IntArray
    value: Array
    violation: Array


def draw_weights(entries: Entries, counts: Array) -> Array:
    """Weight of each entry in draws that hold each sample so often; float32, in units of their size, if they differ."""
    samples = entries.samples
    if samples.size > counts.shape[0] or (samples[1:] <= samples[:-1]).any():  # else each is one entry, in their order
        counts = counts[samples]
    counts = np.ascontiguousarray(counts)
    if entries.weight is None:
        return counts
    # A power of two: nothing is rounded, so that the order of rows does not matter.
    unit = np.ldexp(1.0, int(np.frexp(entries.weight.mean())[1]))
    return counts * (entries.weight / unit).astype(np.float32)[:, None]


def class_weights(entries: Entries, weight: Array) -> tuple[Array, Array]:
    """Weights of all positives and of all negatives on each draw, of those of entries on each draw."""
    neg, pos = class_sums(entries.is_pos, weight)
    return pos, neg


def retune(store: Entries, rows: list[CodedRow], metric: Metric, counts: Array, *, middle: bool = False) -> Retuned:
    """Tune the threshold of each row on each draw.

    Parameters
    ----------
    store : ScoreStore or Units
        The entries.
    rows : list of CodedRow
        Its rows.
    metric : Metric
        What is maximised; its constraint counts first.
    counts : ndarray of int, shape (n_samples, n_draws)
        How often each draw holds each sample.
    middle : bool, default=False
        Whether a threshold stands in the middle between the neighbours that the draw holds, as a threshold tuned on
        them would: what the draw leaves out falls on either side.

    Returns
    -------
    Retuned
        The best thresholds; of equal values the one with the fewest predicted positives.
    """
    n_draws = counts.shape[1]
    shape = len(rows), n_draws
    result = Retuned(np.zeros(shape, dtype=np.int64), np.full(shape, np.nan), np.zeros(shape))
    most = max(row.thresholds.size for row in rows)
    size = draws_at_once(store.is_pos.size, 1 if store.weight is None else 4)
    sums = np.empty((2, most + 1, min(size, n_draws)), dtype=np.int32 if store.weight is None else np.float64)
    for start in range(0, n_draws, size):
        block = slice(start, min(start + size, n_draws))
        weight = draw_weights(store, counts[:, block])
        tune = _Tuner(metric, *class_weights(store, weight))
        for at, row in enumerate(rows):
            sums_at(row.codes, store.is_pos, weight, row.thresholds.size, sums)
            tune(
                sums, row.thresholds.size, *(part[at, block] for part in (result.cuts, result.value, result.violation))
            )
            if middle:
                middle_of_ties(sums, row.thresholds.size, result.cuts[at, block])
    return result


def retune_all(store: Entries, rows: list[CodedRow], metric: Metric, draws: Iterable[Array]) -> Retuned:
    """`retune` for draws that come some at a time."""
    parts = [retune(store, rows, metric, counts) for counts in draws]
    columns = zip(*((part.cuts, part.value, part.violation) for part in parts))
    return Retuned(*(np.concatenate(column, axis=1) for column in columns))


class _Tuner:
    """Writes the best cut, its value and its violation for each draw of a block."""

    def __init__(self, metric: Metric, pos: Array, neg: Array) -> None:
        self.metric, self.pos, self.neg = metric, pos, neg
        self.told = np.flatnonzero((pos > 0.0) & (neg > 0.0))
        # Ratios of affine functions are compared in a compiled loop; any other metric speaks for itself.
        self.together: bool | None = None
        self.ratio = type(metric).value is LinearFractional.value and metric.constraint is None
        if self.ratio:
            self.numbers = np.zeros((pos.size, 6))
            for draw in self.told:
                self.numbers[draw] = metric.coefficients(pos[draw] / (pos[draw] + neg[draw]))  # pyright: ignore[reportAttributeAccessIssue] (a LinearFractional)

    def __call__(self, sums: Array, n_cuts: int, cuts: IntArray, value: Array, violation: Array) -> None:
        if self.ratio:
            best_ratios(sums, n_cuts, self.pos, self.neg, self.numbers, TIE, cuts, value)
            return
        told = self.told
        if not told.size:
            return
        at = np.ascontiguousarray(sums[:, :n_cuts, told])
        pos, neg = self.pos[told], self.neg[told]
        fn, fp, share = shares(np.maximum(pos - at[1], 0.0), np.minimum(at[0], neg), pos, neg)
        values, missing = self._judged(fn, fp, share)
        allowed = missing <= missing.min(axis=0) + TIE
        values = np.where(allowed, values, -np.inf)
        best = (values >= np.nanmax(values, axis=0) - TIE).argmax(axis=0)
        draws = np.arange(told.size)
        cuts[told], value[told], violation[told] = best, values[best, draws], missing[best, draws]

    def _judged(self, fn: Array, fp: Array, pos: Array) -> tuple[Array, Array]:
        """Values and violations at all cuts of all draws, of shape (n_cuts, n_draws)."""
        if self.together is None:
            self.together = self._reads_all_at_once(fn, fp, pos)
        if self.together:
            return self._at(fn, fp, pos)
        columns = [self._at(fn[:, draw], fp[:, draw], float(pos[draw])) for draw in range(pos.size)]
        values, missing = (np.stack(parts, axis=1) for parts in zip(*columns))
        return values, missing

    def _at(self, fn: Array, fp: Array, pos: Any) -> tuple[Array, Array]:
        value, constraint = self.metric.value(fn, fp, pos=pos), self.metric.constraint
        return value, np.zeros(fn.shape) if constraint is None else constraint.violation(fn, fp, pos=pos)

    def _reads_all_at_once(self, fn: Array, fp: Array, pos: Array) -> bool:
        """Whether the metric reads several shares of positives at once; one of somebody's own need not."""
        ends = [0, pos.size - 1]
        alone = [self._at(fn[:, draw], fp[:, draw], float(pos[draw])) for draw in ends]
        try:
            together = self._at(fn[:, ends], fp[:, ends], pos[ends])
            return all(np.array_equal(each, np.stack(parts, axis=1)) for each, parts in zip(together, zip(*alone)))
        except Exception:
            return False
