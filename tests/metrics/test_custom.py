"""Metrics of the user's own, from six numbers."""

import numpy as np
import pytest
from builders import exact_learner, random_profiles, rates, run, shares
from hypothesis import given

from csf import Study
from csf.metrics import CustomMetric, FBeta
from csf.testing import check_metric

NUMBERS = "numbers must give six finite values .*, got"


def f2(pos):
    return 5 * pos, -5, 0, 5 * pos, -1, 1


@given(pos=shares, fnr=rates, fpr=rates, t=rates)
def test_f2_by_hand_is_f2(pos, fnr, fpr, t):
    by_hand, named = CustomMetric(f2), FBeta(2.0)
    fn, fp = fnr * pos, fpr * (1 - pos)
    assert by_hand.value(fn, fp, pos=pos) == named.value(fn, fp, pos=pos)
    assert by_hand.cost_weights(t, pos=pos) == named.cost_weights(t, pos=pos)


def test_numbers_may_be_fixed():
    metric = CustomMetric([1.0, -2.0, -1.0, 1.0, 0.0, 0.0], label="mine", levels=(-1.0, 1.0))
    check_metric(metric)
    assert metric.value(0.1, 0.1, pos=0.3) == pytest.approx(0.7)
    assert (metric.name, metric.range(0.3)) == ("mine", (-1.0, 1.0))


def test_it_is_searched_like_any_other():
    points = random_profiles(np.random.default_rng(0), 0.2, 100)
    searches = [
        run(Study(m, "cone", pos=0.2, n_trials=9), exact_learner(points, 0.2)) for m in (CustomMetric(f2), "f2")
    ]
    assert [trial.t for trial in searches[0].trials] == [trial.t for trial in searches[1].trials]
    assert searches[0].best_score == searches[1].best_score


@pytest.mark.parametrize("numbers", [(1, 2, 3), lambda pos: (1, 2), (1, 2, 3, 4, 5, np.nan), (1, 2, 3, 4, 5, np.inf)])
def test_six_finite_numbers_are_needed(numbers):
    metric = CustomMetric(numbers)
    with pytest.raises(ValueError, match=NUMBERS):
        metric.value(0.1, 0.1, pos=0.3)


@pytest.mark.parametrize("levels", [(1.0, 0.0), (0.5, 0.5), (0.0,), (0.0, np.inf), (np.nan, 1.0)])
def test_levels_are_an_interval(levels):
    with pytest.raises(ValueError, match=r"levels must be two finite numbers \(lo, hi\) with lo < hi, got"):
        CustomMetric(f2, levels=levels)


def test_a_negative_denominator_is_refused():
    """Its value would be 0 everywhere: turned signs are the usual reason."""
    turned = CustomMetric(lambda pos: [-number for number in f2(pos)])
    with pytest.raises(ValueError, match=r"the denominator of 'custom' falls to -2\.\d* .*must not be negative"):
        turned.value(0.1, 0.1, pos=0.3)


def test_a_denominator_that_vanishes_in_a_corner_is_allowed():
    precision = CustomMetric(lambda pos: (pos, -1, 0, pos, -1, 1))
    for pos in (0.1, 0.3, 1e-6, 1 - 1e-6):
        assert precision.value(pos, 0.0, pos=pos) == 0.0


@pytest.mark.parametrize(
    "arguments",
    [
        {"numbers": "six"},
        {"numbers": (1, -2, 0, 1, -1, 1), "levels": "ab"},
        {"numbers": (1, -2, 0, 1, -1, 1), "label": 1},
    ],
)
def test_parts_of_another_type_are_named(arguments):
    name = [*arguments][-1]
    with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
        CustomMetric(**arguments).coefficients(0.3)
