"""OnlineLogistic: the loop against the literal algorithm, and the laws of averaged weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.online_logistic import online_logistic, shares
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from csf.online import OnlineLogistic as Learner
from csf.online.logistic import AVERAGING, GradientSteps, _schedule


def OnlineLogistic(*args, **options):
    """With the published steps."""
    return Learner(*args, **({"step": "paper"} | options))


SETTINGS = [
    {"eta0": 2.0},
    {"eta0": 16.0, "averaging": "uniform"},
    {"eta0": 1.0, "averaging": "suffix"},
    {"eta0": 0.5, "averaging": "none"},
    {"eta0": 4.0, "alpha": 0.1, "averaging": "poly", "gain": 1.5},
    {"eta0": 4.0, "alpha": 10.0, "averaging": "suffix"},
    {"eta0": 4.0, "radius": 0.7, "averaging": "poly"},
    {"eta0": 4.0, "alpha": 0.05, "radius": 0.3, "averaging": "uniform"},
    {"eta0": 4.0, "radius": 1e-3, "averaging": "none"},
    {"eta0": 1.0, "gain": 1000.0},  # the scalar of the average falls below any number
    {"eta0": 1.0, "radius": 1e-60, "averaging": "poly"},  # and that of the weights
]
KINDS = [np.asarray, sparse.csr_array]


def stream(n=120, d=7, seed=0, density=0.6):
    """Rows of length at most 1, signs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    X /= np.linalg.norm(X, axis=1).max()
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0.1, 1.0, -1.0)


class Loop:
    """Published steps on chunks."""

    def __init__(self, kind, d, **settings):
        self.learner, self.kind = OnlineLogistic(**settings), kind
        self.steps = GradientSteps(self.learner, d)
        self.learner.n_seen_ = 0

    def learn(self, X, y, x_scale=1.0, constant=1.0):
        self.learner.x_scale_, self.learner.intercept_scaling = x_scale, constant
        proba = self.steps.learn(self.learner, self.kind(X), y)
        self.learner.n_seen_ += len(y)
        return proba

    def weights(self):
        return self.steps.weights()[::-1]


@pytest.mark.parametrize("kind", KINDS, ids=["dense", "csr"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_step_is_that_of_the_literal_algorithm(kind, settings):
    X, y = stream()
    state = Loop(kind, X.shape[1], **settings)
    rows = np.column_stack([0.5 * X, np.full(len(y), 2.0)]).tolist()
    for i, (proba, w, w_bar) in enumerate(online_logistic(rows, (y > 0).tolist(), **settings)):
        got = state.learn(X[i : i + 1], y[i : i + 1], x_scale=0.5, constant=2.0)
        last, averaged = state.weights()
        scale = max(1.0, np.abs(w).max())
        np.testing.assert_allclose(got, proba, rtol=0, atol=1e-10)
        np.testing.assert_allclose(last, w, rtol=1e-10, atol=1e-10 * scale)
        np.testing.assert_allclose(averaged, w_bar, rtol=1e-10, atol=1e-10 * scale)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_long_streams_keep_their_digits(settings):
    """Also where norms are computed anew."""
    X, y = stream(n=2500)
    rows = np.column_stack([X, np.ones(len(y))]).tolist()
    *_, (_, w, w_bar) = online_logistic(rows, (y > 0).tolist(), **settings)
    for kind in KINDS:
        state = Loop(kind, X.shape[1], **settings)
        state.learn(X, y)
        np.testing.assert_allclose(state.weights(), [w, w_bar], rtol=1e-10, atol=1e-10 * np.abs(w).max())


def test_a_sparse_step_touches_its_own_columns_only():
    X, y = stream(n=300, d=40, density=0.1)
    state = Loop(sparse.csr_array, 40, eta0=4.0)
    for i in range(300):
        before = state.steps.v.copy(), state.steps.u.copy()
        state.learn(X[i : i + 1], y[i : i + 1])
        elsewhere = np.append(X[i] == 0.0, False)
        np.testing.assert_array_equal(state.steps.v[elsewhere], before[0][elsewhere])
        np.testing.assert_array_equal(state.steps.u[elsewhere], before[1][elsewhere])


@given(averaging=st.sampled_from(AVERAGING), gain=st.floats(0.0, 10.0), n=st.integers(1, 300))
def test_shares_of_the_average_are_weights_that_sum_to_one(averaging, gain, n):
    _, share = _schedule(0, n, OnlineLogistic(averaging=averaging, gain=gain))
    np.testing.assert_allclose(share, [rho for rho, _ in zip(shares(averaging, gain), range(n))])
    weights = share * np.append(np.cumprod(1.0 - share[:0:-1])[::-1], 1.0)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)


def well_specified(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 3)) / np.sqrt(3.0)
    w = np.array([2.0, -3.0, 1.0])
    proba = 1.0 / (1.0 + np.exp(-(X @ w - 0.5)))
    return X, (rng.random(n) < proba).astype(int), np.append(w, -0.5)


