"""Thresholds whose constraint holds on new data with a given confidence.

With probability ``confidence`` over the samples, no threshold is certified that violates the constraint. A certificate
is true or not: the level limits how often a false one is given among all samples that might have come, not how many of
those that were given are false. Where no threshold reaches the level, all that are given are false, in
``1 - confidence`` of the cases at most; and trying seeds, metrics or bases until one passes gives a false one more
often than promised (where none is true, in 18 % of the cases for 10 seeds and in 3 % for one; see
``python -m tests.benchmarks certificates``).

The samples, or their groups where some are given, have to be independent of each other and like the new data. Weights
are taken as given: the weighted rate is promised, for data in which no sample of a class weighs more than the heaviest
one that was given, and no group could be more wrong than each of those given. A weight of 2 does not count as a second
sample here, because a repeated row is no new evidence; within a group it is the same as a repeated row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from csf._common.typing import Array, BoolArray, IntArray
from csf.metrics.base import CELLS
from csf.metrics.constraints import RATIOS, gains_of
from csf.thresholding.curve import ThresholdCurve, sweep_several

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint

# Cuts that are tested at most.
_MOST = 60
# A first cut that is expected to pass by this factor leaves luck no part in it.
_SURE = 1e-4
# Largest factor by which the answer to "how many would do" is looked for.
_FAR = 1 << 20
# Share of the capital that a bet puts at risk at most: one heavy loss may not end it.
_LARGEST_STAKE = 0.95
# Bets aim at a capital beyond the one that is needed by this factor, as those on some orders of the samples miss it.
_AIM = 1.25
# Orders of the samples, the most numbers that they take together, and how often a bet changes its size.
_ORDERS, _LEAST_ORDERS, _NUMBERS, _STEPS = 32, 8, 1 << 20, 32
# The expected size of amounts counts as so many that were seen.
_PRIOR = 20.0
# Chances to reach a goal stay so far within 0 and 1.
_TINY = 1e-12
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
        The threshold: the best one that passed, or where none did the one that was tested first. NaN for rules of
        several classes and of costs by row.
    error : float
        p-value of the constraint there: at most ``1 - confidence`` where it passed.
    rates : dict of str to float
        Constrained rates there, on the calibration samples.
    n_samples, n_positives : int
        Calibration samples, and the positives among them; of several constrained classes those of the rarest.
    n_tested : int
        Thresholds that were tested, in an order that was fixed before.
    needed : int or None
        Where none passed: calibration positives with which the first one would probably pass by the held-out scores
        (as many as there are, where chance was against it); where one passed, those with which half of what is ``lost``
        would probably be kept. ``None`` where no number of them would do.
    lost : float
        What the certificate costs: the best value of the metric that keeps the constraint on the held-out scores, less
        the value at the threshold there. 0 where none passed.
    smallest : str, default=""
        By segments: the one with fewest positives, whose positives ``n_positives`` and ``needed`` count.
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
    smallest: str = ""

    def __str__(self) -> str:
        """Describe the result in one sentence."""
        what = "rule" if np.isnan(self.threshold) else "threshold"
        where = f" in {self.smallest}" if self.smallest else ""
        known = f"{self.n_samples} calibration samples, {self.n_positives} of them positive{where}"
        if self.holds:
            return f"{self.constraint} holds with confidence {self.confidence:g} ({known}, p = {self.error:.2g})"
        if self.needed is None:
            way = (
                f"no {what} reaches this level on the held-out scores, so more samples would not help; loosen the "
                "constraint, or improve the base"
            )
        elif self.needed <= self.n_positives:
            way = "the held-out scores suggested that so many would be enough; loosen the constraint, or add samples"
        else:
            way = f"about {self.needed} positives{where} would be needed"
        return f"no {what} certifies {self.constraint} with confidence {self.confidence:g} ({known}): {way}"


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """Weights of the negatives and the positives of units, known before a test: no new unit can lose more.

    A unit is a sample, or a group of them: ``of_units`` has shape (n_units, 2), and ``grouped`` says whether units have
    several samples.
    """

    of_units: Array
    grouped: bool = False

    @classmethod
    def of(cls, is_pos: BoolArray, weight: Array, groups: IntArray | None = None, repeats: float = 1.0) -> Self:
        """Sum the weights of samples by unit and class; a sample of a group is there ``repeats`` times on average."""
        (unit, n_units), repeats = _units(groups, is_pos.size), 1.0 if groups is None else repeats
        columns = [np.bincount(unit, weight * (is_pos == positive), n_units) / repeats for positive in (False, True)]
        return cls(np.column_stack(columns), bool(np.bincount(unit).max() > repeats))

    @property
    def extremes(self) -> tuple[Array, Array]:
        """Smallest and largest weight of a unit in each class, NaN where no unit has any."""
        of_class = [each[each > 0.0] for each in self.of_units.T]
        each = np.array([(of.min(), of.max()) if of.size else (np.nan, np.nan) for of in of_class])
        return each[:, 0], each[:, 1]


def _units(groups: IntArray | None, n_samples: int) -> tuple[IntArray, int]:
    """Find the number of the group of each sample, or of itself where there are none, and how many there are."""
    if groups is None:
        return np.arange(n_samples), n_samples
    names, unit = np.unique(groups, return_inverse=True)
    return unit.ravel(), names.size


@dataclass(frozen=True, eq=False)
class ScoredSamples:
    """Samples with true classes, scores, optional weights and groups; no threshold predicts ``lost`` ones positive.

    A sample of a group is there ``repeats`` times on average.
    """

    is_pos: BoolArray
    score: Array
    weight: Array | None = None
    lost: BoolArray | None = None
    groups: IntArray | None = None
    repeats: float = 1.0

    def counted(self) -> ScoredSamples:
        """Leave out samples of weight 0."""
        if self.weight is None or self.weight.all():
            return self
        counts = self.weight > 0.0
        lost, groups = (None if each is None else each[counts] for each in (self.lost, self.groups))
        return replace(
            self,
            is_pos=self.is_pos[counts],
            score=self.score[counts],
            weight=self.weight[counts],
            lost=lost,
            groups=groups,
        )

    @cached_property
    def _unit(self) -> tuple[IntArray, int]:
        return _units(self.groups, self.is_pos.size)

    @property
    def n_units(self) -> int:
        """Number of groups, or of samples where there are none."""
        return self._unit[1]

    @property
    def n_different(self) -> float:
        """Number of groups, or of samples, of which each counts once."""
        return self.n_units / (self.repeats if self.groups is None else 1.0)

    def totals(self, amounts: Array) -> Array:
        """Sum amounts of samples, for their weight, by unit."""
        unit, n_units = self._unit
        repeats = 1.0 if self.groups is None else self.repeats
        return np.bincount(unit, amounts if self.weight is None else amounts * self.weight, n_units) / repeats

    def largest_loss(self, gains: Array, decisions: Iterable[BoolArray]) -> float:
        """Compute what a unit loses at most, by gains of cells, if each sample is decided in one of these ways."""
        worst = np.minimum.reduce([gains[_cells(self.is_pos, predicted)] for predicted in decisions])
        return float(self.totals(np.maximum(-worst, 0.0)).max(initial=0.0))

    def curve(self) -> ThresholdCurve:
        """Compute the curve of all thresholds."""
        return sweep_several(self.is_pos, self.lost, self.score, self.weight)

    def found(self, threshold: float) -> BoolArray:
        """Mark the samples that a threshold predicts positive."""
        found = self.score >= threshold
        return found if self.lost is None else found & ~self.lost

    def sums(self, lowest: Array, gains: Array, of: Callable[[Array], Array]) -> Array:
        """Sum functions of the units' totals of gains, at thresholds that predict scores down to ``lowest`` positive.

        ``gains`` are amounts by cell, and ``of`` maps totals of shape (n,) to shape (n_functions, n).
        """
        missed, found = (gains[_cells(self.is_pos, self.found(each))] for each in (np.inf, -np.inf))
        start, (unit, n_units) = self.totals(missed), self._unit
        order, change = np.lexsort([-self.score, unit]), found - missed
        if self.weight is not None:
            change = change * self.weight
        # Totals of a unit change at each of its samples, from the largest score on.
        unit, score = unit[order], self.score[order]
        change = change[order] / (1.0 if self.groups is None else self.repeats)
        changed = change
        if n_units < unit.size:
            first = np.searchsorted(unit, np.arange(n_units))
            changed = np.cumsum(change)
            changed = changed - (changed[first] - change[first])[unit]
        after = start[unit] + changed
        by_score = np.argsort(-score, kind="stable")
        steps = np.cumsum((of(after) - of(after - change))[:, by_score], axis=1)
        totals = of(start).sum(axis=1, keepdims=True) + np.pad(steps, ((0, 0), (1, 0)))
        return totals[:, np.searchsorted(-score[by_score], -lowest, side="right")]


def _cells(is_pos: BoolArray, found: BoolArray) -> IntArray:
    """Return the place of each sample's cell in `CELLS`."""
    return np.where(is_pos, 0, 2) + ~found


