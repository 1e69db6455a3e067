"""A base may list its classes in any order: scores and probabilities are matched by its ``classes_``."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.utils.metaestimators import available_if

from csf import CostSearch
from csf.export import decision_rule, fixed_threshold
from csf.plugin import PlugInClassifier
from tests.builders_of_kinds import CLASSES, COSTS, FRAME, SEVERAL, X, Y

WORDS, CLASS_WORDS = np.array(["late", "paid"])[Y], np.array(["a", "b", "c"])[CLASSES[1]]
BASES = {"margins": LogisticRegression(), "votes": RandomForestClassifier(5, max_depth=3, random_state=0)}
EACH_BASE = ["margins", pytest.param("votes", marks=pytest.mark.slow)]


class Listed(ClassifierMixin, BaseEstimator):
    """A classifier whose classes, and columns, are in another order: the last one comes first."""

    def __init__(self, inner=None, turned=True):
        self.inner, self.turned = inner, turned

    def fit(self, X, y, sample_weight=None):
        self.inner_ = clone(self.inner).fit(X, y, sample_weight)
        self.order_ = np.roll(np.arange(self.inner_.classes_.size), int(self.turned))
        self.classes_ = self.inner_.classes_[self.order_]
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, self.order_]

    @available_if(lambda self: hasattr(self.inner, "decision_function"))
    def decision_function(self, X):
        margins = self.inner_.decision_function(X)
        if margins.ndim == 2:
            return margins[:, self.order_]
        return -margins if self.turned else margins


# Metric, samples, labels, and further options of each kind.
KINDS = {
    "two": ("f1", X, Y, {}),
    "words": ("f1", X, WORDS, {"pos_label": "paid"}),
    "first": ("f1", X, WORDS, {"pos_label": "late"}),
    "booleans": ("f1", X, Y == 1, {}),
    "own decision": ("f1", X, WORDS, {"pos_label": "late", "threshold": None}),
    "rows": (COSTS, FRAME, WORDS, {"pos_label": "late"}),
    "segments": ("f1", FRAME.assign(by=FRAME["a"] > 0), Y, {"constraint": "recall >= 0.5 in each by"}),
    "classes": ("f1_macro", CLASSES[0], CLASS_WORDS, {}),
    "classes demand": ("f1_macro", CLASSES[0], CLASS_WORDS, {"constraint": "recall[c] >= 0.5"}),
    "null class": ("f1", CLASSES[0], CLASS_WORDS, {"null_class": "b"}),
    "labels": ("f1_macro", X, SEVERAL, {}),
    "labels micro": ("f1_micro", X, SEVERAL, {}),
    "folds": ("f1", X, WORDS, {"pos_label": "late", "refit": "folds"}),
    "classes folds": ("f1_macro", CLASSES[0], CLASS_WORDS, {"refit": "folds"}),
    "rows folds": (COSTS, FRAME, WORDS, {"pos_label": "late", "refit": "folds"}),
    "certified": ("recall", X, WORDS, {"pos_label": "late", "constraint": "precision >= 0.2", "confidence": 0.9}),
}
QUICK = {"n_trials": 2, "param_grid": None, "cv": 3, "random_state": 0}


def answers(search, samples):
    """All that a fitted search says of samples, by the method that says it."""
    methods = ("predict", "predict_proba", "decision_function", "positive_score")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: getattr(search, name)(samples) for name in methods if hasattr(search, name)}


def check_alike(turned, usual, samples):
    """Both searches promise and say the same."""
    assert turned.best_score_ == usual.best_score_
    np.testing.assert_array_equal(turned.corrected_score_, usual.corrected_score_)
    ours, others = answers(turned, samples), answers(usual, samples)
    assert ours.keys() == others.keys()
    np.testing.assert_array_equal(ours.pop("predict"), others["predict"])
    for name, values in ours.items():
        # Where ties go to the first class, the threshold is the next number above another one.
        np.testing.assert_allclose(values, others[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", EACH_BASE)
def test_a_search_is_the_same_in_any_order_of_the_classes(base, kind):
    metric, samples, target, options = KINDS[kind]
    searches = [CostSearch(Listed(BASES[base], turned), metric, **(QUICK | options)) for turned in (True, False)]
    check_alike(*(search.fit(samples, target) for search in searches), samples)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("labels") and "folds" not in kind])
@pytest.mark.parametrize("base", EACH_BASE)
def test_a_fitted_base_is_the_same_in_any_order_of_the_classes(base, kind, frozen):
    metric, samples, target, options = KINDS[kind]
    searches = []
    for turned in (True, False):
        model = Listed(BASES[base], turned).fit(np.asarray(samples, float)[:, :6], target)
        model = Columns(model)
        more = {"base": FrozenEstimator(model)} if frozen else {"base": model, "cv": "prefit"}
        searches.append(CostSearch(**(QUICK | options | {"metric": metric} | more)).fit(samples, target))
    check_alike(*searches, samples)


class Columns(ClassifierMixin, BaseEstimator):
    """A fitted model that reads the first six columns of any table."""

    def __init__(self, model=None):
        self.model = model
        self.classes_ = model.classes_

    def fit(self, X, y):
        raise AssertionError("fitted before")

    def __sklearn_clone__(self):
        return self

    def __getattr__(self, name):
        if name not in ("predict", "predict_proba", "decision_function"):
            raise AttributeError(name)
        answer = getattr(vars(self)["model"], name)
        return lambda X: answer(np.asarray(X, float)[:, :6])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("cv", [3, "prefit"])
@pytest.mark.parametrize("kind", ["two", "words", "first", "booleans", "classes"])
@pytest.mark.parametrize("base", EACH_BASE)
def test_a_plug_in_classifier_is_the_same_in_any_order_of_the_classes(base, kind, cv):
    metric, samples, target, options = KINDS[kind]
    bases = [Listed(BASES[base], turned) for turned in (True, False)]
    bases = [each.fit(samples, target) for each in bases] if cv == "prefit" else bases
    check_alike(*(PlugInClassifier(each, metric, cv=cv, **options).fit(samples, target) for each in bases), samples)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["two", "first", "rows", "classes", "null class"])
@pytest.mark.parametrize("base", EACH_BASE)
def test_exported_rules_read_the_columns_of_the_base(base, kind):
    metric, samples, target, options = KINDS[kind]
    search = CostSearch(Listed(BASES[base]), metric, **(QUICK | options)).fit(samples, target)
    rule = decision_rule(search)
    costs = {} if kind != "rows" else {"fn_cost": FRAME["amount"]}
    decided = rule.decide(getattr(search.best_estimator_, rule.reads)(samples), **costs)
    np.testing.assert_array_equal(decided, search.predict(samples))
    if kind in ("two", "first"):
        np.testing.assert_array_equal(fixed_threshold(search).predict(samples), search.predict(samples))


@pytest.mark.parametrize("kind", ["words", "classes"])
def test_codes_in_another_order_are_codes(kind):
    metric, samples, target, options = KINDS[kind]
    options, codes = (
        {**options, "pos_label": options and "paid"} if options else {},
        np.unique(target, return_inverse=True)[1],
    )
    searches = []
    for turned in (True, False):
        model = Listed(LogisticRegression(), turned).fit(samples, codes)
        searches.append(CostSearch(model, metric, cv="prefit", random_state=0, **options).fit(samples, target))
    check_alike(*searches, samples)


def test_classes_that_are_listed_twice_are_refused():
    model = Listed(LogisticRegression()).fit(X, WORDS)
    model.classes_ = np.array(["late", "late"])
    with pytest.raises(ValueError, match="lists classes twice"):
        CostSearch(model, cv="prefit", pos_label="late").fit(X, WORDS)


def test_catboost_with_names_of_classes():
    catboost = pytest.importorskip("catboost")
    X_train, X_test, y_train, y_test = train_test_split(X, WORDS, random_state=0)
    found = []
    for names in (("late", "paid"), ("paid", "late")):
        options = {"iterations": 10, "verbose": 0, "random_seed": 0, "allow_writing_files": False}
        base = catboost.CatBoostClassifier(class_names=names, **options)
        search = CostSearch(base, pos_label="late", **QUICK).fit(X_train, y_train)
        assert search.best_estimator_.classes_.tolist() == list(names)
        found.append((search.corrected_score_, search.score(X_test, y_test)))
    np.testing.assert_allclose(*found, atol=0.02)
    assert min(found[1]) > 0.5
