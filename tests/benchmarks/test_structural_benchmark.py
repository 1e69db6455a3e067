"""The benchmark of structural losses says what it measured."""

import numpy as np
import pytest
from structural_streams import stream

from tests.benchmarks import structural
from tests.benchmarks.tables import markdown

SMALL = {"losses": ("pauc",), "n_splits": 2, "n_repeats": 1, "grids": ([10.0, 1000.0], [10.0, 100.0])}


@pytest.fixture
def small_set(monkeypatch):
    X, y = stream(n=700, pos=0.15)
    monkeypatch.setattr(structural, "load_set", lambda name: (X, (y > 0).astype(int)))


def test_rows_and_traces(small_set):
    curves = {}
    (row,) = structural.reach_rows(["any"], curves=curves, **SMALL)
    assert row["C"] in ("10", "505", "1000")
    assert float(row["CP kept"]) <= float(row["CP first"])
    assert float(row["CP kept"]) >= 1.0
    assert 50.0 < float(row["1PMB value"]) <= 100.0
    for run in curves["pauc", "any"]:
        for seconds, values in run.values():
            assert len(seconds) == len(values)
            assert (np.diff(seconds) > 0).all()
            assert ((values >= 0) & (values <= 1)).all()
    traces = list(structural.trace_rows(curves))
    assert [trace["learner"] for trace in traces] == ["CP", "1PMB", "2PMB", "PSG"]
    assert traces[0]["1"] == row["CP value"]
    lines = markdown(traces).splitlines()
    assert len(lines) == 6
    assert len({line.count("|") for line in lines}) == 1


def test_timing_does_not_change_what_is_learnt(small_set):
    X, y = structural.load_set("any")
    for timed, kwargs in (
        (structural.TimedOnePass, {"random_state": 0}),
        (structural.TimedTwoPass, {"random_state": 0}),
        (structural.TimedCuttingPlane, {}),
        (structural.TimedSubgradient, {}),
    ):
        learner = timed("pauc", **kwargs)
        times, kept = learner.fit_timed(X, y, keep=True)
        plain = timed.__mro__[2]("pauc", **kwargs).fit(X, y)
        np.testing.assert_array_equal(learner.coef_, plain.coef_)
        assert kept[0][0] == 0
        assert kept[-1][0] < len(times)


def test_when_a_value_is_reached():
    curve = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.2, 0.8, 0.6, 0.9])
    assert structural._reached(curve, 0.7) == (2.0, 4.0)
    assert structural._reached(curve, 0.1) == (1.0, 1.0)
    assert structural._reached(curve, 0.95) == (np.inf, np.inf)


@pytest.mark.data
def test_sets_of_one_class(load_data):
    load_data("wine")
    X, y = structural.load_set("letter:1")
    assert X.shape == (20000, 16)
    assert y.sum() == 789
