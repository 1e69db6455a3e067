"""Macro-averaged metrics by one search for each class."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from builders import paper_search
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from csf import ErrorProfile, MacroCostSearch
from csf.metrics import get_metric

NAMES = np.array(["tree", "bird", "stone"])


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, weights=[0.7, 0.2], flip_y=0.05, random_state=0
    )
    return X, NAMES[y]


def macro(base=None, n_jobs=None, **options):
    base = LinearSVC() if base is None else base
    return MacroCostSearch(paper_search(base, **({"n_trials": 3, "cv": 3} | options)), n_jobs=n_jobs)


@pytest.mark.parametrize(
    "base", [LinearSVC(), LogisticRegression(), RandomForestClassifier(8, random_state=0)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_each_class_is_searched_as_if_it_were_alone(base, weighted, data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size) if weighted else None
    fitted = macro(base, n_jobs=2, metric="f2").fit(X, y, weight)
    splits = list(StratifiedKFold(3).split(X, y))
    for label, search in zip(fitted.classes_, fitted.searches_, strict=True):
        alone = paper_search(base, metric="f2", n_trials=3, cv=splits).fit(X, (y == label) * 1, weight)
        assert search.trials_ == alone.trials_
        assert np.array_equal(search.decision_function(X), alone.decision_function(X))
    assert fitted.best_score_ == pytest.approx(np.mean([search.best_score_ for search in fitted.searches_]))
    assert fitted.best_scores_.tolist() == [search.best_score_ for search in fitted.searches_]
    assert fitted.upper_bound_ >= fitted.best_score_
    assert fitted.gap_ == pytest.approx(np.mean([search.gap_ for search in fitted.searches_]))
    assert fitted.best_ts_.shape == fitted.best_thresholds_.shape == (3,)
    assert len(fitted.best_params_) == 3


@pytest.mark.parametrize("cv", [4, 0.3, StratifiedKFold(2, shuffle=True, random_state=1)])
def test_threads_change_nothing(cv, data):
    first, second = (macro(cv=cv, random_state=5, n_jobs=n).fit(*data) for n in (None, 3))
    assert [s.trials_ for s in first.searches_] == [s.trials_ for s in second.searches_]
    assert np.array_equal(first.predict(data[0]), second.predict(data[0]))


def test_the_score_is_the_macro_average_of_one_class_a_sample(data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, y.size)
    fitted = macro(LogisticRegression()).fit(X, y)
    scores, predicted = fitted.decision_function(X), fitted.predict(X)
    assert np.array_equal(fitted.classes_[scores.argmax(axis=1)], predicted)
    assert fitted.score(X, y) == pytest.approx(f1_score(y, predicted, average="macro"))
    both = {"sample_weight": weight}
    assert fitted.score(X, y, **both) == pytest.approx(f1_score(y, predicted, average="macro", **both))
    some = np.flatnonzero(y != "tree")
    values = [
        get_metric("f1").of(ErrorProfile.from_masks(y[some] == k, predicted[some] == k)) for k in ("bird", "stone")
    ]
    assert fitted.score(X[some], y[some]) == pytest.approx(np.mean(values))
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert f1_score(y, fitted.classes_[proba.argmax(axis=1)], average="macro") > 0.7
    assert not hasattr(macro(LinearSVC()), "predict_proba")


def test_scores_of_all_classes_have_one_scale(data):
    """A search whose scores are larger for no reason finds nothing more: units of scores do not matter."""
    X, y = data
    first, second = macro().fit(X, y), macro().fit(X, y)
    best = second.searches_[1].best_estimator_
    best.coef_, best.intercept_ = 1000.0 * best.coef_, 1000.0 * best.intercept_
    second.searches_[1].best_threshold_ *= 1000.0
    second._scale(X, y, None)
    np.testing.assert_allclose(second.scales_[1], first.scales_[1] / 1000.0, rtol=1e-3)
    assert np.mean(first.predict(X) == second.predict(X)) > 0.99
    for k, search in enumerate(first.searches_):
        assert np.array_equal(first.decision_function(X)[:, k] > 0.0, search.predict(X) == 1)


def test_one_class_a_sample_loses_little_where_classes_are_alike():
    X, y = make_classification(
        1500, 12, n_informative=8, n_classes=8, n_clusters_per_class=2, class_sep=1.0, random_state=0
    )
    fitted = macro(LogisticRegression()).fit(X[:900], y[:900])
    raw = np.column_stack([search.decision_function(X[900:]) for search in fitted.searches_]).argmax(axis=1)
    assert fitted.score(X[900:], y[900:]) >= f1_score(y[900:], raw, average="macro")


def test_it_beats_one_plain_training(data):
    """On the pooled held-out decisions of each class, which is what it maximises."""
    X, y = data
    fitted, plain = macro().fit(X, y), []
    for label in fitted.classes_:
        decided = np.empty(y.size, dtype=bool)
        for train, test in StratifiedKFold(3).split(X, y):
            decided[test] = LinearSVC().fit(X[train], y[train] == label).predict(X[test])
        plain.append(f1_score(y == label, decided))
    assert fitted.best_score_ > np.mean(plain)


class Spy(TransformerMixin, BaseEstimator):
    """Counts its trainings and keeps the targets it saw."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append(np.array(y))
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_steps_of_a_pipeline_are_fitted_once_for_each_split(n_jobs, data):
    X, y = data
    Spy.seen.clear()
    base = make_pipeline(Spy(), SelectKBest(k=4), LinearSVC())
    fitted = macro(base, n_jobs=n_jobs, param_grid={"linearsvc__C": [0.1, 1.0]}).fit(X, y)
    # three splits and all data, for three classes and two settings; they see the labels of all classes
    assert len(Spy.seen) <= 4 * (n_jobs or 1)
    assert all(set(targets.tolist()) == {0, 1, 2} for targets in Spy.seen)
    expected = SelectKBest(k=4).fit(X, y).get_support()
    for search in fitted.searches_:
        assert np.array_equal(search.best_estimator_[1].get_support(), expected)


