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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.metrics.base import CELLS
from csf.metrics.constraints import share_of
from csf.thresholding.exact_tests import (
    Demand,
    ScoredSamples,
    cells_of,
    demands_of,
    outlook_of,
    p_value,
    rate_of,
    weights_of,
)
from csf.thresholding.pair_tests import expected_violation_of_pairs, violation_of_pairs
from csf.thresholding.score_paths import Guide, ScorePaths

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint, Share

# Rows that a test reads: those that were held back, all of scores that were given, or all by out-of-fold scores.
HELD_BACK, GIVEN = "held back", "given scores"
CROSS_FITTED = "cross-fitted, not proven"
# How they are called.
_ROWS = {HELD_BACK: "calibration samples", GIVEN: "samples", CROSS_FITTED: "out-of-fold samples"}
CAVEAT = f"{CROSS_FITTED}: false in 1 to 9 % of simulated searches at 0.9"
# Decisions that are tested at most.
_MOST = 60
# A first decision that is expected to pass by this factor leaves luck no part in it.
_SURE = 1e-4
# Thresholds at which it is estimated how many samples would do.
_SOME = 1000
# Largest factor by which the answer to "how many would do" is looked for.
_FAR = 1 << 20


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
        The threshold: the best one that passed, or where none did the one that came closest. NaN for rules of
        several classes and of costs by row.
    error : float
        p-value of the test that let this threshold pass: at most ``1 - confidence`` where one did. Thresholds in a
        fixed order pass by that of a less strict one too, and may have a smaller p-value themselves.
    rates : dict of str to float
        Constrained rates there, on the samples of the test.
    n_samples, n_positives : int
        Samples of the test, and the positives among them; of several constrained classes those of the rarest.
    n_tested : int
        Thresholds that were tested, in an order that was fixed before.
    needed : int or None
        Where none passed: positives with which one would probably pass by the held-out scores
        (as many as there are, where chance was against it); where one passed, those with which half of what is ``lost``
        would probably be kept. ``None`` where no number of them would do.
    lost : float
        What the certificate costs: the best value of the metric that keeps the constraint on the held-out scores, less
        the value at the threshold there. 0 where none passed.
    smallest : str, default=""
        By segments: the one with fewest positives, whose positives ``n_positives`` and ``needed`` count.
    rows : {"held back", "given scores", "cross-fitted, not proven"}, default="held back"
        Samples of the test: those held back for it, or all of them, where scores were given or by out-of-fold scores.
        The last kind is not proven, as the final model gives other scores than those of the folds.
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
    rows: str = HELD_BACK

    def __str__(self) -> str:
        """Describe the result in one sentence."""
        what = "rule" if np.isnan(self.threshold) else "threshold"
        where = f" in {self.smallest}" if self.smallest else ""
        known = f"{self.n_samples} {_ROWS[self.rows]}, {self.n_positives} of them positive{where}"
        sure = f"; {CAVEAT}" if self.rows == CROSS_FITTED else ""
        if self.holds:
            return f"{self.constraint} holds with confidence {self.confidence:g} ({known}, p = {self.error:.2g}{sure})"
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


