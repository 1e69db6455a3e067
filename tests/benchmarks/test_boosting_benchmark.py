"""The table of LightGBM has its rows, and both engines agree in them; nothing is said about the times."""

import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier

from tests.benchmarks.boosting import gains, measured, rows

pytest.importorskip("lightgbm")


def test_both_engines_agree(monkeypatch):
    data = make_classification(200, 4, weights=[0.7], random_state=0)
    monkeypatch.setattr("tests.benchmarks.boosting._data", lambda name: data)
    (row,) = rows(["made up"], n_estimators=3, n_trials=2)
    assert row["same"]
    assert row["generic"] > 0
    assert row["kept"] > 0


def test_gains_are_means_over_families():
    def told(exact, plain, seconds):
        return {"tuned": [exact, 2.0], "exact": [exact, 1.0], "plain": [plain, seconds], "folds": [plain, 2 * seconds]}

    results = {
        "forest/ecoli1/0": told(0.5, 0.6, 2.0),
        "forest/ecoli-0-1-vs-5/0": told(0.5, 0.5, 2.0),
        "forest/cm1/0": told(0.5, 0.49, 2.0),
        "forest/pc1/0": told(0.5, 0.49, 8.0),
    }
    _, plain, folds = gains(results)
    assert (plain["families"], plain["worst"]) == (2, "software -1.0")
    assert plain["F1 x 100"] == pytest.approx(2.0)
    assert plain["+-"] == pytest.approx(3.0)
    assert plain["time / tuned"] == pytest.approx(2**0.5)
    assert (plain["largest"], folds["largest"]) == (4.0, 8.0)


def test_everything_that_is_compared_is_measured():
    X, y = make_classification(120, 4, weights=[0.7], random_state=0)
    told = measured(GradientBoostingClassifier(n_estimators=4, max_depth=1), X, y, n_splits=2, seed=0)
    assert list(told) == ["tuned", "exact", "plain", "folds"]
    assert all(0.0 <= value <= 1.0 and seconds > 0.0 for value, seconds in told.values())
