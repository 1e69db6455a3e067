import numpy as np
import pytest

from tests.benchmarks.capacity import captured, population


def test_what_a_choice_captures():
    ones = np.ones(4)
    costs = {"fn_cost": np.array([8.0, 2.0, 5.0, 5.0]), "fp_cost": 3 * ones, "tp_cost": ones, "tn_cost": 0 * ones}
    y = np.array([1, 1, 0, 1])
    # A perfect choice gains 7 + 1 + 4; the false alarm costs 3.
    assert captured(costs, y, np.array([0, 2])) == pytest.approx(4 / 12)
    assert captured(costs, y, np.flatnonzero(y)) == 1.0


def test_the_population_has_amounts_of_its_own():
    X, y = population(20_000, np.random.default_rng(0))
    assert 0.2 < y.mean() < 0.35
    assert abs(np.corrcoef(X[:, 2], y)[0, 1]) < 0.03
