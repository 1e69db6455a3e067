"""Cuts of a score where several classes can be found, against literal predictions at every offset."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.null_class import all_offsets, f_beta, predictions

from csf import ErrorProfile
from csf.data.responses import compare
from csf.metrics import FBeta
from csf.thresholding import sweep, sweep_several

CLASSES = ["a", "b", "none", "z"]


@st.composite
def problems(draw, n_classes=4):
    """Labels, scores with many ties, and weights, with weight in the null class and in another."""
    size = draw(st.integers(2, 14))
    labels = st.lists(st.integers(0, n_classes - 1), min_size=size, max_size=size)
    row = st.lists(st.integers(-2, 2), min_size=n_classes, max_size=n_classes)
    y = np.array(draw(labels))
    y[:2] = 2, 1
    scores = np.array(draw(st.lists(row, min_size=size, max_size=size)), dtype=float)
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size)))
    weight[:2] = 1.0
    return y, scores, draw(st.sampled_from([None, weight]))


@given(problems(), st.sampled_from([1, 2, 0.5]))
def test_every_cut_is_a_literal_offset(problem, beta):
    y, scores, weight = problem
    names, metric = np.array(CLASSES), FBeta(beta)
    score, best = compare(scores, 2, probabilities=False)
    curve = sweep_several(y != 2, (y != 2) & (best != y), score, weight)
    weights = [1.0] * y.size if weight is None else weight
    found = 0.0
    for offset in all_offsets(scores.tolist(), CLASSES, "none"):
        predicted = predictions(scores.tolist(), CLASSES, "none", offset)
        value = float(f_beta(names[y].tolist(), predicted, "none", beta, weights))
        assert metric.of(curve.at(offset)) == pytest.approx(value, abs=1e-12)
        profile = ErrorProfile.from_classes(names[y], predicted, null_class="none", sample_weight=weight)
        for name in ("fn", "fp", "pos"):
            assert getattr(curve.at(offset), name) == pytest.approx(getattr(profile, name), abs=1e-12)
        found = max(found, value)
    cut = curve.best(metric)
    assert cut.value == pytest.approx(found, abs=1e-12)
    chosen = predictions(scores.tolist(), CLASSES, "none", cut.threshold)
    assert float(f_beta(names[y].tolist(), chosen, "none", beta, weights)) == pytest.approx(found, abs=1e-12)


@given(problems())
def test_without_lost_samples_it_is_the_plain_sweep(problem):
    """So two classes, of which none can be taken for a third, give the very same numbers."""
    y, scores, weight = problem
    first, second = (
        sweep_several(y != 2, np.zeros(y.size, bool), scores[:, 0], weight),
        sweep(y != 2, scores[:, 0], weight),
    )
    for name in ("lowest_score", "fn", "fp"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert first.pos == second.pos


def test_all_are_lost():
    is_pos = np.array([True, False, True])
    curve = sweep_several(is_pos, is_pos, np.array([1.0, 0.0, 2.0]))
    assert curve.fn.tolist() == pytest.approx([2 / 3] * curve.fn.size)
    assert curve.best("f1").value == 0.0
    assert curve.best("f1").profile.fn == pytest.approx(2 / 3)


def test_scores_of_lost_samples_are_no_cuts():
    curve = sweep_several(np.array([False, True, True]), np.array([False, True, False]), np.array([0.0, 5.0, 1.0]))
    assert curve.lowest_score.tolist() == [np.inf, 1.0, 0.0]


def test_lost_samples_stay_lost_where_everything_is_found():
    """Scores of -inf as well: the rule that finds something everywhere has them."""
    score = np.array([-np.inf, -np.inf, -np.inf])
    curve = sweep_several(np.array([False, True, True]), np.array([False, True, False]), score)
    assert (curve.at(-np.inf).fn, curve.at(-np.inf).fp) == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize("n_lost", [1, 4])
def test_where_everything_is_found_no_negative_is_left_however_sums_are_rounded(n_lost):
    for n_pos in range(1, 10):
        for n_neg in range(1, 10):
            size = n_lost + n_pos + n_neg
            curve = sweep_several(np.arange(size) < n_lost + n_pos, np.arange(size) < n_lost, np.arange(size) * 1.0)
            assert curve.fp[-1] == 1.0 - curve.pos
