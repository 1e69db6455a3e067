"""The compared methods, against the estimators that users have."""

from dataclasses import replace

import numpy as np
import pytest
from builders import paper_search
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.metrics import get_metric
from csf.plugin import BisectionPlugIn, PlugInClassifier
from csf.strategies import Cone, Grid
from csf.testing import check_strategy
from notebooks.experiments import DataSet
from notebooks.experiments.methods import METHODS, REFERENCE, EqualCostsFirst, Neutral, Search
from notebooks.experiments.training_cache import BASES, SplitContext, TrainingCache

F1 = get_metric("f1")


@pytest.fixture
def context(data, modern):
    return SplitContext(modern.split(data, 0), F1, modern)


def value_of(model, split):
    """F1 of a fitted estimator on the test part."""
    return F1.score(split.y_test, model.predict(split.X_test), pos_label=1)


@pytest.fixture
def cold(monkeypatch):
    """Every training starts anew, in cost searches and in experiments, which choose their starts in different ways."""
    monkeypatch.setattr("csf.trainers.base.WarmStarts.nearest", lambda self, family, position: [])
    monkeypatch.setattr(TrainingCache, "_starts", lambda self, setting, costs: ([], [()] * len(self.folds)))


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("n_repeats", [1, 2])
@pytest.mark.parametrize("strategy", ["cone", "grid", "support", "imbalance_ratio"])
@pytest.mark.parametrize("tune", [True, False])
def test_searches_equal_cost_search(context, strategy, tune, n_repeats):
    split = context.split
    options = {"strategy": strategy, "n_trials": 4, "param_grid": {"C": [0.25, 4.0]}, "cv": split.repeated(n_repeats)}
    search = paper_search(LinearSVC(dual=False), threshold="tune" if tune else None, **options).fit(split.X, split.y)
    result = Search("svc", strategy, tune=tune, n_repeats=n_repeats).run(context)
    assert result.chosen_value == search.best_score_
    assert (result.C, result.t) == (search.best_params_["C"], search.best_t_)
    assert result.value == value_of(search, split)
    assert result.fits == 3 * n_repeats * search.n_trials_ + 1
    if tune:
        assert result.threshold == search.best_threshold_


@pytest.mark.usefixtures("cold")
def test_paper_protocol_equals_cost_search_guided_by_training_data(data, paper):
    split = paper.split(data, 1)
    search = paper_search(
        BASES["hinge"].estimator,
        strategy="cone",
        n_trials=4,
        param_grid={"C": [0.25, 4.0]},
        cv=split.folds,
        threshold=None,
        bound_on="train",
        refit=False,
    ).fit(split.X, split.y)
    result = METHODS["SVM-CONE"].run(SplitContext(split, F1, paper))
    assert (result.chosen_value, result.C, result.t) == (
        search.best_score_,
        search.best_params_["C"],
        search.best_t_,
    )
    train = split.folds[0][0]
    weight = np.where(split.y[train] == 1, *search.best_cost_weights_)
    model = clone(search.base).set_params(**search.best_params_, max_iter=100_000, random_state=0)
    model.fit(split.X[train], split.y[train], weight)
    assert result.value == pytest.approx(value_of(model, split), abs=0.05)
    assert result.fits == search.n_trials_


def test_pooled_threshold_equals_the_plug_in_classifier(context):
    split, result = context.split, METHODS[REFERENCE].run(context)
    models = [PlugInClassifier(LinearSVC(dual=False, C=C), cv=split.folds).fit(split.X, split.y) for C in (0.25, 4.0)]
    best = max(models, key=lambda model: model.best_score_)
    assert (result.chosen_value, result.threshold) == pytest.approx((best.best_score_, best.threshold_), abs=0.01)
    assert result.value == pytest.approx(value_of(best, split), abs=0.02)
    assert result.fits == 2 * 3 + 1


