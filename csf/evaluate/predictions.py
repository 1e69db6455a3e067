"""Intervals of metrics of predictions, and of the difference between two methods, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, Self, TypedDict, TypeVar, Unpack

import numpy as np
from scipy.sparse import csr_array

from csf._common.dtypes import is_object
from csf._common.validation import (
    as_array,
    check_class_weights,
    check_fraction,
    check_in_memory,
    check_labels,
    check_pos_label,
    check_weights,
    label_array,
    names_on,
    warn_of_order,
)
from csf.data.folds import read_groups
from csf.data.labels import Labels, has_several_columns, read_codes, read_labels
from csf.evaluate.assessment import interval as percentiles
from csf.evaluate.draws import Units, count_distinct, grouped
from csf.evaluate.intervals import DrawnSums, n_draws_within
from csf.evaluate.stores import HeldOutEntries
from csf.metrics import ConfusionMetric, get_confusion_metric
from csf.metrics.averages import Averaged, values_of_tables
from csf.metrics.base import CELLS, Metric, Terms
from csf.metrics.confusion import warn_of_absent
from csf.metrics.constraints import share_of
from csf.metrics.registry import for_classes, get_label_metric, get_quantity, positive_class, truth_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, BoolArray, IntArray, Label
    from csf.metrics.constraints import Share
    from csf.metrics.registry import MetricLike
    from csf.metrics.row_costs import RowCosts

N_DRAWS = 1000
# How many samples of each outcome of a class are there besides: of one that was met, and of one that was not. Two
# methods have so many outcomes that half of the second number is enough.
_BESIDES = 0.5, 1.0
# Weight of a class that is not met beside one that is, where a value needs both.
_RARE = 1e-9


class Difference(NamedTuple):
    """Difference between two methods, positive where the first one is better, with its interval."""

    value: float
    low: float
    high: float


class AuditedValue(NamedTuple):
    """Metric on all rows as some labelled ones show it, with its interval."""

    value: float
    low: float
    high: float


def metric_interval(
    y: ArrayLike,
    pred: ArrayLike,
    metric: MetricLike = "f1",
    *,
    level: float = 0.9,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label = None,
) -> tuple[float, float]:
    """Compute the interval of a metric of predicted labels, for its value on the population of the samples.

    Parameters
    ----------
    y, pred : array-like of shape (n_samples,)
        True and predicted labels, or 0 and 1 of shape (n_samples, n_labels). The method that predicts has not been
        fitted to these samples, nor its threshold. Of three and more classes, one may be only predicted. Columns of
        frames go by their names. All may be of one class, if the metric does not need both.
    metric : str, Metric, ConfusionMetric or callable, default="f1"
        As for `csf.CostSearch`, or a rate or a cost, such as `csf.metrics.MeanCost`; of three and more classes, and of
        several labels, such as ``"f1_macro"``.
    level : float, default=0.9
        How often the interval holds the value, in (0, 1).
    groups : array-like of shape (n_samples,), default=None
        Which samples belong together, such as those of one customer; ``None`` where all are independent.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0; whole numbers count equal samples.
    pos_label : label, default=None
        Positive class of two; ``None`` means 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    tuple of float
        Both ends.

    Raises
    ------
    ValueError
        If labels, groups, weights or the metric cannot be used.

    Notes
    -----
    F1, Jaccard, precision, recall, accuracy and the other metrics that are shares of samples have Jeffreys' interval of
    a share, with nearly the exact end where all are right or none is: `csf.metrics.constraints.Share.interval`. Others,
    and all of groups and of unequal weights, have that of the studentised bootstrap [1]_: each draw of the samples or
    groups is compared in its own standard errors, so that few samples of large weight are allowed for. A part of a
    sample is added for each outcome of a class, as in Jeffreys' prior; more for one that was not met.

    References
    ----------
    .. [1] B. Efron, R. Tibshirani, "An introduction to the bootstrap", chapter 12, 1993.

    Examples
    --------
    >>> y, pred = [1] * 20 + [0] * 80, [1] * 16 + [0] * 80 + [1] * 4
    >>> metric_interval(y, pred, "f1")
    (0.666, 0.892)
    """
    read, codes = _read(y, {"pred": pred}, metric, groups, sample_weight, pos_label)
    return read(*codes).interval(check_fraction(level, "level"))


def metric_difference(
    y: ArrayLike,
    pred_a: ArrayLike,
    pred_b: ArrayLike,
    metric: MetricLike = "f1",
    *,
    level: float = 0.9,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label = None,
) -> Difference:
    """Compute by how much the first of two methods is better, with an interval; both predict the same samples.

    Parameters
    ----------
    y, pred_a, pred_b : array-like of shape (n_samples,)
        True labels, and those that each method predicts.
    metric, level, groups, sample_weight, pos_label
        As for `metric_interval`.

    Returns
    -------
    Difference
        Metric of the first method minus that of the second, and both ends of its interval: an interval that is above 0
        says that the first one is better. Samples are drawn for both at once, and exchanging the methods turns signs.

    Raises
    ------
    ValueError
        If labels, groups, weights or the metric cannot be used.

    Examples
    --------
    >>> y, a, b = [1] * 20 + [0] * 80, [1] * 18 + [0] * 82, [1] * 12 + [0] * 88
    >>> metric_difference(y, a, b, "f1")
    Difference(value=0.197, low=0.070, high=0.351)
    """
    read, codes = _read(y, {"pred_a": pred_a, "pred_b": pred_b}, metric, groups, sample_weight, pos_label)
    pred_a, pred_b = codes
    return difference_of(read, pred_a, pred_b, check_fraction(level, "level"))


class _RowOptions(TypedDict, total=False):
    """What is known of samples besides."""

    weight: Array | None
    groups: IntArray | None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of methods for the same samples, as sums over samples that determine a metric.

    Parameters
    ----------
    drawn : DrawnSums
        The sums, and the metric of each method, (n, n_methods), in place of one value.
    ends : ndarray of shape (2, n_sums)
        Sums where all methods are right in all samples, and where all are wrong.
    share : callable, default=None
        Interval of a metric that is a share of independent samples of equal weight.
    extremes : tuple of Predictions, default=()
        The same predictions by metrics between which the metric is, where what it rests on is known in a range.
    """

    drawn: DrawnSums
    ends: Array
    share: Callable[..., tuple[float, float]] | None = None
    extremes: tuple[Predictions, ...] = ()

    @classmethod
    def of_classes(
        cls,
        metric: Metric | ConfusionMetric,
        known: BoolArray,
        truth: IntArray,
        *answers: IntArray,
        **rows: Unpack[_RowOptions],
    ) -> Self:
        """Create predictions from codes of the true classes and of each method's answers; of two classes 1 is positive.

        Classes that are not ``known`` count only for the methods that predict them. ``rows`` are ``weight`` and
        ``groups``.
        """
        used = [known | (np.bincount(codes, minlength=known.size) > 0) for codes in answers]
        true, *predicted = (np.bincount(codes, rows.get("weight"), known.size) for codes in (truth, *answers))
        for counts in predicted:
            warn_of_absent(metric, true, counts)

        def values(tables: Array) -> Array:
            tables = tables[:, :, 0]
            if not isinstance(metric, ConfusionMetric) and known.sum() < 2:
                terms = metric.terms()
                assert terms is not None, "others need both classes"
                top, bottom = np.moveaxis(tables.reshape(*tables.shape[:2], 4) @ _terms_by_code(terms), -1, 0)
                return top / bottom
            if not isinstance(metric, ConfusionMetric):
                return values_of_tables(metric, tables)
            counted = [tables[:, place][:, keep][:, :, keep] for place, keep in enumerate(used)]
            parts = [table / table.sum(axis=(1, 2), keepdims=True) for table in counted]
            return np.stack([np.asarray(metric.value(table)) for table in parts], axis=1)

        columns = [codes[:, None] for codes in (truth, *answers)]
        read = cls._of_tables(values, known.size, *columns, share=share_of(metric), **rows)
        if not isinstance(metric, ConfusionMetric) and known.sum() < 2:
            # Samples of the other class could be met, and then weigh as much: precision of positives alone is not sure.
            outcomes = _outcomes((len(answers), 2, 2)) * read.drawn.outcomes.max()
            right = np.where(known, 1.0, _RARE)[:, None] * np.eye(2)
            ends = np.stack([np.tile(outcome.ravel(), len(answers)) for outcome in (right, right[:, ::-1])])
            read = replace(read, drawn=replace(read.drawn, outcomes=outcomes), ends=ends)
        return replace(
            read, extremes=tuple(cls.of_classes(end, known, truth, *answers, **rows) for end in _extremes_of(metric))
        )

    @classmethod
    def of_labels(cls, metric: Averaged, truth: Array, *answers: Array, **rows: Unpack[_RowOptions]) -> Self:
        """Create predictions of several labels per sample: truth and answers of shape (n_samples, n_labels), 0 or 1."""
        if metric.empty is None:
            read = cls._of_tables(metric.of_tables, 2, *(codes.astype(int) for codes in (truth, *answers)), **rows)
            return replace(
                read, extremes=tuple(cls.of_labels(end, truth, *answers, **rows) for end in _extremes_of(metric))
            )
        extremes = np.array(list(product((0.0, 1.0), repeat=len(answers))))
        scores = np.column_stack([metric.of_samples(truth, predicted) for predicted in answers])
        ends = np.ones((truth.shape[0], 1)), np.zeros((truth.shape[0], 1))
        ends = [np.repeat(end, len(answers), axis=1) for end in ends]
        return cls._of_sums(lambda sums: sums[:, :-1] / sums[:, -1:], scores, ends, extremes, **rows)

    @classmethod
    def of_rows(
        cls, costs: RowCosts, negative: Array, positive: Array, *answers: BoolArray, **rows: Unpack[_RowOptions]
    ) -> Self:
        """Create predictions from the costs of both answers to each row, and each method's mask of positive answers."""

        # Derivatives take steps that are parts of all sums together, so that costs are as large as numbers of rows.
        unit = float(np.maximum(negative, positive).max()) or 1.0
        negative, positive = negative / unit, positive / unit

        def values(sums: Array) -> Array:
            *amounts, negative, positive = sums.T[:-1] * unit
            return np.column_stack([costs.value(one, negative, positive, sums[:, -1]) for one in amounts])

        right, wrong = np.minimum(negative, positive), np.maximum(negative, positive)
        paid = [np.where(answer, positive, negative) for answer in answers]
        every = [
            np.column_stack([*columns, negative, positive])
            for columns in (paid, [right] * len(answers), [wrong] * len(answers))
        ]
        return cls._of_sums(values, every[0], every[1:], np.zeros((0, every[0].shape[1])), **rows)

    @classmethod
    def _of_sums(cls, values, numbers, ends, extremes, weight=None, groups=None) -> Self:
        """Create predictions from the numbers that each sample adds, also at the ends, and those of extreme samples."""
        units, first = _units(list(numbers.T), weight, groups)
        columns, *ends = (np.column_stack([added[first], np.ones(first.size)]) for added in (numbers, *ends))
        place = np.tile(np.arange(columns.shape[1]), (first.size, 1))
        sums, *ends = (_sums(units, place, columns.shape[1], added) for added in (columns, *ends))
        sizes = sums[:, [-1]].toarray()[:, 0]
        typical = (units.copies @ sizes**2) / (units.copies @ sizes)
        outcomes = typical * np.column_stack([extremes, np.ones(len(extremes))])
        besides = np.ones(len(extremes)) / max(len(extremes), 1)
        return cls(
            DrawnSums(values, sums, units.copies, outcomes, besides, 0.0 * besides),
            np.stack([units.copies @ end for end in ends]),
        )

    @classmethod
    def _of_tables(cls, values, n_classes, truth, *answers, share=None, weight=None, groups=None) -> Self:
        """Create predictions from codes of shape (n_samples, n_tables): each column has its own confusion matrix."""
        (n_tables, n_methods), kinds = (truth.shape[1], len(answers)), 2 ** len(answers)
        n_rows = n_tables * n_classes
        units, used = _units([column for codes in (truth, *answers) for column in codes.T], weight, groups)
        truth, *answers = (codes[used].astype(np.int64) for codes in (truth, *answers))
        row = np.arange(n_tables) * n_classes + truth
        kind = row * kinds + sum((predicted != truth) << number for number, predicted in enumerate(answers))
        place = np.hstack([(number * n_rows + row) * n_classes + predicted for number, predicted in enumerate(answers)])
        counted = _sums(units, kind, n_rows * kinds).toarray().reshape(-1, n_rows, kinds)
        sums = _sums(units, place, n_methods * n_rows * n_classes)
        totals = np.tensordot(units.copies, counted, 1)
        besides = np.where((totals > 0.0) | (n_methods > 1), *_BESIDES).ravel() * 4.0 / (kinds * n_rows)
        shape = (n_methods, n_rows, n_classes)
        if share is not None:
            is_plain = groups is None and units.weight is None
            share = _interval_of_share(share, (units.copies @ sums).reshape(shape)[0]) if is_plain else None
        outcomes, tables = _outcomes(shape), (-1, n_methods, n_tables, n_classes, n_classes)
        ends = np.stack([totals.sum(axis=1) @ outcomes[kind::kinds] for kind in (0, kinds - 1)])
        drawn = sums, units.copies, counted, outcomes, besides
        return cls(DrawnSums.of_tables(lambda sums: values(sums.reshape(tables)), *drawn), ends, share)

    @property
    def value(self) -> Array:
        """Metric of each method."""
        return self.drawn.value((self.drawn.copies @ self.drawn.sums)[None])[0]

    def interval(self, level: float, *, exact: bool = False) -> tuple[float, float]:
        """Compute the interval of the metric of the first method; ``exact`` intervals of shares are conservative."""
        if self.extremes:
            lows, highs = zip(*(extreme.interval(level, exact=exact) for extreme in self.extremes))
            return min(lows), max(highs)
        if self.share is not None:
            return self.share(level, exact=exact)
        value, (worst, best) = float(self.value[0]), np.sort(self.drawn.value(self.ends)[:, 0])
        low, high = percentiles(value + self.errors(np.eye(self.value.size)[0], N_DRAWS), level)
        return float(min(max(low, worst), value)), float(max(min(high, best), value))

    def errors(self, combined: Array, n_draws: int) -> Array:
        """Draw errors of a combination of the metrics of the methods, see `csf.evaluate.intervals.DrawnSums`."""
        drawn = replace(self.drawn, value=lambda sums: self.drawn.value(sums) @ combined)
        return drawn.bootstrap(n_draws_within(n_draws, self.drawn.sums.shape[1]), 0).errors


