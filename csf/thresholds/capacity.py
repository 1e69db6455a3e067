"""Limited capacity: which rows to act on where only some can be, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Samples
from csf._common.validation import check_fraction
from csf.evaluate import Assessment, EntryStore
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.draws import bootstrap_counts, shares
from csf.thresholds.rule import ThresholdRule

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholds.row_choice import RowStore

# Rounding of a share times a number of rows that is whole.
_ROUNDING = 1e-9


# ---------------------------------------------------------------- which rows of a batch


def check_capacity(at_most: Any, n_rows: int) -> int:
    """How many of some rows may be acted on."""
    if isinstance(at_most, (bool, np.bool_)) or not isinstance(at_most, Real):
        raise TypeError(f"at_most must be a number of rows or a share of them in (0, 1), got {at_most!r}")
    if isinstance(at_most, Integral):
        if at_most < 0:
            raise ValueError(f"at_most must be a number of rows >= 0 or a share of them in (0, 1), got {at_most!r}")
        return min(int(at_most), n_rows)
    if not 0.0 < float(at_most) < 1.0:
        raise ValueError(
            f"at_most must be a share of the rows in (0, 1) or a number of them, an int, got {at_most!r}; leave it "
            "out where there is no limit"
        )
    return int(float(at_most) * n_rows + _ROUNDING)


def predict_within(rule: Any, X: Samples, at_most: Any) -> Array:
    """Labels, with no more positives than there is capacity for: those that rank highest."""
    if not isinstance(rule, ThresholdRule) or rule.names.size != 2:
        raise ValueError(
            f"at_most={at_most!r} needs two classes. With several labels, call searches_[k].predict(X, at_most=...) "
            "for each. With several classes, take the rows with the largest predict_proba(X)[:, k], or search one "
            "class against the rest"
        )
    limit = check_capacity(at_most, num_samples(X))
    decided, rank = rule.ranked(X)
    return rule.labels(_best(decided, rank, limit, X))


def _best(decided: BoolArray, rank: Array, limit: int, X: Samples) -> BoolArray:
    """So many of the rows that are decided positive at most; the order of the rows does not matter."""
    if np.count_nonzero(decided) <= limit:
        return decided
    if not limit:
        return np.zeros_like(decided)
    border = np.partition(rank[decided], -limit)[-limit]
    best, tied = decided & (rank > border), np.flatnonzero(decided & (rank == border))
    n_free = limit - np.count_nonzero(best)
    best[tied if tied.size == n_free else tied[_by_content(X, tied)[:n_free]]] = True
    return best


def _by_content(X: Samples, at: IntArray) -> IntArray:
    """Order of some rows that their values alone decide, and that prefers no values: by a digest of each."""
    rows: Any = safe_indexing(X, at)
    rows = np.asarray(rows.toarray() if issparse(rows) else rows).tolist()
    return np.argsort([blake2b(repr(row).encode(), digest_size=16).hexdigest() for row in rows], kind="stable")


# ---------------------------------------------------------------- what it is worth


@dataclass(frozen=True)
class Capacity:
    """What acting on no more than a share of the rows is worth, from held-out scores.

    Parameters
    ----------
    at_most : float
        Share of the rows that can be acted on.
    value : float
        Value of the metric to expect on new data.
    interval : tuple of float
        90 % interval of it.
    threshold : float
        Rows are acted on from this expected gain on, where errors have costs in each row: so much one more place would
        be worth. Else from this score on.
    acted_on : float
        Share of the rows that are acted on: less than ``at_most`` where more do not pay.
    captured : float
        Share of what a perfect choice of all rows would gain; where errors have no costs of their own, the share of
        the positives that are found.

    Examples
    --------
    >>> Capacity(0.05, 0.31, (0.28, 0.34), 12.5, 0.05, 0.54).captured
    0.54
    """

    at_most: float
    value: float
    interval: tuple[float, float]
    threshold: float
    acted_on: float
    captured: float


@dataclass(frozen=True, eq=False)
class Ranked:
    """Held-out entries as they are ranked, and what acting on them gains.

    Parameters
    ----------
    rank : ndarray of shape (n_entries,)
        What is largest is acted on first.
    least : float
        Smallest rank that pays.
    gains : ndarray of shape (n_sums, n_entries)
        What acting on an entry adds to the sums; the first one is what a perfect choice would take where it is > 0.
    value : callable
        ``value(sums, counts)``, of sums of shape (n_sums, n_shares) and of how often each sample is there.
    store : EntryStore
        What the entries are of.
    in_costs : bool
        Whether the first sum is in the units of costs.
    """

    rank: Array
    least: float
    gains: Array
    value: Callable[[Array, Array], Array]
    store: EntryStore[Any]
    in_costs: bool

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Entries that pay, the best first, and the places of the last ones of equal rank."""
        pays = np.flatnonzero(self.rank >= self.least)
        order = pays[np.argsort(-self.rank[pays], kind="stable")]
        return order, np.flatnonzero(np.append(np.diff(self.rank[order]) != 0.0, True)[: order.size])

    def sums(self, at_most: Array, counts: Array) -> tuple[Array, Array, Array]:
        """Sums at shares of the rows that can be acted on, the shares that are, and the smallest ranks of these.

        Of entries that rank the same, as many are acted on as the limit allows, whichever they are.
        """
        weight, (order, ends) = self.store.weights_in(counts), self._order
        acted = np.concatenate([[0.0], np.cumsum(weight[order])[ends] / weight.sum()])
        sums = [np.concatenate([[0.0], np.cumsum((gain * weight)[order])[ends]]) for gain in self.gains]
        places = np.searchsorted(acted[1:], at_most - _ROUNDING)
        lowest = np.append(self.rank[order[ends]], self.least)[places]
        return np.stack([np.interp(at_most, acted, each) for each in sums]), np.minimum(at_most, acted[-1]), lowest


