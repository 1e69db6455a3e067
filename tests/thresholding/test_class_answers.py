"""Reviews and capacity of several classes, against brute force and what rows come to."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from csf.metrics import CostMatrix, Review, get_confusion_metric, get_constraint
from csf.metrics.demands import ConstrainedClasses, demands_on
from csf.thresholding.class_answers import (
    REVIEW,
    ClassAnswers,
    ClassReviews,
    LabelledRows,
    prices_of,
)
from csf.thresholding.linear_rule import RuleRows, confusion_of, tune_rule

NAMES = ["a", "b", "c"]
COSTS = CostMatrix([[0, 1, 2], [5, 0, 1], [9, 3, 0]])


def rows_of(seed=0, n=400, metric=COSTS):
    """Rows with true probabilities, decided by the rule of a metric."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet([1.0, 0.7, 0.4], n)
    truth = np.array([rng.choice(3, p=each) for each in proba])
    rule = tune_rule(proba, truth, metric)
    return LabelledRows(RuleRows(rule.scores(proba), proba, rule.worth), truth, np.ones(n))


@given(seed=st.integers(0, 300), cost=st.floats(0.0, 3.0), error=st.sampled_from([0.0, 0.1, 0.4]))
def test_each_row_gets_the_answer_of_least_expected_cost(seed, cost, error):
    """Four answers to each row, one of which is a review."""
    known = rows_of(seed, 20)
    reviews = ClassReviews.tuned(Review(cost=cost + 0.01, error=error), COSTS, NAMES, known)
    proba = known.rows.proba
    own = proba @ reviews.prices
    looked = cost + 0.01 + error * (proba @ (reviews.prices.sum(axis=1) / 2))
    every = np.column_stack([own, looked])
    chosen = reviews.decide(known.rows)
    assert every[np.arange(20), chosen] == pytest.approx(every.min(axis=1))


def test_prices_of_a_cost_matrix_are_its_costs():
    known = rows_of()
    plain = known._replace(rows=known.rows._replace(worth=None))
    np.testing.assert_allclose(prices_of(COSTS, plain), np.asarray(COSTS.costs), atol=1e-9)


def test_prices_are_what_the_decisions_of_the_rule_are_worth():
    """A demand makes an answer dearer than the gradient of the metric alone."""
    metric = get_confusion_metric("f1_macro")
    known = rows_of(metric=metric)
    worth = known.rows.worth + np.diag([0.0, 0.0, 5.0])
    prices = prices_of(metric, known._replace(rows=known.rows._replace(worth=worth)))
    gaps = np.diagonal(worth)[:, None] - worth
    np.testing.assert_allclose(prices / prices.max(), gaps / gaps.max())


def test_prices_of_other_metrics_are_in_units_of_the_errors_that_are_made():
    metric = get_confusion_metric("f1_macro")
    known = rows_of(metric=metric)
    prices = prices_of(metric, known)
    made = confusion_of(known.truth, known.rows.codes, 3) * (1.0 - np.eye(3))
    assert (made * prices).sum() / made.sum() == pytest.approx(1.0)
    assert np.diagonal(prices) == pytest.approx(0.0)


def test_a_review_that_costs_too_much_changes_nothing():
    known = rows_of()
    reviews = ClassReviews.tuned(Review(cost=1e9), COSTS, NAMES, known).limited(known)
    assert (reviews.decide(known.rows) == known.rows.codes).all()


@pytest.mark.parametrize("share", [0.05, 0.2, 0.6])
def test_reviews_stay_within_their_share_and_save_most(share):
    known = rows_of()
    free = ClassReviews.tuned(Review(cost=0.01), COSTS, NAMES, known)
    limited = ClassReviews.tuned(Review(cost=0.01, at_most=share), COSTS, NAMES, known)
    reviewed = limited.decide(known.rows) == 3
    assert reviewed.mean() <= share + 1e-9
    assert reviewed.mean() >= share - 2.0 / 400
    own, looked_at = free.costs(known.rows, known.rows.codes)
    saved = own - looked_at
    assert saved[reviewed].min() >= np.max(saved[~reviewed], initial=-np.inf) - 1e-9


def test_limits_on_wrong_answers_hold_on_the_held_out_rows():
    known = rows_of()
    for wrong in (0.1, {"a": 0.05, "c": 0.3}):
        answers = ClassReviews.tuned(Review(wrong=wrong), COSTS, NAMES, known).limited(known).decide(known.rows)
        limits = wrong if isinstance(wrong, dict) else dict.fromkeys(NAMES, wrong)
        for name, limit in limits.items():
            own = answers == NAMES.index(name)
            assert not own.any() or (known.truth[own] != NAMES.index(name)).mean() <= limit + 1e-9
    with pytest.raises(ValueError, match=r"there is no 'd'; accepted: \['a', 'b', 'c'\]"):
        ClassReviews.tuned(Review(wrong={"d": 0.1}), COSTS, NAMES, known).limited(known)


