"""Limited capacity and three answers: which rows to act on, or to review, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy.special import expit, ndtri, stdtrit

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Costs, IntArray, Label, Samples
from csf._common.validation import check_fraction
from csf.data.responses import TIE, midpoint
from csf.evaluate import Assessment, Resampling
from csf.evaluate.assessment import LEVEL, SPREAD, n_draws_of
from csf.evaluate.draws import Units, bootstrap_counts, grouped, judge_left_out, shares
from csf.evaluate.intervals import gradients
from csf.metrics.constraints import ANSWERS, Constraint, Precision, Recall, Review
from csf.metrics.registry import aim, truth_of
from csf.thresholding.alerts import NO_LIMITS, AlertLimit, AlertLimits, of_positive
from csf.thresholding.batch import ROUNDING, best_rows, check_capacity, places_limited, reviewed_within
from csf.thresholding.certificates import Guarantee, ScoredSamples, certify
from csf.thresholding.row_costs import RowCostChoice, RowCostRule, RowCostStore, leaning_of, reach
from csf.thresholding.rule import AllowedAnswers, ThresholdRule

if TYPE_CHECKING:
    from csf.evaluate import Chooser, ScoreStore, TrialKey
    from csf.metrics.base import Metric
    from csf.metrics.row_costs import CostTable


# ---------------------------------------------------------------- what acting on rows adds up to


# A ranking, and what ranks again on each of several parts of the entries.
Again: TypeAlias = "tuple[RankedHeldOut, Callable[[Array, int], Iterable[RankedHeldOut]]]"


@dataclass(frozen=True, eq=False, kw_only=True)
class RankedHeldOut:
    """Ranked held-out entries, and the amounts that acting on them adds to sums.

    Parameters
    ----------
    store : EntryStore or Units
        What the entries are of.
    rank : ndarray of shape (n_entries,)
        What is largest is acted on first.
    least : float
        Smallest rank that pays.
    adds : ndarray of shape (2, n_sums, n_entries)
        What acting on an entry adds to the sums if it is negative, and if it is positive; the first sum is what a
        perfect choice makes as large as it can be.
    totals : ndarray of shape (2, n_totals, n_entries)
        What an entry adds to other sums, whatever is answered.
    value : callable
        ``value(sums, totals)`` of sums of shape (n_sums, n_shares) and totals of shape (n_totals,).
    captured : callable, default=None
        The same for the share of what can be gained; ``None`` means the first sum as a share of the largest one.
    in_costs : bool, default=False
        Whether the first sum is in the units of costs.
    answers : callable, default=None
        ``answers(review, weight)`` are three answers by bands that are made for entries of these weights.
    again : callable, default=None
        ``again(seed)`` has the ranking of the winner on all samples, and of what ``on_parts(counts, first)`` chooses
        again on parts, as for `judge_left_out`.
    """

    store: Any
    rank: Array
    least: float
    adds: Array
    totals: Array
    value: Callable[[Array, Array], Array]
    captured: Callable[[Array, Array], Array] | None = None
    in_costs: bool = False
    answers: Any = None
    again: Callable[[int], Again] | None = None

    @cached_property
    def gains(self) -> Array:
        """Amounts that acting on each entry adds to the sums."""
        return np.where(self.store.truth, self.adds[1], self.adds[0])

    @cached_property
    def weight(self) -> Array:
        """Weight of each entry."""
        return self.store.weights_in(self.store.copies)

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Entries that pay, the best first, and the places of the last ones of equal rank."""
        pays = np.flatnonzero(self.rank >= self.least)
        order = pays[np.argsort(-self.rank[pays], kind="stable")]
        return order, np.flatnonzero(np.append(np.diff(self.rank[order]) != 0.0, True)[: order.size])

    def acted(self, weight: Array, at_most: Array) -> tuple[Array, Array]:
        """Return the shares of the rows acted on down to each rank, and the smallest ranks at some limits."""
        order, ends = self._order
        acted = np.append(0.0, np.cumsum(weight[order])[ends] / weight.sum())
        places = np.searchsorted(acted[1:], at_most - ROUNDING)
        return acted, np.append(self.rank[order[ends]], self.least)[places]

    def within(self, at_most: Array) -> Acting:
        """Return the function that acts on at most these shares of the rows.

        Of entries that rank the same, as many are acted on as the limit allows, whichever they are.
        """
        order, ends = self._order

        def sums(values: Array, weight: Array, counted: Array) -> Array:
            acted, below = self.acted(weight, at_most)[0], (values[:, order] * counted[order]).cumsum(axis=1)[:, ends]
            return np.stack([np.interp(at_most, acted, np.append(0.0, each)) for each in below])

        return sums

    def total(self, weight: Array) -> Array:
        """Sum the amounts that no answer changes."""
        return np.where(self.store.truth, self.totals[1], self.totals[0]) @ weight

    def summed(self, acting: Acting, counted: Array) -> Array:
        """Sum over the entries acted on, then add totals and the largest possible first sum, a column per limit."""
        sums, most = acting(self.gains, self.weight, counted), np.maximum(self.gains[0], 0.0) @ counted
        rest = np.append(self.total(counted), most)[:, None]
        return np.concatenate([sums, np.repeat(rest, sums.shape[1], axis=1)])

    def values(self, summed: Array) -> Array:
        """Compute the value of the sums in each column, and the share of what can be gained."""
        sums, totals = summed[: len(self.gains)], summed[len(self.gains) : -1, 0]
        captured = sums[0] / summed[-1] if self.captured is None else self.captured(sums, totals)
        return np.stack([self.value(sums, totals), captured])

    def errors(self, acting: Acting, limits: Array, seed: int) -> Array:
        """Draw bootstrap errors of the values, of shape (n_limits, n_draws).

        A draw adds a gamma number of samples, of mean 1 / 2, of each class to those that are acted on and to the
        others: what has not happened yet can happen. No more than the limits are acted on.
        """
        store, rng, values = self.store, np.random.default_rng([seed, 2]), []
        one = np.ones((1, self.rank.size))
        sides = [~store.truth * self.weight, store.truth * self.weight]
        sizes = [np.bincount(store.samples, side) for side in sides]
        typical = np.array([each @ (each / store.copies) / each.sum() for each in sizes])
        means = np.stack([acting(np.append(adds, one, axis=0), self.weight, self.weight) for adds in self.adds])
        means = means[:, :-1] / np.maximum(means[:, -1:], ROUNDING)
        totals = np.stack([each @ side / side.sum() for each, side in zip(self.totals, sides)])
        every, n_draws = np.append(self.gains, one, axis=0), n_draws_of(store.copies)
        for counts in chain.from_iterable(block.T for block in bootstrap_counts(store.copies, n_draws, seed)):
            weight, more = store.weights_in(counts), rng.gamma(_UNMET, size=(2, 2)) * typical
            sums = acting(every, weight, weight)
            number = sums[-1] + more[0].sum()
            kept = np.minimum(limits * (weight.sum() + more.sum()) / number, 1.0)
            sums = kept * (sums[:-1] + np.tensordot(more[0], means, 1))
            values.append(self.value(sums, self.total(weight) + more.sum(axis=0) @ totals))
        # Amounts of a few rows say little of larger ones, as with Student's t.
        wider = stdtrit(self._varying(acting) + 1.0, _UPPER) / ndtri(_UPPER) if self.in_costs else np.ones(limits.size)
        return wider[:, None] * (np.stack(values, axis=1) - np.nanmean(values, axis=0)[:, None])

    def _varying(self, acting: Acting) -> Array:
        """Compute for each limit how many rows of equal influence the value varies with, as far as it varies."""
        totals = np.where(self.store.truth, self.totals[1], self.totals[0])
        sums = acting(self.gains, self.weight, self.weight)
        every = np.column_stack([sums.T, np.tile(totals @ self.weight, (sums.shape[1], 1))])
        slopes = gradients(lambda at: self.value(at[:, : len(sums)].T, at[:, len(sums) :].T), every)
        numbers = []
        for at, slope in enumerate(slopes):
            idle = slope[len(sums) :] @ totals
            each = np.stack([idle, idle + slope[: len(sums)] @ self.gains])
            each /= np.abs(each).max() or 1.0
            # Of the sums over rows that are acted on, the first one pays for reviews.
            added = np.stack([0.0 * idle, *(each[1] ** power - each[0] ** power for power in (2, 4))])
            squares, fourths = acting(added, self.weight, self.weight)[1:, at] + each[0] ** [[2], [4]] @ self.weight
            numbers.append(squares**2 / fourths if fourths > 0.0 else 0.0)
        return np.array(numbers) * (self.store.copies.sum() / self.weight.sum())

    def take(self, columns: Sequence[Array] = ()) -> tuple[RankedHeldOut, IntArray]:
        """Keep one sample of each kind, ordered by ranks, ``columns`` and costs; return them and the places kept.

        So draws are the same for rows in another order, and for whole weights and rows that are repeated.
        """
        every = [*self.adds.reshape(-1, self.rank.size), *self.totals.reshape(-1, self.rank.size)]
        units, at = grouped(self.store, [self.rank, *columns, *(each for each in every if np.ptp(each) > 0.0)])
        kept = {"rank": self.rank[at], "adds": self.adds[..., at], "totals": self.totals[..., at]}
        return replace(self, store=units, **kept), at


