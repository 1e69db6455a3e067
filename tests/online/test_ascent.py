"""Counts of recent scores: bins, weights, shares that rise, best cuts; and rows that are scored again."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_posteriors import beta_stream
from scipy import sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score

from csf.metrics import get_metric
from csf.online import FOFO, OFO, SPADE, STAMP, OnlineLogistic
from csf.online._ascent import EarlyRows
from csf.online._gaussian import Belief, RecentScores, bins_of, next_due, pooled_shares, posterior_at
from csf.thresholding import threshold_curve

streams = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=150)


def counted(proba, is_pos, *, size=None, window=None):
    recent, bins = RecentScores(window), bins_of(np.asarray(proba, dtype=float))
    for start in range(0, len(proba), size or len(proba)):
        part = slice(start, start + (size or len(proba)))
        recent.add(bins[part], np.asarray(is_pos, dtype=bool)[part])
    return recent


@given(proba=st.floats(0.0, 1.0))
def test_a_bin_holds_what_lies_between_its_edges(proba):
    (place,) = bins_of(np.array([proba]))
    assert posterior_at(int(place)) <= max(proba, 1e-12) * (1 + 1e-9)
    assert proba <= posterior_at(int(place) + 1) * (1 + 1e-9) or place == 1023


def test_edges_rise_from_zero_to_just_below_one():
    edges = [posterior_at(place) for place in range(1025)]
    assert (np.diff(edges) > 0).all()
    assert edges[0] == 0.0
    assert edges[-1] == 1.0 - 2.0**-53


def test_example_t_weighs_t_times_as_much_as_the_first():
    recent = counted(np.linspace(0.01, 0.99, 20), np.arange(20) % 2 == 0)
    bins = bins_of(np.linspace(0.01, 0.99, 20))
    np.testing.assert_allclose(recent.counts.sum(axis=0)[bins], np.arange(1, 21))


def test_a_window_weighs_an_example_e_times_less_after_its_length():
    recent = counted(np.append(np.full(10_000, 0.2), np.full(50, 0.8)), np.zeros(10_050), window=50)
    old, new = recent.counts[0, bins_of(np.array([0.2, 0.8]))]
    assert old / (old + new) == pytest.approx(np.exp(-1), abs=0.01)
    # weights are brought back before they leave the range
    far = counted(np.full(60_000, 0.5), np.arange(60_000) % 10 == 0, window=50)
    assert np.isfinite(far.counts).all()
    assert pooled_shares(far.counts).max() == pytest.approx(0.1, abs=0.02)


@settings(max_examples=50)
@given(stream=streams)
def test_shares_are_those_of_isotonic_regression(stream):
    proba, is_pos = zip(*stream)
    counts = counted(proba, is_pos).counts
    share, total = pooled_shares(counts), counts.sum(axis=0)
    met = np.flatnonzero(total)
    expected = IsotonicRegression().fit(met, counts[1, met] / total[met], total[met]).predict(met)
    np.testing.assert_allclose(share[met], expected, atol=1e-9)
    assert (np.diff(share) >= 0).all()


@pytest.mark.parametrize("name", ["f1", "f2", "jaccard", "gmean", "qmean", "min_rate"])
def test_the_best_cut_is_that_of_a_sweep(name):
    eta, y = beta_stream(0.5, 3.0, 4000, 0)
    recent, weight = counted(eta, y), np.arange(1, 4001)
    value, profile, place = recent.best(get_metric(name))
    chosen = eta >= posterior_at(place)
    assert profile.fn == pytest.approx(weight[(y == 1) & ~chosen].sum() / weight.sum(), abs=1e-3)
    assert profile.fp == pytest.approx(weight[(y == 0) & chosen].sum() / weight.sum(), abs=1e-3)
    assert value == pytest.approx(threshold_curve(y, eta, sample_weight=weight).best(name).value, abs=0.01)


def test_until_both_classes_have_come_nothing_is_said():
    for is_pos in (np.zeros(5), np.ones(5)):
        recent = counted(np.linspace(0.1, 0.9, 5), is_pos)
        assert recent.best(get_metric("f1")) is None
        assert not recent.shares().any()


@given(n=st.integers(0, 10**9), window=st.one_of(st.none(), st.integers(2, 1000)))
def test_looks_come_ever_later_but_within_the_window(n, window):
    assert n < next_due(n, window) <= n + 1 + min(n, window or n) // 8


# ---------------------------------------------------------------- learners of others


def test_thresholds_do_not_depend_on_calibration():
    """Scores that are turned by any rising function give the same predictions, up to bins."""
    eta, y = beta_stream(0.5, 3.0, 20_000, 0)

    class Turned(SGDClassifier):
        def partial_fit(self, X, y, classes=None):
            self.classes_ = np.asarray(classes)
            return self

        def predict_proba(self, X):
            return np.column_stack([1.0 - X[:, 0] ** 3, X[:, 0] ** 3])

    model = OFO(posterior=Turned(loss="log_loss"), batch_size=500).partial_fit(eta[:, None], y)
    best = threshold_curve(y, eta).best("f1").value
    assert model.online_value_ > best - 0.02
    assert model.level_ == pytest.approx(best / 2, abs=0.01)
    paper = OFO(posterior=Turned(loss="log_loss"), batch_size=500, step="paper").partial_fit(eta[:, None], y)
    assert paper.online_value_ < best - 0.05


@pytest.mark.parametrize("kind", [OFO, FOFO])
def test_a_learner_in_the_place_of_the_metric_is_shown_the_way(kind):
    with pytest.raises(
        TypeError, match=rf"metric comes first, .* {kind.__name__}\('f1', posterior=OnlineLogistic\(\)\)"
    ):
        kind(OnlineLogistic()).partial_fit([[0.0], [1.0]], [0, 1])


def test_a_model_of_river_is_shown_its_wrapper():
    class Model:
        def learn_one(self, x, y):
            """As river has it."""

        def predict_proba_one(self, x):
            """As river has it."""

    with pytest.raises(TypeError, match=r"has no partial_fit; such as .* or RiverClassifier\(Model\(...\)\)"):
        OFO("f1", posterior=Model()).partial_fit([[0.0], [1.0]], [0, 1])


# ---------------------------------------------------------------- early rows


KINDS = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "csr"])


def stream(n=5000, d=6, seed=0):
    """Features, and labels of which a tenth is positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    return X, (X[:, 0] + X[:, 1] + rng.standard_normal(n) > 2.0).astype(int)


