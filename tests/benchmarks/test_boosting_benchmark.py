"""The table of LightGBM has its rows, and both engines agree in them; nothing is said about the times."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier

from csf import CostSearch
from csf.plugin import PlugInClassifier
from csf.search.config import BY_ROUNDS, open_cv
from tests.benchmarks.boosting import METHODS, RIVAL, compare, gains, measured, rival, rows

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
    tuned, plain, folds = gains(results)
    assert (tuned["method"], tuned["sets"], tuned["runs"]) == ("tuned", 4, 4)
    assert (plain["families"], plain["worst"]) == (2, "software -1.0")
    assert plain["F1 x 100"] == pytest.approx(2.0)
    # t of one degree of freedom, times a standard error of 3.
    assert plain["95 %"] == "[-36.12, +40.12]"
    assert plain["time / tuned"] == pytest.approx(2**0.5)
    assert (plain["largest"], folds["largest"]) == (4.0, 8.0)


def test_methods_that_were_measured_are_shown():
    (row,) = gains({"forest/ecoli1/0": {"exact": [0.5, 1.0], "plain": [0.5, 1.0]}})
    assert (row["method"], row["F1 x 100"]) == ("plain", 0.0)
    assert math.isnan(row["time / tuned"])


@pytest.mark.slow
def test_a_file_is_completed(tmp_path, monkeypatch):
    X, y = make_classification(60, 4, weights=[0.7], random_state=0)
    monkeypatch.setattr("tests.benchmarks.boosting.sets", lambda: [("one", X, y)])
    monkeypatch.setattr(
        "tests.benchmarks.boosting.bases", lambda: {"trees": GradientBoostingClassifier(n_estimators=4)}
    )
    how = {"n_seeds": 1, "n_splits": 2, "out": tmp_path / "runs.json", "budget": math.inf}
    first = compare(["trees"], ["plain"], **how)
    both = compare(["trees"], ["plain", "costs"], **how)
    assert list(both["trees/one/0"]) == ["plain", "exact", "costs"]
    assert both["trees/one/0"]["plain"] == first["trees/one/0"]["plain"]


def test_the_rival_is_the_base_with_the_exact_threshold_of_the_same_folds():
    X, y = make_classification(150, 4, weights=[0.7], flip_y=0.4, random_state=3)
    base = GradientBoostingClassifier(n_estimators=24, learning_rate=0.5, random_state=0)
    search = CostSearch(base).fit(X, y)
    assert search.best_index_ > 0
    exact = PlugInClassifier(base, cv=open_cv(y, BY_ROUNDS, random_state=None)).fit(X, y)
    assert np.array_equal(rival(base, search, X, y)(X), exact.predict(X))


def test_everything_that_is_compared_is_measured():
    X, y = make_classification(120, 4, weights=[0.7], random_state=0)
    base, names = GradientBoostingClassifier(n_estimators=4, max_depth=1), list(METHODS)
    told = measured(base, X, y, names=names, n_splits=2, seed=0)
    assert set(told) == {RIVAL, *names}
    assert all(0.0 <= value <= 1.0 and seconds > 0.0 for value, seconds in told.values())