@given(seed=st.integers(0, 300), limit=st.integers(0, 5))
def test_capacity_on_held_out_rows_is_a_share_of_their_weight(seed, limit):
    known = rows_of(seed, 12)
    weight = np.random.default_rng(seed).integers(0, 3, 12).astype(float)
    share = (limit + 0.5) / 12
    given = ClassAnswers(known, COSTS, NAMES).within({1: share}, weight)
    acted = weight @ (given.share * (given.codes == 1))
    assert acted == pytest.approx(min(share * weight.sum(), weight[known.rows.codes == 1].sum()), abs=1e-6)


STAGES = ("later", "soon", "urgent")


class Rule:
    """Rule that gives the rows which it was made of."""

    def __init__(self, rows):
        self._rows = rows

    def rows(self, X):
        return self._rows


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.sampled_from([None, 0.1, 0.4]), st.floats(0.0, 0.4))
def test_places_are_kept_whoever_loses_a_review_to_whom(seed, limit, share, least):
    rng = np.random.default_rng(seed)
    proba, X = rng.dirichlet(np.ones(3), 40), rng.normal(size=(40, 2))
    rule = Rule(RuleRows(proba * [1.0, 1.5, 3.0], proba, None))
    prices = np.array([[0.0, 1.0, 1.0], [2.0, 0.0, 1.0], [6.0, 3.0, 0.0]])
    reviews = ClassReviews(
        review=Review(cost=0.3, at_most=share), names=STAGES, prices=prices, least=np.array([0.0, 0.0, least])
    )
    free, answers = reviews.answers(rule, X), reviews.answers(rule, X, {"urgent": limit})
    assert np.sum(answers == "urgent") <= limit
    forced = np.sum((answers == REVIEW) & (proba[:, 2] < least))
    most = 40 if share is None else int(40 * share)
    assert np.sum(answers == REVIEW) <= max(most, np.sum(free == REVIEW)) + forced
    order = rng.permutation(40)
    again = reviews.answers(
        Rule(rule._rows._replace(scores=rule._rows.scores[order], proba=proba[order])), X[order], {"urgent": limit}
    )
    assert (again == answers[order]).all()


@given(seed=st.integers(0, 2**32 - 1), limit=st.integers(0, 3), share=st.sampled_from([0.2, 0.5]))
@settings(max_examples=30)
def test_answers_of_the_base_stay_where_no_limit_moves_them_whatever_the_unit_of_its_scores(seed, limit, share):
    """Brute force: as many classes as can be are those of the base, and the other answers cost least."""
    rng = np.random.default_rng(seed)
    proba, X = rng.dirichlet(np.ones(3), 6), np.arange(6.0)[:, None]
    prices = np.array([[0.0, 1.0, 1.0], [2.0, 0.0, 1.0], [6.0, 3.0, 0.0]])
    reviews = ClassReviews(review=Review(cost=0.6, at_most=share), names=NAMES, prices=prices, least=np.zeros(3))
    units = [RuleRows(unit * proba * [1.0, 1.5, 3.0], proba, None) for unit in (1e-6, 1.0, 1e6)]
    first, *others = (reviews.answers(Rule(rows), X, {"c": limit}) for rows in units)
    assert all((each == first).all() for each in others)
    free, chosen = reviews.decide(units[0]), np.select([first == name for name in NAMES], range(3), 3)
    paid = np.column_stack([proba @ prices, np.full(6, 0.6)])
    every = np.array(list(itertools.product(range(4), repeat=6)))
    reviewed = max(int(share * 6), int((free == 3).sum()))
    every = every[((every == 2).sum(axis=1) <= limit) & ((every == 3).sum(axis=1) <= reviewed)]
    moved = ((every != free) & (free < 3)).sum(axis=1)
    assert ((chosen != free) & (free < 3)).sum() == moved.min()
    least = paid[np.arange(6), every[moved == moved.min()]].sum(axis=1).min()
    assert paid[np.arange(6), chosen].sum() == pytest.approx(least)