def in_chunks(learner, X, y, size):
    for start in range(0, y.size, size):
        learner.partial_fit(X[start : start + size], y[start : start + size], classes=[0, 1])
    return learner


@KINDS
def test_rows_so_far_have_the_bins_of_present_posteriors(kind):
    X, y = stream(700)
    model = OFO().partial_fit(kind(X), y)
    early = EarlyRows(model.posterior_._belief)
    for start in range(0, 700, 150):
        early.keep(kind(X[start : start + 150]), y[start : start + 150] == 1)
    bins, is_pos = early.again(model.posterior_._belief, 600)
    expected = bins_of(model.predict_proba(X[:600])[:, 1])
    assert bins.shape == (600,)
    assert abs(bins - expected).max() <= 1
    assert (bins != expected).mean() < 0.01
    np.testing.assert_array_equal(is_pos, y[:600] == 1)


def test_dense_and_sparse_chunks_mix():
    X, y = stream(400)
    belief, early = OFO().partial_fit(X, y).posterior_._belief, EarlyRows(Belief(6, prior=1.0, constant=1.0))
    early.keep(X[:250], y[:250] == 1)
    early.keep(sparse.csr_array(X[250:]), y[250:] == 1)
    assert early.again(belief, 400)[0].shape == (400,)


@pytest.mark.parametrize(("n_features", "window", "most"), [(6, None, 4096), (6, 300, 300), (512, None, 4096)])
def test_few_rows_of_few_features_are_kept(n_features, window, most):
    belief = Belief(n_features, prior=1.0, constant=1.0)
    early = EarlyRows(belief, window)
    assert early.wanted
    assert early.again(belief, 99) is None
    for _ in range(5):
        early.keep(np.zeros((1000, n_features)), np.zeros(1000, dtype=bool))
    assert early.n == most
    assert early.again(belief, most)[0].shape == (most,)
    assert early.again(belief, most) is None  # nothing new
    assert early.again(belief, most + 1) is None
    assert not early.wanted
    assert early.rows == []


def test_none_is_kept_of_many_features_or_a_short_memory():
    assert not EarlyRows(Belief(513, prior=1.0, constant=1.0)).wanted
    assert not EarlyRows(Belief(6, prior=1.0, constant=1.0), 50).wanted
    assert not EarlyRows(Belief(6, prior=1.0, constant=1.0, window=50)).wanted


@KINDS
@pytest.mark.parametrize("learner", [OFO, FOFO, STAMP, SPADE])
def test_chunks_leave_no_trace(learner, kind):
    X, y = stream()
    whole = learner().partial_fit(kind(X), y)
    for size in (777, 4096):
        parts = in_chunks(learner(), kind(X), y, size)
        assert parts.threshold_ == whole.threshold_
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


@KINDS
def test_chunks_may_be_overwritten(kind):
    X, y = stream(2000)
    expected, learner = in_chunks(OFO(), kind(X), y, 500), OFO()
    for start in range(0, 2000, 500):
        chunk = kind(X[start : start + 500].copy())
        learner.partial_fit(chunk, y[start : start + 500], classes=[0, 1])
        (chunk.data if sparse.issparse(chunk) else chunk)[:] = 0.0
    assert learner.threshold_ == expected.threshold_


@pytest.mark.parametrize("learner", [OFO, FOFO, STAMP])
def test_thresholds_of_short_streams_fit_the_weights_they_have(learner):
    X, y = stream(1001, seed=1)
    model = learner().partial_fit(X, y)
    score = model.decision_function(X)
    best = max(f1_score(y, score >= cut) for cut in np.sort(score)[::10])
    assert model.score(X, y) > 0.5
    assert f1_score(y, model.predict(X)) >= best - 0.05
