"""Performance of predictions on held-out data, with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, Estimator, IntArray, Label, Params, Samples
from csf._common.validation import check_in_memory, check_labels, check_samples, check_weights, label_array
from csf.data.folds import read_groups
from csf.data.labels import read_codes
from csf.evaluate.assessment import LEVEL
from csf.evaluate.choices import decisions
from csf.evaluate.entry_means import n_independent
from csf.evaluate.predictions import Predictions, difference_of, label_answers
from csf.evaluate.stores import HeldOutEntries
from csf.metrics.binary import Rate
from csf.metrics.demands import demands_on
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import metric_of, truth_of
from csf.metrics.row_costs import costs_in
from csf.plots.words import class_order, short
from csf.thresholding.linear_rule import confusion_of, counts_of

if TYPE_CHECKING:
    from csf.metrics import Constraint
    from csf.search import CostSearch
    from csf.search.problems.segments import SegmentConstraint


# More classes than this make no table that anyone reads.
MOST_CLASSES = 30
# More groups than this, such as customers, are no table either.
MOST_GROUPS = 50
# Neither costs nor segments of rows.
NOTHING: Mapping[str, ArrayLike] = MappingProxyType({})


class HeldOut(NamedTuple):
    """Data that a search has not seen, with the predictions of the search, which comes first, and its rivals."""

    X: Samples
    y: Array
    weight: Array | None
    answers: dict[str, Array]
    judged: list[Judged]
    # Costs or segments of the rows, by the names that `fit` takes them by.
    given: Mapping[str, ArrayLike] = NOTHING
    # Codes of what samples belong together by, and the name of each.
    groups: IntArray | None = None
    group_names: tuple[str, ...] = ()
    # Constrained values of the search's own predictions.
    rates: Sequence[HeldOutRate] = ()

    @property
    def rows(self) -> Params:
        """Weight and groups of the samples."""
        return {"weight": self.weight, "groups": self.groups}

    @property
    def n_independent(self) -> float:
        """Number of samples of equal weight, none of which go together, that tell as much."""
        entries = HeldOutEntries.of_rows(len(self.y), self.weight, self.groups)
        return n_independent(entries, entries.weights_in(entries.copies))

    def shares(self, classes: Array) -> Array:
        """Compute the share of each class, by weight."""
        return np.array([np.average(self.y == label, weights=self.weight) for label in classes.tolist()])

    @property
    def predicted(self) -> Array:
        """Predictions of the search."""
        return np.asarray(next(iter(self.answers.values())))


# Name, samples, predictions, and recall, precision and F1 of a class; of a label also the shares that have it and are
# predicted to.
ClassScores: TypeAlias = tuple[str, float, float, list[float]]
LabelScores: TypeAlias = tuple[str, float, float, float, float, list[float]]


class ClassMatrix(NamedTuple):
    """Confusion matrix: names of the classes, rows, and samples, predictions, recall, precision and F1 of each class.

    ``rows`` have for each true class (count, share of the class, whether right) for each predicted one; more classes
    than make a table have none.
    """

    labels: list[str]
    rows: list[tuple[str, list[tuple[float, float, bool]]]] | None
    scores: list[ClassScores]


def confusion(search: CostSearch, held: HeldOut) -> ClassMatrix:
    """Return `matrix_of` the search's held-out predictions, in samples or their weights; of the truth estimates."""
    true, predicted = (np.searchsorted(search.classes_, labels) for labels in (held.y, held.predicted))
    counts = counts_of(true, predicted, search.classes_.size, held.weight).astype(float)
    if (truth := truth_of(search.metric)) is not None:
        code, among = int(np.flatnonzero(search.classes_ == search.pos_label_)[0]), counts.sum(axis=0)
        counts[code] = truth.positives(counts[code], among)
        counts[1 - code] = among - counts[code]
    return matrix_of(search, counts)


def matrix_of(search: CostSearch, counts: Array) -> ClassMatrix:
    """Return a confusion matrix and the scores of each class, in the order of `class_order`."""
    order = class_order(search)
    labels, counts = [short(label, 40) for label in search.classes_[order].tolist()], counts[np.ix_(order, order)]
    rows = [
        (name, [(count, count / (sum(row) or 1.0), row_index == column) for column, count in enumerate(row)])
        for row_index, (name, row) in enumerate(zip(labels, counts.tolist()))
    ]
    scores = _scores(labels, counts.sum(axis=1), counts.sum(axis=0), np.diag(counts))
    return ClassMatrix(labels, rows if len(labels) <= MOST_CLASSES else None, scores)


