"""OMCSL: the loops against the literal algorithm, the laws of its experts and of the choice among them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.omcsl import omcsl as literal_omcsl
from scipy import sparse
from sklearn.metrics import average_precision_score, f1_score, fbeta_score, jaccard_score, roc_auc_score

from csf._common.compiled import parts
from csf.online import OMCSL
from csf.online.omcsl import AREA_PR, AREA_ROC, F_BETA, _choose, _weigh, areas, omcsl

MEASURES = {None: F_BETA, "auroc": AREA_ROC, "auprc": AREA_PR}
KINDS = [np.asarray, sparse.csr_array]
SETTINGS = [
    {"n_experts": 4},
    {"n_experts": 1, "loss": "hinge"},
    {"n_experts": 3, "beta": 2.0, "eta0": 30.0, "radius": 2.0},
    {"n_experts": 3, "eta0": 4.0, "radius": 1e-3, "gamma": None},
    {"n_experts": 10, "beta": 0.5, "eta0": 0.1, "loss": "hinge", "gamma": 3.0},
]
RANKINGS = [
    {"measure": "auroc", "n_experts": 3, "n_bins": 10},
    {"measure": "auprc", "n_experts": 3, "n_bins": 10, "gamma": 100.0},
    {"measure": "auroc", "n_experts": 2, "n_bins": 1000, "eta0": 300.0},
    {"measure": "auprc", "n_experts": 4, "n_bins": 2, "loss": "hinge", "gamma": None},
]


def stream(n=150, d=5, seed=0, pos=0.3):
    """Rows of length at most 1, signs."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < pos, 1.0, -1.0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[:, 0] += y
    return X / np.linalg.norm(X, axis=1).max(), y


class Loop:
    """State of a kernel that is run on chunks."""

    def __init__(
        self, kind, d, *, n_experts, beta=1.0, eta0=16.0, gamma=20.0, loss="logistic", radius=100.0, measure=None,
        n_bins=0,
    ):  # fmt: skip
        levels = 1.0 - np.arange(1, n_experts + 1) / (n_experts + 1)
        self.costs = np.array([levels, 1.0 + beta**2 - levels]) / (1.0 + beta**2)
        self.options = (eta0, radius, gamma or 0.0, loss == "hinge", beta**2, MEASURES[measure], True)
        self.kind, self.t = kind, 0
        self.V, self.U = np.zeros((d + 1, n_experts)), np.zeros((d + 1, n_experts))
        self.state = np.zeros((11, n_experts))
        self.state[:3] = 1.0
        self.pos, self.counts = np.zeros(3), np.zeros(4, dtype=np.int64)
        self.hist = np.zeros((3, 2, n_bins, n_experts + 1))

    def learn(self, X, y, uniform, x_scale=1.0, constant=1.0):
        state = (self.V, self.U, self.state, self.pos, self.hist, self.t, self.costs, self.options)
        omcsl(parts(self.kind(X)), y, x_scale, constant, *state, uniform, self.counts)
        self.t += len(y)

    def weights(self):
        a, p, q = self.state[:3]
        return (a * self.V).T, (p * self.V + q * self.U).T


