"""1PMB: step by step as in the literal oracle, whatever the chunks; scale, classes, bad input, memory."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.structural_streams import each_loss, sparse_rows, stream, weights, with_constant
from oracles import structural_learners as oracle
from scipy import sparse

from csf.structural import CuttingPlane, FBetaLoss, OnePassMiniBatch, PartialAUC, PrecisionAtK, get_loss


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


@each_loss
@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 600), max_size=8), sizes=st.sampled_from([7, 50, 128]))
def test_cuts_between_chunks_leave_no_trace(loss, cuts, sizes):
    X, y = stream(4)
    whole = OnePassMiniBatch(loss, buffer_size=sizes, eta=3.0).partial_fit(X, y)
    parts = OnePassMiniBatch(loss, buffer_size=sizes, eta=3.0)
    ends = sorted({*cuts, 600} - {0})
    for start, stop in zip([0, *ends], ends):
        parts.partial_fit(X[start:stop], y[start:stop], classes=[-1, 1])
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    assert parts.n_seen_ == whole.n_seen_ == 600
    assert parts.threshold_ == whole.threshold_


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


def test_no_positives_for_a_long_time():
    X = np.random.default_rng(0).normal(size=(100_000, 3))
    model = OnePassMiniBatch("f1").partial_fit(X, np.zeros(100_000), classes=[0, 1])
    assert (model.n_seen_, model.n_skipped_, model.n_updates_) == (100_000, 200, 0)
    X, y = stream(10, d=3)
    assert model.partial_fit(X, (y > 0).astype(int)).n_updates_ == 1


@each_loss
def test_it_lowers_the_loss(loss):
    X, y = stream(11, n=2000, noise=0.0)
    model = OnePassMiniBatch(loss, buffer_size=100, random_state=0).fit(X, y)
    score = with_constant(model, X) @ weights(model)
    assert get_loss(loss).value(score, y > 0) < 0.5
    assert get_loss(loss).performance(score, y > 0) > 0.95


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
    np.testing.assert_array_equal(zero_one.coef_, usual.coef_)


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
    np.testing.assert_array_equal(plain.coef_, tuned.coef_)
    score = X @ plain.coef_[0] + plain.intercept_[0]
    values = [FBetaLoss().performance(score - t, y > 0) for t in np.r_[score - 1e-9, score + 1e-9]]
    assert FBetaLoss().performance(tuned.decision_function(X), y > 0) == pytest.approx(max(values))
    assert plain.threshold_ == 0.0


def test_the_same_seed_gives_the_same():
    X, y = stream(16)
    first, second, other = (OnePassMiniBatch(buffer_size=50, random_state=s).fit(X, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert (first.coef_ != other.coef_).any()


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
    np.testing.assert_array_equal(model.partial_fit(kept, y).coef_, other.partial_fit(kept, y).coef_)


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


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda X, y: (np.where(np.arange(20)[:, None] == 3, np.nan, X), y), "contains NaN"),
        (lambda X, y: (X[:, :2], y), "has 2 features, but OnePassMiniBatch is expecting 4"),
        (lambda X, y: (X, y + 5), "unseen labels"),
        (lambda X, y: (X, y[:5]), "inconsistent numbers of samples"),
    ],
)
def test_a_bad_chunk_leaves_the_state_alone(spoil, match):
    X, y = stream(n=20, pos=0.5)
    model = OnePassMiniBatch("pauc", buffer_size=8).partial_fit(X, y)
    before = pickle.dumps(model)
    bad = spoil(X, y)
    with pytest.raises(ValueError, match=match):
        model.partial_fit(*bad)
    assert pickle.dumps(model) == before


def test_one_class_is_refused_without_labels():
    X, _ = stream(n=20, pos=0.5)
    with pytest.raises(ValueError, match="one class only"):
        OnePassMiniBatch().fit(X, np.ones(20))
    with pytest.raises(ValueError, match=r"partial_fit\(X, y, classes=\[0, 1\]\)"):
        OnePassMiniBatch().partial_fit(X, np.ones(20))


def test_another_k_warns_once_when_learning_begins():
    X, y = stream()
    with pytest.warns(UserWarning, match="no upper bound"):
        OnePassMiniBatch(PrecisionAtK(0.2, allow_k_neq_pos=True), buffer_size=50).fit(X, y)


def test_history_has_the_loss_of_the_last_buffer():
    X, y = stream(19)
    model = OnePassMiniBatch("pauc", buffer_size=16, eta=1.0).partial_fit(X, y)
    history = model.history_
    np.testing.assert_array_equal(history["n_seen"], 2 ** np.arange(10))
    assert np.isnan(history["loss"][0])
    assert history["loss"][-1] > 0.0
    assert history["n_updates"][-1] + model.n_skipped_ >= 512 // 16