def label_scores(search: CostSearch, held: HeldOut) -> list[LabelScores]:
    """Return the held-out `scores_of_labels`."""
    return scores_of_labels(search, held.y > 0, held.predicted > 0, held.weight)


def scores_out_of_fold(search: CostSearch) -> list[LabelScores]:
    """Return the `scores_of_labels` of the winner at its threshold, where all labels share it."""
    result, store = search.result_, search.held_out_
    answers = decisions(replace(result.row, threshold=search.best_threshold_))
    weight = None if store.weight is None else result.by_label(store.weight)[:, 0]
    return scores_of_labels(search, result.by_label(store.is_pos), result.by_label(answers), weight)


def scores_of_labels(search: CostSearch, true: Array, predicted: Array, weight: Array | None) -> list[LabelScores]:
    """Return the ``scores`` of each label, as in `matrix_of`, and the shares that have it and are predicted to."""
    weights = np.ones(true.shape[0]) if weight is None else weight
    names = [short(name, 40) for name in search.label_names_.tolist()]
    having, assigned, right = (weights @ part for part in (true, predicted, true & predicted))
    if (truth := truth_of(search.metric)) is not None:
        having, right = truth.positives(having, weights.sum()), truth.positives(right, assigned)
    rows = _scores(names, having, assigned, right)
    return [(name, n, m, n / weights.sum(), m / weights.sum(), values) for name, n, m, values in rows]


def _scores(names: list[str], true: Array, predicted: Array, right: Array) -> list[ClassScores]:
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


def judged_by(read: Callable[..., Predictions], answers: Mapping[str, Array], *, exact: bool = False) -> list[Judged]:
    """Evaluate each classifier's predictions, and compare the first one with it."""
    first, judged = next(iter(answers.values())), []
    for name, predicted in answers.items():
        predictions, gain = read(predicted), difference_of(read, first, predicted, LEVEL)
        judged.append(
            Judged(name, float(predictions.value[0]), predictions.interval(LEVEL, exact=exact), gain.value, gain[1:])
        )
    return judged


# ---------------------------------------------------------------- predictions of each kind of problem


