"""The table of the bookkeeping has its rows; nothing is said about the times."""

import numpy as np

from csf.bounds import BOUNDS
from csf.strategies import STRATEGIES
from tests.benchmarks.bookkeeping import METRICS, history, rows


def test_every_strategy_and_bound_has_a_row():
    table = list(rows(sizes=(2, 3), n_runs=1))
    work = {row["work"] for row in table if row["metric"] == "f1"}
    assert work == {"ask and tell", *(f"strategy {name}" for name in STRATEGIES), *(f"bound {name}" for name in BOUNDS)}
    assert {row["metric"] for row in table} == {metric.name for metric in METRICS}
    assert {row["n_trials"] for row in table} == {2, 3}
    assert all(row["milliseconds"] >= 0 for row in table)


def test_histories_are_those_of_a_search():
    for metric in METRICS:
        trials = history(metric, 30)
        assert len({trial.t for trial in trials}) == 30
        assert min(len(trial.hull.points) for trial in trials) > 100
        assert np.ptp([trial.t for trial in trials]) > 0.9
