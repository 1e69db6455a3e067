"""Counts of recent scores: bins, weights, shares that rise, best cuts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.known_posteriors import beta_stream
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import SGDClassifier

from csf.learners._gaussian import RecentScores, bins_of, next_due, pooled_shares, posterior_at
from csf.metrics import get_metric
from csf.online import FOFO, OFO, OnlineLogistic
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
    np.testing.assert_array_equal(bins_of.py_func(np.array([proba])), [place])


def test_edges_rise_from_zero_to_just_below_one():
    edges = [posterior_at(place) for place in range(1025)]
    assert (np.diff(edges) > 0).all()
    assert edges[0] == 0.0
    assert edges[-1] == 1.0 - 2.0**-53


@given(stream=streams, size=st.integers(1, 40), window=st.sampled_from([None, 7]))
def test_chunks_leave_no_trace(stream, size, window):
    proba, is_pos = zip(*stream)
    one, other = counted(proba, is_pos, window=window), counted(proba, is_pos, size=size, window=window)
    np.testing.assert_array_equal(one.counts, other.counts)


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
    np.testing.assert_allclose(pooled_shares.py_func(counts), share)


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
