"""Thresholds from costs, and curves of probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from csf.metrics import METRICS, FBeta, Jaccard, LinearFractional, get_metric
from csf.thresholding import cost_threshold, probability_curve, sweep

LEVELS = st.floats(0.01, 0.99)


@given(LEVELS, st.floats(0.1, 5), st.floats(0.01, 0.99))
def test_published_thresholds(level, beta, pos):
    threshold = cost_threshold(*FBeta(beta).cost_weights(level, pos=pos))
    assert threshold == pytest.approx(level / (1 + beta**2))
    assert cost_threshold(*Jaccard().cost_weights(level, pos=pos)) == pytest.approx(level / (1 + level))


@given(st.floats(0.01, 5), st.floats(0.01, 5))
def test_no_cut_is_cheaper_when_the_probabilities_are_right(c_fn, c_fp):
    curve = probability_curve(np.random.default_rng(0).beta(0.7, 2.0, 200).round(2))
    chosen = curve.at(cost_threshold(c_fn, c_fp))
    assert c_fn * chosen.fn + c_fp * chosen.fp <= (c_fn * curve.fn + c_fp * curve.fp).min() + 1e-12


LEVELLED = [name for name in METRICS if isinstance(get_metric(name), LinearFractional)]


@pytest.mark.parametrize("name", [name for name in LEVELLED if name not in ("precision", "recall", "specificity")])
def test_the_best_value_is_a_fixed_point(name):
    """With expected counts the threshold of the best level makes the best cut."""
    curve, metric = probability_curve(np.random.default_rng(1).random(300)), get_metric(name)
    best = curve.best(metric).value
    threshold = cost_threshold(*metric.cost_weights(best, pos=curve.pos))
    assert metric.of(curve.at(threshold)) == pytest.approx(best, abs=1e-12)


def test_hard_targets_are_labels():
    rng = np.random.default_rng(0)
    proba, weight = rng.random(50), rng.exponential(size=50)
    is_pos = rng.random(50) < proba
    curve, other = probability_curve(proba, is_pos, sample_weight=weight), sweep(is_pos, proba, weight)
    np.testing.assert_allclose(curve.fn, other.fn, atol=1e-15)
    np.testing.assert_array_equal(curve.thresholds, other.thresholds)


# Classes that leave no digits of a rate are refused.
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30).filter(lambda p: 1e-12 < sum(p) < len(p) - 1e-8))
def test_expected_counts(proba):
    proba = np.array(proba)
    curve = probability_curve(proba)
    for threshold, fn, fp in zip(curve.thresholds, curve.fn, curve.fp, strict=True):
        assert fn == pytest.approx(proba[proba < threshold].sum() / proba.size, abs=1e-14)
        assert fp == pytest.approx((1 - proba)[proba >= threshold].sum() / proba.size, abs=1e-14)


@pytest.mark.parametrize("costs", [(-1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (np.nan, 1.0), (np.inf, 1.0)])
def test_bad_costs(costs):
    with pytest.raises(ValueError, match="costs must be >= 0"):
        cost_threshold(*costs)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"proba": [0.5, 1.5]}, "proba must hold probabilities"),
        ({"proba": [0.5, np.nan]}, "proba must hold probabilities"),
        ({"proba": []}, "shape"),
        ({"proba": [[0.5], [0.5]]}, "shape"),
        ({"target": [0.5]}, "target must have shape"),
        ({"target": [1, 2]}, "target must hold probabilities"),
        ({"target": [1, 1]}, "negative class weighs nothing"),
        ({"target": [0, 0]}, "positive class weighs nothing"),
        ({"sample_weight": [-1, 1]}, "negative"),
    ],
)
def test_bad_input(arguments, match):
    with pytest.raises(ValueError, match=match):
        probability_curve(**({"proba": [0.2, 0.6]} | arguments))


@pytest.mark.parametrize("cost", ["1", None, [1.0], len])
def test_costs_are_numbers(cost):
    with pytest.raises(TypeError, match="c_fn must be a number >= 0, got"):
        cost_threshold(cost, 1.0)
    with pytest.raises(TypeError, match="c_fp must be a number >= 0, got"):
        cost_threshold(1.0, cost)


def test_probabilities_are_real_numbers():
    with pytest.raises(TypeError, match="proba must be an array of real numbers, got complex ones"):
        probability_curve(np.array([0.2, 0.8], dtype=complex))
    with pytest.raises(ValueError, match="target must be an array of numbers"):
        probability_curve([0.2, 0.8], ["a", "b"])
