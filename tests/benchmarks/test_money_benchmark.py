"""The comparison of settings of boosters runs and gives rows."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from tests.benchmarks import money
from tests.benchmarks.data import data_folder

pytestmark = pytest.mark.skipif(
    data_folder() is None or not (data_folder() / "row_costs").is_dir(), reason="the sets with costs are not there"
)


@pytest.mark.parametrize("name", money.sets())
def test_sets_have_costs_for_each_row(name):
    X, y, costs = money.load(name)
    assert len(X) == y.size == costs["fn_cost"].size
    assert set(np.unique(y)) == {0, 1}
    assert all(np.isfinite(each).all() and (each >= 0.0).all() for each in costs.values())


def test_the_search_of_before_has_rounds_alone():
    y = np.repeat([0, 1], [900, 600])
    found = money.searches(HistGradientBoostingClassifier(), y)
    assert found["before"].param_grid == [{"max_iter": [100]}, {"max_iter": [50]}, {"max_iter": [25]}]
    assert found["now"].param_grid == "auto"


@pytest.mark.slow
def test_rows_of_the_table():
    (row, mean) = money.table(["telco"], "histograms", 2, 400)
    assert row["set"] == "telco"
    assert float(row["times the processor time"]) > 1.0
    assert "±" in mean["gain"]
