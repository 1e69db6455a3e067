"""CostSearch with the classifiers that people use, for real."""

import numpy as np
import pytest
import scipy.sparse as sp
from builders import paper_search
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

from csf import CostSearch


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, verbose=-1, random_state=0, n_jobs=1)


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=15, random_state=0, n_jobs=1)


BASES = {
    "linear_svc": LinearSVC,
    "logistic": LogisticRegression,
    "sgd": lambda: SGDClassifier(random_state=0),
    "hist_gradient_boosting": lambda: HistGradientBoostingClassifier(max_iter=15, random_state=0),
    "random_forest": lambda: RandomForestClassifier(20, random_state=0),
    "pipeline": lambda: make_pipeline(MaxAbsScaler(), LogisticRegression()),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}
DENSE_ONLY = ("hist_gradient_boosting",)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(400, 6, n_informative=4, weights=[0.8], class_sep=1.0, random_state=1)
    return np.round(X, 2), np.where(y == 1, "yes", "no")


def as_frame(library, X):
    names = [f"feature {i}" for i in range(X.shape[1])]
    if library == "pandas":
        return pytest.importorskip("pandas").DataFrame(X, columns=names)
    return pytest.importorskip("polars").DataFrame(X, schema=names)


CONTAINERS = {
    "dense": lambda X: X,
    "csr": sp.csr_matrix,
    "pandas": lambda X: as_frame("pandas", X),
    "polars": lambda X: as_frame("polars", X),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("base", BASES)
def test_base_learns_costs_on_every_container(base, container, data):
    if container == "csr" and base in DENSE_ONLY:
        pytest.skip(f"{base} itself takes dense data only")
    X, y = CONTAINERS[container](data[0]), data[1]
    search = paper_search(BASES[base](), n_trials=2, cv=2, pos_label="yes", error_score="raise").fit(X, y)
    assert [trial.state for trial in search.trials_] == ["complete"] * 2
    assert search.trials_[0].profile != search.trials_[1].profile  # the costs arrived
    assert search.best_score_ > 0.45
    assert search.upper_bound_ >= search.best_score_
    assert set(search.predict(X)) <= {"no", "yes"}
    np.testing.assert_array_equal(search.decision_function(X) > 0, search.predict(X) == "yes")


@pytest.mark.parametrize("base", ["sgd", "random_forest", "lightgbm", "xgboost"])
def test_seeds_make_a_search_repeatable(base, data):
    X, y = data
    made = BASES[base]()
    made.set_params(random_state=None)
    first, second = (
        paper_search(made, n_trials=2, cv=0.3, pos_label="yes", random_state=3).fit(X, y) for _ in range(2)
    )
    assert first.trials_ == second.trials_
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


class ClassWeightOnly(ClassifierMixin, BaseEstimator):
    """A base that knows class_weight but no sample_weight."""

    def __init__(self, class_weight=None):
        self.class_weight = class_weight

    def fit(self, X, y):
        self.model_ = LinearSVC(class_weight=self.class_weight).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def predict(self, X):
        return self.model_.predict(X)


def test_class_weight_is_the_fall_back(data):
    X, y = data
    options = {"n_trials": 3, "cv": 3, "pos_label": "yes"}
    first = paper_search(ClassWeightOnly(), **options).fit(X, y)
    second = paper_search(LinearSVC(), **options).fit(X, y)
    np.testing.assert_allclose([t.score for t in first.trials_], [t.score for t in second.trials_], atol=1e-9)
    np.testing.assert_allclose(first.decision_function(X), second.decision_function(X), atol=1e-4)


def test_class_weight_cannot_carry_sample_weights(data):
    X, y = data
    with pytest.raises(ValueError, match="takes class_weight but no sample_weight"):
        paper_search(ClassWeightOnly(), pos_label="yes").fit(X, y, sample_weight=np.ones(len(y)))


def test_class_weight_of_the_base_is_never_doubled_silently(data):
    X, y = data
    search = paper_search(LinearSVC(class_weight="balanced"), n_trials=1, cv=2, pos_label="yes")
    with pytest.warns(UserWarning, match="class_weight='balanced', which multiplies the searched costs"):
        search.fit(X, y)


@pytest.mark.filterwarnings("ignore:the base has .*class_weight")
@pytest.mark.parametrize("own", ["balanced", {0: 0.5, 1: 3.0}], ids=str)
@pytest.mark.parametrize("base", [LinearSVC(), LogisticRegression()], ids=["svc", "logistic"])
def test_class_weights_of_the_base_keep_the_search_of_c_and_the_fast_solver(base, own, data):
    X, y = data
    base = make_pipeline(MaxAbsScaler(), clone(base).set_params(class_weight=own, tol=1e-7))
    search = CostSearch(base, cv=3, pos_label="yes", random_state=0).fit(X, y)
    assert {"C"} == {name.rpartition("__")[2] for name in search.best_params_}
    assert len({trial.setting for trial in search.trials_}) > 1
    # The generic trainer leaves no gap; different costs of the same C are different trainings.
    assert all(trial.duality_gap is not None for trial in search.trials_)
    assert len({trial.value for trial in search.studies_[0].trials}) > 1
    # One trial, of the costs that balance the classes once more, at the C that won.
    grid = {name: [value] for name, value in search.best_params_.items()}
    ours, theirs = (
        CostSearch(base, "f1", strategy="imbalance_ratio", cv=3, pos_label="yes", engine=engine, param_grid=grid).fit(
            X, y
        )
        for engine in ("auto", "generic")
    )
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=2e-3)
    np.testing.assert_allclose(ours.best_estimator_[-1].coef_, theirs.best_estimator_[-1].coef_, rtol=2e-3, atol=2e-3)
    assert ours.best_estimator_[-1].class_weight == theirs.best_estimator_[-1].class_weight == own


def test_normalised_weights_have_mean_one(data):
    X, y = data
    seen = []

    class Spy(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight.mean())
            return super().fit(X, y, sample_weight=sample_weight)

    paper_search(Spy(), n_trials=3, cv=2, pos_label="yes", normalize="mean").fit(X, y)
    np.testing.assert_allclose(seen, 1.0)


def test_base_is_not_touched(data):
    X, y = data
    base = LogisticRegression()
    paper_search(base, n_trials=1, cv=2, pos_label="yes", random_state=0).fit(X, y)
    assert not hasattr(base, "coef_")
    assert base.random_state is None


def test_slices_are_made_once_not_per_trial(data):
    """No trial copies X: all trainings of a fold see one and the same array."""
    X, y = data
    seen = []

    class Spy(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.__array_interface__["data"][0])
            return super().fit(X, y, sample_weight=sample_weight)

    paper_search(Spy(), n_trials=4, cv=2, pos_label="yes", refit=False).fit(X, y)
    assert len(seen) == 8
    assert len(set(seen)) == 2
