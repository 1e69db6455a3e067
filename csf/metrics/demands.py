"""Constraints on several classes: ratios of sums over the cells of a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray, Label, Values
from csf.metrics.base import CELLS, float_or_array
from csf.metrics.binary import OfNegatives
from csf.metrics.confusion import ConfusionMetric, cost_matrix_of
from csf.metrics.constraints import Constraint, all_of
from csf.metrics.named import RATIOS

# Of a class against the rest: true positives, false negatives, false positives and true negatives, as in `CELLS`.
_TP, _FN, _FP, _TN = range(4)


@dataclass(frozen=True, eq=False)
class ClassDemand:
    """Constraint on the confusion matrix of several classes: a ratio of sums keeps a level.

    Parameters
    ----------
    constraint : Constraint
        One requirement, without others.
    code : int or None
        Class that it is on; ``None`` for a requirement on all of them, the accuracy or a mean cost.
    top, bottom : ndarray of shape (n_classes, n_classes)
        What a sample of each cell (rows true, columns predicted) adds to numerator and denominator.

    Examples
    --------
    >>> from csf.metrics import get_constraint
    >>> (demand,) = demands_on(get_constraint("recall[b] >= 0.9"), ["a", "b", "c"])
    >>> confusion = np.array([[0.3, 0.1, 0.1], [0.0, 0.2, 0.1], [0.05, 0.05, 0.1]])
    >>> demand.rate(confusion), demand.missing(confusion)
    (0.667, 0.233)
    """

    constraint: Constraint
    code: int | None
    top: Array
    bottom: Array

    @classmethod
    def of(cls, constraint: Constraint, classes: Sequence[Label]) -> Self:
        """Read one requirement on classes; raise a ValueError where it has no meaning for them."""
        constraint.require_all_rows()
        code, quantity, n_classes = constraint.place_in(classes), constraint.quantity, len(classes)
        if (matrix := cost_matrix_of(quantity)) is not None:
            if code is not None:
                raise ValueError(f"constraint {constraint}: costs of a matrix are of all classes; leave the class out")
            costs = matrix.for_classes(np.asarray(classes)).cell_weights(n_classes)
            return cls(constraint, None, costs, np.ones_like(costs))
        terms = quantity.terms()
        if terms is None:
            raise ValueError(
                f"constraint {constraint} is no ratio of sums over samples; constrain one of {', '.join(RATIOS)}"
            )
        if code is None and (terms["tp"], terms["fn"]) != (terms["tn"], terms["fp"]):
            raise ValueError(
                f"constraint {constraint} is on a class: write {quantity.name}[{classes[0]}] {constraint.side} "
                f"{constraint.level:g} for one of {list(classes)}, or constrain the accuracy"
            )
        top, bottom = np.array([terms[cell] for cell in CELLS]).T
        cells = class_cells(n_classes, code)
        return cls(constraint, code, top[cells], bottom[cells])

    @property
    def gains(self) -> Array:
        """Amount that a sample of each cell adds to a sum that is >= 0 exactly where the level is kept."""
        sign = 1.0 if self.constraint.side == ">=" else -1.0
        return sign * (self.top - self.constraint.level * self.bottom)

    @property
    def affine(self) -> tuple[Array, Array] | None:
        """The gains as slopes and offsets, see `ConfusionMetric.affine`; ``None`` for those of a cost matrix."""
        gains, n_classes = self.gains, len(self.top)
        if cost_matrix_of(self.constraint.quantity) is not None:
            return None
        slopes, offsets = np.zeros((2, n_classes))
        if self.code is None:
            return slopes + (gains[0, 0] - gains[0, 1]), offsets
        # What the cells of a row have in common changes no decision.
        code, other = self.code, (self.code + 1) % n_classes
        wrong = gains[other, code] - gains[other, other]
        slopes[code], offsets[code] = gains[code, code] - gains[code, other] - wrong, -wrong
        return slopes, offsets

    def rate(self, confusion: Array) -> Values:
        """Compute the rate on confusion matrices of shape (..., n_classes, n_classes); 0 where nothing is counted."""
        top, bottom = ((confusion * terms).sum(axis=(-2, -1)) for terms in (self.top, self.bottom))
        return float_or_array(np.divide(top, bottom, out=np.zeros(np.shape(top)), where=bottom > 0.0))

    def missing(self, confusion: Array) -> Values:
        """Compute by how much confusion matrices miss the level."""
        return float_or_array(self.constraint.missing(self.rate(confusion)))

    def cells(self, truth: IntArray, decided: IntArray) -> tuple[BoolArray, BoolArray]:
        """Mark the samples that count as positive, and as predicted positive; of all classes, those that are right."""
        if self.code is None:
            return np.ones(truth.size, dtype=bool), truth == decided
        return truth == self.code, decided == self.code

    def tightened(self, share: float) -> ClassDemand:
        """Move the level towards the strictest one, by a share of the way."""
        return replace(self, constraint=self.constraint.tightened(share))


def class_cells(n_classes: int, code: int | None, negative: int | None = None) -> IntArray:
    """Return the cell of two classes, as in `CELLS`, that each cell of a confusion matrix is in.

    Of a class they are those against the rest, beside a ``negative`` class those of all others; else right ones are
    true positives, and wrong ones false negatives.
    """
    codes = np.arange(n_classes)
    group = codes if code is None else (codes == code).astype(int)
    is_pos, right = group != (negative if code is None else 0), group[:, None] == group
    return np.where(is_pos[:, None], np.where(right, _TP, _FN), np.where(right, _TN, _FP))


def demands_on(constraint: Constraint, classes: Sequence[Label]) -> tuple[ClassDemand, ...]:
    """Read all requirements of a constraint on classes; raise a ValueError where one has no meaning for them."""
    return tuple(ClassDemand.of(part, classes) for part in constraint.parts)


@dataclass(frozen=True, eq=False)
class ConstrainedClasses(ConfusionMetric):
    """Metric of several classes that is maximised under constraints on them.

    Parameters
    ----------
    metric : ConfusionMetric
        What is maximised.
    demands : tuple of ClassDemand
        What must hold.
    """

    metric: ConfusionMetric
    demands: tuple[ClassDemand, ...] = field()  # required, although the base class has none

    @property
    def unconstrained(self) -> ConfusionMetric:
        """The metric that is maximised."""
        return self.metric

    @property
    def name(self) -> str:
        """Name of the metric and the constraints."""
        return ", ".join([self.metric.name, *(str(demand.constraint) for demand in self.demands)])

    @property
    def unit(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the metric)
        """Size of a difference that matters."""
        return self.metric.unit

    def value(self, confusion: Array) -> Values:
        """Compute the metric, whether the constraints hold or not; see `ConfusionMetric.value`."""
        return self.metric.value(confusion)

    def affine(self, confusion: Array) -> tuple[Array, Array] | None:
        """Compute slopes and offsets of the metric, see `ConfusionMetric.affine`."""
        return self.metric.affine(confusion)

    def gradient(self, confusion: Array) -> Array:
        """Compute the derivatives of the metric, see `ConfusionMetric.gradient`."""
        return self.metric.gradient(confusion)

    def missing(self, confusion: Array) -> Values:
        """Compute the largest amount by which confusion matrices miss one of the levels."""
        return float_or_array(np.maximum.reduce([np.asarray(demand.missing(confusion)) for demand in self.demands]))

    def rate(self, confusion: Array) -> float:
        """Compute the first constrained rate, see `ConfusionMetric.rate`."""
        return float(self.demands[0].rate(confusion))

    def tightened(self, share: float) -> ConstrainedClasses:
        """Make all constraints stricter, see `ClassDemand.tightened`."""
        return replace(self, demands=tuple(demand.tightened(share) for demand in self.demands))


def on_positive(constraint: Constraint, names: list[Label], positive: Label) -> Constraint:
    """Convert a constraint on either of two classes to one on the positive class."""

    def converted(part: Constraint) -> Constraint:
        place, quantity = part.place_in(names), part.quantity
        if place is not None and names[place] != positive:
            quantity = OfNegatives(part.ratio)
        return replace(part, quantity=quantity, of=None)

    return all_of([converted(part) for part in constraint.parts])
