"""Thresholds whose constraint holds on new data with a given confidence.

With probability ``confidence`` over the samples, no threshold is certified that violates the constraint. A certificate
is true or not: the level limits how often a false one is given among all samples that might have come, not how many of
those that were given are false. Where no threshold reaches the level, all that are given are false, in
``1 - confidence`` of the cases at most; and trying seeds, metrics or bases until one passes gives a false one more
often than promised (where none is true, in 18 % of the cases for 10 seeds and in 3 % for one; see
``python -m tests.benchmarks certificates``).

The samples have to be independent of each other and like the new data. Their weights are taken as given: the weighted
rate is promised, for data in which no sample of a class weighs more than the heaviest one that was given. A weight of 2
does not count as a second sample here: a repeated row is no new evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom

from csf._common.typing import Array, BoolArray, IntArray
from csf.metrics.constraints import CELLS, QUANTITIES, gains_of, terms_of
from csf.thresholding.curve import ThresholdCurve, sweep_several

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint

# Cuts that are tested at most.
_MOST = 200
# A first cut that is expected to pass by this factor leaves luck no part in it.
_SURE = 1e-4
# Largest factor by which the answer to "how many would do" is looked for.
_FAR = 1 << 20
# Share of the capital that a bet puts at risk at most: one heavy loss may not end it.
_LARGEST_STAKE = 0.95
# Shares of it among which the searched samples choose.
_STAKES = np.array([0.99, 0.95, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.015])
# Relative difference of two amounts that rounding may leave of equal ones.
_SAME = 1e-9


@dataclass(frozen=True)
class Guarantee:
    """Result of the test of a constraint on the calibration samples.

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
        (as many as there are, where chance was against it); where one passed, those with which half of what is ``lost``
        would probably be kept. ``None`` where no number of them would do.
    lost : float
        What the certificate costs: the best value of the metric that keeps the constraint on the held-out scores, less
        the value at the threshold there. 0 where none passed.
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
    lost: float = 0.0

    def __str__(self) -> str:
        """Describe the result in one sentence."""
        known = f"{self.n_samples} calibration samples, {self.n_positives} of them positive"
        if self.holds:
            return f"{self.constraint} holds with confidence {self.confidence:g} ({known}, p = {self.error:.2g})"
        if self.needed is None:
            way = (
                "no threshold reaches this level on the held-out scores, so more samples would not help; loosen the "
                "constraint, or improve the base"
            )
        elif self.needed <= self.n_positives:
            way = "the held-out scores suggested that so many would be enough; loosen the constraint, or add samples"
        else:
            way = f"about {self.needed} positives would be needed"
        return f"no threshold certifies {self.constraint} with confidence {self.confidence:g} ({known}): {way}"


@dataclass(frozen=True)
class ClassWeights:
    """Extreme weights of the negatives and the positives, known before a test: no new sample weighs more.

    Pairs of the two classes; NaN where no sample of a class is known.
    """

    smallest: tuple[float, ...]
    largest: tuple[float, ...]

    @classmethod
    def of(cls, is_pos: BoolArray, weight: Array) -> Self:
        """Compute the smallest and largest weights of samples by class."""
        each = [weight[(is_pos == positive) & (weight > 0.0)] for positive in (False, True)]
        pairs = [(float(w.min()), float(w.max())) if w.size else (np.nan, np.nan) for w in each]
        smallest, largest = zip(*pairs)
        return cls(smallest, largest)


@dataclass(frozen=True, eq=False)
class ScoredSamples:
    """Samples with true classes, scores and optional weights; no threshold predicts those in ``lost`` positive."""

    is_pos: BoolArray
    score: Array
    weight: Array | None = None
    lost: BoolArray | None = None

    def curve(self) -> ThresholdCurve:
        """Compute the curve of all thresholds."""
        return sweep_several(self.is_pos, self.lost, self.score, self.weight)

    def found(self, threshold: float) -> BoolArray:
        """Mark the samples that a threshold predicts positive."""
        found = self.score >= threshold
        return found if self.lost is None else found & ~self.lost

    def sums(self, lowest: Array, value: Callable[[IntArray], Array]) -> Array:
        """Sum a value of the samples' cells at thresholds that predict scores down to ``lowest`` positive."""
        none, most = np.zeros(self.is_pos.size, dtype=bool), self.found(-np.inf)
        missed, found = value(_cells(self.is_pos, none)), value(_cells(self.is_pos, most))
        order = np.argsort(-self.score, kind="stable")
        sums = float(missed.sum()) + np.concatenate([[0.0], np.cumsum((found - missed)[order])])
        return sums[np.searchsorted(-self.score[order], -lowest, side="right")]


