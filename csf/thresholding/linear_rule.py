"""Linear rules of class probabilities, and the one that maximises a metric of the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.thresholding._rule_kernels import decide_affine, decide_matrix

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric

__all__ = ["LinearRule", "Tally", "confusion_of", "counts_of", "cross_fitted", "tune_rule"]

_STEPS = 40
# Share of a new gradient in the rule: full steps jump between rules that are each best for the other's decisions.
_STEP = 0.3


@dataclass(frozen=True, eq=False)
class LinearRule:
    """Decides for the class with the largest linear score of the class probabilities.

    Parameters
    ----------
    slopes, offsets : ndarray of shape (n_classes,)
        Class k has the score ``slopes[k] * p[k] - offsets[k]``.
    matrix : ndarray of shape (n_classes, n_classes), default=None
        Where it is given, the scores are ``p @ matrix`` instead: entry (j, k) is what it is worth to decide for k
        where j is true. Slopes are then 1 and offsets 0.
    kind : {"affine", "argmax"}, default="affine"
        ``"argmax"`` stands for a classifier's own decision.

    Notes
    -----
    A differentiable metric of the confusion matrix has, but for ties, a best rule of this form: its matrix is the
    gradient of the metric at the confusion matrix of the rule itself [1]_. For most metrics that gradient is a diagonal
    less one row for all, which gives slopes and offsets.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, S. Tavker, D. Khurana, P. Netrapalli, S. Agarwal, "Consistent multiclass
       algorithms for complex metrics and constraints", JMLR 25, 2024.

    Examples
    --------
    >>> rule = LinearRule(np.array([1.0, 1.0, 4.0]), np.array([0.0, 0.1, 0.0]))
    >>> rule.scores(np.array([[0.4, 0.45, 0.15]]))
    array([[0.4 , 0.35, 0.6 ]])
    >>> rule.decide(np.array([[0.4, 0.45, 0.15], [0.6, 0.3, 0.1]]))
    array([2, 0])
    """

    slopes: Array
    offsets: Array
    matrix: Array | None = None
    kind: str = "affine"

    @classmethod
    def argmax(cls, n_classes: int) -> LinearRule:
        """Rule of the largest probability.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        LinearRule
            Slopes 1 and offsets 0.
        """
        return cls(np.ones(n_classes), np.zeros(n_classes), kind="argmax")

    def scores(self, proba: Array) -> Array:
        """Scores of all classes.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest one of a row is what is decided.
        """
        if self.matrix is None:
            return proba * self.slopes - self.offsets
        # Class by class: a product of matrices rounds a row differently among other rows.
        scores = proba[:, :1] * self.matrix[0]
        for column in range(1, self.matrix.shape[0]):
            scores += proba[:, column : column + 1] * self.matrix[column]
        return scores

    def decide(self, proba: Array) -> IntArray:
        """Decided classes.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Codes; the lowest one of equal scores.
        """
        return self.scores(proba).argmax(axis=1)


def counts_of(codes: IntArray, decided: IntArray, n_classes: int, weight: Array | None = None) -> Array:
    """Weight of the entries of each true class (rows) about which each class is decided (columns)."""
    counts = np.bincount(codes * n_classes + decided, weights=weight, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def confusion_of(codes: IntArray, decided: IntArray, n_classes: int, weight: Array | None = None) -> Array:
    """Confusion matrix of decisions: shares of the weight, rows true and columns decided."""
    counts = counts_of(codes, decided, n_classes, weight)
    total = counts.sum()
    if not total > 0.0:
        raise ValueError("a confusion matrix needs an entry that weighs something; got none")
    return counts / total


def tune_rule(proba: Array, codes: IntArray, metric: ConfusionMetric, *, weight: Array | None = None) -> LinearRule:
    """Linear rule of probabilities that a metric of the counted confusion matrix is largest for, as far as is found.

    From the largest probability, and from the largest one in units of its class's share, the rule follows the gradient
    of the metric at the confusion matrix of its own decisions, with damping; the best rule on the way is kept.
    """
    n_classes = proba.shape[1]
    tally = Tally(proba, codes, weight)
    fixed = _fixed_gradient(metric, tally.shares)
    if fixed is not None:
        return fixed
    inverse = np.divide(1.0, tally.shares, out=np.zeros(n_classes), where=tally.shares > 0.0)
    best, best_value = LinearRule(np.ones(n_classes), np.zeros(n_classes)), -np.inf
    for slopes in (best.slopes, inverse):
        rule = LinearRule(slopes, np.zeros(n_classes))
        for step in range(_STEPS + 1):
            if not tally.decide(rule) and step > 0:
                break
            confusion = tally.confusion()
            value = metric.value(confusion)
            if value > best_value:
                best, best_value = rule, value
            gradient = _gradient(metric, confusion)
            rule = _between(_in_units(slopes, gradient) if step == 0 else rule, gradient)
    return best


def cross_fitted(
    proba: Array, codes: IntArray, metric: ConfusionMetric, groups: IntArray, *, weight: Array | None = None
) -> IntArray:
    """Decisions about each group of entries by the rule that is tuned on all the others."""
    tally = Tally(proba, codes, weight)
    for group in np.unique(groups):
        held = groups == group
        others = np.where(held, 0.0, 1.0 if weight is None else weight)
        tally.decide(tune_rule(proba, codes, metric, weight=others), held)
    return tally.decided


class Tally:
    """Entries, and what a rule decides about those that weigh something."""

    def __init__(self, proba: Array, codes: IntArray, weight: Array | None) -> None:
        self._proba, self._codes, self._weight = np.ascontiguousarray(proba), codes, weight
        self._counts = np.ones(codes.shape[0], dtype=bool) if weight is None else weight > 0.0
        self.decided = np.zeros(codes.shape[0], dtype=np.int64)

    @property
    def shares(self) -> Array:
        """Share of each class in the weight."""
        return self.confusion().sum(axis=1)

    def decide(self, rule: LinearRule, counts: BoolArray | None = None) -> int:
        """Let a rule decide; how many decisions are others than before."""
        counts = self._counts if counts is None else counts
        if rule.matrix is None:
            return decide_affine(self._proba, rule.slopes, rule.offsets, counts, self.decided)
        return decide_matrix(self._proba, rule.matrix, counts, self.decided)

    def confusion(self) -> Array:
        """Confusion matrix of what is decided."""
        return confusion_of(self._codes, self.decided, self._proba.shape[1], self._weight)


def _gradient(metric: ConfusionMetric, confusion: Array) -> LinearRule:
    """Best rule for the metric where it is linearised."""
    n_classes, affine = confusion.shape[0], metric.affine(confusion)
    if affine is not None:
        return LinearRule(*affine)
    return LinearRule(np.ones(n_classes), np.zeros(n_classes), metric.gradient(confusion))


def _in_units(slopes: Array, gradient: LinearRule) -> LinearRule:
    """Rule of slopes alone, in the form and of the size of a gradient: a metric may be in any unit."""
    size = np.abs(gradient.slopes).max() if gradient.matrix is None else np.ptp(gradient.matrix)
    slopes = slopes * (size / slopes.max())
    if gradient.matrix is None:
        return LinearRule(slopes, np.zeros(slopes.shape[0]))
    return LinearRule(gradient.slopes, gradient.offsets, np.diag(slopes))


def _between(rule: LinearRule, other: LinearRule) -> LinearRule:
    """A rule moved a step towards another one of the same form."""
    keep = 1.0 - _STEP
    matrix = None
    if rule.matrix is not None and other.matrix is not None:
        matrix = keep * rule.matrix + _STEP * other.matrix
    return LinearRule(keep * rule.slopes + _STEP * other.slopes, keep * rule.offsets + _STEP * other.offsets, matrix)


def _fixed_gradient(metric: ConfusionMetric, shares: Array) -> LinearRule | None:
    """Best rule of a metric that is linear in what is decided; ``None`` for others.

    Its gradient is the same at confusion matrices with different recalls of the classes.
    """
    n_classes = shares.shape[0]
    recalls = np.arange(1.0, n_classes + 1.0) / (n_classes + 1.0)
    first, second = (_gradient(metric, _spread(shares, right)) for right in (recalls, recalls[::-1]))
    difference = np.abs(_numbers(first) - _numbers(second)).max()
    return first if difference <= 1e-7 * np.abs(_numbers(first)).max() else None


def _numbers(rule: LinearRule) -> Array:
    return np.concatenate([rule.slopes, rule.offsets]) if rule.matrix is None else rule.matrix


def _spread(shares: Array, recalls: Array) -> Array:
    """Confusion matrix of given recalls, with mistakes spread over the other classes."""
    confusion = np.repeat((shares * (1.0 - recalls) / (shares.shape[0] - 1))[:, np.newaxis], shares.shape[0], axis=1)
    np.fill_diagonal(confusion, shares * recalls)
    return confusion
