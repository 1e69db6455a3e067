"""Bases of other packages: what they lack, return or do otherwise than scikit-learn's own."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.plugin import BisectionPlugIn, PlugInClassifier
from csf.thresholding.prevalence import fold_probabilities
from tests.builders_of_kinds import CLASSES, KINDS, X, Y

QUICK = {"n_trials": 2, "param_grid": None, "cv": 3, "random_state": 0}


class Silent(GaussianNB):
    """A classifier whose ``fit`` returns nothing."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier whose "probabilities" are others' put through a function."""

    def __init__(self, make=None):
        self.make = make

    def fit(self, X, y, sample_weight=None):
        self.inner_ = GaussianNB().fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.make(self.inner_.predict_proba(X))

    def predict(self, X):
        return self.inner_.predict(X)


def logits(p):
    return np.log(p / (1.0 - p))


def per_cent(p):
    return 100.0 * p


def doubled(p):
    return np.clip(2.0 * p, 0.0, 1.0)


def missing(p):
    return np.where(p > 0.9, np.nan, p)


def rounded(p):
    return p.round(1)


def sole(p):
    return p[:, 1]


# ---------------------------------------------------------------- a fit that returns nothing


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "prefit" not in kind and "models" not in kind])
def test_a_fit_that_returns_nothing_is_a_fit(kind):
    _, metric, samples, target, options = KINDS[kind]
    usual, silent = (
        CostSearch(base, metric, **(QUICK | options)).fit(samples, target) for base in (GaussianNB(), Silent())
    )
    assert silent.best_score_ == usual.best_score_
    np.testing.assert_array_equal(silent.predict(samples), usual.predict(samples))


@pytest.mark.parametrize("wrap", [clone, lambda base: make_pipeline(StandardScaler(), base), CalibratedClassifierCV])
def test_so_it_is_inside_others_and_in_plug_in_classifiers(wrap):
    for make in (CostSearch, PlugInClassifier, BisectionPlugIn):
        usual, silent = (make(wrap(base), cv=3).fit(X, Y) for base in (GaussianNB(), Silent()))
        np.testing.assert_array_equal(silent.predict(X), usual.predict(X))
    for usual, silent in zip(*(fold_probabilities(base, X, Y, X, random_state=0) for base in (GaussianNB(), Silent()))):
        np.testing.assert_array_equal(silent, usual)


# ---------------------------------------------------------------- probabilities that are none


@pytest.mark.parametrize("make", [logits, per_cent, doubled, missing])
@pytest.mark.parametrize("kind", ["two", "rows", "classes", "null class boosting", "labels", "two folds"])
def test_probabilities_that_are_none_are_refused(kind, make):
    _, metric, samples, target, options = KINDS[kind]
    message = "NaN" if make is missing else r"must give probabilities in \[0, 1\] whose sum is 1 in each row"
    with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
        CostSearch(Odd(make), metric, error_score="raise", **(QUICK | options)).fit(samples, target)


@pytest.mark.parametrize("make", [logits, per_cent, doubled])
def test_so_are_those_of_fitted_bases_and_plug_in_classifiers(make):
    with np.errstate(all="ignore"):
        for target in (Y, CLASSES[1]):
            model = Odd(make).fit(X, target)
            metric = "f1" if target is Y else "f1_macro"
            for search in (
                CostSearch(model, metric, cv="prefit"),
                PlugInClassifier(model, metric, cv="prefit"),
                PlugInClassifier(Odd(make), metric, cv=3),
            ):
                with pytest.raises(ValueError, match="must give probabilities"):
                    search.fit(X, target)
        search = CostSearch(CalibratedClassifierCV(Odd(make), cv=2), **QUICK).fit(X, Y)
        assert 0.0 <= search.predict_proba(X).min() <= search.predict_proba(X).max() <= 1.0


def test_rounded_probabilities_and_those_of_the_second_class_alone_are_probabilities():
    usual = CostSearch(Odd(rounded), **QUICK).fit(X, Y)
    assert usual.best_score_ > 0.5
    for positive in (0, 1):
        usual, alone = (CostSearch(Odd(make), pos_label=positive, **QUICK).fit(X, Y) for make in (clone_of, sole))
        assert alone.best_score_ == usual.best_score_
        np.testing.assert_array_equal(alone.predict(X), usual.predict(X))


def clone_of(p):
    return p


def test_margins_of_xgboost_are_no_probabilities():
    xgboost = pytest.importorskip("xgboost")
    base = xgboost.XGBClassifier(n_estimators=5, objective="binary:logitraw", n_jobs=1)
    with pytest.raises(ValueError, match=r"XGBClassifier\.predict_proba must give probabilities"):
        CostSearch(base, error_score="raise", **QUICK).fit(X, Y)


# ---------------------------------------------------------------- methods that come with fit


