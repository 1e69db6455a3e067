"""What defaults are judged by: outer folds, families, the rival, whole searches."""

import sys

import numpy as np
import pytest
from experiment_builders import small_set
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import get_constraint, get_metric
from csf.plugin import PlugInClassifier
from notebooks.experiments import Plan, read_cells, run_cells
from notebooks.experiments.choices import (
    CHOICE_BASES,
    RIVAL,
    ExactThreshold,
    OuterFolds,
    WholeSearch,
    best_exact_threshold,
    choice_methods,
    family,
)
from notebooks.experiments.training_cache import SplitContext


def test_families_are_the_beginnings_of_names():
    known = {"abalone-17-vs-7-8-9-10": "abalone", "abalone19": "abalone", "abalone:12": "abalone", "Wine": "wine"}
    known |= {"kddcup-land-vs-satan": "kddcup", "car-good": "car", "new-thyroid1": "new", "page_blocks": "page"}
    known |= {"adult": "adult", "7up": "7up"}
    assert {name: family(name) for name in known} == known


def test_outer_folds_test_every_sample_once_a_repeat(data):
    splits = [OuterFolds(n_outer=4).split(data, number) for number in range(8)]
    for repeat in (splits[:4], splits[4:]):
        assert sum(split.y_test.size for split in repeat) == data.y.size
        assert {int(split.y_test.sum()) for split in repeat} <= {data.y.sum() // 4, data.y.sum() // 4 + 1}
    assert not np.array_equal(splits[0].y_test, splits[4].y_test) or not np.array_equal(splits[0].X, splits[4].X)


def test_a_split_depends_on_its_number_and_seed_alone(data):
    one, same, other = (OuterFolds().split(data, number, seed=seed) for number, seed in ((3, 0), (3, 0), (3, 1)))
    np.testing.assert_array_equal(one.X, same.X)
    assert one.seed == same.seed
    assert one.seed != other.seed
    assert one.seed != OuterFolds().split(data, 4).seed


def test_features_are_scaled_by_the_training_part(data):
    split = OuterFolds().split(data, 0)
    np.testing.assert_allclose(split.X.min(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(split.X.max(axis=0), 1.0)
    assert not np.allclose(split.X_test.max(axis=0), 1.0)


# ---------------------------------------------------------------- the rival


@pytest.fixture
def problem(data):
    split = OuterFolds().split(data, 1)
    return split, list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=5).split(split.X, split.y))


def plug_ins(bases, problem, metric="f1", constraint=None):
    split, splits = problem
    options = {"constraint": constraint, "cv": splits}
    return [PlugInClassifier(clone(base), metric, **options).fit(split.X, split.y) for base in bases]


@pytest.mark.parametrize("constraint", [None, "precision >= 0.5"])
def test_the_rival_is_the_best_plug_in_classifier(problem, constraint):
    split, splits = problem
    bases = [GaussianNB(var_smoothing=value) for value in (0.5, 1e-9, 1e-10)]
    slow = plug_ins(bases, problem, "f1", constraint)
    for each, base in zip(slow, bases):
        found = best_exact_threshold([base], split.X, split.y, splits, get_metric("f1"), get_constraint(constraint))
        # Of scores in float32 there.
        assert found.cut.threshold == pytest.approx(each.threshold_, rel=1e-6)
        assert found.cut.value == each.best_score_
    found = best_exact_threshold(bases, split.X, split.y, splits, get_metric("f1"), get_constraint(constraint))
    best = max(slow, key=lambda each: (each.feasible_, each.best_score_))
    assert bases[found.setting] is best.base or bases[found.setting].var_smoothing == best.base.var_smoothing
    np.testing.assert_array_equal(found.estimator.predict_proba(split.X), best.estimator_.predict_proba(split.X))


def test_fast_trainers_find_the_same(problem):
    split, splits = problem
    bases = [LinearSVC(C=C, dual=False, tol=1e-8) for C in (0.1, 1.0, 10.0)]
    slow = plug_ins(bases, problem)
    found = best_exact_threshold(bases, split.X, split.y, splits, get_metric("f1"))
    assert found.setting == int(np.argmax([each.best_score_ for each in slow]))
    alike = best_exact_threshold([GaussianNB(), GaussianNB()], split.X, split.y, splits, get_metric("f1"))
    assert alike.setting == 0
    assert found.cut.value == pytest.approx(slow[found.setting].best_score_, abs=1e-3)
    np.testing.assert_allclose(found.estimator.coef_, slow[found.setting].estimator_.coef_, rtol=1e-2, atol=1e-3)


def test_the_rival_has_seven_values_of_c_and_three_times_five_folds(data):
    context = SplitContext(OuterFolds().split(data, 0), get_metric("f1"), OuterFolds())
    methods = choice_methods("logistic")
    assert methods[RIVAL].run(context).fits == 7 * 15 + 1
    own = methods["own C"].run(context)
    assert (own.fits, own.C) == (16, 1.0)
    assert len(methods["wide C"].factors) == 11
    assert list(choice_methods("histgradientboosting")) == ["rival", "plain", "paper", "careful"]
    assert choice_methods("randomforest")[RIVAL].learner.penalties is False


# ---------------------------------------------------------------- whole searches


def test_the_plain_call_is_the_plain_call(data):
    split = OuterFolds().split(data, 0)
    found = choice_methods("linearsvc")["plain"].run(SplitContext(split, get_metric("f1"), OuterFolds()))
    search = CostSearch(LinearSVC(), random_state=split.seed).fit(split.X, split.y)
    assert found.chosen_value == search.best_score_
    assert found.value == pytest.approx(search.score(split.X_test, split.y_test))
    assert found.seconds > 0


def test_repeated_folds_and_constraints_reach_the_search(data):
    split = OuterFolds().split(data, 0)
    search = CostSearch(LinearSVC(), strategy="grid", n_trials=2, param_grid={"C": [0.5, 2.0]}, constraint="fpr <= 0.1")
    found = WholeSearch("linearsvc", search, n_repeats=2).run(SplitContext(split, get_metric("f2"), OuterFolds()))
    assert found.fits == 2 * 2 * 10 + 1
    assert found.C in (0.5, 2.0)
    assert found.fp / (1.0 - found.pos) < 0.25


def test_cells_are_resumed_and_know_the_defaults(tmp_path, data):
    plan = Plan([data], {RIVAL: ExactThreshold("logistic", n_repeats=1)}, OuterFolds(n_outer=3), n_splits=2)
    rows = run_cells(plan, tmp_path)
    assert [row.get("error") for row in rows] == [None, None]
    assert read_cells(plan, tmp_path) == run_cells(plan, tmp_path) == rows
    one, other = (WholeSearch("logistic", CostSearch(LinearSVC(), n_trials=n)) for n in (3, 4))
    prints = {Plan([data], {"plain": method}, OuterFolds(), 1).fingerprint(data, "plain") for method in (one, other)}
    assert len(prints) == 2


def test_unknown_bases_and_missing_packages_are_named(monkeypatch):
    with pytest.raises(ValueError, match=r"unknown base 'lightgbn'; known: linearsvc, .*\. Did you mean 'lightgbm'"):
        choice_methods("lightgbn")
    for base in ("lightgbm", "xgboost"):
        monkeypatch.setitem(sys.modules, base, None)
        with pytest.raises(ValueError, match=f"the base {base} needs the package {base}: pip install"):
            choice_methods(base)


@pytest.mark.slow
@pytest.mark.parametrize(
    "base", [pytest.param(base, marks=[pytest.mark.simulation] * (base == "randomforest")) for base in CHOICE_BASES]
)
def test_every_base_has_all_methods(base, tmp_path):
    for package in ("lightgbm", "xgboost"):
        if base == package:
            pytest.importorskip(package)
    plan = Plan([small_set(n=150)], choice_methods(base), OuterFolds(), n_splits=1)
    assert [row.get("error") for row in run_cells(plan, tmp_path)] == [None] * len(plan.methods)
