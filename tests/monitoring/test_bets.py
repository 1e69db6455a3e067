"""Confidence sequences of ratios of sums, by bets on bounded terms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import beta

from csf.monitoring.bets import (
    ENOUGH,
    TermHistogram,
    asymptotic,
    log_capital,
    log_capital_of,
    log_limit,
    log_opened,
    of_share,
    of_terms,
)
from csf.monitoring.horizon import log_limits

# F1 with an audit of a fifth, and a mean cost with 5 for a false negative.
F1 = np.array([[2.0, 2.0], [0.0, 5.0], [0.0, 1.0], [0.0, 0.0]])
COST = np.array([[0.0, 1.0], [5.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
# What a mean of costs adds, and what for each unit of a cost.
MEAN = np.array([[[0.0, 1.0]], [[1.0, 0.0]]])


@pytest.mark.parametrize(("places", "value"), [(F1, 0.5), (F1, 0.9), (COST, 0.05), (COST, 0.6)])
def test_the_capital_is_that_of_the_best_stake_on_a_grid(places, value):
    counts = np.array([80.0, 9.0, 30.0, 400.0])
    gains = places[:, 0] - value * places[:, 1]
    stakes = np.linspace(-1.0 / gains.max(), 1.0 / -gains.min(), 100_003)[1:-1]
    by_hand = (counts @ np.log1p(np.outer(gains, stakes))).max()
    assert log_capital(value, places, counts) == pytest.approx(by_hand, abs=1e-4)


@pytest.mark.parametrize("value", [0.02, 0.3, 0.6])
def test_a_mixture_of_stakes_wins_what_an_interval_takes_for_won(value):
    """The mixture, a martingale, by quadrature: never below the capital of the best stake by more than the limit."""
    gains = COST[:, 0] - value * COST[:, 1]
    for counts in ([1.0, 0.0, 0.0, 0.0], [0.0, 7.0, 2.0, 60.0], [3.0, 1.0, 9.0, 200.0]):

        def capital(part, counts=counts):
            factors = part * (1.0 + gains / -gains.min()) + (1.0 - part) * (1.0 - gains / gains.max())
            return float(np.prod(factors ** np.array(counts))) * beta.pdf(part, 0.5, 0.5)

        mixed = quad(capital, 0.0, 1.0, points=[0.01, 0.1, 0.5], limit=200)[0]
        alone = log_capital(value, COST, np.array(counts)) - log_limit(sum(counts), 1.0)
        assert np.log(mixed) >= alone - 1e-6


@given(st.lists(st.integers(0, 300), min_size=3, max_size=3), st.sampled_from([F1, COST]))
def test_an_interval_holds_the_value_and_nothing_that_is_refuted(counts, places):
    counts = np.array([*counts, 50.0])
    n = counts.sum()
    low, high = of_terms(places, counts, n, 0.05)
    top, bottom = counts @ places
    if not bottom:
        assert (low, high) == (0.0, 1.0)
        return
    assert low <= top / bottom <= high
    for inside, outside in ((low + 1e-3, low - 1e-3), (high - 1e-3, high + 1e-3)):
        if low < inside < high:
            assert log_capital(inside, places, counts) < log_limit(n, 0.05)
        if 0.0 < outside < (places[:, 0] / np.maximum(places[:, 1], 1.0)).max():
            assert log_capital(outside, places, counts) > log_limit(n, 0.05)


def test_of_two_cells_the_interval_is_nearly_that_of_a_share():
    low, high = of_terms(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([60.0, 40.0]), 100.0, 0.05)
    np.testing.assert_allclose(of_share(60.0, 100.0, 0.05, 0.1), (low, high), atol=0.01)


@given(st.integers(0, 400), st.integers(0, 400), st.floats(0.0, 1.0))
def test_the_interval_of_a_share_is_where_the_mixture_has_not_won(ones, zeros, level):
    """By hand: half Jeffreys' prior, a quarter each around the level, as sure as 30 and as 200 samples."""
    low, high = of_share(ones, ones + zeros, 0.05, level)
    priors = [(0.5 + n * level, 0.5 + n * (1.0 - level)) for n in (0.0, 30.0, 200.0)]
    won = np.log(
        sum(w * np.exp(betaln(a + ones, b + zeros) - betaln(a, b)) for w, (a, b) in zip((2, 1, 1), priors)) / 4
    )

    def capital(share):
        return won - xlogy(ones, share) - xlog1py(zeros, -share)

    assert low <= (ones + 0.5) / (ones + zeros + 1.0) <= high or zeros == 0 or ones == 0
    for end, sign in ((low, 1.0), (high, -1.0)):
        if 1e-6 < end < 1.0 - 1e-6:
            assert capital(end + sign * 1e-7) <= -np.log(0.05) + 1e-6
            assert capital(end) == pytest.approx(-np.log(0.05), abs=1e-4)


# ---------------------------------------------------------------- places of a histogram


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.floats(0.0, 8.0), st.floats(0.0, 40.0)),
        min_size=1,
        max_size=30,
    ),
    st.floats(0.05, 30.0),
)
def test_samples_between_places_keep_their_sums_and_win_no_more(samples, value):
    kinds, weight, cost = (np.array(each) for each in zip(*samples))
    bottoms = np.array([[1.0], [4.0]])
    histogram = TermHistogram(bottoms * [0.0, 1.0], bottoms * [1.0, 0.0], 8.0, 40.0)
    counts = histogram.count(kinds[:, None], np.ones((kinds.size, 1)), weight, cost)
    bottom = weight * np.where(kinds == 0, 1.0, 4.0)
    np.testing.assert_allclose(counts @ histogram.places, [(bottom * cost).sum(), bottom.sum()], atol=1e-9)
    gains = bottom * (cost - value)
    possible = histogram.places @ [1.0, -value]
    for stake in np.array([0.9, -0.9]) / np.abs(possible).max():
        by_places = counts @ np.log1p(-stake * possible)
        assert by_places <= np.log1p(-stake * gains).sum() + 1e-9


