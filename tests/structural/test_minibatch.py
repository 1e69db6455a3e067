"""1PMB, 2PMB and FTRL: step by step as in the literal oracles, whatever the chunks; scale, classes, memory."""

import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import structural_learners as oracle
from oracles import structural_programs as programs
from scipy import sparse, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from structural_streams import each_loss, sparse_rows, stream, weights, with_constant

from csf.structural import (
    FTRL,
    CuttingPlane,
    FBetaLoss,
    OnePassMiniBatch,
    PartialAUC,
    PrecisionAtK,
    StructuralLoss,
    Tangent,
    TwoPassMiniBatch,
    get_loss,
)
from csf.structural.base import Reservoir, rows_of


@each_loss
@pytest.mark.parametrize(("averaging", "power"), [("uniform", 0.0), ("poly", 3.0)])
@pytest.mark.parametrize(("eta", "radius"), [(0.5, 100.0), (30.0, 5.0), (1e5, 5.0)])
def test_it_is_the_literal_algorithm(loss, eta, radius, averaging, power):
    """Also where the ball cuts each step down by four orders of magnitude."""
    X, y = stream()
    model = OnePassMiniBatch(loss, buffer_size=40, eta=eta, radius=radius, averaging=averaging).partial_fit(X, y)
    average, last, skipped = oracle.one_pass(
        with_constant(model, X), y, loss, size=40, eta=eta, radius=radius, half=False, power=power
    )
    # Steps that are cut down that far carry roundings on, which differ between processors.
    np.testing.assert_allclose(weights(model), average, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.coef_last_[0] / model.x_scale_, last[:-1], rtol=1e-8, atol=1e-8)
    assert model.n_skipped_ == skipped
    assert model.n_updates_ == len(y) // 40 - skipped
    assert np.linalg.norm(weights(model)) <= radius * (1 + 1e-12)


@each_loss
def test_without_an_intercept(loss):
    X, y = stream(1)
    model = OnePassMiniBatch(loss, buffer_size=60, eta=5.0, fit_intercept=False).partial_fit(X, y)
    average, _, _ = oracle.one_pass(X * model.x_scale_, y, loss, size=60, eta=5.0, radius=1000.0, half=False, power=3.0)
    np.testing.assert_allclose(model.coef_[0] / model.x_scale_, average, rtol=1e-10, atol=1e-10)
    assert model.intercept_ == 0.0


@each_loss
def test_the_step_size_without_eta_comes_from_the_subgradients(loss):
    X, y = stream(2)
    model = OnePassMiniBatch(loss, buffer_size=50).partial_fit(X, y)
    Z, w, squares, all_w = with_constant(model, X), np.zeros(5), 0.0, []
    for start in range(0, 600, 50):
        rows = slice(start, start + 50)
        gradient = Z[rows].T @ oracle.subgradient(loss, Z[rows] @ w, y[rows] > 0)
        squares += gradient @ gradient
        w = oracle.project(w - 100.0 / np.sqrt(squares) * gradient, 1000.0)
        all_w.append(w)
    np.testing.assert_allclose(weights(model), oracle.averaged(all_w, 3.0), rtol=1e-9, atol=1e-9)
    steps = np.diff(np.vstack([np.zeros(5), all_w]), axis=0)
    assert (np.linalg.norm(steps, axis=1) <= 100.0 * (1 + 1e-12)).all()


@each_loss
def test_many_columns_are_touched_rarely(loss):
    """The squared length is kept up entry by entry and must not drift away."""
    rng = np.random.default_rng(0)
    S = sparse.random_array((800, 3000), density=0.002, rng=rng, format="csr")
    y = np.where(rng.random(800) < 0.2, 1, -1)
    kwargs = {"buffer_size": 20, "eta": 50.0, "radius": 3.0}
    csr = OnePassMiniBatch(loss, **kwargs).partial_fit(S, y)
    dense = OnePassMiniBatch(loss, **kwargs).partial_fit(S.toarray(), y)
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-9, atol=1e-10)
    assert np.linalg.norm(csr.coef_last_ / csr.x_scale_) <= 3.0 * (1 + 1e-9)


