"""Steps without tuning: compiled and plain loops against the literal belief, and the laws of units, windows, prices."""

import copy
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.gaussian_belief import gaussian_belief, settled
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from csf.online import OFO, SPADE, STAMP, OnlineLogistic
from csf.online import _gaussian as _belief
from csf.online._gaussian import Belief, Pricing, _settle, believe


def stream(n=400, d=6, seed=0, pos=0.2):
    """Correlated features of unlike units, some of them rare; labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** np.arange(d)
    X[rng.random((n, d)) < 0.3] = 0.0
    score = X[:, 0] / X[:, 0].std() + 0.7 * rng.standard_normal(n)
    return X, np.where(score > np.quantile(score, 1.0 - pos), 1.0, -1.0)


def learnt(X, y, *, sizes=None, pricing=None, full=True, **options):
    """Belief after the rows in chunks, and posteriors."""
    belief = Belief(X.shape[1], **({"prior": 1.0, "constant": 1.0} | options))
    if belief.full is not full:
        raise AssertionError("another kind of belief")
    proba, start, turn = np.empty(y.size), 0, 0
    while start < y.size:
        stop = min(y.size, start + (sizes[turn % len(sizes)] if sizes else y.size))
        believe(belief, X[start:stop], y[start:stop], start, pricing or Pricing(), proba[start:stop])
        start, turn = stop, turn + 1
    return belief, proba


@pytest.fixture(params=[True, False], ids=["full", "diagonal"])
def is_full(request, monkeypatch):
    """Either kind of belief."""
    if not request.param:
        monkeypatch.setattr(_belief, "MOST_CORRELATED", 0)
    return request.param


@pytest.mark.parametrize("pricing", [Pricing(), Pricing.of(7.0, 0.2)], ids=["alike", "priced"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_every_step_is_that_of_the_literal_belief(is_full, kind, pricing):
    X, y = stream(250)
    Z = np.column_stack([X, np.ones(y.size)])
    options = {"weights": pricing[:2], "offset": pricing.offset, "diagonal": not is_full}
    steps = list(gaussian_belief(Z, y > 0, prior=0.5, **options))
    belief, proba = learnt(kind(X), y, prior=0.5, pricing=pricing, full=is_full)
    np.testing.assert_allclose(proba, 1.0 / (1.0 + np.exp([-score for score, _ in steps])), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(belief.weights()[0], steps[-1][1], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_parts_of_a_chunk_are_learnt_in_place(is_full, kind):
    X, y = stream()
    Z, belief, proba = kind(X), Belief(X.shape[1], prior=1.0, constant=1.0), np.empty(y.size)
    for start in range(0, y.size, 90):
        believe(belief, Z, y, start, Pricing(), proba[start : start + 90], start)
    sliced, expected = learnt(Z, y, sizes=(90,), full=is_full)
    np.testing.assert_array_equal(proba, expected)
    np.testing.assert_array_equal(belief.weights(), sliced.weights())


@example(score=3.0, reach=41.0, target=0.0)  # where plain Newton steps go round in circles
@given(score=st.floats(-50, 50), reach=st.floats(0.0, 1e6), target=st.sampled_from([0.0, 1.0]))
def test_scores_settle_where_belief_and_example_balance(score, reach, target):
    z = _settle(score, reach, target)
    assert z == pytest.approx(settled(score, reach, target), abs=1e-8 * (1.0 + abs(score) + reach))


# ---------------------------------------------------------------- laws


@settings(max_examples=20)
@given(powers=st.lists(st.floats(-9.0, 9.0), min_size=6, max_size=6))
def test_any_units_give_the_same_scores(powers):
    X, y = stream(900)
    units = 10.0 ** np.array(powers)
    belief, proba = learnt(X, y)
    other, same = learnt(X * units, y)
    np.testing.assert_allclose(same, proba, atol=1e-8)
    np.testing.assert_allclose(other.weights()[0][:-1] * units, belief.weights()[0][:-1], rtol=1e-6, atol=1e-9)


def test_the_mean_is_near_the_batch_solution_after_one_pass():
    X, y = stream(6000)
    scaled = X / np.abs(X).max(axis=0)
    batch = LogisticRegression(C=1.0, max_iter=2000).fit(scaled, y)
    belief, _ = learnt(X, y)
    score = np.column_stack([X, np.ones(y.size)]) @ belief.weights()[0]
    other = batch.decision_function(scaled)
    assert np.corrcoef(score, other)[0, 1] > 0.995
    assert average_precision_score(y, score) > average_precision_score(y, other) - 0.01


def test_gathering_changes_little(monkeypatch):
    X, y = stream(4000)
    gathered, _ = learnt(X, y)
    exact = copy.deepcopy(Belief(6, prior=1.0, constant=1.0))
    for start in range(0, 4000, 500):  # every example as if it were among the first
        believe(exact, X[start : start + 500], y[start : start + 500], 0, Pricing(), np.empty(500))
    Z = np.column_stack([X, np.ones(y.size)])
    one, other = Z @ gathered.weights()[0], Z @ exact.weights()[0]
    assert np.abs(one - other).max() < 0.15 * np.abs(other).std() + 0.15


def test_a_window_follows_a_change_of_sides(is_full):
    X, y = stream(6000, pos=0.5)
    turned = np.where(np.arange(6000) < 4500, y, -y)
    keeps, _ = learnt(X, turned, full=is_full)
    follows, _ = learnt(X, turned, window=500, full=is_full)
    Z = np.column_stack([X, np.ones(y.size)])
    right = [np.mean((Z[4500:] @ belief.weights()[0] > 0) == (turned[4500:] > 0)) for belief in (keeps, follows)]
    assert right[1] > right[0] + 0.04
    assert right[1] > 0.7


def test_a_window_keeps_the_belief_within_the_prior():
    X, y = stream(3000)
    X[500:, 2] = 0.0  # nothing more is learnt of it
    belief, _ = learnt(X, y, window=100)
    variances = np.diag(belief.spread)
    assert (variances <= np.append(np.ones(6), 10.0) * (1 + 1e-9)).all()
    assert np.linalg.eigvalsh(belief.spread).min() > 0.0


def test_rounding_does_not_grow_with_what_is_forgotten():
    """Rare positives and hundreds of windows."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40_000) < 0.02, 1.0, -1.0)
    X = rng.standard_normal((40_000, 3)) + 1.5 * (y > 0)[:, None]
    belief, _ = learnt(X, y, window=200)
    assert np.array_equal(belief.spread, belief.spread.T) or np.abs(belief.spread - belief.spread.T).max() < 1e-9
    assert np.linalg.eigvalsh(belief.spread).min() > 0.0
    score = np.column_stack([X, np.ones(y.size)]) @ belief.weights()[0]
    assert average_precision_score(y, score) > 0.5


