"""Intervals of metrics of predicted labels, and of the difference between two methods, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.stats import norm, t

from csf._common.validation import (
    check_class_weights,
    check_fraction,
    check_labels,
    check_unmasked,
    check_weights,
    warn_of_order,
)
from csf.data.folds import read_groups
from csf.data.labels import read_classes, read_labels
from csf.evaluate.assessment import interval as percentiles
from csf.evaluate.choices import drawn_sums
from csf.evaluate.draws import distinct
from csf.evaluate.trials import EntryStore
from csf.metrics import get_confusion_metric, get_metric
from csf.metrics.constraints import share_of
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, IntArray, Label
    from csf.data.labels import Labels
    from csf.metrics.constraints import Share
    from csf.metrics.registry import MetricLike

N_DRAWS = 1000


class Difference(NamedTuple):
    """By how much one method is better than another, and the interval of that."""

    value: float
    low: float
    high: float


def interval(
    y: ArrayLike,
    pred: ArrayLike,
    metric: MetricLike = "f1",
    *,
    level: float = 0.9,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label = None,
) -> tuple[float, float]:
    """Interval of a metric of predicted labels, for the value on all samples that these were drawn from.

    Parameters
    ----------
    y, pred : array-like of shape (n_samples,)
        True and predicted labels. The method that predicts has not been fitted to these samples, nor its threshold.
    metric : str, Metric, ConfusionMetric or callable, default="f1"
        As for `csf.CostSearch`; of three and more classes such as ``"f1_macro"``.
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
    a share. Groups and unequal weights make the number of samples the effective one [1]_:
    that of independent samples with the same variance. Other metrics have a bootstrap.

    References
    ----------
    .. [1] E. Korn, B. Graubard, "Confidence intervals for proportions with small expected number of positive counts
       estimated from survey data", Survey Methodology 24, 1998.

    Examples
    --------
    >>> y, pred = [1] * 20 + [0] * 80, [1] * 16 + [0] * 80 + [1] * 4
    >>> interval(y, pred, "f1")
    (0.666, 0.892)
    """
    read = _Predictions.read(y, {"pred": pred}, metric, groups, sample_weight, pos_label)
    share = share_of(read.metric)
    if share is not None:
        return read.interval_of_share(share, check_fraction(level, "level"))
    (value,), errors = read.value, read.errors(level)
    lowest, highest = read.range
    low, high = np.clip(percentiles(errors[:, 0] + value, level), lowest, highest).tolist()
    return min(low, value), max(high, value)


def difference(
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
    """By how much the first of two methods is better, with an interval; both predict the same samples.

    Parameters
    ----------
    y, pred_a, pred_b : array-like of shape (n_samples,)
        True labels, and those that each method predicts.
    metric, level, groups, sample_weight, pos_label
        As for `interval`.

    Returns
    -------
    Difference
        Metric of the first method minus that of the second, and both ends of its interval: an interval that is above 0
        says that the first one is better. The bootstrap draws the samples for both at once.

    Raises
    ------
    ValueError
        If labels, groups, weights or the metric cannot be used.

    Examples
    --------
    >>> y, a, b = [1] * 20 + [0] * 80, [1] * 18 + [0] * 82, [1] * 12 + [0] * 88
    >>> difference(y, a, b, "f1")
    Difference(value=0.197, low=0.077, high=0.336)
    """
    read = _Predictions.read(y, {"pred_a": pred_a, "pred_b": pred_b}, metric, groups, sample_weight, pos_label)
    gain, errors = float(read.value[0] - read.value[1]), read.errors(level)
    lowest, highest = read.range
    most = highest - lowest
    low, high = np.clip(percentiles(errors[:, 0] - errors[:, 1] + gain, level), -most, most).tolist()
    return Difference(gain, min(low, gain), max(high, gain))


@dataclass(frozen=True, eq=False)
class _Predictions:
    """What methods predict for the same samples, by the cells that these are in: a true class and one of each method.

    Parameters
    ----------
    metric : Metric or ConfusionMetric
        Of two classes, or of more.
    shape : tuple of int
        Numbers of true classes and of those of each method.
    tables : ndarray of shape (n_units, n_cells)
        Weight in each cell of a sample, or of a group of them.
    copies : ndarray of int, shape (n_units,)
        How many samples each one stands for.
    is_plain : bool
        Whether samples are independent and of equal weight.
    """

    metric: Any
    shape: tuple[int, ...]
    tables: Array
    copies: IntArray
    is_plain: bool
    has_groups: bool

    @classmethod
    def read(cls, y, predictions, metric, groups, sample_weight, pos_label) -> Self:
        """Labels of a user; a ValueError where there are others than those of ``y``."""
        warn_of_order(y=y, **predictions, groups=groups, sample_weight=sample_weight)
        several = pos_label is None and check_labels(y)[1].size > 2
        labels, code = read_classes(y) if several else read_labels(y, pos_label=pos_label)
        metric = get_confusion_metric(metric) if several else get_metric(metric)
        weight = check_weights(sample_weight, code.size) if several else check_class_weights(sample_weight, code > 0)
        store: Any = EntryStore(code, weight)
        shape, is_plain = (labels.classes.size,) * (1 + len(predictions)), store.importance is None
        for name, pred in predictions.items():
            code = code * shape[0] + _codes(labels, np.asarray(check_unmasked(pred, name)), code.size, name)
        store.draw_together(read_groups(groups, code.size))
        weight, samples, copies = store.importance, store.samples, store.copies
        weight = np.ones(code.size) if weight is None else weight / weight.mean()
        if not store.has_groups:  # equal ones count once
            order, starts = distinct([code, weight], np.flatnonzero(copies > 0))
            at, samples, copies = order[starts], np.arange(starts.size), np.add.reduceat(copies[order], starts)
            code, weight = code[at], weight[at]
        n_cells = int(np.prod(shape))
        tables = np.bincount(samples * n_cells + code, weight, copies.size * n_cells).reshape(-1, n_cells)
        return cls(metric, shape, tables, copies, is_plain and not store.has_groups, store.has_groups)

    @property
    def value(self) -> Array:
        """Metric of each method."""
        return self._values((self.copies @ self.tables)[None])[0]

    @property
    def range(self) -> tuple[float, float]:
        """Metric where everything is wrong, and where everything is right."""
        n_classes = self.shape[0]
        sizes = (self.copies @ self.tables).reshape(n_classes, -1).sum(axis=1)
        wrong = (1.0 - np.eye(n_classes)) * sizes[:, None] / (n_classes - 1)
        return self._value(wrong), self._value(np.diag(sizes))

    def _values(self, sums: Array) -> Array:
        """Metric of each method in tables (n_draws, n_cells), of shape (n_draws, n_methods)."""
        sums = sums.reshape(-1, *self.shape)
        n_methods = len(self.shape) - 1
        others = [tuple(2 + at for at in range(n_methods) if at != method) for method in range(n_methods)]
        return np.stack([[self._value(table) for table in sums.sum(axis=axes)] for axes in others], axis=1)

    def _value(self, table: Array) -> float:
        """Metric of the weights in a confusion matrix."""
        if len(table) > 2:
            return float(self.metric.value(table / table.sum()))
        (tn, fp), (fn, tp) = table.tolist()
        return self.metric.of(ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn))

    def errors(self, level: float) -> Array:
        """Bootstrap errors of the metric of each method, (n_draws, n_methods); groups are few, which widens them."""
        check_fraction(level, "level")
        values = self._values(drawn_sums(self.tables, self.copies, self.tables.shape[1] // self.shape[0], N_DRAWS, 0))
        rarest = self.tables.reshape(-1, self.shape[0], self.tables.shape[1] // self.shape[0]).sum(axis=2) > 0.0
        widening = _widening(int((self.copies @ rarest).min()), level) if self.has_groups else 1.0
        return (values - values.mean(axis=0)) * widening

    def interval_of_share(self, share: Share, level: float) -> tuple[float, float]:
        """Jeffreys' interval of a share; of groups and unequal weights with the effective number of samples."""
        right = np.eye(self.shape[0], dtype=bool).ravel()
        names = ("tn", "fp", "fn", "tp") if self.shape[0] == 2 else np.where(right, "tp", "fn")
        cells = {cell: self.tables[:, np.array(names) == cell].sum(axis=1) for cell in ("tp", "fn", "fp", "tn")}
        ones, trials = share.counts(**cells)
        n_ones, total = self.copies @ ones, self.copies @ trials
        if self.is_plain or not total:
            return share.interval(n_ones, total, level)
        part, n_units = n_ones / total, int(self.copies @ (trials > 0.0))
        variance = self.copies @ (ones - part * trials) ** 2
        by_size = total**2 / (self.copies @ trials**2)
        size = min(part * (1.0 - part) * total**2 / variance, total) if variance else by_size
        size /= _widening(n_units, level) ** 2
        return share.interval(size * part, size, level)


def _widening(n_units: int, level: float) -> float:
    """By how much an interval is wider for a variance that is known from few units."""
    units, level = max(n_units, 2), max(level, 1e-6)
    return float(t.isf(0.5 - 0.5 * level, units - 1) / norm.isf(0.5 - 0.5 * level) * np.sqrt(units / (units - 1.0)))


def _codes(labels: Labels, pred: Array, n_samples: int, name: str) -> IntArray:
    """Codes of predicted labels; a ValueError where they are none."""
    if pred.shape != (n_samples,):
        raise ValueError(f"{name} must have one label for each of {n_samples} samples of y, got shape {pred.shape}")
    unknown = pred[~np.isin(pred, labels.classes)]
    if unknown.size:
        raise ValueError(
            f"{name} contains {unknown.tolist()[0]!r}, but the labels of y are {labels.classes.tolist()}. Give "
            "predicted labels; for scores, use csf.decide(y, score)"
        )
    return labels.encode(pred)
