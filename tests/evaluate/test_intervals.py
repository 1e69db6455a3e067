"""The studentised bootstrap of sums: its laws, its literal value, and its intervals where few rows are dear."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student_t

from csf import metric_difference, metric_interval
from csf.evaluate.draws import bootstrap_counts
from csf.evaluate.intervals import DrawnSums, gradients, on_logits, typical_weights


def ratio(sums):
    return sums[:, 0] / sums[:, 1]


def dear(rng, n):
    """Amounts and ones, with a few large amounts."""
    return np.column_stack([np.exp(rng.normal(size=n)), np.ones(n)])


def test_errors_are_those_of_draws_in_their_own_standard_errors():
    rows, n_draws = dear(np.random.default_rng(0), 40), 50
    drawn = DrawnSums(ratio, rows, np.ones(40, dtype=int)).bootstrap(n_draws, 0)
    counts = np.concatenate(list(bootstrap_counts(np.ones(40, dtype=int), n_draws, 0)), axis=1)
    amounts, mean = rows[:, 0], rows[:, 0].mean()
    squares, expected = ((amounts - mean) ** 2).sum(), []
    for count in counts.T:
        of_draw = np.repeat(amounts, count)
        variance = max(((of_draw - of_draw.mean()) ** 2).sum(), 0.05**2 * squares)
        expected.append((mean - of_draw.mean()) * np.sqrt(squares / variance))
    wider = np.sqrt(1.0 + ((amounts - mean) ** 4).sum() / squares**2)
    np.testing.assert_allclose(drawn.errors, wider * np.array(expected), rtol=1e-5, atol=1e-8)


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
@settings(max_examples=10, deadline=None)
def test_units_of_the_sums_do_not_matter_and_whole_copies_are_rows(seed, unit):
    rows, copies = dear(np.random.default_rng(seed), 20), np.random.default_rng(seed).integers(1, 4, 20)
    once = DrawnSums(ratio, rows, copies).bootstrap(40, 0)
    scaled = DrawnSums(ratio, rows * [unit, 1.0], copies).bootstrap(40, 0)
    np.testing.assert_allclose(scaled.errors, unit * once.errors, rtol=1e-5, atol=1e-9 * unit)
    many = DrawnSums(ratio, rows, 50 * copies).bootstrap(40, 0)
    typical = np.median(np.abs(once.errors))
    assert np.median(np.abs(many.errors)) == pytest.approx(typical / np.sqrt(50.0), rel=0.6)


def test_draws_without_the_only_outcome_of_a_kind_are_two_standard_errors_of_the_samples_off_for_each():
    """Here the samples are one standard error above a draw without it."""
    cells, copies, nearly_none = np.eye(2), np.array([1, 39]), np.full(2, 1e-9)
    drawn = DrawnSums(lambda sums: sums[:, 0] / sums.sum(axis=1), cells, copies, cells, nearly_none, np.zeros(2))
    counts = np.concatenate(list(bootstrap_counts(copies, 50, 0)), axis=1)
    lacking = counts[0] == 0
    variance = 39 / 40**3
    wider = np.sqrt(1.0 + (39**4 + 39) / (40**4 * (40**2 * variance) ** 2))
    assert lacking.any()
    wider = min(wider, np.sqrt(4.0 / 3.0))
    np.testing.assert_allclose(drawn.bootstrap(50, 0).errors[lacking], wider * 2.0 / 40.0, rtol=1e-4)


def test_a_sum_has_no_bias_and_a_ratio_has_that_of_its_second_order():
    rows = dear(np.random.default_rng(0), 50)
    assert DrawnSums(ratio, rows, np.ones(50, dtype=int)).bootstrap(50, 0).bias == pytest.approx(0.0, abs=1e-9)
    inverse = DrawnSums(lambda sums: sums[:, 1] / sums[:, 0], rows, np.ones(50, dtype=int)).bootstrap(2000, 0)
    amounts = rows[:, 0]
    assert inverse.bias == pytest.approx(amounts.var() / 50.0 / amounts.mean() ** 3, rel=0.3)


def test_what_never_varies_has_no_errors():
    drawn = DrawnSums(ratio, np.ones((5, 2)), np.ones(5, dtype=int)).bootstrap(10, 0)
    assert (drawn.errors == 0.0).all()
    assert drawn.bias == 0.0


def test_gradients_are_derivatives():
    sums = np.array([[2.0, 5.0], [1.0, 4.0]])
    np.testing.assert_allclose(gradients(ratio, sums), [[0.2, -0.08], [0.25, -0.0625]], rtol=1e-6)


def test_typical_weights_are_the_weight_where_all_are_equal():
    cells = np.eye(2)[[0, 0, 1, 0]][:, None] * 3.0
    assert typical_weights(cells, np.ones(4, dtype=int)) == pytest.approx([3.0])
    # two groups of four equal outcomes are two samples of weight 4; mixed in equal parts they do not vary
    assert typical_weights(np.array([[[4.0, 0.0]], [[0.0, 4.0]]]), np.ones(2, dtype=int)) == pytest.approx([4.0])
    assert typical_weights(np.array([[[2.0, 2.0]], [[2.0, 2.0]]]), np.ones(2, dtype=int)) == pytest.approx([0.0])


def test_means_of_few_dear_rows_are_covered():
    rng, held = np.random.default_rng(0), 0
    for _ in range(60):
        rows = dear(rng, 30)
        errors = DrawnSums(ratio, rows, np.ones(30, dtype=int)).bootstrap(100, 0).errors
        low, high = rows[:, 0].mean() + np.quantile(errors, [0.05, 0.95])
        held += low <= np.exp(0.5) <= high
    assert 0.77 <= held / 60 <= 0.99


# ---------------------------------------------------------------- few groups


def grouped(rng, n_groups=20, spread=1.0):
    """Truth, scores and groups of unequal size, whose scores go together."""
    sizes = np.maximum(np.round(40.0 * np.exp(spread * rng.normal(size=n_groups) - spread**2 / 2)), 3).astype(int)
    groups = np.repeat(np.arange(n_groups), sizes)
    y = rng.random(groups.size) < 0.15
    return y, rng.normal(size=groups.size) + 1.8 * y + 0.8 * rng.normal(size=n_groups)[groups], groups


def test_the_interval_of_f1_of_few_groups_is_student_t_of_the_logit_of_its_share():
    """By hand: TP and TP + FP + FN of groups, with half a sample of the typical weight of each outcome besides."""
    y, score, groups = grouped(np.random.default_rng(0), 25, 0.2)
    found = score >= 1.4
    tp, either = (np.bincount(groups, each) for each in (y & found, y | found))
    logit = np.log(tp.sum() / (either.sum() - tp.sum()))
    moves = tp / tp.sum() - (either - tp) / (either.sum() - tp.sum())
    variance = (moves**2).sum()
    df = variance**2 / (moves**4).sum() - 1.0
    half = student_t.ppf(0.95, df) * np.sqrt(variance * (1.0 + 1.0 / df))
    expected = [2.0 / (2.0 + np.exp(-(logit + sign * half))) for sign in (-1.0, 1.0)]
    np.testing.assert_allclose(metric_interval(y, found, groups=groups), expected, atol=0.025)


def test_errors_are_student_t_of_the_logit_with_the_degrees_of_freedom_of_satterthwaite():
    numbers, squares, tails = np.array([2.0, 1.0]), np.array([0.01, 0.02]), np.array([0.05, 0.5, 0.95])
    df = 0.04**2 / 0.0006 - 1.0
    error = student_t.ppf(0.95, df) * np.sqrt(0.04 * (1.0 + 1.0 / df))
    half = 2.0 / (1.0 + np.exp(-error / (2.0 * 0.25))) - 1.0  # the value 1 between 0 and 2
    np.testing.assert_allclose(on_logits(1.0, (0.0, 2.0), numbers, squares, tails), [-half, 0.0, half], atol=1e-12)
    np.testing.assert_allclose(on_logits(1.0, (1.0, np.nan), numbers, squares, tails), [-error, 0.0, error], atol=1e-12)


@pytest.mark.parametrize("metric", ["f1", "f2", "recall", "mcc"])
def test_intervals_of_few_groups_are_wider_than_those_of_as_many_samples_and_turn_with_the_methods(metric):
    y, score, groups = grouped(np.random.default_rng(1))
    of_groups, of_samples = (np.ptp(metric_interval(y, score >= 1.4, metric, groups=each)) for each in (groups, None))
    assert of_groups > 1.2 * of_samples
    gain, low, high = metric_difference(y, score >= 1.4, score >= 1.0, metric, groups=groups)
    turned = metric_difference(y, score >= 1.0, score >= 1.4, metric, groups=groups)
    np.testing.assert_allclose((-gain, -high, -low), turned, atol=1e-9)


def test_intervals_of_few_groups_hold():
    truth, rng, held = metric_interval(*(each for each in _whole()), "f1")[0], np.random.default_rng(2), 0
    for _ in range(60):
        y, score, groups = grouped(rng)
        low, high = metric_interval(y, score >= 1.4, groups=groups)
        held += low <= truth <= high
    assert held / 60 >= 0.8


def _whole():
    y, score, _ = grouped(np.random.default_rng(3), 4000)
    return y, score >= 1.4