def test_bisection_equals_the_plug_in_by_bisection(context):
    split, result = context.split, METHODS["LR-bisection"].run(context)
    bases = [LogisticRegression(solver="liblinear", C=C) for C in (0.25, 4.0)]
    models = [BisectionPlugIn(base, cv=split.folds).fit(split.X, split.y) for base in bases]
    best = max(models, key=lambda model: model.best_score_)
    assert result.chosen_value == pytest.approx(best.best_score_, abs=0.01)
    assert expit(result.threshold) == pytest.approx(best.threshold_, abs=0.01)
    assert result.value == pytest.approx(value_of(best, split), abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_several_classes(name, modern, paper):
    if not METHODS[name].serves_several:
        pytest.skip("two classes only")
    X, y = make_classification(240, 6, n_informative=4, n_classes=3, weights=[0.2, 0.6], random_state=0)
    data = DataSet("classes", X, y, null_class=1)
    for protocol in (modern, paper):
        split = protocol.split(data, 0)
        result = METHODS[name].run(SplitContext(split, F1, protocol))
        assert result.pos == pytest.approx(np.mean(split.y_test > 0))
        assert result.value == pytest.approx(F1.value(result.fn, result.fp, pos=result.pos))
        assert result.value > 0.3


def test_two_classes_are_the_same_as_numbers(data, modern):
    """The problem of two classes, told as one of several."""
    numbers = DataSet("numbers", data.X, data.y.astype(int), null_class=0)
    for name in ("SVM-CONE+T", "LR-bisection"):
        first, second = (METHODS[name].run(SplitContext(modern.split(d, 0), F1, modern)) for d in (data, numbers))
        assert replace(first, seconds=0.0) == replace(second, seconds=0.0)


def test_tuned_threshold_is_that_of_scikit_learn(data, modern, paper):
    for protocol, fits in ((modern, 8), (paper, 2)):
        context = SplitContext(protocol.split(data, 0), F1, protocol)
        result = METHODS["TunedThreshold"].run(context)
        assert result.fits == fits
        assert result.value > 0.3
        assert result.C in (0.25, 4.0)


@pytest.mark.slow
def test_every_method_gives_the_same_result_alone_and_after_others(data, paper):
    split = paper.split(data, 2)
    shared = SplitContext(split, F1, paper)
    together = [method.run(shared) for method in METHODS.values()]
    alone = [method.run(SplitContext(split, F1, paper)) for method in METHODS.values()]
    assert [replace(result, seconds=0.0) for result in together] == [replace(result, seconds=0.0) for result in alone]
    assert all(result.seconds > 0 and result.fits >= 1 for result in alone)


def test_shared_trainings_count_with_the_time_they_took(data, modern):
    context = SplitContext(modern.split(data, 0), F1, modern)
    first, again = (METHODS["SVM-grid"].run(context) for _ in range(2))
    # Two penalties, each with four levels and the two trainings that all others start from; three folds.
    assert again.fits == first.fits == 2 * (4 + 2) * 3 + 1
    cache = context.cache("hinge")
    in_trainings = sum(trained.seconds for trained in cache._trained.values())
    assert min(first.seconds, again.seconds) >= in_trainings


def test_neutral_finds_what_equal_costs_find():
    """It keeps all laws but the last: of a rare class, equal costs alone find nothing."""
    check_strategy(EqualCostsFirst(Cone()))
    check_strategy(EqualCostsFirst(Grid(5)))
    with pytest.raises(AssertionError, match=r"^neutral, rare class, after 1 trials: the best f1 is 0, "):
        check_strategy(Neutral())


class _NoAccount:
    def trained(self, cache, setting, costs):
        return cache.trained(setting, costs)


def test_neutral_first_leaves_the_rest_to_the_other_strategy(context):
    study = Search("svc", EqualCostsFirst(Grid()), n_trials=5).studies(context, _NoAccount())[0]
    assert [trial.t for trial in study.trials] == [None, 0.125, 0.375, 0.625, 0.875]
    assert study.trials[0].costs == (1.0, 1.0)
