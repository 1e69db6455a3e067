"""Limited capacity and three answers: which rows to act on, or to review."""

from functools import partial
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logit

from csf.evaluate.draws import Units
from csf.metrics import Incomplete, Recall, Review, RowCosts, get_metric
from csf.metrics.averages import values_of_tables
from csf.metrics.registry import truth_of
from csf.metrics.row_costs import CostTable
from csf.search.threshold import GivenProbabilities, GivenScores
from csf.thresholding.capacity import (
    LOST,
    LabelledScores,
    ReviewBands,
    Reviewed,
    ScoreAnswers,
    bands_of_costs,
    bands_of_score,
)
from csf.thresholding.cost_decisions import CostDecision
from csf.thresholding.evaluation import TableTerms
from csf.thresholding.row_costs import RowCostRule
from csf.thresholding.rule import AllowedAnswers, ThresholdRule

LABELS = {"known": np.array([0, 1]), "names": np.array([0, 1]), "null": 0}
# Tenths: many rows are equal.
tenths = st.integers(0, 10).map(lambda x: x / 10)
amounts = st.sampled_from([0.0, 0.5, 1.0, 2.0, 8.0])


class _First(GivenScores):
    """Scores that are the first of several columns."""

    def decision_function(self, X):
        return X[:, 0].toarray().ravel() if sparse.issparse(X) else X[:, 0]


def rule_of_costs(**given):
    told = {
        "method": "predict_proba",
        "threshold": 0.0,
        "row_costs": RowCosts(),
        "decision": CostDecision(),
        "alone": 0.0,
    }
    return RowCostRule(estimator=GivenProbabilities([0, 1]), **LABELS, **told, given=given)


def rule_of_scores(threshold):
    return ThresholdRule(_First([0, 1]), **LABELS, method="decision_function", threshold=threshold)


@settings(max_examples=60)
@given(st.lists(st.tuples(tenths, amounts, amounts), min_size=1, max_size=8), st.integers(0, 9))
def test_no_other_choice_of_so_many_rows_gains_more(rows, k):
    p, fn, fp = np.array(rows).T
    rule = rule_of_costs(fn_cost=fn, fp_cost=fp)
    found = rule.predict_within(np.column_stack([1 - p, p]), k)
    gains = [each * miss - (1 - each) * alarm for each, miss, alarm in rows]
    best = max(sum(chosen) for size in range(min(k, len(rows)) + 1) for chosen in combinations(gains, size))
    assert sum(gain for gain, acted in zip(gains, found) if acted) == pytest.approx(best, abs=1e-12)
    assert found.sum() <= k


@settings(max_examples=60)
@given(
    st.lists(st.tuples(tenths, st.integers(0, 3)), min_size=1, max_size=12), tenths, st.integers(0, 13), st.randoms()
)
def test_the_largest_scores_in_any_order(rows, threshold, k, random):
    def acted(order):
        # The second column is a feature that scores know nothing of.
        X = np.array([rows[at] for at in order], dtype=float)
        rule = rule_of_scores(threshold)
        found = rule.predict_within(X, k)
        same = rule.predict_within(sparse.csr_array(X), k)
        np.testing.assert_array_equal(found, same)
        return sorted(map(tuple, X[found == 1].tolist()))

    places = list(range(len(rows)))
    chosen = acted(places)
    passing = sorted((score for score, _ in rows if score >= threshold), reverse=True)
    assert sorted((score for score, _ in chosen), reverse=True) == passing[:k]
    random.shuffle(places)
    assert acted(places) == chosen


def test_numbers_and_shares_of_equal_rows():
    rule, X = rule_of_scores(0.0), np.zeros((6, 1))
    assert rule.predict_within(X, 2).sum() == 2
    assert rule.predict_within(X, 0.5).sum() == 3
    assert rule.predict_within(X, 0.34).sum() == 2
    assert rule.predict_within(X, np.int64(4)).sum() == 4
    # 0.29 * 100 is a little less than 29 in binary.
    assert rule.predict_within(np.zeros((100, 1)), 0.29).sum() == 29


@pytest.mark.parametrize("at_most", [True, "3", [1]])
def test_what_is_no_number(at_most):
    with pytest.raises(TypeError, match="at_most must be a number of rows or a share of them in"):
        rule_of_scores(0.0).predict_within(np.zeros((3, 1)), at_most)