def _cells(is_pos: BoolArray, found: BoolArray) -> IntArray:
    """Return the place of each sample's cell in `CELLS`."""
    return np.where(is_pos, 0, 2) + ~found


@dataclass(frozen=True)
class _RateTest:
    """Constraint as a sum over samples that may not be negative: the gain of a sample of each cell, see `gains_of`."""

    gains: Array

    @classmethod
    def of(cls, constraint: Constraint) -> Self:
        """Build the demand of one constraint."""
        return cls(gains_of(_terms(constraint), constraint.side, constraint.level))

    def by_class(self, weights: tuple[float, ...]) -> Array:
        """Multiply the gains by the weights of the classes; those of cells that are not counted stay 0."""
        neg, pos = weights
        return np.where(self.gains == 0.0, 0.0, self.gains * np.array([pos, pos, neg, neg]))

    def level(self, known: ClassWeights | None) -> float | None:
        """Return the share of gains at which the sum is 0, or ``None`` where gains or losses differ in size."""
        amounts = self.gains
        if known is not None:
            amounts = self.by_class(known.largest)
            if not np.array_equal(amounts, self.by_class(known.smallest)):
                return None
        up, down = amounts[amounts > 0.0], -amounts[amounts < 0.0]
        if any(side.size and np.ptp(side) > _SAME * side.max() for side in (up, down)):
            return None
        (gain, loss) = (side[0] if side.size else 0.0 for side in (up, down))
        return float(loss / (gain + loss)) if gain + loss > 0.0 else 1.0

    def largest_loss(self, known: ClassWeights | None) -> float:
        """Return the largest amount that one sample can subtract; NaN where it is unknown."""
        return float(-(self.gains if known is None else self.by_class(known.largest)).min())


def check_rates(constraint: Constraint) -> None:
    """Raise a ValueError where a quantity is not a ratio of sums over samples: no test of it is exact."""
    for part in constraint.parts:
        _terms(part)


def _terms(constraint: Constraint) -> dict[str, tuple[float, float]]:
    terms = terms_of(constraint.quantity)
    if terms is None:
        raise ValueError(
            f"{constraint} cannot be certified, because {constraint.quantity.name} is not a ratio of sums over "
            f"samples. Constrain one of {', '.join(QUANTITIES)}, f<beta>, or a subclass of csf.metrics.Rate, or "
            "leave out confidence"
        )
    return terms


