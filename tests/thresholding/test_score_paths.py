"""Sizes of bets along a score, by hand."""

import numpy as np
import pytest

from csf.metrics import get_constraint, get_metric
from csf.thresholding.exact_tests import ClassWeights, ScoredSamples, demands_of, violation_at
from csf.thresholding.score_paths import ScorePaths


def test_bets_without_a_guide_expect_gains_and_losses_that_are_even():
    """Of precision >= 0.75 a found positive gains a quarter of its weight, a found negative loses three quarters."""
    score = np.arange(400.0)[::-1]
    is_pos = np.arange(400) % 10 != 9
    weight = 1.0 + np.arange(400) % 3
    samples = ScoredSamples(is_pos, score, weight)
    demands = demands_of(get_constraint("precision >= 0.75"), ClassWeights.of(is_pos, weight))
    paths = ScorePaths(samples, demands, 0.1)
    _, p_values, n_tested = paths.walk(get_metric("recall"))
    assert n_tested > 1
    for place in np.flatnonzero(~np.isnan(p_values)):
        threshold = paths.curve.thresholds[place]
        found = weight[score >= threshold]
        even = np.mean(found**2) * 0.25 * 0.75
        assert p_values[place] == pytest.approx(violation_at(demands, samples, threshold, 0.1, np.array([even])))


@pytest.mark.parametrize(("demand", "n_true"), [("fpr <= 0.01", 0), ("recall >= 0.99", 250)])
@pytest.mark.parametrize("n_passed", [1, 2, 5])
def test_thresholds_that_pass_end_at_the_first_error_too_many(demand, n_true, n_passed):
    """Of 250 that are counted none may be wrong; the fifth score, say, is the first wrong one."""
    # From the safe end: samples of the other class, all that are counted, and the rest of the other class.
    counted = np.repeat([False, True, False], [n_passed - 1, 250, 51 - n_passed])
    is_pos = counted if n_true else ~counted
    samples = ScoredSamples(is_pos, np.arange(300.0) if n_true else -np.arange(300.0))
    passed, _, n_tested = ScorePaths(samples, demands_of(get_constraint(demand)), 0.1).walk(get_metric("f1"))
    assert passed.sum() == n_passed
    assert passed[-1 if n_true else 0]
    assert n_tested == n_passed + 1
