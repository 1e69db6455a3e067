"""Decisions by the costs of each row: log-odds of a classifier against what both errors cost there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from csf._common.messages import warn
from csf._common.sklearn import clone, last_step
from csf._common.typing import Array, BoolArray, Estimator, Samples
from csf.data.responses import response_method
from csf.metrics.review import Review
from csf.metrics.row_costs import CostTable, RowCosts
from csf.thresholds.curve import ThresholdCurve, sweep
from csf.thresholds.linear_rule import Sigmoid
from csf.thresholds.rule import Leaning, ThresholdRule

# Log-odds beyond which sums of them are not taken; trees give probabilities of 0 and 1.
FARTHEST = 40.0


def log_odds(score: Array, method: str | None) -> Array:
    """Log-odds of probabilities; other scores as they are."""
    score = np.asarray(score, dtype=np.float64)
    return logit(np.clip(score, 0.0, 1.0)) if method == "predict_proba" else score


def unweighted(score: Array, shift: Array, power: float) -> Array:
    """Log-odds without what a training added that weighed rows by a power of what they cost."""
    return score - power * np.where(np.isfinite(shift), shift, 0.0) if power else score


def gives_log_odds(base: Estimator) -> bool:
    """Whether the scores of a base are probabilities, or a decision that is their logit.

    A decision function beside probabilities may be their logit (logistic regression, boosting) or not (SVC):
    the last step, trained on a few rows, shows it.
    """
    if response_method(base) != "decision_function":
        return True
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]
    try:
        model = clone(last_step(base)[1]).fit(X, y)
        return bool(np.allclose(expit(model.decision_function(X)), model.predict_proba(X)[:, 1], atol=1e-6))
    except Exception:  # it has no probabilities, or needs other samples; a calibration of margins serves log-odds too
        return False


# ---------------------------------------------------------------- the decision


@dataclass(frozen=True, eq=False)
class Tuned:
    """What decides rows: log-odds, calibrated or not, plus log(gain / loss), against a threshold.

    Parameters
    ----------
    kind : {"plain", "sigmoid", "swept"}
        What was tuned.
    threshold : float, default=0.0
        Threshold of the sum; 0 is least expected cost.
    slope, intercept : float, default=1.0 and 0.0
        ``slope * score + intercept`` are the log-odds of the class.
    farthest : float, default=40.0
        A sigmoid takes scores beyond it for it.
    """

    kind: str = "plain"
    threshold: float = 0.0
    slope: float = 1.0
    intercept: float = 0.0
    farthest: float = FARTHEST

    def log_odds(self, score: Array) -> Array:
        """Log-odds of the positive class."""
        if self.kind != "sigmoid":
            return score
        return self.slope * np.clip(score, -self.farthest, self.farthest) + self.intercept

    def scores(self, score: Array, shift: Array) -> Array:
        """What the threshold is for; rows that their costs decide are at +inf and -inf."""
        finite = np.isfinite(shift)
        return np.where(finite, self.log_odds(score) + np.where(finite, shift, 0.0), shift)

    def decide(self, score: Array, shift: Array) -> BoolArray:
        """Rows that are answered "positive"."""
        return self.scores(score, shift) >= self.threshold


def tune(
    kind: str, score: Array, is_pos: BoolArray, table: CostTable, weight: Array, farthest: float = FARTHEST
) -> Tuned:
    """Tune on rows that the model has not been trained on; rows of weight 0 do not count."""
    if kind == "plain":
        return Tuned()
    if kind == "swept":
        return Tuned(kind, best_cut(Tuned().scores(score, table.shift), is_pos, table, weight))
    used = weight > 0.0
    found = Sigmoid().fit(np.clip(score[used], -farthest, farthest), is_pos[used], weight[used])
    return Tuned(kind, 0.0, found.slope_, found.intercept_, farthest)


def cost_curve(score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None = None) -> ThresholdCurve:
    """All thresholds of a score, with rows weighed by what the wrong answer costs.

    Errors are answers that are not the cheaper one: their shares, times the sum of all weights, are what decisions cost
    beyond the cheaper answers to all rows.
    """
    negative, positive = table.answers(is_pos)
    stakes = np.abs(positive - negative) * (1.0 if weight is None else weight)
    return sweep(positive < negative, score, stakes)


def best_cut(score: Array, is_pos: BoolArray, table: CostTable, weight: Array | None = None) -> float:
    """Threshold of least cost."""
    return cost_curve(score, is_pos, table, weight).best("accuracy").threshold


def leaning_of(log_odds: Array, table: CostTable, review: Review, extra_cost: float) -> Leaning:
    """Which of three answers to rows with these log-odds cost least on average."""
    negative, looked_at, positive = table.expected_costs(expit(log_odds), review.cost + extra_cost, review.error)
    # Where both answers cost the same it is "negative", as without reviews.
    up = (positive <= np.minimum(negative, looked_at)) & (table.shift > -np.inf)
    return Leaning(~up & (negative <= looked_at), up, np.clip(log_odds, -FARTHEST, FARTHEST))


# ---------------------------------------------------------------- a fitted classifier with it


@dataclass(frozen=True, eq=False, kw_only=True)
class RowRule(ThresholdRule):
    """Predicts with a fitted classifier and the costs of each row; see `ThresholdRule` for the rest.

    Parameters
    ----------
    row_costs : RowCosts
        What rows cost.
    decision : Tuned
        What decides.
    alone : float
        Threshold of the log-odds of the classifier alone, where costs are not known.
    power : float, default=0.0
        The training weighed rows by this power of what they cost.
    given : mapping, default={}
        Costs of the rows that are to be predicted.
    """

    row_costs: RowCosts
    decision: Tuned
    alone: float
    power: float = 0.0
    given: Mapping[str, Any] = field(default_factory=dict)

    def scored(self, X: Samples) -> tuple[Array, Array]:
        """The positive class, and the score that the threshold is for."""
        if self._lacks_costs:
            names = ", ".join(f"{name}=" for name in self.row_costs.needs(self.given))
            warn(
                f"fit was given costs that are not given here ({names}): one threshold on the probability of a row "
                f"decides, {expit(self.alone):.4g}, the best one by cost on held-out data. Give {names} to decide each "
                "row by its own costs, which costs less; under metadata routing ask for them by set_predict_request"
            )
            found, score = super().scored(X)
            return found, log_odds(score, self.method) - self.alone + self.cut
        table = self.row_costs.table(X, **self.given)
        found, z = self._log_odds(X, table)
        return found, Tuned().scores(z, table.shift)

    def ranked(self, X: Samples) -> tuple[BoolArray, Array]:
        """Which rows are answered "positive", and what that saves on average in each of them."""
        if self._lacks_costs:
            return super().ranked(X)
        table = self.row_costs.table(X, **self.given)
        z = self._log_odds(X, table)[1]
        return Tuned().scores(z, table.shift) >= self.cut, table.expected_gain(expit(z - self.cut))

    def leaning(self, X: Samples, review: Review, extra_cost: float) -> Leaning:
        """Which answers cost least on average, and the log-odds."""
        table = self.row_costs.table(X, **self.given)
        return leaning_of(self._log_odds(X, table)[1] - self.cut, table, review, extra_cost)

    @property
    def _lacks_costs(self) -> bool:
        """Whether rows come without the costs that `fit` was given."""
        return bool(self.row_costs.needs(self.given)) and all(each is None for each in self.given.values())

    def _log_odds(self, X: Samples, table: CostTable | None) -> tuple[Array, Array]:
        """The positive class, and its log-odds, with the weights of the training taken out."""
        found, score = super().scored(X)
        score = log_odds(score, self.method)
        return found, self.decision.log_odds(score if table is None else unweighted(score, table.shift, self.power))

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the sorted labels, which know nothing of costs; weights of the training are taken out."""
        table = self.row_costs.table(X, **self.given) if self.power else None
        proba = expit(self._log_odds(X, table)[1])
        return self._of_positives(proba)