@pytest.mark.parametrize("kind", KINDS, ids=["dense", "csr"])
@pytest.mark.parametrize("settings", SETTINGS + RANKINGS, ids=str)
def test_every_step_is_that_of_the_literal_algorithm(kind, settings):
    X, y = stream(60 if "measure" in settings else 150)
    uniform = np.random.default_rng(1).random(y.size)
    rows = np.column_stack([0.5 * X, np.full(y.size, 0.5)]).tolist()
    state, emitted = Loop(kind, X.shape[1], **settings), np.zeros(4, dtype=int)
    options = {"eta0": 16.0} | settings
    for i, step in enumerate(literal_omcsl(rows, y.tolist(), uniform.tolist(), **options)):
        state.learn(X[i : i + 1], y[i : i + 1], uniform[i : i + 1], x_scale=0.5, constant=0.5)
        last, averaged = state.weights()
        np.testing.assert_allclose(last, step["W"], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(averaged, step["mean"], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(state.state[4], step["values"], rtol=1e-12)
        np.testing.assert_array_equal(state.state[5], step["a"])
        emitted[(0 if y[i] > 0 else 1) if step["emitted"] else (2 if y[i] > 0 else 3)] += 1
        np.testing.assert_array_equal(state.counts, emitted)
    for row, sign in ((0, 1.0), (1, -1.0)) if "measure" in settings else ():
        counted = [np.bincount(np.array(scores)[y == sign], minlength=settings["n_bins"]) for scores in step["bins"]]
        np.testing.assert_array_equal(state.hist[0, row, :, :-1].T, counted)
        drawn = np.bincount(np.array(step["drawn"])[y == sign], minlength=settings["n_bins"])
        np.testing.assert_array_equal(state.hist[0, row, :, -1], drawn)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_long_streams_keep_their_digits(settings):
    X, y = stream(n=2200)
    uniform = np.random.default_rng(1).random(y.size)
    rows = np.column_stack([X, np.ones(y.size)]).tolist()
    options = {"eta0": 16.0} | settings
    *_, step = literal_omcsl(rows, y.tolist(), uniform.tolist(), **options)
    for kind in KINDS:
        state = Loop(kind, X.shape[1], **settings)
        state.learn(X, y, uniform)
        np.testing.assert_allclose(state.weights(), [step["W"], step["mean"]], rtol=1e-9, atol=1e-10)


def test_a_sparse_step_touches_its_own_columns_only():
    X, y = stream(n=200, d=40)
    X[:, 5:] *= np.random.default_rng(0).random((200, 35)) < 0.1
    state = Loop(sparse.csr_array, 40, n_experts=3)
    for i in range(200):
        before = state.V.copy(), state.U.copy()
        state.learn(X[i : i + 1], y[i : i + 1], np.array([0.5]))
        elsewhere = np.append(X[i] == 0.0, False)
        np.testing.assert_array_equal(state.V[elsewhere], before[0][elsewhere])
        np.testing.assert_array_equal(state.U[elsewhere], before[1][elsewhere])


def drawn(values, rate, uniform):
    """Expert that is drawn by its value."""
    share = np.empty(len(values))
    total = _weigh(values, rate, share)
    return _choose(share, total, uniform)


@given(
    values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8),
    rate=st.floats(0.1, 500.0),
    uniform=st.floats(0.0, 1.0, exclude_max=True),
    shift=st.sampled_from([0.0, 1.0, -3.0]),
)
def test_one_expert_is_drawn_whatever_is_added_to_all_values(values, rate, uniform, shift):
    values = np.round(values, 6)
    weights = np.exp(rate * (values - values.max()))
    edges = np.cumsum(weights / weights.sum())
    k = drawn(values, rate, uniform)
    if np.abs(edges - uniform).min() > 1e-9:
        assert k == np.searchsorted(edges, uniform, side="right")
        assert k == drawn(values + shift, rate, uniform)


def test_one_expert_is_cost_sensitive_gradient_descent():
    X, y = stream(n=400)
    X[0] /= np.linalg.norm(X[0])  # the first row has length 1: no scale
    w = np.zeros(X.shape[1] + 1)
    for t, (x, sign) in enumerate(zip(np.column_stack([X, np.ones(y.size)]), y), start=1):
        cost = 0.75 if sign > 0 else 0.25
        w += 3.0 / np.sqrt(t) * cost * sign * x / (1.0 + np.exp(sign * (w @ x)))
    model = OMCSL(n_experts=1, eta0=3.0, random_state=0).partial_fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-9)
    assert model.online_value_ == pytest.approx(model.expert_values_[0])


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("f1", f1_score),
        ("jaccard", jaccard_score),
        ("f2", lambda *labels: fbeta_score(*labels, beta=2.0, zero_division=0.0)),
    ],
)
def test_values_are_those_of_the_predictions(metric, score):
    X, y = stream(n=700)
    model, emitted = OMCSL(metric, n_experts=5, random_state=0), []
    model._adopt(np.array([-1.0, 1.0]), X.shape[1], np.random.default_rng(0))
    for i in range(y.size):
        a = model._state[0]
        emitted.append(model.x_scale_ * X[i] @ (a * model._V[:-1, :5]) + a * model._V[-1, :5] > 0)
        model._learn(X[i : i + 1], y[i : i + 1])
    emitted = np.array(emitted)
    expected = [score(y, np.where(column, 1.0, -1.0)) for column in emitted.T]
    np.testing.assert_allclose(model.expert_values_, expected)
    late = slice(256, None)  # 512 is the last power of two
    recent = [score(y[late], np.where(column, 1.0, -1.0)) for column in emitted[late].T]
    assert model.best_expert_ == np.argmax(recent)
    counts = model.online_counts_
    assert sum(counts.values()) == y.size
    assert counts["tp"] + counts["fn"] == np.sum(y > 0)
    assert model.coef_.shape == (1, X.shape[1])
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])


