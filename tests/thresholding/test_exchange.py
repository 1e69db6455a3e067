"""What a threshold stands for: misses in false alarms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.evaluate import ScoreStore
from csf.evaluate.draws import Units
from csf.metrics import MeanCost, RowCosts
from csf.report.kinds import facts_of
from csf.thresholding.capacity import Review
from csf.thresholding.exchange import ExchangeRate, exchange_rate

QUICK = {"n_trials": 1, "param_grid": None, "cv": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_classification(3000, 8, weights=[0.9], flip_y=0.02, class_sep=0.7, random_state=0)


def drawn(seed, n=2000):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n)
    return rng.random(n) < expit(1.5 * score - 2.0), score


def units(is_pos, copies=None):
    n = is_pos.size
    return Units(is_pos, None, np.arange(n), np.ones(n, dtype=int) if copies is None else copies)


@pytest.mark.parametrize("threshold", [-0.5, 0.5, 1.5])
def test_rates_are_the_odds_against_a_positive_at_the_threshold(threshold):
    truth, held = np.exp(2.0 - 1.5 * threshold), []
    for seed in range(40):
        is_pos, score = drawn(seed)
        rate = exchange_rate(units(is_pos), score, threshold)
        held.append(rate.low <= truth <= rate.high)
        assert 0.5 < rate.value / truth < 2.0
    assert np.mean(held) >= 0.75


@given(st.integers(0, 10**6), st.floats(-1.0, 1.5))
@settings(max_examples=20, deadline=None)
def test_the_order_of_scores_alone_counts_and_weights_are_copies_and_turned_classes_turn_rates(seed, threshold):
    is_pos, score = drawn(seed, 300)
    if is_pos.sum() < 5:
        return
    rate = exchange_rate(units(is_pos), score, threshold)
    np.testing.assert_allclose(exchange_rate(units(is_pos), np.exp(score), np.exp(threshold)), rate, rtol=1e-6)
    copies = np.random.default_rng(seed).integers(1, 4, 300)
    copied = exchange_rate(units(np.repeat(is_pos, copies)), np.repeat(score, copies), threshold)
    np.testing.assert_allclose(exchange_rate(units(is_pos, copies), score, threshold), copied, rtol=1e-6)
    np.testing.assert_allclose(exchange_rate(units(~is_pos), -score, -threshold), rate.inverse, rtol=1e-5)


def test_what_is_held_out_again_says_nothing_new_and_groups_say_less_than_their_rows():
    is_pos, score = drawn(0, 400)
    rate = exchange_rate(units(is_pos), score, 0.5)
    again = Units(np.tile(is_pos, 5), None, np.tile(np.arange(400), 5), np.ones(400, dtype=int))
    np.testing.assert_allclose(exchange_rate(again, np.tile(score, 5), 0.5), rate, rtol=1e-6)
    # Five equal rows in each group are one.
    store = ScoreStore(np.repeat(is_pos, 5), None)
    store.draw_together(np.repeat(np.arange(400), 5))
    np.testing.assert_allclose(exchange_rate(store, np.repeat(score, 5), 0.5), rate, rtol=1e-6)
    alone = exchange_rate(units(np.repeat(is_pos, 5)), np.repeat(score, 5), 0.5)
    assert np.log(alone.high / alone.low) < 0.6 * np.log(rate.high / rate.low)


@pytest.mark.parametrize(("is_pos", "threshold"), [([True, True], 0.5), ([True, False], np.inf)])
def test_one_class_or_one_answer_has_no_rate(is_pos, threshold):
    with pytest.raises(ValueError, match="takes scores of both classes, and a threshold between them"):
        exchange_rate(units(np.array(is_pos)), np.array([0.0, 1.0]), threshold)


def test_rates_are_shown_with_two_digits():
    assert ExchangeRate(123.4, 98.7, 1502.0).in_words(" false alarms") == "120 false alarms (99 to 1500)"


# ---------------------------------------------------------------- the sentence


def sentence(data, **options):
    search = CostSearch(LogisticRegression(), **{"metric": "f1", **QUICK, **options}).fit(*data)
    return search, facts_of(search).stands_for


def test_metrics_constraints_and_reviews_say_what_a_miss_is_treated_as_worth(data):
    search, text = sentence(data)
    rate = search.exchange_rate()
    assert text == f"One miss is treated as worth {rate.in_words(' false alarms')}."
    assert text in search.summary().sentences[0]
    assert 1.0 < rate.low < rate.value < rate.high
    strict, text = sentence(data, metric="specificity", constraint="recall >= 0.9")
    assert strict.exchange_rate().value > rate.value
    precise, text = sentence(data, metric="recall", constraint="precision >= 0.9")
    assert precise.exchange_rate().value < 1.0
    assert text == f"One false alarm is treated as worth {precise.exchange_rate().inverse.in_words(' misses')}."
    reviewed, text = sentence(data, review=Review(at_most=0.1))
    ends = [
        reviewed.exchange_rate(each).value for each in (reviewed.review_bands().upper, reviewed.review_bands().lower)
    ]
    assert text.endswith(f"Rows for which it would be {ends[0]:.2g} to {ends[1]:.2g} are reviewed.")


def test_each_segment_and_each_capacity_has_a_rate_of_its_own(data):
    X, y = data
    by = np.where(X[:, 0] > 0.0, "A", "B")
    search = CostSearch(LogisticRegression(), "f1", constraint="recall gap <= 0.05 by part", **QUICK).fit(X, y, by=by)
    rates = [search.exchange_rate(segment=name) for name in ("A", "B")]
    text = f"{rates[0].in_words(' false alarms')} for A, {rates[1]} for B."
    assert facts_of(search).stands_for == f"One miss is treated as worth {text}"
    with pytest.raises(ValueError, match=r"name one by segment=, of \['A', 'B'\], got None"):
        search.exchange_rate()
    search, _ = sentence(data)
    few, many = (search.exchange_rate(search.at_capacity(share).threshold).value for share in (0.02, 0.1))
    assert few < many
    moved = search.at_prevalence(0.3)
    assert moved.exchange_rate().value < 2.0 * search.exchange_rate().value


def test_costs_that_are_given_say_their_rates_instead(data):
    search, text = sentence(data, metric=MeanCost(fn=5.0, fp=1.0))
    errors = search.result_.errors
    assert text.startswith(f"Out-of-fold, these costs make the rule of recall >= {errors.tpr:.2g}, at precision 0.")
    of_rows, text = sentence(data, metric=RowCosts(fn=5.0, fp=1.0))
    assert text.startswith(f"Out-of-fold, these costs make the rule of recall >= {of_rows.result_.errors.tpr:.2g}")


def test_without_a_threshold_on_held_out_scores_there_is_none(data):
    search, text = sentence(data, threshold=None)
    assert text == ""
    with pytest.raises(ValueError, match="searches of two classes that tune a threshold"):
        search.exchange_rate()


def test_all_labels_that_share_a_threshold_have_a_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    Y = (rng.random((300, 3)) < expit(1.5 * X - [0.0, 1.0, 2.5])).astype(int)
    search = CostSearch(LogisticRegression(), "f1_micro", **QUICK).fit(X, Y)
    store, rows = search.held_out_, np.repeat(np.arange(300), 3)
    (row,) = store
    pairs = Units(store.is_pos, None, rows, np.ones(300, dtype=int))
    assert tuple(search.exchange_rate()) == pytest.approx(exchange_rate(pairs, row.score, search.best_threshold_))
