"""Limited capacity and reviews of several classes: which rows get which answer, and what that is worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray, Label, Samples
from csf.evaluate.assessment import SPREAD
from csf.evaluate.draws import judge_left_out
from csf.metrics.confusion import ConfusionMetric, CostMatrix
from csf.metrics.demands import ConstrainedClasses
from csf.thresholding.alerts import NO_LIMITS, AlertLimits, allowed_alerts
from csf.thresholding.batch import best_answers, check_capacity, limits_of, reviewed_within, with_lifted
from csf.thresholding.capacity import KEPT_OPTIMISM, NamedCapacities, Reviewed, cost_of_place, least_score
from csf.thresholding.certificates import Guarantee, ScoredSamples
from csf.thresholding.class_choice import TUNED, MulticlassChoice
from csf.thresholding.linear_rule import RuleRows, counts_of, tune_rule

if TYPE_CHECKING:
    from csf.evaluate import Assessment, Candidate
    from csf.metrics.constraints import Review
    from csf.thresholding.class_choice import MulticlassStore
    from csf.thresholding.linear_rule import MulticlassRule

REVIEW = "review"


class LabelledRows(NamedTuple):
    """Rows of a rule with their true classes, weights and groups."""

    rows: RuleRows
    truth: IntArray
    weight: Array
    groups: IntArray | None = None
    repeats: float = 1.0

    def answered(self, answers: IntArray, code: int) -> ScoredSamples:
        """Select the rows with an answer, the right ones as positives, with its probabilities as scores."""
        at = (answers == code) & (self.weight > 0.0)
        groups = None if self.groups is None else self.groups[at]
        return ScoredSamples(
            self.truth[at] == code, self.rows.proba[at, code], self.weight[at], None, groups, self.repeats
        )


# ---------------------------------------------------------------- a rule with reviews


def prices_of(metric: ConfusionMetric, known: LabelledRows) -> Array:
    """Compute what errors cost, (n_classes, n_classes), in units of the mean price of the errors that are made.

    Rows are true classes and columns answers. Prices are what a rule's decisions are worth, or the gradient of the
    metric at the value attained. Those of a cost matrix stay as they are.
    """
    rows, n_classes = known.rows, known.rows.proba.shape[1]
    counts = counts_of(known.truth, rows.codes, n_classes, known.weight)
    worth = metric.gradient(counts / counts.sum()) if rows.worth is None else rows.worth
    prices = np.diagonal(worth)[:, None] - worth
    base = metric.metric if isinstance(metric, ConstrainedClasses) else metric
    if isinstance(base, CostMatrix):
        return prices
    made = counts * ~np.eye(n_classes, dtype=bool)
    made = made if made.any() else ~np.eye(n_classes, dtype=bool) * 1.0
    mean = float((made * prices).sum() / made.sum())
    return prices / mean if mean > 0.0 else prices


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassReviews:
    """Rule of several classes and a review: a row is reviewed where that costs less on average than the rule's class.

    Parameters
    ----------
    review : Review
        What a review costs.
    names : sequence of label
        The classes.
    prices : ndarray of shape (n_classes, n_classes)
        What it costs to answer a class (columns) where another one is true (rows), see `prices_of`.
    least : ndarray of shape (n_classes,)
        Smallest probability with which each class is answered.
    extra_cost : float, default=0.0
        What a place among the reviewed rows costs besides, where reviews are limited.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers.
    """

    review: Review
    names: Sequence[Label]
    prices: Array
    least: Array
    extra_cost: float = 0.0
    guarantees: dict[str, Guarantee] = field(default_factory=dict)

    @classmethod
    def tuned(cls, review: Review, metric: ConfusionMetric, names: Sequence[Label], known: LabelledRows) -> Self:
        """Find the prices of errors, and what a place costs where reviews are limited, on held-out rows."""
        prices = prices_of(metric, known)
        reviews = cls(review=review, names=names, prices=prices, least=np.zeros(len(prices)))
        own, looked_at = reviews.costs(known.rows, known.rows.codes)
        return replace(reviews, extra_cost=cost_of_place(review, own, looked_at, known.weight))

    def limited(
        self, known: LabelledRows, calibration: LabelledRows | None = None, confidence: float | None = None
    ) -> ClassReviews:
        """Review more rows for the limits on wrong answers: on held-out rows, or certified on calibration rows."""
        least, guarantees = self.least.copy(), {}
        for at, limit in self.review.limits_on(self.names).items():
            parts = [each.answered(self.decide(each.rows), at) for each in (known, calibration) if each is not None]
            score, test = least_score(*parts, limit=limit, answer=self.names[at], confidence=confidence)
            least[at] = max(least[at], score)
            if test is not None:
                guarantees[str(self.names[at])] = test
        return replace(self, least=least, guarantees=guarantees)

    def costs(self, rows: RuleRows, codes: IntArray) -> tuple[Array, Array]:
        """Compute the expected costs of classes for rows, and of their reviews."""
        n_classes, review = len(self.prices), self.review
        own = np.take_along_axis(rows.proba @ self.prices, codes[:, None], axis=1)[:, 0]
        wrong = rows.proba @ (self.prices.sum(axis=1) / (n_classes - 1))
        return own, review.cost + self.extra_cost + review.error * wrong

    def _forced(self, rows: RuleRows, codes: IntArray) -> BoolArray:
        """Mark the rows that the limits on wrong answers send to a review."""
        return np.take_along_axis(rows.proba, codes[:, None], axis=1)[:, 0] < self.least[codes]

    def decide(self, rows: RuleRows) -> IntArray:
        """Return the codes of the answers; the number of classes stands for a review."""
        codes = rows.codes
        own, looked_at = self.costs(rows, codes)
        return np.where((looked_at < own) | self._forced(rows, codes), len(self.prices), codes)

    def answers(
        self, rule: MulticlassRule, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS
    ) -> Array:
        """Answer samples with a class or ``"review"``."""
        rows, n_classes = rule.rows(X), len(self.names)
        limits = limits_of({} if at_most is None else at_most, self.names, len(rows.proba))
        codes = self.decide(rows)
        if wrong:
            allowed = allowed_alerts(wrong, rows.proba, codes, limits)
            rows = rows._replace(scores=np.where(allowed, rows.scores, -np.inf))
            codes = np.where(codes == n_classes, codes, self.decide(rows))
        if limits:
            codes = self._within(rows, codes, limits, X)
        names = np.empty(n_classes + 1, dtype=object)
        names[:] = [*self.names, REVIEW]
        return names[codes]

    def _within(self, rows: RuleRows, codes: IntArray, limits: Mapping[int, int], X: Samples) -> IntArray:
        """Limit the numbers of rows of some classes; rows beyond get their next best class, or a review.

        The reviews stay within their limit, or as many as they are without one on classes. Limits on wrong answers go
        before both.
        """
        n_rows, n_classes = rows.proba.shape
        most = n_rows if self.review.at_most is None else check_capacity(self.review.at_most, n_rows)
        every = {**limits, n_classes: max(most, int((codes == n_classes).sum()))}
        barred = (rows.proba < self.least) | self._forced(rows, rows.codes)[:, None]
        barred = np.append(barred | ~np.isfinite(rows.scores), np.zeros((n_rows, 1), dtype=bool), axis=1)
        return reviewed_within(self._gains(rows, codes), barred, codes, every, X, review=n_classes)

    def _gains(self, rows: RuleRows, codes: IntArray) -> Array:
        """Compute what classes and a review gain, in one unit."""
        own, looked_at = self.costs(rows, rows.codes)
        if rows.worth is None:
            # Scores of a base that decides by itself are in no unit of costs. Its answers are not those of least
            # expected cost, and stay where no limit moves them.
            return with_lifted(-np.column_stack([rows.proba @ self.prices, looked_at]), codes, codes < len(self.prices))
        unit = np.max(np.diagonal(rows.worth)[:, None] - rows.worth) / self.prices.max()
        return np.column_stack([rows.scores, rows.scores.max(axis=1) + unit * (own - looked_at)])


# ---------------------------------------------------------------- what answers are worth


class ClassAnswers(ABC):
    """Answers to rows of several classes that are tuned again on parts."""

    @abstractmethod
    def given(self, known: LabelledRows, outside: Array) -> IntArray:
        """Answer rows, tuned on those with a weight, with limits for those of weight ``outside``."""

    def final(self, sums: Array) -> Array:
        """Convert sums by true class and answer to confusion matrices of the final answers."""
        return sums


@dataclass(frozen=True, eq=False)
class CapacityAnswers(ClassAnswers):
    """Answers of which some may go to no more than a share of the rows."""

    shares: Mapping[int, float]

    def given(self, known: LabelledRows, outside: Array) -> IntArray:
        """Give rows beyond a limit the answers that lose least."""
        limits = {at: share * outside.sum() for at, share in self.shares.items()}
        return best_answers(known.rows.scores, limits, weight=outside)


@dataclass(frozen=True, eq=False)
class ReviewAnswers(ClassAnswers):
    """Answers of a rule with reviews."""

    review: Review
    metric: ConfusionMetric
    names: Sequence[Label]

    def given(self, known: LabelledRows, outside: Array) -> IntArray:
        """Answer rows by prices and limits that are tuned again."""
        return ClassReviews.tuned(self.review, self.metric, self.names, known).limited(known).decide(known.rows)

    def final(self, sums: Array) -> Array:
        """Give reviewed rows their right class, but for the share of reviews that end in a wrong one."""
        n_classes, error = sums.shape[-1] - 1, self.review.error
        spread = np.full((n_classes, n_classes), error / (n_classes - 1))
        np.fill_diagonal(spread, 1.0 - error)
        return sums[..., :n_classes] + sums[..., n_classes:] * spread


class AnsweredChoice(MulticlassChoice):
    """Choice whose decisions are answers."""

    def __init__(self, store: MulticlassStore, metric: ConfusionMetric, answers: ClassAnswers, **options: Any) -> None:
        super().__init__(store, metric, **options)
        self.answers = answers

    @property
    def n_answers(self) -> int:
        """Number of answers: the classes, and a review where there is one."""
        return self.store.n_classes + isinstance(self.answers, ReviewAnswers)

    def final(self, sums: Array) -> Array:
        """Convert sums by true class and answer to confusion matrices."""
        return self.answers.final(sums)

    def rows(self, candidate: Candidate, weight: Array) -> LabelledRows:
        """Tune a candidate's rule on entries of these weights, and apply it to all of them."""
        proba, score = self._proba(candidate.key), self.store[candidate.key].score
        assert score is not None, "probabilities are made of it"
        rows = RuleRows(score[self.store.drawn[1]].astype(np.float64), proba)
        if candidate.rule == TUNED:
            rule = tune_rule(proba, self.units.truth, self.metric, weight=weight)
            rows = RuleRows(rule.scores(proba), proba, rule.worth)
        return LabelledRows(rows, self.units.truth, weight)

    def given(self, candidate: Candidate) -> IntArray:
        """Answer all entries after what is tuned on all of them."""
        weight = self.units.weights_in(self.units.copies)
        return self.answers.given(self.rows(candidate, weight), weight)

    def outside(self, candidate: Candidate, counts: Array) -> Array:
        """Tune rule and answers on samples with these counts; sum true classes by answers of all others."""
        units = self.units
        outside = units.weights_in(units.copies - counts)
        codes = self.answers.given(self.rows(candidate, units.weights_in(counts)), outside)
        return self.table(codes, outside)

    def table(self, codes: IntArray, weight: Array) -> Array:
        """Sum the weights of entries by true class and answer."""
        place = self.units.truth.astype(int) * self.n_answers + codes
        sums = np.bincount(place, weight, self.store.n_classes * self.n_answers)
        return sums.reshape(self.store.n_classes, self.n_answers)