def audited(
    y: ArrayLike, pred: ArrayLike, metric: MetricLike, weight: Array, pos_label: Label, level: float
) -> AuditedValue:
    """Estimate the metric of all rows from those that were drawn by their chances, of which weights are the inverse."""
    # Each row is a group of its own: weights are no copies of it.
    read, codes = _read(y, {"pred": pred}, metric, np.arange(len(weight)), weight, pos_label)
    judged, unknown = read(*codes), 1.0 - len(weight) / weight.sum()
    # Half a row of each outcome could be among those without a label.
    drawn = judged.drawn.beside(0.5 * unknown)
    drawn = replace(drawn, value=lambda sums: judged.drawn.value(sums)[:, 0])
    value, totals = float(judged.value[0]), (drawn.copies @ drawn.sums + drawn.besides @ drawn.outcomes)[None]
    tails = 0.5 + 0.5 * level * np.array([-1.0, 1.0])
    low, high = drawn.value(totals)[0] + drawn.on_logits(tails, whole=float(weight.sum()))
    return AuditedValue(value, min(float(low), value), max(float(high), value))


def difference_of(
    read: Callable[[Array, Array], Predictions], pred_a: Array, pred_b: Array, level: float
) -> Difference:
    """Compute by how much the first method is better; each is the first in half of the draws, so a swap mirrors it."""
    both, turned = read(pred_a, pred_b), read(pred_b, pred_a)
    gain, most = float(np.subtract(*both.value)), float(np.abs(np.diff(both.drawn.value(both.ends)[:, 0]))[0])
    drawn = [sign * order.errors(np.array([1.0, -1.0]), N_DRAWS // 2) for order, sign in ((both, 1.0), (turned, -1.0))]
    low, high = percentiles(gain + np.concatenate(drawn), level)
    return Difference(gain, min(max(low, -most), gain), max(min(high, most), gain))


# ---------------------------------------------------------------- sums over samples


M = TypeVar("M")


def _extremes_of(metric: M) -> tuple[M, ...]:
    """Return the metrics between which one is; none where it is just itself."""
    extremes = getattr(metric, "extremes", ())
    return extremes if len(extremes) > 1 else ()


def _units(columns: list[Array], weight: Array | None, groups: IntArray | None) -> tuple[Units, IntArray]:
    """Group samples that have equal values in all columns, and return the unit of each sample."""
    if weight is None and groups is None:
        first, copies = count_distinct(columns)
        return Units(np.zeros(first.size, dtype=int), None, np.arange(first.size, dtype=np.int32), copies), first
    entries = HeldOutEntries(np.zeros(columns[0].size, dtype=int), weight)
    entries.draw_together(groups)
    return grouped(entries, columns)


def _sums(units: Units, columns: IntArray, n_columns: int, values: Array | float = 1.0) -> csr_array:
    """Sum the weights of samples by column and unit; a sample may be in several columns."""
    weight = np.ones(columns.shape[0]) if units.weight is None else units.weight
    entries = np.broadcast_to(weight[:, None] * values, columns.shape)
    places = np.repeat(units.samples, columns.shape[1]), columns.ravel()
    return csr_array((entries.ravel(), places), (units.copies.size, n_columns))


def _outcomes(shape: tuple[int, ...]) -> csr_array:
    """Return, for each row, a sample that some methods predict correctly and others not, in each method's tables."""
    n_methods, n_rows, n_classes = shape
    right = np.eye(n_classes)
    answers = np.stack([right, (1.0 - right) / (n_classes - 1.0)])
    wrong = np.arange(2**n_methods)[:, None] >> np.arange(n_methods) & 1
    tables = np.zeros((n_rows, 2**n_methods, n_methods, n_rows, n_classes))
    for row in range(n_rows):
        tables[row, :, :, row] = answers[wrong, row % n_classes]
    return csr_array(tables.reshape(n_rows << n_methods, -1))


def _interval_of_share(share: Share, table: Array) -> Callable[..., tuple[float, float]]:
    """Compute the interval of a share from a confusion matrix."""
    right = float(np.trace(table))
    cells = dict(zip(CELLS, (right, table.sum() - right, 0.0, 0.0)))
    if len(table) == 2:
        cells = dict(zip(("tn", "fp", "fn", "tp"), table.ravel().tolist()))
    return partial(share.interval, *share.counts(**cells))


# ---------------------------------------------------------------- labels of a user


def _read(
    y: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    metric: MetricLike,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    pos_label: Label,
) -> tuple[Callable[..., Predictions], list[Array]]:
    """Choose how `Predictions` are created, and code the predictions of each method."""
    check_in_memory(y=y, **predictions, groups=groups, sample_weight=sample_weight)
    warn_of_order(y=y, **predictions, groups=groups, sample_weight=sample_weight)
    if has_several_columns(y):
        if pos_label is not None:
            raise ValueError(
                f"pos_label={pos_label!r} is for two classes; of several labels a sample 1 is the positive one"
            )
        names = names_on(y) or range(np.shape(y)[1])
        truth = read_codes(y, names)
        weight = check_weights(sample_weight, truth.shape[0])
        codes = label_answers(
            {key: label_array(labels, key, names) for key, labels in predictions.items()}, truth.shape
        )
        read = partial(
            Predictions.of_labels,
            get_label_metric(metric),
            truth,
            weight=weight,
            groups=read_groups(groups, len(truth)),
        )
        return read, codes
    codes = [label_array(labels, name) for name, labels in predictions.items()]
    labels, measure, truth = _read_classes(y, dict(zip(predictions, codes)), metric, pos_label)
    # A byte each is enough for codes of few classes, those of the truth first: each array is freed before the next one.
    small = np.min_scalar_type(labels.classes.size)
    truth = truth.astype(small)
    codes = [labels.encode(predicted).astype(small) for predicted in codes]
    weight = check_weights(sample_weight, truth.size)
    if labels.null is not None and np.unique(truth if weight is None else truth[weight > 0.0]).size == 2:
        check_class_weights(sample_weight, truth > 0)
    elif labels.null is not None:
        _check_one_class(measure, truth, codes)
    if (of_truth := truth_of(measure)) is not None:
        of_truth.check_share(float(np.average(truth > 0, weights=weight)))
    rows = {"weight": weight, "groups": read_groups(groups, truth.size)}
    known = np.bincount(truth, None if labels.null is None else weight, labels.classes.size) > 0.0
    return partial(Predictions.of_classes, measure, known, truth, **rows), codes


def _read_classes(
    y: ArrayLike, predictions: Mapping[str, Array], metric: MetricLike, pos_label: Label
) -> tuple[Labels, Metric | ConfusionMetric, IntArray]:
    """Read the classes of y and of predictions, the metric, and the codes of y."""
    truth, classes = check_labels(y, least=1)
    unknown, why = classes[:0], None
    for name, pred in predictions.items():
        if pred.shape != truth.shape:
            raise ValueError(
                f"{name} must have one label for each of {truth.size} samples of y, got shape {pred.shape}"
            )
        others = np.unique(pred[~np.isin(pred, classes)])
        if not others.size:
            continue
        why = f"{name} contains {others.tolist()[0]!r}, but the labels of y are {classes.tolist()}. "
        if (pos_label is not None and classes.size > 1) or not _are_alike(others, classes):
            raise ValueError(f"{why}Give predicted labels; for scores, use csf.tune_threshold(y, score)")
        unknown = np.concatenate([unknown, others])
    if classes.size == 1:
        labels = _labels_of_one_class(y, np.unique(np.concatenate([classes, unknown])).tolist(), pos_label)
        return labels, get_quantity(for_classes(metric, labels.by_code)), labels.encode(truth)
    if classes.size + unknown.size == 2 or pos_label is not None:
        labels, codes = read_labels(y, pos_label=positive_class(metric, y, pos_label))
        return labels, get_quantity(for_classes(metric, labels.by_code)), codes
    labels = Labels(np.unique(np.concatenate([classes, unknown])), None)
    try:
        metric = get_confusion_metric(for_classes(metric, labels.classes))
    except ValueError as error:
        raise ValueError(f"{why or ''}{error}") from None
    return labels, metric, labels.encode(truth)


def _labels_of_one_class(y: ArrayLike, known: list[Label], pos_label: Label) -> Labels:
    """Complete the labels of one class, and what is predicted, by the positive label and a negative one."""
    positive = 1 if pos_label is None else pos_label
    names = as_array([*dict.fromkeys([*known, positive])], "y")
    if names.size == 1:
        names = np.array([positive, f"not {positive}" if isinstance(positive, str) else int(not positive)])
    if names.size > 2 or is_object(names):
        check_labels(y)
    names = np.sort(names)
    check_pos_label(names, (0, 0), pos_label)
    return Labels(names, names[names != positive][0])


def _check_one_class(metric: Metric | ConfusionMetric, truth: IntArray, answers: Sequence[IntArray]) -> None:
    """Raise a ValueError where a metric has no value for samples of one class."""
    terms = None if truth_of(metric) is not None else metric.terms()
    if terms is None or not all(_terms_by_code(terms)[2 * truth + answer, 1].any() for answer in answers):
        why = "needs both classes" if terms is None else "counts none of these samples"
        raise ValueError(f"y has one class only, and {metric.name} {why}; check the split or the positive label")


def _terms_by_code(terms: Terms) -> Array:
    """Return the terms of the cells in the order of a confusion matrix."""
    return np.array([terms[cell] for cell in CELLS[::-1]])


def _are_alike(labels: Array, others: Array) -> bool:
    """Check that labels and others are both strings, or both whole numbers."""
    texts = [all(isinstance(label, str) for label in names.tolist()) for names in (labels, others)]
    return texts[0] == texts[1] and (texts[0] or bool((labels == np.floor(labels.astype(float))).all()))


def label_answers(predictions: Mapping[str, Array], shape: tuple[int, int]) -> list[Array]:
    """Check predictions of several labels per sample; raise a ValueError where they have another form."""
    answers = []
    for name, predicted in predictions.items():
        if predicted.shape != shape:
            raise ValueError(
                f"{name} must have the shape of y, {shape}, with 0 or 1 for each label, got {predicted.shape}"
            )
        odd = predicted[~np.isin(predicted, (0, 1))]
        if odd.size:
            raise ValueError(f"{name!r} must predict 0 or 1 for each label, got {odd.tolist()[0]!r}")
        answers.append(predicted > 0)
    return answers
