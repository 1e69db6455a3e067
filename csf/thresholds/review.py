"""Three answers, "negative", "review" and "positive": which rows get each of them, and what that is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

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

__all__ = ["Bands", "Reviewed", "bands_of_costs", "bands_of_score", "certified_bands", "reviewed"]

# Halvings of the interval of prices.
_HALVINGS = 50
# Thresholds of a score that are tried in pairs.
_MOST_CUTS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class Bands:
    """What gets each answer: "negative" below a score, "positive" from another one on, "review" else.

    Parameters
    ----------
    review : Review
        What a review costs.
    price : float, default=0.0
        What a place among the reviewed rows costs besides, where errors have costs in each row and reviews are limited.
    lower, upper : float
        "negative" is answered below the first score and "positive" from the second one on, where costs allow it.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers.
    """

    review: Review
    price: float = 0.0
    lower: float = np.inf
    upper: float = -np.inf
    guarantees: dict[str, Guarantee] = field(default_factory=dict)

    def decide(self, rows: Leaning) -> Array:
        """The answers."""
        up, down = rows.up & (rows.score >= self.upper), rows.down & (rows.score < self.lower)
        return np.select([up, down], [ANSWERS[2], ANSWERS[0]], ANSWERS[1])

    def limited(self, rows: Leaning, truth: BoolArray, weight: Array) -> Bands:
        """Bands of held-out rows that are small enough to keep the limits on wrong answers there."""
        answers, limits = self.decide(rows), self.review.limits
        upper, lower = self.upper, self.lower
        if "positive" in limits:
            upper = _purest(rows.score, answers == "positive", ~truth, weight, limits["positive"])
        if "negative" in limits:
            # Below a score: the next number after the largest one.
            lower = np.nextafter(
                -_purest(-rows.score, answers == "negative", truth, weight, limits["negative"]), np.inf
            )
        return replace(self, upper=max(self.upper, upper), lower=min(self.lower, float(lower)))


def _purest(score: Array, answered: BoolArray, wrong: BoolArray, weight: Array, limit: float) -> float:
    """Smallest score from which on the share of wrong ones among the rows that are answered so keeps a limit."""
    inside = np.flatnonzero(answered & (weight > 0.0))
    order = inside[np.argsort(-score[inside], kind="stable")]
    ends = np.append(np.diff(score[order]) != 0.0, True)[: order.size]
    share = np.cumsum((wrong * weight)[order]) / np.cumsum(weight[order])
    kept = np.flatnonzero(ends & (share <= limit))
    return float(score[order[kept[-1]]]) if kept.size else np.inf


def certified_bands(bands: Bands, found: Any, rule: Any, task: Any) -> Bands:
    """Bands whose limits hold on the samples of a task, which nothing was trained on or chosen by."""
    review, ranked, truth = bands.review, found.ranked(), task.codes > 0
    held_out, new = found.leaning(review, bands.price), rule.leaning(task.X, review, bands.price)
    weight = None if task.weight is None else ranked.weights(ranked.store.copies)
    lower, upper, guarantees = bands.lower, bands.upper, {}
    for answer, limit in review.limits.items():
        sign = 1.0 if answer == "positive" else -1.0
        known, calibrated = (
            # The right ones of the rows that are answered so are what a precision counts.
            Scored(is_pos == (sign > 0.0), sign * rows.score, each, bands.decide(rows) != answer)
            for is_pos, rows, each in ((ranked.store.truth, held_out, weight), (truth, new, task.weight))
        )
        if known.lost is None or known.lost.all():
            continue
        metric = aim("recall", Constraint(Precision(), ">=", 1.0 - limit))
        test = certify(known, metric, review.confidence, calibrated)  # pyright: ignore[reportArgumentType] (it was asked for)
        guarantees[answer] = test = replace(test, constraint=f"wrong answers {answer!r} <= {limit:g}")
        if not test.holds:
            warn(f"{test}; all rows that would have been answered {answer!r} are reviewed")
        threshold = test.threshold if test.holds else np.inf
        if sign > 0.0:
            upper = max(upper, threshold)
        else:
            lower = min(lower, float(np.nextafter(-threshold, np.inf)))
    return replace(bands, lower=lower, upper=upper, guarantees=guarantees)


def bands_of_costs(review: Review, leaning: Callable[[float], Leaning], table: CostTable, weight: Array) -> Bands:
    """Bands by the expected costs of each row, which ``leaning`` compares at a price of a place."""
    bands, low, high = Bands(review=review), 0.0, float((abs(table.gain) + abs(table.loss)).max())

    def is_kept(price: float) -> bool:
        looked_at = bands.decide(leaning(price)) == "review"
        return review.at_most is None or weight @ looked_at <= review.at_most * weight.sum()

    if is_kept(0.0):
        return bands
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return replace(bands, price=high)


def bands_of_score(
    review: Review, score: Array, truth: BoolArray, weight: Array, costs: tuple[float, float], threshold: float
) -> Bands:
    """Bands by the two thresholds of a score that cost least on held-out rows; ``costs`` are those of both errors.

    Where no review pays, both are the ``threshold`` in use. Of many thresholds about a thousand are tried.
    """
    distinct, at = np.unique(score, return_inverse=True)
    edges = np.concatenate([[-np.inf], midpoint(distinct[1:], distinct[:-1]), [np.inf]])
    tried = np.unique(np.linspace(0, distinct.size, _MOST_CUTS).round().astype(int))

    def before(values: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(np.bincount(at, values))])[tried]

    missed, alarms, looked_at = before(weight * truth * costs[0]), before(weight * ~truth * costs[1]), before(weight)
    paid = review.error * (missed + alarms) + review.cost * costs[1] * looked_at
    lower, upper = np.indices((tried.size, tried.size), sparse=True)
    total = (missed - paid)[lower] + (paid - alarms)[upper]
    allowed = (lower <= upper) & ((looked_at[upper] - looked_at[lower]) <= (review.at_most or 1.0) * looked_at[-1])
    # Of equal ones that with the fewest reviews.
    total = np.where(allowed, total + TIE * max(costs) * (looked_at[upper] - looked_at[lower]), np.inf)
    first, last = edges[tried[list(np.unravel_index(np.argmin(total), total.shape))]].tolist()
    return (
        Bands(review=review, lower=threshold, upper=threshold)
        if first == last
        else Bands(review=review, lower=first, upper=last)
    )


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
    price : float
        With costs in each row what one more review would save: 0 where their limit leaves out none that pays.
    guarantees : dict of str to Guarantee
        What was shown of the limits on wrong answers, with ``confidence``.
    """

    value: float
    interval: tuple[float, float]
    shares: dict[str, float]
    wrong: dict[str, float]
    price: float
    guarantees: dict[str, Guarantee] = field(default_factory=dict)