def test_samples_at_places_stay_what_they_are():
    histogram = TermHistogram(*MEAN, None, 16.0)
    counts = histogram.count(np.zeros((3, 1), dtype=int), np.ones((3, 1)), np.ones(3), np.array([16.0, 8.0, 0.0]))
    np.testing.assert_allclose(histogram.places[counts > 1e-9], [[16.0, 1.0], [8.0, 1.0], [0.0, 1.0]])
    plain, kinds = TermHistogram(F1, np.zeros((4, 2)), None, None), np.array([[0], [2], [2]])
    np.testing.assert_array_equal(plain.places, F1)
    np.testing.assert_array_equal(plain.count(kinds, np.ones((3, 1)), np.ones(3), np.zeros(3)), [1, 0, 2, 0])
    # Without a largest weight those up to 1 are parts of a sample.
    np.testing.assert_allclose(
        plain.count(kinds, np.ones((3, 1)), np.array([1, 0.5, 0.2]), np.zeros(3)), [1, 0, 0.7, 0]
    )


def test_places_are_close_enough():
    """Costs of every size: the interval is at most a few percent wider than by the costs themselves."""
    cost = np.random.default_rng(0).uniform(0.0, 50.0, 2000)
    exact = np.column_stack([np.append(cost, [0.0, 50.0]), np.ones(2002)])
    low, high = of_terms(exact, np.append(np.ones(2000), [0.0, 0.0]), 2000.0, 0.05)
    histogram = TermHistogram(*MEAN, None, 50.0)
    counts = histogram.count(np.zeros((2000, 1), dtype=int), np.ones((2000, 1)), np.ones(2000), cost)
    around = of_terms(histogram.places, counts, 2000.0, 0.05)
    assert around[0] <= low <= high <= around[1]
    assert around[1] - around[0] < 1.06 * (high - low)


# ---------------------------------------------------------------- without a largest cost


def test_there_is_no_asymptotic_interval_before_costs_are_known():
    def sums(n):
        return np.array([3.0 * n, 10.0 * n, 9.0 * n, 3.0 * n, 10.0 * n])

    assert np.isnan(asymptotic(sums(ENOUGH - 1), 0.05, 10.0 * ENOUGH)).all()
    low, high = asymptotic(sums(ENOUGH), 0.05, 10.0 * ENOUGH)
    assert 0.0 < low < 0.3 < high < 1.0
    one_large = np.array([1e6, 1e4, 1e12, 1e6, 1e4])
    assert np.isnan(asymptotic(one_large, 0.05, 1e4)).all()


def test_the_ends_of_an_asymptotic_interval_are_at_its_boundary():
    """The normal mixture of Waudby-Smith and others, narrowest at 500 counted samples, by its definition."""
    rng, alpha, n = np.random.default_rng(0), 0.05, 900
    top, bottom = rng.exponential(size=n), rng.exponential(size=n) + 0.5
    sums = np.array([top.sum(), bottom.sum(), top @ top, top @ bottom, bottom @ bottom])
    rho = (2.0 * np.log(1.0 / alpha) + np.log(2.0 * np.log(1.0 / alpha) + 1.0)) / 500.0
    boundary = np.sqrt(2.0 * (n * rho + 1.0) / (n * rho) * np.log(np.sqrt(n * rho + 1.0) / alpha))
    for value in asymptotic(sums, alpha, float(n)):
        each = top - value * bottom
        assert abs(each.sum()) == pytest.approx(boundary * np.sqrt(each @ each))


# ---------------------------------------------------------------- a horizon


F1_GAINS = np.array([2.0 - 0.6 * 2.0, -0.6]) / 0.8
GROWTH = np.log1p(-np.outer(F1_GAINS, 0.6 * 0.5 ** np.arange(5)))


def test_limits_are_those_of_the_batches_so_far_and_fall_below_one_over_alpha():
    counts = np.random.default_rng(0).integers(10, 200, 20).tolist()
    limits = log_limits(counts, 0.6 / 1.4, GROWTH, 0.05, 20)
    np.testing.assert_array_equal(log_limits(counts[:7], 0.6 / 1.4, GROWTH, 0.05, 20), limits[:7])
    assert limits[-1] < np.log(20.0)


def test_alarms_at_the_level_grow_evenly_to_alpha():
    """By other streams than those that the limits are made of."""
    counts, share, n_streams = [60] * 20, 0.6 / 1.4, 4000
    limits = log_limits(counts, share, GROWTH, 0.1, 20)
    rng, mixed, seen, alarmed = np.random.default_rng(7), np.full((n_streams, 5), -np.inf), 0, np.zeros(n_streams, bool)
    for batch, count in enumerate(counts):
        ones = rng.binomial(count, share, n_streams)
        growth = np.column_stack([ones, count - ones]) @ GROWTH
        mixed, seen = np.logaddexp(mixed, log_opened(seen, seen + count)) + growth, seen + count
        alarmed |= log_capital_of(mixed, seen) >= limits[batch]
        if batch in (9, 19):
            assert 0.06 * (batch + 1) / 20 <= alarmed.mean() <= 0.115 * (batch + 1) / 20
