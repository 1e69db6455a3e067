"""Corrected scores and intervals of fitted searches."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch, Study
from csf.search import loop as checkpoint
from csf.thresholding import PlugInClassifier


@pytest.fixture(scope="module")
def data():
    return make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)


def told(search):
    return search.corrected_score_, *search.score_interval_, *search.threshold_interval_


def search(base=None, **options):
    return CostSearch(base or LinearSVC(), **({"n_trials": 4, "cv": 3, "param_grid": {"C": [0.1, 1.0]}} | options))


@pytest.mark.parametrize(
    "options",
    [{}, {"metric": "gmean"}, {"metric": "recall", "constraint": "precision >= 0.6"}, {"min_gain": 0.5}],
    ids=["f1", "gmean", "constraint", "min_gain"],
)
def test_a_search_says_what_to_expect(data, options):
    found = search(**options).fit(*data)
    low, high = found.score_interval_
    assert 0.0 <= low < found.corrected_score_ < high <= 1.0
    assert found.threshold_interval_[0] <= found.threshold_interval_[1]
    assert len(found.held_out_) == found.n_trials_


def test_nothing_but_the_seed_decides(data):
    found = search(random_state=1).fit(*data)
    assert told(found) == told(search(random_state=1, n_jobs=2).fit(*data))
    assert told(found) == told(pickle.loads(pickle.dumps(found)))
    assert told(found) != told(search(random_state=2).fit(*data))
    assert told(found.fit(*data)) == told(found)


def test_own_decisions_and_models_that_are_fitted_have_them_too(data):
    own = search(DecisionTreeClassifier(max_depth=3), param_grid=None, threshold=None).fit(*data)
    assert own.score_interval_[0] < own.corrected_score_ < own.score_interval_[1]
    assert np.isnan(own.threshold_interval_).all()
    fitted = CostSearch(LogisticRegression().fit(*data), cv="prefit").fit(*data)
    assert fitted.score_interval_[0] < fitted.corrected_score_ <= fitted.best_score_ + 0.02


def test_several_classes(data):
    X, _ = data
    y = np.digitize(X[:, 0] + X[:, 1], [0.5, 1.5])
    together = CostSearch(OneVsRestClassifier(LinearSVC()), null_class=0, n_trials=3, cv=3).fit(X, y)
    assert together.score_interval_[0] < together.corrected_score_ < together.score_interval_[1]
    apart = search(metric="f1_macro", param_grid=None).fit(X, np.eye(3, dtype=int)[y])
    assert apart.corrected_score_ == pytest.approx(np.mean([each.corrected_score_ for each in apart.searches_]))
    assert apart.score_interval_[0] < apart.corrected_score_ < apart.score_interval_[1]


def test_plug_in(data):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    plugin = PlugInClassifier(LogisticRegression(), cv=cv).fit(*data)
    assert plugin.held_out_.n_samples == 300
    assert plugin.score_interval_[0] < plugin.corrected_score_ < plugin.score_interval_[1]
    assert plugin.threshold_interval_[0] <= plugin.threshold_ <= plugin.threshold_interval_[1]
    asked = PlugInClassifier(LogisticRegression(), "recall", constraint="precision >= 0.5", cv=3).fit(*data)
    assert 0.0 < asked.corrected_score_ < 1.0


@pytest.mark.parametrize("limit", [1 << 24, 0], ids=["in the file", "trained again"])
@pytest.mark.parametrize("base", [LinearSVC(), DecisionTreeClassifier(max_depth=3)], ids=["linear", "other"])
def test_a_resumed_search_says_the_same(data, tmp_path, monkeypatch, base, limit):
    monkeypatch.setattr(checkpoint, "_LARGEST", limit)
    options = {"param_grid": None, "n_trials": 5, "random_state": 0}
    whole = search(base, **options).fit(*data)
    path = tmp_path / "trials.json"
    stop = search(base, **options, checkpoint=path, callbacks=[lambda study, trial: trial.number == 2]).fit(*data)
    assert stop.n_trials_ == 3
    assert (json.loads(path.read_text())["kept"]["scores"] is None) == (limit == 0)
    resumed = search(base, **options, checkpoint=path).fit(*data)
    assert told(resumed) == told(whole)
    assert resumed.held_out_.n_dropped == 0


def test_a_study_that_is_told_predictions(data):
    X, y = data
    study = Study.from_target(y[150:], n_trials=3)
    while (trial := study.ask()) is not None:
        model = LogisticRegression(class_weight={0: trial.c_fp, 1: trial.c_fn}).fit(X[:150], y[:150])
        study.tell(trial, y[150:], y_score=model.predict_proba(X[150:])[:, 1])
    low, high = study.score_interval
    assert low < study.corrected_score < high
    assert study.threshold_interval[0] <= study.threshold_interval[1]


def test_a_study_without_them_says_none(data):
    _, y = data
    study = Study.from_target(y, n_trials=3)
    assert study.corrected_score is None
    study.tell(study.ask(), y, y)
    assert study.corrected_score == 1.0
    study.tell(study.ask(), y[::-1], y)  # other samples
    assert study.corrected_score is None
    assert study.score_interval is study.threshold_interval is None
