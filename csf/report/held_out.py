"""Performance of predictions on held-out data, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from csf._common.typing import Array, IntArray, Label, Params, Samples
from csf.evaluate.assessment import LEVEL
from csf.evaluate.choices import decisions
from csf.evaluate.predictions import Predictions, difference_of, label_answers
from csf.metrics.base import Metric
from csf.metrics.binary import Rate
from csf.metrics.confusion import ConfusionMetric
from csf.metrics.registry import LabelMetric, truth_of
from csf.metrics.row_costs import RowCosts
from csf.plots.words import class_order, short
from csf.thresholding.linear_rule import counts_of

if TYPE_CHECKING:
    from csf.metrics import Constraint
    from csf.search import CostSearch


# More classes than this make no table that anyone reads.
MOST_CLASSES = 30
# More groups than this, such as customers, are no table either.
MOST_GROUPS = 50
# Neither costs nor segments of rows.
NOTHING: Mapping[str, Any] = MappingProxyType({})


class HeldOut(NamedTuple):
    """Data that a search has not seen, with the predictions of the search, which comes first, and its rivals."""

    X: Samples
    y: Array
    weight: Array | None
    answers: dict[str, Array]
    judged: list[Judged]
    # Costs or segments of the rows, by the names that `fit` takes them by.
    given: Mapping[str, Any] = NOTHING
    # Codes of what samples belong together by, and the name of each.
    groups: IntArray | None = None
    group_names: tuple[str, ...] = ()

    @property
    def rows(self) -> Params:
        """Weight and groups of the samples."""
        return {"weight": self.weight, "groups": self.groups}

    @property
    def own(self) -> Array:
        """Predictions of the search."""
        return np.asarray(next(iter(self.answers.values())))


class ClassMatrix(NamedTuple):
    """Confusion matrix: names of the classes, rows, and samples, predictions, recall, precision and F1 of each class.

    ``rows`` have for each true class (count, share of the class, whether right) for each predicted one; more classes
    than make a table have none.
    """

    labels: list[str]
    rows: list[tuple[str, list[tuple[float, float, bool]]]] | None
    scores: list[Any]


def confusion(search: CostSearch, held: HeldOut) -> ClassMatrix:
    """Return `matrix_of` the search's held-out predictions, in samples or their weights; of the truth estimates."""
    true, predicted = (np.searchsorted(search.classes_, each) for each in (held.y, held.own))
    counts = counts_of(true, predicted, search.classes_.size, held.weight).astype(float)
    if (truth := truth_of(search.metric)) is not None:
        at, among = int(np.flatnonzero(search.classes_ == search.pos_label_)[0]), counts.sum(axis=0)
        counts[at] = truth.positives(counts[at], among)
        counts[1 - at] = among - counts[at]
    return matrix_of(search, counts)


def matrix_of(search: CostSearch, counts: Array) -> ClassMatrix:
    """Return a confusion matrix and the scores of each class, in the order of `class_order`."""
    order = class_order(search)
    labels, counts = [short(label, 40) for label in search.classes_[order].tolist()], counts[np.ix_(order, order)]
    rows = [
        (name, [(count, count / (sum(row) or 1.0), at == column) for column, count in enumerate(row)])
        for at, (name, row) in enumerate(zip(labels, counts.tolist()))
    ]
    scores = _scores(labels, counts.sum(axis=1), counts.sum(axis=0), np.diag(counts))
    return ClassMatrix(labels, rows if len(labels) <= MOST_CLASSES else None, scores)


def label_scores(search: CostSearch, held: HeldOut) -> list[Any]:
    """Return the held-out `scores_of_labels`."""
    return scores_of_labels(search, held.y > 0, held.own > 0, held.weight)


def scores_out_of_fold(search: CostSearch) -> list[Any]:
    """Return the `scores_of_labels` of the winner at its threshold, where all labels share it."""
    result, store = search.result_, search.held_out_
    found = decisions(replace(result.row, threshold=search.best_threshold_))
    weight = None if store.weight is None else result.by_label(store.weight)[:, 0]
    return scores_of_labels(search, result.by_label(store.is_pos), result.by_label(found), weight)


def scores_of_labels(search: CostSearch, true: Array, predicted: Array, weight: Array | None) -> list[Any]:
    """Return the ``scores`` of each label, as in `matrix_of`, and the shares that have it and are predicted to."""
    each = np.ones(true.shape[0]) if weight is None else weight
    names = [short(name, 40) for name in search.label_names_.tolist()]
    having, found, right = (each @ part for part in (true, predicted, true & predicted))
    if (truth := truth_of(search.metric)) is not None:
        having, right = truth.positives(having, each.sum()), truth.positives(right, found)
    rows = _scores(names, having, found, right)
    return [(name, n, m, n / each.sum(), m / each.sum(), values) for name, n, m, values in rows]


