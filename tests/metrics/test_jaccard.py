"""The Jaccard index against scikit-learn, and its costs."""

import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import jaccard_score

from csf.metrics import FBeta, Jaccard


@given(case=predictions())
def test_it_is_that_of_scikit_learn(case):
    y_true, y_pred, weight = case
    expected = jaccard_score(y_true, y_pred, sample_weight=weight, zero_division=0.0)
    assert Jaccard().score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


@given(pos=shares, fnr=rates, fpr=rates)
def test_it_is_a_function_of_f1(pos, fnr, fpr):
    fn, fp = fnr * pos, fpr * (1 - pos)
    f1 = FBeta().value(fn, fp, pos=pos)
    assert Jaccard().value(fn, fp, pos=pos) == pytest.approx(f1 / (2 - f1), rel=1e-9, abs=1e-12)


@given(pos=shares, t=st.floats(0.0, 1.0))
def test_cost_weights_have_the_published_form(pos, t):
    assert Jaccard().cost_weights(t, pos=pos) == (1.0, t)


def test_nothing_found_is_zero_without_a_warning():
    assert Jaccard().score([0, 0, 1], [0, 0, 0]) == 0.0
    assert Jaccard().name == "jaccard"