def rank_by_score(store: Any, score: Array, threshold: float, metric: Metric, **more: Any) -> RankedHeldOut:
    """Rank entries by a score with a threshold; the sums count true and false positives."""

    def value(quantity: Metric, sums: Array, totals: Array) -> Array:
        pos, neg = totals
        if min(pos, neg) <= 0.0:
            return np.full(sums.shape[1], np.nan)
        fn, fp, share = shares(np.maximum(pos - sums[0], 0.0), np.minimum(sums[1], neg), pos, neg)
        return quantity.value(fn, fp, pos=float(share))

    if (truth := truth_of(metric)) is not None:
        more["captured"] = partial(value, truth.like(Recall()))
    counted = np.broadcast_to(np.eye(2)[::-1, :, None], (2, 2, score.size))
    more |= {"adds": counted, "totals": counted, "value": partial(value, metric)}
    return RankedHeldOut(store=store, rank=score, least=threshold, **more)


def rank_by_costs(
    store: RowCostStore,
    odds: Array,
    rank: Array | None = None,
    least: float = 0.0,
    *,
    extra: Costs = (0.0, 0.0),
) -> RankedHeldOut:
    """Rank rows by the expected gain of acting on them, or by another rank; the sums hold the costs saved.

    ``extra`` is what errors cost besides for a constraint: decisions read it, and sums do not.
    """

    def value(sums: Array, totals: Array) -> Array:
        negative, positive, n_rows = totals
        return store.costs.value(negative - sums[0], negative, positive, n_rows)

    def answers(review: Review, weight: Array) -> Array:
        bands = bands_of_costs(review, expit(odds), priced, weight)
        return bands.decide_on(LabelledScores(leaning_of(odds, priced, review, bands.extra_cost), store.truth, weight))

    table, priced, ones = store.table, store.table.plus(*extra), np.ones(odds.size)
    adds = np.stack([-table.loss, table.gain])[:, None]
    totals = np.array([[table.tn, table.fp, ones], [table.fn, table.tp, ones]])
    rank = priced.expected_gain(expit(odds)) if rank is None else rank
    more: Any = {"in_costs": True, "answers": answers, "again": partial(choices_by_costs, store, odds, extra)}
    return RankedHeldOut(store=store, rank=rank, least=least, adds=adds, totals=totals, value=value, **more)