@given(
    score=st.lists(st.integers(0, 7), min_size=1, max_size=60),
    seed=st.integers(0, 1000),
)
def test_areas_of_histograms_are_those_of_scikit_learn(score, seed):
    y = np.random.default_rng(seed).integers(0, 2, len(score))
    of_pos, of_neg = (np.bincount(np.array(score)[y == label], minlength=8)[:, None].astype(float) for label in (1, 0))
    for precision, expected in ((False, roc_auc_score), (True, average_precision_score)):
        values = np.empty(1)
        areas(of_pos, of_neg, precision, values)
        assert values[0] == pytest.approx(expected(y, score) if 0 < y.sum() < y.size else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "score"), [("auroc", roc_auc_score), ("auprc", average_precision_score)])
def test_rankings_are_judged_by_the_scores_at_the_time(metric, score):
    X, y = stream(n=700)
    model, met = OMCSL(metric, n_experts=5, n_bins=100_000, gamma=5.0, random_state=0), []
    model._adopt(np.array([-1.0, 1.0]), X.shape[1], np.random.default_rng(0))
    for i in range(y.size):
        a = model._state[0]
        met.append(model.x_scale_ * X[i] @ (a * model._V[:-1, :5]) + a * model._V[-1, :5])
        model._learn(X[i : i + 1], y[i : i + 1])
    met = np.array(met)
    np.testing.assert_allclose(model.expert_values_, [score(y, column) for column in met.T], atol=1e-3)
    recent = [score(y[256:], column) for column in met[256:].T]  # 512 is the last power of two
    assert recent[model.best_expert_] == pytest.approx(max(recent), abs=1e-3)
    assert 0.5 * min(model.expert_values_) < model.online_value_ < min(model.expert_values_)
    assert sum(model.online_counts_.values()) == y.size
    alone = OMCSL(metric, n_experts=1, random_state=0).partial_fit(X, y)
    assert alone.online_value_ == alone.expert_values_[0] > 0.5


def test_rankings_have_no_value_without_both_classes():
    X, _ = stream(50)
    model = OMCSL("auroc", random_state=0).partial_fit(X, np.zeros(50), classes=[0, 1])
    assert model.online_value_ == 0.0
    assert model.best_expert_ == 0
    assert not model.expert_values_.any()
    assert model.partial_fit(X, np.arange(50) % 2).online_value_ > 0.0


def test_costs_are_those_of_the_levels():
    model = OMCSL(n_experts=4).partial_fit(*stream())
    np.testing.assert_allclose(model.levels_, [0.8, 0.6, 0.4, 0.2])
    np.testing.assert_allclose(model._costs(), [[0.4, 0.3, 0.2, 0.1], [0.6, 0.7, 0.8, 0.9]])
    jaccard = OMCSL("jaccard", n_experts=1).partial_fit(*stream())
    np.testing.assert_allclose(jaccard._costs(), [[1 / 3], [2 / 3]])


def toy(n, seed, pos=0.1):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < pos).astype(int)
    return rng.standard_normal((n, 5)) + 1.3 * y[:, None] * np.array([1.0, 0.5, 0.0, 0.0, 0.0]), y


def test_experts_with_dearer_positives_find_more_of_them():
    rates = []
    for seed in range(5):
        X, y = toy(10_000, seed)
        model = OMCSL(random_state=0).partial_fit(X, y)
        rates.append(model._state[5] / y.sum())
    mean = np.mean(rates, axis=0)
    assert (np.diff(mean) > -0.01).all()
    assert mean[-1] > mean[0] + 0.3


def test_emitted_predictions_keep_up_with_the_best_expert():
    for seed in range(3):
        X, y = toy(30_000, seed)
        model = OMCSL(gamma=500.0, random_state=seed).partial_fit(X, y)
        assert model.online_value_ >= model.expert_values_.max() - 0.05
        model = OMCSL(gamma="sqrt", random_state=seed).partial_fit(X, y)
        assert model.online_value_ >= model.expert_values_.max() - 0.05


def test_toy_problem():
    """Between the worst and the best expert while learning, as good as the best cut in the end."""
    X, y = toy(30_000, 0)
    test_X, test_y = toy(30_000, 1)
    model = OMCSL(random_state=0).partial_fit(X, y)
    direction = test_X[:, 0] + 0.5 * test_X[:, 1]
    best = max(f1_score(test_y, direction >= cut) for cut in np.linspace(0.0, 3.0, 61))
    assert model.expert_values_.min() < model.online_value_ < model.expert_values_.max() + 0.01
    assert f1_score(test_y, model.predict(test_X)) > best - 0.03
    assert f1_score(test_y, OMCSL(average=True, random_state=0).fit(X, y).predict(test_X)) > best - 0.03


def test_the_seed_draws_the_experts_and_no_weights():
    X, y = toy(3000, 0)
    one, same, other = (OMCSL(random_state=seed, gamma=1.0).partial_fit(X, y) for seed in (0, 0, 1))
    assert one.online_counts_ == same.online_counts_ != other.online_counts_
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9, atol=1e-12)
