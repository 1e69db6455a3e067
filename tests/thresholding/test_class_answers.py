"""Reviews and capacity of several classes, against brute force and what rows come to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import CostMatrix, Review, get_confusion_metric
from csf.thresholding.class_answers import (
    REVIEW,
    CapacityAnswers,
    ClassReviews,
    LabelledRows,
    ReviewAnswers,
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
    codes = CapacityAnswers({1: share}).given(known, weight)
    assert weight[codes == 1].sum() <= share * weight.sum() + 1e-6


def test_reviewed_rows_are_right_but_for_their_error():
    answers = ReviewAnswers(Review(cost=1.0, error=0.2), COSTS, NAMES)
    sums = np.array([[5.0, 1.0, 0.0, 10.0], [0.0, 4.0, 0.0, 0.0], [1.0, 0.0, 3.0, 2.0]])
    np.testing.assert_allclose(answers.final(sums), [[13.0, 2.0, 1.0], [0.0, 4.0, 0.0], [1.2, 0.2, 4.6]])


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
