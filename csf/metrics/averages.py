"""Averages of a metric of two classes: over classes, over several labels, or over the samples that have these."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from csf._common.typing import Array, Values
from csf._common.validation import check_choice, check_count
from csf.metrics.base import CELLS, LinearFractional, Metric, Terms
from csf.metrics.binary import FBeta
from csf.metrics.confusion import MetricOfSums, OfTwoClasses, quotient, sums_of
from csf.metrics.profile import NOISE, ErrorProfile

if TYPE_CHECKING:
    from csf._common.typing import BoolArray
    from csf.metrics.incomplete import TrueMetric

__all__ = ["Averaged"]

AVERAGES = ("macro", "micro", "weighted", "samples", "examples")
# Averages that classes have too, of which each sample has one.
OF_CLASSES = AVERAGES[:3]
# Means over samples: the value of a sample that has no label and for which none is predicted.
EMPTY = {"samples": 0.0, "examples": 1.0}
# So many values say whether a metric takes many shares of positives at once.
_SPOTS = 8

# What numerator and denominator of a ratio are of the right, true, predicted and all samples of a class.
Side: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Averaged(MetricOfSums):
    """Average of a metric of two classes, over classes or over several labels of each sample.

    Each class, or label, is the positive class once. Averages over classes are those of ratios of sums, such as
    F-beta, Jaccard, precision and recall, and have the values of scikit-learn with ``zero_division=0``.

    Parameters
    ----------
    metric : Metric
        What is averaged.
    average : {"macro", "micro", "weighted", "samples", "examples"}, default="macro"
        ``"macro"`` is the mean of the values of the classes or labels, ``"weighted"`` that mean by their numbers of
        samples, ``"micro"`` the value of the counts of all of them together. Of F-beta of several labels
        ``"samples"`` is the mean over samples, 0 where a sample has no label and none is predicted, and
        ``"examples"`` that mean with 1 for such samples.
    null : int, default=None
        Code of the class that means nothing to find, whose hits do not count in the ``"micro"`` average over classes,
        as with ``labels=others``. Without it that average of F-beta is the accuracy.

    Raises
    ------
    TypeError
        If ``metric`` is no metric of two classes.
    ValueError
        If the average is unknown, samples are averaged over with another metric than F-beta, or ``null`` is negative or
        not of the micro average; on use, if there is no such class, or the metric has no average over classes.

    Notes
    -----
    A class of which a ratio counts no row, such as one that is neither true nor predicted for F-beta, counts 0.

    Examples
    --------
    >>> from csf.metrics import FBeta, Jaccard
    >>> confusion = np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]])
    >>> [Averaged(FBeta(), average).value(confusion) for average in ("macro", "weighted", "micro")]
    [0.574, 0.618, 0.6]
    >>> Averaged(FBeta(), "micro", null=0).value(confusion), Averaged(Jaccard()).value(confusion)
    (0.522, 0.413)

    Of several labels:

    >>> truth, found = np.array([[1, 0], [1, 1], [0, 0]]), np.array([[1, 0], [0, 1], [0, 0]])
    >>> [Averaged(FBeta(), average).of(truth, found) for average in ("macro", "micro", "samples", "examples")]
    [0.833, 0.8, 0.556, 0.889]
    """

    metric: Metric
    average: str = "macro"
    null: int | None = None
    # Numerator and denominator of a ratio of sums that labels show.
    _sides: tuple[Side, Side] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.metric, Metric):
            raise TypeError(
                f"metric must be a csf.metrics.Metric of two classes, got {self.metric!r}; csf.metrics.get_metric "
                "makes one of a name or a function"
            )
        check_choice(self.average, "average", AVERAGES)
        if self.empty is not None and not isinstance(self.metric, FBeta):
            raise ValueError(
                f"the mean over samples is that of F-beta, such as 'f1_samples', got {self.metric!r}; other metrics "
                "are averaged over labels ('macro'), or counted over all pairs ('micro')"
            )
        if self.null is not None and self.average != "micro":
            raise ValueError(f"null={self.null!r} is of the micro average, got average={self.average!r}; leave it out")
        if self.null is not None:
            check_count(self.null, "null", minimum=0)
        terms = None if self.truth is not None else self.metric.terms()
        object.__setattr__(self, "_sides", None if terms is None else _sides_of(terms))

    @property
    def name(self) -> str:
        """Name of the metric and its average, such as ``"f1_macro"``, with the null class where there is one."""
        return f"{self.metric.name}_{self.average}" + ("" if self.null is None else f"(null={self.null})")

    # ------------------------------------------------------------ over classes

    @property
    def of_two(self) -> OfTwoClasses:
        """The average over two classes; a ValueError for averages of labels alone."""
        self._check_classes()
        return super().of_two

    @property
    def of_classes(self) -> Averaged:
        """The metric itself; a ValueError for averages of labels alone."""
        self._check_classes()
        return self

    def _check_classes(self) -> None:
        """Raise a ValueError for averages that classes do not have."""
        if self.average not in OF_CLASSES:
            raise ValueError(
                f"{self.name!r} is a mean over samples of several labels, y of shape (n_samples, n_labels) with 0 and "
                f"1; for one label a sample write '{self.metric.name}_macro', a mean over classes"
            )
        if self._sides is None:
            raise ValueError(
                f"{self.name!r} is for several labels a sample: averages over classes are those of F-beta, Jaccard, "
                "precision, recall and other ratios of sums, such as 'f1_macro'"
            )

    def of_sums(self, true: Array, predicted: Array, weighted: Array) -> Values:
        """Compute the average of the classes' values, or the value of all counts."""
        values = quotient(*self._counts(weighted, true, predicted))
        return values if self.average == "micro" else (values * self._class_weights(true)).sum(axis=-1)

    def affine(self, confusion: Array) -> tuple[Array, Array]:
        """Compute slopes and offsets, see `ConfusionMetric.affine`."""
        true, predicted, right = sums_of(confusion)
        top, bottom = self._counts(right, true, predicted)
        value, weight = quotient(top, bottom), 1.0 if self.average == "micro" else self._class_weights(true)
        inverse = quotient(weight, bottom)
        assert self._sides is not None, "counts are those of a ratio"
        of_top, of_bottom = self._sides
        # By the right predictions of a class, and by all predictions of it.
        slopes = (of_top[0] - value * of_bottom[0]) * inverse
        offsets = (of_top[2] - value * of_bottom[2]) * inverse
        if self.average != "micro":
            return slopes, -offsets
        # What all predictions of other classes have in common does not matter.
        counted = self._is_counted(len(confusion))
        return np.where(counted, slopes, 0.0), np.where(counted, 0.0, offsets)

    def terms(self) -> Terms | None:
        """List the terms of each cell, see `ConfusionMetric.terms`: the micro average counts all classes alike.

        A row adds as many true negatives as there are other classes, so that ratios which count these have none.
        """
        known = None if self._sides is None or self._counts_negatives else self.metric.terms()
        if self.average != "micro" or self.null is not None or known is None:
            return None
        right, wrong = (np.add(known[one], known[other]) for one, other in (("tp", "tn"), ("fn", "fp")))
        if not right[1] > 0.0:
            return None
        known = {cell: right if cell in ("tp", "tn") else wrong for cell in CELLS}
        return {cell: (float(top / right[1]), float(bottom / right[1])) for cell, (top, bottom) in known.items()}

    @property
    def _counts_negatives(self) -> bool:
        """Whether true negatives are counted."""
        return any(of_all for *_, of_all in self._sides or ())

    def _class_weights(self, true: Array) -> Values:
        """Return the weight of the value of each class, or of all of them."""
        if self.average == "macro":
            return 1.0 / true.shape[-1]
        return true / true.sum(axis=-1, keepdims=True)

    def _is_counted(self, n_classes: int) -> BoolArray:
        """Mark the classes whose hits count."""
        if self.null is not None and self.null not in range(n_classes):
            raise ValueError(f"null={self.null} is no code of the {n_classes} classes; give one from 0 on")
        return np.arange(n_classes) != (-1 if self.null is None else self.null)

    def _counts(self, right: Array, true: Array, predicted: Array) -> tuple[Array, Array]:
        """Compute numerator and denominator of the value of each class, or of all that count."""
        self._check_classes()
        # Most ratios do not count true negatives.
        total: Values = true.sum(axis=-1, keepdims=True) if self._counts_negatives else 0.0
        if self.average == "micro":
            # Sums without the null class, not differences from 1, which leave rounding.
            counted = self._is_counted(true.shape[-1])
            right, true, predicted = (part[..., counted].sum(axis=-1) for part in (right, true, predicted))
            total = np.sum(total, axis=-1) * np.count_nonzero(counted)
        return self._weighed(right, true, predicted, total)

    def _weighed(self, right: Array, true: Array, predicted: Array, total: Values) -> tuple[Array, Array]:
        """Compute the numerator and the denominator of the ratio."""
        assert self._sides is not None, "it is a ratio of sums"
        counts = right, true, predicted, total
        top, bottom = self._sides
        return _sum_of(top, counts), _sum_of(bottom, counts)

    # ------------------------------------------------------------ over labels

    @property
    def truth(self) -> TrueMetric | None:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the metric)
        """That of the metric that is averaged, see `Metric.truth`."""
        return self.metric.truth

    @property
    def empty(self) -> float | None:
        """Value of a sample without labels for which none is predicted; ``None`` for means over labels."""
        return EMPTY.get(self.average)

    @property
    def beta(self) -> float:
        """Beta of the F-beta score."""
        assert isinstance(self.metric, FBeta), "the mean over samples is of no other"
        return self.metric.beta

    @property
    def extremes(self) -> tuple[Averaged, ...]:
        """Averages between which this one is, see `Metric.extremes`."""
        return tuple(Averaged(end, self.average) for end in self.metric.extremes)

    def of(self, y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> float:
        """Compute the metric on predicted labels.

        Parameters
        ----------
        y_true, y_pred : ndarray of shape (n_samples, n_labels)
            Truth and prediction, 0 and 1.
        sample_weight : ndarray of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            The value. A label that no sample has, or every one, counts for F-beta, Jaccard, precision and recall, as in
            scikit-learn (0 where nothing is counted); other metrics leave it out.
        """
        truth, predicted = np.asarray(y_true) > 0, np.asarray(y_pred) > 0
        if self.empty is not None:
            return float(np.average(self.of_samples(truth, predicted), weights=sample_weight))
        weight = np.ones(len(truth)) if sample_weight is None else sample_weight
        tables = [[weight @ (a & b) for b in (~predicted, predicted)] for a in (~truth, truth)]
        return float(self.of_tables(np.moveaxis(np.array(tables), 2, 0)))

    def of_samples(self, truth: BoolArray, predicted: Array) -> Array:
        """Compute the F-beta of the labels of each sample; labels may be found in part."""
        right, true, found = ((part * 1.0).sum(axis=1) for part in (truth * predicted, truth, predicted))
        total = np.full(len(truth), float(truth.shape[1]))
        return quotient(*self._weighed(right, true, found, total), empty=self.empty or 0.0)

    def of_tables(self, tables: Array) -> Array:
        """Average confusion matrices of shape (..., n_labels, 2, 2) over labels, or compute the metric of their sum.

        Metrics that do not count true negatives are defined for labels of one class; others leave these out.
        """
        tables = tables.sum(axis=-3, keepdims=True) if self.average == "micro" else tables
        true, total = tables[..., 1, :].sum(axis=-1), tables.sum(axis=(-2, -1))
        if self._sides is not None and not self._counts_negatives:
            values = quotient(*self._weighed(tables[..., 1, 1], true, tables[..., 1].sum(axis=-1), total))
        else:
            values = values_of_tables(self.metric, tables)
        weight = true if self.average == "weighted" else np.ones(values.shape)
        if self.average == "weighted" and self.truth is not None:
            weight = np.maximum(self.truth.positives(weight, total), 0.0)
        weight = np.where(np.isnan(values), 0.0, weight)
        none = np.where(np.isnan(values).any(axis=-1), np.nan, 0.0)
        counted = weight.sum(axis=-1)
        return np.divide(np.nansum(values * weight, axis=-1), counted, out=none, where=counted > 0.0)


def _sum_of(side: Side, counts: tuple[Array, Array, Array, Values]) -> Array:
    """Sum the counts that a side of a ratio has."""
    parts = [count if factor == 1.0 else factor * count for factor, count in zip(side, counts) if factor]
    return parts[0] if len(parts) == 1 else reduce(add, parts)


def _sides_of(terms: Terms) -> tuple[Side, Side]:
    """Return what a ratio of sums is by the right, true, predicted and all samples of its class."""
    top, bottom = (
        (tp - fn - fp + tn, fn - tn, fp - tn, tn)
        for tp, fn, fp, tn in zip(*(terms[cell] for cell in CELLS), strict=True)
    )
    return top, bottom


def values_of_tables(metric: Metric, tables: Array) -> Array:
    """Compute the metric of confusion matrices (..., 2, 2), positive class last; NaN where a class has no samples."""
    known = tables.sum(axis=-1).all(axis=-1)
    values = np.full(known.shape, np.nan)
    (tn, fp), (fn, tp) = np.moveaxis(tables[known], (-2, -1), (0, 1))
    plain = type(metric).value is LinearFractional.value and type(metric).of is Metric.of
    if plain and (terms := metric.terms()) is not None:
        top, bottom = np.tensordot([terms[cell] for cell in CELLS], [tp, fn, fp, tn], (0, 0))
        size = np.tensordot(np.abs([terms[cell][1] for cell in CELLS]), [tp, fn, fp, tn], 1)
        values[known] = np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > NOISE * size)
        return values
    columns = np.column_stack([tp, fp, fn, tn])
    some, total, pos = np.unique(np.linspace(0, len(columns) - 1, _SPOTS, dtype=int)), columns.sum(axis=1), tp + fn
    if len(columns) > _SPOTS:
        # Metrics take one share of positives; most also take many, which is so much faster that it is worth a trial.
        with suppress(TypeError, ValueError):
            errors = np.minimum(fn, pos) / total, np.minimum(fp, total - pos) / total
            values[known] = metric.value(*errors, pos=cast("float", pos / total))
            if np.allclose(values[known][some], [_of_counts(metric, *counts) for counts in columns[some].tolist()]):
                return values
    values[known] = [_of_counts(metric, *counts) for counts in columns.tolist()]
    return values


def _of_counts(metric: Metric, tp: float, fp: float, fn: float, tn: float) -> float:
    return metric.of(ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn))
