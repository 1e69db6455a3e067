"""Gower-Legendre similarities: accuracy in other units."""

import pytest
from builders import predictions, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score

from csf.metrics import GowerLegendre


@given(case=predictions(), sigma=st.floats(0.01, 100.0))
def test_it_grows_with_accuracy_alone(case, sigma):
    y_true, y_pred, weight = case
    accuracy = accuracy_score(y_true, y_pred, sample_weight=weight)
    expected = accuracy / (accuracy + sigma * (1 - accuracy))
    assert GowerLegendre(sigma).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(pos=shares, sigma=st.floats(0.01, 100.0), t=st.floats(0.0, 1.0))
def test_both_classes_cost_the_same(pos, sigma, t):
    c_fn, c_fp = GowerLegendre(sigma).cost_weights(t, pos=pos)
    assert c_fn == c_fp == pytest.approx(1 - t * (1 - sigma))
    assert c_fn > 0