@pytest.mark.parametrize("at_most", [-1, 0.0, 1.0, 1.5, -0.5, np.nan, np.inf])
def test_what_is_no_capacity(at_most):
    with pytest.raises(ValueError, match="at_most must be"):
        rule_of_scores(0.0).predict_within(np.zeros((3, 1)), at_most)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(tenths, amounts, amounts), min_size=1, max_size=7),
    st.integers(0, 8),
    st.sampled_from([0.1, 0.5, 2.0]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([None, 0.34]),
)
def test_no_other_answers_with_so_many_alerts_and_reviews_cost_less(rows, k, cost, error, share):
    p, fn, fp = np.array(rows).T
    bands = ReviewBands(review=Review(cost=cost, error=error, at_most=share))
    rule, X = rule_of_costs(fn_cost=fn, fp_cost=fp), np.column_stack([1 - p, p])
    free, answers = bands.answers(rule, X), bands.decide_within(rule, X, k)
    reviews = len(rows) if share is None else max(int(share * len(rows)), (free == "review").sum())
    costs = [
        {"negative": a * b, "positive": (1 - a) * c, "review": cost + error * (a * b + (1 - a) * c)} for a, b, c in rows
    ]
    every = product(("negative", "positive", "review"), repeat=len(rows))
    least = min(
        sum(each[answer] for each, answer in zip(costs, chosen))
        for chosen in every
        if chosen.count("positive") <= k and chosen.count("review") <= reviews
    )
    assert sum(each[answer] for each, answer in zip(costs, answers)) == pytest.approx(least, abs=1e-9)
    assert (answers == "positive").sum() <= k
    assert (answers == "review").sum() <= reviews


def test_limits_on_wrong_answers_go_before_a_capacity():
    """A row that loses its alert to others is reviewed where "negative" is barred, though that costs more."""
    rule, p = rule_of_costs(fn_cost=1.0, fp_cost=1.0), np.array([0.9, 0.8, 0.7, 0.1])
    bands = ReviewBands(review=Review(cost=5.0, wrong={"negative": 0.2}), lower=-1.0, upper=-1.0)
    X = np.column_stack([1.0 - p, p])
    assert bands.decide_within(rule, X, 1).tolist() == ["positive", "review", "review", "negative"]
    free = ReviewBands(review=Review(cost=5.0))
    assert free.decide_within(rule, X, 1).tolist() == ["positive", "negative", "negative", "negative"]


# ---------------------------------------------------------------- three answers


def paid(answers, truth, weight, g, h, cost, error, lost=None):
    """What answers cost in all, written out; positives that are lost are missed where they are acted on too."""
    total, lost = 0.0, np.zeros(len(truth), dtype=bool) if lost is None else lost
    for answer, positive, size, missed in zip(answers, truth, weight, lost):
        wrong = g if positive else h
        acted = h if not positive else g * missed
        total += size * {"negative": g * positive, "positive": acted, "review": cost + error * wrong}[answer]
    return total


problems = st.fixed_dictionaries(
    {
        "rows": st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.sampled_from([1, 2])), min_size=1, max_size=10),
        "g": st.sampled_from([0.5, 1.0, 4.0]),
        "cost": st.sampled_from([0.1, 0.3, 1.0]),
        "error": st.sampled_from([0.0, 0.1]),
        "at_most": st.sampled_from([None, 0.3, 0.05]),
    }
)


@settings(max_examples=60)
@given(problems)
def test_two_thresholds_cost_as_much_as_the_best_of_a_grid(problem):
    score, truth, weight = (np.array(column) for column in zip(*problem["rows"]))
    score, truth, g, cost, error = (
        score.astype(float),
        truth.astype(bool),
        *(problem[k] for k in ("g", "cost", "error")),
    )
    limit = (problem["at_most"] or 1.0) * weight.sum()
    review = Review(cost=cost, error=error, at_most=problem["at_most"])
    grid, least = np.arange(-0.5, 7.0), np.inf
    for lower, upper in product(grid, grid):
        answers = np.where(score >= upper, "positive", np.where(score < lower, "negative", "review"))
        if lower <= upper and weight @ (answers == "review") <= limit:
            least = min(least, paid(answers, truth, weight, g, 1.0, cost, error))
    alone = min(
        (paid(np.where(score >= t, "positive", "negative"), truth, weight, g, 1.0, cost, error), t) for t in grid
    )
    bands = bands_of_score(review, score, truth, weight.astype(float), (g, 1.0), alone[1])
    answers = bands.decide(AllowedAnswers.of_score(score))
    own = paid(answers, truth, weight, g, 1.0, cost, error)
    assert own == pytest.approx(least, abs=1e-9)
    assert weight @ (answers == "review") <= limit
    everything = paid(np.full(score.size, "review"), truth, weight, g, 1.0, cost, error)
    assert own <= min(alone[0], everything if problem["at_most"] is None else np.inf) + 1e-9


