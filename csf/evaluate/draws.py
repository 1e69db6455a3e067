"""Draws of the held-out samples, and every trial's threshold tuned again on each of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from csf._common.dtypes import is_float, is_whole
from csf._common.typing import Array, BoolArray, IntArray
from csf._common.validation import small_indices
from csf.data.responses import TIE, midpoint
from csf.evaluate._kernels import (
    best_ratios,
    candidate_cuts,
    class_sums,
    count_drawn,
    middle_of_ties,
    sums_at,
)
from csf.metrics.base import LinearFractional

if TYPE_CHECKING:
    from csf._common.typing import Values
    from csf.evaluate.stores import HeldOutEntries, ScoreRow, ScoreStore
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- sums of weights as shares


def shares(fn: Values, fp: Values, pos: Values, neg: Values) -> tuple[Values, Values, Values]:
    """Divide errors and positives by the total weight; rounding leaves no class with more errors than weight."""
    share = pos / (pos + neg)
    return np.minimum(fn / (pos + neg), share), np.minimum(fp / (pos + neg), 1.0 - share), share


# ---------------------------------------------------------------- samples that no trial distinguishes


@dataclass(frozen=True, eq=False)
class Units:
    """One sample of each kind, by class and then by score, and how many of them there are.

    A row of weight 2 and two such rows are the same unit, drawn as often; so numbers made of draws are the same for
    both, and do not depend on the order of rows or on the scale of scores. Where rounding changes the place of a
    single sample, only the draws of its neighbours change.

    Parameters
    ----------
    truth, weight, samples : ndarray of shape (n_entries,)
        Entries of these samples: truth, importance (``None`` where all weigh the same) and unit.
    copies : ndarray of int, shape (n_units,)
        Number of samples of each kind.
    folds : ndarray of shape (n_entries,), default=None
        Folds that the entries were held out of, where these are known.
    """

    truth: Array
    weight: Array | None
    samples: IntArray
    copies: IntArray
    folds: IntArray | None = None

    @property
    def is_pos(self) -> BoolArray:
        """True classes, for two classes."""
        return self.truth

    def weights_in(self, counts: Array) -> Array:
        """Compute the weight of each entry where each unit occurs ``counts`` times."""
        return counts[self.samples] * (1.0 if self.weight is None else self.weight)

    @property
    def kinds(self) -> Array:
        """Class of each unit; with several labels, whether it has any."""
        kind = np.zeros(self.copies.size, dtype=self.truth.dtype)
        np.maximum.at(kind, self.samples, self.truth)
        return kind


def units_of(store: ScoreStore, rows: Sequence[CodedRow], n_labels: int | None = None) -> tuple[Units, list[CodedRow]]:
    """Group the samples of some trials into units, and code the units' entries for each trial; see `grouped`."""
    units, entries = grouped(store, [row.codes for row in rows], n_labels)
    return units, [replace(row, codes=row.codes[entries]) for row in rows]


def grouped(store: HeldOutEntries, answers: Sequence[Array], n_labels: int | None = None) -> tuple[Units, IntArray]:
    """Group samples that have equal numbers in all arrays (one per entry); return the units and their entries.

    Where the entries of a sample are several labels, their order has no meaning: they are sorted by truth and arrays,
    ``n_labels`` at a time where these belong together, else all.
    """
    copies, importance = store.copies, store.importance
    if store.has_groups:  # hardly two are alike
        return Units(store.truth, importance, store.samples, copies), np.arange(store.truth.size)
    if store.once and importance is None:
        chosen, copies = count_distinct([store.truth, *answers], copies)
        return Units(store.truth[chosen], None, np.arange(chosen.size, dtype=np.int32), copies), chosen
    entries = _entries_of_samples(store)
    several = bool((store.truth != store.truth[entries[:, 0]][store.samples]).any())
    if several:
        entries = _in_order(entries, [~store.truth, *answers], n_labels or entries.shape[1])
    # A place beyond the last entry stands for none.
    columns = [np.append(store.truth, store.truth.dtype.type(0))[entries[:, 0]]]
    columns += [np.append(values, values.dtype.type(0))[column] for values in answers for column in entries.T]
    columns += [(entries == store.truth.size).sum(axis=1)]
    columns += [] if importance is None else [importance[entries[:, 0]]]
    if several:
        columns += [np.append(store.truth, False)[column] for column in entries.T[1:]]
    first, copies = count_distinct(columns, copies)
    chosen = entries[first]
    unit, used = np.repeat(np.arange(first.size), chosen.shape[1]), chosen.ravel() < store.truth.size
    chosen, unit = chosen.ravel()[used], unit[used]
    units = Units(
        store.truth[chosen],
        None if importance is None else importance[chosen],
        unit.astype(np.int32),
        copies,
    )
    return units, chosen