def class_capacity(
    choice: AnsweredChoice, at_most: Mapping[Label, float], winner: Candidate, trained: bool
) -> NamedCapacities:
    """Assess limits on the shares of rows that get some classes; ``at_most`` are those of the answers, by name."""
    assert isinstance(choice.answers, CapacityAnswers), "made for one"
    worth = choice.assess(winner, trained=trained)
    confusion = choice.left_out.sums.sum(axis=(0, 1))
    acted, right = confusion.sum(axis=0) / confusion.sum(), np.diagonal(confusion) / confusion.sum(axis=1)
    scores = choice.rows(winner, choice.units.weights_in(choice.units.copies)).rows.scores
    codes, ordered = choice.given(winner), np.sort(scores, axis=1)
    own = np.take_along_axis(scores, codes[:, None], axis=1)[:, 0]
    margin = own - np.where(own == ordered[:, -1], ordered[:, -2], ordered[:, -1])
    places = dict(zip(at_most, choice.answers.shares))
    return NamedCapacities(
        worth.corrected_score,
        worth.score_interval,
        at_most=dict(at_most),
        threshold={name: float(margin[codes == at].min(initial=np.inf)) for name, at in places.items()},
        acted_on={name: float(acted[at]) for name, at in places.items()},
        captured={name: float(right[at]) for name, at in places.items()},
    )


