"""The exact best offset of one class's score, and coordinate ascent over the offsets of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, FloatArray, IntArray
from csf.scores.midpoints import midpoint
from csf.thresholding._rule_kernels import class_margins, moved_matrices
from csf.thresholding.linear_rule import LinearRule, Tally, counts_of

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric

__all__ = ["ascend", "sweep_offset"]

# Numbers of a block of confusion matrices: they stay in the processor's cache.
_BLOCK = 1 << 17


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
    n_classes = scores.shape[1]
    offsets = np.zeros(n_classes) if offsets is None else offsets
    weight = np.ones(codes.shape[0]) if weight is None else weight
    margins, others = np.empty(codes.shape[0]), np.empty(codes.shape[0], dtype=np.int64)
    class_margins(np.ascontiguousarray(scores), offsets, code, margins, others)
    order = np.argsort(margins, kind="stable")
    order = order[(weight[order] > 0.0) & (margins[order] < np.inf)]
    n_moved, best = 0, -np.inf
    for moved, matrices in _confusions(order, margins, codes, others, weight, code, n_classes):
        values = np.asarray(metric.value(matrices))
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


def _confusions(
    order: IntArray, margins: Array, codes: IntArray, others: IntArray, weight: Array, code: int, n_classes: int
) -> Iterator[tuple[IntArray, Array]]:
    """Confusion matrices at all offsets, in blocks, and how many entries have moved to the class in each."""
    counts = counts_of(codes, others, n_classes, weight).astype(np.float64)
    total, start = counts.sum(), 0
    if order.size == 0 or margins[order[0]] > -np.inf:
        yield np.zeros(1, dtype=np.int64), counts[np.newaxis] / total
    size = max(1, _BLOCK // counts.size)
    matrices, moved = np.empty((size, n_classes, n_classes)), np.empty(size, dtype=np.int64)
    while start < order.size:
        start, n_written = moved_matrices(order, start, margins, codes, others, weight, code, counts, matrices, moved)
        yield moved[:n_written], matrices[:n_written] / total


def _offset_after(n_moved: int, margins: Array) -> float:
    """Offset that so many entries of ascending margins go over at."""
    finite = margins[np.isfinite(margins)]
    n_moved -= margins.size - finite.size
    if finite.size == 0:
        return 0.0
    if n_moved == 0:
        return float(finite[0] - max(1.0, abs(finite[0])))
    if n_moved == finite.size:
        return float(finite[-1] + max(1.0, abs(finite[-1])))
    return float(midpoint(finite[n_moved], finite[n_moved - 1]))
