"""The comparison of strategies on drawn data."""

import numpy as np
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from csf.metrics.profile import ErrorProfile
from csf.strategies import Support
from tests.benchmarks import strategies


def drawn(name):
    return make_classification(200, 4, weights=[0.8], flip_y=0.1, random_state=len(name))


def test_rows_have_all_methods_and_paired_differences(monkeypatch):
    monkeypatch.setattr(strategies, "load_binary", drawn)
    rows = list(strategies.rows(["a"], bases=["svc"], n_splits=2))
    assert [row["method"] for row in rows] == ["plain", strategies.RIVAL, *strategies.METHODS]
    rival = np.array(rows[1]["values"])
    for row in rows:
        np.testing.assert_allclose(row["gain"], np.mean(row["values"] - rival), atol=1e-12)
        assert 1 <= row["trainings"] <= 19
    assert rows[1]["gain"] == 0.0


def test_a_search_is_that_of_cost_search():
    X, y = drawn("a")
    train, test = np.arange(150), np.arange(150, 200)
    split = strategies._Split(LinearSVC(dual=False), strategies.get_metric("f1"), X, y, train, test)
    score, n_trained = split.search(Support(), 5, True)
    options = {"strategy": Support(), "n_trials": 5, "engine": "generic", "cv": split.folds}
    search = paper_search(LinearSVC(dual=False), **options).fit(X[train], y[train])
    profile = ErrorProfile.from_masks(y[test] == 1, search.predict(X[test]) == 1)
    assert (score, n_trained) == (strategies.get_metric("f1").of(profile), search.n_trials_)
