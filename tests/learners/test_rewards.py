"""Rewards bound the true rates; the weighted SVM is the balanced one of scikit-learn at equal prices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from csf.learners.fenchel import RewardProblem
from csf.metrics import HMean


def draw(seed, n=80):
    rng = np.random.default_rng(seed)
    is_pos = np.arange(n) < max(2, rng.integers(2, n // 2))
    X = rng.normal(size=(n, 3))
    X[is_pos] += 0.8
    return X, is_pos, rng.uniform(0.0, 3.0, size=n) + 1e-6


@given(seed=st.integers(0, 10**6), size=st.floats(0.0, 20.0))
def test_rewards_are_below_the_rates(seed, size):
    X, is_pos, weight = draw(seed)
    problem = RewardProblem(X, is_pos, weight, C=1.0)
    margins = problem.margins(size * np.random.default_rng(seed).normal(size=4))
    fn, fp = problem.errors(margins)
    rates = problem.rates(margins)
    assert rates[0] <= 1.0 - fn / problem.pos + 1e-12
    assert rates[1] <= 1.0 - fp / (1.0 - problem.pos) + 1e-12
    assert HMean().extension(*rates) <= HMean().value(fn, fp, pos=problem.pos) + 1e-12


def test_a_score_of_zero_is_a_negative_prediction():
    problem = RewardProblem(np.zeros((4, 1)), np.array([True, True, False, False]), None, C=1.0)
    assert problem.errors(problem.margins(np.zeros(2))) == (0.5, 0.0)


def test_weights_count_like_repetition():
    X, is_pos, _ = draw(0)
    times = np.arange(len(X)) % 3
    rows = np.repeat(np.arange(len(X)), times)
    weighted = RewardProblem(X, is_pos, times.astype(float), C=2.0)
    repeated = RewardProblem(X[rows], is_pos[rows], None, C=2.0)
    w = np.array([0.3, -1.0, 0.2, 0.5])
    assert weighted.pos == pytest.approx(repeated.pos)
    assert weighted.lam == pytest.approx(repeated.lam)
    assert weighted.rates(weighted.margins(w)) == pytest.approx(repeated.rates(repeated.margins(w)))
    assert weighted.errors(weighted.margins(w)) == pytest.approx(repeated.errors(repeated.margins(w)))


def test_equal_prices_give_the_balanced_svm_of_the_same_c():
    X, is_pos, _ = draw(1)
    problem = RewardProblem(X, is_pos, None, C=0.01)
    svm = problem.solve(problem.balanced(), tol=1e-10)
    model = LinearSVC(loss="hinge", C=0.01, class_weight="balanced", tol=1e-10, max_iter=10**6, random_state=0)
    model.fit(X, is_pos)
    np.testing.assert_allclose(svm.w, np.append(model.coef_, model.intercept_), atol=1e-5)


def test_objective_in_units_of_rewards():
    """alpha P + beta N - lam/2 ||w||^2 = alpha + beta - lam * objective of the SVM."""
    X, is_pos, weight = draw(2)
    problem = RewardProblem(X, is_pos, weight, C=3.0)
    svm = problem.solve(problem.balanced(0.7, 0.2), tol=1e-8)
    p, n = problem.rates(svm.margins)
    rewards = 0.7 * p + 0.2 * n - 0.5 * problem.lam * svm.w @ svm.w
    assert rewards == pytest.approx(0.9 - problem.lam * svm.objective, abs=1e-12)
    assert problem.lam * svm.gap <= 1e-8