def test_two_classes_are_two_problems(data):
    X, y = data
    fitted = macro().fit(X, y == "tree")
    assert fitted.predict(X).dtype == bool
    assert np.array_equal(fitted.predict(X), fitted.decision_function(X) > 0)
    assert fitted.best_scores_.shape == (2,)


@pytest.mark.parametrize("container", [sp.csr_array, sp.coo_array, lambda X: X.tolist()], ids=["CSR", "COO", "list"])
def test_containers(container, data):
    X, y = data
    first, second = macro().fit(X, y), macro().fit(container(X), y.tolist())
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(container(X)), atol=1e-6)


def test_groups_reach_the_splitter(data):
    X, y = data
    groups = np.arange(y.size) % 11
    fitted = macro(cv=StratifiedGroupKFold(3)).fit(X, y, groups=groups)
    assert all(search.n_splits_ == 3 for search in fitted.searches_)
    for train, test in fitted.searches_[0].get_params()["cv"]:
        assert not set(groups[train]) & set(groups[test])


def test_names_of_features_are_kept(data):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(data[0]).add_prefix("x")
    fitted = macro().fit(X, pd.Series(data[1]))
    assert (fitted.n_features_in_, fitted.feature_names_in_[0]) == (6, "x0")
    assert not hasattr(fitted.fit(*data), "feature_names_in_")


def test_clone_and_pickle(data):
    fitted = macro().fit(*data)
    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict(data[0]), fitted.predict(data[0]))
    assert clone(fitted).set_params(search__n_trials=5).search.n_trials == 5
    assert fitted.search.cv == 3  # the search that was given is not touched


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pos_label": 1}, "pos_label of the search must be None, got 1"),
        ({"null_class": "tree"}, "null_class of the search must be None, got 'tree'"),
        ({"checkpoint": "file"}, "checkpoint of the search must be None, got 'file'"),
        ({"cv": "prefit"}, "each class needs trainings of its own"),
    ],
)
def test_searches_that_do_not_fit(options, message, data):
    with pytest.raises(ValueError, match=message):
        macro(**options).fit(*data)


def test_several_classes_are_deprecated_and_several_labels_refused(data):
    X, y = data
    with pytest.warns(FutureWarning, match=r"MacroCostSearch is deprecated .* csf.CostSearch\(base, 'f2_macro'\)"):
        macro(metric="f2", n_trials=1).fit(X, y)
    with pytest.raises(ValueError, match=r"several labels are searched by csf.CostSearch\(base, 'f1_macro'\)"):
        macro(metric="gmean").fit(X, np.eye(2, dtype=int)[(y == "tree") * 1])


def test_it_wants_a_search(data):
    with pytest.raises(TypeError, match=r"csf.CostSearch, got LinearSVC\(\); write MacroCostSearch\(CostSearch\("):
        MacroCostSearch(LinearSVC()).fit(*data)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (np.zeros(300), None, "y has one class only"),
        (None, np.zeros(300), "sample_weight is zero for every sample"),
        (np.arange(300) // 298, None, "cv=3 needs at least 3 samples of each class"),
    ],
)
def test_bad_data(y, weight, message, data):
    with pytest.raises(ValueError, match=message):
        macro().fit(data[0], data[1] if y is None else y, weight)


def test_a_class_without_weight_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="sample_weight is zero for every sample of one class"):
        macro().fit(X, y, (y != "tree") * 1.0)