# ---------------------------------------------------------------- what it is worth on new rows


@dataclass(frozen=True)
class Capacity:
    """Expected value of acting on no more than a share of the rows, from held-out scores.

    Parameters
    ----------
    at_most : float
        Share of the rows that can be acted on.
    value : float
        Value of the metric to expect on new data, at this share of one large batch.
    interval : tuple of float
        90 % interval of it.
    threshold : float
        Rows are acted on from this expected gain on, where errors have costs in each row: so much one more place would
        be worth. Else from this score on.
    acted_on : float
        Share of the rows that are acted on: less than ``at_most`` where more do not pay.
    captured : float
        Share of what a perfect choice of all rows would gain, to expect of one large batch too; where errors have no
        costs of their own, the share of the positives that are predicted positive.

    Notes
    -----
    Small batches reach less: the best row of each hundred is not one of the best hundredth of all rows.

    Examples
    --------
    >>> Capacity(0.05, 0.31, (0.28, 0.34), 12.5, 0.05, 0.54).captured
    0.54
    """

    at_most: float
    value: float
    interval: tuple[float, float]
    threshold: float
    acted_on: float
    captured: float


@dataclass(frozen=True)
class NamedCapacities:
    """Expected value of limits on the shares of rows that get some classes or labels, from held-out scores.

    Parameters
    ----------
    value : float
        Value of the metric to expect on new data, with these limits in one large batch.
    interval : tuple of float
        90 % interval of it.
    at_most, threshold, acted_on, captured : dict of label to float
        As those of `Capacity`, by class or label. Of several classes the threshold is a distance between a row's score
        of the class and that of its next best one, and what is captured is the share of the rows of the class that get
        it.

    Examples
    --------
    >>> NamedCapacities(0.6, (0.5, 0.7), {"urgent": 0.05}, {"urgent": 0.1}, {"urgent": 0.05}, {"urgent": 0.7}).captured
    {'urgent': 0.7}
    """

    value: float
    interval: tuple[float, float]
    at_most: dict[Label, float]
    threshold: dict[Label, float]
    acted_on: dict[Label, float]
    captured: dict[Label, float]

    @classmethod
    def of(cls, value: float, interval: tuple[float, float], parts: Mapping[Label, Capacity]) -> Self:
        """Collect what is known of each limit."""
        names = ("at_most", "threshold", "acted_on", "captured")
        return cls(value, interval, *({key: getattr(part, name) for key, part in parts.items()} for name in names))


