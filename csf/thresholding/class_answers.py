"""Limited capacity and reviews of several classes: which rows get which answer, and what that is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray, Label, Samples
from csf.metrics.confusion import ConfusionMetric, cost_matrix_of
from csf.thresholding.alerts import NO_LIMITS, AlertLimits, allowed_alerts
from csf.thresholding.batch import check_capacity, limits_of, named_answers, reviewed_within, with_lifted
from csf.thresholding.capacity import ReviewRule, cost_of_place
from csf.thresholding.class_choice import TUNED, MulticlassChoice
from csf.thresholding.evaluation import TunedAnswers
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.linear_rule import RuleRows, counts_of, tune_rule

if TYPE_CHECKING:
    from csf.evaluate import Candidate
    from csf.metrics.constraints import Review
    from csf.thresholding.linear_rule import MulticlassRule

REVIEW = "review"


class LabelledRows(NamedTuple):
    """Rows of a rule with their true classes, weights and groups."""

    rows: RuleRows
    truth: IntArray
    weight: Array
    groups: IntArray | None = None
    repeats: float = 1.0

    def answered(self, rule: ClassReviews, place: int) -> ScoredSamples:
        """Select the rows with an answer, the right ones as positives, with its probabilities as scores."""
        chosen = (rule.decide(self.rows) == place) & (self.weight > 0.0)
        groups = None if self.groups is None else self.groups[chosen]
        return ScoredSamples(
            self.truth[chosen] == place, self.rows.proba[chosen, place], self.weight[chosen], None, groups, self.repeats
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
    if cost_matrix_of(metric.unconstrained) is not None:
        return prices
    made = counts * ~np.eye(n_classes, dtype=bool)
    made = made if made.any() else ~np.eye(n_classes, dtype=bool) * 1.0
    mean = float((made * prices).sum() / made.sum())
    return prices / mean if mean > 0.0 else prices


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassReviews(ReviewRule):
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
    """

    prices: Array
    least: Array

    @classmethod
    def tuned(cls, review: Review, metric: ConfusionMetric, names: Sequence[Label], known: LabelledRows) -> Self:
        """Find the prices of errors, and what a place costs where reviews are limited, on held-out rows."""
        prices = prices_of(metric, known)
        reviews = cls(review=review, names=names, prices=prices, least=np.zeros(len(prices)))
        cost, looked_at = reviews.costs(known.rows, known.rows.codes)
        return replace(reviews, extra_cost=cost_of_place(review, cost, looked_at, known.weight))

    @property
    def wrong_limits(self) -> dict[int, float]:
        """Largest shares of wrong answers by class."""
        return self.review.limits_on(self.names)

    def with_least(self, least: Mapping[int, float]) -> Self:
        """Raise the smallest probabilities with which classes are answered."""
        return replace(self, least=np.array([max(p, least.get(code, p)) for code, p in enumerate(self.least)]))

    def costs(self, rows: RuleRows, codes: IntArray) -> tuple[Array, Array]:
        """Compute the expected costs of classes for rows, and of their reviews."""
        n_classes, review = len(self.prices), self.review
        cost = np.take_along_axis(rows.proba @ self.prices, codes[:, None], axis=1)[:, 0]
        wrong = rows.proba @ (self.prices.sum(axis=1) / (n_classes - 1))
        return cost, review.cost + self.extra_cost + review.error * wrong

    def _forced(self, rows: RuleRows, codes: IntArray) -> BoolArray:
        """Mark the rows that the limits on wrong answers send to a review."""
        return np.take_along_axis(rows.proba, codes[:, None], axis=1)[:, 0] < self.least[codes]

    def decide(self, rows: RuleRows) -> IntArray:
        """Return the codes of the answers; the number of classes stands for a review."""
        codes = rows.codes
        cost, looked_at = self.costs(rows, codes)
        return np.where((looked_at < cost) | self._forced(rows, codes), len(self.prices), codes)

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
        return named_answers(codes, [*self.names, REVIEW])

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
        cost, looked_at = self.costs(rows, rows.codes)
        if rows.worth is None:
            # Scores of a base that decides by itself are in no unit of costs. Its answers are not those of least
            # expected cost, and stay where no limit moves them.
            return with_lifted(-np.column_stack([rows.proba @ self.prices, looked_at]), codes, codes < len(self.prices))
        unit = np.max(np.diagonal(rows.worth)[:, None] - rows.worth) / self.prices.max()
        return np.column_stack([rows.scores, rows.scores.max(axis=1) + unit * (cost - looked_at)])


# ---------------------------------------------------------------- answers that are tuned again


class ClassAnswers(TunedAnswers):
    """Answers of a rule of several classes."""

    def __init__(self, known: LabelledRows, metric: ConfusionMetric, names: Sequence[Label]) -> None:
        self.known, self.metric, self.names = known, metric, names
        self.gains, self.codes = known.rows.scores, known.rows.codes

    def reviewed(self, review: Review, weight: Array) -> IntArray:
        """Answer by prices and limits that are tuned on entries of these weights."""
        known = self.known._replace(weight=weight)
        return ClassReviews.tuned(review, self.metric, self.names, known).limited(known).decide(known.rows)


class ClassCandidates:
    """Trials and rules of a search of several classes, chosen again on parts."""

    def __init__(self, choice: MulticlassChoice, names: Sequence[Label]) -> None:
        self.choice, self.names, self.units = choice, names, choice.units
        self.weights_in = self.units.weights_in

    def answers(self, candidate: Candidate, weight: Array) -> ClassAnswers:
        """Tune a candidate's rule on entries of these weights, and answer all of them."""
        choice, truth = self.choice, self.units.truth
        proba, score = choice.probabilities(candidate.key), choice.store[candidate.key].score
        assert score is not None, "probabilities are made of it"
        rows = RuleRows(score[choice.store.drawn[1]].astype(np.float64), proba)
        if candidate.rule == TUNED:
            rule = tune_rule(proba, truth, choice.metric, weight=weight)
            rows = RuleRows(rule.scores(proba), proba, rule.worth)
        return ClassAnswers(LabelledRows(rows, truth, weight), choice.metric, self.names)

    def on_parts(self, counts: Array, first: int) -> Iterable[ClassAnswers]:
        """Choose trials and rules on parts, see `csf.thresholding.evaluation.Candidates`."""
        for held in counts.T.astype(np.int64):
            yield self.answers(self.choice.choose(held), self.weights_in(held))