@given(seed=st.integers(0, 300), limit=st.integers(0, 3), share=st.sampled_from([0.2, 0.5]))
@settings(max_examples=30)
@pytest.mark.parametrize("name", ["f1_macro", "mcc"])
def test_reviews_and_a_capacity_together_leave_no_better_answers(name, seed, limit, share):
    """Brute force over four answers to six rows; prices are not in the units of the rule's scores."""
    known = rows_of(seed, 60, metric=get_confusion_metric(name))
    if known.rows.worth is not None:
        known = known._replace(rows=RuleRows(8.0 * known.rows.scores, known.rows.proba, 8.0 * known.rows.worth))
    reviews = ClassReviews.tuned(Review(cost=0.4, at_most=share), get_confusion_metric(name), NAMES, known)
    batch = RuleRows(known.rows.scores[:6], known.rows.proba[:6], known.rows.worth)
    answers = reviews.answers(Rule(batch), np.arange(6.0)[:, None], {"c": limit})
    chosen = np.select([answers == name for name in NAMES], range(3), 3)
    paid = np.column_stack([batch.proba @ reviews.prices, np.full(6, 0.4 + reviews.extra_cost)])
    every = np.array(list(itertools.product(range(4), repeat=6)))
    reviewed = max(int(share * 6), int((reviews.decide(batch) == 3).sum()))
    every = every[((every == 2).sum(axis=1) <= limit) & ((every == 3).sum(axis=1) <= reviewed)]
    assert paid[np.arange(6), chosen].sum() == pytest.approx(paid[np.arange(6), every].sum(axis=1).min())


@given(
    seed=st.integers(0, 2**32 - 1),
    text=st.sampled_from(["recall[2] >= 0.8", "precision[1] >= 0.6", "predicted_rate[0] <= 0.2", "accuracy >= 0.7"]),
    cost=st.sampled_from([0.3, 1.0]),
    share=st.sampled_from([0.1, 0.3]),
    limit=st.integers(0, 12),
)
@settings(max_examples=30)
def test_no_answers_within_a_demand_reviews_and_a_capacity_cost_less_than_the_multiplier_allows(
    seed, text, cost, share, limit
):
    """Thirty rows, each of which has every class by its probability; a mixed integer program knows all answers.

    At the multiplier m of the demand, no answers within both limits cost less. So those that keep the demand cost at
    least what the rule's answers cost, less m times that by which these keep the demand.
    """
    n_rows, rng = 30, np.random.default_rng(seed)
    proba, X = rng.dirichlet([1.0, 0.7, 0.5], n_rows), rng.normal(size=(n_rows, 2))
    entries, codes, weight = np.repeat(proba, 3, axis=0), np.tile(np.arange(3), n_rows), proba.ravel()
    (demand,) = demands_on(get_constraint(text), [0, 1, 2])
    metric = ConstrainedClasses(COSTS, (demand,))
    rule = tune_rule(entries, codes, metric, weight=weight)
    held_out = LabelledRows(RuleRows(rule.scores(entries), entries, rule.worth), codes, weight)
    reviews = ClassReviews.tuned(Review(cost=cost, at_most=share), metric, NAMES, held_out)
    batch = RuleRows(rule.scores(proba), proba, rule.worth)
    answers = reviews.answers(Rule(batch), X, {"c": limit})
    chosen = np.select([answers == name for name in NAMES], range(3), 3)
    at_right, prices = np.diagonal(demand.gains)[:, None], np.asarray(COSTS.costs, dtype=float)
    # Costs and what the demand gains, by row and answer; a review is right.
    paid = np.column_stack([proba @ prices, np.full(n_rows, cost + reviews.extra_cost)])
    kept = np.column_stack([proba @ demand.gains, proba @ at_right])
    gaps = (at_right - demand.gains).ravel()
    multiplier = gaps @ (reviews.prices - prices).ravel() / (gaps @ gaps)
    np.testing.assert_allclose(reviews.prices, prices + multiplier * gaps.reshape(3, 3), atol=1e-9)
    rows = np.arange(n_rows)
    reviewed = max(int(share * n_rows), int((reviews.decide(batch) == 3).sum()))
    within = LinearConstraint(
        np.concatenate([np.kron(np.eye(n_rows), np.ones(4)), np.tile(np.eye(4)[[2, 3]], n_rows), kept.reshape(1, -1)]),
        [1.0] * n_rows + [0.0, 0.0, 0.0],
        [1.0] * n_rows + [limit, reviewed, np.inf],
    )
    best = milp(paid.ravel(), constraints=within, integrality=np.ones(4 * n_rows), bounds=Bounds(0.0, 1.0))
    assert (chosen == 2).sum() <= limit
    assert (chosen == 3).sum() <= reviewed
    if best.success:
        assert best.fun >= paid[rows, chosen].sum() - multiplier * kept[rows, chosen].sum() - 1e-6
