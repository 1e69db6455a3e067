"""F-beta against scikit-learn, and its costs."""

import pickle

import pytest
from builders import betas, predictions, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score

from csf.metrics import FBeta


@given(case=predictions(), beta=betas)
def test_it_is_that_of_scikit_learn(case, beta):
    y_true, y_pred, weight = case
    expected = fbeta_score(y_true, y_pred, beta=beta, sample_weight=weight, zero_division=0.0)
    assert FBeta(beta).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(beta=betas, pos=shares, t=st.floats(0.0, 1.0))
def test_cost_weights_have_the_published_form(beta, pos, t):
    assert FBeta(beta).cost_weights(t, pos=pos) == pytest.approx((1 + beta**2 - t, t), rel=1e-12)
    assert FBeta(beta).offset(t, pos=pos) == pytest.approx((t - 1) * (1 + beta**2) * pos, rel=1e-12, abs=1e-15)


@given(beta=betas, pos=shares)
def test_it_goes_from_nothing_found_to_nothing_wrong(beta, pos):
    metric = FBeta(beta)
    assert metric.value(pos, 0.0, pos=pos) == 0.0
    assert metric.value(pos, 1 - pos, pos=pos) == 0.0
    assert metric.value(0.0, 0.0, pos=pos) == 1.0
    assert metric.range(pos) == (0.0, 1.0)


def test_nothing_found_is_zero_without_a_warning():
    assert FBeta().score([0, 0, 1], [0, 0, 0]) == 0.0
    assert FBeta().score([0, 0, 1], [1, 1, 0]) == 0.0


def test_extreme_betas_are_precision_and_recall():
    y_true, y_pred = [1, 1, 1, 0, 0], [1, 0, 0, 1, 0]
    assert FBeta(1e-9).score(y_true, y_pred) == pytest.approx(1 / 2)
    assert FBeta(1e9).score(y_true, y_pred) == pytest.approx(1 / 3)
    assert FBeta(1e-9).value(0.2, 0.0, pos=0.2) == 0.0


def test_objects_are_values():
    assert FBeta(2) == FBeta(2.0)
    assert hash(FBeta(2)) == hash(FBeta(2.0))
    assert pickle.loads(pickle.dumps(FBeta(0.5))) == FBeta(0.5)
    assert [FBeta(beta).name for beta in (1, 2.0, 0.5)] == ["f1", "f2", "f0.5"]
