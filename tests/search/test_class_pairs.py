"""Options of CostSearch in pairs where y has several classes that are all alike; see `tests.search.test_pairs`."""

import numpy as np
import pytest
from allpairspy import AllPairs
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.export import decision_rule
from csf.metrics import CostMatrix, get_confusion_metric
from tests.search.test_pairs import (
    Data,
    a_copy_says_the_same,
    named,
    splits_of,
    the_interval_holds_the_score,
    twice,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # what searches warn of has tests of its own

NAMES = np.array(["bird", "stone", "tree"])
BASES = {
    "logistic": LogisticRegression(),
    "hinge": LinearSVC(),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
    "bayes": GaussianNB(),
}
OWN = {"tree": {"max_depth": [2, 4]}, "bayes": {"var_smoothing": [1e-9, 0.1]}, "one-vs-rest": {"estimator__C": [1, 4]}}
METRICS = {"costs": CostMatrix([[0, 1, 4], [1, 0, 1], [4, 1, 0]])}
OPTIONS = {
    "data": ["plain", "counts", "weights", "ties", "sparse", "few"],
    "base": list(BASES),
    "metric": ["f1_macro", "gmean", "mcc", "quadratic_kappa", "costs"],
    "strategy": ["ladder", "grid"],
    "n_trials": [1, 4],
    "param_grid": ["auto", "none", "own"],
    "threshold": ["stable", "tune", None],
    "cv": [3, 0.3, "splits", "repeated"],
    "refit": [True, False],
    "engine": ["auto", "generic"],
    "random_state": [0, None],
}


def can_be_asked(options):
    """Whether the base reads such samples."""
    said = dict(zip(OPTIONS, options)).get
    return said("base") != "bayes" or said("data") != "sparse"


def make_data(kind):
    X, codes = make_classification(
        180, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, class_sep=0.7, random_state=2,
        weights=[0.7, 0.27] if kind == "few" else [0.6, 0.25], flip_y=0.02,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    weight = {"counts": rng.integers(1, 4, codes.size) * 1.0, "weights": rng.uniform(0.2, 3.0, codes.size)}.get(kind)
    X = {"ties": np.round(X), "sparse": np.where(np.abs(X) > 0.5, X, 0.0)}.get(kind, X)
    return Data(sparse.csr_array(X) if kind == "sparse" else X, NAMES[codes], weight)


def make_search(options, data):
    options = dict(options)
    kind, base, grid, cv = (options.pop(name) for name in ("data", "base", "param_grid", "cv"))
    assert kind in OPTIONS["data"]
    metric = METRICS.get(options["metric"], options["metric"])
    grid = {"auto": "auto", "none": None, "own": OWN.get(base, {"C": [0.1, 1.0]})}[grid]
    repeated = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
    cv = {"splits": splits_of(data), "repeated": repeated}.get(cv, cv)
    return CostSearch(clone(BASES[base]), param_grid=grid, cv=cv, **(options | {"metric": metric}))


def fitted(options, data):
    return make_search(options, data).fit(data.X, data.y, sample_weight=data.weight)


def facts(search):
    """What two runs of one search agree on."""
    return [
        *(search.best_index_, search.best_params_, search.confusion_, search.class_costs_, search.rule_),
        *(search.best_score_, search.corrected_score_, search.score_interval_),
    ]


# ---------------------------------------------------------------- laws


def the_score_is_that_of_the_confusion(search, options, data):
    """The winner's decisions about held-out samples, counted again."""
    assert search.best_score_ == get_confusion_metric(search.metric).value(search.confusion_)
    known, winner = search.held_out_, search.trials_[search.best_index_]
    row = known[winner.setting, winner.number]
    decided = row.decided
    if search.rule_.kind == "affine":
        decided = search.rule_.decide(known.probabilities(row.score, row.costs))
    weight = np.ones(known.truth.size) if known.weight is None else known.weight
    counts = np.zeros((3, 3))
    np.add.at(counts, (known.truth, decided), weight)
    np.testing.assert_allclose(search.confusion_, counts / counts.sum(), atol=1e-12)


def intervals_hold_their_score(search, options, data):
    the_interval_holds_the_score(search)


def trials_are_told(search, options, data):
    """Equal class weights come first, balanced ones last; rules are tuned where a threshold would be."""
    powers = [trial.t for trial in search.trials_ if trial.setting == 0]
    rungs = 3 if options["strategy"] == "ladder" else 4
    assert powers == np.linspace(0, 1, min(rungs, options["n_trials"])).tolist()
    assert all((trial.judged is None) == (options["threshold"] is None) for trial in search.trials_)
    assert len(search.trials_) == len(search.cv_results_["params"]) == len(search.trials_frame())
    winner = search.trials_[search.best_index_]
    assert search.cv_results_["params"][search.best_index_] == {"t": winner.t, **search.best_params_}


def the_refit_decides_by_its_scores(search, options, data):
    if not options["refit"]:
        with pytest.raises(AttributeError, match="refit=False"):
            search.predict(data.X)
        return
    labels = search.predict(data.X)
    np.testing.assert_array_equal(labels, search.classes_[search.decision_function(data.X).argmax(axis=1)])
    if hasattr(search.best_estimator_, "predict_proba"):
        np.testing.assert_allclose(search.predict_proba(data.X).sum(axis=1), 1.0)


def what_is_exported_decides_alike(search, options, data):
    if not options["refit"]:
        return
    rule, base = decision_rule(search), search.best_estimator_
    np.testing.assert_array_equal(rule.decide(getattr(base, rule.reads)(data.X)), search.predict(data.X))


def the_same_shares_change_nothing(search, options, data):
    """At the shares that are there; at others the rule moves and still decides."""
    if options["threshold"] is None:
        return
    shares = search.confusion_.sum(axis=1)
    if search.rule_.kind == "affine":
        same = search.at_prevalence(shares)
        assert same.best_score_ == pytest.approx(search.best_score_, abs=1e-9)
    moved = search.at_prevalence([0.2, 0.3, 0.5])
    np.testing.assert_allclose(moved.confusion_.sum(axis=1), [0.2, 0.3, 0.5])


def copies_say_the_same(search, options, data):
    a_copy_says_the_same(search, options, data, facts)


LAWS = [
    the_score_is_that_of_the_confusion,
    intervals_hold_their_score,
    trials_are_told,
    the_refit_decides_by_its_scores,
    what_is_exported_decides_alike,
    the_same_shares_change_nothing,
    copies_say_the_same,
]

ROWS = [dict(zip(OPTIONS, row)) for row in AllPairs(list(OPTIONS.values()), filter_func=can_be_asked)]


@pytest.mark.slow
@pytest.mark.parametrize("options", named(ROWS))
def test_laws_of_every_search_of_several_classes(options):
    data = make_data(options["data"])
    search = fitted(options, data)
    for law in LAWS:
        law(search, options, data)


WEIGHED = [row | {"base": "bayes", "engine": "auto"} for row in ROWS if row["data"] not in ("sparse", "weights")]


@pytest.mark.slow
@pytest.mark.parametrize("options", named(WEIGHED))
def test_a_weight_of_two_is_a_row_that_is_there_twice(options):
    data = make_data(options["data"])
    splits = splits_of(data)
    double, both = twice(data, splits)
    weight = np.ones(data.n) if data.weight is None else data.weight
    one = make_search(options, data).set_params(cv=splits).fit(data.X, data.y, sample_weight=2.0 * weight)
    two = make_search(options, data).set_params(cv=both).fit(double.X, double.y, sample_weight=double.weight)
    assert one.best_params_ == two.best_params_
    np.testing.assert_allclose(one.confusion_, two.confusion_, atol=1e-9)
    np.testing.assert_allclose(one.corrected_score_, two.corrected_score_, rtol=1e-9)
    np.testing.assert_allclose(one.score_interval_, two.score_interval_, rtol=1e-9)
