"""Decisions by the costs of each row: log-odds against the costs of both errors, and how they are tuned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.data.responses import LARGEST_LOG_ODDS
from csf.metrics.constraints import Review
from csf.metrics.row_costs import CostTable, RowCosts
from csf.thresholding.curve import ThresholdCurve, ValuedCurve, sweep
from csf.thresholding.linear_rule import Sigmoid
from csf.thresholding.rule import AllowedAnswers

# Log-odds beyond which sums of them are not taken; trees give probabilities of 0 and 1.
FARTHEST = 40.0
# Part of a sum that rounding may leave of 0.
NOISE = 1e-9
# Digits of sums that count: costs in another unit, or rows in another order, move the others.
DIGITS = 9


def unweighted(score: Array, shift: Array, power: float) -> Array:
    """Remove from log-odds the shift of a training that weighted rows by a power of their costs."""
    return score - power * np.where(np.isfinite(shift), shift, 0.0) if power else score


# ---------------------------------------------------------------- the decision


@dataclass(frozen=True, eq=False)
class CostDecision:
    """Decision rule of rows: log-odds, calibrated or not, plus log(gain / loss), against a threshold.

    Parameters
    ----------
    kind : {"plain", "sigmoid", "swept", "negative", "positive"}
        What was tuned; the last two are the same answer to all rows but those that their costs decide.
    threshold : float, default=0.0
        Threshold of the sum; 0 is least expected cost.
    slope, intercept : float, default=1.0 and 0.0
        ``slope * score + intercept`` are the log-odds of the class. Without a sigmoid the intercept is for another
        share of positives than that of the training. Those of the same answer to all rows rank rows where that answer
        is limited, or a review is cheaper.
    farthest : float, default=40.0
        A sigmoid takes scores beyond it for it.
    extra : tuple of float, default=(0.0, 0.0)
        What a false negative and a false positive cost besides in each row, for a constraint.
    by_segment : tuple of tuple of float, default=()
        The same for the rows of each segment, for a constraint by segments.
    """

    kind: str = "plain"
    threshold: float = 0.0
    slope: float = 1.0
    intercept: float = 0.0
    farthest: float = FARTHEST
    extra: Costs = (0.0, 0.0)
    by_segment: tuple[Costs, ...] = ()

    def priced(self, table: CostTable) -> CostTable:
        """Add to the costs of rows what errors cost besides."""
        return table.plus(*(np.array(self.by_segment)[table.segment].T if self.by_segment else self.extra))

    def without_prices(self) -> CostDecision:
        """Return the decision as it is without a constraint."""
        return replace(self, extra=(0.0, 0.0), by_segment=())

    def of_odds(self) -> CostDecision:
        """Return the decision about log-odds by which answers gain, see `odds`."""
        return CostDecision(extra=self.extra, by_segment=self.by_segment)

    def log_odds(self, score: Array) -> Array:
        """Compute the log-odds of the positive class."""
        if not self.is_calibrated:
            return score + self.intercept
        return self.slope * np.clip(score, -self.farthest, self.farthest) + self.intercept

    @property
    def is_calibrated(self) -> bool:
        """True where a sigmoid makes log-odds of scores."""
        return self.kind not in ("plain", "swept")

    @property
    def is_constant(self) -> bool:
        """True for the same answer to all rows but those that their costs decide."""
        return self.kind in ("negative", "positive")

    def odds(self, score: Array) -> Array:
        """Compute the log-odds by which answers gain: those beyond the threshold, unless it is one for all rows."""
        return self.log_odds(score) - (0.0 if self.is_constant else self.threshold)

    def ranks(self, score: Array, table: CostTable) -> tuple[Array, float]:
        """Compute the expected gain of the answer "positive" to each row, and the least one that is acted on."""
        gain = self.priced(table).expected_gain(expit(self.odds(score)))
        if not self.is_constant:
            return gain, 0.0
        acts = self.decide(score, table)
        return np.where(acts, gain, -np.inf), float(gain[acts].min(initial=np.inf))

    def scores(self, score: Array, table: CostTable) -> Array:
        """Compute the scores to threshold of rows with these costs; those that costs decide are at +inf and -inf."""
        priced = self.priced(table)
        shift, turned = priced.shift, priced is not table and priced.turned
        finite = np.isfinite(shift)
        total = self.log_odds(score) + np.where(finite, shift, 0.0)
        # The less likely such a row is positive, the more that answer saves.
        total = np.where(turned, self.threshold - total, total)
        total = np.round(np.clip(total, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS), DIGITS)
        return np.where(finite, total + np.where(turned, self.threshold, 0.0), shift)

    def decide(self, score: Array, table: CostTable) -> BoolArray:
        """Mark the rows that are answered "positive"."""
        return self.scores(score, table) >= self.threshold

    def with_review(self, score: Array, table: CostTable, cost: float, error: float) -> tuple[BoolArray, Array, Array]:
        """Mark the rows answered "positive"; compute what answers to rows, and reviews of them, cost on average."""
        priced = self.priced(table)
        negative, looked_at, positive = priced.expected_costs(expit(self.odds(score)), cost, error)
        # Where both answers cost the same it is "negative", as without reviews.
        acts = (positive <= negative) & (priced.shift > -np.inf)
        acts = self.decide(score, table) if self.is_constant else acts
        return acts, np.where(acts, positive, negative), looked_at

    def allowed_answers(self, score: Array, table: CostTable, review: Review, extra_cost: float) -> AllowedAnswers:
        """Find which answers to rows cost no more on average than a review."""
        acts, answered, looked_at = self.with_review(score, table, review.cost + extra_cost, review.error)
        odds = np.clip(self.odds(score), -FARTHEST, FARTHEST)
        return AllowedAnswers(~acts & (answered <= looked_at), acts & (answered <= looked_at), odds)


class LabelledCosts(NamedTuple):
    """Rows with their log-odds, classes, costs and weights."""

    score: Array
    is_pos: BoolArray
    table: CostTable
    weight: Array

    def take(self, rows: IntArray) -> LabelledCosts:
        """Select some of the rows."""
        return LabelledCosts(self.score[rows], self.is_pos[rows], self.table.take(rows), self.weight[rows])

    @property
    def counted(self) -> LabelledCosts:
        """Rows with a weight above 0."""
        return self.take(np.flatnonzero(self.weight > 0.0))


# Thresholds that are not tuned: no sum reaches the second one, and each one the last.
CONSTANT = {"plain": 0.0, "negative": 2.0 * LARGEST_LOG_ODDS, "positive": -2.0 * LARGEST_LOG_ODDS}


def tune(
    kind: str,
    score: Array,
    is_pos: BoolArray,
    table: CostTable,
    weight: Array,
    farthest: float = FARTHEST,
    prior: float = 0.0,
) -> CostDecision:
    """Tune the rule on rows that the model has not been trained on; rows of weight 0 do not count.

    ``prior`` is by what log-odds are larger than where the model was trained.
    """
    if kind == "plain":
        return CostDecision(kind, intercept=prior)
    if kind == "swept":
        plain = CostDecision(intercept=prior)
        cut = best_cut(plain.scores(score, table), is_pos, table, weight)
        return replace(plain, kind=kind, threshold=float(np.clip(cut, CONSTANT["positive"], CONSTANT["negative"])))
    used = weight > 0.0
    sigmoid = Sigmoid().fit(np.clip(score[used], -farthest, farthest), is_pos[used], weight[used])
    if sigmoid.slope_ > 0.0:
        return CostDecision(kind, CONSTANT.get(kind, 0.0), sigmoid.slope_, sigmoid.intercept_, farthest)
    # Scores say nothing, so that all rows have the share of positives.
    share = np.clip(np.average(is_pos, weights=weight), NOISE, 1.0 - NOISE)
    return CostDecision(kind, CONSTANT.get(kind, 0.0), 0.0, float(logit(share)), farthest)


def cost_curve(score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None = None) -> ThresholdCurve:
    """Compute the curve of a score with rows weighted by the cost of the wrong answer.

    Errors are answers that are not the cheaper one: their shares, times the sum of all weights, are what decisions cost
    beyond the cheaper answers to all rows.
    """
    stakes = table.stakes(is_pos)
    return sweep(stakes < 0.0, score, np.abs(stakes) * (1.0 if weight is None else weight))


def valued_curve(
    costs: RowCosts, score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None = None
) -> ValuedCurve:
    """Compute `cost_curve` with the value of the decisions at each threshold, and the curve of uncosted rows."""
    curve, counted = cost_curve(score, is_pos, table, weight), sweep(is_pos, score, weight)
    weights = np.ones(is_pos.size) if weight is None else weight
    negative, positive = table.answers(is_pos)
    paid = weights @ np.minimum(negative, positive) + (curve.fn + curve.fp) * (weights @ np.abs(table.stakes(is_pos)))
    values = np.asarray(costs.value(paid, weights @ negative, weights @ positive, weights.sum()))
    return ValuedCurve(curve.lowest_score, curve.fn, curve.fp, curve.pos, values, counted)


def best_cut(score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None = None) -> float:
    """Find the threshold of least cost; the largest of equal ones, and where no row has a cost at stake."""
    at_stake = table.stakes(is_pos) * (1.0 if weight is None else weight)
    return cost_curve(score, is_pos, table, weight).fewest_errors() if at_stake.any() else np.inf


def alert_scores(log_odds: Array, alerts: BoolArray) -> Array:
    """Compute the scores that limits on wrong alerts compare: rows that get another answer are below all others."""
    return np.where(alerts, log_odds, -np.inf)