def _scores(names: list[str], true: Array, predicted: Array, right: Array) -> list[Any]:
    """Return name, samples, predictions, and recall, precision and F1 of each class or label."""
    with np.errstate(invalid="ignore"):  # one that is nowhere has no recall
        values = np.column_stack([right / true, right / predicted, 2 * right / (true + predicted)])
    return list(zip(names, true.tolist(), predicted.tolist(), values.tolist()))


class HeldOutRate(NamedTuple):
    """Constrained value of predictions on held-out data; ``counts`` are those of a share, such as "11 of 15"."""

    demand: Constraint
    value: float
    counts: str = ""

    @property
    def misses(self) -> float:
        """By how much it misses the level."""
        return float(self.demand.missing(self.value))

    def __str__(self) -> str:
        return f"{self.demand.name} {self.value:.3f}" + (f" ({self.counts})" if self.counts else "")

    @classmethod
    def of(cls, demand: Constraint, value: float, counted: float, held: HeldOut) -> Self:
        """Create one with counts, if it is a share of the rows ``counted``, a share of all."""
        n = round(counted * held.y.size)
        is_share = held.weight is None and isinstance(demand.quantity, Rate)
        return cls(demand, value, f"{round(value * n)} of {n}" if is_share else "")


@dataclass(frozen=True)
class Judged:
    """Metric of one classifier on held-out data, the first one's gain over it, and 90 % intervals of both."""

    name: str
    value: float
    interval: tuple[float, float]
    difference: float
    difference_interval: tuple[float, float]
    # By how much it misses the constraint there, where one was asked for, and the first constrained value.
    misses: float = 0.0
    rate: float | None = None


def judge(
    metric: Metric,
    null_class: Label,
    truth: Array,
    answers: Mapping[str, Array],
    *,
    promised: bool = False,
    **rows: Any,
) -> list[Judged]:
    """Evaluate several classifiers on the same samples, and compare the first one with the others.

    ``null_class`` is the negative class; all others are to be detected. If ``promised``, intervals of shares have at
    least their nominal coverage, else they have it on average. ``rows`` are ``weight`` and ``groups``.
    """
    is_pos = truth != null_class
    # A sample of a class to find that is given to another one is missed.
    found = {name: is_pos ^ (predicted != truth) for name, predicted in answers.items()}
    return _judged(
        partial(Predictions.of_classes, metric, np.ones(2, dtype=bool), is_pos.astype(int), **rows),
        {name: each.astype(int) for name, each in found.items()},
        exact=promised,
    )


def judge_classes(
    metric: ConfusionMetric, classes: Array, truth: Array, answers: Mapping[str, Array], **rows: Any
) -> list[Judged]:
    """Evaluate as `judge` does, for several classes that are all alike."""
    every = np.unique(np.concatenate([classes, *answers.values()]))
    codes = {name: np.searchsorted(every, predicted) for name, predicted in answers.items()}
    known, truth = np.isin(every, classes), np.searchsorted(every, truth)
    return _judged(partial(Predictions.of_classes, metric, known, truth, **rows), codes)


def judge_rows(
    costs: RowCosts, positive: Label, truth: Array, answers: Mapping[str, Array], **rows: Any
) -> list[Judged]:
    """Evaluate as `judge` does, by costs of rows; ``truth`` holds each row's cost of either answer."""
    found = {name: predicted == positive for name, predicted in answers.items()}
    return _judged(partial(Predictions.of_rows, costs, *truth.T, **rows), found)


def judge_labels(metric: LabelMetric, truth: Array, answers: Mapping[str, Array], **rows: Any) -> list[Judged]:
    """Evaluate as `judge` does, where samples have several labels."""
    codes = dict(zip(answers, label_answers(answers, truth.shape)))
    return _judged(partial(Predictions.of_labels, metric, truth > 0, **rows), codes)


def _judged(read: Callable[..., Predictions], answers: Mapping[str, Array], *, exact: bool = False) -> list[Judged]:
    """Evaluate each classifier's predictions, and compare the first one with it."""
    first, judged = next(iter(answers.values())), []
    for name, predicted in answers.items():
        alone, gain = read(predicted), difference_of(read, first, predicted, LEVEL)
        judged.append(Judged(name, float(alone.value[0]), alone.interval(LEVEL, exact=exact), gain.value, gain[1:]))
    return judged