@pytest.mark.slow
def test_weights_come_to_the_truth_like_one_over_the_root_of_t():
    def error(n, seed):
        X, y, truth = well_specified(n, seed)
        model = OnlineLogistic(8.0).partial_fit(X, y)
        return np.linalg.norm(np.append(model.coef_, model.intercept_) - truth)

    errors = {n: np.mean([error(n, seed) for seed in range(8)]) for n in (2000, 32000, 512000)}
    assert 2.5 < errors[2000] / errors[32000] < 6.5
    assert 2.5 < errors[32000] / errors[512000] < 6.5
    assert errors[512000] < 0.05


def test_posteriors_are_calibrated_on_average_thanks_to_the_intercept():
    X, y, _ = well_specified(200_000, 5)
    model = OnlineLogistic().partial_fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.005)
    groups = np.digitize(model.predict_proba(X)[:, 1], [0.2, 0.4, 0.6])
    for group in range(4):
        assert model.predict_proba(X[groups == group])[:, 1].mean() == pytest.approx(
            y[groups == group].mean(), abs=0.02
        )


def test_one_pass_comes_close_to_the_batch_solution():
    X, y, _ = well_specified(50_000, 1)
    batch = LogisticRegression(C=1e6).fit(X, y)
    model = OnlineLogistic().partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, batch.coef_, atol=0.15)


def test_the_first_example_has_probability_one_half():
    model = OnlineLogistic()
    model._adopt(np.array([0, 1]), 2, np.random.default_rng(0))
    assert model._predict_then_learn(np.array([[3.0, 4.0]]), np.array([1.0])).tolist() == [0.5]
    assert model.online_counts_ == {"tp": 1, "fp": 0, "fn": 0, "tn": 0}


def test_prediction_is_the_sign_of_the_score_and_probability_at_least_one_half():
    X, y, _ = well_specified(1000, 2)
    model = OnlineLogistic().partial_fit(X, y)
    score = X @ model.coef_[0] + model.intercept_[0]
    assert np.array_equal(model.predict(X) == 1, score >= 0)
    assert np.array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] >= model.threshold_)
    np.testing.assert_allclose(model.decision_function(X), score)
    # a score of 0 is positive, as a probability of 1/2 is
    blank = OnlineLogistic(1e-300, fit_intercept=False).partial_fit(X, y)
    assert (blank.predict(np.zeros((1, 3))) == 1).all()
    assert blank.decision_function(np.zeros((1, 3)))[0] > 0


def test_probabilities_stay_inside_the_unit_interval():
    model = OnlineLogistic(1e6, averaging="none").partial_fit([[-1.0], [1.0]], [0, 1])
    proba = model.predict_proba([[-1e300], [0.0], [1e300]])
    assert proba.min() == pytest.approx(1e-12)
    assert proba.max() == 1.0 - 1e-12
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_emitted_predictions_are_counted():
    X, y, _ = well_specified(500, 3)
    model = OnlineLogistic()
    model._adopt(np.array([0, 1]), 3, np.random.default_rng(0))
    proba = model._predict_then_learn(X, np.where(y == 1, 1.0, -1.0))
    emitted = proba >= 0.5
    assert model.online_counts_ == {
        "tp": np.sum(emitted & (y == 1)), "fp": np.sum(emitted & (y == 0)),
        "fn": np.sum(~emitted & (y == 1)), "tn": np.sum(~emitted & (y == 0)),
    }  # fmt: skip
    assert model.online_profile_.pos == pytest.approx(y.mean())
    assert model.history_["tp"][-1] <= model.online_counts_["tp"]
