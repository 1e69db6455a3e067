"""What samples add to numerator and denominator of a metric, by their classes, or by costs and amounts of each row."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from csf._common.typing import Array, IntArray
from csf.metrics.base import CELLS
from csf.metrics.confusion import CostMatrix
from csf.metrics.demands import class_cells

# Kinds of each sample (n, m), how much of it is of each, and its cost, see `csf.monitoring.bets.TermHistogram`.
Parts: TypeAlias = tuple[IntArray, Array, Array]


class PairTerms:
    """Terms by true and predicted class, ``pairs[true, predicted]``; of several labels a row they are added."""

    def __init__(self, pairs: Array, n_labels: int) -> None:
        terms, kinds = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
        self._kinds = kinds.reshape(pairs.shape[:2])
        # A row is the mean of as many rows as it has labels, all labels of which are alike.
        self.fixed, self.per_cost = n_labels * terms, np.zeros_like(terms)

    def split(self, truth: IntArray, pred: IntArray) -> Parts:
        """Split rows into their labels."""
        return self._kinds[truth, pred], np.full(truth.shape, 1.0 / truth.shape[1]), np.zeros(len(truth))


class AmountTerms:
    """Terms of amounts of rows: the numerator is what a row gains less what it pays.

    The denominator is 1, or the gain. That is so of savings: the gain is the cost of the answer that they are compared
    with.
    """

    def __init__(self, *, per_gain: bool, gains: bool = True, loses: bool = True) -> None:
        # What a row gains and does not pay, what it does both, and what it pays beyond its gain, where there is such.
        self.fixed = np.tile([0.0, float(not per_gain)], (3, 1))
        self.per_cost = np.array([[gains, per_gain], [0.0, per_gain], [-float(loses), 0.0]])

    def split(self, gain: Array, paid: Array) -> Parts:
        """Split rows into what they gain and what they pay, as parts of the larger one."""
        kinds, cost = np.column_stack([np.where(paid <= gain, 0, 2), np.ones_like(gain)]), np.maximum(gain, paid)
        both = np.divide(np.minimum(gain, paid), cost, out=np.zeros_like(cost), where=cost > 0.0)
        return kinds.astype(np.int64), np.column_stack([1.0 - both, both]), cost


def pair_terms(metric: Any, classes: Array, negative: int | None, of: int | None) -> Array:
    """Return what samples add by the positions of their true and their predicted class, (n_classes, n_classes, 2).

    Parameters
    ----------
    metric : object
        A ratio of sums. A `CostMatrix` is its mean cost, without the minus of its value.
    classes : ndarray of shape (n_classes,)
        The classes.
    negative : int or None
        Position of the null class; ``None`` where all are alike.
    of : int or None
        Position of the class that is positive against all others.
    """
    if isinstance(metric, CostMatrix) and of is not None:
        raise ValueError(
            "a cost matrix has costs of all classes: leave out of=, or give MeanCost(fn=..., fp=...) of one"
        )
    if isinstance(metric, CostMatrix) and (negative is None or len(np.asarray(metric.costs)) == classes.size):
        # Costs of two classes have the negative one first.
        order = np.array([1, 0]) if negative == 1 and classes.size == 2 else np.arange(classes.size)
        costs = metric.for_classes(classes[order]).cell_weights(classes.size)
        return np.stack([costs, np.ones_like(costs)], axis=-1)[np.ix_(order, order)]
    terms, alike = metric.terms(), of is None and negative is None
    if terms is None or (alike and (terms["tp"], terms["fn"]) != (terms["tn"], terms["fp"])):
        reason = f"it needs two classes, and this search has {classes.tolist()}"
        reason = "it is not a ratio of sums over samples" if terms is None else reason
        one = f"monitor('recall[{classes.tolist()[0]}] >= 0.8') or " if alike else ""
        raise ValueError(
            f"a monitor cannot watch {metric.name}, because {reason}. Give what it can watch with its level, F-beta, "
            f"Jaccard, a rate, accuracy or a mean cost, such as {one}monitor('accuracy >= 0.8')"
        )
    sign = (-1.0, 1.0) if isinstance(metric, CostMatrix) else (1.0, 1.0)
    return (np.array([terms[cell] for cell in CELLS]) * sign)[class_cells(classes.size, of, negative)]
