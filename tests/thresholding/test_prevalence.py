"""Another share of positives."""

import numpy as np
import pytest
from builders import paper_search
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import METRICS
from csf.thresholding import curve_at_prevalence, estimate_prevalence, sweep


@pytest.mark.parametrize("metric", ["f1", "jaccard", "gmean", "mcc"])
@settings(max_examples=20, deadline=None)
@given(pos=st.floats(0.01, 0.99), seed=st.integers(0, 1000))
def test_it_is_the_sweep_of_weighted_classes(metric, pos, seed):
    rng = np.random.default_rng(seed)
    is_pos = rng.random(60) < 0.3
    is_pos[:2] = True, False
    score, weight = rng.normal(size=60) + is_pos, rng.random(60) + 0.1
    share = weight[is_pos].sum() / weight.sum()
    again = sweep(is_pos, score, weight * np.where(is_pos, pos / share, (1 - pos) / (1 - share)))
    moved = curve_at_prevalence(sweep(is_pos, score, weight), pos)
    assert moved.pos == pytest.approx(again.pos, abs=1e-12)
    assert moved.value(METRICS[metric]()) == pytest.approx(again.value(METRICS[metric]()), abs=1e-12)


def test_a_search_moves_its_threshold():
    X, y = make_classification(1500, 6, weights=[0.7], flip_y=0.05, random_state=0)
    search = paper_search(LinearSVC(), n_trials=4, cv=3).fit(X, y)
    same = search.at_prevalence(search.studies_[0].pos)
    assert same.best_threshold_ == pytest.approx(search.best_threshold_, abs=1e-5)
    assert same.best_score_ == pytest.approx(search.best_score_, abs=1e-9)
    assert same.corrected_score_ == pytest.approx(search.corrected_score_, abs=0.02)
    rare = search.at_prevalence(0.02)
    assert rare.best_threshold_ > search.best_threshold_
    assert rare.best_score_ < search.best_score_
    assert rare.score_at_prevalence_ >= rare.best_score_
    assert rare.score_interval_[0] < rare.corrected_score_ < rare.score_interval_[1]
    assert (search.predict(X) == search.fit(X, y).predict(X)).all()
    # a test set with that share is judged as it said
    weight = np.where(y == 1, 0.02 / y.mean(), 0.98 / (1 - y.mean()))
    assert rare.score(X, y, weight) == pytest.approx(rare.best_score_, abs=0.05)
    assert rare.score(X, y, weight) > search.score(X, y, weight)
    with pytest.raises(ValueError, match="pos must be"):
        search.at_prevalence(1.0)
    own = CostSearch(LinearSVC(), n_trials=2, cv=3, threshold=None).fit(X, y)
    with pytest.raises(ValueError, match="no threshold can move"):
        own.at_prevalence(0.1)


@pytest.mark.parametrize("share", [0.02, 0.2, 0.7])
def test_the_share_of_unlabelled_samples_is_found(share):
    estimates = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        is_pos = rng.random(2000) < share
        x = rng.normal(size=2000) + 2.0 * is_pos
        estimates.append(estimate_prevalence(1 / (1 + 4.0 * np.exp(2.0 - 2.0 * x)), 0.2))
    assert abs(np.mean(estimates) - share) < 2.5 * np.std(estimates) / np.sqrt(20)


def test_the_share_of_a_shifted_sample_of_a_trained_model():
    X, y = make_classification(6000, 6, weights=[0.7], class_sep=0.8, flip_y=0.0, random_state=1)
    model = LogisticRegression().fit(X[:3000], y[:3000])
    new = np.arange(3000, 6000)
    new = new[(y[new] == 1) | (np.arange(3000) % 3 == 0)]
    found = estimate_prevalence(model.predict_proba(X[new])[:, 1], y[:3000].mean())
    assert found == pytest.approx(y[new].mean(), abs=0.05)


def test_limits_and_weights():
    assert estimate_prevalence(np.zeros(5), 0.3) < 1e-6
    assert estimate_prevalence(np.ones(5), 0.3) > 1 - 1e-6
    proba = np.array([0.1, 0.4, 0.9])
    twice = estimate_prevalence(np.repeat(proba, [1, 2, 3]), 0.3)
    assert estimate_prevalence(proba, 0.3, sample_weight=[1, 2, 3]) == pytest.approx(twice)


@pytest.mark.parametrize(
    ("score", "message"), [([], "one probability"), ([[0.1]], "one probability"), ([1.5, 0.2], "probabilit")]
)
def test_what_is_no_probability_is_refused(score, message):
    with pytest.raises(ValueError, match=message):
        estimate_prevalence(score, 0.5)
