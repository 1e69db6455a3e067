"""Folds of a hash: repeatable, even, different for each part and seed."""

import numpy as np
import pytest

from csf.distributed import hash_folds
from csf.distributed.engine import check_folds


@pytest.mark.parametrize("cv", [2, 3, 10, 0.3])
def test_folds_repeat_and_do_not_depend_on_the_number_of_rows(cv):
    whole = hash_folds(4, 1000, cv, seed=7)
    np.testing.assert_array_equal(hash_folds(4, 600, cv, seed=7), whole[:600])
    assert set(whole) == (set(range(cv)) if isinstance(cv, int) else {-1, 0})


def test_folds_are_those_of_all_versions():
    """A search that goes on with another version of csf holds out the same rows."""
    assert hash_folds(0, 12, 5).tolist() == [0, 0, 1, 4, 0, 3, 4, 0, 2, 1, 0, 1]
    assert hash_folds(3, 6, 7, seed=9).tolist() == [0, 5, 5, 0, 5, 1]


def test_folds_are_even_and_independent():
    n = 40_000
    one, part, seed = hash_folds(0, n, 4), hash_folds(1, n, 4), hash_folds(0, n, 4, seed=1)
    for other in (part, seed, np.roll(one, 1), np.roll(one, 64)):
        table = np.histogram2d(one, other, bins=4)[0]
        chi2 = ((table - n / 16) ** 2 / (n / 16)).sum()
        assert chi2 < 40  # 15 degrees of freedom: 1 in 2000


@pytest.mark.parametrize("cv", [1, 0, -3, True, "5", 1.0, 0.0, 2.5, None])
def test_what_is_no_number_of_folds(cv):
    with pytest.raises((TypeError, ValueError), match=r"cv must be"):
        check_folds(cv)