@pytest.mark.parametrize("learner", [OnlineLogistic(), OnlineLogistic(window=300)], ids=str)
def test_labels_cannot_leak_into_posteriors_before(learner):
    """The same row with either label has the same posterior."""
    X, y = stream(3000, pos=0.02)
    for last in range(900, 3000, 150):
        proba = []
        for label in (1.0, -1.0):
            _, out = learnt(X[: last + 1], np.append(y[:last], label), window=learner.window)
            proba.append(out[-1])
        assert proba[0] == proba[1]


def test_positives_after_thousands_of_negatives_move_the_weights_without_overshoot():
    X, y = stream(9000, pos=0.3)
    order = np.argsort(y, kind="stable")
    belief, proba = learnt(X[order], y[order])
    assert np.isfinite(belief.weights()[0]).all()
    assert np.abs(np.column_stack([X, np.ones(y.size)]) @ belief.weights()[0]).max() < 100.0
    assert proba[-100:].mean() > 0.5


def test_values_at_the_ends_of_the_range(is_full):
    X = np.array([[1e-320, 1e308, 0.0], [1e-310, -1e-300, 1.0], [1.0, 1e300, 1e-290], [5e-324, 0.0, 1e308]] * 20)
    for rows in (X, sparse.csr_array(X)):
        belief, proba = learnt(rows, np.array([1.0, -1.0] * 40), full=is_full)
        assert np.isfinite(belief.weights()[0]).all()
        assert ((proba > 0.0) & (proba < 1.0)).all()


def test_prices_turn_the_weights_but_not_the_posteriors():
    """Where the model is right, the offset makes up for the weights."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (30_000, 2))
    y = np.where(rng.random(30_000) < 1.0 / (1.0 + np.exp(2.0 - 3.0 * X[:, 0])), 1.0, -1.0)
    plain, _ = learnt(X, y)
    priced, _ = learnt(X, y, pricing=Pricing.of(50.0, 0.1))
    np.testing.assert_allclose(priced.weights()[0], plain.weights()[0], atol=0.15)
    assert Pricing.of(3.0, 3.0) == Pricing()
    one = Pricing.of(8.0, 0.5)
    assert one.pos * one.neg == pytest.approx(1.0)
    assert one.pos / one.neg == pytest.approx(16.0**0.25) == math.exp(one.offset)


# ---------------------------------------------------------------- learners


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (OnlineLogistic(4.0), r"eta0=4.0 is for step='paper', and step='adaptive' has no eta0; .* leave eta0=16.0"),
        (OFO(forgetting=0.9), "forgetting=0.9 is for step='paper'"),
        (SPADE(sampling="balanced"), "sampling='balanced' is for step='paper'"),
        (STAMP(level="surrogate"), "level='surrogate' is for step='paper'"),
        (OnlineLogistic(step="paper", window=5), "window=5 is for step='adaptive'"),
        (OnlineLogistic(step="newton"), "step must be one of .*'adaptive'.*'paper'.*, got 'newton'"),
        (OFO(window=1), "window must be an int >= 2, got 1"),
        (SPADE(prior=0.0), "prior must be positive and finite, got 0"),
    ],
    ids=str,
)
def test_parameters_of_other_steps_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.partial_fit([[0.0], [1.0]], [0, 1])