@given(
    st.lists(st.tuples(st.integers(0, 20), *[st.sampled_from([0.0, 0.5, 1.0, 4.0])] * 2), min_size=1, max_size=12),
    st.sampled_from([0.05, 0.3]),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([None, 0.4]),
)
def test_each_row_gets_the_answer_that_costs_least_on_average(rows, cost, error, at_most):
    p, fn, fp = np.array(rows).T
    odds, table = logit(p / 20), CostTable(fn, fp, np.zeros(p.size), np.zeros(p.size))
    p = expit(odds)
    review = Review(cost=cost, error=error, at_most=at_most)
    bands = bands_of_costs(review, CostDecision(), odds, table, np.ones(p.size))
    answers = bands.decide(CostDecision().allowed_answers(odds, table, review, bands.extra_cost))
    each = {
        "negative": p * fn,
        "positive": (1 - p) * fp,
        "review": cost + error * (p * fn + (1 - p) * fp),
    }
    own = np.select([answers == name for name in each], list(each.values()))
    without = np.minimum(each["negative"], each["positive"])
    if at_most is None:
        np.testing.assert_allclose(own, np.minimum(without, each["review"]), atol=1e-12)
        return
    reviewed = answers == "review"
    assert reviewed.sum() <= at_most * p.size
    np.testing.assert_allclose(own[~reviewed], without[~reviewed], atol=1e-12)
    saved = np.sort(np.maximum(without - each["review"], 0.0))[::-1]
    # Equals at the border are all left out.
    best = saved[: int(at_most * p.size)]
    assert (without - own).sum() <= best.sum() + 1e-9
    if np.unique(saved).size == saved.size:
        assert (without - own).sum() == pytest.approx(best.sum(), abs=1e-9)


@pytest.mark.parametrize("g", [0.5, 1.0, 4.0])
def test_positives_that_are_lost_cost_as_much_as_those_that_are_missed(g):
    rng = np.random.default_rng(0)
    score = rng.integers(0, 7, 60).astype(float)
    truth = rng.random(60) < 0.1 + score / 10.0
    lost = truth & (rng.random(60) < score / 8.0)
    grid = np.arange(-0.5, 7.0)

    def cost(lower, upper):
        answers = np.where(score >= upper, "positive", np.where(score < lower, "negative", "review"))
        return paid(answers, truth, np.ones(60), g, 1.0, 0.3, 0.0, lost)

    in_use = min(grid, key=lambda cut: cost(cut, cut))
    bands = bands_of_score(Review(cost=0.3, at_most=0.3), score, truth, np.ones(60), (g, 1.0), in_use, lost)
    allowed = [pair for pair in product(grid, grid) if ((score >= pair[0]) & (score < pair[1])).mean() <= 0.3]
    least = min(cost(*pair) for pair in allowed if pair[0] <= pair[1])
    assert cost(bands.lower, bands.upper) == pytest.approx(least)


def test_both_thresholds_follow_from_true_probabilities():
    p = np.linspace(0.0005, 0.9995, 1000)
    every, truth = np.repeat(p, 2), np.tile([True, False], 1000)
    weight = np.where(truth, every, 1.0 - every)
    bands = bands_of_score(Review(cost=0.3), every, truth, weight, (1.0, 1.0), 0.5)
    # A review pays where both errors cost more than 0.3 on average.
    assert bands.lower == pytest.approx(0.3, abs=2e-3)
    assert bands.upper == pytest.approx(0.7, abs=2e-3)
    expensive = bands_of_score(Review(cost=0.6), every, truth, weight, (1.0, 1.0), 0.45)
    assert (expensive.lower, expensive.upper) == (0.45, 0.45)


