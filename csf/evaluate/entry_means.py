"""Weighted means over entries, and the covariance of their errors, which units alone make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from csf.evaluate.draws import Units

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray
    from csf.evaluate.stores import HeldOutEntries


def select(entries: HeldOutEntries | Units, rows: BoolArray) -> Units:
    """Select some of the entries; units without any of them are no longer there."""
    kept, samples = np.unique(entries.samples[rows], return_inverse=True)
    weight = entries.weights_in(np.ones_like(entries.copies))[rows]
    return Units(entries.truth[rows], weight, samples.astype(np.int32), entries.copies[kept])


def weights_of_units(entries: HeldOutEntries | Units) -> Array:
    """Compute weights of entries that sum to the number of units: so much is known, whatever the unit of weights."""
    weight = entries.weights_in(entries.copies)
    return weight * (entries.copies.sum() / weight.sum())


def class_shares(entries: HeldOutEntries | Units, codes: Array, n_classes: int) -> Array:
    """Compute the share of each class among entries with these codes, by weight."""
    sums = np.bincount(codes.astype(np.int64), entries.weights_in(entries.copies), n_classes)
    return sums / sums.sum()


def n_independent(entries: HeldOutEntries | Units, weight: Array) -> float:
    """Compute how many units of equal weight tell as much, by Kish: fewer where a few have the most ``weight``."""
    of_units = np.bincount(entries.samples, weight, minlength=entries.copies.size)
    squares = float((of_units**2 / np.maximum(entries.copies, 1)).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def mean_of_entries(entries: HeldOutEntries | Units, values: Array) -> tuple[Array, Array]:
    """Compute the weighted mean of values of shape (n_entries, n_values), and the covariance of its error.

    Entries of a unit (a group, or a row that repeated folds hold out again) go together; a unit of several copies is
    as many units, as a whole weight is so many rows.
    """
    weight, of_copy = entries.weights_in(entries.copies), entries.weights_in(np.ones_like(entries.copies))
    total, n_units = weight.sum(), entries.copies.sum()
    mean = weight @ values / total
    off = np.zeros((entries.copies.size, values.shape[1]))
    np.add.at(off, entries.samples, of_copy[:, None] * (values - mean))
    covariance = (entries.copies[:, None] * off).T @ off / total**2
    return mean, covariance * n_units / max(n_units - 1.0, 1.0)
