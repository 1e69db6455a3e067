"""One outcome: what is published belongs together, moves together and is gone together."""

import copy
import inspect
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from builders import paper_search
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.evaluate import ScoreStore
from csf.metrics import Metric, get_metric
from csf.search.config import SearchConfig
from csf.search.outcome import _moved_trial, moved_to
from csf.search.workers import LocalTrainer
from csf.thresholding import curve_at_prevalence
from csf.thresholds.rule import ThresholdRule

X, Y = make_classification(600, 6, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
SEARCHES = {
    "f1": CostSearch(LinearSVC(), cv=3),
    "recall": CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.5", cv=3),
    "cone": paper_search(LinearSVC(), "jaccard", cv=3, n_trials=6, bound="envelope"),
}


@cache
def fitted(kind):
    return SEARCHES[kind].fit(X, Y)


def test_the_plain_call_is_what_the_configuration_says():
    parameters = inspect.signature(CostSearch).parameters
    for field in fields(SearchConfig):
        if field.name != "base":
            given = parameters[field.name].default
            assert given is field.default or given == field.default, field.name
    assert set(parameters) == {field.name for field in fields(SearchConfig)}


@settings(max_examples=25, deadline=None)
@given(kind=st.sampled_from(sorted(SEARCHES)), pos=st.floats(0.01, 0.95))
def test_all_numbers_move_with_the_share(kind, pos):
    search = fitted(kind)
    moved = search.at_prevalence(pos)
    assert moved.best_score_ <= moved.score_at_prevalence_ + 1e-12
    if moved.feasible_:
        assert moved.score_at_prevalence_ <= moved.upper_bound_ + 1e-9
        assert moved.gap_ == pytest.approx(moved.upper_bound_ - moved.score_at_prevalence_, abs=0.2)
        assert moved.gap_ >= 0.0
    curve = moved.held_out_curve()
    assert curve.pos == pytest.approx(pos, rel=1e-6)
    profile = curve.at(moved.best_threshold_)
    metric = get_metric(search.metric)
    assert metric.of(profile) == pytest.approx(moved.best_score_, rel=1e-6)
    if kind == "recall":
        precision = get_metric("precision").of(profile)
        assert moved.constraint_value_ == pytest.approx(precision, rel=1e-6)
        assert moved.feasible_ == (precision >= 0.5 - 1e-9)
    # What was searched stays, and so does the search itself.
    assert moved.trials_ == search.trials_
    assert search.best_threshold_ == fitted(kind).best_threshold_


@pytest.mark.parametrize("kind", sorted(SEARCHES))
def test_the_same_share_moves_nothing(kind):
    search = fitted(kind)
    moved = search.at_prevalence(float(Y.mean()))
    assert moved.score_at_prevalence_ == pytest.approx(max(t.score for t in search.trials_ if t.feasible), rel=1e-6)
    assert moved.upper_bound_ == pytest.approx(search.upper_bound_, abs=0.02)


@pytest.mark.parametrize("pos", [0.05, 0.6])
def test_rates_within_the_classes_stay_at_another_share(pos):
    for old in fitted("f1").trials_:
        new = _moved_trial(old, get_metric("f1"), pos, None)
        before, after = old.profile, new.profile
        assert after.pos == pytest.approx(pos)
        rates = after.fn / after.pos, after.fp / (1.0 - after.pos)
        assert rates == pytest.approx((before.fn / before.pos, before.fp / (1.0 - before.pos)))
        c_fn, c_fp = old.costs[0] * before.pos / pos, old.costs[1] * (1.0 - before.pos) / (1.0 - pos)
        assert new.costs[0] / new.costs[1] == pytest.approx(c_fn / c_fp)


def told(search):
    """Names of all that a search can be asked for."""
    names = ("best_score_", "corrected_score_", "score_interval_", "upper_bound_", "trials_", "best_estimator_")
    return [name for name in names if hasattr(search, name)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_fit_that_fails_leaves_nothing():
    search = clone(SEARCHES["f1"]).fit(X, Y)
    assert len(told(search)) == 6
    broken = X.copy()
    broken[:, 0] = np.nan
    with pytest.raises(ValueError, match="trials failed"):
        search.fit(broken, Y)
    assert told(search) == []
    asked = search.predict, search.decision_function, search.at_prevalence, search.report, lambda X: search.assess()
    for ask in asked:
        with pytest.raises(NotFittedError):
            ask(X)
    with pytest.raises(ValueError, match="n_trials"):
        search.fit(X, Y).set_params(n_trials=0).fit(X, Y)
    assert told(search) == []


def test_ctrl_c_in_the_midst_of_trainings_that_are_repeated_is_ctrl_c(tmp_path, monkeypatch):
    """Half of a search is none: scores too large for the file are there again, or nothing is."""
    monkeypatch.setattr("csf.search.checkpoint._LARGEST", 0)
    path = tmp_path / "search.json"
    search = CostSearch(LinearSVC(), n_trials=5, cv=3, checkpoint=path)
    with pytest.warns(UserWarning, match="interrupted"):
        copy.copy(search).set_params(callbacks=[_interrupt_at(2)]).fit(X, Y)
    whole = clone(search).set_params(checkpoint=None).fit(X, Y)
    original, calls = LocalTrainer.train, []

    def interrupted(self, wave, *, raise_errors):
        calls.append(wave)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, wave, raise_errors=raise_errors)

    monkeypatch.setattr(LocalTrainer, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clone(search).fit(X, Y)
    monkeypatch.setattr(LocalTrainer, "train", original)
    assert clone(search).fit(X, Y).trials_ == whole.trials_


def _interrupt_at(number):
    def callback(study, trial):
        if trial.number == number:
            raise KeyboardInterrupt

    return callback


@pytest.mark.parametrize(("method", "natural"), [("decision_function", 0.0), ("predict_proba", 0.5)])
def test_a_rule_knows_which_score_it_cuts(method, natural):
    model = LogisticRegression().fit(X, Y)
    classes = {"known": np.array([0, 1]), "names": np.array(["no", "yes"]), "null": "no"}
    own = ThresholdRule.of(model, **classes, threshold=None, method=method, tuned=False)
    assert own.threshold == natural
    np.testing.assert_array_equal(own.predict(X) == "yes", model.predict(X) == 1)
    rule = ThresholdRule.of(model, **classes, threshold=0.3, method=method)
    score = model.decision_function(X) if method == "decision_function" else model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(rule.predict(X) == "yes", score >= 0.3)
    np.testing.assert_array_equal(rule.decision_function(X) > 0, score >= 0.3)


def test_min_gain_leaves_the_ladder_its_rungs():
    search = CostSearch(LinearSVC(), cv=3, min_gain=1.5).fit(X, Y)
    ratios = {round(trial.c_fn / trial.c_fp, 6) for trial in search.trials_}
    assert len(ratios) == 6


def test_another_share_keeps_the_constraint():
    """Precision falls with the share of positives: the best recall is that of cuts that keep it."""
    rng = np.random.default_rng(0)
    y = np.arange(600) < 200
    X = rng.normal(size=(600, 2)) + 1.5 * y[:, None]
    search = CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.8", param_grid=None, cv=3)
    search.set_params(threshold="tune", n_trials=3).fit(X, y)
    for pos in (0.2, 0.5):
        moved = search.at_prevalence(pos)
        curve = curve_at_prevalence(search.held_out_curve(), pos)
        rate = curve.at(moved.best_threshold_)
        assert moved.feasible_
        assert moved.constraint_value_ == pytest.approx(rate.tp / rate.predicted_pos)
        assert moved.constraint_value_ >= 0.8
        precision = (pos - curve.fn) / np.maximum(pos - curve.fn + curve.fp, 1e-12)
        keeps = precision >= 0.8
        assert not keeps[np.argmin(curve.fn)]  # finding everything would be best without it
        assert moved.best_score_ == pytest.approx(1.0 - curve.fn[keeps].min() / pos)
        assert moved.score_at_prevalence_ >= moved.best_score_


def test_the_best_trial_at_another_share_is_one_that_keeps_the_constraint():
    """One trial finds everything and breaks the constraint; the other finds two in five, and nothing else."""
    is_pos = np.arange(100) < 50
    search = CostSearch(LogisticRegression(), "recall", constraint="precision >= 0.9", param_grid=None, cv=3)
    search.set_params(threshold="tune", n_trials=2).fit(is_pos[:, None] * 1.0, is_pos)
    store = ScoreStore(is_pos)
    store.add((0, 0), score=np.zeros(100), threshold=0.0, value=1.0, equal_costs=True)
    store.add((0, 1), score=np.where(np.arange(100) < 20, 1.0, 0.0), threshold=0.5, value=0.4)
    for own, feasible in ((0, False), (1, True)):
        found = replace(search._outcome, store=store, winner=search.trials_[own])
        moved = moved_to(found, 0.3)
        assert moved.feasible == feasible
        assert moved.moved_best == (1, pytest.approx(0.4))


class Root(Metric):
    """G-mean, undefined where more samples are wrong than there are."""

    def value(self, fn, fp, *, pos):
        return np.sqrt((1.0 - fn / pos) * (1.0 - fp / (1.0 - pos)))


def test_rounding_of_another_share_makes_no_class_more_than_wrong():
    """The positive that is found last is below all negatives: all of them are wrong at one of the known cuts."""
    y = (np.arange(30) < 9).astype(int)
    score = np.where(np.arange(30) == 0, -9.0, y + np.linspace(0.0, 3.0, 30))[:, None]
    base = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    search = CostSearch(base, Root(), cv="prefit", threshold="tune").fit(score, y)
    for pos in (0.06, 0.12, 0.53, 0.57, 0.7, 0.76):
        moved = search.at_prevalence(pos)
        assert 0.0 <= moved.gap_ <= moved.upper_bound_ <= 1.0
