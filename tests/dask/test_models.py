"""Several models on Dask, one after the other: the choice in memory on the same folds."""

import dask.array as da
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.dask import DaskCostSearch
from csf.distributed import hash_folds

pytestmark = pytest.mark.usefixtures("one_thread")

MODELS = {
    "scaled": make_pipeline(StandardScaler(), LogisticRegression(tol=1e-9)),
    "margin": LinearSVC(C=1e-3, tol=1e-7),
}


@pytest.fixture(scope="module")
def rows(data):
    X, y, _ = data
    return X[:1000], y[:1000], hash_folds(0, 1000, 3)


def pieces(*arrays):
    return [da.from_array(a, chunks=(400, *a.shape[1:])) for a in arrays]


@pytest.mark.parametrize(
    ("base", "options"),
    [
        pytest.param(MODELS, {"random_state": 0}, marks=pytest.mark.slow),
        pytest.param(
            list(MODELS.values()),
            {"param_grid": {"linearsvc": {"C": [1e-3, 1.0]}, "logisticregression": None}},
            marks=pytest.mark.slow,
        ),
        pytest.param(MODELS, {"param_grid": None, "constraint": "recall >= 0.8"}, marks=pytest.mark.slow),
        (MODELS, {"param_grid": None}),
    ],
    ids=["dict", "list", "constraint", "one setting"],
)
def test_the_winner_is_that_in_memory(rows, base, options):
    X, y, fold = rows
    dX, dy, dfold = pieces(*rows)
    whole = CostSearch(base, "f1", cv=PredefinedSplit(fold), **options).fit(X, y)
    search = DaskCostSearch(base, "f1", **options).fit(dX, dy, folds=dfold)
    assert (search.best_params_, search.n_trials_) == (whole.best_params_, whole.n_trials_)
    assert search.stop_reason_ == whole.stop_reason_
    for name in ("best_score_", "corrected_score_", "score_interval_", "best_threshold_"):
        np.testing.assert_allclose(getattr(search, name), getattr(whole, name), atol=2e-3, err_msg=name)
    predicted = search.predict(dX).compute()
    assert np.mean(predicted != whole.predict(X)) < 2e-3
    local = search.to_local()
    np.testing.assert_array_equal(local.predict(X), predicted)
    assert set(local.base) == {params["model"] for params in search.cv_results_["params"]}


@pytest.mark.slow
@pytest.mark.parametrize("threshold", ["tune", "stable"])
def test_settings_are_those_of_their_models_where_scores_are_counted(rows, monkeypatch, threshold):
    """Settings beyond the grid are left out of the middle, and those behind on a sample."""
    monkeypatch.setattr("csf.dask.engine.MOST_COLLECTED", 0)
    search = DaskCostSearch(MODELS, "f1", threshold=threshold, n_trials=2, cv=2).fit(*pieces(*rows[:2]))
    own = {"scaled": 1.0, "margin": 1e-3}
    names = {"scaled": "logisticregression__C", "margin": "C"}
    for params in search.cv_results_["params"]:
        model = params["model"]
        assert set(params) == {"t", "model", names[model]}
        furthest = 64 if threshold == "tune" else 1024
        assert 1 / furthest <= params[names[model]] / own[model] <= furthest
    winner = search.best_estimator_
    assert isinstance(winner, LinearSVC) == (search.best_params_["model"] == "margin")
    C = (winner if isinstance(winner, LinearSVC) else winner[-1]).C
    assert search.best_params_[names[search.best_params_["model"]]] == C


def test_each_model_has_to_be_one_for_parts(rows):
    dX, dy, _ = pieces(*rows)
    with pytest.raises(TypeError, match=r"base must be LinearSVC.*got DecisionTreeClassifier.*csf\.CostSearch"):
        DaskCostSearch([LinearSVC(), DecisionTreeClassifier()]).fit(dX, dy)