@dataclass(frozen=True)
class Judge(ABC):
    """How predictions of held-out samples are judged: by a metric and a constraint, where the classes are known."""

    metric: Any
    constraint: Constraint | None
    classes: Array

    @classmethod
    def of(cls, search: CostSearch) -> Self:
        """Create the one of a fitted search."""
        return cls(search.result_.read_metric(metric_of(search)), search.result_.constraint, search.classes_)

    def read_truth(self, y: ArrayLike) -> Array:
        """Check that the classes are known."""
        labels, classes = check_labels(y)
        if not np.isin(classes, self.classes).all():
            raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {self.classes.tolist()}")
        return labels

    @abstractmethod
    def judge(self, held: HeldOut) -> list[Judged]:
        """Evaluate predictions by the metric."""

    @abstractmethod
    def rates(self, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
        """List the constrained values of predictions on held-out data."""

    def judged(self, held: HeldOut) -> HeldOut:
        """Return held-out data with the values and the constrained values of their predictions."""
        rates = [self.rates(held, np.asarray(predicted)) for predicted in held.answers.values()]
        judged = [
            replace(one, misses=max(rate.misses for rate in values), rate=values[0].value) if values else one
            for one, values in zip(self.judge(held), rates)
        ]
        return held._replace(judged=judged, rates=rates[0])


@dataclass(frozen=True)
class TwoClassJudge(Judge):
    """Two classes, or several beside a null class, which is the negative one.

    Intervals of shares have at least their coverage where they are ``exact``, as where a constraint is promised.
    """

    null: Label
    exact: bool = False
    segmented: SegmentConstraint | None = None

    @classmethod
    def of(cls, search: CostSearch) -> Self:
        """Create the one of a fitted search."""
        result, exact = search.result_, search.confidence is not None
        metric = result.read_metric(metric_of(search))
        return cls(metric, result.constraint, search.classes_, search.null_class_, exact, result.segmented)

    def judge(self, held: HeldOut) -> list[Judged]:
        """Evaluate predictions by the metric."""
        is_pos = held.y != self.null
        # A sample of a class to find that is given to another one is missed.
        answers = {name: (is_pos ^ (predicted != held.y)).astype(int) for name, predicted in held.answers.items()}
        read = partial(Predictions.of_classes, self.metric, np.ones(2, dtype=bool), is_pos.astype(int), **held.rows)
        return judged_by(read, answers, exact=self.exact)

    def rates(self, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
        """List the constrained values of predictions on held-out data."""
        if self.constraint is None:
            return []
        is_pos, is_alert, weight = held.y != self.null, predicted != self.null, held.weight
        if self.segmented is not None:
            rates = self.segmented.rates_on(held.X, held.given, is_pos, is_alert, weight)
            return [HeldOutRate(part, rates[name]) for name, part in self.constraint.named_parts.items()]
        errors = ErrorProfile.from_masks(is_pos, is_pos ^ (predicted != held.y), sample_weight=weight)
        shares = {"tp": errors.pos - errors.fn, "fn": errors.fn, "fp": errors.fp, "tn": 1.0 - errors.pos - errors.fp}
        counted = {
            part: sum(shares[cell] * bottom for cell, (_, bottom) in (part.rate.terms() or {}).items())
            for part in self.constraint.parts
        }
        return [HeldOutRate.of(part, part.rate.of(errors), n, held) for part, n in counted.items()]


class RowCostJudge(TwoClassJudge):
    """Rows that have costs of their own, by which they are judged."""

    @classmethod
    def of(cls, search: CostSearch) -> Self:
        """Create the one of a fitted search."""
        result, labels = search.result_, (search.classes_, search.null_class_)
        return cls(search.row_costs_, result.constraint, *labels, segmented=result.segmented)

    def judge(self, held: HeldOut) -> list[Judged]:
        """Evaluate predictions by what they cost."""
        answers = {name: predicted != self.null for name, predicted in held.answers.items()}
        return judged_by(partial(Predictions.of_rows, self.metric, *self.costs(held), **held.rows), answers)

    def costs(self, held: HeldOut) -> tuple[Array, Array]:
        """Return the cost of each held-out row for the answers "negative" and "positive"."""
        return self.metric.table(held.X, **costs_in(held.given)).answers(held.y != self.null)


class ClassJudge(Judge):
    """Several classes that are all alike."""

    def judge(self, held: HeldOut) -> list[Judged]:
        """Evaluate predictions, of classes that nobody knows too."""
        every = np.unique(np.concatenate([self.classes, *held.answers.values()]))
        codes = {name: np.searchsorted(every, predicted) for name, predicted in held.answers.items()}
        known, truth = np.isin(every, self.classes), np.searchsorted(every, held.y)
        return judged_by(partial(Predictions.of_classes, self.metric, known, truth, **held.rows), codes)

    def rates(self, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
        """List the constrained values of predictions on held-out data."""
        if self.constraint is None:
            return []
        every, codes = np.unique(np.concatenate([self.classes, held.y, predicted]), return_inverse=True)
        true, decided = np.split(codes[self.classes.size :], 2)
        matrix = confusion_of(true, decided, every.size, held.weight)
        return [
            HeldOutRate.of(demand.constraint, float(demand.rate(matrix)), float((matrix * demand.bottom).sum()), held)
            for demand in demands_on(self.constraint, every.tolist())
        ]


class LabelJudge(TwoClassJudge):
    """Several labels a sample, which share a threshold; ``classes`` are their names."""

    @classmethod
    def of(cls, search: CostSearch) -> Self:
        """Create the one of a fitted search."""
        result = search.result_
        return cls(result.read_metric(search.metric), result.constraint, search.label_names_, 0)

    def read_truth(self, y: ArrayLike) -> Array:
        """Read codes: samples have several labels."""
        return read_codes(y, self.classes.tolist())

    def judge(self, held: HeldOut) -> list[Judged]:
        """Evaluate predictions of all labels."""
        codes = dict(zip(held.answers, label_answers(held.answers, held.y.shape)))
        return judged_by(partial(Predictions.of_labels, self.metric, held.y > 0, **held.rows), codes)

    def rates(self, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
        """List the constrained values of predictions about pairs of a sample and a label."""
        weight = None if held.weight is None else np.repeat(held.weight, held.y.shape[1])
        return super().rates(held._replace(y=held.y.ravel(), weight=weight), predicted.ravel())


@dataclass(frozen=True)
class SeparateLabelJudge(LabelJudge):
    """Several labels a sample, each of which has its own search."""

    by_label: Sequence[Judge] = ()

    @classmethod
    def of(cls, search: CostSearch) -> Self:
        """Create the one of a fitted search."""
        parts = [judge_of(one) for one in search.searches_]
        return cls(search.result_.read_metric(search.metric), None, search.label_names_, 0, by_label=parts)

    def rates(self, held: HeldOut, predicted: Array) -> list[HeldOutRate]:
        """List the constrained values of predictions of each label."""
        columns = zip(self.classes.tolist(), self.by_label, held.y.T, predicted.T)
        return [
            rate._replace(demand=replace(rate.demand, of=name))
            for name, judge, true, answers in columns
            for rate in judge.rates(held._replace(y=true), answers)
        ]


# How predictions are judged, for each kind of problem, see `csf.search.problems.results.SearchResult.kind`.
JUDGES: dict[str, type[Judge]] = {
    **dict.fromkeys(("binary", "row_thresholds", "segments"), TwoClassJudge),
    "row_costs": RowCostJudge,
    "multiclass": ClassJudge,
    "multilabel": SeparateLabelJudge,
    "shared_threshold": LabelJudge,
}


def judge_of(search: CostSearch) -> Judge:
    """Return how predictions are judged beside a fitted search."""
    return JUDGES[search.result_.kind].of(search)


def in_memory(search: Estimator) -> Estimator:
    """Return a search, for one on a cluster the one in memory that it can become."""
    to_local = getattr(search, "to_local", None)
    return search if to_local is None else to_local()


def held_out(
    search: Estimator,
    X: Samples | None,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    rivals: Mapping[str, ArrayLike] | None,
    name: str = "this search",
    given: Mapping[str, ArrayLike] = NOTHING,
    groups: ArrayLike | None = None,
) -> HeldOut | None:
    """Check the held-out data of a report and predict them, with costs or segments ``given``; ``None`` without any."""
    if X is None and y is None:
        if rivals or sample_weight is not None or groups is not None or given:
            names = ", ".join(["rivals", "sample_weight", "groups", *given])
            raise ValueError(f"{names} belong to held-out data: give X and y, which fit has not seen")
        return None
    if X is None or y is None:
        raise ValueError("give X and y together: samples that fit has not seen, and their labels")
    others = {f"rivals[{rival!r}]": predicted for rival, predicted in (rivals or {}).items()}
    check_in_memory(X=X, y=y)
    X, truth = check_samples(X, y, sample_weight=sample_weight, groups=groups, **given, **others)
    search = in_memory(search)
    judge = judge_of(search)
    labels = judge.read_truth(truth)
    weight = check_weights(sample_weight, labels.shape[0])
    answers = {name: search.predict(X, **given)}
    for rival, predicted in (rivals or {}).items():
        predicted = label_array(predicted, f"rivals[{rival!r}]", getattr(search, "label_names_", ()))
        if predicted.shape != labels.shape:
            raise ValueError(
                f"rivals[{rival!r}] must be the labels that it predicts for X, of shape {labels.shape}; "
                f"got shape {predicted.shape}"
            )
        answers[str(rival)] = predicted
    codes = read_groups(groups, labels.shape[0])
    first = [] if codes is None else np.unique(codes, return_index=True)[1].tolist()
    names = tuple(short(group, 40) for group in safe_indexing(np.asarray(groups), first)) if first else ()
    return judge.judged(HeldOut(X, labels, weight, answers, [], given, codes, names))


def values_by_group(search: CostSearch, held: HeldOut) -> list[tuple[str, int, Judged | None]]:
    """Judge the search in each group: its name, its samples, and the value (``None`` where the metric has none)."""
    if held.groups is None or not 1 < len(held.group_names) <= MOST_GROUPS:
        return []
    judge, (name, answer), values = judge_of(search), next(iter(held.answers.items())), []
    for code, group in enumerate(held.group_names):
        rows = np.flatnonzero(held.groups == code)
        weight = None if held.weight is None else held.weight[rows]
        given = {key: np.asarray(column)[rows] for key, column in held.given.items()}
        part, judged = HeldOut(safe_indexing(held.X, rows), held.y[rows], weight, {name: answer[rows]}, [], given), None
        with suppress(ValueError):  # such as a metric of both classes, of one class alone
            judged = judge.judge(part)[0]
        values.append((group, rows.size, judged))
    return values