def violation_probability(
    constraint: Constraint,
    is_pos: BoolArray,
    found: BoolArray,
    weight: Array | None = None,
    known: ClassWeights | None = None,
    *,
    stakes: Array | None = None,
) -> float:
    """Compute the p-value of the hypothesis that a classifier violates a constraint on new data.

    In [0, 1]: if the constraint is violated, it is at most p with probability p. 1 where nothing is counted. Truth and
    prediction are those of samples that neither the classifier nor the threshold was chosen on. Of several demands the
    largest p-value counts: all have to hold. Weights are >= 0; ``known`` is what was known of them before (``None``:
    what these samples show, counted or not), and so are ``stakes``, one for each demand.

    A share (precision: true positives among those predicted positive; F1: among those positive or predicted positive)
    has a tail that is binomial and exact. It stays so where the ones weigh the same and the zeros do: the level then is
    another share of the counts. Otherwise the level is reached where the mean of ``w (top - level bottom)`` is not
    negative, and that is tested by a bet against it [1]_: it needs only the largest amount that a sample can subtract.
    A bet size that was chosen on other samples gains most; without one, several are mixed.

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
    parts, cells = constraint.parts, _cells(is_pos, found)
    each: list[float] = [np.nan] * len(parts) if stakes is None else stakes.tolist()
    return max(_one(_RateTest.of(part), cells, weight, known, stake) for part, stake in zip(parts, each))


def _one(demand: _RateTest, cells: IntArray, weight: Array | None, known: ClassWeights | None, stake: float) -> float:
    gains, level = demand.gains[cells] * (1.0 if weight is None else weight), demand.level(known)
    gains = gains[gains != 0.0]
    n_ones = int((gains > 0.0).sum())
    if level is not None:
        return float(binom.sf(n_ones - 1, gains.size, level))
    # Not the weights that happen to be counted: where errors are rare and heavy, none may be among them.
    loss = demand.largest_loss(known)
    if loss <= 0.0 and n_ones:  # nothing takes away
        return 0.0
    return _bet(gains / loss, _mixture(demand, gains.size) if np.isnan(stake) else np.array([stake])) if n_ones else 1.0


def _mixture(demand: _RateTest, n: int) -> Array:
    """Choose the bet sizes to mix for ``n`` samples of which nothing else is known."""
    # The stake that is best where all weigh the same and p is 0.1; light samples ask for larger ones.
    gain = demand.gains.max() / -demand.gains.min()
    smallest = min(np.sqrt(2.0 * np.log(10.0) / (gain * n)), _LARGEST_STAKE)
    return smallest * 2.0 ** np.arange(1 + int(np.log2(_LARGEST_STAKE / smallest)))


def _bet(gains: Array, stakes: Array) -> float:
    """Compute the p-value of a mean below 0: one over the final capital of bets against it.

    The largest loss, -1, costs the whole bet. The mean capital of several bet sizes is at most 1 in expectation where
    the mean is below 0, whatever the gains, so that it exceeds 1 / p with probability p.
    """
    if not np.isfinite(gains).all():  # of a class whose weight nobody knows
        return 1.0
    capital = logsumexp([np.log1p(stake * gains).sum() for stake in stakes]) - np.log(stakes.size)
    return float(np.exp(min(0.0, -capital)))


def ordered_tests(
    searched: ScoredSamples, metric: Metric, n_samples: int, error: float, known: ClassWeights | None = None
) -> tuple[Array, Array]:
    """Order the thresholds to test, and choose the bet sizes of each test, one for each part of the constraint.

    Both follow from the searched samples, which know nothing of the calibration. First comes the threshold that is most
    likely to pass on so many calibration samples, then on towards better values of the metric. ``error`` is the wanted
    one, ``1 - confidence``, and ``known`` what is known of the weights.
    """
    curve = searched.curve()
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    outlooks = _outlooks(searched, curve, metric.constraint, known)
    expected = np.maximum.reduce([outlook.p(n_samples) for outlook in outlooks])
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
    return curve.thresholds[rising], np.column_stack([outlook.stakes[rising] for outlook in outlooks])


@dataclass(frozen=True, eq=False)
class _Outlook:
    """Expected test results of a demand at each threshold, from the searched samples."""

    # p-values on so many samples, and stakes: NaN where the tail is exact.
    p: Callable[[float], Array]
    stakes: Array


def _outlooks(
    searched: ScoredSamples, curve: ThresholdCurve, constraint: Constraint, known: ClassWeights | None
) -> list[_Outlook]:
    """Predict the test of each demand, from the counts of the searched samples or from the growth of bets on them."""
    demands, lowest = [_RateTest.of(part) for part in constraint.parts], curve.lowest_score
    return [
        (_of_bets if demand.level(known) is None else _of_counts)(searched, lowest, demand, known) for demand in demands
    ]


def _of_counts(searched: ScoredSamples, lowest: Array, demand: _RateTest, known: ClassWeights | None) -> _Outlook:
    counts, size = 1.0 if searched.weight is None else (searched.weight > 0.0) * 1.0, searched.is_pos.size
    ones, zeros = (
        searched.sums(lowest, lambda cells, side=side: counts * (side * demand.gains[cells] > 0.0))
        for side in (1.0, -1.0)
    )
    level = demand.level(known)

    def p(n_samples: float) -> Array:
        # Half a wrong one more than were seen: a share of 1 on few samples convinces nobody.
        total = n_samples / size * (ones + zeros)
        n = np.floor(total)
        share = np.where(n > 0, n_samples / size * ones / np.maximum(total + 1.0, 1.0), 0.0)
        return np.where(n > 0, binom.sf(np.floor(n * share) - 1, n, level), 1.0)

    return _Outlook(p, np.full(lowest.size, np.nan))


def _of_bets(searched: ScoredSamples, lowest: Array, demand: _RateTest, known: ClassWeights | None) -> _Outlook:
    weight, loss = 1.0 if searched.weight is None else searched.weight, demand.largest_loss(known)
    if not loss > 0.0:  # nothing takes away, or nobody knows how much
        return _Outlook(lambda _: np.full(lowest.size, float(np.isnan(loss))), np.full(lowest.size, np.nan))
    growth, stakes = np.full(lowest.size, -np.inf), np.full(lowest.size, np.nan)
    for stake in _STAKES.tolist():
        sums = searched.sums(lowest, lambda cells, stake=stake: np.log1p(stake / loss * weight * demand.gains[cells]))
        growth, stakes = np.maximum(growth, sums), np.where(sums > growth, stake, stakes)
    growth = np.maximum(growth, 0.0) / searched.is_pos.size
    return _Outlook(lambda n_samples: np.exp(-n_samples * growth), stakes)


def certify(
    searched: ScoredSamples,
    metric: Metric,
    confidence: float,
    calibrated: ScoredSamples,
    known: ClassWeights | None = None,
) -> Guarantee:
    """Find the best threshold for which a constraint holds on new data with the given confidence.

    The held-out scores of the search fix the order of the tests, and the bet sizes. Calibration samples have scores of
    the final model. ``known`` is what is known of the weights, see `violation_probability`; ``None`` is what both parts
    show.

    Thresholds are tested one after the other in a fixed order, each at the full error ``1 - confidence``, up to the
    first that fails (fixed-sequence testing, as in Learn then Test [1]_): the probability that any one passes which
    violates the constraint is at most the error.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test: calibrating predictive algorithms
       to achieve risk control", 2021.
    """
    constraint, error, is_pos, weight = metric.constraint, 1.0 - confidence, calibrated.is_pos, calibrated.weight
    if weight is not None and known is None:
        # No sample that the user gave is heavier, so none is expected to be: two parts know more of that than one.
        parts = [
            (each.is_pos, np.ones(each.score.size) if each.weight is None else each.weight)
            for each in (searched, calibrated)
        ]
        known = ClassWeights.of(*map(np.concatenate, zip(*parts)))
    thresholds, stakes = ordered_tests(searched, metric, is_pos.size, error, known)
    passed, tested, first = None, 0, None
    for threshold, own in zip(thresholds.tolist(), stakes):
        p = violation_probability(constraint, is_pos, calibrated.found(threshold), weight, known, stakes=own)
        tested += 1
        first = p if first is None else first
        if p > error:
            break
        # Each one is better by the held-out scores than those before it.
        passed = threshold, p
    threshold, p = passed if passed is not None else (float(thresholds[0]), float(first or 1.0))
    # Not as error profiles: all that are searched may be right.
    curve = searched.curve()
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    allowed = values[constraint.violation(curve.fn, curve.fp, pos=curve.pos) <= 0.0]
    own = float(values[curve.cuts_at(threshold)])
    lost = max(float(np.nanmax(allowed)) - own, 0.0) if passed is not None and allowed.size else 0.0
    least = -np.inf if passed is None else own + 0.5 * lost
    return Guarantee(
        constraint=str(constraint),
        confidence=confidence,
        holds=passed is not None,
        threshold=threshold,
        error=p,
        rates={part.quantity.name: _rate(part, calibrated, threshold) for part in constraint.parts},
        n_samples=int(is_pos.size),
        n_positives=int(is_pos.sum()),
        n_tested=tested,
        needed=_needed(searched, metric, is_pos, error, known, least),
        lost=lost,
    )


def _rate(constraint: Constraint, calibrated: ScoredSamples, threshold: float) -> float:
    terms = _terms(constraint)
    cells = _cells(calibrated.is_pos, calibrated.found(threshold))
    top, bottom = np.bincount(cells, calibrated.weight, minlength=4) @ np.array([terms[cell] for cell in CELLS])
    return float(top / bottom) if bottom > 0.0 else 0.0


def _needed(
    searched: ScoredSamples, metric: Metric, is_pos: BoolArray, error: float, known: ClassWeights | None, least: float
) -> int | None:
    """Estimate how many positives a threshold with a value of ``least`` needs to pass by a clear margin."""
    curve, factor = searched.curve(), 1.0
    outlooks = _outlooks(searched, curve, metric.constraint, known)
    good = metric.value(curve.fn, curve.fp, pos=curve.pos) >= least
    while factor <= _FAR:
        if np.maximum.reduce([outlook.p(factor * is_pos.size)[good] for outlook in outlooks]).min() <= 0.5 * error:
            return int(np.ceil(factor * max(int(is_pos.sum()), 1)))
        factor *= 1.25
    return None
