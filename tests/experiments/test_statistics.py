"""Means, paired differences and ranks, against formulas, tables and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from notebooks.experiments.statistics import (
    Difference,
    mean_and_error,
    mean_difference,
    paired_difference,
    rank_methods,
)

values = st.lists(st.floats(0.0, 1.0).map(lambda x: round(x, 3)), min_size=2, max_size=12)


def test_error_of_the_mean():
    sample = np.random.default_rng(0).random(30)
    assert mean_and_error(sample) == pytest.approx((sample.mean(), stats.sem(sample)))
    assert np.isnan(mean_and_error([0.3])[1])


@given(values)
def test_plain_t_is_that_of_scipy(sample):
    reference = np.zeros(len(sample))
    found = paired_difference(sample, reference, method="t", level=0.9)
    assert found.mean == pytest.approx(np.mean(sample))
    if np.ptp(sample) > 0:
        expected = stats.ttest_rel(sample, reference).confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@given(values, st.floats(0.01, 10.0))
def test_correction_widens_the_interval_by_its_factor(sample, ratio):
    reference = np.zeros(len(sample))
    plain = paired_difference(sample, reference, method="t")
    corrected = paired_difference(sample, reference, test_train_ratio=ratio)
    assert corrected.error == pytest.approx(plain.error * np.sqrt(1 + len(sample) * ratio))
    assert corrected.high - corrected.mean == pytest.approx(corrected.mean - corrected.low)


def test_bootstrap_is_near_the_t_interval_for_many_values():
    sample = np.random.default_rng(1).normal(0.02, 0.05, 200)
    plain = paired_difference(sample, np.zeros(200), method="t")
    found = paired_difference(sample, np.zeros(200), method="bootstrap")
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.002)
    assert found == paired_difference(sample, np.zeros(200), method="bootstrap")


def test_bootstrap_of_equal_differences_is_a_point():
    found = paired_difference([0.5, 0.6], [0.25, 0.35], method="bootstrap")
    assert (found.low, found.high) == pytest.approx((0.25, 0.25))


def test_a_single_split_has_no_interval():
    found = paired_difference([0.5], [0.4], test_train_ratio=1 / 3)
    assert found.mean == pytest.approx(0.1)
    assert np.isnan([found.error, found.low, found.high]).all()


def test_wrong_arguments_of_a_difference():
    with pytest.raises(ValueError, match=r"method must be one of .*, got 'z'"):
        paired_difference([1.0], [0.5], method="z")
    with pytest.raises(ValueError, match=r"needs test_train_ratio, e\.g\. 1/3"):
        paired_difference([1.0, 0.0], [0.5, 0.5])
    with pytest.raises(ValueError, match="the same splits, got 1 and 2 values"):
        paired_difference([1.0], [0.5, 0.5], method="t")
    with pytest.raises(ValueError, match="finite numbers"):
        paired_difference([1.0, np.nan], [0.5, 0.5], method="t")
    with pytest.raises(ValueError, match=r"level must be a probability in \(0, 1\)"):
        paired_difference([1.0], [0.5], level=95)


def test_mean_over_data_sets_covers_what_it_promises():
    """Of 400 simulated means, about 95 % lie in their intervals, although the variances differ."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        parts = [paired_difference(rng.normal(0.1, scale, 5), np.zeros(5), method="t") for scale in (0.02, 0.1, 0.3)]
        mean = mean_difference(parts)
        hits += mean.low <= 0.1 <= mean.high
    assert 0.92 <= hits / 400 <= 0.98


def test_mean_of_one_set_is_its_difference():
    one = paired_difference([0.5, 0.7, 0.9], [0.4, 0.4, 0.5], method="t")
    assert mean_difference([one]) == pytest.approx(one)


def test_mean_of_single_splits_has_no_interval():
    assert np.isnan(mean_difference([Difference(0.1, np.nan, np.nan, np.nan, 0)] * 3).error)


def test_mean_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no difference"):
        mean_difference([])


# q_0.05 and q_0.10 of Demšar (2006), table 5(a), for 2, 5 and 10 methods
@pytest.mark.parametrize(
    ("n_methods", "alpha", "quantile"),
    [(2, 0.05, 1.960), (5, 0.05, 2.728), (10, 0.05, 3.164), (2, 0.10, 1.645), (5, 0.10, 2.459), (10, 0.10, 2.920)],
)
def test_critical_difference_is_that_of_the_published_table(n_methods, alpha, quantile):
    values = np.random.default_rng(3).random((14, n_methods))
    found = rank_methods([str(i) for i in range(n_methods)], values, alpha=alpha).critical_difference
    assert found == pytest.approx(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * 14)), abs=2e-3)


@given(st.lists(st.tuples(*[st.integers(0, 4)] * 4), min_size=2, max_size=6))
def test_ranks_are_counts_of_better_methods(rows):
    found = rank_methods("abcd", np.array(rows, dtype=float))
    literal = [[1 + sum(y > x for y in row) + 0.5 * (row.count(x) - 1) for x in row] for row in map(list, rows)]
    np.testing.assert_allclose(found.ranks, np.mean(literal, axis=0))


def test_one_set_or_two_methods_have_no_friedman_test():
    one = rank_methods("abc", [[0.1, 0.2, 0.3]])
    assert np.isnan([one.critical_difference, one.p_value]).all()
    two = rank_methods("ab", [[0.1, 0.2], [0.3, 0.1]])
    assert np.isfinite(two.critical_difference)
    assert np.isnan(two.p_value)


def test_missing_values_cannot_be_ranked():
    with pytest.raises(ValueError, match="all methods need all sets"):
        rank_methods("ab", [[0.1, np.nan]])
    with pytest.raises(ValueError, match=r"must have shape \(n_sets, 3\), got \(1, 2\)"):
        rank_methods("abc", [[0.1, 0.2]])