@dataclass(frozen=True)
class Demand:
    """Constraint as a sum over units (samples, or groups of them) that may not be negative.

    Parameters
    ----------
    gains : ndarray of shape (4,)
        What a sample of weight 1 adds, by cell; see `gains_of`.
    level : float or None
        Share of gains at which the sum is 0; ``None`` where gains or losses of units differ in size.
    loss : float
        Largest amount that a unit can subtract; NaN where it is unknown.
    """

    gains: Array
    level: float | None
    loss: float

    @classmethod
    def of(cls, constraint: Constraint, known: ClassWeights | None = None) -> Self:
        """Build the demand of one constraint, for weights of which so much is known."""
        gains = gains_of(_terms(constraint), constraint.side, constraint.level)
        if known is None:
            return cls(gains, _level(gains), float(np.maximum(-gains, 0.0).max()))
        smallest, largest = (_weighted(gains, each) for each in known.extremes)
        level = None if known.grouped or not np.array_equal(smallest, largest) else _level(largest)
        # Of positives, then of negatives: whatever is predicted, the worse cell is the most that they lose.
        pos, neg = np.maximum(-gains.reshape(2, 2).min(axis=1), 0.0)
        unknown = np.isnan(_weighted(np.array([pos, pos, neg, neg]), known.extremes[1])).any()
        return cls(gains, level, np.nan if unknown else float((known.of_units @ [neg, pos]).max()))

    def within(
        self,
        searched: ScoredSamples,
        calibrated: ScoredSamples,
        decisions: tuple[Iterable[BoolArray], Iterable[BoolArray]],
    ) -> Demand:
        """Narrow the largest loss to what the decisions that may be taken make of the units given.

        ``decisions`` are those about the searched and about the calibration samples.

        A loss that is larger by the factor by which all units are more than the calibration units stays possible: one
        with a probability q is not met at all with probability ``exp(-q n_units)``, and bets that know nothing of it
        gain no more than the factor ``exp(q n_units)``.
        """
        parts = zip((searched, calibrated), decisions)
        met = max(part.largest_loss(self.gains, taken) for part, taken in parts)
        unmet = self.loss / (1.0 + searched.n_different / calibrated.n_units)
        # NaN, for a class whose weight nobody knows, stays NaN.
        return replace(self, loss=float(np.maximum(met, unmet)))


