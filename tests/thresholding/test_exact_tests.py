"""Forecasts of tests, by hand: how probable a demand will look on samples to come."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from csf.thresholding.exact_tests import Demand, outlook_of

SHARE = Demand(np.array([0.2, 0.0, -0.8, 0.0]), level=0.8, loss=0.8)
BET = Demand(np.array([0.5, 0.0, -2.0, 0.0]), level=None, loss=2.0)


@pytest.mark.parametrize(
    ("ones", "n_units", "expected"),
    [
        (8.7, 10, binom.sf(6, 10, 0.8)),  # 8.7 in 11 are 7.9 of 10
        (8.9, 10, binom.sf(7, 10, 0.8)),  # 8.9 in 11 are 8.1 of 10
        (8.9, 2, binom.sf(0, 2, 0.8)),
        (8.9, 1, 1.0),  # one sample shows nothing: it is right in less than one case
    ],
)
def test_counts_to_come_are_those_of_before_and_one_wrong_one_more(ones, n_units, expected):
    outlook = outlook_of(SHARE, lambda of: np.array([[ones], [10.0 - ones]]), 10.0)
    assert outlook.p(n_units) == pytest.approx(expected)
    assert np.isnan(outlook.sizes).all()


def test_one_searched_sample_foretells_many():
    outlook = outlook_of(SHARE, lambda of: np.array([[1.0], [0.0]]), 1.0)
    assert outlook.p(30) == pytest.approx(binom.sf(28, 30, 0.8))  # 30 in 31 are 29.03 of 30


@pytest.mark.parametrize(
    ("square", "n_units", "expected"),
    [
        (40.0, 20, ndtr(-(8.0 - 0.5) / np.sqrt(80.0 + 0.25))),  # half a heavy loss more than were seen
        (0.4, 20, np.exp(-0.95 * (8.0 - 0.5))),  # no bet wins more than by its largest stake on all gains
        (0.4, 1, 1.0),
    ],
)
def test_bets_to_come_gain_what_was_gained_before_but_half_a_loss(square, n_units, expected):
    outlook = outlook_of(BET, lambda of: np.array([[4.0], [square], [8.0]]), 10.0)
    assert outlook.p(n_units) == pytest.approx(expected)
    assert outlook.sizes == pytest.approx(square / 8.0 * 2.0**2)