def test_limits_on_wrong_answers():
    score, truth = np.arange(10.0), np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 1], dtype=bool)
    bands = ReviewBands(review=Review(cost=0.1, wrong={"negative": 0.2}), lower=5.0, upper=5.0)
    rows = LabelledScores(AllowedAnswers.of_score(score), truth, None)
    answers = bands.limited(rows).decide(rows.rows)
    # One of five below 5 is wrong; of those from 5 on nothing was asked.
    assert answers.tolist() == ["negative"] * 5 + ["positive"] * 5
    stricter = ReviewBands(review=Review(cost=0.1, wrong=0.1), lower=5.0, upper=5.0).limited(rows)
    assert stricter.decide(rows.rows).tolist() == ["negative"] * 2 + ["review"] * 5 + ["positive"] * 3
    alone = Review(wrong=0.1)
    bands = bands_of_score(alone, score, truth, np.ones(10), (1.0, 1.0), 5.0).limited(rows)
    assert bands.decide(rows.rows).tolist() == stricter.decide(rows.rows).tolist()
    table = CostTable(*np.ones((2, 10)), *np.zeros((2, 10)))
    odds, plain = logit(np.linspace(0.05, 0.95, 10)), CostDecision()
    by_costs = bands_of_costs(alone, plain, odds, table, np.ones(10))
    assert set(by_costs.decide(plain.allowed_answers(odds, table, alone, by_costs.extra_cost))) == {
        "negative",
        "positive",
    }
    none = ReviewBands(review=Review(cost=0.1, wrong=0.1), lower=5.0, upper=5.0)
    wrong = LabelledScores(AllowedAnswers.of_score(score), score < 5, None)
    assert set(none.limited(wrong).decide(rows.rows)) == {"review"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "a review that costs nothing is the answer to all rows"),
        ({"cost": -1.0}, "cost of a review must be >= 0"),
        ({"cost": 1.0, "at_most": 1.5}, "at_most of a review must be a number in"),
        ({"cost": 1.0, "error": 1.0}, "error of a review must be a share"),
        ({"cost": 1.0, "wrong": 2.0}, "wrong must be a number in"),
        ({"cost": 1.0, "wrong": {"negative": 2.0}}, "wrong of 'negative' must be a number in"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Review(**given)


def test_limits_are_on_answers_that_there_are():
    assert Review(wrong=0.1).limits_on() == {0: 0.1, 1: 0.1}
    assert Review(wrong={"b": 0.1}).limits_on(["a", "b", "c"]) == {1: 0.1}
    assert Review(cost=1.0).limits_on() == {}
    with pytest.raises(ValueError, match=r"there is no 'positve'; accepted: .*'negative', 'positive'\].*'positive'"):
        Review(wrong={"positve": 0.1}).limits_on()


def test_a_number_of_reviews_is_refused():
    with pytest.raises(ValueError, match="at_most of a review must be a number in"):
        Review(at_most=100)


def worth_of_first(metric, label, score, n_acted):
    """Value and captured share of acting on the rows of the largest scores."""
    n, truth = len(label), truth_of(metric)
    units = Units(label > 0, None, np.arange(n), np.ones(n, dtype=int))
    recall = None if truth is None else partial(values_of_tables, truth.like(Recall()))
    terms = TableTerms(units, 2, partial(values_of_tables, metric), recall=recall)
    answers = ScoreAnswers(score, -np.inf, units.is_pos, lambda: (1.0, 1.0))
    sums = terms.sums(answers.within({1: n_acted / n}, terms.weight), terms.weight)
    return [float(terms.value(sums)), terms.captured(sums, 1)]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), tenths), min_size=4, max_size=20), st.integers(1, 20), st.booleans())
def test_what_is_captured_is_the_recall_of_the_truth(rows, n_acted, marks):
    true, score = np.array(rows).T
    order = np.argsort(-score, kind="stable")
    true, score, n_acted = true[order] > 0, -np.arange(len(rows), dtype=float), min(n_acted, len(rows))
    if true.all() or not true.any():
        return
    # Of each four rows that are alike one has the other label, of negatives only where labels mark some of them.
    label = np.repeat(true, 4) ^ (np.tile([True, False, False, False], true.size) & (np.repeat(true, 4) | marks))
    rates = {"missed": 0.25, "false": 0.25 * marks}
    found = worth_of_first(Incomplete("f1", **rates), label, np.repeat(score, 4), 4 * n_acted)
    assert found == pytest.approx(worth_of_first(get_metric("f1"), true, score, n_acted))
    assert found[1] == pytest.approx(true[:n_acted].sum() / true.sum())


def test_within_a_limit_answers_of_a_wrong_class_are_the_lost_ones_that_act():
    lost = np.array([True, False, True, False, True])
    answers = ScoreAnswers(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), 0.5, np.ones(5, dtype=bool), lambda: (1.0, 1.0), lost)
    given = answers.within({1: 0.4}, np.ones(5))
    # Two of five rows: the third one is positive without the limit, and the last two never are.
    final = np.where(given.share > 0.5, given.codes, given.others)
    np.testing.assert_array_equal(final, [LOST, 1, 0, 0, 0])


@pytest.mark.parametrize("unit", [1.0, 0.01])
def test_shares_of_wrong_answers_do_not_depend_on_the_unit_of_weights(unit):
    bands = SimpleNamespace(review=Review(cost=0.1, error=0.25), extra_cost=0.0, guarantees={})
    worth = SimpleNamespace(corrected_score=0.5, score_interval=(0.4, 0.6))
    totals, right = unit * np.array([6.0, 0.0, 2.0]), unit * np.array([3.0, 0.0])
    reviewed = Reviewed.of(worth, bands, ["no", "yes", "review"], totals, right)
    assert reviewed.shares == {"no": 0.75, "yes": 0.0, "review": 0.25}
    assert reviewed.wrong == pytest.approx({"no": 0.5, "yes": np.nan, "review": 0.25}, nan_ok=True)