def demands_of(constraint: Constraint, known: ClassWeights | None = None) -> list[Demand]:
    """Build the demands of all parts of a constraint, for weights of which so much is known."""
    return [Demand.of(part, known) for part in constraint.parts]


def _weighted(gains: Array, of_class: Array) -> Array:
    """Multiply the gains of cells by the weights of their classes; those of cells that are not counted stay 0."""
    return np.where(gains == 0.0, 0.0, gains * of_class[[1, 1, 0, 0]])


def _level(amounts: Array) -> float | None:
    up, down = amounts[amounts > 0.0], -amounts[amounts < 0.0]
    if any(side.size and np.ptp(side) > _SAME * side.max() for side in (up, down)):
        return None
    (gain, loss) = (side[0] if side.size else 0.0 for side in (up, down))
    return float(loss / (gain + loss)) if gain + loss > 0.0 else 1.0


def check_rates(constraint: Constraint) -> None:
    """Raise a ValueError where a quantity is not a ratio of sums over samples: no test of it is exact."""
    for part in constraint.parts:
        _terms(part)


def _terms(constraint: Constraint) -> dict[str, tuple[float, float]]:
    terms = constraint.quantity.terms()
    if terms is None:
        raise ValueError(
            f"{constraint} cannot be certified, because {constraint.name} is not a ratio of sums over "
            f"samples. Constrain one of {', '.join(RATIOS)}, f<beta>, or a subclass of csf.metrics.Rate, or "
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
    groups: IntArray | None = None,
    error: float = 0.1,
    sizes: Array | None = None,
) -> float:
    """Compute the p-value of the hypothesis that a classifier violates a constraint on new data.

    In [0, 1]: if the constraint is violated, it is at most p with probability p. 1 where nothing is counted. Truth and
    prediction are those of samples that neither the classifier nor the threshold was chosen on. Of several demands the
    largest p-value counts: all have to hold. Weights are >= 0, and samples of a group belong together. What was known
    before: of the weights ``known`` (``None``: what these samples show, counted or not), and the expected mean squares
    of what a counted unit adds to each demand, ``sizes``.

    A share (precision: true positives among those predicted positive; F1: among those positive or predicted positive)
    has a tail that is binomial and exact. It stays so where the ones weigh the same and the zeros do: the level then is
    another share of the counts. Otherwise, and with groups, the level is reached where the mean over samples or groups
    of the sum of ``w (top - level bottom)`` is not negative. That is tested by bets against it [1]_, which need only
    the largest amount that a sample or a group can subtract. The capital of a bet, at first 1, exceeds 1 / p with
    probability p whatever its sizes, if each follows from the samples before. They are those that reach ``1 / error``
    most often where sums are normal [2]_, so that the test is strongest at this p-value. The samples are bet on in
    32 random orders (fewer for more than 32 768), and the mean capital counts.

    References
    ----------
    .. [1] I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
       Statistical Society B 86, 2024.
    .. [2] H. Föllmer, P. Leukert, "Quantile hedging", Finance and Stochastics 3, 1999.

    Examples
    --------
    >>> from csf.metrics import get_constraint
    >>> is_pos = np.arange(100) < 50
    >>> violation_probability(get_constraint("precision >= 0.9"), is_pos, np.arange(100) < 30)
    0.042
    """
    if known is None and (weight is not None or groups is not None):
        known = ClassWeights.of(is_pos, np.ones(is_pos.size) if weight is None else weight, groups)
    samples = ScoredSamples(is_pos, found * 1.0, weight, None, groups)
    return _violation(demands_of(constraint, known), samples, 0.5, error, sizes)


