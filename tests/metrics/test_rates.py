"""Rates against scikit-learn."""

import pytest
from builders import predictions
from hypothesis import given
from sklearn.metrics import precision_score, recall_score

from csf import ErrorProfile
from csf.metrics import (
    FalseNegativeRate,
    FalsePositiveRate,
    Precision,
    PredictedPositiveRate,
    Recall,
    Specificity,
)


@given(case=predictions())
def test_they_are_those_of_scikit_learn(case):
    y_true, y_pred, weight = case
    options = {"sample_weight": weight, "zero_division": 0.0}
    expected = {
        Precision(): precision_score(y_true, y_pred, **options),
        Recall(): recall_score(y_true, y_pred, **options),
        Specificity(): recall_score(y_true, y_pred, pos_label=0, **options),
        FalsePositiveRate(): 1 - recall_score(y_true, y_pred, pos_label=0, **options),
        FalseNegativeRate(): 1 - recall_score(y_true, y_pred, **options),
    }
    for metric, value in expected.items():
        assert metric.score(y_true, y_pred, sample_weight=weight) == pytest.approx(value, abs=1e-12)


@given(case=predictions())
def test_they_are_those_of_the_profile(case):
    y_true, y_pred, weight = case
    e = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    assert PredictedPositiveRate().of(e) == pytest.approx(e.predicted_pos, abs=1e-12)
    assert (Recall().of(e), Specificity().of(e)) == pytest.approx((e.tpr, e.tnr), abs=1e-12)
    assert (FalseNegativeRate().of(e), FalsePositiveRate().of(e)) == pytest.approx((e.fnr, e.fpr), abs=1e-12)


def test_precision_of_nothing_is_zero():
    assert Precision().value(0.1, 0.0, pos=0.1) == 0.0


def test_names():
    rates = [Precision, Recall, Specificity, FalsePositiveRate, FalseNegativeRate, PredictedPositiveRate]
    names = ["precision", "recall", "specificity", "fpr", "fnr", "predicted_positive_rate"]
    assert [rate().name for rate in rates] == names
