"""What every metric inherits: values, generic costs, the algebra of linear-fractional ones, score on labels."""

import numpy as np
import pytest
from builders import predictions, rates, shares
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile
from csf.metrics import (
    METRICS,
    CustomMetric,
    FalseNegativeRate,
    FalsePositiveRate,
    FBeta,
    GMean,
    GowerLegendre,
    LinearFractional,
    Metric,
    PredictedPositiveRate,
    Tversky,
    WeightedAccuracy,
    get_metric,
)
from csf.metrics.base import LEVEL_MARGIN
from csf.metrics.registry import aim
from csf.testing import check_metric

UNUSUAL = [
    FBeta(0.1),
    FBeta(20.0),
    Tversky(0.0, 3.0),
    Tversky(4.0, 0.5),
    GowerLegendre(0.2),
    WeightedAccuracy(7.0, 0.1),
]
LINEAR = [
    *(get_metric(name) for name in METRICS if isinstance(get_metric(name), LinearFractional)),
    *UNUSUAL,
    FalsePositiveRate(),
    FalseNegativeRate(),
    PredictedPositiveRate(),
    CustomMetric((1.0, -2.0, -1.0, 2.0, 1.0, 3.0), levels=(-1.0, 0.5)),
]
each_linear = pytest.mark.parametrize("metric", LINEAR, ids=repr)


class Youden(Metric):
    """A metric that is only known to be monotone."""

    def __repr__(self):
        return "Youden()"

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)

    def range(self, pos):
        return -1.0, 1.0


@pytest.mark.parametrize("metric", [*UNUSUAL, Youden()], ids=repr)
def test_unusual_parameters_keep_the_laws(metric):
    check_metric(metric)


@each_linear
@given(pos=shares, fnr=rates, fpr=rates)
def test_values_are_ratios_of_the_six_numbers(metric, pos, fnr, fpr):
    fn, fp = fnr * pos, fpr * (1 - pos)
    c = metric.coefficients(pos)
    numerator, denominator = c.n0 + c.n_fn * fn + c.n_fp * fp, c.d0 + c.d_fn * fn + c.d_fp * fp
    assert metric.denominator(fn, fp, pos=pos) == denominator
    assert metric.value(fn, fp, pos=pos) == (numerator / denominator if denominator > 0 else 0.0)


@pytest.mark.parametrize("metric", [*LINEAR[:10], Youden()], ids=repr)
@given(case=predictions())
def test_score_is_the_value_of_the_profile(metric, case):
    y_true, y_pred, weight = case
    profile = ErrorProfile.from_predictions(y_true, y_pred, sample_weight=weight)
    assert metric.score(y_true, y_pred, sample_weight=weight) == metric.of(profile)
    labels = np.array(["no", "yes"])
    assert metric.score(labels[y_true], labels[y_pred], sample_weight=weight, pos_label="yes") == metric.of(profile)


# ---------------------------------------------------------------- generic costs and levels


@pytest.mark.parametrize("metric", [get_metric("gmean"), Youden()], ids=repr)
@given(pos=shares, share=st.floats(0.0, 1.0))
def test_generic_costs_sweep_the_trade_off(metric, pos, share):
    lo, hi = metric.range(pos)
    c_fn, c_fp = metric.cost_weights(lo + share * (hi - lo), pos=pos)
    # In units of whole classes: all positives missed costs 1 - s, all negatives called costs s.
    assert c_fn * pos == pytest.approx(1 - share, abs=1e-12)
    assert c_fp * (1 - pos) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize("metric", [FBeta(), WeightedAccuracy(5.0, 2.0), Youden()], ids=repr)
@given(pos=shares, share=st.floats(-1.0, 2.0))
def test_levels_are_clipped_a_millionth_inside_the_range(metric, pos, share):
    lo, hi = metric.range(pos)
    t = metric.clip_level(lo + share * (hi - lo), pos=pos)
    assert lo < t < hi
    assert min(t - lo, hi - t) >= 0.999 * LEVEL_MARGIN * (hi - lo)
    if 1e-5 < share < 1 - 1e-5:
        assert t == lo + share * (hi - lo)
    assert metric.clip_level(t, pos=pos) == t
    assert min(metric.cost_weights(t, pos=pos)) > 0


def test_names_come_from_the_class_by_default():
    assert Youden().name == "Youden"
    assert Youden().value(0.0, 0.0, pos=0.5) == 1.0


NO_NUMBERS = ["1", None, True]
REFUSED = [
    (FBeta, "beta", "must be positive and finite, got", [0, -1.0, np.nan, np.inf]),
    (GowerLegendre, "sigma", "must be positive and finite, got", [0, -2.0, np.nan, np.inf]),
    (GowerLegendre, "sigma", "must be a number, positive and finite, got '2'", ["2"]),
    (WeightedAccuracy, "w_fn", "must be positive and finite, got", [0, np.nan]),
    (WeightedAccuracy, "w_fp", "must be positive and finite, got", [-1.0]),
    (WeightedAccuracy, "w_fn", "must be a number, .* got", NO_NUMBERS),
    (WeightedAccuracy, "w_fp", "must be a number, .* got", NO_NUMBERS),
    (Tversky, "alpha", "must be >= 0 and finite, got", [-1, np.inf]),
    (Tversky, "beta", "must be >= 0 and finite, got", [np.nan]),
    (Tversky, "alpha", "must be a number, .* got", NO_NUMBERS),
    (Tversky, "beta", "must be a number, .* got", NO_NUMBERS),
    (GMean, "eps", r"must be in \(0, 1\), got", [0.0, 1.0, -1.0, np.nan, "0.1", None, (), 1j]),
]


@pytest.mark.parametrize(
    ("metric", "name", "message", "value"), [(*row, value) for *row, values in REFUSED for value in values]
)
def test_parameters_out_of_range_are_refused(metric, name, message, value):
    error = TypeError if "a number" in message else ValueError
    with pytest.raises(error, match=f"{name} {message}"):
        metric(**{name: value})


@pytest.mark.parametrize("pos", [1e-6, 0.1, 0.5, 0.9])
def test_answers_that_are_as_good_as_no_errors(pos):
    found = {name: make().trivial_answer(pos=pos) for name, make in METRICS.items()}
    assert {name: answer for name, answer in found.items() if answer} == {
        "recall": "positive",
        "specificity": "negative",
    }


def test_a_constraint_may_rule_the_trivial_answer_out():
    kept = {"precision >= 0.5": None, "precision >= 0.1": "positive", "fnr <= 0.2": "positive", "fpr <= 0.1": None}
    for constraint, answer in kept.items():
        assert aim("recall", constraint).trivial_answer(pos=0.2) == answer
