"""What rows add to numerator and denominator of a metric, by their classes, or by costs and amounts of each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import ClassVar, TypeAlias

import numpy as np

from csf._common.messages import did_you_mean
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Samples
from csf.metrics.averages import Averaged
from csf.metrics.base import CELLS, Measure
from csf.metrics.binary import MeanCost
from csf.metrics.confusion import CostMatrix
from csf.metrics.constraints import Share, share_of
from csf.metrics.demands import class_cells
from csf.metrics.row_costs import COSTS, OUTCOMES, CostTable, RowCosts

# Kinds of each sample (n, m), how much of it is of each, and its cost, see `csf.monitoring.bets.TermHistogram`.
Parts: TypeAlias = tuple[IntArray, Array, Array]
# Samples and costs of rows, by name, as `csf.monitoring.Monitor.update` takes them.
Given: TypeAlias = Mapping[str, Samples]
# What can be watched, if it is a ratio of sums over samples.
Watchable: TypeAlias = Measure | RowCosts
# Where nothing else is said, later weights and costs may be so many times as large as those of `fit`.
HEAVIER = 2.0


@dataclass(frozen=True)
class WatchedRows:
    """Rows of a monitor, see `csf.monitoring.Monitor`: their classes, and which of these are positive."""

    search: Estimator
    # Such as "f1 >= 0.6", for messages.
    demand: str
    classes: Array
    # Positions of the null class, and of the class that is positive against all others.
    negative: int | None
    of: int | None
    n_labels: int
    audit: float
    max_cost: float | None

    @property
    def is_positive(self) -> BoolArray:
        """Mark the positive classes; without one, all labels of a row count."""
        codes = np.arange(self.classes.size)
        return codes != self.negative if self.of is None else codes == self.of

    @property
    def is_alert(self) -> BoolArray:
        """Mark the classes that are alerts if predicted; no row with several labels is predicted positive, or not."""
        return self.is_positive | (self.n_labels > 1)

    @property
    def unseen(self) -> float:
        """For how many samples each one stands that is labelled and not predicted positive."""
        return 1.0 / self.audit if self.audit else 0.0


class RowTerms(ABC):
    """What rows of each kind add: a fixed amount, and one for each unit of their cost (or another amount)."""

    # What is added, (n_kinds, 2).
    fixed: Array
    per_cost: Array
    # The largest cost that later rows may have, and the largest amount of a row; ``None`` where there is none.
    max_cost: float | None = None
    largest: float | None = None
    # Terms by true and predicted class, where they are such, and the share of ones that the metric is.
    pairs: Array | None = None
    share: Share | None = None
    # Whether samples may have a cost of their own, and whether each row has costs that decide it, and how many.
    takes_cost: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    n_costs: ClassVar[int] = 1
    # What there is to know of the metric beside its name.
    note: str | None = None

    @abstractmethod
    def split(self, truth: IntArray, pred: IntArray, costs: Array) -> Parts:
        """Split rows into kinds, by the positions of their labels, (n, n_labels), and their costs, (n, n_costs)."""

    def costs_of(self, given: Given, n_rows: int, demand: str) -> Array:
        """Return the costs of rows, which only costs of rows know; NaN of the shape (n, 1) for other metrics."""
        odd, known = next((name for name, values in given.items() if values is not None), None), ("X", *COSTS)
        if odd is None:
            return np.full((n_rows, 1), np.nan)
        error, hint = (
            (ValueError, ". Leave it out")
            if odd in known
            else (TypeError, did_you_mean(odd, ("sample_weight", "cost", *known)))
        )
        raise error(
            f"{odd}= cannot be given: {', '.join(known)} are for costs of rows, csf.metrics.RowCosts, and this "
            f"monitor watches {demand}{hint}"
        )


class PairTerms(RowTerms):
    """Terms by true and predicted class, ``pairs[true, predicted]``; of several labels a row they are added."""

    def __init__(self, pairs: Array, rows: WatchedRows, share: Share | None = None) -> None:
        self.pairs, self.share = pairs, share
        # The predicted class says for how many samples one stands.
        stands = pairs * np.where(rows.is_alert, 1.0, rows.unseen)[:, None]
        terms, kinds = np.unique(stands.reshape(-1, 2), axis=0, return_inverse=True)
        self._kinds = kinds.reshape(pairs.shape[:2])
        # A row is the mean of as many rows as it has labels, all labels of which are alike.
        self.fixed, self.per_cost = rows.n_labels * terms, np.zeros_like(terms)

    def split(self, truth: IntArray, pred: IntArray, costs: Array) -> Parts:
        """Split rows into their labels."""
        return self._kinds[truth, pred], np.full(truth.shape, 1.0 / truth.shape[1]), np.zeros(len(truth))


class ErrorCosts(PairTerms):
    """Mean cost by true and predicted class, where samples may have costs of their own, without a largest one."""

    takes_cost = True


class AmountTerms(RowTerms):
    """Terms of amounts of rows: the numerator is what a row gains less what it pays.

    The denominator is 1, or the gain. That is so of savings: the gain is the cost of the answer that they are compared
    with. Where not all rows have labels, kinds of those that are no alerts come after the others.
    """

    def __init__(self, rows: WatchedRows, *, per_gain: bool, gains: bool = True, loses: bool = True) -> None:
        fixed, per_cost = amounts_by_kind(per_gain=per_gain, gains=gains, loses=loses)
        copies = [1.0] if rows.audit == 1.0 else [1.0, rows.unseen]
        self.fixed, self.per_cost = (np.vstack([times * terms for times in copies]) for terms in (fixed, per_cost))
        self._after, self._is_alert = len(fixed) * (len(copies) - 1), rows.is_alert

    @abstractmethod
    def amounts(self, truth: IntArray, pred: IntArray, costs: Array) -> tuple[Array, Array]:
        """Compute what rows gain and what they pay."""

    def split(self, truth: IntArray, pred: IntArray, costs: Array) -> Parts:
        """Split rows into what they gain and what they pay."""
        kinds, parts, cost = amounts_in_parts(*self.amounts(truth, pred, costs))
        return kinds + self._after * ~self._is_alert[pred[:, :1]], parts, cost


def amounts_by_kind(*, per_gain: bool, gains: bool = True, loses: bool = True) -> tuple[Array, Array]:
    """Return what is added, fixed and by unit, by what is gained and not paid, by both, and by what is paid beyond."""
    return np.tile([0.0, float(not per_gain)], (3, 1)), np.array(
        [[gains, per_gain], [0.0, per_gain], [-float(loses), 0.0]]
    )


def amounts_in_parts(gain: Array, paid: Array) -> Parts:
    """Split what rows gain and what they pay, as parts of the larger one."""
    kinds, cost = np.column_stack([np.where(paid <= gain, 0, 2), np.ones_like(gain)]), np.maximum(gain, paid)
    both = np.divide(np.minimum(gain, paid), cost, out=np.zeros_like(cost), where=cost > 0.0)
    return kinds.astype(np.int64), np.column_stack([1.0 - both, both]), cost


class LabelScores(AmountTerms):
    """F-beta of the labels of each row."""

    largest = 1.0  # a mean of values up to 1

    def __init__(self, metric: Averaged, rows: WatchedRows) -> None:
        super().__init__(rows, per_gain=True, loses=False)
        self._metric = metric

    def amounts(self, truth: IntArray, pred: IntArray, costs: Array) -> tuple[Array, Array]:
        """Compute what is missing to 1 of the score of each row as what is paid."""
        score = self._metric.of_samples(truth > 0, pred > 0)
        return np.ones_like(score), 1.0 - score


class PaidCosts(AmountTerms):
    """Mean cost by true and predicted class, or of samples with costs of their own, up to the largest one."""

    takes_cost = True

    def __init__(self, pairs: Array, rows: WatchedRows, share: Share | None) -> None:
        super().__init__(rows, per_gain=False, loses=False)
        self.pairs, self.share, self.max_cost, self.largest = pairs, share, rows.max_cost, rows.max_cost

    def amounts(self, truth: IntArray, pred: IntArray, costs: Array) -> tuple[Array, Array]:
        """Compute costs; samples without one have that of their classes."""
        assert self.pairs is not None, "given at the start"
        paid = np.where(np.isnan(costs), self.pairs[truth, pred, 0], costs)[:, 0]
        return paid, np.zeros_like(paid)


class RowAmounts(AmountTerms):
    """What rows with costs of their own pay, or save against one answer to all rows."""

    by_row, n_costs = True, len(OUTCOMES)

    def __init__(self, metric: RowCosts, rows: WatchedRows) -> None:
        is_saving = metric.measure == "savings"
        super().__init__(rows, per_gain=is_saving, gains=metric.measure != "cost")
        store = rows.search.result_.store
        self.max_cost = HEAVIER * float(np.max(store.answers)) if rows.max_cost is None else rows.max_cost
        self.largest, self._metric, self._is_positive = self.max_cost, metric, rows.is_positive
        negative, positive = (store.fixed @ store.copies)[:2]
        # With the cheaper answer of the rows that come, savings would be no ratio of sums.
        self._reference = int(positive < negative and is_saving)
        if is_saving:
            answer = rows.classes[rows.is_positive == bool(self._reference)].tolist()[0]
            self.note = f"savings are those against the answer {answer!r} to all rows, the cheaper one in fit"

    def costs_of(self, given: Given, n_rows: int, demand: str) -> Array:
        """Return the costs of the four outcomes in each row, (n, 4)."""
        table = self._metric.table(n_rows=n_rows, **given)
        return np.column_stack([getattr(table, name) for name in OUTCOMES])

    def amounts(self, truth: IntArray, pred: IntArray, costs: Array) -> tuple[Array, Array]:
        """Compute what the reference answer costs, and what the answer that was given does."""
        answers = CostTable(*costs.T).answers(self._is_positive[truth[:, 0]])
        paid = np.where(self._is_positive[pred[:, 0]], answers[1], answers[0])
        return answers[self._reference] * (self._metric.measure != "cost"), paid


# ---------------------------------------------------------------- from a metric to its terms


@singledispatch
def row_terms(metric: Measure, rows: WatchedRows) -> RowTerms:
    """Make the terms of a metric; raise a ValueError where it is no ratio of sums, or takes no costs and has some."""
    _refuse_costs(rows)
    return PairTerms(pair_terms(metric, rows), rows, share_of(metric))


@row_terms.register
def _(metric: MeanCost, rows: WatchedRows) -> RowTerms:
    terms = ErrorCosts if rows.max_cost is None else PaidCosts
    return terms(pair_terms(metric, rows), rows, share_of(metric))


@row_terms.register
def _(metric: CostMatrix, rows: WatchedRows) -> RowTerms:
    _refuse_costs(rows)
    if rows.of is not None:
        raise ValueError(
            "a cost matrix has costs of all classes: leave out of=, or give MeanCost(fn=..., fp=...) of one"
        )
    n_classes = rows.classes.size
    if rows.negative is not None and len(np.asarray(metric.costs)) != n_classes:
        # The mean cost, without the minus of the value.
        return PairTerms(pair_terms(metric, rows) * (-1.0, 1.0), rows)
    # Costs of two classes have the negative one first.
    order = np.array([1, 0]) if rows.negative == 1 and n_classes == 2 else np.arange(n_classes)
    costs = metric.for_classes(rows.classes[order]).cell_weights(n_classes)
    return PairTerms(np.stack([costs, np.ones_like(costs)], axis=-1)[np.ix_(order, order)], rows)


@row_terms.register
def _(metric: Averaged, rows: WatchedRows) -> RowTerms:
    if rows.n_labels > 1 and metric.empty is None:
        return row_terms(metric.metric, rows)
    _refuse_costs(rows)
    if metric.empty is not None:
        return LabelScores(metric, rows)
    return PairTerms(pair_terms(metric, rows), rows, share_of(metric))


@row_terms.register
def _(metric: RowCosts, rows: WatchedRows) -> RowTerms:
    return RowAmounts(metric, rows)


def _refuse_costs(rows: WatchedRows) -> None:
    """Raise a ValueError where samples shall have costs, and the metric has none."""
    if rows.max_cost is not None:
        raise ValueError(
            "max_cost= is for a monitor of csf.metrics.MeanCost or of costs of rows, but this monitor watches "
            f"{rows.demand}. Leave it out"
        )


def pair_terms(metric: Measure, rows: WatchedRows) -> Array:
    """Return what samples add by the positions of their true and their predicted class, (n_classes, n_classes, 2)."""
    terms, is_alike, classes = metric.terms(), rows.of is None and rows.negative is None, rows.classes.tolist()
    if terms is None or (is_alike and (terms["tp"], terms["fn"]) != (terms["tn"], terms["fp"])):
        reason = f"it needs two classes, and this search has {classes}"
        reason = "it is not a ratio of sums over samples" if terms is None else reason
        one = f"monitor('recall[{classes[0]}] >= 0.8') or " if is_alike else ""
        raise ValueError(
            f"a monitor cannot watch {metric.name}, because {reason}. Give what it can watch with its level, F-beta, "
            f"Jaccard, a rate, accuracy or a mean cost, such as {one}monitor('accuracy >= 0.8')"
        )
    return np.array([terms[cell] for cell in CELLS])[class_cells(len(classes), rows.of, rows.negative)]