def _gain_of_choosing(choice: AnsweredChoice) -> float:
    """Compute how much larger the gain of answers is where they are chosen than on samples left out.

    The same answers are judged on both: others review another share of the rows.
    """
    units, unit = choice.units, choice.unit

    def judge(counts: Array, first: int) -> Array:
        parts = []
        for held in counts.T.astype(np.int64):
            inside, outside = units.weights_in(held), units.weights_in(units.copies - held)
            known = choice.rows(choice.choose(held), inside)
            codes = choice.answers.given(known, outside), known.rows.codes
            parts.append([choice.table(each, weight) for weight in (inside, outside) for each in codes])
        return np.array(parts)

    def optimism(sums: Array) -> float:
        inside, plain_inside, outside, plain_outside = map(choice.value, sums)
        return (inside - plain_inside - outside + plain_outside) / unit

    return unit * judge_left_out(units, judge, optimism, choice.random_state).corrected_score


def class_reviewed(
    choice: AnsweredChoice, reviews: ClassReviews, winner: Candidate, assessment: Assessment
) -> Reviewed:
    """Assess a rule with reviews."""
    names, weight = [*map(str, reviews.names), REVIEW], choice.units.weights_in(choice.units.copies)
    rows = choice.rows(winner, weight).rows
    answers = reviews.decide(rows)
    gained = choice.value(choice.table(answers, weight)) - choice.value(choice.table(rows.codes, weight))
    value = assessment.corrected_score + gained - KEPT_OPTIMISM * _gain_of_choosing(choice)
    # Reviews are chosen on these samples, also where the model was fitted to others.
    worth = replace(assessment, corrected_score=float(value), errors=SPREAD * choice.errors(winner))
    right = np.append(np.diagonal(choice.table(answers, weight)), 0.0)
    total = np.bincount(answers, weight, len(names))
    wrong = np.divide(total - right, total, out=np.full(len(names), np.nan), where=total > 0.0)
    wrong[-1] = reviews.review.error if total[-1] else np.nan
    return Reviewed(
        value=worth.corrected_score,
        interval=worth.score_interval,
        shares=dict(zip(names, (total / total.sum()).tolist())),
        wrong=dict(zip(names, wrong.tolist())),
        extra_cost=reviews.extra_cost,
        guarantees=reviews.guarantees,
    )