def rank_by_score(store: EntryStore[Any], score: Array, threshold: float, metric: Metric) -> Ranked:
    """By a score with a threshold: what counts are the true and the false positives."""

    def value(sums: Array, counts: Array) -> Array:
        weight = store.weights_in(counts)
        pos, neg = weight @ store.truth, weight @ ~store.truth
        if min(pos, neg) <= 0.0:
            return np.full(sums.shape[1], np.nan)
        fn, fp, share = shares(np.maximum(pos - sums[0], 0.0), np.minimum(sums[1], neg), pos, neg)
        return metric.value(fn, fp, pos=float(share))

    return Ranked(score, threshold, np.stack([store.truth, ~store.truth]).astype(float), value, store, False)


def rank_by_costs(store: RowStore, rank: Array, least: float) -> Ranked:
    """By what acting on a row is worth: what counts is what it saves."""

    def value(sums: Array, counts: Array) -> Array:
        negative, positive, n_rows = store.fixed @ counts
        return store.costs.value(negative - sums[0], negative, positive, n_rows)

    return Ranked(rank, least, (store.answers[0] - store.answers[1])[None], value, store, True)


def values_at(ranked: Ranked, at_most: Array, assessment: Assessment, luck: float) -> tuple[Array, Array]:
    """Values to expect at shares of the rows, and their errors, see `expected`."""
    return expected(
        lambda counts: ranked.value(ranked.sums(at_most, counts)[0], counts), ranked.store, assessment, luck
    )


def expected(
    value: Callable[[Array], Array], store: EntryStore[Any], assessment: Assessment, luck: float
) -> tuple[Array, Array]:
    """Values to expect, and their errors on draws of the samples, a column for each.

    ``value`` takes how often each sample is there; ``luck`` is what choosing the winner added to its value.
    """
    blocks = bootstrap_counts(store.copies, n_draws_of(store.copies), assessment.random_state)
    drawn = np.stack([value(counts) for block in blocks for counts in block.T], axis=1)
    return value(store.copies) - luck, assessment.spread * (drawn - np.nanmean(drawn, axis=1, keepdims=True))


def capacity_of(ranked: Ranked, at_most: float, assessment: Assessment, luck: float) -> Capacity:
    """What a share of the rows is worth."""
    at = np.array([check_fraction(at_most, "at_most")])
    (value,), (errors,) = values_at(ranked, at, assessment, luck)
    sums, (acted_on,), (threshold,) = ranked.sums(at, ranked.store.copies)
    possible = np.maximum(ranked.gains[0], 0.0) @ ranked.store.weights_in(ranked.store.copies)
    return Capacity(
        at_most=float(at_most),
        value=float(value),
        interval=Assessment(float(value), errors, (np.nan, np.nan), assessment.value_range).score_interval,
        threshold=float(threshold),
        acted_on=float(acted_on),
        captured=float(sums[0, 0] / possible),
    )
