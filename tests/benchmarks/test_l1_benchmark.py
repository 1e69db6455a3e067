"""The table of L1 penalties has its lines; nothing is said about the times."""

import pytest

from tests.benchmarks import l1
from tests.benchmarks.engine import problems


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_table():
    lines = list(l1.rows(problems(("dense",), shrink=50), n_runs=1))
    assert [(line["base"], line["cost"]) for line in lines] == [
        (base, cost) for base in ("squared hinge", "logistic") for cost in ("1", "3")
    ]
    assert all(float(line["ratio"]) > 0 for line in lines)
