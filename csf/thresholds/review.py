"""Three answers, "negative", "review" and "positive": which rows get each of them, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray
from csf.data.responses import TIE, midpoint
from csf.evaluate import Assessment
from csf.metrics.constraints import Constraint, Precision
from csf.metrics.registry import aim
from csf.metrics.review import ANSWERS, Review
from csf.thresholds.capacity import Ranked, expected
from csf.thresholds.certificates import Guarantee, Scored, certify
from csf.thresholds.rule import Leaning

if TYPE_CHECKING:
    from csf.metrics.row_costs import CostTable

# Thresholds of a score that are tried in pairs.
_MOST_CUTS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class Bands:
    """What gets each answer: "negative" below a score, "positive" from another one on, "review" else.

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

    def decide(self, rows: Leaning) -> Array:
        """The answers."""
        up, down = rows.up & (rows.score >= self.upper), rows.down & (rows.score < self.lower)
        return np.select([up, down], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])

    def limited(
        self, held_out: Answered, calibration: Answered | None = None, confidence: float | None = None
    ) -> Bands:
        """Bands small enough for the limits on wrong answers: on held-out rows, or certified on others besides."""
        limits: dict[str, float] = {}
        guarantees: dict[str, Guarantee] = {}
        for answer, limit in self.review.limits.items():
            known = held_out.scored(self, answer)
            if not known.score.size or not known.is_pos.any():
                limits[answer] = np.inf
                continue
            metric = aim("recall", Constraint(Precision(), ">=", 1.0 - limit))
            if calibration is None or confidence is None:
                # A curve needs wrong answers too.
                cut = None if known.is_pos.all() else known.curve().best(metric)
                limits[answer] = -np.inf if cut is None else cut.threshold if cut.feasible else np.inf
                continue
            test = certify(known, metric, confidence, calibration.scored(self, answer))
            guarantees[answer] = test = replace(test, constraint=f"wrong answers {answer!r} <= {limit:g}")
            if not test.holds:
                warn(f"{test}; all rows that would have been answered {answer!r} are reviewed")
            limits[answer] = test.threshold if test.holds else np.inf
        # "negative" is below a score: the next number after the largest one.
        lower = np.nextafter(-limits.get("negative", -np.inf), np.inf)
        upper = max(self.upper, limits.get("positive", -np.inf))
        return replace(self, lower=min(self.lower, float(lower)), upper=upper, guarantees=guarantees)


class Answered(NamedTuple):
    """Rows with their truth."""

    rows: Leaning
    truth: BoolArray
    weight: Array | None

    @classmethod
    def of(cls, found: Any, bands: Bands) -> Self:
        """The held-out entries of a search."""
        return cls(found.leaning(bands.review, bands.extra_cost), found.store.truth, found.store.weight)

    def scored(self, bands: Bands, answer: str) -> Scored:
        """Those that get an answer, the right ones for positives: a precision counts these."""
        own, sign = bands.decide(self.rows) == answer, 1.0 if answer == "positive" else -1.0
        weight = None if self.weight is None else self.weight[own]
        return Scored(self.truth[own] == (sign > 0.0), sign * self.rows.score[own], weight)


def bands_of_costs(review: Review, proba: Array, table: CostTable, weight: Array) -> Bands:
    """Bands by the expected costs of each row: where reviews are limited, those stay that save most."""
    if review.at_most is None:
        return Bands(review=review, extra_cost=np.inf if review.only_limits else 0.0)
    negative, looked_at, positive = table.expected_costs(proba, review.cost, review.error)
    without = np.minimum(negative, positive)
    saved = without - looked_at
    order = np.argsort(-saved, kind="stable")
    over = np.flatnonzero(np.cumsum(weight[order]) > review.at_most * weight.sum())
    if not over.size or saved[order[over[0]]] <= 0.0:
        return Bands(review=review)
    # A place costs what the first row would save that gets none; rounding gives it none either.
    first = order[over[0]]
    return Bands(review=review, extra_cost=float(saved[first] + TIE * without[first]))


def bands_of_score(
    review: Review, score: Array, truth: BoolArray, weight: Array, costs: tuple[float, float], threshold: float
) -> Bands:
    """Bands by the two thresholds of a score that cost least on held-out rows; ``costs`` are those of both errors.

    Where no review pays, both are the ``threshold`` in use. Of many thresholds about a thousand are tried.
    """
    if review.only_limits:
        return Bands(review=review, lower=threshold, upper=threshold)
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
    return Bands(review=review, lower=first, upper=last)


# ---------------------------------------------------------------- what it is worth


@dataclass(frozen=True)
class Reviewed:
    """What three answers are worth, from held-out scores.

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


def reviewed(bands: Bands, answers: Array, ranked: Ranked, assessment: Assessment, luck: float) -> Reviewed:
    """What the answers to held-out entries are worth."""
    review, truth, weight = bands.review, ranked.store.truth, ranked.store.weights_in(ranked.store.copies)
    looked_at = answers == "review"
    # How often the answer in the end is "positive".
    found = np.where(looked_at, np.where(truth, 1.0 - review.error, review.error), answers == "positive")
    moved = ranked.gains * found
    if ranked.in_costs:
        moved[0] -= review.cost * looked_at

    def value(counts: Array) -> Array:
        return ranked.value((moved @ ranked.store.weights_in(counts))[:, None], counts)

    (middle,), (errors,) = expected(value, ranked.store, assessment, luck)
    wrong, each = np.where(truth, 1.0 - found, found), {answer: weight * (answers == answer) for answer in ANSWERS}
    interval = Assessment(float(middle), errors, (np.nan, np.nan), assessment.value_range).score_interval
    return Reviewed(
        value=float(middle),
        interval=interval,
        shares={answer: float(own.sum() / weight.sum()) for answer, own in each.items()},
        wrong={answer: float(own @ wrong / own.sum()) if own.any() else np.nan for answer, own in each.items()},
        extra_cost=bands.extra_cost,
        guarantees=bands.guarantees,
    )