MEMBERS = [("linear", LogisticRegression()), ("bayes", GaussianNB())]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrap",
    [
        clone,
        lambda base: make_pipeline(StandardScaler(), base),
        lambda base: GridSearchCV(base, {"passthrough": [False]}, cv=2),
        lambda base: VotingClassifier([("stack", base), ("bayes", GaussianNB())], voting="soft"),
    ],
)
def test_a_stack_with_the_default_final_model_has_scores(wrap):
    usual, default = (
        CostSearch(wrap(StackingClassifier(MEMBERS, final_estimator=final, cv=2)), **QUICK).fit(X, Y)
        for final in (LogisticRegression(), None)
    )
    assert default.best_score_ == pytest.approx(usual.best_score_, abs=0.02)
    assert hasattr(default, "predict_proba")


def test_a_stack_of_several_classes_has_scores():
    stack = StackingClassifier(MEMBERS, cv=2)
    assert CostSearch(stack, "f1_macro", **QUICK).fit(*CLASSES).best_score_ > 0.5
    assert PlugInClassifier(stack, cv=3).fit(X, Y).best_score_ > 0.5
    folds = CostSearch(stack, **(QUICK | {"refit": "folds"})).fit(X, Y)
    assert hasattr(folds, "predict_proba")


def test_a_vote_that_never_has_scores_is_refused_before_any_training():
    with pytest.raises(ValueError, match="VotingClassifier has neither; use threshold=None"):
        CostSearch(VotingClassifier(MEMBERS)).fit(X, Y)


# ---------------------------------------------------------------- samplers, and stopping early


def test_behind_a_sampler_only_the_threshold_is_chosen():
    samplers, imblearn = pytest.importorskip("imblearn.over_sampling"), pytest.importorskip("imblearn.pipeline")
    ensemble = pytest.importorskip("imblearn.ensemble")
    sampler = samplers.RandomOverSampler(random_state=0)
    bases = [
        imblearn.make_pipeline(sampler, LogisticRegression()),
        imblearn.make_pipeline(StandardScaler(), imblearn.make_pipeline(sampler, LogisticRegression())),
        CalibratedClassifierCV(imblearn.make_pipeline(sampler, GaussianNB()), cv=2),
        ensemble.BalancedBaggingClassifier(GaussianNB(), n_estimators=2, random_state=0),
    ]
    for base in bases:
        search = CostSearch(base, **(QUICK | {"n_trials": 5})).fit(X, Y)
        assert {(trial.state, trial.costs) for trial in search.trials_} == {("complete", (1.0, 1.0))}
        assert "draws or adds rows, which weights cannot follow (leave" in search.stop_reason_
        with pytest.raises(ValueError, match="so the given sample_weight cannot reach it"):
            CostSearch(base, **QUICK).fit(X, Y, np.arange(1, Y.size + 1))
    costs = {trial.costs for trial in CostSearch(LogisticRegression(), **QUICK).fit(X, Y).trials_}
    assert len(costs) == 2


@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_stopping_early_needs_samples(package):
    kind = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[package]
    make = getattr(pytest.importorskip(package), kind)
    quiet = {"n_estimators": 5, "n_jobs": 1} | ({"verbose": -1} if package == "lightgbm" else {})
    base = make(early_stopping_rounds=2, **quiet)
    for each in (base, make_pipeline(StandardScaler(), base)):
        with pytest.raises(ValueError, match=r"early_stopping_rounds=2 stops .* leave .* out, as csf chooses"):
            CostSearch(each, **QUICK).fit(X, Y)
    given = {"eval_X": X, "eval_y": Y} if package == "lightgbm" else {"eval_set": [(X, Y)]}
    search = CostSearch(base, **QUICK).fit(X, Y, **given)
    assert search.best_score_ > 0.5


# ---------------------------------------------------------------- how close the last training gets


@pytest.mark.parametrize("shape", [(100, 20), (300, 20), (1000, 30)])
@pytest.mark.parametrize("make", [CostSearch, PlugInClassifier])
def test_the_last_training_is_as_close_to_the_optimum_as_scikit_learn(make, shape):
    samples, target = make_classification(*shape, random_state=0)
    base = LogisticRegression(max_iter=10_000)
    best, usual = (clone(base).set_params(tol=tol).fit(samples, target) for tol in (1e-12, base.tol))
    options = {"param_grid": None, "n_trials": 1} if make is CostSearch else {}
    ours = make(base, **options).fit(samples, target).best_estimator_
    assert np.abs(ours.coef_ - best.coef_).max() < np.abs(usual.coef_ - best.coef_).max()
    assert ours.tol == base.tol


def test_neighbours_take_no_weights_as_before():
    search = CostSearch(KNeighborsClassifier(), **QUICK).fit(X, Y)
    assert "KNeighborsClassifier takes no weights" in search.stop_reason_
