"""The table of LightGBM has its rows, and both engines agree in them; nothing is said about the times."""

import pytest
from sklearn.datasets import make_classification

from tests.benchmarks.boosting import rows

pytest.importorskip("lightgbm")


def test_both_engines_agree(monkeypatch):
    data = make_classification(200, 4, weights=[0.7], random_state=0)
    monkeypatch.setattr("tests.benchmarks.boosting._data", lambda name: data)
    (row,) = rows(["made up"], n_estimators=3, n_trials=2)
    assert row["same"]
    assert row["generic"] > 0
    assert row["kept"] > 0
