"""Samples that no trial distinguishes, as one: what draws are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from csf.resampling.retuning import CodedRow
    from csf.resampling.store import EntryStore, ScoreStore

__all__ = ["Units", "distinct", "grouped", "units_of"]


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
    """

    truth: Array
    weight: Array | None
    samples: IntArray
    copies: IntArray

    @property
    def is_pos(self) -> BoolArray:
        """Truth of two classes."""
        return self.truth

    @property
    def kinds(self) -> Array:
        """Class of each unit; with several labels whether it has any of them."""
        kind = np.zeros(self.copies.size, dtype=self.truth.dtype)
        np.maximum.at(kind, self.samples, self.truth)
        return kind


def units_of(store: ScoreStore, rows: Sequence[CodedRow], n_labels: int | None = None) -> tuple[Units, list[CodedRow]]:
    """Units of some trials, and the trials' codes of their entries; see `grouped`."""
    units, at = grouped(store, [row.codes for row in rows], n_labels)
    return units, [replace(row, codes=row.codes[at]) for row in rows]


def grouped(store: EntryStore[Any], said: Sequence[Array], n_labels: int | None = None) -> tuple[Units, IntArray]:
    """Units of samples about which arrays, one number an entry, say the same; and which entries those of units are.

    Where entries of a sample are several labels, which of them comes first means nothing: they are put in an order that
    truth and arrays decide, ``n_labels`` at a time where these belong together, else all.
    """
    copies, importance = store.copies, store.importance
    entries = _entries_of_samples(store)
    several = bool((store.truth != store.truth[entries[:, 0]][store.samples]).any())
    if several:
        entries = _in_order(entries, [~store.truth, *said], n_labels or entries.shape[1])
    # A place beyond the last entry stands for none.
    columns = [np.append(store.truth, store.truth.dtype.type(0))[entries[:, 0]]]
    columns += [np.append(values, values.dtype.type(0))[at] for values in said for at in entries.T]
    columns += [(entries == store.truth.size).sum(axis=1)]
    columns += [] if importance is None else [importance[entries[:, 0]]]
    if several:
        columns += [np.append(store.truth, False)[at] for at in entries.T[1:]]
    order, starts = distinct(columns, np.flatnonzero(copies > 0))
    at = entries[order[starts]]
    unit, used = np.repeat(np.arange(starts.size), at.shape[1]), at.ravel() < store.truth.size
    at, unit = at.ravel()[used], unit[used]
    units = Units(
        store.truth[at],
        None if importance is None else importance[at],
        unit.astype(np.int32),
        np.add.reduceat(copies[order], starts) if starts.size else copies[:0],
    )
    return units, at


def distinct(columns: Sequence[Array], among: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of a table in lexicographic order, and where in it each different one starts."""
    order = among[np.lexsort([column[among] for column in columns[::-1]])]
    new = np.zeros(order.size, dtype=bool)
    new[:1] = True
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(new)


def _in_order(entries: IntArray, columns: Sequence[Array], size: int) -> IntArray:
    """Entries of each sample in the order of some columns, ``size`` at a time; places that stand for none stay last."""
    blocks, none = entries.reshape(-1, size), columns[0].size
    keys = [np.append(column, column.dtype.type(0))[blocks] for column in columns[::-1]]
    order = np.lexsort([*keys, blocks == none])
    return np.take_along_axis(blocks, order, axis=1).reshape(entries.shape)


def _entries_of_samples(store: EntryStore[Any]) -> IntArray:
    """Entries of each sample in their order, of shape (n_samples, most); the number of entries stands for none."""
    counts = np.bincount(store.samples, minlength=store.n_samples)
    most, order = int(counts.max()), np.argsort(store.samples, kind="stable")
    place = np.arange(order.size) - np.repeat(np.cumsum(counts) - counts, counts)
    entries = np.full((store.n_samples, most), order.size)
    entries[store.samples[order], place] = order
    return entries
