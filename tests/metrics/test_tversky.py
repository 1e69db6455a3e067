"""The Tversky index: its special cases and its ends."""

import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile
from csf.metrics import FBeta, Jaccard, Precision, Recall, Tversky

price = st.floats(0.0, 10.0)


@pytest.mark.parametrize(
    ("tversky", "other"),
    [
        (Tversky(0.5, 0.5), FBeta()),
        (Tversky(1.0, 1.0), Jaccard()),
        (Tversky(0.8, 0.2), FBeta(2.0)),
        (Tversky(0.0, 1.0), Precision()),
        (Tversky(1.0, 0.0), Recall()),
    ],
)
@given(pos=shares, fnr=rates, fpr=rates, t=rates)
def test_special_cases(tversky, other, pos, fnr, fpr, t):
    fn, fp = fnr * pos, fpr * (1 - pos)
    assert tversky.value(fn, fp, pos=pos) == pytest.approx(other.value(fn, fp, pos=pos), rel=1e-9, abs=1e-12)
    (a_fn, a_fp), (b_fn, b_fp) = tversky.cost_weights(t, pos=pos), other.cost_weights(t, pos=pos)
    if not isinstance(other, Recall):  # the same rate, written as another ratio: other costs
        assert a_fn * b_fp == pytest.approx(a_fp * b_fn, rel=1e-9, abs=1e-12)


@given(case=predictions(), alpha=price, beta=price)
def test_it_is_the_ratio_of_counts(case, alpha, beta):
    y_true, y_pred, weight = case
    e = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    total = e.tp + alpha * e.fn + beta * e.fp
    expected = e.tp / total if total > 0 else 0.0
    assert Tversky(alpha, beta).score(y_true, y_pred, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_without_prices_and_true_positives_it_is_zero():
    assert Tversky(0.0, 0.0).value(0.3, 0.1, pos=0.3) == 0.0
    assert Tversky(0.0, 1.0).value(0.3, 0.0, pos=0.3) == 0.0
    assert Tversky(0.0, 0.0).value(0.1, 0.1, pos=0.3) == 1.0


def test_names_tell_the_prices():
    assert Tversky(0.7, 0.3).name == "tversky(0.7, 0.3)"