# So many kinds of rows are counted in a table, and so many rows at once.
_MOST_KINDS, _BLOCK = 1 << 20, 1 << 18


def count_distinct(columns: Sequence[Array], copies: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Find the first of each kind of rows, in lexicographic order, and how many copies of it there are.

    ``copies`` are those of each row; ``None`` for one of each.
    """
    counted = _counted(columns, copies)
    if counted is not None:
        return counted
    copies = np.ones(columns[0].size, dtype=np.int64) if copies is None else copies
    order, starts = distinct(columns, np.flatnonzero(copies > 0))
    return order[starts], np.add.reduceat(copies[order], starts) if starts.size else copies[:0]


def distinct(columns: Sequence[Array], among: IntArray) -> tuple[IntArray, IntArray]:
    """Sort the rows of a table lexicographically, and find where each distinct row starts."""
    # Real numbers hardly repeat: the columns up to the first of these order most rows, the others those that tie.
    n_first = 1 + next((place for place, column in enumerate(columns) if is_float(column)), len(columns) - 1)
    order, new = _ordered(columns[:n_first], among)
    tied = np.append(~new, False)
    tied = tied[:-1] | tied[1:]
    if n_first < len(columns) and tied.any():
        places = np.flatnonzero(tied)
        order[places], new[places] = _ordered(columns, order[places])
    return order, np.flatnonzero(new)


def _ordered(columns: Sequence[Array], among: IntArray) -> tuple[IntArray, BoolArray]:
    """Sort the rows of a table lexicographically, and mark those that differ from the row before."""
    order = among[np.lexsort([column[among] for column in columns[::-1]])]
    new = np.zeros(order.size, dtype=bool)
    new[:1] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, new


def _counted(columns: Sequence[Array], copies: IntArray | None) -> tuple[IntArray, IntArray] | None:
    """Find kinds of rows without a sort; return ``None`` where they would be too many to count in a table."""
    n_rows = columns[0].size
    if any(not is_whole(column) or column.min(initial=0) < 0 for column in columns):
        return None
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if (n_kinds := math.prod(sizes)) > min(_MOST_KINDS, n_rows):
        return None
    first, counts = np.zeros((2, n_kinds), dtype=np.int64)
    for start in range(0, n_rows, size := max(_BLOCK, n_kinds)):
        block = slice(start, start + size)
        kind, number = np.ravel_multi_index([column[block] for column in columns], sizes), None
        if copies is not None:
            used = np.flatnonzero(copies[block])
            kind, number = kind[used], copies[block][used]
        counted = np.bincount(kind, number, n_kinds).astype(np.int64)
        new = np.flatnonzero((counts == 0) & (counted > 0))
        if new.size:
            places, firsts = np.unique(kind, return_index=True)
            firsts = firsts[np.searchsorted(places, new)]
            first[new] = start + (firsts if copies is None else used[firsts])
        counts += counted
    firsts = np.flatnonzero(counts)
    return first[firsts], counts[firsts]


def _in_order(entries: IntArray, columns: Sequence[Array], size: int) -> IntArray:
    """Sort the entries of each sample by some columns, ``size`` at a time; placeholders stay last."""
    blocks, none = entries.reshape(-1, size), columns[0].size
    keys = [np.append(column, column.dtype.type(0))[blocks] for column in columns[::-1]]
    order = np.lexsort([*keys, blocks == none])
    return np.take_along_axis(blocks, order, axis=1).reshape(entries.shape)


def _entries_of_samples(store: HeldOutEntries) -> IntArray:
    """List the entries of each sample in their order, (n_samples, most), padded with the number of entries."""
    counts = np.bincount(store.samples, minlength=store.n_samples)
    most, order = int(counts.max()), np.argsort(store.samples, kind="stable")
    place = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    entries = np.full((store.n_samples, most), order.size)
    entries[store.samples[order], place] = order
    return entries


# ---------------------------------------------------------------- draws


# So many samples leave chance little say: fewer partitions and draws do.
LARGE = 10_000
# Bytes of the draws that are held at once, and the fewest and most of these: compiled loops go through a row of them.
_BYTES, _FEWEST, _MOST_DRAWS = 1 << 24, 4, 32
# Drawing how often a unit is drawn takes as long as drawing so many samples.
_SAMPLES_OF_A_NUMBER = 25
# Counts of so many samples in draws of all fit a byte but for one draw in 1e50.
_FEW_COPIES = 64
# Partitions into three parts, a third of the samples left out each time: as many as leave so much to chance at most.
_PARTS, _PARTITIONS, _ENOUGH = 3, (4, 8, 16, 33), 0.002


def draws_at_once(n_entries: int, itemsize: int = 1) -> int:
    """Choose how many draws are made or summed at once, from 4 to 32: within 16 MB unless 4 draws take more."""
    return min(max(_BYTES // max(n_entries * itemsize, 1), _FEWEST), _MOST_DRAWS)


def bootstrap_counts(copies: IntArray, n_draws: int, random_state: int | Sequence[int]) -> Iterator[Array]:
    """Draw bootstrap samples, some at a time: the counts of each unit, in draws of the original number of samples.

    A draw does not depend on the number of draws that follow.
    """
    rng = np.random.default_rng([*np.atleast_1d(random_state), 0])
    size, n_samples, kind = draws_at_once(copies.size), int(copies.sum()), _kind(copies)
    few = n_samples > max(_SAMPLES_OF_A_NUMBER * copies.size, LARGE)
    # Unit of each sample.
    units = np.repeat(np.arange(copies.size, dtype=np.int32), copies)
    most = np.iinfo(kind).max
    for start in range(0, n_draws, size):
        n_rows = min(size, n_draws - start)
        if few:
            # How often each of a few units is drawn, at once.
            yield np.minimum(rng.multinomial(n_samples, copies / n_samples, n_rows), most).astype(kind).T
            continue
        # A draw after the other in memory: writing them side by side would take longer than drawing.
        counts = np.zeros((n_rows, copies.size), dtype=kind)
        for row in counts:
            # The same numbers as in eight bytes each, in a third of the time.
            drawn = rng.integers(0, n_samples, n_samples, dtype=np.int32 if n_samples < 1 << 31 else np.int64)
            count_drawn(drawn, units, row, most)
        yield counts.T


def partition_counts(kinds: Array, copies: IntArray, n_parts: int, random_state: int) -> Iterator[Array]:
    """Generate random partitions of the samples without end, stratified by class; each draw omits one part.

    Each partition, of shape (n_units, n_parts), has the number of samples of each unit in each draw.
    """
    rng = np.random.default_rng([random_state, 1])
    every = np.unique(kinds)[::-1]
    of_class = [np.flatnonzero(kinds == kind) for kind in every]
    while int(copies.sum()) > max(_SAMPLES_OF_A_NUMBER * copies.size, LARGE):
        # How many samples of each of a few units are in a part, at once.
        yield np.stack([copies - part for part in _parts(of_class, copies, n_parts, rng)]).astype(_kind(copies)).T
    classes = [np.repeat(units, copies[units]) for units in of_class]
    while True:
        counts = np.empty((n_parts, copies.size), dtype=_kind(copies))
        counts[:] = copies
        for samples in classes:
            # Where the dealing starts is random too, so that no part is always the larger one.
            part = (np.arange(samples.size) + rng.integers(n_parts)) % n_parts
            left_out = np.bincount(part * copies.size + rng.permutation(samples), minlength=counts.size)
            counts -= left_out.reshape(counts.shape).astype(counts.dtype)
        yield counts.T


def _parts(of_class: Sequence[IntArray], copies: IntArray, n_parts: int, rng: np.random.Generator) -> Array:
    """Deal the samples of each class out to parts of equal sizes; return those of each unit in each part."""
    parts = np.zeros((n_parts, copies.size), dtype=np.int64)
    for units in of_class:
        left, start = copies[units], int(rng.integers(n_parts))
        n_samples = int(left.sum())
        for part in range(n_parts):
            size = (n_samples + (part + start) % n_parts) // n_parts
            parts[part, units] = rng.multivariate_hypergeometric(left, size, method="marginals")
            left = left - parts[part, units]
    return parts


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Decisions made on two thirds of the samples and evaluated on the left-out third.

    Parameters
    ----------
    sums : ndarray of shape (n_partitions, 3, ...)
        What the metric is computed from, summed over each part that is left out.
    value : callable
        Metric of such sums; NaN where they lack a class.
    """

    sums: Array
    value: Callable[[Array], float]

    @property
    def corrected_score(self) -> float:
        """Metric of all left-out parts, pooled."""
        return self.value(self.sums.sum(axis=(0, 1)))

    @property
    def monte_carlo_error(self) -> float:
        """Standard error of `corrected_score` that comes from the finite number of random partitions."""
        values = np.array([self.value(sums) for sums in self.sums.sum(axis=1)])
        known = values[~np.isnan(values)]
        return float(known.std(ddof=1) / np.sqrt(known.size)) if known.size > 1 else np.nan


def judge_left_out(
    units: Units, judge: Callable[[Array, int], Array], value: Callable[[Array], float], random_state: int
) -> LeftOut:
    """Evaluate decisions on left-out thirds, over as many partitions as the error of their mean requires.

    ``judge(counts, first)`` decides on each draw of ``counts``, of shape (n_units, n_draws), which holds the number of
    samples of each unit. It returns the sums of the left-out samples, (n_draws, ...); ``first`` is the number of the
    first draw.
    """
    partitions = partition_counts(units.kinds, units.copies, _PARTS, random_state)
    left_out, done = None, 0
    for n_partitions in _PARTITIONS:
        counts = np.concatenate(list(islice(partitions, n_partitions - done)), axis=1)
        sums = judge(counts, _PARTS * done)
        sums = sums.reshape(-1, _PARTS, *sums.shape[1:])
        left_out = LeftOut(sums if left_out is None else np.concatenate([left_out.sums, sums]), value)
        done = n_partitions
        # The error is an estimate too: from a few partitions it may be far too small.
        if left_out.monte_carlo_error * (1.0 + 2.0 / np.sqrt(done - 1.0)) <= _ENOUGH:
            break
    assert left_out is not None, "there is at least one partition"
    return left_out


def _kind(copies: IntArray) -> type[np.unsignedinteger]:
    """Choose the dtype of counts: bytes where no draw can exceed their range."""
    return np.uint8 if copies.max(initial=0) <= _FEW_COPIES else np.uint32


# ---------------------------------------------------------------- thresholds tuned again on draws


# A score of many samples is cut at the ends of runs of positives and, besides, at about so many places.
_PLACES = 256
# Beyond so many cuts only those that lie about evenly among the positives count.
_MOST_CUTS = 1024


class Entries(Protocol):
    """Class, weight and sample of held-out entries."""

    @property
    def is_pos(self) -> BoolArray: ...

    @property
    def weight(self) -> Array | None: ...

    @property
    def samples(self) -> IntArray: ...


@dataclass(frozen=True, eq=False)
class CodedRow:
    """Row of the store as places on its list of thresholds.

    Parameters
    ----------
    codes : ndarray of uint16, shape (n_entries,)
        First threshold that finds an entry; ``thresholds.size`` where none does.
    thresholds : ndarray of shape (n_cuts,)
        Thresholds between the scores, decreasing; NaN for an own decision.
    """

    codes: Array
    thresholds: Array

    @property
    def scores(self) -> Array:
        """Score of each entry, as far as thresholds tell scores apart."""
        lowest = self.thresholds[-1] - 1.0
        return np.append(self.thresholds, lowest)[self.codes]

    @classmethod
    def of(cls, row: ScoreRow, store: ScoreStore) -> CodedRow:
        """Code the entries of a row as places on a list of its thresholds."""
        n_entries = store.is_pos.size
        if row.score is None:
            decided = row.decided
            assert decided is not None, "a row has scores or decisions"
            predicted = decided if row.lost is None else decided & ~row.lost
            # cut 0 finds what was decided; a second cut, the rest, is none of its choices
            return cls(np.where(predicted, 0, 1).astype(np.uint16), np.array([np.nan]))
        copies = store.copies[store.samples]
        n_copies, counted = int(copies.sum()), copies > 0 if row.lost is None else (copies > 0) & ~row.lost
        order = np.argsort(row.score)[::-1] if counted.all() else _sorted_among(row.score, np.flatnonzero(counted))
        # Of millions of entries places of four bytes take half of the memory.
        order = small_indices(order, n_entries)
        copies = copies[order].astype(np.int32)
        score, is_pos = row.score[order], store.is_pos[order]
        # How many entries the row's own threshold finds: that cut is always among them.
        keep = -1 if row.threshold is None else int(np.count_nonzero(score >= row.threshold))
        cuts = np.empty(order.size + 2, dtype=order.dtype)
        # Samples that are held out several times have no more cuts for that.
        n_samples = int(store.copies.sum())
        every = max(n_samples // _PLACES, 1) * n_copies // n_samples
        n_cuts = candidate_cuts(score, is_pos, copies, max(every, 1), keep, cuts)
        cuts = _thinned(cuts[:n_cuts], keep).astype(np.int64)
        codes = np.full(n_entries, cuts.size, dtype=np.uint16)
        # Each entry has the first threshold that includes it.
        codes[order] = np.repeat(np.arange(cuts.size, dtype=np.uint16), np.diff(cuts, prepend=0))
        return cls(codes, _thresholds(score, cuts, keep, row.threshold))


def _sorted_among(score: Array, entries: IntArray) -> IntArray:
    """Sort some entries downwards by their scores."""
    return entries[np.argsort(score[entries])[::-1]]


def _thinned(cuts: IntArray, keep: int) -> IntArray:
    if cuts.size <= _MOST_CUTS:
        return cuts
    # Candidate cuts are about as dense as the positives.
    stays = cuts == keep
    stays[np.linspace(0, cuts.size - 1, _MOST_CUTS).round().astype(int)] = True
    return cuts[stays]


def _thresholds(ordered: Array, cuts: IntArray, keep: int, threshold: float | None) -> Array:
    """Compute the midpoint of each threshold between its neighbouring scores; keep the row's own one where known."""
    upper, lower = (ordered[np.clip(place, 0, ordered.size - 1)].astype(np.float64) for place in (cuts - 1, cuts))
    upper, lower = np.where(cuts > 0, upper, np.inf), np.where(cuts < ordered.size, lower, -np.inf)
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
    """Compute each entry's weight in draws that hold each sample ``counts`` times; scaled float32 if weights differ."""
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
    """Sum the weights of all positives and of all negatives on each draw, given those of entries on each draw."""
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
        for place, row in enumerate(rows):
            sums_at(row.codes, store.is_pos, weight, row.thresholds.size, sums)
            tune(
                sums,
                row.thresholds.size,
                *(part[place, block] for part in (result.cuts, result.value, result.violation)),
            )
            if middle:
                middle_of_ties(sums, row.thresholds.size, result.cuts[place, block])
    return result


def retune_all(store: Entries, rows: list[CodedRow], metric: Metric, draws: Iterable[Array]) -> Retuned:
    """Tune thresholds with `retune` on draws that are generated some at a time."""
    parts = [retune(store, rows, metric, counts) for counts in draws]
    columns = zip(*((part.cuts, part.value, part.violation) for part in parts))
    return Retuned(*(np.concatenate(column, axis=1) for column in columns))


class _Tuner:
    """Search for the best threshold, its value and its violation on each draw of a block."""

    def __init__(self, metric: Metric, pos: Array, neg: Array) -> None:
        self.metric, self.pos, self.neg = metric, pos, neg
        self.valid = np.flatnonzero((pos > 0.0) & (neg > 0.0))
        # Ratios of affine functions are compared in a compiled loop; any other metric speaks for itself.
        self.together: bool | None = None
        self.ratio = type(metric).value is LinearFractional.value and metric.constraint is None
        if self.ratio:
            self.numbers = np.zeros((pos.size, 6))
            for draw in self.valid:
                self.numbers[draw] = metric.coefficients(pos[draw] / (pos[draw] + neg[draw]))  # pyright: ignore[reportAttributeAccessIssue] (a LinearFractional)

    def __call__(self, sums: Array, n_cuts: int, cuts: IntArray, value: Array, violation: Array) -> None:
        if self.ratio:
            best_ratios(sums, n_cuts, self.pos, self.neg, self.numbers, TIE, cuts, value)
            return
        valid = self.valid
        if not valid.size:
            return
        at_cuts = np.ascontiguousarray(sums[:, :n_cuts, valid])
        pos, neg = self.pos[valid], self.neg[valid]
        fn, fp, share = shares(np.maximum(pos - at_cuts[1], 0.0), np.minimum(at_cuts[0], neg), pos, neg)
        values, missing = self._judged(fn, fp, share)
        allowed = missing <= missing.min(axis=0) + TIE
        values = np.where(allowed, values, -np.inf)
        best = (values >= np.nanmax(values, axis=0) - TIE).argmax(axis=0)
        draws = np.arange(valid.size)
        cuts[valid], value[valid], violation[valid] = best, values[best, draws], missing[best, draws]

    def _judged(self, fn: Array, fp: Array, pos: Array) -> tuple[Array, Array]:
        """Compute values and violations at all thresholds of all draws, of shape (n_cuts, n_draws)."""
        if self.together is None:
            self.together = self._reads_all_at_once(fn, fp, pos)
        if self.together:
            return self._value_and_missing(fn, fp, pos)
        columns = [self._value_and_missing(fn[:, draw], fp[:, draw], float(pos[draw])) for draw in range(pos.size)]
        values, missing = (np.stack(parts, axis=1) for parts in zip(*columns))
        return values, missing

    def _value_and_missing(self, fn: Array, fp: Array, pos: Values) -> tuple[Array, Array]:
        value, constraint = self.metric.value(fn, fp, pos=pos), self.metric.constraint
        return value, np.zeros(fn.shape) if constraint is None else constraint.violation(fn, fp, pos=pos)

    def _reads_all_at_once(self, fn: Array, fp: Array, pos: Array) -> bool:
        """Check whether the metric accepts several shares of positives at once; a user's metric need not."""
        ends = [0, pos.size - 1]
        single = [self._value_and_missing(fn[:, draw], fp[:, draw], float(pos[draw])) for draw in ends]
        try:
            together = self._value_and_missing(fn[:, ends], fp[:, ends], pos[ends])
            return all(np.array_equal(values, np.stack(parts, axis=1)) for values, parts in zip(together, zip(*single)))
        except Exception:
            return False
