"""2PMB: the literal algorithm, a uniform reservoir, the shares of the data, roles of the classes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.structural_streams import each_loss, stream, weights, with_constant
from oracles import structural_learners as oracle
from scipy import stats

from csf.learners.structural import Reservoir, rows_of
from csf.structural import FBetaLoss, OnePassMiniBatch, TwoPassMiniBatch, partial_auc_score


@each_loss
@pytest.mark.parametrize("reweight", [True, False])
@pytest.mark.parametrize("reservoir_size", [500, 20])
def test_it_is_the_literal_algorithm(loss, reweight, reservoir_size):
    X, y = stream()
    kwargs = {"buffer_size": 40, "reservoir_size": reservoir_size, "reweight": reweight, "eta": 3.0, "radius": 20.0}
    model = TwoPassMiniBatch(loss, random_state=0, **kwargs).collect(X, y).partial_fit(X, y)
    kept = model._sample.rows.X
    assert len(kept) == min(reservoir_size, (y > 0).sum())
    Z = with_constant(model, X)
    average, last = oracle.two_pass(
        Z, y, with_constant(model, kept), loss, size=40, eta=3.0, radius=20.0, reweight=reweight, half=False
    )
    np.testing.assert_allclose(weights(model), average, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.coef_last_[0] / model.x_scale_, last[:-1], rtol=1e-9, atol=1e-10)


@each_loss
def test_fit_collects_first(loss):
    X, y = stream(1)
    kwargs = {"buffer_size": 90, "reservoir_size": 500, "eta": 3.0, "shuffle": False, "passes": 2}
    model = TwoPassMiniBatch(loss, **kwargs).fit(X, y)
    Z = with_constant(model, X)
    negatives_twice = np.vstack([Z[y > 0], Z[y < 0], Z[y < 0]])
    labels = np.r_[np.ones((y > 0).sum()), -np.ones(2 * (y < 0).sum())]
    kept, w, steps = Z[y > 0], np.zeros(5), []
    pos = np.mean(y > 0)
    negatives = negatives_twice[labels < 0]
    for start in range(0, len(negatives), 90):
        rows = np.vstack([kept, negatives[start : start + 90]])
        is_pos = np.arange(len(rows)) < len(kept)
        shares = pos / len(kept), (1.0 - pos) / 90
        gradient = rows.T @ oracle.subgradient(loss, rows @ w, is_pos, shares)
        w = oracle.project(w - 3.0 / np.sqrt(len(steps) + 1) * gradient, 1000.0)
        steps.append(w)
    np.testing.assert_allclose(weights(model), oracle.averaged(steps, 3.0), rtol=1e-9, atol=1e-10)
    assert model.n_updates_ == len(steps) == 12


@each_loss
def test_everything_kept_and_buffered_is_the_full_subgradient(loss):
    """Weights of samples are then equal, with and without reweighting."""
    X, y = stream(2)
    kwargs = {"eta": 2.0, "passes": 3}
    one = OnePassMiniBatch(loss, buffer_size=600, **kwargs).fit(X, y)
    for reweight in (True, False):
        two = TwoPassMiniBatch(loss, buffer_size=5000, reweight=reweight, **kwargs).fit(X, y)
        np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-7, atol=1e-9)
        assert two.n_updates_ == 3


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 600), max_size=8), collect=st.booleans())
def test_cuts_between_chunks_leave_no_trace(cuts, collect):
    X, y = stream(4)
    kwargs = {"buffer_size": 37, "reservoir_size": 25, "random_state": 3}
    whole, parts = TwoPassMiniBatch(**kwargs), TwoPassMiniBatch(**kwargs)
    ends = sorted({*cuts, 600} - {0})
    chunks = list(zip([0, *ends], ends))
    for name in ["collect"] * collect + ["partial_fit"]:
        getattr(whole, name)(X, y)
        for start, stop in chunks:
            getattr(parts, name)(X[start:stop], y[start:stop], classes=[-1, 1])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.threshold_ == whole.threshold_


def test_the_reservoir_is_uniform():
    counts = np.zeros(40)
    for seed in range(2000):
        reservoir, rng = Reservoir(8), np.random.default_rng(seed)
        for start in range(0, 40, 5):
            reservoir.add(rows_of(np.arange(start, start + 5.0)[:, None]), rng.random(5))
        kept = reservoir.rows.X[:, 0].astype(int)
        counts[kept] += 1
        assert len(np.unique(kept)) == 8
    assert stats.chisquare(counts).pvalue > 1e-3


def test_fit_keeps_a_uniform_sample():
    X = np.arange(1.0, 61.0)[:, None]
    y = np.arange(60) < 20
    counts = np.zeros(20)
    for seed in range(400):
        model = TwoPassMiniBatch("pauc", reservoir_size=5, buffer_size=40, passes=1, random_state=seed).fit(X, y)
        kept = model._sample.rows.X[:, 0].astype(int) - 1
        counts[kept] += 1
        assert len(np.unique(kept)) == 5
    assert stats.chisquare(counts).pvalue > 1e-3


@each_loss
def test_a_rare_negative_class_is_weighted_by_its_share(loss):
    X, y = stream(13, pos=0.8)
    model = TwoPassMiniBatch(loss, buffer_size=60, eta=2.0, passes=1, shuffle=False).fit(X, y)
    Z, pos = with_constant(model, X), np.mean(y > 0)
    kept, w, steps = Z[y < 0], np.zeros(5), []
    for start in range(0, (y > 0).sum(), 60):
        rows = np.vstack([kept, Z[y > 0][start : start + 60]])
        is_pos = np.arange(len(rows)) >= len(kept)
        gradient = rows.T @ oracle.subgradient(loss, rows @ w, is_pos, (pos / 60, (1.0 - pos) / len(kept)))
        w = oracle.project(w - 2.0 / np.sqrt(len(steps) + 1) * gradient, 1000.0)
        steps.append(w)
    np.testing.assert_allclose(weights(model), oracle.averaged(steps, 3.0), rtol=1e-8, atol=1e-10)


@each_loss
def test_a_growing_sample_is_weighted_by_the_shares_so_far(loss):
    X, y = stream(14)
    model = TwoPassMiniBatch(loss, buffer_size=50, eta=2.0, random_state=0).partial_fit(X, y)
    Z, w, steps, last = with_constant(model, X), np.zeros(5), [], 0
    for stop in np.flatnonzero(y < 0)[49::50] + 1:
        kept, buffer = Z[:stop][y[:stop] > 0], Z[last:stop][y[last:stop] < 0]
        if len(kept) == 0:
            last = stop
            continue
        rows, pos = np.vstack([kept, buffer]), np.mean(y[:stop] > 0)
        is_pos = np.arange(len(rows)) < len(kept)
        gradient = rows.T @ oracle.subgradient(loss, rows @ w, is_pos, (pos / len(kept), (1.0 - pos) / 50))
        w = oracle.project(w - 2.0 / np.sqrt(len(steps) + 1) * gradient, 1000.0)
        steps.append(w)
        last = stop
    np.testing.assert_allclose(weights(model), oracle.averaged(steps, 3.0), rtol=1e-8, atol=1e-10)


def test_the_rare_class_may_be_the_negative_one():
    X, y = stream(5, pos=0.9)
    model = TwoPassMiniBatch("pauc", buffer_size=50, reservoir_size=500, random_state=0).fit(X, y)
    assert model._rare == -1.0
    assert model._sample.n_kept == (y < 0).sum()
    assert partial_auc_score(y, model.decision_function(X)) > 0.6


def test_shares_sum_to_one():
    """So the loss at zero weights is 1, and the first subgradient is that of the class means."""
    X, y = stream(6)
    model = TwoPassMiniBatch(FBetaLoss(), buffer_size=60, reservoir_size=10, eta=1.0, random_state=0).collect(X, y)
    model.partial_fit(X[y < 0][:60], y[y < 0][:60])
    pos = np.mean(y > 0)
    expected = 2.0 * pos * with_constant(model, model._sample.rows.X).mean(axis=0)
    np.testing.assert_allclose(weights(model), expected, rtol=1e-12)
    assert model._last_loss == pytest.approx(1.0)


def test_without_a_first_pass_the_sample_grows():
    X, y = stream(7)
    model = TwoPassMiniBatch(buffer_size=50, random_state=0)
    for start in range(0, 600, 100):
        rows = slice(start, start + 100)
        model.partial_fit(X[rows], y[rows], classes=[-1, 1])
    assert model._sample.n_seen == (y > 0).sum()
    assert model.n_updates_ == (y < 0).sum() // 50
    with pytest.raises(ValueError, match="collect comes before partial_fit; learning has begun"):
        model.collect(X, y)


def test_no_positives_yet():
    X, y = stream(8)
    model = TwoPassMiniBatch(buffer_size=50).partial_fit(X[y < 0], y[y < 0], classes=[-1, 1])
    assert (model.n_updates_, model.n_skipped_) == (0, (y < 0).sum() // 50)
    assert not model.coef_.any()
    assert model.partial_fit(X, y).n_updates_ > 0


def test_collecting_one_class_is_not_enough():
    X, y = stream(9)
    model = TwoPassMiniBatch(buffer_size=50).collect(X[y < 0], y[y < 0], classes=[-1, 1])
    with pytest.raises(ValueError, match="collect has met one class only"):
        model.partial_fit(X, y)
    assert model.collect(X, y).partial_fit(X, y).n_updates_ > 0


def test_partial_auc_varies_less_than_with_one_pass():
    """At few positives a buffer of one pass has hardly any."""
    X, y = stream(10, n=6000, d=6, pos=0.01, noise=0.7)
    values = {}
    for kind in (OnePassMiniBatch, TwoPassMiniBatch):
        models = [kind("pauc", buffer_size=100, passes=1, random_state=seed).fit(X, y) for seed in range(12)]
        values[kind] = np.std([partial_auc_score(y, model.decision_function(X)) for model in models])
    assert values[TwoPassMiniBatch] < values[OnePassMiniBatch]


def test_a_pickle_goes_on_where_it_was():
    X, y = stream(11)
    kwargs = {"buffer_size": 33, "reservoir_size": 20, "random_state": 0}
    whole = TwoPassMiniBatch(**kwargs).collect(X, y).partial_fit(X, y)
    half = pickle.loads(pickle.dumps(TwoPassMiniBatch(**kwargs).collect(X[:250], y[:250])))
    half.collect(X[250:], y[250:]).partial_fit(X[:123], y[:123])
    half = pickle.loads(pickle.dumps(half)).partial_fit(X[123:], y[123:])
    np.testing.assert_array_equal(half.coef_, whole.coef_)


def test_memory_is_that_of_sample_and_buffer():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 20)), (rng.random(3000) < 0.1).astype(int)
    model = TwoPassMiniBatch(buffer_size=100, reservoir_size=50, random_state=0)
    for _ in range(20):
        model.collect(X, y)
    sizes = []
    for _ in range(2):
        for _ in range(20):
            model.partial_fit(X, y)
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes) < 20 * 8 * (50 + 3 * 100 + 50) + 30_000


def test_a_failed_fit_leaves_the_state_alone():
    X, y = stream(12)
    model = TwoPassMiniBatch(random_state=0).fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.ones(600))
    assert pickle.dumps(model) == before
