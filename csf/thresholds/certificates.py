"""Thresholds whose constraint holds on new data with a given confidence.

With probability ``confidence`` over the samples, no threshold is certified that violates the constraint. A certificate
is true or not: the level limits how often a false one is given among all samples that might have come, not how many of
those that were given are false. Where no threshold reaches the level, all that are given are false, in
``1 - confidence`` of the cases at most; and who tries seeds, metrics or bases until one passes gets a false one more
often than was promised (where none is true, in 18 % of the cases for 10 seeds and in 3 % for one; see
``python -m tests.benchmarks certificates``).

The samples have to be independent of each other and like the new data. Their weights are taken as given: the weighted
rate is promised, for data in which no sample of a class weighs more than the heaviest one that was given. A weight of 2
is no second sample here: a repeated row is none that shows anything new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from csf._common.typing import Array, BoolArray
from csf.metrics.constraints import QUANTITIES, Rate

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint
    from csf.thresholds.curve import ThresholdCurve

__all__ = [
    "ClassWeights",
    "Guarantee",
    "certify",
    "check_rates",
    "ordered_tests",
    "violation_probability",
]

# Cuts that are tested at most.
_MOST = 200
# A first cut that is expected to pass by this factor leaves luck no part in it.
_SURE = 1e-4
# Largest factor by which the answer to "how many would do" is looked for.
_FAR = 1 << 20
# Share of the capital that a bet puts at risk at most: one heavy zero may not end it.
_LARGEST_STAKE = 0.95


@dataclass(frozen=True)
class Guarantee:
    """What the calibration samples show about a constraint.

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
        Where none passed: calibration positives with which the first one would probably pass by the held-out scores
        (as many as there are, where chance was against it); ``None`` where no number of them would do.
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
        if self.needed is None:
            way = (
                "the held-out scores show that no threshold reaches the level, however many samples there are: loosen "
                "the constraint, or improve the base"
            )
        elif self.needed <= self.n_positives:
            way = "by the held-out scores so many should be enough: loosen the constraint, or give more samples"
        else:
            way = f"about {self.needed} positives would be needed to show it"
        return (
            f"no threshold could be shown to satisfy {self.constraint} with confidence {self.confidence:g} on {known}; "
            f"{way}"
        )


@dataclass(frozen=True)
class ClassWeights:
    """Weights of the negatives and the positives, as they are known before a test: no new sample weighs more.

    Pairs of the two classes; NaN where no sample of a class is known. ``typical`` is the weight of which a class has
    ``(sum of w)^2 / (sum of w^2)`` samples that say as much as its own do (L. Kish, "Survey sampling", 1965).
    """

    smallest: tuple[float, ...]
    largest: tuple[float, ...]
    typical: tuple[float, ...]
    mean: float

    @classmethod
    def of(cls, is_pos: BoolArray, weight: Array) -> Self:
        """Those of samples."""
        each = [weight[(is_pos == positive) & (weight > 0.0)] for positive in (False, True)]
        pairs = [(w.min(), w.max(), (w @ w) / w.sum()) if w.size else (np.nan,) * 3 for w in each]
        smallest, largest, typical = (tuple(map(float, pair)) for pair in zip(*pairs))
        return cls(smallest, largest, typical, float(weight.mean()))


