"""Rows that are scored again: what is kept of them, what follows for thresholds, and that chunks leave no trace."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score

from csf.learners._ascent import EarlyRows
from csf.learners._gaussian import Belief, bins_of
from csf.online import FOFO, OFO, SPADE, STAMP

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
        np.testing.assert_array_equal(parts.coef_, whole.coef_)
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
    best = max(f1_score(y, score >= cut) for cut in score)
    assert model.score(X, y) > 0.5
    assert f1_score(y, model.predict(X)) >= best - 0.05
