"""The exact best offset of one class's score, and coordinate ascent over the offsets of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from csf._common.typing import Array, FloatArray, IntArray
from csf.data.responses import midpoint
from csf.metrics.confusion import ConfusionMetric, MetricOfSums
from csf.thresholding._rule_kernels import class_margins, moved_matrices, moved_sums
from csf.thresholding.linear_rule import LinearRule, Tally, counts_of

__all__ = ["ascend", "sweep_offset"]

# Numbers of a block of sums or confusion matrices: they stay in the processor's cache.
_BLOCK = 1 << 16


def sweep_offset(
    scores: Array,
    codes: IntArray,
    code: int,
    metric: ConfusionMetric,
    *,
    offsets: FloatArray | None = None,
    weight: Array | None = None,
) -> tuple[float, float]:
    """Offset of the score of one class for which the metric is largest, and its value; of equal ones the lowest.

    The class with the largest ``score + offset`` is decided. As the offset of one grows, entries go over to that class
    one after the other, so all decisions that it can bring about are looked at. Entries that go over together are not
    divided, and the offset is in the middle between two that are.
    """
    n_classes, n_entries = scores.shape[1], codes.shape[0]
    offsets = np.zeros(n_classes) if offsets is None else offsets
    weight = np.ones(n_entries) if weight is None else weight
    margins, others = np.empty(n_entries), np.empty(n_entries, dtype=np.int64)
    class_margins(np.ascontiguousarray(scores), offsets, code, margins, others)
    order = np.argsort(margins, kind="stable")
    order = order[(weight[order] > 0.0) & (margins[order] < np.inf)]
    moves = _Moves(order, margins, codes, others, weight, code, n_classes)
    n_moved, best = 0, -np.inf
    for moved, values in moves.of_sums(metric) if isinstance(metric, MetricOfSums) else moves.of_matrices(metric):
        values = np.where(np.isnan(values), -np.inf, values)
        at = int(values.argmax())
        if values[at] > best:
            n_moved, best = int(moved[at]), float(values[at])
    return _offset_after(n_moved, margins[order]), best


def ascend(
    scores: Array, codes: IntArray, metric: ConfusionMetric, weight: Array | None = None, max_rounds: int = 20
) -> FloatArray:
    """Offsets of all classes by exact sweeps of one after the other, until a round gains nothing."""
    n_classes = scores.shape[1]
    tally = Tally(scores, codes, weight)

    def counted(offsets: FloatArray) -> float:
        tally.decide(LinearRule(np.ones(n_classes), -offsets))
        return metric.value(tally.confusion())

    offsets = np.zeros(n_classes)
    best = counted(offsets)
    for _ in range(max_rounds):
        before = best
        for code in range(n_classes):
            trial = offsets.copy()
            trial[code], promised = sweep_offset(scores, codes, code, metric, offsets=offsets, weight=weight)
            # Sums of scores and offsets are rounded, so a gain counts once it is there.
            if promised > best and (value := counted(trial)) > best:
                offsets, best = trial, value
        if best == before:
            break
    return offsets


@dataclass(frozen=True)
class _Moves:
    """Entries in the order in which they go over to a class, and the class that has each of them before."""

    order: IntArray
    margins: Array
    codes: IntArray
    others: IntArray
    weight: Array
    code: int
    n_classes: int

    def of_sums(self, metric: MetricOfSums) -> Iterator[tuple[IntArray, Array]]:
        """Numbers of entries that have gone over, and values then, in blocks; two sums change with each entry."""
        counts, total = self._before()
        true, predicted, worth = counts.sum(axis=1), counts.sum(axis=0), metric.cell_weights(self.n_classes)
        weighted, least = (counts * worth).sum(axis=1), true * worth.min(axis=1)
        if self._can_have_none():
            yield np.zeros(1, np.int64), metric.of_sums(true / total, predicted[None] / total, weighted[None] / total)
        size, start = max(1, _BLOCK // self.n_classes), 0
        sums, moved = np.empty((2, size, self.n_classes)), np.empty(size, dtype=np.int64)
        while start < self.order.size:
            start, n_written = moved_sums(
                *self._from(start), worth, least, predicted, weighted, sums[0], sums[1], moved
            )
            now, rows = sums[:, :n_written] / total
            yield moved[:n_written], metric.of_sums(true / total, now, rows)

    def of_matrices(self, metric: ConfusionMetric) -> Iterator[tuple[IntArray, Array]]:
        """`of_sums` for a metric that needs the whole confusion matrix."""
        counts, total = self._before()
        if self._can_have_none():
            yield np.zeros(1, np.int64), metric.value(counts[None] / total)
        size, start = max(1, _BLOCK // counts.size), 0
        matrices, moved = np.empty((size, *counts.shape)), np.empty(size, dtype=np.int64)
        while start < self.order.size:
            start, n_written = moved_matrices(*self._from(start), counts, matrices, moved)
            yield moved[:n_written], metric.value(matrices[:n_written] / total)

    def _before(self) -> tuple[Array, float]:
        """Weights of the cells where the class has nothing, and their sum."""
        counts = counts_of(self.codes, self.others, self.n_classes, self.weight)
        return counts, float(counts.sum())

    def _can_have_none(self) -> bool:
        """Whether an offset leaves the class nothing: none does where all other scores of an entry are -inf."""
        return self.order.size == 0 or bool(self.margins[self.order[0]] > -np.inf)

    def _from(self, start: int) -> tuple:
        return self.order, start, self.margins, self.codes, self.others, self.weight, self.code


def _offset_after(n_moved: int, margins: Array) -> float:
    """Offset at which so many entries of ascending margins have gone over."""
    finite = margins[np.isfinite(margins)]
    n_moved -= margins.size - finite.size
    if finite.size == 0:
        return 0.0
    if n_moved == 0:
        return float(finite[0] - max(1.0, abs(finite[0])))
    if n_moved == finite.size:
        return float(finite[-1] + max(1.0, abs(finite[-1])))
    return float(midpoint(finite[n_moved], finite[n_moved - 1]))
