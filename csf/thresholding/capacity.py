"""Limited capacity and three answers: which rows to act on, or to review, and what that is worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from scipy.special import expit

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Costs, IntArray, Label, Samples
from csf.data.responses import TIE, midpoint
from csf.evaluate import Assessment, Resampling
from csf.evaluate.resampling import EntryResampling
from csf.metrics.binary import Precision
from csf.metrics.constraints import ANSWERS, Constraint, Review
from csf.metrics.registry import aim
from csf.thresholding.alerts import NO_LIMITS, AlertLimit, AlertLimits, of_positive
from csf.thresholding.batch import (
    best_rows,
    check_capacity,
    named_answers,
    places_limited,
    reviewed_within,
    with_lifted,
)
from csf.thresholding.certificates import Guarantee, certify
from csf.thresholding.cost_decisions import CostDecision
from csf.thresholding.evaluation import GivenAnswers, TunedAnswers
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.row_costs import RowCostChoice, RowCostRule, RowCostStore
from csf.thresholding.rule import AllowedAnswers, ThresholdRule

if TYPE_CHECKING:
    from csf.evaluate import ScoreRow
    from csf.metrics.row_costs import CostTable


# ---------------------------------------------------------------- limited capacity


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


# ---------------------------------------------------------------- answers that are tuned again


# Answer of a wrong class to a sample of several classes beside a null class.
LOST = 2


def merged_lost(tables: Array) -> Array:
    """Count answers of a wrong class as missed, or of the null class as false alarms, in tables (..., 2, 3)."""
    merged = np.array(tables[..., :2])
    merged[..., 0, 1] += tables[..., 0, LOST]
    merged[..., 1, 0] += tables[..., 1, LOST]
    return merged


class RankedAnswers(TunedAnswers):
    """Answers "positive" down to the ``least`` rank that pays, else "negative"."""

    def __init__(self, rank: Array, least: float) -> None:
        self.rank, self.least = rank, least
        self.codes = (rank >= least).astype(np.int64)
        self.gains = np.column_stack([np.full(rank.size, least), rank])

    def margin(self, answer: int) -> tuple[IntArray, Array]:
        """Return the other answer to each entry, and the rank, which says where an answer is kept."""
        return np.full(self.rank.size, 1 - answer), self.rank if answer else -self.rank

    def border(self, answer: int, given: GivenAnswers) -> float:
        """Return the smallest rank that is acted on; the least that pays, where no limit leaves any out."""
        kept = given.gets(answer)
        return float(self.rank[kept].min(initial=np.inf)) if (given.share < 1.0).any() else self.least


class ScoreAnswers(RankedAnswers):
    """Answers by a score with a threshold; ``costs()`` returns the costs of both errors.

    Where ``lost`` marks entries of several classes beside a null class that are taken for the wrong one, answers to
    these are a further one, `LOST`.
    """

    def __init__(
        self,
        score: Array,
        threshold: float,
        truth: BoolArray,
        costs: Callable[[], Costs],
        lost: BoolArray | None = None,
    ) -> None:
        super().__init__(score, threshold)
        self.truth, self.costs, self.lost = truth, costs, lost

    def within(self, limits: Mapping[int, float], weight: Array) -> GivenAnswers:
        """Answer within limits, which count answers of a wrong class too."""
        given = super().within(limits, weight)
        return given if self.lost is None else given.marked(self._marked)

    def _marked(self, codes: IntArray) -> IntArray:
        return np.where((codes == 1) & self.lost, LOST, codes)

    def with_reviews(self, bands: ReviewBands, rows: AllowedAnswers) -> IntArray:
        """Answer by bands; a review has the number of answers."""
        codes = answer_codes(bands.decide(rows))
        return codes if self.lost is None else np.where(codes == 2, LOST + 1, self._marked(codes))

    def reviewed(self, review: Review, weight: Array) -> IntArray:
        """Answer with reviews between two thresholds that cost least on entries of these weights."""
        rows = AllowedAnswers.of_score(self.rank)
        bands = bands_of_score(review, self.rank, self.truth, weight, self.costs(), self.least, self.lost)
        return self.with_reviews(bands.limited(LabelledScores(rows, self.truth, weight, lost=self.lost)), rows)


class CostAnswers(RankedAnswers):
    """Answers to the entries of a store by a decision on their scores and costs."""

    def __init__(self, store: RowCostStore, score: Array, decision: CostDecision) -> None:
        super().__init__(*decision.ranks(score, store.table))
        self.store, self.score, self.decision = store, score, decision

    def reviewed(self, review: Review, weight: Array) -> IntArray:
        """Answer with reviews where they cost less on average, tuned on entries of these weights."""
        rows = self.score, self.store.table
        bands = bands_of_costs(review, self.decision, *rows, weight)
        known = LabelledScores(self.decision.allowed_answers(*rows, review, bands.extra_cost), self.store.truth, weight)
        return answer_codes(bands.limited(known).decide(known.rows))


class ScoreCandidates:
    """Trials and thresholds of a search, chosen again on parts; see `ScoreAnswers` for ``costs``."""

    def __init__(self, sampled: Resampling, costs: Callable[[], Costs]) -> None:
        self.sampled, self.costs, self.units = sampled, costs, sampled.units
        self.weights_in = self.units.weights_in

    def on_parts(self, counts: Array, first: int) -> Iterable[ScoreAnswers]:
        """Choose trials and thresholds on parts, see `csf.thresholding.evaluation.Candidates`."""
        for score, threshold in self.sampled.on_parts(counts, first):
            yield ScoreAnswers(score, threshold, self.units.is_pos, self.costs)


A = TypeVar("A", bound=TunedAnswers)


class NullClassCandidates(Generic[A]):
    """Trials and thresholds of a search of several classes beside a null class, chosen again on parts.

    ``answers`` returns those to all entries by the scores of a trial and a threshold.
    """

    def __init__(self, sampled: EntryResampling, answers: Callable[[ScoreRow, float], A]) -> None:
        self.sampled, self.answers, self.units = sampled, answers, sampled.units
        self.weights_in = self.units.weights_in

    def on_parts(self, counts: Array, first: int) -> Iterable[A]:
        """Choose trials and thresholds on parts, see `csf.thresholding.evaluation.Candidates`."""
        for row, threshold in self.sampled.rows_on_parts(counts, first):
            yield self.answers(row, threshold)


class CostCandidates:
    """Trainings and decision rules of a search for costs of rows, chosen again on parts."""

    def __init__(self, choice: RowCostChoice) -> None:
        self.choice, self.units, self.weights_in = choice, choice.units, choice.store.weights_in

    def on_parts(self, counts: Array, first: int) -> Iterable[CostAnswers]:
        """Choose trainings and rules on parts, see `csf.thresholding.evaluation.Candidates`."""
        choice = self.choice
        for held in counts.T.astype(np.int64):
            candidate = choice.choose(held)
            yield CostAnswers(choice.store, choice.score(candidate.key), choice.tuned(candidate, held))


# ---------------------------------------------------------------- three answers


def codes_of(answers: Array) -> IntArray:
    """Return the places of answers in `ANSWERS`."""
    return np.select([answers == answer for answer in ANSWERS], range(len(ANSWERS)))


# Codes of `ANSWERS`: a review is the answer after both classes.
_ANSWER_CODES = np.array([0, 2, 1])


def answer_codes(answers: Array) -> IntArray:
    """Return 0 for "negative", 1 for "positive" and 2 for a review."""
    return _ANSWER_CODES[codes_of(answers)]


# Thresholds of a score that are tried in pairs.
_MOST_CUTS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewRule(ABC):
    """Rule of answers with reviews, which keeps limits on wrong answers.

    Parameters
    ----------
    review : Review
        What a review costs.
    names : sequence of label
        Labels that the answers without a review stand for.
    extra_cost : float, default=0.0
        What a place among the reviewed rows costs besides, where reviews are limited.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers, by label.
    """

    review: Review
    names: Sequence[Label] = ANSWERS[::2]
    extra_cost: float = 0.0
    guarantees: dict[str, Guarantee] = field(default_factory=dict)

    @property
    @abstractmethod
    def wrong_limits(self) -> dict[int, float]:
        """Largest shares of wrong answers, by the places of their names."""

    @abstractmethod
    def with_least(self, least: Mapping[int, float]) -> Self:
        """Review also the rows whose scores of some answers are below the ``least`` ones."""

    def limited(
        self, held_out: AnsweredRows, calibration: AnsweredRows | None = None, confidence: float | None = None
    ) -> Self:
        """Review more rows for the limits on wrong answers: on held-out rows, or certified on calibration rows."""
        least: dict[int, float] = {}
        guarantees: dict[str, Guarantee] = {}
        for place, limit in self.wrong_limits.items():
            parts = [rows.answered(self, place) for rows in (held_out, calibration) if rows is not None]
            least[place], test = least_score(*parts, limit=limit, answer=self.names[place], confidence=confidence)
            if test is not None:
                guarantees[str(self.names[place])] = test
        return replace(self.with_least(least), guarantees=guarantees)


class AnsweredRows(Protocol):
    """Rows with their true classes."""

    def answered(self, rule: Any, place: int) -> ScoredSamples:
        """Select the rows with an answer, the right ones as positives, by the scores that limits compare."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class ReviewBands(ReviewRule):
    """Rule of three answers: "negative" below a score, "positive" from another one on, "review" otherwise.

    `answers` gives the labels that the first two stand for.

    Parameters
    ----------
    review : Review
        What a review costs.
    extra_cost : float, default=0.0
        What a place among the reviewed rows costs besides, where errors have costs in each row and reviews are limited.
    lower, upper : float
        "negative" is answered below the first score and "positive" from the second one on, where costs allow it.
    names : sequence of label
        The negative and the positive label.
    """

    lower: float = np.inf
    upper: float = -np.inf

    def decide(self, rows: AllowedAnswers) -> Array:
        """Choose the answer to each row."""
        up, down = rows.up & (rows.score >= self.upper), rows.down & (rows.score < self.lower)
        return np.select([up, down], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])

    def answers(self, rule: ThresholdRule, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Answer samples with labels, of which some number, or those within a limit on wrong ones, may be positive."""
        if at_most is not None or wrong:
            rule.check_limits()
            answers = self.decide_within(rule, X, rule.limit_of_positives(at_most), wrong.get(1))
        else:
            answers = self.decide(rule.allowed_answers(X, self.review, self.extra_cost))
        codes = answer_codes(answers)
        return rule.with_classes(X, named_answers(codes, [*self.names, ANSWERS[1]]), codes == 1)

    def decide_within(self, rule: ThresholdRule, X: Samples, at_most: object, wrong: AlertLimit | None = None) -> Array:
        """Answer with no more positives than limits allow; other rows get their next best answer.

        Reviews stay within their limit, or as many as there are without one on the positives; those stay that save
        most. A limit on wrong answers "negative" goes before it.
        """
        rows = rule.allowed_answers(X, self.review, self.extra_cost)
        answers, n_rows = self.decide(rows), len(rows.score)
        limit = n_rows if self.review.at_most is None else check_capacity(self.review.at_most, n_rows)
        most = n_rows if at_most is None else check_capacity(at_most, n_rows)
        limits = {1: max(limit, int((answers == ANSWERS[1]).sum())), 2: most}
        low, sure = rows.score < self.lower, answers == ANSWERS[2]
        if isinstance(rule, RowCostRule):
            table, cost = rule.decision.priced(rule.table(X)), self.review.cost + self.extra_cost
            gains = -np.column_stack(table.expected_costs(expit(rows.score), cost, self.review.error))
            codes = codes_of(answers)
            if rule.decision.is_constant:
                # The answer to all rows is not that of least expected cost, and stays where no limit moves it.
                gains = with_lifted(gains, codes, codes != 1)
            sure = rows.score >= self.upper if wrong is None else wrong.passing(rule.sureness(X, sure), most)
            barred = np.column_stack([~low, np.zeros(n_rows, dtype=bool), ~sure])
            return np.array(ANSWERS)[reviewed_within(gains, barred, codes, limits, X, review=1)]
        sure = sure if wrong is None else wrong.passing(np.where(sure, rows.score, -np.inf), most)
        acted = best_rows(sure, rows.score, limits[2], X)
        rest = ~acted & (answers != ANSWERS[0])
        pays = rest & ((answers == ANSWERS[1]) | (self.lower < self.upper))
        chosen = best_rows(pays, rows.score, limits[1], X)
        if 0 in self.review.limits_on():
            chosen |= rest & ~low
        return np.select([acted, chosen], [ANSWERS[2], ANSWERS[1]], ANSWERS[0])

    @property
    def wrong_limits(self) -> dict[int, float]:
        """Largest shares of wrong answers of "negative", 0, and of "positive", 1."""
        return self.review.limits_on()

    def with_least(self, least: Mapping[int, float]) -> Self:
        """Narrow the bands of answers."""
        # "negative" is below a score: the next number after the largest one, where there is one.
        largest = -least.get(0, -np.inf)
        lower = float(np.nextafter(largest, np.inf)) if np.isfinite(largest) else largest
        return replace(self, lower=min(self.lower, lower), upper=max(self.upper, least.get(1, -np.inf)))


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
    test = replace(certify(calibration, metric, confidence, known), constraint=f"wrong answers {answer!r} <= {limit:g}")
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
            one.answers(part, X, limits.get(label), of_positive(wrong, label))
            for label, (one, part) in enumerate(zip(bands, rule.rules))
        ]
        return np.column_stack(columns)


class LabelledScores(NamedTuple):
    """Rows with their true classes."""

    rows: AllowedAnswers
    truth: BoolArray
    weight: Array | None
    groups: IntArray | None = None
    repeats: float = 1.0
    # Which ones are taken for a wrong class, of several beside a null class.
    lost: BoolArray | None = None

    @classmethod
    def of(cls, result: Any, bands: ReviewBands) -> Self:
        """Collect the held-out entries of a search."""
        rows, store = result.allowed_answers(bands.review, bands.extra_cost), result.store
        groups = store.samples if store.has_groups else None
        return cls(rows, store.truth, store.weight, groups, store.repeats, result.lost)

    def answered(self, rule: ReviewBands, place: int) -> ScoredSamples:
        """Select the rows with an answer, the right ones as positives, so that precision counts these."""
        chosen, sign = rule.decide(self.rows) == ANSWERS[::2][place], 1.0 if place else -1.0
        chosen &= self.weight is None or self.weight > 0.0
        weight, groups = (None if values is None else values[chosen] for values in (self.weight, self.groups))
        right = self.truth == (sign > 0.0)
        right = (right if self.lost is None else right & ~self.lost)[chosen]
        score = sign * self.rows.score[chosen]
        return ScoredSamples(right, score, weight, None, groups, self.repeats)


def bands_of_costs(
    review: Review, decision: CostDecision, score: Array, table: CostTable, weight: Array
) -> ReviewBands:
    """Choose bands by the expected costs of each row; under a limit on reviews, keep those that save most."""
    _, cost, looked_at = decision.with_review(score, table, review.cost, review.error)
    return ReviewBands(review=review, extra_cost=cost_of_place(review, cost, looked_at, weight))


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
    review: Review,
    score: Array,
    truth: BoolArray,
    weight: Array,
    costs: Costs,
    threshold: float,
    lost: BoolArray | None = None,
) -> ReviewBands:
    """Choose the two thresholds of a score that cost least on held-out rows; ``costs`` are those of both errors.

    ``lost`` rows are missed without a review, whatever their score. Where no review pays, both thresholds are the one
    in use. Of many thresholds about a thousand are tried.
    """
    if review.only_limits:
        return ReviewBands(review=review, lower=threshold, upper=threshold)
    lost = np.zeros(truth.size, dtype=bool) if lost is None else lost
    score, truth, weight, lost = (values[weight > 0.0] for values in (score, truth, weight, lost))
    distinct, places = np.unique(score, return_inverse=True)
    edges = np.concatenate([[-np.inf], midpoint(distinct[1:], distinct[:-1]), [np.inf]])
    tried = np.unique(np.linspace(0, distinct.size, _MOST_CUTS).round().astype(int))

    def before(values: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(np.bincount(places, values))])[tried]

    missed, alarms, looked_at = before(weight * truth * costs[0]), before(weight * ~truth * costs[1]), before(weight)
    # What acting costs: false alarms, and alarms of a wrong class.
    acted = alarms + before(weight * lost * costs[0])
    paid = review.error * (missed + alarms) + review.cost * costs[1] * looked_at
    reviews = looked_at[None] - looked_at[:, None]
    # Of equal ones those with the fewest reviews.
    total = (missed - paid)[:, None] + (paid - acted)[None] + TIE * max(costs) * reviews
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
        Share of the rows that get each answer, by label as a text, and ``"review"``.
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

    @classmethod
    def of(cls, worth: Assessment, bands: Any, names: Sequence[str], totals: Array, right: Array) -> Self:
        """Describe answers by what they are worth, and by the weights of all and of right ones, reviews last."""
        right = np.append(right, (1.0 - bands.review.error) * totals[-1])
        wrong = np.divide(totals - right, totals, out=np.full(totals.size, np.nan), where=totals > 0.0)
        return cls(
            value=worth.corrected_score,
            interval=worth.score_interval,
            shares=dict(zip(names, (totals / totals.sum()).tolist())),
            wrong=dict(zip(names, wrong.tolist())),
            extra_cost=bands.extra_cost,
            guarantees=bands.guarantees,
        )
