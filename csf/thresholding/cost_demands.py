"""Constraints on decisions by the costs of rows: what decisions miss, and the extra costs of errors that keep them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Self

import numpy as np
from scipy.special import expit

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.data.responses import LARGEST_LOG_ODDS
from csf.metrics.constraints import Constraint, gains_of, share_of
from csf.metrics.profile import ErrorProfile
from csf.metrics.row_costs import CostTable
from csf.thresholding.cost_decisions import NOISE, CostDecision, LabelledCosts, best_cut
from csf.thresholding.curve import ThresholdCurve, sweep
from csf.thresholding.exact_tests import check_rates
from csf.thresholding.linear_rule import STRICTER_AIMS
from csf.thresholding.segments import SegmentCurves, Segments, rate_at

# By how much more than the last turn a multiplier is.
_BEYOND, _TINY = 1e-6, 1e-300


# ---------------------------------------------------------------- demands


@dataclass(frozen=True, eq=False)
class CostDemand(ABC):
    """Constraint on decisions by the costs of rows, which extra costs of errors keep."""

    constraint: Constraint

    def __post_init__(self) -> None:
        check_rates(self.constraint)

    @abstractmethod
    def rates(self, rows: LabelledCosts, decided: BoolArray) -> dict[str, float]:
        """Compute the constrained values of decisions about rows, by their names."""

    def missing(self, rows: LabelledCosts, decided: BoolArray) -> float:
        """Compute by how much decisions about rows miss the constraint; rates that count none of them miss nothing."""
        parts, rates = self.constraint.named_parts, self.rates(rows, decided)
        return max(float(np.nan_to_num(np.asarray(part.missing(rates[name])))) for name, part in parts.items())

    @abstractmethod
    def kept_by(self, decision: CostDecision, rows: LabelledCosts) -> CostDecision:
        """Add the smallest extra costs with which the constraint holds on these rows."""

    def cut_within(self, score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None) -> float:
        """Find the threshold of a score with the least cost; a constraint by segments asks no single one to keep it."""
        return best_cut(score, is_pos, table, weight)

    def tightened(self, share: float) -> Self:
        """Move all levels towards the strictest ones, see `Constraint.tightened`."""
        return replace(self, constraint=self.constraint.tightened(share))

    def _kept(
        self, decision: CostDecision, rows: LabelledCosts, priced: Callable[[float], CostDecision]
    ) -> CostDecision:
        """Aim at stricter and stricter levels until the constraint holds; return what misses least where it never does.

        What is expected to keep a level may miss it, as probabilities are wrong.
        """
        if not self.missing(rows, decision.decide(rows.score, rows.table)):
            return decision
        tried = []
        for share in STRICTER_AIMS:
            known = priced(share)
            tried.append((self.missing(rows, known.decide(rows.score, rows.table)), known))
            if not tried[-1][0]:
                break
        return min(tried, key=itemgetter(0))[1]


class OverallDemand(CostDemand):
    """Constraint on all rows."""

    def rates(self, rows: LabelledCosts, decided: BoolArray) -> dict[str, float]:
        """Compute the constrained rates of decisions about rows; NaN for those that count none of them."""
        is_pos, weight, parts = rows.is_pos, rows.weight, self.constraint.named_parts
        if (total := float(weight.sum())) > 0.0 and 0.0 < (pos := float(weight @ is_pos / total)) < 1.0:
            errors = ErrorProfile.from_masks(is_pos, decided, sample_weight=weight)
            return {name: float(part.rate.of(errors)) for name, part in parts.items()}
        if not total:
            return dict.fromkeys(parts, np.nan)
        # A segment, or a part of its rows, may have one class alone.
        fn, fp = (np.array([weight @ wrong / total]) for wrong in (is_pos & ~decided, decided & ~is_pos))
        return {name: float(rate_at(part.rate, fn, fp, pos)[0]) for name, part in parts.items()}

    def kept_by(self, decision: CostDecision, rows: LabelledCosts) -> CostDecision:
        """Add the smallest extra costs with which the constraint holds, see `extra_costs`."""
        rows = rows.counted
        decided, proba = decision.decide(rows.score, rows.table), expit(_decided_odds(decision, rows.score))

        def priced(share: float) -> CostDecision:
            return replace(decision, extra=extra_costs(self.constraint, proba, rows, decided, share))

        return self._kept(decision, rows, priced)

    def cut_within(self, score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None) -> float:
        """Find the threshold of a score with the least cost among those that keep the constraint, or miss least."""
        curve = sweep(is_pos, score, weight)
        saved = savings_along(curve, score, table.stakes(is_pos) * (1.0 if weight is None else weight))
        missing = np.asarray(self.constraint.violation(curve.fn, curve.fp, pos=curve.pos))
        return float(curve.thresholds[np.argmax(np.where(missing <= missing.min(), saved, -np.inf))])


@dataclass(frozen=True, eq=False)
class SegmentDemand(CostDemand):
    """Constraint by segments: errors have extra costs of their own in each segment."""

    segments: Segments

    def rates(self, rows: LabelledCosts, decided: BoolArray) -> dict[str, float]:
        """Compute the constrained values of decisions about rows: gaps, ratios or the worst rates."""
        return self.segments.rates_on(self.constraint, codes_of(rows.table), rows.is_pos, decided, rows.weight)

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return len(self.segments.known)


class EachSegmentDemand(SegmentDemand):
    """Levels in each segment."""

    def kept_by(self, decision: CostDecision, rows: LabelledCosts) -> CostDecision:
        """Add the smallest extra costs with which each segment keeps the levels."""
        everywhere, codes = self.constraint.on_all_rows, codes_of(rows.table)
        assert everywhere is not None, "no part is about pairs of segments"
        overall, places = OverallDemand(everywhere), (np.flatnonzero(codes == k) for k in range(self.n_segments))
        return replace(decision, by_segment=tuple(overall.kept_by(decision, rows.take(part)).extra for part in places))


class SegmentPairDemand(SegmentDemand):
    """Limit on the gap or the ratio of the rates of each two segments."""

    def __post_init__(self) -> None:
        super().__post_init__()
        directions_of(self.constraint)

    def kept_by(self, decision: CostDecision, rows: LabelledCosts) -> CostDecision:
        """Add the extra costs by segment that save most among those whose rates are as close as is demanded.

        A rate of a segment follows from one multiplier of what "positive" adds to it in each row, on average by the
        row's probability. Rows turn one by one as it grows: what a row saves per unit of the rate is a score, and each
        segment has a threshold on it.
        """
        rows = rows.counted
        score, codes = self._savings_per_unit(decision, rows), codes_of(rows.table)
        curves = SegmentCurves.of(rows.is_pos, score, codes, self.n_segments, rows.weight)
        stakes, saved = rows.table.stakes(rows.is_pos) * rows.weight, []
        for segment, curve in enumerate(curves.curves):
            along = savings_along(curve, score[codes == segment], stakes[codes == segment])
            # No extra costs turn rows that add nothing to the rate.
            saved.append(np.where(np.isneginf(curve.lowest_score) & (curve.fn.size > 1), -np.inf, along))

        def priced(share: float) -> CostDecision:
            places = curves.limits(self.constraint.tightened(share)).best(saved, None)
            cuts = [curve.threshold_of(place) for curve, place in zip(curves.curves, places)]
            return replace(decision, by_segment=self._extra_at(np.array(cuts), score))

        return self._kept(decision, rows, priced)

    def _savings_per_unit(self, decision: CostDecision, rows: LabelledCosts) -> Array:
        """Compute what the answer "positive" to each row saves for each unit that it adds to the rate."""
        of_pos, of_neg = directions_of(self.constraint)
        proba, table = expit(_decided_odds(decision, rows.score)), rows.table
        with np.errstate(divide="ignore", invalid="ignore"):
            score = table.expected_gain(proba) / (proba * of_pos + (1.0 - proba) * of_neg)
        # Rows that are certain, save nothing and add nothing are as those that are nearly certain.
        return np.where(np.isnan(score), table.gain / of_pos if of_pos else -table.loss / of_neg, score)

    def _extra_at(self, cuts: Array, score: Array) -> tuple[Costs, ...]:
        """Compute the extra costs by segment that act on scores from these thresholds on."""
        of_pos, of_neg = directions_of(self.constraint)
        finite = score[np.isfinite(score)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        room = _BEYOND * max(abs(low), abs(high)) + _TINY
        return tuple(
            (0.0 - cut * of_pos, cut * of_neg + 0.0) for cut in np.clip(cuts, low - room, high + room).tolist()
        )


def demand_on_costs(constraint: Constraint, segments: Segments | None) -> CostDemand:
    """Return what keeps a constraint; it is by ``segments``, where there are some."""
    if segments is None:
        return OverallDemand(constraint)
    return (EachSegmentDemand if constraint.pair_limit is None else SegmentPairDemand)(constraint, segments)


def directions_of(constraint: Constraint) -> tuple[float, float]:
    """Return by how much "positive" moves a rate in a positive and in a negative row, as amounts.

    Raises a ValueError for rates whose denominator decisions change, or that rows of both classes move oppositely.
    """
    share = share_of(constraint.quantity)
    ones, cells = (set(), set()) if share is None else (set(share.ones), {*share.ones, *share.zeros})
    moves = [(pos in ones) - (neg in ones) for pos, neg in (("tp", "fn"), ("fp", "tn"))]
    fixed = all((pos in cells) == (neg in cells) for pos, neg in (("tp", "fn"), ("fp", "tn")))
    if share is None or not fixed or moves[0] * moves[1] < 0 or not any(moves):
        raise ValueError(
            f"constraint {constraint}: where errors have costs in each row, gaps and ratios are those of rates whose "
            "rows no decision changes, such as recall, fpr or selection_rate; constrain one of these, or the level of "
            f"{constraint.quantity.name} in each segment"
        )
    return float(abs(moves[0])), float(abs(moves[1]))


def codes_of(table: CostTable) -> IntArray:
    """Return the places of the rows' segments."""
    assert table.segment is not None, "costs under a constraint by segments are read with them"
    return table.segment


