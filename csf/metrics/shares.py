"""Metrics that are shares of samples: their counts, and exact intervals of their values.

A metric is a share where the samples that it counts add only two different amounts to it. F1 is one: with
``J = TP / (TP + FP + FN)`` it is ``2 J / (1 + J)``, so that ``F1 >= f`` exactly where ``J >= f / (2 - f)``. Among the
samples that are positive or predicted positive, the number of true positives is binomial.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from csf._common.typing import Array, Values
from csf._common.validation import check_fraction
from csf.metrics.base import LinearFractional, float_or_array
from csf.metrics.confusion import ConfusionAccuracy, CostMatrix, MicroF, OfTwoClasses
from csf.metrics.constraints import Constrained, Rate

CELLS = ("tp", "fn", "fp", "tn")
# Relative difference of two amounts that rounding may leave of equal ones.
_SAME = 1e-9


@dataclass(frozen=True)
class Share:
    """A metric as a share of ones among the samples that it counts: its value rises with that share.

    Attributes
    ----------
    ones, zeros : tuple of {"tp", "fn", "fp", "tn"}
        Cells of the confusion matrix that are counted as ones, and as zeros; samples of the others are not counted.
        Of several classes, ``"tp"`` are the samples that are right, and ``"fn"`` the others.
    top, bottom : tuple of float
        What a one and a zero add to the numerator of the metric, and to its denominator.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> f1 = share_of(get_metric("f1"))
    >>> f1.counts(tp=18, fn=2, fp=4, tn=900)
    (18, 24)
    >>> f1.value(18 / 24), f1.share(0.5), f1.interval(18, 24)
    (0.857, 0.333, (0.740, 0.930))
    """

    ones: tuple[str, ...]
    zeros: tuple[str, ...]
    top: tuple[float, float] = (1.0, 0.0)
    bottom: tuple[float, float] = (1.0, 1.0)

    def counts(self, *, tp: Any, fn: Any, fp: Any, tn: Any) -> tuple[Any, Any]:
        """Numbers of ones and of counted samples, from numbers (or arrays of numbers) of the cells."""
        cells = {"tp": tp, "fn": fn, "fp": fp, "tn": tn}
        ones = sum(cells[name] for name in self.ones)
        return ones, ones + sum(cells[name] for name in self.zeros)

    def value(self, share: Values) -> Values:
        """Value of the metric at a share of ones."""
        (n1, n0), (d1, d0), share = self.top, self.bottom, np.asarray(share, dtype=float)
        return float_or_array((n1 * share + n0 * (1.0 - share)) / (d1 * share + d0 * (1.0 - share)))

    def share(self, value: Values) -> Values:
        """Share of ones at which the metric has a value; 0 or 1 for values beyond those of the metric."""
        (n1, n0), (d1, d0), value = self.top, self.bottom, np.asarray(value, dtype=float)
        gain, loss = n1 - value * d1, value * d0 - n0  # of a one above the value, and of a zero below it
        # Where one of them is negative, the value is out of reach: all samples are above it, or below.
        gain, loss = np.maximum(gain, 0.0), np.maximum(loss, 0.0)
        return float_or_array(loss / (gain + loss))

    def interval(self, ones: int, trials: int, confidence: float = 0.9, *, exact: bool = False) -> tuple[float, float]:
        """Interval of the metric's value where so many of the counted samples are ones.

        Parameters
        ----------
        ones, trials : int
            See `counts`; the samples are independent of each other and of the classifier.
        confidence : float, default=0.9
            How often the interval holds the true value.
        exact : bool, default=False
            Whether it holds it at least so often, whatever the share is (Clopper and Pearson). Otherwise it does so on
            average (Jeffreys), and is narrower [1]_.

        Returns
        -------
        tuple of float
            Both ends; all values of the metric where nothing is counted.

        References
        ----------
        .. [1] L. Brown, T. Cai, A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16,
           2001.
        """
        tail, more = 0.5 * (1.0 - check_fraction(confidence, "confidence")), (0.0, 1.0) if exact else (0.5, 0.5)
        zeros = trials - ones
        low = beta.ppf(tail, ones + more[0], zeros + more[1]) if ones else 0.0
        high = beta.ppf(1.0 - tail, ones + more[1], zeros + more[0]) if zeros else 1.0
        return float(self.value(low)), float(self.value(high))


def share_of(metric: Any) -> Share | None:
    """The share that a metric is, ``None`` where it is none.

    Shares are F1, Jaccard, precision, recall, specificity and the other rates, accuracy, and all ratios that count
    errors of both kinds alike, such as ``Tversky(a, a)``; of several classes accuracy. F-beta of another beta counts
    three different amounts, and the G-mean is no ratio of sums: neither is a share.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> share_of(get_metric("jaccard"))
    Share(ones=('tp',), zeros=('fn', 'fp'), top=(1.0, 0.0), bottom=(1.0, 1.0))
    >>> print(share_of(get_metric("f2")))
    None
    """
    terms = {cell: amounts for cell, amounts in (terms_of(metric) or {}).items() if any(amounts)}
    if not terms:
        return None
    amounts = np.array(list(terms.values()))
    size = np.abs(amounts).max(axis=0)
    alike = (np.abs(amounts - amounts[0]) <= _SAME * size).all(axis=1)
    groups = [[cell for cell, same in zip(terms, alike) if same == side] for side in (True, False)]
    if not groups[1] or np.ptp(amounts[~alike] / np.where(size > 0.0, size, 1.0), axis=0).max() > _SAME:
        return None
    (first, second) = (terms[cells[0]] for cells in groups)
    if min(first[1], second[1]) <= 0.0:
        return None
    if first[0] / first[1] < second[0] / second[1]:
        groups, first, second = groups[::-1], second, first
    ones, zeros = (tuple(cells) for cells in groups)
    return Share(ones, zeros, (first[0], second[0]), (first[1], second[1]))


def terms_of(metric: Any) -> dict[str, tuple[float, float]] | None:
    """What a sample of each cell adds to the numerator and the denominator of a metric that is a ratio of sums.

    ``None`` for other metrics, such as the G-mean and Cohen's kappa. A metric of this kind is at least t exactly where
    the mean of ``top - t bottom`` over the samples is not negative.

    Examples
    --------
    >>> from csf.metrics import get_metric
    >>> terms_of(get_metric("f2"))
    {'tp': (5.0, 5.0), 'fn': (0.0, 4.0), 'fp': (0.0, 1.0), 'tn': (0.0, 0.0)}
    """
    if isinstance(metric, Constrained):
        return terms_of(metric.metric)
    if isinstance(metric, OfTwoClasses):
        return terms_of(metric.confusion)
    if isinstance(metric, Rate):
        return {cell: (float(cell in metric.ones), float(cell in metric.ones + metric.zeros)) for cell in CELLS}
    if isinstance(metric, ConfusionAccuracy) or (isinstance(metric, MicroF) and metric.null is None):
        return {cell: (float(cell in ("tp", "tn")), 1.0) for cell in CELLS}
    if isinstance(metric, CostMatrix):
        costs = np.asarray(metric.costs)
        pairs = {"tp": (1, 1), "fn": (1, 0), "fp": (0, 1), "tn": (0, 0)}
        return {cell: (-float(costs[pairs[cell]]), 1.0) for cell in CELLS} if len(costs) == 2 else None
    return _of_ratio(metric) if isinstance(metric, LinearFractional) else None


def gains_of(terms: dict[str, tuple[float, float]], side: str, level: float) -> Array:
    """What a sample of each cell adds to a sum that is not negative exactly where a metric keeps a level.

    ``top - level bottom`` of a metric that shall be large (``">="``), minus that of one that shall be small.
    """
    sign = 1.0 if side == ">=" else -1.0
    return sign * np.array([terms[cell][0] - level * terms[cell][1] for cell in CELLS])


def _of_ratio(metric: LinearFractional) -> dict[str, tuple[float, float]] | None:
    """Terms of six numbers, if these are sums over samples: constants are linear in the share, the others fixed."""
    low, middle, high = (np.array(metric.coefficients(pos)).reshape(2, 3) for pos in (0.25, 0.5, 0.75))
    slack = _SAME * np.abs(middle).max(axis=1, keepdims=True)
    if (np.abs(low + high - 2.0 * middle) > slack).any() or (np.abs(high - low)[:, 1:] > slack).any():
        return None
    # (top, bottom) of a negative and of a positive without errors, and what errors change.
    constant, slope, (fn, fp) = low[:, 0], 2.0 * (high - low)[:, 0], middle[:, 1:].T
    tn = constant - 0.25 * slope
    tp = tn + slope
    cells = {"tp": tp, "fn": tp + fn, "fp": tn + fp, "tn": tn}
    whole = slack[:, 0]
    return {cell: tuple(np.where(np.abs(both) > whole, both, 0.0).tolist()) for cell, both in cells.items()}