def reviewed(bands: Bands, answers: Array, ranked: Ranked, assessment: Assessment, luck: float) -> Reviewed:
    """What the answers to held-out entries are worth."""
    review, truth, weight = bands.review, ranked.store.truth, ranked.weights(ranked.store.copies)
    looked_at = answers == "review"
    # How often the answer in the end is "positive".
    found = np.where(looked_at, np.where(truth, 1.0 - review.error, review.error), answers == "positive")
    moved = ranked.gains * found
    if ranked.in_costs:
        moved[0] -= review.cost * looked_at

    def value(counts: Array) -> Array:
        return ranked.value((moved @ ranked.weights(counts))[:, None], counts)

    (middle,), (errors,) = expected(value, ranked.store, assessment, luck)
    wrong, shares = np.where(truth, 1.0 - found, found), {}
    for answer in ANSWERS:
        own = weight * (answers == answer)
        total = own.sum()
        shares[answer] = float(total / weight.sum()), float(own @ wrong / total) if total else np.nan
    interval = Assessment(float(middle), errors, (np.nan, np.nan), assessment.value_range).score_interval
    return Reviewed(
        value=float(middle),
        interval=interval,
        shares={answer: share for answer, (share, _) in shares.items()},
        wrong={answer: rate for answer, (_, rate) in shares.items()},
        price=bands.price,
        guarantees=bands.guarantees,
    )
