"""Several classes beside a null class: capacities, reviews and means of folds."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import Review
from csf.search.problems.two_classes import TwoClassResult
from csf.thresholding.rule import ThresholdRule

QUICK = {"null_class": "none", "param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}


def samples(n=1500, seed=0):
    """Three classes, two of which overlap, so that some are taken for each other."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["bird", "none", "tree"], n, p=[0.15, 0.7, 0.15])
    X = rng.normal(size=(n, 3)) + 1.6 * np.column_stack([y != "none", y == "tree", y == "tree"])
    return X, y


X, Y = samples()
NEW, TRUTH = samples(40_000, seed=1)


def literal_f1(truth, predicted):
    tp = np.sum((truth == predicted) & (truth != "none"))
    fn = np.sum((truth != "none") & (truth != predicted))
    fp = np.sum((truth == "none") & (predicted != "none"))
    return 2 * tp / (2 * tp + fn + fp)


@pytest.fixture(scope="module")
def search():
    return CostSearch(LogisticRegression(), **QUICK).fit(X, Y)


@pytest.mark.parametrize("share", [0.05, 0.15, 0.6])
def test_a_capacity_counts_rows_that_get_a_wrong_class(search, share):
    capacity, free = search.at_capacity(share), np.mean(search.predict(NEW) != "none")
    assert capacity.acted_on == pytest.approx(min(share, free), abs=0.03)
    predicted = search.predict(NEW, share)
    assert np.mean(predicted != "none") <= share
    assert capacity.value == pytest.approx(literal_f1(TRUTH, predicted), abs=0.05)
    captured = np.mean((predicted == TRUTH)[TRUTH != "none"])
    assert capacity.captured == pytest.approx(captured, abs=0.08)
    low, high = capacity.interval
    # One draw of ten is outside; by no more than a point here.
    assert low - 0.01 < literal_f1(TRUTH, predicted) < high + 0.01


def test_a_capacity_of_one_class_is_refused_with_the_way_out(search):
    with pytest.raises(ValueError, match=r"no 'bird'; accepted: \['none', 'not none'\]"):
        search.at_capacity({"bird": 0.1})


def test_reviews_name_the_class_of_rows_that_are_acted_on():
    search = CostSearch(LogisticRegression(), review=Review(cost=0.4, at_most=0.2), **QUICK).fit(X, Y)
    answers = search.predict_with_review(NEW)
    assert set(answers) == {"bird", "none", "tree", "review"}
    reviewed = answers == "review"
    plain, score = search.predict(NEW), search.score_samples(NEW)
    acted = ~reviewed & (answers != "none")
    np.testing.assert_array_equal(answers[acted], plain[acted])
    assert score[answers == "none"].max() < score[reviewed].min() < score[acted].min()
    shares, final = search.review_.shares, np.where(reviewed, TRUTH, answers)
    assert list(shares) == ["none", "not none", "review"]
    assert shares["review"] == pytest.approx(np.mean(reviewed), abs=0.05)
    assert search.review_.value == pytest.approx(literal_f1(TRUTH, final), abs=0.03)
    assert search.review_.wrong["none"] == pytest.approx(np.mean(TRUTH[answers == "none"] != "none"), abs=0.04)
    assert search.review_.wrong["not none"] == pytest.approx(np.mean((answers != TRUTH)[acted]), abs=0.06)


def test_reviews_keep_limits_on_wrong_answers():
    review = Review(cost=0.4, wrong={"none": 0.05, "not none": 0.1})
    search = CostSearch(LogisticRegression(), review=review, **QUICK).fit(X, Y)
    answers = search.predict_with_review(NEW)
    acted = ~np.isin(answers, ["none", "review"])
    assert np.mean(TRUTH[answers == "none"] != "none") < 0.07
    assert np.mean((answers != TRUTH)[acted]) < 0.14


def test_limits_on_wrong_answers_are_certified_on_rows_scored_once(monkeypatch):
    """An answer is right where it names the class of the row; rows held back are scored once for that."""
    search = CostSearch(
        LogisticRegression(), review=Review(cost=0.4, wrong={"not none": 0.3}), confidence=0.8, calibration=0.4, **QUICK
    )
    scored, tested, n_scored = ThresholdRule.scored, TwoClassResult.tested_reviews, []

    def counted(*given):
        with monkeypatch.context() as patch:
            patch.setattr(ThresholdRule, "scored", lambda rule, X: n_scored.append(len(X)) or scored(rule, X))
            return tested(*given)

    monkeypatch.setattr(TwoClassResult, "tested_reviews", counted)
    search.fit(X, Y)
    assert n_scored == [600]
    (guarantee,) = search.review_bands().guarantees.values()
    assert guarantee.holds
    answers = search.predict_with_review(NEW)
    acted = ~np.isin(answers, ["none", "review"])
    assert acted.mean() > 0.1
    wrong = np.mean((answers != TRUTH)[acted])
    assert wrong <= 0.3
    # Of the rows that are acted on some are taken for the other class.
    assert np.mean((TRUTH == "none")[acted]) < wrong


def test_a_few_rows_are_acted_on_beside_reviews():
    search = CostSearch(LogisticRegression(), review=Review(cost=0.4, at_most=0.1), **QUICK).fit(X, Y)
    answers = search.predict_with_review(NEW[:1000], 20)
    assert np.sum(~np.isin(answers, ["none", "review"])) == 20


def test_the_mean_of_folds_is_that_of_the_models_probabilities():
    search = CostSearch(LogisticRegression(), refit="folds", **QUICK).fit(X, Y)
    proba = np.mean([model.predict_proba(NEW) for model in search.best_estimator_.estimators_], axis=0)
    best = np.where(proba[:, 0] >= proba[:, 2], "bird", "tree")
    odds = np.maximum(proba[:, 0], proba[:, 2])
    score = odds / (odds + proba[:, 1])
    expected = np.where(score >= search.best_threshold_, best, "none")
    np.testing.assert_array_equal(search.predict(NEW), expected)
    assert search.corrected_score_ == pytest.approx(literal_f1(TRUTH, expected), abs=0.04)
