"""Exact tests of demands on samples or groups of them: binomial tails, and bets where weights or groups differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from csf._common.typing import Array, BoolArray, IntArray
from csf.metrics.base import CELLS
from csf.metrics.constraints import gains_of
from csf.metrics.named import RATIOS
from csf.thresholding.curve import ThresholdCurve, sweep_several

if TYPE_CHECKING:
    from csf.metrics.constraints import Constraint

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
SAME = 1e-9


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
        of_class = [weights[weights > 0.0] for weights in self.of_units.T]
        extremes = np.array([(of.min(), of.max()) if of.size else (np.nan, np.nan) for of in of_class])
        return extremes[:, 0], extremes[:, 1]


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
        return self if self.weight is None or self.weight.all() else self.take(self.weight > 0.0)

    def take(self, rows: IntArray | BoolArray) -> ScoredSamples:
        """Select samples."""
        beside = {name: getattr(self, name) for name in ("weight", "lost", "groups")}
        taken = {name: values[rows] for name, values in beside.items() if values is not None}
        return replace(self, is_pos=self.is_pos[rows], score=self.score[rows], **taken)

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
        worst = np.minimum.reduce([gains[cells_of(self.is_pos, predicted)] for predicted in decisions])
        return float(self.totals(np.maximum(-worst, 0.0)).max(initial=0.0))

    def curve(self) -> ThresholdCurve:
        """Compute the curve of all thresholds."""
        return sweep_several(self.is_pos, self.lost, self.score, self.weight)

    def predicted(self, threshold: float) -> BoolArray:
        """Mark the samples that a threshold predicts positive."""
        predicted = self.score >= threshold
        return predicted if self.lost is None else predicted & ~self.lost

    def sums(self, lowest: Array, gains: Array, of: Callable[[Array], Array]) -> Array:
        """Sum functions of the units' totals of gains, at thresholds that predict scores down to ``lowest`` positive.

        ``gains`` are amounts by cell, and ``of`` maps totals of shape (n,) to shape (n_functions, n).
        """
        missed, all_found = (gains[cells_of(self.is_pos, self.predicted(threshold))] for threshold in (np.inf, -np.inf))
        start, (unit, n_units) = self.totals(missed), self._unit
        order, change = np.lexsort([-self.score, unit]), all_found - missed
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


def cells_of(is_pos: BoolArray, predicted: BoolArray) -> IntArray:
    """Return the place of each sample's cell in `CELLS`."""
    return np.where(is_pos, 0, 2) + ~predicted


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
        smallest, largest = (_weighted(gains, weights) for weights in known.extremes)
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
        seen = max(part.largest_loss(self.gains, taken) for part, taken in parts)
        unmet = self.loss / (1.0 + searched.n_different / calibrated.n_units)
        # NaN, for a class whose weight nobody knows, stays NaN.
        return replace(self, loss=float(np.maximum(seen, unmet)))


def demands_of(constraint: Constraint, known: ClassWeights | None = None) -> list[Demand]:
    """Build the demands of all parts of a constraint, for weights of which so much is known."""
    return [Demand.of(part, known) for part in constraint.parts]


def _weighted(gains: Array, of_class: Array) -> Array:
    """Multiply the gains of cells by the weights of their classes; those of cells that are not counted stay 0."""
    return np.where(gains == 0.0, 0.0, gains * of_class[[1, 1, 0, 0]])


def _level(amounts: Array) -> float | None:
    up, down = amounts[amounts > 0.0], -amounts[amounts < 0.0]
    if any(side.size and np.ptp(side) > SAME * side.max() for side in (up, down)):
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


