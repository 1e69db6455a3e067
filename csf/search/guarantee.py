"""Thresholds whose constraint holds on new data with a given confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from csf._common.typing import Array, BoolArray
from csf.metrics.constraint import QUANTITIES
from csf.metrics.rates import Rate

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraint import Constraint
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["Guarantee", "certify", "check_rates", "ordered_tests", "violation_probability"]

# Cuts that are tested at most.
_MOST = 200
# A first cut that is expected to pass by this factor leaves luck no part in it.
_SURE = 1e-4
# Largest factor by which the answer to "how many would do" is looked for.
_FAR = 1 << 20


@dataclass(frozen=True)
class Guarantee:
    """What the calibration samples say of a constraint.

    Parameters
    ----------
    constraint : str
        The constraint.
    confidence : float
        Wanted probability that the constraint holds on new data.
    holds : bool
        Whether a threshold passed.
    threshold : float
        The threshold: the best one that passed, or where none did the one that was tested first.
    error : float
        p-value of the constraint there: at most ``1 - confidence`` where it passed.
    rates : dict of str to float
        Constrained rates there, on the calibration samples.
    n_samples, n_positives : int
        Calibration samples, and the positives among them.
    n_tested : int
        Thresholds that were tested, in an order that was fixed before.
    needed : int or None
        Where none passed: calibration positives with which the first one would probably pass; ``None`` where no number
        of them would do.
    """

    constraint: str
    confidence: float
    holds: bool
    threshold: float
    error: float
    rates: dict[str, float]
    n_samples: int
    n_positives: int
    n_tested: int
    needed: int | None = None

    def __str__(self) -> str:
        """The result in a sentence."""
        known = f"{self.n_samples} calibration samples, {self.n_positives} of them positive"
        if self.holds:
            return f"{self.constraint} holds with confidence {self.confidence:g} ({known}, p = {self.error:.2g})"
        way = (
            "the held-out scores say that no threshold reaches the level, however many samples there are: loosen the "
            "constraint, or improve the base"
            if self.needed is None
            else f"about {self.needed} positives would be needed to show it"
        )
        return (
            f"no threshold could be shown to satisfy {self.constraint} with confidence {self.confidence:g} on {known}; "
            f"{way}"
        )


def check_rates(constraint: Constraint) -> None:
    """A ValueError for a constraint on something that is no share of ones: there is no exact test of it."""
    for part in constraint.parts:
        _rate_of(part)


def _rate_of(constraint: Constraint) -> Rate:
    if not isinstance(constraint.quantity, Rate):
        raise ValueError(
            f"{constraint} cannot be shown with a confidence: {constraint.quantity.name} is no share of samples. Give "
            f"a rate ({', '.join(QUANTITIES)}, or a subclass of csf.metrics.Rate), or leave out confidence"
        )
    return constraint.quantity


def violation_probability(
    constraint: Constraint, is_pos: BoolArray, found: BoolArray, weight: Array | None = None
) -> float:
    """Probability value (p-value) of the hypothesis that a classifier violates a constraint on new data.

    Parameters
    ----------
    constraint : Constraint
        The demand; of several the largest p-value counts: all have to hold.
    is_pos, found : ndarray of bool, shape (n_samples,)
        Truth and prediction of samples that neither the classifier nor the threshold was chosen on.
    weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    float
        In [0, 1]: if the constraint is violated, it is at most p with probability p. 1 where nothing is counted.

    Notes
    -----
    A rate is a share of ones among the samples that it counts (precision: true positives among those predicted
    positive), so its tail is binomial and exact. Unequal weights make it a mean of bounded numbers; the tail is then
    the bound of Hoeffding and Bentkus [1]_, which is larger.

    References
    ----------
    .. [1] S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan, "Distribution-free, risk-controlling prediction
       sets", Journal of the ACM 68, 2021.

    Examples
    --------
    >>> from csf.metrics import get_constraint
    >>> is_pos = np.arange(100) < 50
    >>> violation_probability(get_constraint("precision >= 0.9"), is_pos, np.arange(100) < 30)
    0.042
    """
    return max(_one(part, is_pos, found, weight) for part in constraint.parts)


def _one(constraint: Constraint, is_pos: BoolArray, found: BoolArray, weight: Array | None) -> float:
    ones, zeros = _rate_of(constraint).masks(is_pos, found)
    counted = ones | zeros
    # Rates that may not be large are those of the complement that may not be small.
    level = constraint.level if constraint.side == ">=" else 1.0 - constraint.level
    ones = ones if constraint.side == ">=" else zeros
    if weight is not None:
        counted = counted & (weight > 0.0)
    if not counted.any():
        return 1.0
    if weight is None or np.ptp(weight[counted]) == 0.0:
        return _tail(int(counted.sum()), float(ones[counted].sum()), level)
    share = weight[counted] / weight[counted].max()
    mean = float(np.mean(level + share * (ones[counted] - level)))
    n, e = share.size, float(np.e)
    # Chernoff's bound for bounded numbers, or e times the binomial tail, whichever is smaller
    return min(1.0, _chernoff(n, mean, level), e * _tail(n, np.floor(n * mean), level))


def _tail(n: int, successes: float, level: float) -> float:
    """Probability of at least so many of n where each has the probability ``level``."""
    return float(binom.sf(successes - 1, n, level)) if level > 0.0 else float(successes <= 0)


def _chernoff(n: int, mean: float, level: float) -> float:
    if mean <= level:
        return 1.0
    if level <= 0.0 or mean >= 1.0:
        return float(level**n) if level > 0.0 else 0.0
    distance = mean * np.log(mean / level) + (1.0 - mean) * np.log((1.0 - mean) / (1.0 - level))
    return float(np.exp(-n * distance))


def ordered_tests(curve: ThresholdCurve, metric: Metric, n_samples: int, error: float) -> Array:
    """Thresholds in the order in which they are to be tested, from scores that know nothing of the calibration.

    Parameters
    ----------
    curve : ThresholdCurve
        Held-out scores of the search.
    metric : Metric
        What is maximised, with its constraint.
    n_samples : int
        Calibration samples.
    error : float
        Wanted error, ``1 - confidence``.

    Returns
    -------
    ndarray of shape (n_thresholds,)
        First the one that is most likely to pass, then on towards better values of the metric.
    """
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    expected = _expected(curve, metric.constraint, n_samples)
    start = int(np.argmin(expected))
    # Cuts that should pass with room to spare need no place of their own before those that are better.
    likely = np.flatnonzero(expected <= _SURE * error)
    if likely.size:
        start = int(likely[np.argmax(values[likely])])
    steps = [np.arange(start, values.size), np.arange(start, -1, -1)]
    path = max(steps, key=lambda cuts: float(values[cuts].max()))
    # Only what is better than all before is worth a test.
    rising = path[values[path] > np.maximum.accumulate(np.concatenate([[-np.inf], values[path][:-1]]))]
    if rising.size > _MOST:
        rising = rising[np.unique(np.linspace(0, rising.size - 1, _MOST).round().astype(int))]
    return curve.thresholds[rising]


def _expected(curve: ThresholdCurve, constraint: Constraint, n_samples: float) -> Array:
    """p-value to expect of each cut on so many samples, by its held-out errors with a little pessimism."""
    result = np.zeros(curve.fn.size)
    for part in constraint.parts:
        ones, zeros = _rate_of(part).shares(curve.fn, curve.fp, pos=curve.pos)
        ones, zeros = (ones, zeros) if part.side == ">=" else (zeros, ones)
        level = part.level if part.side == ">=" else 1.0 - part.level
        # Half a wrong one more than were seen: a rate of 1 on few samples convinces nobody.
        n = np.floor(n_samples * (ones + zeros))
        share = np.where(n > 0, (n_samples * ones) / np.maximum(n_samples * (ones + zeros) + 1.0, 1.0), 0.0)
        tail = binom.sf(np.floor(n * share) - 1, n, level) if level > 0 else np.ones(n.size)
        result = np.maximum(result, np.where(n > 0, tail, 1.0))
    return result


def certify(
    curve: ThresholdCurve,
    metric: Metric,
    confidence: float,
    is_pos: BoolArray,
    lost: BoolArray,
    score: Array,
    weight: Array | None = None,
) -> Guarantee:
    """The best threshold for which a constraint holds on new data with the wanted confidence.

    Parameters
    ----------
    curve : ThresholdCurve
        Held-out scores of the search, which fix the order of the tests.
    metric : Metric
        What is maximised, with its constraint.
    confidence : float
        Wanted probability, in (0, 1).
    is_pos, lost, score : ndarray of shape (n_samples,)
        Calibration samples: truth, positives that are taken for the wrong class, and scores of the final model.
    weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.

    Returns
    -------
    Guarantee
        The threshold.

    Notes
    -----
    Thresholds are tested one after the other in a fixed order, each at the full error ``1 - confidence``, up to the
    first that fails (fixed-sequence testing, as in Learn then Test [1]_): the probability that any one passes which
    violates the constraint is at most the error.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test: calibrating predictive algorithms
       to achieve risk control", 2021.
    """
    constraint, error = metric.constraint, 1.0 - confidence
    thresholds = ordered_tests(curve, metric, is_pos.size, error)
    passed, tested, first = None, 0, None
    for threshold in thresholds.tolist():
        p = violation_probability(constraint, is_pos, (score >= threshold) & ~lost, weight)
        tested += 1
        first = p if first is None else first
        if p > error:
            break
        # Each one is better by the held-out scores than those before it.
        passed = threshold, p
    threshold, p = passed if passed is not None else (float(thresholds[0]), float(first or 1.0))
    found = (score >= threshold) & ~lost
    return Guarantee(
        constraint=str(constraint),
        confidence=confidence,
        holds=passed is not None,
        threshold=threshold,
        error=p,
        rates={part.quantity.name: _rate(part, is_pos, found, weight) for part in constraint.parts},
        n_samples=int(is_pos.size),
        n_positives=int(is_pos.sum()),
        n_tested=tested,
        needed=None if passed is not None else _needed(curve, constraint, is_pos, error),
    )


def _rate(constraint: Constraint, is_pos: BoolArray, found: BoolArray, weight: Array | None) -> float:
    ones, zeros = _rate_of(constraint).masks(is_pos, found)
    weight = np.ones(is_pos.size) if weight is None else weight
    total = float(weight[ones | zeros].sum())
    return float(weight[ones].sum()) / total if total > 0.0 else 0.0


def _needed(curve: ThresholdCurve, constraint: Constraint, is_pos: BoolArray, error: float) -> int | None:
    """Positives with which a cut should pass by a clear margin."""
    factor = 1.0
    while factor <= _FAR:
        if _expected(curve, constraint, factor * is_pos.size).min() <= 0.5 * error:
            return int(np.ceil(factor * max(int(is_pos.sum()), 1)))
        factor *= 1.25
    return None