def _decided_odds(decision: CostDecision, score: Array) -> Array:
    """Compute log-odds that are decided at 0."""
    return np.clip(decision.log_odds(score) - decision.threshold, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def savings_along(curve: ThresholdCurve, score: Array, stakes: Array) -> Array:
    """Compute what the answer "positive" to all scores from each threshold of a curve on saves."""
    order = np.argsort(-score, kind="stable")
    places = np.searchsorted(-score[order], -curve.lowest_score, side="right")
    return np.append(0.0, -np.cumsum(stakes[order]))[places]


# ---------------------------------------------------------------- extra costs for a constraint on all rows


# Turns of the multipliers of several constraints, and further ones with steps that double: demands that pull against
# each other, such as a recall and a predicted rate, move both a little in each turn.
_TURNS, _DOUBLED = 8, 20


def extra_costs(
    constraint: Constraint,
    proba: Array,
    rows: LabelledCosts,
    predicted: BoolArray,
    share: float = 0.0,
) -> Costs:
    """Find what a false negative and a false positive have to cost besides, at least, for a constraint to hold.

    A constraint is a sum over rows that may not be negative. A multiplier times what a decision adds to it, on average
    by the row's probability, is added to what the decision saves; each row changes its answer at one multiplier, so
    that the smallest one which keeps the constraint follows from a sweep. Several constraints take turns. Multipliers
    are those of levels that are stricter by a share of the way.
    """
    gains, aims = (
        [gains_of(part.rate.terms() or {}, part.side, part.level) for part in demanded.parts]
        for demanded in (constraint, constraint.tightened(share))
    )
    demands = _Demands(proba, rows, gains, _changes(aims), _changes(gains))
    multipliers = before = undoubled = np.zeros(len(gains))
    for turn in range(_TURNS + _DOUBLED if len(gains) > 1 else 1):
        if turn > _TURNS:
            multipliers = multipliers + 2.0 ** (turn - _TURNS - 1) * np.maximum(multipliers - before, 0.0)
        before = multipliers
        multipliers = demands.least(before, predicted if turn == 0 else None)
        undoubled = multipliers if turn <= _TURNS else undoubled
        if np.array_equal(before, multipliers) or (turn >= _TURNS and demands.hold(multipliers)):
            break
    else:
        # Much larger ones did not help.
        multipliers = undoubled
    fn, fp = multipliers @ demands.changes
    return float(fn), float(0.0 - fp)


def _changes(gains: list[Array]) -> Array:
    """Compute what "positive" adds to each demand instead of "negative", in a positive and in a negative row."""
    return np.array([(tp - fn, fp - tn) for tp, fn, fp, tn in gains])


@dataclass(frozen=True, eq=False)
class _Demands:
    """Rows, and what their answers add to the sums that demands keep from being negative.

    Multipliers act on ``changes`` in what an answer saves; sums take ``gains``, and ``moves`` where a row turns.
    """

    proba: Array
    rows: LabelledCosts
    gains: list[Array]
    changes: Array
    moves: Array

    def saved(self, multipliers: Array) -> Array:
        """Compute what the answer "positive" to each row is expected to save, with the multipliers."""
        fn, fp = multipliers @ self.changes
        return self.proba * (self.rows.table.gain + fn) - (1.0 - self.proba) * (self.rows.table.loss - fp)

    def added(self, demand: int, acts: BoolArray) -> float:
        """Sum what answers add to a demand."""
        gain, is_pos = self.gains[demand], self.rows.is_pos
        parts = np.where(acts == is_pos, gain[np.where(is_pos, 0, 3)], gain[np.where(is_pos, 1, 2)])
        return float(self.rows.weight @ parts)

    def least(self, multipliers: Array, predicted: BoolArray | None) -> Array:
        """Find the smallest multiplier of each demand in turn; ``predicted`` are the answers without any."""
        least = multipliers.copy()
        for demand, ((of_pos, of_neg), moves) in enumerate(zip(self.changes, self.moves)):
            least[demand] = 0.0
            saved = self.saved(least)
            acts = predicted if predicted is not None and not least.any() else saved >= 0.0
            change = self.rows.weight * np.where(self.rows.is_pos, *moves[:, None])
            slope = self.proba * of_pos + (1.0 - self.proba) * of_neg
            least[demand] = _least_multiplier(self.added(demand, acts), saved, acts, slope, change)
        return least

    def hold(self, multipliers: Array) -> bool:
        """Check whether all demands are kept, but for rounding."""
        acts, least = self.saved(multipliers) >= 0.0, -NOISE * float(self.rows.weight.sum())
        return all(self.added(demand, acts) >= least for demand in range(len(self.gains)))


def _least_multiplier(total: float, saved: Array, acts: BoolArray, slope: Array, change: Array) -> float:
    """Find the smallest multiplier with which a sum over rows is not negative; else that of the largest sum.

    Acting on a row saves ``saved`` plus the multiplier times ``slope``, and adds ``change`` to the sum.
    """
    if total >= 0.0:
        return 0.0
    turns = np.flatnonzero(np.where(acts, slope < 0.0, slope > 0.0))
    levels = np.maximum(-saved[turns] / slope[turns], 0.0)
    order = np.argsort(levels, kind="stable")
    levels, sums = levels[order], total + np.cumsum(np.where(acts[turns], -change[turns], change[turns])[order])
    # Rows that turn at the same multiplier turn together.
    last = np.append(np.diff(levels) > 0.0, True)[: levels.size]
    levels, sums = levels[last], sums[last]
    if not levels.size:
        return 0.0
    keeps = np.flatnonzero(sums >= -NOISE * np.abs(total))
    place = int(keeps[0]) if keeps.size else int(np.argmax(sums))
    # Between two turns, so that rounding changes no answer.
    if place + 1 < levels.size:
        return float(0.5 * (levels[place] + levels[place + 1]))
    return float(levels[place] * (1.0 + _BEYOND) + _TINY)