# ``acting(values, weight, counted)`` decides about entries by their one weight, and sums values, a row each, by the
# other one over those that are acted on; it returns a column for each limit.
Acting = Callable[[Array, Array, Array], Array]
# Samples that each kind of outcome is taken to have been met besides, as for `JudgedDecisions`.
_UNMET = 0.5
# Share of the draws below the upper end of an interval.
_UPPER = 0.5 * (1.0 + LEVEL)


def choices_by_score(
    store: ScoreStore, winner: TrialKey, metric: Metric, chooser: Chooser, costs: Callable[[], Costs], seed: int
) -> Again:
    """Rank by the winner, and by trials and thresholds chosen again on parts; see `RankedHeldOut`.

    ``costs()`` returns the costs of both errors.
    """
    sampled = Resampling(store, metric, keep=[winner], random_state=seed, chooser=chooser)
    units = sampled.units

    def ranked(place: int, cut: float) -> RankedHeldOut:
        score = -sampled.coded[place].codes.astype(float)

        def answers(review: Review, weight: Array) -> Array:
            bands = bands_of_score(review, score, units.truth, weight, costs(), -cut)
            return bands.decide_on(LabelledScores(AllowedAnswers.of_score(score), units.truth, weight))

        return rank_by_score(units, score, -cut, metric, answers=answers)

    def on_parts(counts: Array, first: int) -> Iterable[RankedHeldOut]:
        chosen = sampled.choose(counts, first)
        return map(ranked, chosen.places, chosen.cuts)

    place = sampled.keys.index(winner)
    cuts = np.flatnonzero(sampled.coded[place].thresholds == store[winner].threshold)
    return ranked(place, cuts[0] if cuts.size else 0), on_parts


def choices_by_costs(store: RowCostStore, odds: Array, extra: Costs, seed: int) -> Again:
    """Rank by the winner, and by trainings and decision rules chosen again on parts; see `RankedHeldOut`."""
    choice = RowCostChoice(store)

    def on_parts(counts: Array, first: int) -> Iterable[RankedHeldOut]:
        for held in counts.T.astype(np.int64):
            candidate = choice.choose(held)
            rule = choice.tuned(candidate, held)
            yield rank_by_costs(store, rule.log_odds(choice.score(candidate.key)) - rule.threshold, extra=rule.extra)

    return rank_by_costs(store, odds, extra=extra), on_parts