@dataclass(frozen=True)
class _Demand:
    """A constraint as a share of ones that has to reach a level."""

    rate: Rate
    level: float
    turned: bool

    @classmethod
    def of(cls, constraint: Constraint) -> Self:
        """Rates that may not be large are those of the complement that may not be small."""
        turned = constraint.side == "<="
        return cls(_rate_of(constraint), 1.0 - constraint.level if turned else constraint.level, turned)

    def sides(self, pair: tuple[Any, Any]) -> tuple[Any, Any]:
        """What belongs to the ones, and what to the zeros."""
        return pair[::-1] if self.turned else pair

    def weights(self, by_class: tuple[float, ...]) -> tuple[Array, Array]:
        """Weights of the classes that the ones are of, and of those that the zeros are of."""
        ones, zeros = self.sides((self.rate.ones, self.rate.zeros))
        first, second = (np.array([by_class[cell in ("tp", "fn")] for cell in cells]) for cells in (ones, zeros))
        return first, second

    def level_of_counts(self, ratio: float) -> float:
        """Share of ones among the samples where the level is reached and a one weighs ``ratio`` times a zero."""
        return self.level / (self.level + (1.0 - self.level) * ratio) if self.level > 0.0 else 0.0


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
    constraint: Constraint,
    is_pos: BoolArray,
    found: BoolArray,
    weight: Array | None = None,
    known: ClassWeights | None = None,
) -> float:
    """Probability value (p-value) of the hypothesis that a classifier violates a constraint on new data.

    In [0, 1]: if the constraint is violated, it is at most p with probability p. 1 where nothing is counted. Truth and
    prediction are those of samples that neither the classifier nor the threshold was chosen on. Of several demands the
    largest p-value counts: all have to hold. Weights are >= 0; ``known`` is what was known of them before (``None``:
    what these samples show, counted or not).

    A rate is a share of ones among the samples that it counts (precision: true positives among those predicted
    positive), so its tail is binomial and exact. It stays so where the ones weigh the same and the zeros do: the level
    then is another share of the counts. Otherwise the rate is reached where the mean of ``w (one - level)`` is not
    negative, and that is tested by a bet against it [1]_: all it needs is the weight that a zero has at most.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
       Statistical Society B 86, 2024.

    Examples
    --------
    >>> from csf.metrics import get_constraint
    >>> is_pos = np.arange(100) < 50
    >>> violation_probability(get_constraint("precision >= 0.9"), is_pos, np.arange(100) < 30)
    0.042
    """
    if weight is not None and known is None:
        known = ClassWeights.of(is_pos, weight)
    return max(_one(_Demand.of(part), is_pos, found, weight, known) for part in constraint.parts)


def _one(
    demand: _Demand, is_pos: BoolArray, found: BoolArray, weight: Array | None, known: ClassWeights | None
) -> float:
    ones, zeros = demand.sides(demand.rate.masks(is_pos, found))
    if weight is None or known is None:
        return _tail(int((ones | zeros).sum()), int(ones.sum()), demand.level)
    ones, zeros = ones & (weight > 0.0), zeros & (weight > 0.0)
    # Not the weights that happen to be counted: where errors are rare and heavy, none may be among them.
    smallest, largest = (np.concatenate(demand.weights(pair)) for pair in (known.smallest, known.largest))
    light, heavy = demand.weights(known.largest)
    if not ones.any() or np.isnan(heavy).any():
        return 1.0
    if np.array_equal(smallest, largest) and np.ptp(light) == np.ptp(heavy) == 0.0:
        return _tail(int((ones | zeros).sum()), int(ones.sum()), demand.level_of_counts(light[0] / heavy[0]))
    return _bet(weight[ones], weight[zeros], float(heavy.max()), demand.level)


def _tail(n: int, successes: int, level: float) -> float:
    """Probability of at least so many of n where each has the probability ``level``."""
    return float(binom.sf(successes - 1, n, level))


def _bet(ones: Array, zeros: Array, heaviest: float, level: float) -> float:
    """p-value of a mean of ``w (one - level)`` below 0: one over the capital that bets on the opposite end with.

    A zero of the largest weight costs the whole stake. The mean capital of several stakes is at most 1 in expectation
    where the mean is below 0, whatever the weights of the ones, so that it exceeds 1 / p with probability p.
    """
    if level <= 0.0 or level >= 1.0:
        return float(level >= 1.0)
    gains = np.concatenate([ones * (1.0 - level) / level, -zeros]) / heaviest
    # The stake that is best where all weigh the same and p is 0.1; light samples ask for larger ones.
    smallest = min(np.sqrt(2.0 * np.log(10.0) * level / ((1.0 - level) * gains.size)), _LARGEST_STAKE)
    stakes = smallest * 2.0 ** np.arange(1 + int(np.log2(_LARGEST_STAKE / smallest)))
    capital = logsumexp([np.log1p(stake * gains).sum() for stake in stakes]) - np.log(stakes.size)
    return float(np.exp(min(0.0, -capital)))


