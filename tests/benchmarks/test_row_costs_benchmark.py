"""The comparison of decisions by row with thresholds runs and gives rows."""

import numpy as np
import pytest

from csf.metrics import RowCosts
from tests.benchmarks import row_costs
from tests.benchmarks.data import data_folder

pytestmark = pytest.mark.skipif(
    data_folder() is None or not (data_folder() / "row_costs").is_dir(), reason="the sets with costs are not there"
)


def test_savings_are_those_of_the_metric():
    _, y, costs = row_costs.load("telco")
    answers = np.random.default_rng(0).uniform(size=y.size) < 0.5
    assert row_costs.savings(costs, y, answers) == pytest.approx(RowCosts().score(y, answers * 1, **costs))
    assert set(row_costs.methods()) >= {"one threshold", "csf"}


@pytest.mark.slow
def test_rows_of_the_tables():
    row = row_costs.compared("telco", "logistic", ["threshold 1/2", "one threshold", "Elkan, raw p", "csf"], 1)
    assert float(row["csf"]) > float(row["one threshold"]) - 1.0 > float(row["threshold 1/2"])
    row = row_costs.refits("telco", "logistic", 3)
    assert float(row["interval holds"].rstrip("%")) >= 33