def certify(
    tested: ScoredSamples,
    metric: Metric,
    confidence: float,
    searched: ScoredSamples | None = None,
    *,
    rows: str | None = None,
) -> Guarantee:
    """Find the best threshold for which a constraint holds on new data with the given confidence.

    Scores of the ``tested`` samples are those of a model that has not been fitted to them. Thresholds are tested along
    paths that follow from the scores alone, each up to its first failure (fixed-sequence testing, as in Learn then Test
    [1]_): the probability that any one passes which violates the constraint is at most the error, and of those that
    pass the best one is taken, see `ScorePaths`. Samples that were ``searched`` before say where a path starts and how
    large bets are.

    References
    ----------
    .. [1] A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei, "Learn then Test: calibrating predictive algorithms
       to achieve risk control", 2021.
    """
    constraint, tested = metric.constraint, tested.counted()
    known = tested if searched is None else searched.counted()
    # Not as error profiles: all that are searched may be right.
    curve = known.curve()
    values = metric.value(curve.fn, curve.fp, pos=curve.pos)
    allowed = constraint.violation(curve.fn, curve.fp, pos=curve.pos) <= 0.0
    # Thresholds between two that keep the constraint on the searched samples, all where none does.
    ends = tuple(curve.thresholds[np.flatnonzero(allowed if allowed.any() else ~allowed)[[0, -1]]].tolist())
    parts = (tested,) if searched is None else (known, tested)
    plain = all(part.weight is None and part.groups is None for part in parts)
    demands = demands_of(constraint, None if plain else weights_of(*parts))
    if searched is not None:
        taken = [[part.predicted(cut) for cut in ends] for part in parts]
        demands = [demand.within(known, tested, (taken[0], taken[1])) for demand in demands]
    # A guide reads all thresholds, and how many samples would do is estimated at some.
    some = slice(None)
    if searched is None:
        best = np.nan_to_num(values, nan=-np.inf).argmax()
        some = np.union1d(np.linspace(0, values.size - 1, _SOME).astype(int), best)
    outlooks = [
        outlook_of(demand, partial(known.sums, curve.lowest_score[some], demand.gains), known.n_units)
        for demand in demands
    ]
    guide = None if searched is None else Guide.of(curve, values, outlooks, tested.n_different, ends)
    paths = ScorePaths(tested, demands, 1.0 - confidence, guide)
    passed, p_values, n_tested = paths.walk(metric)
    at_value = values[curve.cuts_at(paths.curve.thresholds)]
    at_best, holds = int(np.where(passed & ~np.isnan(at_value), at_value, -np.inf).argmax()), bool(passed.any())
    if not holds:
        tested_by_all = not np.isnan(p_values).all()
        at_best = int(np.nanargmin(p_values) if tested_by_all else paths.curve.cuts_at(curve.best(metric).threshold))
    value, threshold = float(at_value[at_best]), float(paths.curve.thresholds[at_best])
    lost = max(float(np.nanmax(values[allowed])) - value, 0.0) if holds and allowed.any() else 0.0
    good = values[some] >= (value + 0.5 * lost if holds else -np.inf)
    n_positives = round(tested.is_pos.sum() / tested.repeats)
    predicted = tested.predicted(threshold)
    return Guarantee(
        constraint=str(constraint),
        confidence=confidence,
        holds=holds,
        threshold=threshold,
        error=float(np.nan_to_num(p_values[at_best], nan=1.0)),
        rates={name: rate_of(part, tested, predicted) for name, part in constraint.named_parts.items()},
        n_samples=round(tested.is_pos.size / tested.repeats),
        n_positives=n_positives,
        n_tested=n_tested,
        needed=_needed([outlook.p for outlook in outlooks], good, tested.n_different, n_positives, 1.0 - confidence),
        lost=lost,
        rows=rows or (GIVEN if searched is None else HELD_BACK),
    )


def run_in_order(tests: Sequence[Callable[[], float]], error: float) -> tuple[int, float, int, bool]:
    """Run tests up to the first that fails; return the place of the last that passed, its p-value and their number.

    Where none passed, the place is that of the first one. The last value says whether one did.
    """
    passed: tuple[int, float] | None = None
    first = 1.0
    for number, test in enumerate(tests):
        p = test()
        first = first if number else p
        if p > error:
            break
        # Each one is better by the held-out scores than those before it.
        passed = number, p
    place, p = (0, first) if passed is None else passed
    return place, p, number + 1, passed is not None


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
        return Decisions(self.samples.counted(), [answers[weight > 0.0] for answers in self.predicted])

    def by_segment(self, codes: IntArray, n_segments: int) -> list[Decisions]:
        """Split the decisions by the segments of the samples."""
        segments = [np.flatnonzero(codes == code) for code in range(n_segments)]
        return [Decisions(self.samples.take(rows), [answers[rows] for answers in self.predicted]) for rows in segments]

    def totals(self, gains: Array, decision: int) -> Array:
        """Sum gains of cells by unit, by the decisions of one rule."""
        return self.samples.totals(gains[cells_of(self.samples.is_pos, self.predicted[decision])])

    def rate(self, constraint: Constraint, decision: int) -> float:
        """Compute a constrained rate of the decisions of one rule."""
        return rate_of(constraint, self.samples, self.predicted[decision])

    def counts(self, share: Share) -> IntArray:
        """Count the ones and the counted samples of a share, a row for each rule."""
        cells = [np.bincount(cells_of(self.samples.is_pos, answers), minlength=4) for answers in self.predicted]
        return np.stack(share.counts(**dict(zip(CELLS, np.transpose(cells)))), axis=1)

    def sums(self, gains: Array, of: Callable[[Array], Array]) -> Array:
        """Sum functions of the units' totals of gains, a column for each rule; see `ScoredSamples.sums`."""
        return np.column_stack(
            [of(self.totals(gains, decision)).sum(axis=1) for decision in range(len(self.predicted))]
        )


