"""Accuracies against scikit-learn; costs that do not depend on the level."""

import numpy as np
import pytest
from builders import exact_learner, predictions, random_profiles, run, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from csf import Study
from csf.metrics import BalancedAccuracy, WeightedAccuracy, get_metric

price = st.floats(0.01, 100.0)


@given(case=predictions())
def test_they_are_those_of_scikit_learn(case):
    y_true, y_pred, weight = case
    expected = accuracy_score(y_true, y_pred, sample_weight=weight)
    assert WeightedAccuracy().score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    expected = balanced_accuracy_score(y_true, y_pred, sample_weight=weight)
    assert BalancedAccuracy().score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(w_fn=price, w_fp=price, pos=shares)
def test_the_range_goes_from_everything_wrong_to_everything_right(w_fn, w_fp, pos):
    metric = WeightedAccuracy(w_fn, w_fp)
    lo, hi = metric.range(pos)
    assert metric.value(pos, 1 - pos, pos=pos) == pytest.approx(lo)
    assert metric.value(0.0, 0.0, pos=pos) == hi == 1.0


@given(w_fn=price, w_fp=price, pos=shares, t=st.floats(-5.0, 1.0))
def test_costs_are_the_prices_at_every_level(w_fn, w_fp, pos, t):
    assert WeightedAccuracy(w_fn, w_fp).cost_weights(t, pos=pos) == (w_fn, w_fp)


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy"])
@pytest.mark.parametrize("strategy", ["cone", "grid", "bisection", "dinkelbach", "support"])
def test_one_training_is_enough(name, strategy):
    points = random_profiles(np.random.default_rng(0), 0.2, 50)
    study = run(Study(name, strategy, pos=0.2, n_trials=9), exact_learner(points, 0.2))
    assert sum(trial.state == "complete" for trial in study.trials) == 1
    assert "were tried before" in study.stop_reason
    assert study.best_score == get_metric(name).value(points[:, 0], points[:, 1], pos=0.2).max()
    assert study.gap == pytest.approx(0.0, abs=1e-12)


def test_names_tell_prices_that_matter():
    assert WeightedAccuracy().name == "accuracy"
    assert WeightedAccuracy(3, 1).name == "accuracy(3, 1)"
    assert BalancedAccuracy().name == "balanced_accuracy"
