"""Limited capacity and three answers: which rows to act on, or to review, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse

from csf._common.messages import warn
from csf._common.sklearn import num_samples, safe_indexing
from csf._common.typing import Array, BoolArray, IntArray, Samples
from csf._common.validation import check_fraction
from csf.data.responses import TIE, midpoint
from csf.evaluate import Assessment, EntryStore
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.draws import bootstrap_counts, shares
from csf.metrics.constraints import ANSWERS, Constraint, Precision, Review
from csf.metrics.registry import aim
from csf.thresholds.certificates import Guarantee, Scored, certify
from csf.thresholds.rule import Leaning, ThresholdRule

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.row_costs import CostTable
    from csf.thresholds.row_costs import RowStore

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


# ---------------------------------------------------------------- three answers


# Thresholds of a score that are tried in pairs.
_MOST_CUTS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class Bands:
    """What gets each answer: "negative" below a score, "positive" from another one on, "review" else.

    Parameters
    ----------
    review : Review
        What a review costs.
    extra_cost : float, default=0.0
        What a place among the reviewed rows costs besides, where errors have costs in each row and reviews are limited.
    lower, upper : float
        "negative" is answered below the first score and "positive" from the second one on, where costs allow it.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers.
    """

    review: Review
    extra_cost: float = 0.0
    lower: float = np.inf
    upper: float = -np.inf
    guarantees: dict[str, Guarantee] = field(default_factory=dict)

    def decide(self, rows: Leaning) -> Array:
        """The answers."""
        up, down = rows.up & (rows.score >= self.upper), rows.down & (rows.score < self.lower)
        return np.select([up, down], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])

    def limited(
        self, held_out: Answered, calibration: Answered | None = None, confidence: float | None = None
    ) -> Bands:
        """Bands small enough for the limits on wrong answers: on held-out rows, or certified on others besides."""
        limits: dict[str, float] = {}
        guarantees: dict[str, Guarantee] = {}
        for answer, limit in self.review.limits.items():
            known = held_out.scored(self, answer)
            if not known.score.size or not known.is_pos.any():
                limits[answer] = np.inf
                continue
            metric = aim("recall", Constraint(Precision(), ">=", 1.0 - limit))
            if calibration is None or confidence is None:
                # A curve needs wrong answers too.
                cut = None if known.is_pos.all() else known.curve().best(metric)
                limits[answer] = -np.inf if cut is None else cut.threshold if cut.feasible else np.inf
                continue
            test = certify(known, metric, confidence, calibration.scored(self, answer))
            guarantees[answer] = test = replace(test, constraint=f"wrong answers {answer!r} <= {limit:g}")
            if not test.holds:
                warn(f"{test}; all rows that would have been answered {answer!r} are reviewed")
            limits[answer] = test.threshold if test.holds else np.inf
        # "negative" is below a score: the next number after the largest one.
        lower = np.nextafter(-limits.get("negative", -np.inf), np.inf)
        upper = max(self.upper, limits.get("positive", -np.inf))
        return replace(self, lower=min(self.lower, float(lower)), upper=upper, guarantees=guarantees)


class Answered(NamedTuple):
    """Rows with their truth."""

    rows: Leaning
    truth: BoolArray
    weight: Array | None

    @classmethod
    def of(cls, found: Any, bands: Bands) -> Self:
        """The held-out entries of a search."""
        return cls(found.leaning(bands.review, bands.extra_cost), found.store.truth, found.store.weight)

    def scored(self, bands: Bands, answer: str) -> Scored:
        """Those that get an answer, the right ones for positives: a precision counts these."""
        own, sign = bands.decide(self.rows) == answer, 1.0 if answer == "positive" else -1.0
        own &= self.weight is None or self.weight > 0.0
        weight = None if self.weight is None else self.weight[own]
        return Scored(self.truth[own] == (sign > 0.0), sign * self.rows.score[own], weight)


def bands_of_costs(review: Review, proba: Array, table: CostTable, weight: Array) -> Bands:
    """Bands by the expected costs of each row: where reviews are limited, those stay that save most."""
    if review.at_most is None:
        return Bands(review=review, extra_cost=np.inf if review.only_limits else 0.0)
    negative, looked_at, positive = table.expected_costs(proba, review.cost, review.error)
    without = np.minimum(negative, positive)
    saved = without - looked_at
    order = np.argsort(-saved, kind="stable")
    over = np.flatnonzero(np.cumsum(weight[order]) > review.at_most * weight.sum())
    if not over.size or saved[order[over[0]]] <= 0.0:
        return Bands(review=review)
    # A place costs what the first row would save that gets none; rounding gives it none either.
    first = order[over[0]]
    return Bands(review=review, extra_cost=float(saved[first] + TIE * without[first]))


def bands_of_score(
    review: Review, score: Array, truth: BoolArray, weight: Array, costs: tuple[float, float], threshold: float
) -> Bands:
    """Bands by the two thresholds of a score that cost least on held-out rows; ``costs`` are those of both errors.

    Where no review pays, both are the ``threshold`` in use. Of many thresholds about a thousand are tried.
    """
    if review.only_limits:
        return Bands(review=review, lower=threshold, upper=threshold)
    score, truth, weight = (each[weight > 0.0] for each in (score, truth, weight))
    distinct, at = np.unique(score, return_inverse=True)
    edges = np.concatenate([[-np.inf], midpoint(distinct[1:], distinct[:-1]), [np.inf]])
    tried = np.unique(np.linspace(0, distinct.size, _MOST_CUTS).round().astype(int))

    def before(values: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(np.bincount(at, values))])[tried]

    missed, alarms, looked_at = before(weight * truth * costs[0]), before(weight * ~truth * costs[1]), before(weight)
    paid = review.error * (missed + alarms) + review.cost * costs[1] * looked_at
    reviews = looked_at[None] - looked_at[:, None]
    # Of equal ones those with the fewest reviews.
    total = (missed - paid)[:, None] + (paid - alarms)[None] + TIE * max(costs) * reviews
    total[(reviews < 0.0) | (reviews > (review.at_most or 1.0) * looked_at[-1])] = np.inf
    first, last = edges[tried[list(np.unravel_index(np.argmin(total), total.shape))]].tolist()
    first, last = (threshold, threshold) if first == last else (first, last)
    return Bands(review=review, lower=first, upper=last)


# ---------------------------------------------------------------- what it is worth


@dataclass(frozen=True)
class Reviewed:
    """What three answers are worth, from held-out scores.

    Parameters
    ----------
    value : float
        Value of the metric to expect on new data after the reviews; where errors have costs in each row with what the
        reviews cost.
    interval : tuple of float
        90 % interval of it.
    shares : dict of str to float
        Share of the rows that get each answer.
    wrong : dict of str to float
        Share of wrong answers among these; NaN where no row gets the answer.
    extra_cost : float
        With costs in each row what one more review would save: 0 where their limit leaves out none that pays, inf
        where rows are reviewed for the limits on wrong answers alone.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers, with ``confidence``.
    """

    value: float
    interval: tuple[float, float]
    shares: dict[str, float]
    wrong: dict[str, float]
    extra_cost: float
    guarantees: dict[str, Guarantee] = field(default_factory=dict)


def reviewed(bands: Bands, answers: Array, ranked: Ranked, assessment: Assessment, luck: float) -> Reviewed:
    """What the answers to held-out entries are worth."""
    review, truth, weight = bands.review, ranked.store.truth, ranked.store.weights_in(ranked.store.copies)
    looked_at = answers == "review"
    # How often the answer in the end is "positive".
    found = np.where(looked_at, np.where(truth, 1.0 - review.error, review.error), answers == "positive")
    moved = ranked.gains * found
    if ranked.in_costs:
        moved[0] -= review.cost * looked_at

    def value(counts: Array) -> Array:
        return ranked.value((moved @ ranked.store.weights_in(counts))[:, None], counts)

    (middle,), (errors,) = expected(value, ranked.store, assessment, luck)
    wrong, each = np.where(truth, 1.0 - found, found), {answer: weight * (answers == answer) for answer in ANSWERS}
    interval = Assessment(float(middle), errors, (np.nan, np.nan), assessment.value_range).score_interval
    return Reviewed(
        value=float(middle),
        interval=interval,
        shares={answer: float(own.sum() / weight.sum()) for answer, own in each.items()},
        wrong={answer: float(own @ wrong / own.sum()) if own.any() else np.nan for answer, own in each.items()},
        extra_cost=bands.extra_cost,
        guarantees=bands.guarantees,
    )