def test_chunks_may_be_dense_and_sparse_in_turn():
    D, S = sparse_rows(stream(5)[0])
    y = stream(5)[1]
    whole = OnePassMiniBatch("pauc", buffer_size=70).partial_fit(D, y)
    mixed = OnePassMiniBatch("pauc", buffer_size=70)
    for start in range(0, 600, 50):
        rows = slice(start, start + 50)
        mixed.partial_fit((D if start % 100 else S)[rows], y[rows], classes=[-1, 1])
    np.testing.assert_allclose(mixed.coef_, whole.coef_, rtol=1e-10)


@each_loss
def test_the_order_inside_a_buffer_does_not_matter(loss):
    X, y = stream(6)
    order = np.concatenate([start + np.random.default_rng(start).permutation(60) for start in range(0, 600, 60)])
    model, shuffled = (
        OnePassMiniBatch(loss, buffer_size=60, eta=4.0).partial_fit(X[rows], y[rows])
        for rows in (np.arange(600), order)
    )
    np.testing.assert_allclose(shuffled.coef_, model.coef_, rtol=1e-8, atol=1e-10)


@each_loss
def test_a_buffer_of_all_samples_makes_full_subgradient_steps(loss):
    X, y = stream(7)
    model = OnePassMiniBatch(loss, buffer_size=600, eta=2.0, passes=3, random_state=0).fit(X, y)
    Z = with_constant(model, X)
    average, _, _ = oracle.one_pass(
        np.vstack([Z] * 3), np.tile(y, 3), loss, size=600, eta=2.0, radius=1000.0, power=3.0
    )
    np.testing.assert_allclose(weights(model), average, rtol=1e-8, atol=1e-10)
    large = OnePassMiniBatch(loss, buffer_size=5000, eta=2.0, passes=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(large.coef_, model.coef_, rtol=1e-12)


@pytest.mark.parametrize(
    ("size", "n", "passes", "steps"),
    [(50, 125, 1, 3), (50, 124, 1, 2), (51, 128, 1, 3), (51, 127, 1, 2), (50, 75, 3, 5), (50, 74, 3, 4)],
)
def test_the_last_buffer_counts_from_half_of_its_size(size, n, passes, steps):
    """A rest of exactly half a buffer counts; what is left of other passes begins the next."""
    X, y = stream(8, n=n, pos=0.4)
    model = OnePassMiniBatch(buffer_size=size, passes=passes, random_state=0).fit(X, y)
    assert model.n_updates_ == steps
    assert model.partial_fit(X[:1], y[:1]).n_updates_ == steps


def test_buffers_without_a_class_are_skipped():
    X, y = stream(9)
    y[:200] = -1
    model = OnePassMiniBatch(buffer_size=50).partial_fit(X[:200], y[:200], classes=[-1, 1])
    assert (model.n_skipped_, model.n_updates_) == (4, 0)
    assert not model.coef_.any()
    assert model.threshold_ == np.inf
    assert (model.predict(X) == -1).all()
    assert model.partial_fit(X[200:], y[200:]).n_updates_ > 0
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("size", [200, 500])
@pytest.mark.parametrize("loss", [FBetaLoss(), PrecisionAtK(), PartialAUC()], ids=repr)
def test_many_passes_come_near_the_minimum(loss, size):
    """Within 5 percent; F-beta with a step size out of a grid, as in the paper."""
    X, y = stream(12, n=2000, d=5, pos=0.15, noise=0.4)
    best = CuttingPlane(loss, C=1e6, eps=1e-3).fit(X, y)
    least = loss.value(with_constant(best, X) @ weights(best), y > 0)
    options = {"buffer_size": size, "radius": 300.0, "random_state": 0}
    grid = (70.0, 100.0, 140.0) if isinstance(loss, FBetaLoss) else (None,)
    models = [OnePassMiniBatch(loss, eta=eta, **options).fit(X, y) for eta in grid]
    assert min(loss.value(with_constant(model, X) @ weights(model), y > 0) for model in models) <= 1.05 * least


@each_loss
def test_positives_may_be_the_first_label(loss):
    X, y = stream(13)
    usual = OnePassMiniBatch(loss, random_state=0).fit(X, y)
    swapped = OnePassMiniBatch(loss, pos_label="a", random_state=0).fit(X, np.where(y > 0, "a", "b"))
    np.testing.assert_allclose(swapped.coef_, -usual.coef_)
    assert swapped.threshold_ == usual.threshold_
    np.testing.assert_array_equal(swapped.predict(X) == "a", usual.predict(X) == 1)
    zero_one = OnePassMiniBatch(loss, random_state=0).fit(X, (y > 0).astype(int))
    np.testing.assert_allclose(zero_one.coef_, usual.coef_, rtol=1e-9, atol=1e-12)


def test_losses_that_rank_predict_as_many_positives_as_there_are():
    X, y = stream(14)
    for loss in ("prbep", "pauc"):
        model = OnePassMiniBatch(loss, random_state=0).fit(X, y)
        assert (model.predict(X) == 1).sum() == (y == 1).sum()
        model.partial_fit(X[:500], y[:500])
        buffer = np.r_[X, X][600 - model._waiting.n_rows : 1100 - model._waiting.n_rows]
        assert 0 < (model.predict(buffer) == 1).sum() < 200


def test_a_tuned_threshold_is_the_best_one():
    X, y = stream(15, n=1500, noise=1.0)
    plain, tuned = (OnePassMiniBatch("f1", tune_threshold=t, random_state=0).fit(X, y) for t in (False, True))
    np.testing.assert_allclose(plain.coef_, tuned.coef_, rtol=1e-9, atol=1e-12)
    score = X @ plain.coef_[0] + plain.intercept_[0]
    values = [FBetaLoss().performance(score - t, y > 0) for t in np.r_[score - 1e-9, score + 1e-9]]
    assert FBetaLoss().performance(tuned.decision_function(X), y > 0) == pytest.approx(max(values))
    assert plain.threshold_ == 0.0


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_what_was_given_is_not_held_on_to(kind):
    """Neither the last buffer nor the rows that wait for the next."""
    X, y = stream(18)
    given, kept = kind(X), kind(X)
    model = OnePassMiniBatch("pauc", buffer_size=70).partial_fit(given, y)
    other = OnePassMiniBatch("pauc", buffer_size=70).partial_fit(kept, y)
    values = given if kind is np.array else given.data
    values[:] = 7.0
    assert model.threshold_ == other.threshold_
    np.testing.assert_allclose(
        model.partial_fit(kept, y).coef_, other.partial_fit(kept, y).coef_, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("shuffle", [True, False])
def test_history_of_a_fit_is_that_of_a_stream(shuffle):
    X, y = stream(20, n=300, pos=0.4)
    model = OnePassMiniBatch("pauc", buffer_size=32, passes=2, shuffle=shuffle, random_state=0).fit(X, y)
    history = model.history_
    np.testing.assert_array_equal(history["n_seen"], 2 ** np.arange(10))
    np.testing.assert_array_equal(history["n_updates"], 2 ** np.arange(10) // 32)
    assert model.n_seen_ == 600
    if not shuffle:
        again = OnePassMiniBatch("pauc", buffer_size=32).partial_fit(X, y).partial_fit(X, y)
        for name in history:
            np.testing.assert_array_equal(again.history_[name], history[name])


def test_learning_goes_on_after_a_fit():
    X, y = stream(21, n=200, pos=0.3)
    model = OnePassMiniBatch("prbep", buffer_size=50, passes=2, random_state=0).fit(X, y)
    scale, updates = model.x_scale_, model.n_updates_
    model.partial_fit(0.1 * X, y)
    assert (model.x_scale_, model.n_updates_, model.n_seen_) == (scale, updates + 4, 600)
    model.partial_fit(10.0 * X, y)
    assert model.x_scale_ == scale / 16


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_memory_is_that_of_the_buffer(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 30))
    X, y = (X if kind == "dense" else sparse.csr_array(X)), rng.integers(0, 2, 2000)
    model = OnePassMiniBatch("prbep", buffer_size=300).partial_fit(X, y)
    sizes = []
    for _ in range(2):
        for _ in range(40):
            model.partial_fit(X, y)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] <= sizes[0] + 5000  # rows waiting may differ, the history grows by one line a doubling
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(40):
        model.partial_fit(X, y)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 400_000
    assert peak - before < 3 * 2000 * 30 * 12


def test_another_k_warns_once_when_learning_begins():
    X, y = stream()
    with pytest.warns(UserWarning, match="no upper bound"):
        OnePassMiniBatch(PrecisionAtK(0.2, allow_k_neq_pos=True), buffer_size=50).fit(X, y)


# ---------------------------------------------------------------- 2PMB


@each_loss
@pytest.mark.parametrize("reweight", [True, False])
@pytest.mark.parametrize("reservoir_size", [500, 20])
def test_two_passes_are_the_literal_algorithm(loss, reweight, reservoir_size):
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
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
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


def test_a_pickle_goes_on_where_it_was():
    X, y = stream(11)
    kwargs = {"buffer_size": 33, "reservoir_size": 20, "random_state": 0}
    whole = TwoPassMiniBatch(**kwargs).collect(X, y).partial_fit(X, y)
    half = pickle.loads(pickle.dumps(TwoPassMiniBatch(**kwargs).collect(X[:250], y[:250])))
    half.collect(X[250:], y[250:]).partial_fit(X[:123], y[:123])
    half = pickle.loads(pickle.dumps(half)).partial_fit(X[123:], y[123:])
    np.testing.assert_allclose(half.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


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


# ---------------------------------------------------------------- FTRL


class HingeMean(StructuralLoss):
    """A loss that is a mean over samples: the ordinary case."""

    metric = "accuracy"

    def class_tangent(self, scores):
        """Mean hinge loss."""
        margin = np.concatenate([scores.pos, -scores.neg])
        sign = np.where(np.arange(margin.size) < scores.pos.size, -1.0, 1.0)
        active = margin < 1.0
        return Tangent(np.maximum(1.0 - margin, 0.0).mean(), active.mean(), active * sign / margin.size)


def total(loss, Z, y, w):
    """Loss as a sum; 0 while one class is missing."""
    n_pos = int((y > 0).sum())
    if n_pos in (0, len(y)):
        return 0.0
    scaled, factor = get_loss(loss).total(n_pos, len(y) - n_pos)
    return factor * scaled.value(Z @ w, y > 0)


@each_loss
def test_the_weights_are_the_regularised_minimum(loss):
    X, y = stream(n=80, pos=0.3)
    model = FTRL(loss, eta=0.5, eps=1e-6, shuffle=False).fit(X, y)
    Z, w, rng = with_constant(model, X), weights(model), np.random.default_rng(0)
    least = total(loss, Z, y, w) + 0.25 * w @ w
    for size in (1e-3, 0.1, 3.0):
        for _ in range(40):
            v = w + size * rng.normal(size=w.size)
            assert total(loss, Z, y, v) + 0.25 * v @ v >= least - 1e-5 * len(y) * (1 + least)


def test_a_mean_over_samples_is_the_ordinary_leader():
    X, y = stream(1, n=60, pos=0.4)
    model = FTRL(HingeMean(), eta=0.7, eps=1e-8, shuffle=False).fit(X, y)
    svm = LinearSVC(loss="hinge", C=1 / 0.7, tol=1e-9, max_iter=100_000, random_state=0).fit(X * model.x_scale_, y)
    np.testing.assert_allclose(weights(model), np.append(svm.coef_[0], svm.intercept_), atol=1e-3)


@each_loss
def test_penalties_of_fixed_weights_telescope(loss, monkeypatch):
    X, y = stream(2, n=150)
    w = np.random.default_rng(0).normal(size=5)
    monkeypatch.setattr(FTRL, "_minimise", lambda self, *args: w)
    order = np.random.default_rng(1).permutation(150)
    sums = []
    for rows in (np.arange(150), order):
        for refit in ("every", "geometric", 7):
            model = FTRL(loss, refit=refit)
            model.partial_fit(X[rows][:1], y[rows][:1], classes=[-1, 1])
            model._w = w.copy()
            model.partial_fit(X[rows][1:], y[rows][1:])
            model._refit()
            sums.append(model.penalty_)
    expected = total(loss, with_constant(model, X), y, w)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


def test_penalties_are_those_of_the_definition():
    """Each example is charged at the weights before it."""
    X, y = stream(3, n=40, pos=0.3)
    model = FTRL("prbep", refit="every", eta=2.0)
    model.partial_fit(X, y)  # sets the scale
    Z, charged, fresh = with_constant(model, X), 0.0, FTRL("prbep", refit="every", eta=2.0)
    for t in range(40):
        w = np.append(fresh.coef_[0] / model.x_scale_, fresh.intercept_) if t else np.zeros(5)
        charged += total("prbep", Z[: t + 1], y[: t + 1], w) - total("prbep", Z[:t], y[:t], w)
        fresh.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert fresh.penalty_ == pytest.approx(charged, abs=1e-6)


def test_the_regret_is_bounded():
    """In the theorem's setting: precision at k, a minimum after each example, 8 as the slope of a penalty."""
    X, y = stream(4, n=100, pos=0.3)
    for w_star_size in (1.0, 5.0):
        eta = 8.0 * math.sqrt(2.0 * 100) / w_star_size
        model = FTRL("prbep", refit="every", eta=eta).partial_fit(X, y)
        Z = with_constant(model, X)
        best = CuttingPlane("prbep", C=1e6).fit(X, y)
        for w in (np.zeros(5), weights(model), weights(best)):
            w = w * min(1.0, w_star_size / max(np.linalg.norm(w), 1e-12))
            bound = total("prbep", Z, y, w) + np.linalg.norm(w) * math.sqrt(2.0 * 100 * 64)
            assert model.penalty_ <= bound


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("share", [0.02, 0.6])
def test_the_minimum_in_the_ball_is_as_precise_as_asked_for(loss, share):
    """Against a general solver of the tangent planes met, with the ball as a constraint of its own."""
    X, y = stream(6, n=60)
    free = FTRL(loss, eta=1e-4, radius=1e6, shuffle=False).fit(X, y)
    radius, eps = share * float(np.linalg.norm(weights(free))), 1e-7
    model = FTRL(loss, eta=1e-4, radius=radius, eps=eps, shuffle=False).fit(X, y)
    Z, w = with_constant(model, X), weights(model)
    scaled, factor = get_loss(loss).total(int((y > 0).sum()), int((y < 0).sum()))

    def objective(v):
        return scaled.value(Z @ v, y > 0) + 0.5e-4 / factor * v @ v

    def value_and_slope(v):
        return objective(v), Z.T @ scaled.tangent(Z @ v, y > 0).slope + 1e-4 / factor * v

    assert np.linalg.norm(w) <= radius * (1 + 1e-12)
    assert objective(w) <= programs.minimise_in_ball(value_and_slope, w.size, radius) + 2 * eps


def test_the_default_regulariser_grows_with_the_stream():
    X, y = stream(7, n=300)
    model = FTRL("prbep", radius=50.0, shuffle=False).fit(X, y)
    given = FTRL("prbep", radius=50.0, eta=8.0 * math.sqrt(600.0) / 50.0, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, given.coef_, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(("refit", "updates"), [("every", 49), (10, 5), ("geometric", None)])
def test_the_schedule_is_kept_whatever_the_chunks(refit, updates):
    X, y = stream(8, n=50, pos=0.4)
    y[:2] = 1, -1
    whole = FTRL("pauc", refit=refit).partial_fit(X, y)
    parts = FTRL("pauc", refit=refit)
    for start in range(0, 50, 3):
        parts.partial_fit(X[start : start + 3], y[start : start + 3], classes=[-1, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert parts.penalty_ == whole.penalty_
    assert updates is None or whole.n_updates_ == updates
    assert 5 <= whole.n_updates_ <= 49


def test_nothing_is_learnt_before_both_classes_are_there():
    X, y = stream(10, n=60)
    y[:] = -1
    model = FTRL("f1").partial_fit(X, y, classes=[-1, 1])
    assert (model.n_updates_, model.penalty_, model.n_seen_) == (0, 0.0, 60)
    assert not model.coef_.any()
    ranking = FTRL("pauc").partial_fit(X, y, classes=[-1, 1])
    assert (ranking.predict(X) == -1).all()
    ranking.partial_fit(-X, -y)
    assert ranking.n_updates_ > 0


def test_fit_ends_with_all_samples():
    X, y = stream(11, n=500)
    model = FTRL("pauc", refit=1000, random_state=0).fit(X, y)
    assert model.n_updates_ == 1
    assert (model.predict(X) == 1).sum() == (y == 1).sum()


def test_too_few_planes_come_with_a_warning():
    X, y = stream(13)
    model = FTRL("pauc", eta=1e-3, max_planes=3, refit=1000, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 tangent planes .*; raise max_planes or eta") as met:
        model.fit(X, y)
    assert met[0].filename == __file__


def test_a_loss_that_no_weights_lower_comes_with_a_warning():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.permutation(200) < 20
    with pytest.warns(UserWarning, match=r"zero weights are as good as any .* Lower eta or raise radius, use a looser"):
        FTRL("prbep", random_state=0).fit(X, y)