def expected(
    ranked: RankedHeldOut,
    acting: Callable[[RankedHeldOut, Array | None], Acting],
    assessment: Assessment,
    limits: Array,
) -> tuple[list[Assessment], Array]:
    """Assess acting on rows of new data at each limit, and the share of the attainable gain that it captures.

    ``acting(ranked, held)`` acts by the choice on entries of these weights, ``None`` for that of the winner. The
    optimism of the choice is the winner's value minus that of choices made on parts, judged on the entries left out.
    """

    def summed(part: RankedHeldOut, counts: Array) -> Array:
        held = part.store.weights_in(counts)
        return part.summed(acting(part, held), part.weight - held)

    def judge(counts: Array, first: int) -> Array:
        return np.stack([summed(part, held) for part, held in zip(on_parts(counts, first), counts.T)])

    assert ranked.again is not None, "a search ranked them"
    winner, on_parts = ranked.again(assessment.random_state)
    units = Units(winner.store.truth, None, winner.store.samples, winner.store.copies)
    # The share that is captured has no unit.
    at = int(winner.in_costs)
    left_out = judge_left_out(units, judge, lambda sums: winner.values(sums)[at, -1], assessment.random_state)
    added = winner.values(winner.summed(acting(winner, winner.weight), winner.weight))
    added -= winner.values(left_out.sums.sum(axis=(0, 1)))
    acted = acting(ranked, None)
    values, captured = ranked.values(ranked.summed(acted, ranked.weight)) - added
    values = np.clip(values, *assessment.value_range).tolist()
    errors = assessment.spread * ranked.errors(acted, limits, assessment.random_state)
    return [replace(assessment, corrected_score=value, errors=each) for value, each in zip(values, errors)], captured


def expected_within(ranked: RankedHeldOut, at_most: Array, assessment: Assessment) -> tuple[list[Assessment], Array]:
    """Assess acting on at most these shares of the rows, see `expected`."""
    # No limit comes last, where it decides how many partitions there are, as for the corrected score.
    limits, ranked = np.append(at_most, 1.0), ranked.take()[0]
    worth, captured = expected(ranked, lambda part, _: part.within(limits), assessment, limits)
    *within, unlimited = worth
    if ranked.in_costs:
        # The bias of a ratio of costs, which the corrected score is without, falls with what the decisions save.
        gains = unlimited.corrected_score > ROUNDING * assessment.value_range[1]
        factor = assessment.corrected_score / unlimited.corrected_score if gains else 1.0
        scores = [factor * each.corrected_score for each in within]
        gaps = ranked.values(ranked.summed(ranked.within(at_most), ranked.weight))[0] - scores
        parts = zip(within, scores, gaps)
        within = [replace(each, corrected_score=score, errors=reach(each.errors, gap)) for each, score, gap in parts]
    return within, captured[:-1]


def capacity_of(ranked: RankedHeldOut, at_most: float, assessment: Assessment) -> Capacity:
    """Assess acting on at most a share of the rows."""
    at = np.array([check_fraction(at_most, "at_most")])
    (worth,), (captured,) = expected_within(ranked, at, assessment)
    acted, (threshold,) = ranked.acted(ranked.weight, at)
    return Capacity(
        at_most=float(at_most),
        value=worth.corrected_score,
        interval=worth.score_interval,
        threshold=float(threshold),
        acted_on=float(min(at_most, acted[-1])),
        captured=float(captured),
    )


# ---------------------------------------------------------------- three answers


def codes_of(answers: Array) -> IntArray:
    """Return the places of answers in `ANSWERS`."""
    return np.select([answers == answer for answer in ANSWERS], range(len(ANSWERS)))