def ordered_tests(
    curve: ThresholdCurve, metric: Metric, n_samples: int, error: float, searched: ClassWeights | None = None
) -> Array:
    """Thresholds in the order in which they are to be tested, from scores that know nothing of the calibration.

    First the one that is most likely to pass on so many calibration samples, then on towards better values of the
    metric. ``error`` is the wanted one, ``1 - confidence``, ``searched`` the weights of the samples of the curve.
    """
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    expected = _expected(curve, metric.constraint, n_samples, searched)
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


def _expected(curve: ThresholdCurve, constraint: Constraint, n_samples: float, searched: ClassWeights | None) -> Array:
    """p-value to expect of each cut on so many samples, by its held-out errors with a little pessimism."""
    result = np.zeros(curve.fn.size)
    fn, fp, pos = curve.fn, curve.fp, curve.pos
    if searched is not None:  # shares of the weight as shares of samples that say as much
        by_neg, by_pos = (searched.mean / typical for typical in searched.typical)
        total = by_pos * pos + by_neg * (1.0 - pos)
        fn, fp, pos, n_samples = fn * by_pos / total, fp * by_neg / total, pos * by_pos / total, n_samples * total
    for part in constraint.parts:
        demand = _Demand.of(part)
        ones, zeros = demand.sides(demand.rate.shares(fn, fp, pos=pos))
        level = demand.level
        if searched is not None:
            light, heavy = demand.weights(searched.typical)
            level = demand.level_of_counts(light.mean() / heavy.mean())
        # Half a wrong one more than were seen: a rate of 1 on few samples convinces nobody.
        n = np.floor(n_samples * (ones + zeros))
        share = np.where(n > 0, (n_samples * ones) / np.maximum(n_samples * (ones + zeros) + 1.0, 1.0), 0.0)
        tail = binom.sf(np.floor(n * share) - 1, n, level)
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
    *,
    searched: ClassWeights | None = None,
    known: ClassWeights | None = None,
) -> Guarantee:
    """The best threshold for which a constraint holds on new data with the wanted confidence.

    The curve is of the held-out scores of the search, which fix the order of the tests, and ``searched`` are the
    weights there. Calibration samples have a truth, positives that are taken for the wrong class (``lost``), scores of
    the final model, weights, and ``known`` is what is known of these before, see `violation_probability`.

    Thresholds are tested one after the other in a fixed order, each at the full error ``1 - confidence``, up to the
    first that fails (fixed-sequence testing, as in Learn then Test [1]_): the probability that any one passes which
    violates the constraint is at most the error.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test: calibrating predictive algorithms
       to achieve risk control", 2021.
    """
    constraint, error = metric.constraint, 1.0 - confidence
    thresholds = ordered_tests(curve, metric, is_pos.size, error, searched)
    passed, tested, first = None, 0, None
    for threshold in thresholds.tolist():
        p = violation_probability(constraint, is_pos, (score >= threshold) & ~lost, weight, known)
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
        needed=None if passed is not None else _needed(curve, constraint, is_pos, error, searched),
    )


def _rate(constraint: Constraint, is_pos: BoolArray, found: BoolArray, weight: Array | None) -> float:
    ones, zeros = _rate_of(constraint).masks(is_pos, found)
    weight = np.ones(is_pos.size) if weight is None else weight
    total = float(weight[ones | zeros].sum())
    return float(weight[ones].sum()) / total if total > 0.0 else 0.0


def _needed(
    curve: ThresholdCurve, constraint: Constraint, is_pos: BoolArray, error: float, searched: ClassWeights | None
) -> int | None:
    """Positives with which a cut should pass by a clear margin."""
    factor = 1.0
    while factor <= _FAR:
        if _expected(curve, constraint, factor * is_pos.size, searched).min() <= 0.5 * error:
            return int(np.ceil(factor * max(int(is_pos.sum()), 1)))
        factor *= 1.25
    return None