def certify_decisions(
    constraint: Constraint,
    searched: Sequence[Decisions],
    tested: Sequence[Decisions],
    values: Array,
    confidence: float,
    names: Sequence[str] = (),
) -> tuple[Guarantee, int]:
    """Find the best of several rules for which constraints hold on new data with the given confidence.

    As `certify` does with thresholds: of each part of the constraint, in each of the named segments, there are the
    decisions of the same rules, the most cautious one first, about samples with held-out scores and about those to
    test. The path follows from the searched samples. Return the place of the rule too.
    """
    searched, tested = ([view.counted() for view in views] for views in (searched, tested))
    n_views = len(tested) // len(constraint.parts)
    tests_of, error = _tests_of_levels if constraint.pair_limit is None else _tests_of_pairs, 1.0 - confidence
    tests = tests_of(constraint, searched, tested, error)
    path = _path(values, np.maximum.reduce([forecast(tests.n_units) for forecast in tests.expected]), error)
    place, p, n_tested, holds = run_in_order([partial(tests.violation, decision) for decision in path.tolist()], error)
    decision = int(path[place])
    lost = float(values.max() - values[decision]) if holds else 0.0
    good = values >= (values[decision] + 0.5 * lost if holds else -np.inf)
    positives = [int(view.samples.is_pos.sum()) for view in tested]
    by_part = zip(constraint.named_parts.items(), [tested[k : k + n_views] for k in range(0, len(tested), n_views)])
    guarantee = Guarantee(
        constraint=str(constraint),
        confidence=confidence,
        holds=holds,
        threshold=np.nan,
        error=p,
        rates={
            name: part.comparison.value(np.array([view.rate(part, decision) for view in there]), part.side)
            for (name, part), there in by_part
        },
        n_samples=sum(view.samples.score.size for view in tested[:n_views]),
        n_positives=min(positives),
        n_tested=n_tested,
        needed=_needed(tests.expected, good, tests.n_units, min(positives), error),
        lost=lost,
        smallest=names[int(np.argmin(positives)) % n_views] if names else "",
    )
    return guarantee, decision


class _Tests(NamedTuple):
    """p-values of all rules that each demand expects on some units, how many these are, and the test of one rule."""

    expected: Sequence[Callable[[float], Array]]
    n_units: int
    violation: Callable[[int], float]


def _tests_of_levels(
    constraint: Constraint, searched: Sequence[Decisions], tested: Sequence[Decisions], error: float
) -> _Tests:
    """Test the level of each part of the constraint in each segment: the largest p-value counts."""
    demands, outlooks, n_views = [], [], len(tested) // len(constraint.parts)
    n_units = tested[0].samples.n_units
    for place, (known, new) in enumerate(zip(searched, tested)):
        parts = known.samples, new.samples
        plain = all(part.weight is None and part.groups is None for part in parts)
        part = replace(constraint.parts[place // n_views], by=None)
        demand = Demand.of(part, None if plain else weights_of(*parts))
        demands.append(demand.within(*parts, (known.predicted, new.predicted)))
        # Of segments of the samples each is as many times as large as the first one tested.
        n_searched = parts[0].n_units * n_units / max(parts[1].n_units, 1)
        outlooks.append(outlook_of(demands[-1], partial(known.sums, demands[-1].gains), n_searched))

    def violation(decision: int) -> float:
        known = zip(demands, tested, outlooks)
        p = [
            p_value(one, view.totals(one.gains, decision), error, outlook.sizes[decision])
            for one, view, outlook in known
        ]
        return float(np.max(p))

    return _Tests([outlook.p for outlook in outlooks], n_units, violation)


def _tests_of_pairs(
    constraint: Constraint, searched: Sequence[Decisions], tested: Sequence[Decisions], error: float
) -> _Tests:
    """Test a gap or ratio: every pair of segments has to keep the limit."""
    share, limit = share_of(constraint.quantity), constraint.pair_limit
    assert share is not None, "checked before"
    assert limit is not None, "there is one"
    known, counts = (np.stack([view.counts(share) for view in views], axis=1) for views in (searched, tested))
    n_searched, n_units = (sum(view.samples.n_units for view in views) for views in (searched, tested))
    expected = expected_violation_of_pairs(list(known), share, limit, n_searched)
    return _Tests([expected], n_units, lambda decision: violation_of_pairs(counts[decision], share, limit, error))


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


def _needed(
    expected: Sequence[Callable[[float], Array]], good: BoolArray, n_units: float, n_positives: int, error: float
) -> int | None:
    """Estimate how many positives one of the good decisions needs to pass by a clear margin."""
    factor = 1.0
    while factor <= _FAR:
        if np.maximum.reduce([forecast(factor * n_units)[good] for forecast in expected]).min() <= 0.5 * error:
            return int(np.ceil(factor * max(n_positives, 1)))
        factor *= 1.25
    return None