def _violation(
    demands: Sequence[Demand], samples: ScoredSamples, threshold: float, error: float, sizes: Array | None
) -> float:
    """Compute the largest p-value of the demands at a threshold."""
    cells, p = _cells(samples.is_pos, samples.found(threshold)), 0.0
    for demand, size in zip(demands, [None] * len(demands) if sizes is None else sizes.tolist()):
        p = np.maximum(p, _one(demand, samples.totals(demand.gains[cells]), error, size))
    return float(p)


def _one(demand: Demand, gains: Array, error: float, size: float | None) -> float:
    gains, loss = gains[np.abs(gains) > _SAME * np.abs(gains).max(initial=0.0)], demand.loss
    n_ones = int((gains > 0.0).sum())
    if demand.level is not None:
        return float(binom.sf(n_ones - 1, gains.size, demand.level))
    # Not the weights that happen to be counted: where errors are rare and heavy, none may be among them.
    if not n_ones or np.isnan(loss):  # of a class whose weight nobody knows
        return 1.0
    # Where nothing takes away, one gain is enough.
    return _bet(gains / loss, error, 1.0 if size is None else size / loss**2) if loss > 0.0 else 0.0


def _bet(gains: Array, error: float, size: float) -> float:
    """Compute the p-value of a mean below 0: one over the mean capital of bets against it, on several random orders.

    The largest loss is -1. ``size`` is the expected mean square of the gains.

    The chance to reach the goal that a capital is worth, if the rest is normal with mean 0, is capital / goal: so far
    from the goal, in standard deviations of the rest, is a bet that changes with the rest as that chance does.
    """
    n, goal = gains.size, _AIM / error
    rng, gains = np.random.default_rng(0), np.sort(gains)
    orders = np.array([rng.permutation(gains) for _ in range(np.clip(_NUMBERS // n, _LEAST_ORDERS, _ORDERS))])
    capital, seen = np.ones(len(orders)), np.zeros(len(orders))
    ends = np.unique(np.linspace(0, n, min(n, _STEPS) + 1).round().astype(int)).tolist()
    for first, last in pairwise(ends):
        rest = np.sqrt((n - first) * (_PRIOR * size + seen) / (_PRIOR + first))
        chance = np.clip(capital / goal, _TINY, 1.0 - _TINY)
        stake = np.exp(-0.5 * ndtri(chance) ** 2) / (np.sqrt(2.0 * np.pi) * chance * rest)
        stake = np.where(capital < goal, np.minimum(stake, _LARGEST_STAKE), 0.0)
        part = orders[:, first:last]
        capital *= np.prod(1.0 + stake[:, None] * part, axis=1)
        seen += (part * part).sum(axis=1)
    return float(1.0 / max(capital.mean(), 1.0))


def ordered_tests(
    searched: ScoredSamples,
    metric: Metric,
    n_units: int,
    error: float,
    demands: Sequence[Demand] | None = None,
    ends: tuple[int, int] | None = None,
) -> tuple[Array, Array]:
    """Order the thresholds to test, and tell the sizes that each test expects, one for each part of the constraint.

    Both follow from the searched samples, which know nothing of the calibration. First comes the threshold that is most
    likely to pass on so many calibration units (samples, or groups of them), then on towards better values of the
    metric. ``error`` is the wanted one, ``1 - confidence``; ``demands`` are those of the constraint, for the weights,
    and ``ends`` are the first and last place of the thresholds on the curve (``None``: all).
    """
    curve = searched.curve()
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    outlooks = _outlooks(searched, curve, demands_of(metric.constraint) if demands is None else demands)
    expected = np.maximum.reduce([outlook.p(n_units) for outlook in outlooks])
    outside = np.ones(values.size, dtype=bool)
    outside[slice(None) if ends is None else slice(ends[0], ends[1] + 1)] = False
    values, expected = np.where(outside, -np.inf, values), np.where(outside, np.inf, expected)
    rising = _path(values, expected, error)
    return curve.thresholds[rising], np.column_stack([outlook.sizes[rising] for outlook in outlooks])


def _path(values: Array, expected: Array, error: float) -> IntArray:
    """Order decisions for their tests, by their values and the p-values that are expected of neighbours in a row."""
    start = int(np.argmin(expected))
    # Those that should pass with room to spare need no place of their own before those that are better.
    likely = np.flatnonzero(expected <= _SURE * error)
    if likely.size:
        start = int(likely[np.argmax(values[likely])])
    steps = [np.arange(start, values.size), np.arange(start, -1, -1)]
    path = max(steps, key=lambda cuts: float(values[cuts].max()))
    # Only what is better than all before is worth a test.
    rising = path[values[path] > np.maximum.accumulate(np.concatenate([[-np.inf], values[path][:-1]]))]
    if rising.size > _MOST:
        rising = rising[np.unique(np.linspace(0, rising.size - 1, _MOST).round().astype(int))]
    return rising


@dataclass(frozen=True, eq=False)
class _Outlook:
    """Expected test results of a demand at each threshold, from the searched samples."""

    # p-values on so many units, and mean squares of what a counted one adds: NaN where the tail is exact.
    p: Callable[[float], Array]
    sizes: Array


def _outlooks(searched: ScoredSamples, curve: ThresholdCurve, demands: Sequence[Demand]) -> list[_Outlook]:
    """Predict the test of each demand, from the counts of the searched samples or from what bets on them would win."""
    return [
        _outlook(demand, partial(searched.sums, curve.lowest_score, demand.gains), searched.n_units)
        for demand in demands
    ]


# Sums over units of functions of their totals of gains, of shape (n_functions, n_decisions).
_Sums = Callable[[Callable[[Array], Array]], Array]


def _outlook(demand: Demand, sums: _Sums, n_searched: float) -> _Outlook:
    """Predict the tests of a demand for some decisions, by what they add up to on the searched samples."""
    return (_of_bets if demand.level is None else _of_counts)(demand, sums, n_searched)


def _of_counts(demand: Demand, sums: _Sums, n_searched: float) -> _Outlook:
    level, none = demand.level, _SAME * np.abs(demand.gains).max()
    ones, zeros = sums(lambda gains: np.stack([gains > none, gains < -none]) * 1.0)

    def p(n_units: float) -> Array:
        # Half a wrong one more than were seen: a share of 1 on few samples convinces nobody.
        share_of_all = n_units / n_searched
        total = share_of_all * (ones + zeros)
        n = np.floor(total)
        share = np.where(n > 0, share_of_all * ones / np.maximum(total + 1.0, 1.0), 0.0)
        return np.where(n > 0, binom.sf(np.floor(n * share) - 1, n, level), 1.0)

    return _Outlook(p, np.full(ones.size, np.nan))


def _of_bets(demand: Demand, sums: _Sums, n_searched: float) -> _Outlook:
    loss = demand.loss

    def of(gains: Array) -> Array:
        gains = gains / loss if loss > 0.0 else gains
        return np.stack([gains, gains**2, np.abs(gains) > _SAME])

    gain, square, counts = sums(of)
    if not loss > 0.0:  # nothing takes away, or nobody knows how much
        return _Outlook(lambda _: np.full(gain.size, float(np.isnan(loss))), np.full(gain.size, np.nan))

    def p(n_units: float) -> Array:
        # Half a heavy loss more than were seen; no bet multiplies the capital by more than its stake on all gains.
        share = n_units / n_searched
        expected = share * gain - 0.5
        normal = ndtr(-expected / np.sqrt(share * square + 0.25))
        return np.maximum(normal, np.exp(-_LARGEST_STAKE * np.maximum(expected, 0.0)))

    return _Outlook(p, square / np.maximum(counts, 1.0) * loss**2)


def certify(
    searched: ScoredSamples,
    metric: Metric,
    confidence: float,
    calibrated: ScoredSamples,
) -> Guarantee:
    """Find the best threshold for which a constraint holds on new data with the given confidence.

    The held-out scores of the search fix the order of the tests, and the bet sizes. Calibration samples have scores of
    the final model. Of the weights is known what both parts show.

    Thresholds are tested one after the other in a fixed order, each at the full error ``1 - confidence``, up to the
    first that fails (fixed-sequence testing, as in Learn then Test [1]_): the probability that any one passes which
    violates the constraint is at most the error.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test: calibrating predictive algorithms
       to achieve risk control", 2021.
    """
    constraint, error = metric.constraint, 1.0 - confidence
    searched, calibrated = parts = (searched.counted(), calibrated.counted())
    plain = all(part.weight is None and part.groups is None for part in parts)
    # Not as error profiles: all that are searched may be right.
    curve = searched.curve()
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    allowed = constraint.violation(curve.fn, curve.fp, pos=curve.pos) <= 0.0
    # Thresholds between two that keep the constraint on the held-out scores, all where none does.
    ends = np.flatnonzero(allowed if allowed.any() else ~allowed)[[0, -1]]
    taken = [[part.found(cut) for cut in curve.thresholds[ends].tolist()] for part in parts]
    demands = [
        demand.within(*parts, (taken[0], taken[1]))
        for demand in demands_of(constraint, None if plain else _weights_of(*parts))
    ]
    thresholds, sizes = ordered_tests(searched, metric, calibrated.n_units, error, demands, tuple(ends.tolist()))
    tests = [
        partial(_violation, demands, calibrated, cut, error, size) for cut, size in zip(thresholds.tolist(), sizes)
    ]
    at, p, tested, holds = run_in_order(tests, error)
    threshold = float(thresholds[at])
    own = float(values[curve.cuts_at(threshold)])
    lost = max(float(np.nanmax(values[allowed])) - own, 0.0) if holds and allowed.any() else 0.0
    outlooks = _outlooks(searched, curve, demands)
    good = values >= (own + 0.5 * lost if holds else -np.inf)
    n_positives = int(calibrated.is_pos.sum())
    return Guarantee(
        constraint=str(constraint),
        confidence=confidence,
        holds=holds,
        threshold=threshold,
        error=p,
        rates={
            name: _rate(part, calibrated, calibrated.found(threshold)) for name, part in constraint.named_parts.items()
        },
        n_samples=int(calibrated.is_pos.size),
        n_positives=n_positives,
        n_tested=tested,
        needed=_needed([outlook.p for outlook in outlooks], good, calibrated.n_units, n_positives, error),
        lost=lost,
    )


def run_in_order(tests: Sequence[Callable[[], float]], error: float) -> tuple[int, float, int, bool]:
    """Run tests up to the first that fails; return the place of the last that passed, its p-value and their number.

    Where none passed, the place is that of the first one. The last value says whether one did.
    """
    passed: tuple[int, float] | None = None
    first = 1.0
    for at, test in enumerate(tests):
        p = test()
        first = first if at else p
        if p > error:
            break
        # Each one is better by the held-out scores than those before it.
        passed = at, p
    place, p = (0, first) if passed is None else passed
    return place, p, at + 1, passed is not None


# ---------------------------------------------------------------- rules without a threshold


# Shares of the way from each level to the strictest one, to which rules are tuned before they are tested.
STRICTER = np.append(np.geomspace(0.99, 0.01, 24), 0.0)


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions of several rules about samples, as one constraint reads them: positive or not; scores do not count."""

    samples: ScoredSamples
    predicted: Sequence[BoolArray]

    def counted(self) -> Decisions:
        """Leave out samples of weight 0."""
        weight = self.samples.weight
        if weight is None or weight.all():
            return self
        return Decisions(self.samples.counted(), [each[weight > 0.0] for each in self.predicted])

    def totals(self, gains: Array, at: int) -> Array:
        """Sum gains of cells by unit, by the decisions of one rule."""
        return self.samples.totals(gains[_cells(self.samples.is_pos, self.predicted[at])])

    def sums(self, gains: Array, of: Callable[[Array], Array]) -> Array:
        """Sum functions of the units' totals of gains, a column for each rule; see `ScoredSamples.sums`."""
        return np.column_stack([of(self.totals(gains, at)).sum(axis=1) for at in range(len(self.predicted))])


def certify_decisions(
    constraint: Constraint,
    searched: Sequence[Decisions],
    calibrated: Sequence[Decisions],
    values: Array,
    confidence: float,
) -> tuple[Guarantee, int]:
    """Find the best of several rules for which constraints hold on new data with the given confidence.

    As `certify` does with thresholds: of each part of the constraint there are the decisions of the same rules, the
    most cautious one first, about samples with held-out scores and about calibration samples. Return the place of the
    rule too.
    """
    error, demands, outlooks = 1.0 - confidence, [], []
    searched, calibrated = ([each.counted() for each in views] for views in (searched, calibrated))
    n_units = calibrated[0].samples.n_units
    for part, held_out, tested in zip(constraint.parts, searched, calibrated):
        parts = held_out.samples, tested.samples
        plain = all(each.weight is None and each.groups is None for each in parts)
        demand = Demand.of(part, None if plain else _weights_of(*parts))
        demands.append(demand.within(*parts, (held_out.predicted, tested.predicted)))
        # Of segments of the samples each is as many times as large as the first one calibrated.
        n_searched = parts[0].n_units * n_units / max(parts[1].n_units, 1)
        outlooks.append(_outlook(demands[-1], partial(held_out.sums, demands[-1].gains), n_searched))

    def violation(at: int) -> float:
        known = zip(demands, calibrated, outlooks)
        p = [_one(demand, each.totals(demand.gains, at), error, outlook.sizes[at]) for demand, each, outlook in known]
        return float(np.max(p))

    def rates(at: int) -> dict[str, float]:
        known = zip(constraint.named_parts.items(), calibrated)
        return {name: _rate(part, each.samples, each.predicted[at]) for (name, part), each in known}

    about: dict[str, Any] = {
        "constraint": str(constraint),
        "confidence": confidence,
        "n_samples": calibrated[0].samples.score.size,
    }
    about |= {"n_positives": min(int(each.samples.is_pos.sum()) for each in calibrated)}
    return certify_rules(about, [outlook.p for outlook in outlooks], violation, rates, values, n_units)


def certify_rules(
    about: dict[str, Any],
    expected: Sequence[Callable[[float], Array]],
    violation: Callable[[int], float],
    rates: Callable[[int], dict[str, float]],
    values: Array,
    n_units: int,
) -> tuple[Guarantee, int]:
    """Test rules in an order that is fixed before, and return the guarantee of the best one that passes, and its place.

    ``expected`` are the p-values of all rules that each demand expects on a number of units, of which there are
    ``n_units`` now. ``violation`` is the test of the rule at a place, and ``rates`` are the constrained rates there.
    """
    error, n_positives = 1.0 - about["confidence"], about["n_positives"]
    path = _path(values, np.maximum.reduce([each(n_units) for each in expected]), error)
    place, p, n_tested, holds = run_in_order([partial(violation, at) for at in path.tolist()], error)
    at = int(path[place])
    lost = float(values.max() - values[at]) if holds else 0.0
    good = values >= (values[at] + 0.5 * lost if holds else -np.inf)
    guarantee = Guarantee(
        **about,
        holds=holds,
        threshold=np.nan,
        error=p,
        rates=rates(at),
        n_tested=n_tested,
        needed=_needed(expected, good, n_units, n_positives, error),
        lost=lost,
    )
    return guarantee, at


def _weights_of(*parts: ScoredSamples) -> ClassWeights:
    """Collect the weights of all parts: no unit that the user gave loses more, so none is expected to."""
    each: list[ClassWeights] = []
    for part in parts:
        weight = np.ones(part.score.size) if part.weight is None else part.weight
        each.append(ClassWeights.of(part.is_pos, weight, part.groups, part.repeats))
    return ClassWeights(np.concatenate([one.of_units for one in each]), any(one.grouped for one in each))


def _rate(constraint: Constraint, calibrated: ScoredSamples, predicted: BoolArray) -> float:
    terms = _terms(constraint)
    cells = _cells(calibrated.is_pos, predicted)
    top, bottom = np.bincount(cells, calibrated.weight, minlength=4) @ np.array([terms[cell] for cell in CELLS])
    return float(top / bottom) if bottom > 0.0 else 0.0


def _needed(
    expected: Sequence[Callable[[float], Array]], good: BoolArray, n_units: int, n_positives: int, error: float
) -> int | None:
    """Estimate how many positives one of the good decisions needs to pass by a clear margin."""
    factor = 1.0
    while factor <= _FAR:
        if np.maximum.reduce([each(factor * n_units)[good] for each in expected]).min() <= 0.5 * error:
            return int(np.ceil(factor * max(n_positives, 1)))
        factor *= 1.25
    return None