# Thresholds of a score that are tried in pairs.
_MOST_CUTS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewBands:
    """Rule of three answers: "negative" below a score, "positive" from another one on, "review" otherwise.

    Parameters
    ----------
    review : Review
        What a review costs.
    extra_cost : float, default=0.0
        What a place among the reviewed rows costs besides, where errors have costs in each row and reviews are limited.
    lower, upper : float
        "negative" is answered below the first score and "positive" from the second one on, where costs allow it.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers.
    """

    review: Review
    extra_cost: float = 0.0
    lower: float = np.inf
    upper: float = -np.inf
    guarantees: dict[str, Guarantee] = field(default_factory=dict)

    def decide(self, rows: AllowedAnswers) -> Array:
        """Choose the answer to each row."""
        up, down = rows.up & (rows.score >= self.upper), rows.down & (rows.score < self.lower)
        return np.select([up, down], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])

    def answers(self, rule: ThresholdRule, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Answer samples, of which some number at most, or those within a limit on wrong ones, may be "positive"."""
        if at_most is not None or wrong:
            return self.decide_within(rule, X, rule.limit_of_positives(at_most), wrong.get(1))
        return self.decide(rule.leaning(X, self.review, self.extra_cost))

    def decide_within(self, rule: ThresholdRule, X: Samples, at_most: object, wrong: AlertLimit | None = None) -> Array:
        """Answer with no more positives than limits allow; other rows get their next best answer.

        Reviews stay within their limit, or as many as there are without one on the positives; those stay that save
        most. A limit on wrong answers "negative" goes before it.
        """
        rows = rule.leaning(X, self.review, self.extra_cost)
        answers, n_rows = self.decide(rows), len(rows.score)
        limit = n_rows if self.review.at_most is None else check_capacity(self.review.at_most, n_rows)
        most = n_rows if at_most is None else check_capacity(at_most, n_rows)
        limits = {1: max(limit, int((answers == ANSWERS[1]).sum())), 2: most}
        low, sure = rows.score < self.lower, answers == ANSWERS[2]
        if isinstance(rule, RowCostRule):
            table, cost = rule.priced(rule.row_costs.table(X, **rule.given)), self.review.cost + self.extra_cost
            gains = -np.column_stack(table.expected_costs(expit(rows.score), cost, self.review.error))
            sure = rows.score >= self.upper if wrong is None else wrong.passing(rule.sureness(X, sure), most)
            barred = np.column_stack([~low, np.zeros(n_rows, dtype=bool), ~sure])
            return np.array(ANSWERS)[reviewed_within(gains, barred, codes_of(answers), limits, X, review=1)]
        sure = sure if wrong is None else wrong.passing(np.where(sure, rows.score, -np.inf), most)
        acted = best_rows(sure, rows.score, limits[2], X)
        rest = ~acted & (answers != ANSWERS[0])
        pays = rest & ((answers == ANSWERS[1]) | (self.lower < self.upper))
        chosen = best_rows(pays, rows.score, limits[1], X)
        if 0 in self.review.limits_on():
            chosen |= rest & ~low
        return np.select([acted, chosen], [ANSWERS[2], ANSWERS[1]], ANSWERS[0])

    def limited(
        self, held_out: LabelledScores, calibration: LabelledScores | None = None, confidence: float | None = None
    ) -> ReviewBands:
        """Narrow the bands to the limits on wrong answers: on held-out rows, or certified on calibration rows."""
        limits: dict[str, float] = {}
        guarantees: dict[str, Guarantee] = {}
        for at, limit in self.review.limits_on().items():
            answer = ANSWERS[::2][at]
            parts = [each.scored(self, answer) for each in (held_out, calibration) if each is not None]
            limits[answer], test = least_score(*parts, limit=limit, answer=answer, confidence=confidence)
            if test is not None:
                guarantees[answer] = test
        # "negative" is below a score: the next number after the largest one.
        lower = np.nextafter(-limits.get("negative", -np.inf), np.inf)
        upper = max(self.upper, limits.get("positive", -np.inf))
        return replace(self, lower=min(self.lower, float(lower)), upper=upper, guarantees=guarantees)

    def decide_on(self, known: LabelledScores) -> Array:
        """Answer rows by bands that keep the limits on wrong answers on these rows."""
        return self.limited(known).decide(known.rows)


def least_score(
    known: ScoredSamples,
    calibration: ScoredSamples | None = None,
    *,
    limit: float,
    answer: Label,
    confidence: float | None,
) -> tuple[float, Guarantee | None]:
    """Find the smallest score with which an answer is wrong in no more than a share of the rows that get it.

    Samples are the rows with the answer, positive where it is right. With calibration samples the limit is certified.
    """
    if not known.score.size or not known.is_pos.any():
        return np.inf, None
    metric = aim("recall", Constraint(Precision(), ">=", 1.0 - limit))
    if calibration is None or confidence is None:
        # A curve needs wrong answers too.
        cut = None if known.is_pos.all() else known.curve().best(metric)
        return (-np.inf if cut is None else cut.threshold if cut.feasible else np.inf), None
    test = replace(certify(known, metric, confidence, calibration), constraint=f"wrong answers {answer!r} <= {limit:g}")
    if not test.holds:
        warn(f"{test}; all rows that would have been answered {answer!r} are reviewed")
    return (test.threshold if test.holds else np.inf), test


@dataclass(frozen=True)
class LabelReviews:
    """Three answers for each of several labels: bands of each label, or those that all labels share."""

    bands: tuple[ReviewBands, ...]

    def answers(self, rule: Any, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Answer samples, with a column for each label; limits are by label."""
        limits = {} if at_most is None else places_limited(at_most, rule.label_names, "label")
        bands = self.bands * (len(rule.rules) // len(self.bands))
        columns = [
            one.answers(part, X, limits.get(at), of_positive(wrong, at))
            for at, (one, part) in enumerate(zip(bands, rule.rules))
        ]
        return np.column_stack(columns)


class LabelledScores(NamedTuple):
    """Rows with their true classes."""

    rows: AllowedAnswers
    truth: BoolArray
    weight: Array | None
    groups: IntArray | None = None
    repeats: float = 1.0

    @classmethod
    def of(cls, found: Any, bands: ReviewBands) -> Self:
        """Collect the held-out entries of a search."""
        rows, store = found.leaning(bands.review, bands.extra_cost), found.store
        return cls(rows, store.truth, store.weight, store.samples if store.has_groups else None, store.repeats)

    def scored(self, bands: ReviewBands, answer: str) -> ScoredSamples:
        """Select the rows with an answer, the right ones as positives, so that precision counts these."""
        own, sign = bands.decide(self.rows) == answer, 1.0 if answer == "positive" else -1.0
        own &= self.weight is None or self.weight > 0.0
        weight, groups = (None if each is None else each[own] for each in (self.weight, self.groups))
        right, score = self.truth[own] == (sign > 0.0), sign * self.rows.score[own]
        return ScoredSamples(right, score, weight, None, groups, self.repeats)


def bands_of_costs(review: Review, proba: Array, table: CostTable, weight: Array) -> ReviewBands:
    """Choose bands by the expected costs of each row; under a limit on reviews, keep those that save most."""
    negative, looked_at, positive = table.expected_costs(proba, review.cost, review.error)
    return ReviewBands(
        review=review, extra_cost=cost_of_place(review, np.minimum(negative, positive), looked_at, weight)
    )


def cost_of_place(review: Review, without: Array, looked_at: Array, weight: Array) -> float:
    """Compute what a place among the reviewed rows costs besides, from the costs of rows without and with a review."""
    if review.at_most is None:
        return np.inf if review.only_limits else 0.0
    saved = without - looked_at
    order = np.argsort(-saved, kind="stable")
    over = np.flatnonzero(np.cumsum(weight[order]) > review.at_most * weight.sum())
    if not over.size or saved[order[over[0]]] <= 0.0:
        return 0.0
    # A place costs what the first row would save that gets none; rounding gives it none either.
    first = order[over[0]]
    return float(saved[first] + TIE * without[first])


def bands_of_score(
    review: Review, score: Array, truth: BoolArray, weight: Array, costs: Costs, threshold: float
) -> ReviewBands:
    """Choose the two thresholds of a score that cost least on held-out rows; ``costs`` are those of both errors.

    Where no review pays, both are the ``threshold`` in use. Of many thresholds about a thousand are tried.
    """
    if review.only_limits:
        return ReviewBands(review=review, lower=threshold, upper=threshold)
    score, truth, weight = (each[weight > 0.0] for each in (score, truth, weight))
    distinct, at = np.unique(score, return_inverse=True)
    edges = np.concatenate([[-np.inf], midpoint(distinct[1:], distinct[:-1]), [np.inf]])
    tried = np.unique(np.linspace(0, distinct.size, _MOST_CUTS).round().astype(int))

    def before(values: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(np.bincount(at, values))])[tried]

    missed, alarms, looked_at = before(weight * truth * costs[0]), before(weight * ~truth * costs[1]), before(weight)
    paid = review.error * (missed + alarms) + review.cost * costs[1] * looked_at
    reviews = looked_at[None] - looked_at[:, None]
    # Of equal ones those with the fewest reviews.
    total = (missed - paid)[:, None] + (paid - alarms)[None] + TIE * max(costs) * reviews
    total[(reviews < 0.0) | (reviews > (review.at_most or 1.0) * looked_at[-1])] = np.inf
    first, last = edges[tried[list(np.unravel_index(np.argmin(total), total.shape))]].tolist()
    first, last = (threshold, threshold) if first == last else (first, last)
    return ReviewBands(review=review, lower=first, upper=last)


# ---------------------------------------------------------------- what it is worth


@dataclass(frozen=True)
class Reviewed:
    """Expected value of three answers on new data, from held-out scores.

    Parameters
    ----------
    value : float
        Value of the metric to expect on new data after the reviews; where errors have costs in each row with what the
        reviews cost.
    interval : tuple of float
        90 % interval of it.
    shares : dict of str to float
        Share of the rows that get each answer.
    wrong : dict of str to float
        Share of wrong answers among these; NaN where no row gets the answer.
    extra_cost : float
        With costs in each row what one more review would save: 0 where their limit leaves out none that pays, inf
        where rows are reviewed for the limits on wrong answers alone.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers, with ``confidence``.
    """

    value: float
    interval: tuple[float, float]
    shares: dict[str, float]
    wrong: dict[str, float]
    extra_cost: float
    guarantees: dict[str, Guarantee] = field(default_factory=dict)


def reviewed(bands: ReviewBands, answers: Array, ranked: RankedHeldOut, assessment: Assessment) -> Reviewed:
    """Assess the answers to held-out entries."""
    review, weight = bands.review, ranked.weight
    shown = {answer: weight * (answers == answer) for answer in ANSWERS}
    positive = _positives(review, answers, ranked)
    wrong = np.where(ranked.store.truth, 1.0 - positive, positive)
    ranked, at = ranked.take([codes_of(answers)])
    acted = _answering(review, ranked, answers[at])
    gained = _difference(ranked, acted, ranked.weight) - KEPT_OPTIMISM * _gain_of_choosing(review, ranked, assessment)
    value = float(np.clip(assessment.corrected_score + gained, *assessment.value_range))
    # Bands are chosen on these samples, also where the model was fitted to others.
    (errors,) = SPREAD * ranked.errors(acted, np.ones(1), assessment.random_state)
    worth = replace(assessment, corrected_score=value, errors=errors)
    return Reviewed(
        value=worth.corrected_score,
        interval=worth.score_interval,
        shares={answer: float(own.sum() / weight.sum()) for answer, own in shown.items()},
        wrong={answer: float(own @ wrong / own.sum()) if own.any() else np.nan for answer, own in shown.items()},
        extra_cost=bands.extra_cost,
        guarantees=bands.guarantees,
    )


# What a choice on two thirds of the samples gains by chance is so much of what one on all of them does.
KEPT_OPTIMISM = 2.0 / 3.0


def _answering(review: Review, part: RankedHeldOut, answers: Array) -> Acting:
    """Return the function that sums values by answers, less what reviews cost."""
    positive, looked_at = _positives(review, answers, part), answers == "review"

    def sums(values: Array, weight: Array, counted: Array) -> Array:
        paid = review.cost * (looked_at @ counted) if part.in_costs else 0.0
        return ((values * positive) @ counted - paid * (np.arange(len(values)) == 0))[:, None]

    return sums


def _difference(part: RankedHeldOut, acted: Acting, counted: Array) -> float:
    """Compute by how much answers are worth more than decisions without a review, on entries of these weights."""
    with_reviews, without = (part.values(part.summed(each, counted))[0, 0] for each in (acted, part.within(np.ones(1))))
    return float(with_reviews - without)


def _gain_of_choosing(review: Review, ranked: RankedHeldOut, assessment: Assessment) -> float:
    """Compute how much larger the gain of reviews is where their bands are chosen than on samples left out.

    The same bands are judged on both: others review another share of the rows.
    """
    assert ranked.again is not None, "a search ranked them"
    winner, on_parts = ranked.again(assessment.random_state)
    store, limits = winner.store, np.ones(1)
    units = Units(store.truth, None, store.samples, store.copies)

    def judge(counts: Array, first: int) -> Array:
        parts = []
        for part, held in zip(on_parts(counts, first), counts.T):
            inside = part.store.weights_in(held)
            acted = _answering(review, part, part.answers(review, inside)), part.within(limits)
            parts.append([part.summed(each, weight) for weight in (inside, part.weight - inside) for each in acted])
        return np.array(parts)

    def optimism(sums: Array) -> float:
        inside, plain_inside, outside, plain_outside = (winner.values(each)[0, 0] for each in sums)
        return float(inside - plain_inside - outside + plain_outside)

    return judge_left_out(units, judge, optimism, assessment.random_state).corrected_score


def _positives(review: Review, answers: Array, ranked: RankedHeldOut) -> Array:
    """Compute the probability that the final answer, after reviews, is "positive"."""
    by_review = np.where(ranked.store.truth, 1.0 - review.error, review.error)
    return np.where(answers == "review", by_review, answers == "positive")
