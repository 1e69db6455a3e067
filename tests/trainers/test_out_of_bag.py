"""Out-of-bag scores in place of folds."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.search.plan import OUT_OF_BAG
from csf.trainers.out_of_bag import unfit_bags

X, Y = make_classification(240, 6, n_informative=4, weights=[0.8], random_state=0)
FOREST = RandomForestClassifier(50, max_depth=4, random_state=0)
OTHER = "folds took the place of out-of-bag scores: "


@pytest.mark.parametrize(
    "base",
    [FOREST, BaggingClassifier(n_estimators=50, random_state=1), ExtraTreesClassifier(50, bootstrap=True)],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.parametrize("cv", [None, "oob"])
def test_scores_are_out_of_bag_and_the_model_is_the_final_one(base, cv):
    search = CostSearch(base, cv=cv, random_state=0).fit(X, Y)
    assert search.stop_reason_.endswith(OUT_OF_BAG)
    assert (search.n_splits_, search.n_trials_) == (1, 1)
    alone = clone(search.best_estimator_).set_params(oob_score=True).fit(X, Y)
    store = search.result_.store
    np.testing.assert_allclose(store[search.result_.key].score, alone.oob_decision_function_[:, 1], atol=1e-6)
    np.testing.assert_array_equal(search.best_estimator_.predict_proba(X), alone.predict_proba(X))
    assert not search.best_estimator_.oob_score
    assert not hasattr(search.best_estimator_, "oob_decision_function_")
    assert "Judged on out-of-bag scores" in str(search.summary())


@pytest.mark.parametrize(
    ("metric", "y", "given"),
    [
        ("f1_macro", np.digitize(X[:, 0], [-1.0, 1.0]), {}),
        ("cost", Y, {"fn_cost": np.abs(X[:, 0]) + 1.0, "fp_cost": 0.3}),
    ],
    ids=["classes", "costs"],
)
def test_of_several_classes_and_of_costs_of_rows(metric, y, given):
    search = CostSearch(FOREST, metric, random_state=0).fit(X, y, **given)
    assert search.stop_reason_.endswith(OUT_OF_BAG)
    assert search.n_trials_ == 1
    low, high = search.score_interval_
    assert low <= search.corrected_score_ <= high


@pytest.mark.slow
def test_a_grid_is_searched_where_it_is_asked_for():
    grid = {"max_depth": [1, 4]}
    search = CostSearch(FOREST, cv="oob", param_grid=grid, random_state=0).fit(X, Y)
    assert search.n_trials_ == 2
    assert {trial.costs for trial in search.trials_} == {(1.0, 1.0)}
    assert search.best_estimator_.max_depth == search.best_params_["max_depth"]
    usual = CostSearch(FOREST, param_grid=grid, n_trials=1).fit(X[:80], Y[:80])
    assert usual.stop_reason_.endswith(f"{OTHER}other costs are searched")


@pytest.mark.parametrize(
    ("base", "given", "why"),
    [
        (FOREST, {"groups": np.arange(240) // 2}, "samples belong to groups"),
        (FOREST, {"sample_weight": np.arange(240) + 1.0}, "samples have weights"),
        (RandomForestClassifier(8, random_state=0), {}, "n_estimators=8 is less than 50"),
    ],
    ids=["groups", "weights", "few trees"],
)
def test_folds_take_their_place_where_they_would_be_wrong(base, given, why):
    base = clone(base).set_params(max_depth=2)
    search = CostSearch(base, cv="oob", random_state=0).fit(X, Y, **given)
    assert search.n_splits_ > 1
    assert search.stop_reason_.endswith(OTHER + why)


@pytest.mark.parametrize(
    ("base", "why"),
    [
        (FOREST, None),
        (clone(FOREST).set_params(max_samples=0.5), None),
        (clone(FOREST).set_params(bootstrap=False), "bootstrap=False leaves no sample out of a bag"),
        (clone(FOREST).set_params(warm_start=True), "warm_start=True keeps bags of other samples"),
        (BaggingClassifier(LinearSVC(), n_estimators=50), "BaggingClassifier decides by its decision_function"),
        (clone(FOREST).set_params(max_samples=1500), "max_samples=1500 draws some samples into all bags"),
    ],
    ids=str,
)
def test_bags_that_do_not_serve(base, why):
    assert unfit_bags(base, 300) == why


@pytest.mark.parametrize("last", [FOREST, BaggingClassifier(n_estimators=50)], ids=lambda base: type(base).__name__)
def test_a_pipeline_has_none_and_is_named(last):
    base, name = make_pipeline(StandardScaler(), last), type(last).__name__
    refused = (
        rf"of a base by itself, and {name} is the last step of a pipeline, .* Give {name} alone and X as those steps"
    )
    for nested in (base, make_pipeline(PCA(), base), {"plain": FOREST, "scaled": base}):
        with pytest.raises(ValueError, match=refused) as caught:
            CostSearch(nested, cv="oob").fit(X, Y)
        assert "no bagged base" not in str(caught.value)
    # The way out: features that were prepared before.
    search = CostSearch(last, cv="oob", random_state=0).fit(StandardScaler().fit_transform(X), Y)
    assert search.stop_reason_.endswith(OUT_OF_BAG)


def test_other_bases_have_none():
    with pytest.raises(ValueError, match="LogisticRegression has none"):
        CostSearch(LogisticRegression(), cv="oob").fit(X, Y)
    with pytest.raises(ValueError, match="for one target"):
        CostSearch(FOREST, "f1_macro", cv="oob").fit(X, np.column_stack([Y, 1 - Y]))


def test_threads_change_nothing_and_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = (CostSearch(FOREST, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    assert (one.best_threshold_, one.best_score_) == (two.best_threshold_, two.best_score_)
