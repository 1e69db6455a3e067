"""Costs that each problem of a one-vs-rest classifier has by itself."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.costs import cost_channel
from csf.costs.one_vs_rest import one_vs_rest_channel, problem_costs, problem_probabilities

X, Y = make_classification(300, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, random_state=0)
WEIGHT = np.random.default_rng(0).uniform(0.5, 2.0, Y.size)
COSTS = 1.7, 0.3


def test_the_null_class_against_the_rest_has_the_costs_of_the_whole_problem():
    """Its samples cost what is found by mistake, all others what is missed: as with two classes."""
    assert problem_costs(0, COSTS) == (0.3, 1.7)
    assert problem_costs(3, COSTS) == COSTS


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_every_problem_is_weighted_by_itself(weight, n_jobs):
    base = OneVsRestClassifier(LogisticRegression(tol=1e-10), n_jobs=n_jobs)
    model = one_vs_rest_channel(base).fit(clone(base), X, Y, COSTS, sample_weight=weight)
    given = np.ones(Y.size) if weight is None else weight
    for k in range(4):
        costs = np.where(k == Y, *((0.3, 1.7) if k == 0 else COSTS))
        plain = LogisticRegression(tol=1e-10).fit(X, k == Y, sample_weight=given * costs)
        np.testing.assert_allclose(model.estimators_[k].coef_, plain.coef_, atol=1e-6)
    reference = OneVsRestClassifier(LogisticRegression()).fit(X, Y)
    assert vars(model).keys() == vars(reference).keys()
    assert model.predict(X).dtype == reference.predict(X).dtype
    assert model.predict_proba(X).shape == (Y.size, 4)


def test_two_classes_have_one_problem():
    base = OneVsRestClassifier(LinearSVC())
    first = one_vs_rest_channel(base).fit(clone(base), X, (Y > 1) * 1, COSTS)
    second = cost_channel(base).fit(clone(base), X, (Y > 1) * 1, COSTS)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_pipelines_end_in_one(engine):
    base = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(tol=1e-9)))
    options = {"n_trials": 2, "cv": 3, "null_class": 0, "weighting": "one-vs-rest", "error_score": "raise"}
    search = paper_search(base, engine=engine, **options).fit(X, Y)
    scaled = StandardScaler().fit_transform(X)
    channel = one_vs_rest_channel(base[-1])
    model = channel.fit(clone(base[-1]), scaled, Y, search.best_cost_weights_)
    np.testing.assert_allclose(search.best_estimator_.decision_function(X), model.decision_function(scaled), atol=1e-3)


def test_it_balances_problems_that_costs_of_classes_cannot():
    """With twelve classes of one size, nearly all samples cost the same, and each class is rare against the rest."""
    X, y = make_classification(
        1500, 10, n_informative=8, n_redundant=0, n_classes=12, n_clusters_per_class=1, class_sep=1.2, random_state=0
    )
    options = {"n_trials": 4, "cv": 3, "null_class": 0}
    base = OneVsRestClassifier(LinearSVC(loss="hinge"))
    by_class, by_problem = (
        paper_search(base, weighting=weighting, **options).fit(X, y) for weighting in ("class", "one-vs-rest")
    )
    assert by_problem.best_score_ > by_class.best_score_ + 0.02


@pytest.mark.parametrize(
    ("base", "message"),
    [
        (LinearSVC(), "weighting='one-vs-rest' needs a base that solves one problem for each class, got LinearSVC"),
        (OneVsRestClassifier(KNeighborsClassifier()), "KNeighborsClassifier takes no weights"),
    ],
)
def test_other_bases_are_refused(base, message):
    with pytest.raises(ValueError, match=message):
        paper_search(base, null_class=0, weighting="one-vs-rest").fit(X, Y)


def test_arguments_of_fit_are_refused():
    channel = one_vs_rest_channel(OneVsRestClassifier(LinearSVC()))
    with pytest.raises(ValueError, match=r"takes no further arguments of fit, got \['note'\]"):
        channel.fit(OneVsRestClassifier(LinearSVC()), X, Y, COSTS, fit_params={"note": 1})


def test_unknown_weighting():
    search = paper_search(LinearSVC(), null_class=0, weighting="each")
    with pytest.raises(ValueError, match=r"weighting must be one of \('class', 'one-vs-rest'\), got 'each'"):
        search.fit(X, Y)


def gaussians(n_samples, seed):
    """Three classes with shares .80, .12 and .08, of which the first means nothing to find."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_samples, p=[0.80, 0.12, 0.08])
    return rng.normal(size=(n_samples, 2)) + np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])[y], y


@pytest.mark.parametrize("t", [0.05, 0.6])
@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),), (make_pipeline(StandardScaler(), StandardScaler()),)])
def test_probabilities_have_the_costs_of_each_problem_taken_out(t, engine, steps):
    """A small level prices one kind of error; the factor of the odds is turned over for the null class."""
    X, y = gaussians(6000, 1)
    X_new, y_new = gaussians(20_000, 2)
    plain = OneVsRestClassifier(LogisticRegression())
    base = make_pipeline(*steps, plain) if steps else plain
    options = {"n_trials": 1, "cv": 3, "null_class": 0, "weighting": "one-vs-rest", "error_score": "raise"}
    search = paper_search(base, strategy=lambda trials, **_: t, engine=engine, **options).fit(X, y)
    proba = search.predict_proba(X_new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba.mean(axis=0), np.bincount(y_new) / y_new.size, atol=0.012)
    assert log_loss(y_new, proba) <= log_loss(y_new, plain.fit(X, y).predict_proba(X_new)) + 1e-3


def test_probabilities_follow_the_labels():
    X, y = gaussians(3000, 0)
    options = {"strategy": lambda trials, **_: 0.05, "n_trials": 1, "cv": 3, "weighting": "one-vs-rest"}
    base = OneVsRestClassifier(LogisticRegression())
    first = paper_search(base, null_class=0, **options).fit(X, y)
    second = paper_search(base, null_class="none", **options).fit(X, np.array(["none", "a", "b"])[y])
    np.testing.assert_allclose(second.predict_proba(X), first.predict_proba(X)[:, [1, 2, 0]])


def test_two_classes_have_one_factor():
    X, y = gaussians(2000, 0)
    options = {"strategy": lambda trials, **_: 0.05, "n_trials": 1, "cv": 3}
    base = OneVsRestClassifier(LogisticRegression())
    by_class = paper_search(base, **options).fit(X, (y > 0) * 1)
    by_problem = paper_search(base, weighting="one-vs-rest", null_class=0, **options).fit(X, (y > 0) * 1)
    np.testing.assert_allclose(by_problem.predict_proba(X), by_class.predict_proba(X))


def test_certain_problems_stay_certain():
    """Trees are sure of themselves: no odds to turn, and nothing is divided by zero."""
    base = OneVsRestClassifier(RandomForestClassifier(3, random_state=0))
    model = one_vs_rest_channel(base).fit(clone(base), X, Y, COSTS)
    before = np.column_stack([problem.predict_proba(X)[:, 1] for problem in model.estimators_])
    after = problem_probabilities(model, X, COSTS)
    np.testing.assert_array_equal(after == 1.0, before == 1.0)
    np.testing.assert_array_equal(after == 0.0, before == 0.0)
    assert (after[:, 0] >= before[:, 0]).all()
    assert (after[:, 1:] <= before[:, 1:]).all()
