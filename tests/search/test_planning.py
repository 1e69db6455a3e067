"""Several models in one search: one race, one choice, one corrected score; and bases without weights."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf._common.sklearn import last_name
from csf.data.folds import Task
from csf.search.planning import training_sample
from csf.strategies import Ladder

X, Y = make_classification(400, 6, n_informative=4, weights=[0.8], flip_y=0.05, class_sep=0.6, random_state=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
FOREST = RandomForestClassifier(n_estimators=8)
TREES = GradientBoostingClassifier(n_estimators=8)
THREE = {"linear": LINEAR, "forest": FOREST, "trees": TREES}


def told(search):
    """What a search found, but for the names of models."""
    trials = [(t.setting, t.number, t.costs, t.threshold, t.score, t.fold_scores) for t in search.trials_]
    found = search.best_threshold_, search.best_score_, search.corrected_score_, search.best_index_, search.upper_bound_
    return trials, found, search.stop_reason_


def sorted_scores(search):
    return sorted((t.costs, t.score, t.threshold) for t in search.trials_)


# ---------------------------------------------------------------- laws


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "options"),
    [
        (LINEAR, {"random_state": 0}),
        (FOREST, {"random_state": 1, "threshold": "tune"}),
        (TREES, {"random_state": 0}),
        (LinearSVC(), {"random_state": 1, "threshold": "tune"}),
    ],
    ids=lambda value: None if isinstance(value, dict) else type(value).__name__,
)
def test_a_list_of_one_is_the_search_of_one(base, options):
    base = base if isinstance(base, LinearSVC) else clone(base).set_params(**_seeds(base))
    one, listed, named = (CostSearch(each, **options).fit(X, Y) for each in (base, [base], {"it": base}))
    assert told(one) == told(listed) == told(named)
    np.testing.assert_array_equal(one.score_samples(X), listed.score_samples(X))
    assert named.best_params_ == {"model": "it"} | one.best_params_


def _seeds(base):
    return {name: 0 for name in base.get_params() if name.rpartition("__")[2] == "random_state"}


@pytest.mark.slow
def test_the_order_of_models_changes_nothing():
    ways = [THREE, dict(reversed(THREE.items()))]
    one, other = (CostSearch(base, random_state=3).fit(X, Y) for base in ways)
    assert told(one) == told(other)
    lists = [CostSearch(list(base.values()), random_state=3).fit(X, Y) for base in ways]
    assert told(lists[0]) == told(lists[1])
    assert sorted_scores(lists[0]) == sorted_scores(one)


def of_model(search, name):
    """Trials of a model, by the column of the models."""
    return [trial for trial, model in zip(search.trials_, search.cv_results_["param_model"]) if model == name]


BLIND = make_pipeline(FunctionTransformer(np.zeros_like), LogisticRegression())
STUMP = make_pipeline(FunctionTransformer(np.zeros_like), DecisionTreeClassifier())
EASY, TRUTH = make_classification(400, 5, n_redundant=0, weights=[0.8], class_sep=2.0, flip_y=0.02, random_state=0)


def test_a_hopeless_model_is_dropped_after_its_first_setting():
    search = CostSearch({"good": LINEAR, "blind": BLIND}, random_state=0).fit(EASY, TRUTH)
    assert search.best_params_["model"] == "good"
    (trial,) = of_model(search, "blind")
    assert trial.costs == (1.0, 1.0)
    assert search.cv_results_["dropped"][search.trials_.index(trial)]
    assert "blind was dropped with equal costs: f1 0." in search.stop_reason_
    assert "below good" in search.stop_reason_
    assert len(of_model(search, "good")) > 3


def test_a_hopeless_slow_model_is_trained_on_one_repetition():
    search = CostSearch({"good": LINEAR, "stump": STUMP}, random_state=0).fit(EASY, TRUTH)
    assert search.n_splits_ == 8
    (trial,) = of_model(search, "stump")
    assert len(trial.fold_scores) == 4
    table, at = search.cv_results_, search.trials_.index(trial)
    assert np.isfinite(table["split3_test_score"][at])
    assert np.isnan(table["split4_test_score"][at])
    assert "stump was dropped after 4 folds" in search.stop_reason_
    # What was held out once stands in for what would be held out again.
    row = search.held_out_[trial.setting, trial.number]
    for sample in (0, 7):
        assert len(set(row.score[search.held_out_.samples == sample].tolist())) == 1
    assert all(len(other.fold_scores) == 8 for other in of_model(search, "good"))


def test_a_survivor_is_what_it_is_on_all_folds():
    splits = list(RepeatedStratifiedKFold(n_splits=4, n_repeats=2, random_state=0).split(X, Y))
    forest = clone(FOREST).set_params(random_state=0)
    alone = CostSearch(forest, cv=splits).fit(X, Y)
    beside = CostSearch({"forest": forest, "trees": clone(TREES).set_params(random_state=0)}, cv=splits).fit(X, Y)
    (trial,) = of_model(beside, "forest")
    assert (trial.fold_scores, trial.threshold) == (alone.trials_[0].fold_scores, alone.trials_[0].threshold)
    np.testing.assert_array_equal(beside.held_out_[trial.setting, 0].score, alone.held_out_[0, 0].score)


def test_rounds_of_two_repetitions_are_those_of_one_search():
    splits = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, Y))
    trees = clone(TREES).set_params(random_state=0)
    alone = CostSearch(trees, cv=splits).fit(X, Y)
    beside = CostSearch({"forest": FOREST, "trees": trees}, cv=splits, random_state=0).fit(X, Y)
    whole = [trial.score for trial in of_model(beside, "trees") if len(trial.fold_scores) == 6]
    assert whole
    assert set(whole) <= {trial.score for trial in alone.trials_}


def test_the_corrected_score_counts_the_choice_among_models():
    """Of many models without any skill the best one is expected to have none."""
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(150, 4)), np.arange(150) % 4 == 0
    models = {
        f"tree{seed}": DecisionTreeClassifier(max_depth=2, random_state=seed, max_features=1) for seed in range(8)
    }
    search = CostSearch(models, "f1", random_state=0, strategy=Ladder(1)).fit(noise, y)
    assert search.corrected_score_ < search.best_score_
    chosen = {row.key[0] for row in search.held_out_}
    assert len(chosen) == len(models)


# ---------------------------------------------------------------- what may be given


def test_models_of_a_list_are_named_by_their_last_steps():
    search = CostSearch([LINEAR, FOREST, clone(FOREST)], random_state=0, param_grid=None).fit(X, Y)
    assert set(search.cv_results_["param_model"]) == {
        "logisticregression",
        "randomforestclassifier-1",
        "randomforestclassifier-2",
    }
    assert search.best_params_.keys() == {"model"}


def test_grids_by_the_names_of_models():
    grids = {"forest": {"max_depth": [1, 4]}, "linear": None}
    search = CostSearch({"linear": LINEAR, "forest": FOREST}, random_state=0, param_grid=grids, n_trials=2).fit(X, Y)
    assert {trial.setting for trial in of_model(search, "linear")} == {1 + 1}
    depths = {value for value, model in zip(search.cv_results_["param_max_depth"], search.cv_results_["param_model"])}
    assert depths == {1, 4, None}


@pytest.mark.parametrize(
    ("base", "options", "error", "text"),
    [
        ([], {}, ValueError, "at least one"),
        ({}, {}, ValueError, "at least one"),
        ([LINEAR, Ridge()], {}, TypeError, "a regressor"),
        ([LINEAR, LogisticRegression], {}, TypeError, "a classifier object"),
        ([("a", LINEAR), ("b", FOREST)], {}, TypeError, "models have their names in a dict"),
        ({"metric": LINEAR}, {}, ValueError, "names of models.*'metric'"),
        ({"a__b": LINEAR}, {}, ValueError, "names of models"),
        ({3: LINEAR}, {}, ValueError, "names of models.*got 3"),
        ([LINEAR, FOREST], {"param_grid": {"C": [1]}}, ValueError, "by their names.*got 'C'"),
        ([LINEAR, FOREST], {"param_grid": [{"C": [1]}]}, ValueError, "by their names.*a list"),
        ({"linear": LINEAR}, {"param_grid": {"linaer": {}}}, ValueError, "Did you mean 'linear'"),
        ({"linear": LINEAR}, {"param_grid": {"linear": {"model": [1]}}}, ValueError, "column of the models"),
        ([LINEAR, Perceptron()], {"refit": "folds"}, ValueError, "needs predict_proba .* and Perceptron"),
        ([LINEAR, FrozenEstimator(clone(LINEAR).fit(X, Y))], {}, ValueError, "fitted models.*unfitted"),
    ],
)
def test_what_is_refused(base, options, error, text):
    with pytest.raises(error, match=text):
        CostSearch(base, **options).fit(X, Y)


def test_parameters_of_models_are_those_of_the_search():
    search = CostSearch({"linear": LINEAR, "forest": FOREST})
    params = search.get_params()
    assert params["forest__n_estimators"] == 8
    assert params["linear__logisticregression__C"] == 1.0
    assert "forest" not in search.get_params(deep=False)
    copied = clone(search).set_params(forest__n_estimators=3, linear=GaussianNB(), n_trials=4)
    assert (copied.base["forest"].n_estimators, copied.n_trials) == (3, 4)
    assert isinstance(copied.base["linear"], GaussianNB)
    # The one that was cloned is as it was.
    assert (search.base["forest"].n_estimators, search.base["linear"]) == (8, LINEAR)
    listed = CostSearch([FOREST, GaussianNB()]).set_params(gaussiannb=LINEAR)
    assert listed.base == [FOREST, LINEAR]
    with pytest.raises(ValueError, match="Invalid parameter"):
        search.set_params(nobody__C=1)
    assert "forest" in repr(search)
    assert "RandomForestClassifier" in search._repr_html_()
    assert CostSearch([LinearSVC, 3]).get_params()["type"] is LinearSVC
    assert hasattr(search, "predict_proba")
    assert not hasattr(CostSearch([FOREST, LinearSVC()]), "predict_proba")


def test_one_that_fails_is_left_out():
    class Broken(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise ValueError("no")

    with pytest.warns(FitFailedWarning, match="failed and is left out"):
        search = CostSearch({"broken": Broken(), "linear": LINEAR}, random_state=0).fit(X, Y)
    assert search.best_params_["model"] == "linear"
    assert of_model(search, "broken")[0].state == "failed"
    assert "broken was dropped: its trainings failed" in search.stop_reason_


# ---------------------------------------------------------------- beside other options


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"n_jobs": 2}, marks=pytest.mark.slow),
        {"threshold": "tune"},
        {"threshold": None},
        {"strategy": "cone", "n_trials": 2},
        {"strategy": Ladder(2, race=False)},
        {"constraint": "precision >= 0.2"},
        {"constraint": "precision >= 0.2", "confidence": 0.8},
        {"refit": "folds"},
        {"refit": False},
        {"cv": 3},
        {"cv": 0.3},
        {"bound_on": "train"},
        {"engine": "generic"},
        {"time_limit": 1e-3},
        {"param_grid": None},
    ],
    ids=str,
)
def test_options(options):
    models = {"linear": LINEAR, "forest": FOREST, "neighbours": KNeighborsClassifier()}
    search = CostSearch(models, random_state=0, **options).fit(X, Y)
    assert search.best_params_["model"] in models
    if "n_jobs" in options:
        assert told(search) == told(CostSearch(models, random_state=0).fit(X, Y))
    if options.get("refit", True):
        assert set(search.predict(X).tolist()) <= {0, 1}
    low, high = search.score_interval_
    assert low <= search.corrected_score_ <= high


@pytest.mark.slow
def test_a_checkpoint_resumes_to_the_same(tmp_path):
    whole = CostSearch(THREE, random_state=0).fit(X, Y)
    for n_trials in (1, 3, 4, 6):
        path = tmp_path / f"{n_trials}.json"
        seen = []

        def stop(study, trial, seen=seen, n_trials=n_trials):
            seen.append(trial)
            return len(seen) == n_trials

        CostSearch(THREE, random_state=0, checkpoint=path, callbacks=[stop]).fit(X, Y)
        assert told(CostSearch(THREE, random_state=0, checkpoint=path).fit(X, Y)) == told(whole)


def test_several_classes():
    data, y = make_classification(
        300, 6, n_informative=5, n_redundant=0, n_classes=3, weights=[0.6, 0.3], random_state=0
    )
    search = CostSearch([LINEAR, FOREST, KNeighborsClassifier()], "f1_macro", random_state=0).fit(data, y)
    assert len(of_model(search, "kneighborsclassifier")) == 1
    assert search.score(data, y) > 0.6
    assert "takes no weights" in search.stop_reason_
    with pytest.raises(ValueError, match="only some of these have predict_proba"):
        CostSearch([LINEAR, LinearSVC()], "f1_macro").fit(data, y)
    frozen = [FrozenEstimator(clone(model).fit(data, y)) for model in (LINEAR, FOREST)]
    with pytest.raises(ValueError, match="several fitted models"):
        CostSearch(frozen, "f1_macro").fit(data, y)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro", "f1_samples"])
def test_several_labels(metric):
    data, y = make_multilabel_classification(160, 6, n_classes=3, n_labels=1, random_state=0)
    search = CostSearch({"linear": LINEAR, "forest": FOREST}, metric, random_state=0).fit(data, y)
    assert search.predict(data).shape == y.shape
    chosen = search.best_params_ if metric == "f1_macro" else [search.best_params_]
    assert {params["model"] for params in chosen} <= {"linear", "forest"}


def test_the_best_of_fitted_models_is_taken():
    fitted = {"blind": clone(BLIND).fit(EASY[:200], TRUTH[:200]), "good": clone(LINEAR).fit(EASY[:200], TRUTH[:200])}
    search = CostSearch(fitted, cv="prefit").fit(EASY[200:], TRUTH[200:])
    assert (search.best_params_, search.n_trials_) == ({"model": "good"}, 2)
    assert search.best_estimator_ is fitted["good"]
    alone = CostSearch(fitted["good"], cv="prefit").fit(EASY[200:], TRUTH[200:])
    assert (search.best_score_, search.best_threshold_) == (alone.best_score_, alone.best_threshold_)
    frozen = CostSearch({name: FrozenEstimator(model) for name, model in fitted.items()}).fit(EASY[200:], TRUTH[200:])
    assert frozen.best_params_ == {"model": "good"}
    assert "the best of them was chosen" in frozen.stop_reason_


# ---------------------------------------------------------------- bases without weights


@pytest.mark.parametrize(
    "base",
    [
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        OneVsRestClassifier(KNeighborsClassifier()),
    ],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.parametrize("strategy", ["ladder", "cone", Ladder(4)], ids=str)
def test_bases_without_weights_have_equal_costs(base, strategy):
    search = CostSearch(base, strategy=strategy, random_state=0).fit(X, Y)
    assert [trial.costs for trial in search.trials_] == [(1.0, 1.0)]
    why = f"{last_name(base)} takes no weights, so that other costs cannot reach it"
    assert search.stop_reason_.startswith(f"strategy equal_costs is done: {why}")
    assert search.best_score_ >= search.trials_[0].value


def test_parameters_of_bases_without_weights_are_searched():
    grid = {"n_neighbors": [1, 15]}
    search = CostSearch(KNeighborsClassifier(), param_grid=grid).fit(X, Y)
    assert sorted(search.cv_results_["param_n_neighbors"]) == [1, 15]
    assert {trial.costs for trial in search.trials_} == {(1.0, 1.0)}
    np.testing.assert_array_equal(
        search.best_estimator_.predict_proba(X),
        clone(KNeighborsClassifier(**search.best_params_)).fit(X, Y).predict_proba(X),
    )


class Counting(KNeighborsClassifier):
    """Nearest neighbours that count the rows that they predict."""

    predicted: ClassVar[list[int]] = []

    def predict_proba(self, X):
        self.predicted.append(len(X))
        return super().predict_proba(X)


@pytest.mark.parametrize("n_samples", [400, 3000])
def test_bases_that_keep_their_samples_predict_each_once_and_some_training_rows(n_samples):
    Counting.predicted.clear()
    X, y = make_classification(n_samples, 4, weights=[0.9], random_state=0)
    search = CostSearch(Counting()).fit(X, y)
    assert search.n_splits_ == 4
    assert sum(Counting.predicted) == n_samples + min(n_samples, 1000)


def test_bases_that_keep_their_samples_predict_no_more_than_a_threshold_needs():
    Counting.predicted.clear()
    X, y = make_classification(12_000, 2, n_informative=2, n_redundant=0, weights=[0.8], random_state=0)
    search = CostSearch(Counting()).fit(X, y)
    assert search.n_splits_ == 3
    assert sum(Counting.predicted) == 9000 + 1000


def test_a_sample_of_the_training_rows_has_many_of_each_class():
    codes = np.repeat([0, 1, 2], [3000, 700, 40])
    part = training_sample(Task(np.arange(codes.size)[:, None], codes, np.full(codes.size, 2.0)))
    assert np.bincount(part.codes).tolist() == [480, 480, 40]
    np.testing.assert_array_equal(codes[part.X[:, 0]], part.codes)
    np.testing.assert_allclose(np.bincount(part.codes, part.weight), [6000.0, 1400.0, 80.0])
    few = Task(part.X, part.codes)
    assert training_sample(few) is few


def test_weights_that_cannot_reach_a_base_are_refused():
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no weights, so the given sample_weight"):
        CostSearch(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(Y.size))


def test_where_no_parameter_is_searched_the_search_says_so():
    lasso = LogisticRegression(l1_ratio=1.0, solver="liblinear")
    search = CostSearch(lasso, engine="generic").fit(X, Y)
    assert search.stop_reason_.endswith("param_grid='auto' knows no parameter of LogisticRegression to search")
    # That of L2 penalties is searched by every engine.
    assert len(set(CostSearch(LogisticRegression(), engine="generic").fit(X, Y).cv_results_["param_C"])) > 1