def violation_at(
    demands: Sequence[Demand], samples: ScoredSamples, threshold: float, error: float, sizes: Array | None
) -> float:
    """Compute the largest p-value of the demands at a threshold: how probable data are that speak so much for them.

    In [0, 1]: if a demand is violated, it is at most p with probability p. 1 where nothing is counted. Neither
    classifier nor threshold was chosen on the samples. ``sizes`` are the expected mean squares of what a counted unit
    adds to each demand.

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
    """
    cells, p = cells_of(samples.is_pos, samples.predicted(threshold)), 0.0
    for demand, size in zip(demands, [None] * len(demands) if sizes is None else sizes.tolist()):
        p = np.maximum(p, p_value(demand, samples.totals(demand.gains[cells]), error, size))
    return float(p)


def p_value(demand: Demand, gains: Array, error: float, size: float | None) -> float:
    gains, loss = gains[np.abs(gains) > SAME * np.abs(gains).max(initial=0.0)], demand.loss
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


# ---------------------------------------------------------------- expected results of tests


@dataclass(frozen=True, eq=False)
class Outlook:
    """Expected test results of a demand at each threshold, from the searched samples."""

    # p-values on so many units, and mean squares of what a counted one adds: NaN where the tail is exact.
    p: Callable[[float], Array]
    sizes: Array


# Sums over units of functions of their totals of gains, of shape (n_functions, n_decisions).
Sums: TypeAlias = Callable[[Callable[[Array], Array]], Array]


def outlook_of(demand: Demand, sums: Sums, n_searched: float) -> Outlook:
    """Predict the tests of a demand for some decisions, by what they add up to on the searched samples."""
    return (_of_bets if demand.level is None else _of_counts)(demand, sums, n_searched)


def _of_counts(demand: Demand, sums: Sums, n_searched: float) -> Outlook:
    level, none = demand.level, SAME * np.abs(demand.gains).max()
    ones, zeros = sums(lambda gains: np.stack([gains > none, gains < -none]) * 1.0)

    def p(n_units: float) -> Array:
        # Half a wrong one more than were seen: a share of 1 on few samples convinces nobody.
        share_of_all = n_units / n_searched
        total = share_of_all * (ones + zeros)
        n = np.floor(total)
        share = np.where(n > 0, share_of_all * ones / np.maximum(total + 1.0, 1.0), 0.0)
        return np.where(n > 0, binom.sf(np.floor(n * share) - 1, n, level), 1.0)

    return Outlook(p, np.full(ones.size, np.nan))


def _of_bets(demand: Demand, sums: Sums, n_searched: float) -> Outlook:
    loss = demand.loss

    def of(gains: Array) -> Array:
        gains = gains / loss if loss > 0.0 else gains
        return np.stack([gains, gains**2, np.abs(gains) > SAME])

    gain, square, counts = sums(of)
    if not loss > 0.0:  # nothing takes away, or nobody knows how much
        return Outlook(lambda _: np.full(gain.size, float(np.isnan(loss))), np.full(gain.size, np.nan))

    def p(n_units: float) -> Array:
        # Half a heavy loss more than were seen; no bet multiplies the capital by more than its stake on all gains.
        share = n_units / n_searched
        expected = share * gain - 0.5
        normal = ndtr(-expected / np.sqrt(share * square + 0.25))
        return np.maximum(normal, np.exp(-_LARGEST_STAKE * np.maximum(expected, 0.0)))

    return Outlook(p, square / np.maximum(counts, 1.0) * loss**2)


def weights_of(*parts: ScoredSamples) -> ClassWeights:
    """Collect the weights of all parts: no unit that the user gave loses more, so none is expected to."""
    known: list[ClassWeights] = []
    for part in parts:
        weight = np.ones(part.score.size) if part.weight is None else part.weight
        known.append(ClassWeights.of(part.is_pos, weight, part.groups, part.repeats))
    return ClassWeights(np.concatenate([one.of_units for one in known]), any(one.grouped for one in known))


def rate_of(constraint: Constraint, calibrated: ScoredSamples, predicted: BoolArray) -> float:
    terms = _terms(constraint)
    cells = cells_of(calibrated.is_pos, predicted)
    top, bottom = np.bincount(cells, calibrated.weight, minlength=4) @ np.array([terms[cell] for cell in CELLS])
    return float(top / bottom) if bottom > 0.0 else 0.0
