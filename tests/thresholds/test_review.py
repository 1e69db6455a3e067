from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from csf.metrics import Review
from csf.metrics.row_costs import CostTable
from csf.thresholds.capacity import Answered, Bands, bands_of_costs, bands_of_score
from csf.thresholds.row_costs import leaning_of
from csf.thresholds.rule import Leaning


def paid(answers, truth, weight, g, h, cost, error):
    """What answers cost in all, written out."""
    total = 0.0
    for answer, positive, each in zip(answers, truth, weight):
        wrong = g if positive else h
        total += (
            each * {"negative": g * positive, "positive": h * (not positive), "review": cost + error * wrong}[answer]
        )
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


@settings(max_examples=100, deadline=None)
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
    answers = bands.decide(Leaning.of_score(score))
    own = paid(answers, truth, weight, g, 1.0, cost, error)
    assert own == pytest.approx(least, abs=1e-9)
    assert weight @ (answers == "review") <= limit
    everything = paid(np.full(score.size, "review"), truth, weight, g, 1.0, cost, error)
    assert own <= min(alone[0], everything if problem["at_most"] is None else np.inf) + 1e-9


@settings(max_examples=50, deadline=None)
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
    bands = bands_of_costs(review, p, table, np.ones(p.size))
    answers = bands.decide(leaning_of(odds, table, review, bands.extra_cost))
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
    bands = Bands(review=Review(cost=0.1, wrong={"negative": 0.2}), lower=5.0, upper=5.0)
    rows = Answered(Leaning.of_score(score), truth, None)
    answers = bands.limited(rows).decide(rows.rows)
    # One of five below 5 is wrong; of those from 5 on nothing was asked.
    assert answers.tolist() == ["negative"] * 5 + ["positive"] * 5
    stricter = Bands(review=Review(cost=0.1, wrong=0.1), lower=5.0, upper=5.0).limited(rows)
    assert stricter.decide(rows.rows).tolist() == ["negative"] * 2 + ["review"] * 5 + ["positive"] * 3
    alone = Review(wrong=0.1)
    bands = bands_of_score(alone, score, truth, np.ones(10), (1.0, 1.0), 5.0).limited(rows)
    assert bands.decide(rows.rows).tolist() == stricter.decide(rows.rows).tolist()
    table = CostTable(*np.ones((2, 10)), *np.zeros((2, 10)))
    by_costs = bands_of_costs(alone, np.linspace(0.05, 0.95, 10), table, np.ones(10))
    assert set(by_costs.decide(leaning_of(logit(np.linspace(0.05, 0.95, 10)), table, alone, by_costs.extra_cost))) == {
        "negative",
        "positive",
    }
    none = Bands(review=Review(cost=0.1, wrong=0.1), lower=5.0, upper=5.0)
    wrong = Answered(Leaning.of_score(score), score < 5, None)
    assert set(none.limited(wrong).decide(rows.rows)) == {"review"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "a review that costs nothing is the answer to all rows"),
        ({"cost": -1.0}, "cost of a review must be >= 0"),
        ({"cost": 1.0, "at_most": 1.5}, "at_most of a review must be a number in"),
        ({"cost": 1.0, "error": 1.0}, "error of a review must be a share"),
        ({"cost": 1.0, "wrong": 2.0}, "wrong of 'negative' must be a number in"),
        ({"cost": 1.0, "wrong": {"positve": 0.1}}, "wrong limits the answers 'negative' and 'positive'"),
    ],
)
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Review(**given)


def test_a_number_of_reviews_is_refused():
    with pytest.raises(ValueError, match="at_most of a review must be a number in"):
        Review(at_most=100)
