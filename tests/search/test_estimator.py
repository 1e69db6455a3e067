"""CostSearch: from data to the best cost-weighted classifier."""

import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import tqdm
from builders import paper_search
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch, Study
from csf.bounds import BOUNDS
from csf.metrics import Metric
from csf.plugin import PlugInClassifier
from csf.search import loop as checkpoint
from csf.thresholding import sweep


@pytest.fixture(scope="module")
def rare():
    X, y = make_classification(600, 8, n_informative=4, weights=[0.85], class_sep=0.8, flip_y=0.05, random_state=3)
    return X, y


def fitted(rare, **options):
    X, y = rare
    return paper_search(LinearSVC(), **({"n_trials": 5, "cv": 3} | options)).fit(X, y)


def same(first, second, sign=1):
    assert first.trials_ == second.trials_
    assert first.best_threshold_ == second.best_threshold_
    np.testing.assert_array_equal(first.best_estimator_.coef_, sign * second.best_estimator_.coef_)


def test_the_defaults_need_nothing_but_a_base(rare):
    X, y = rare
    search = paper_search(base=LinearSVC()).fit(X, y)
    assert search.n_trials_ == 10
    assert search.n_splits_ == 5
    assert search.best_cost_weights_ == pytest.approx((2 - search.best_t_, search.best_t_))
    assert search.upper_bound_ >= search.best_score_
    assert set(search.predict(X)) == {0, 1}


def test_score_is_the_pooled_out_of_fold_metric_at_the_threshold(rare):
    X, y = rare
    search = fitted(rare, engine="generic")
    c_fn, c_fp = search.best_cost_weights_
    weight = np.where(y == 1, c_fn, c_fp)
    pooled = np.empty(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        pooled[test] = LinearSVC().fit(X[train], y[train], sample_weight=weight[train]).decision_function(X[test])
    assert search.best_score_ == f1_score(y, pooled >= search.best_threshold_)
    assert search.best_score_ == sweep(y == 1, pooled).best("f1").value


@pytest.mark.parametrize(("engine", "rtol"), [("generic", 0.0), ("auto", 1e-4)])
def test_refit_trains_on_everything_with_the_winning_costs(rare, engine, rtol):
    X, y = rare
    search = fitted(rare, engine=engine)
    c_fn, c_fp = search.best_cost_weights_
    direct = LinearSVC().fit(X, y, sample_weight=np.where(y == 1, c_fn, c_fp))
    np.testing.assert_allclose(search.best_estimator_.coef_, direct.coef_, rtol=rtol, atol=0.0)


def test_engines_agree(rare):
    fast, generic = fitted(rare), fitted(rare, engine="generic")
    assert [trial.t for trial in fast.trials_] == [trial.t for trial in generic.trials_]
    np.testing.assert_allclose([t.score for t in fast.trials_], [t.score for t in generic.trials_], atol=1e-9)
    assert max(trial.duality_gap for trial in fast.trials_) <= 1e-6
    assert [trial.duality_gap for trial in generic.trials_] == [None] * 5
    assert list(fast.cv_results_["duality_gap"]) == [trial.duality_gap for trial in fast.trials_]


def test_threshold_none_keeps_the_own_decision(rare):
    X, _ = rare
    search = fitted(rare, threshold=None)
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.best_threshold_ == 0.0
    np.testing.assert_array_equal(search.decision_function(X) > 0, search.predict(X) == 1)
    assert all(trial.score == trial.value and trial.threshold is None for trial in search.trials_)


def test_threshold_none_takes_a_base_without_scores(rare):
    class Labels(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            self.model_ = LinearSVC().fit(X, y, sample_weight=sample_weight)
            self.classes_ = self.model_.classes_
            return self

        def predict(self, X):
            return self.model_.predict(X)

    X, y = rare
    search = CostSearch(Labels(), n_trials=3, cv=3, threshold=None).fit(X, y)
    assert not hasattr(search, "decision_function")
    assert set(search.predict(X)) <= {0, 1}


@pytest.mark.parametrize("tie", ["threshold", "infinite"])
def test_decision_is_positive_exactly_where_positive_is_predicted(rare, tie):
    X, _ = rare
    search = fitted(rare)
    search.best_threshold_ = float(search.best_estimator_.decision_function(X)[7]) if tie == "threshold" else -np.inf
    np.testing.assert_array_equal(search.decision_function(X) > 0, search.predict(X) == 1)
    assert search.predict(X)[7] == 1  # in the same batch: scores of a row by itself may end in another digit


def test_probabilities_have_the_costs_taken_out(rare):
    X, y = rare
    search = paper_search(LogisticRegression(), n_trials=3, cv=3).fit(X, y)
    weighted, plain = search.best_estimator_.predict_proba(X)[:, 1], search.predict_proba(X)[:, 1]
    c_fn, c_fp = search.best_cost_weights_
    np.testing.assert_allclose(plain / (1 - plain), weighted / (1 - weighted) * c_fp / c_fn)
    assert abs(plain.mean() - y.mean()) < 0.02 < abs(weighted.mean() - y.mean())
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(search.predict_proba(X)))


def test_score_is_the_metric(rare):
    X, y = rare
    search = fitted(rare)
    assert search.score(X, y) == f1_score(y, search.predict(X))
    assert cross_val_score(CostSearch(LinearSVC(), n_trials=2, cv=2), X, y, cv=2).shape == (2,)


@pytest.mark.parametrize("codes", [(-1, 1), ("no", "yes"), (False, True), (1.0, 0.0)])
def test_coding_of_the_labels_does_not_matter(rare, codes):
    X, y = rare
    coded = np.asarray(codes)[y]
    pos_label = codes[1] if codes in (("no", "yes"), (1.0, 0.0)) else None
    first, second = (
        CostSearch(LinearSVC(), cv=3, **options).fit(X, labels)
        for labels, options in ((y, {}), (coded, {"pos_label": pos_label}))
    )
    sign = 1 if second.classes_[1] == codes[1] else -1
    same(first, second, sign)
    np.testing.assert_array_equal(second.predict(X) == codes[1], first.predict(X) == 1)
    assert second.predict(X).dtype == coded.dtype
    np.testing.assert_array_equal(second.decision_function(X), sign * first.decision_function(X))


def test_order_of_rows_does_not_matter_with_the_same_folds(rare):
    X, y = rare
    splits = list(StratifiedKFold(3).split(X, y))
    order = np.random.default_rng(0).permutation(len(y))
    place = np.argsort(order)
    moved = [(place[train], place[test]) for train, test in splits]
    first = paper_search(LinearSVC(tol=1e-10), n_trials=4, cv=splits).fit(X, y)
    second = paper_search(LinearSVC(tol=1e-10), n_trials=4, cv=moved).fit(X[order], y[order])
    assert [t.t for t in first.trials_] == [t.t for t in second.trials_]
    np.testing.assert_allclose([t.score for t in first.trials_], [t.score for t in second.trials_], atol=1e-12)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("base", [LogisticRegression(tol=1e-8, max_iter=2000), LinearSVC(tol=1e-8)])
def test_weight_k_is_the_row_repeated_k_times_in_the_plain_call(rare, base):
    X, y = rare
    times = np.random.default_rng(1).integers(0, 4, len(y))
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    rows = np.repeat(np.arange(len(y)), times)
    repeated = [(np.flatnonzero(np.isin(rows, train)), np.flatnonzero(np.isin(rows, test))) for train, test in splits]
    first = CostSearch(base, cv=splits).fit(X, y, sample_weight=times)
    second = CostSearch(base, cv=repeated).fit(X[rows], y[rows])
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert first.best_index_ == second.best_index_
    for name in ("best_score_", "corrected_score_", "score_interval_", "bound_margin_", "upper_bound_"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-6), name
    assert first.best_threshold_ == pytest.approx(second.best_threshold_, abs=1e-4)
    one, other = (search.at_prevalence(0.4) for search in (first, second))
    assert (one.corrected_score_, *one.score_interval_) == pytest.approx(
        (other.corrected_score_, *other.score_interval_)
    )


def test_random_state_reaches_splits_and_base(rare):
    X, y = rare
    options = {"n_trials": 3, "cv": 0.3}
    base = make_pipeline(StandardScaler(), LinearSVC(dual=True, loss="hinge", max_iter=20_000))
    first, second = (CostSearch(base, random_state=5, **options).fit(X, y) for _ in range(2))
    assert first.trials_ == second.trials_
    assert CostSearch(base, random_state=6, **options).fit(X, y).trials_ != first.trials_


def test_sparse_lists_and_frames_equal_arrays(rare):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = rare
    first = CostSearch(LinearSVC(), cv=3).fit(X, y)
    names = [f"x{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    for other in (X.tolist(), sp.coo_array(X), sp.csr_matrix(X), frame, pl.DataFrame(X, schema=names)):
        search = CostSearch(LinearSVC(), cv=3).fit(other, y)
        np.testing.assert_allclose(search.best_estimator_.coef_, first.best_estimator_.coef_, atol=1e-6)
        assert search.best_t_ == first.best_t_
        np.testing.assert_array_equal(search.predict(other), first.predict(X))
        assert search.n_features_in_ == 8
    search = CostSearch(LinearSVC(), n_trials=2, cv=3).fit(frame, pd.Series(y, name="target"))
    assert list(search.feature_names_in_) == names


def test_param_grid_is_searched_together(rare):
    X, y = rare
    search = fitted(rare, param_grid={"C": [0.01, 1.0]}, n_trials=3)
    assert search.n_trials_ == 6
    assert len(search.studies_) == 2
    single = [fitted(rare, n_trials=3), paper_search(LinearSVC(C=0.01), n_trials=3, cv=3).fit(X, y)]
    assert search.best_score_ == max(s.best_score_ for s in single)
    assert search.best_params_["C"] == search.best_estimator_.C
    assert list(search.cv_results_["param_C"]) == [0.01] * 3 + [1.0] * 3


@pytest.mark.parametrize("bound", BOUNDS)
def test_no_setting_of_the_base_bounds_a_better_one(rare, bound):
    """Trials of several settings are pooled: a poor setting must not call a better one's value impossible."""
    search = fitted(rare, param_grid={"C": [1e-6, 1.0]}, n_trials=4, bound=bound)
    assert search.upper_bound_ >= search.best_score_ - 1e-12
    assert search.best_params_ == {"C": 1.0}


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("labels", [(0, 1), ("a", "b")])
def test_prefit_tunes_the_threshold_only(rare, frozen, labels):
    X, y = rare
    named = np.asarray(labels)[y]
    base = LinearSVC().fit(X, named)
    search = paper_search(FrozenEstimator(base), pos_label=labels[1]) if frozen else None
    search = search or paper_search(base, cv="prefit", pos_label=labels[1])
    search.fit(X, named)
    best = sweep(y == 1, base.decision_function(X)).best("f1")
    assert (search.best_score_, search.best_threshold_) == (best.value, best.threshold)
    np.testing.assert_array_equal(search.predict(X) == labels[1], base.decision_function(X) >= best.threshold)
    assert search.best_t_ is None


def test_prefit_needs_a_fitted_base(rare):
    with pytest.raises(ValueError, match="not fitted yet"):
        CostSearch(LinearSVC(), cv="prefit").fit(*rare)


def test_nothing_is_left_of_an_earlier_fit(rare):
    pd = pytest.importorskip("pandas")
    X, y = rare
    search = CostSearch(LinearSVC(), n_trials=1, cv=2).fit(pd.DataFrame(X).add_prefix("x"), y)
    search.set_params(refit=False).fit(X, y)
    for name in ("best_estimator_", "refit_time_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(search, name)


def test_set_output_reaches_the_steps_of_the_base(rare):
    pd = pytest.importorskip("pandas")
    X, y = rare
    seen = []

    class Spy(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append(type(X))
            return super().fit(X, y, sample_weight=sample_weight)

    base = make_pipeline(StandardScaler(), Spy()).set_output(transform="pandas")
    search = paper_search(base, n_trials=1, cv=2).fit(pd.DataFrame(X).add_prefix("x"), y)
    assert set(seen) == {pd.DataFrame}
    assert list(search.feature_names_in_)[:2] == ["x0", "x1"]


def test_inside_pipelines_grid_searches_and_one_vs_rest(rare):
    X, y = rare
    pipe = make_pipeline(StandardScaler(), CostSearch(LinearSVC(), n_trials=2, cv=2)).fit(X, y)
    assert pipe.predict(X).shape == y.shape
    grid = GridSearchCV(CostSearch(LinearSVC(), n_trials=2, cv=2), {"base__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert grid.best_params_["base__C"] in (0.1, 1.0)
    multi = np.where(X[:, 0] > 1, 2, y)
    one = OneVsRestClassifier(CostSearch(LinearSVC(), n_trials=2, cv=2)).fit(X, multi)
    assert set(one.predict(X)) == {0, 1, 2}


def test_the_user_s_metric_and_strategy(rare):
    class Youden(Metric):
        def value(self, fn, fp, *, pos):
            return 1 - fn / pos - fp / (1 - pos)

        def range(self, pos):
            return -1.0, 1.0

    def two(trials, *, metric, pos):
        return [0.2, 0.6][len(trials)] if len(trials) < 2 else None

    search = fitted(rare, metric=Youden(), strategy=two)
    assert [t.t for t in search.trials_] == [0.2, 0.6]
    assert search.stop_reason_ == "strategy two is done"
    assert search.upper_bound_ >= search.best_score_


@pytest.mark.parametrize("metric", ["gmean", "hmean", "qmean", "min_rate", "jaccard", "f2", "balanced_accuracy"])
def test_every_kind_of_metric_beats_the_plain_base(rare, metric):
    X, y = rare
    search = fitted(rare, metric=metric)
    plain = cross_val_predict(LinearSVC(), X, y, cv=3)
    assert search.best_score_ >= search.studies_[0].metric.score(y, plain)
    assert search.upper_bound_ >= search.best_score_


def test_infeasible_constraint_gives_the_closest_and_a_warning(rare):
    X, y = rare
    noise = np.random.default_rng(0).normal(size=X.shape)
    search = paper_search(LinearSVC(), metric="recall", constraint="precision >= 0.99", n_trials=3, cv=3)
    with pytest.warns(UserWarning, match=r"no trial satisfies precision >= 0\.99"):
        search.fit(noise, y)
    assert not search.feasible_
    assert search.constraint_value_ < 0.99
    assert search.trials_[search.best_index_].violation == min(t.violation for t in search.trials_)


def test_bounds_can_read_the_training_parts(rare):
    search = fitted(rare, bound_on="train")
    shown = [trial.attained for trial in search.trials_]
    assert search.upper_bound_ >= max(shown)
    assert search.trials_[0].profile != fitted(rare).trials_[0].profile
    assert search.gap_ == pytest.approx(search.upper_bound_ - max(shown))


def test_training_profiles_leave_a_flexible_base_nothing_to_search(rare):
    """Why bounds read held-out data by default: a tree fits its training part and stops a search at once."""
    X, y = rare
    options = {"n_trials": 4, "cv": 3, "tol": 1e-9, "threshold": None}
    tree = DecisionTreeClassifier(random_state=0)
    assert paper_search(tree, bound_on="train", **options).fit(X, y).n_trials_ == 1
    assert paper_search(tree, **options).fit(X, y).n_trials_ > 1


def test_failed_trials_are_recorded_and_left_out(rare):
    class Moody(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            if sample_weight.max() > 1.65:
                raise RuntimeError("too heavy")
            return super().fit(X, y, sample_weight=sample_weight)

    X, y = rare
    search = paper_search(Moody(), strategy="grid", n_trials=5, cv=3)
    with pytest.warns(FitFailedWarning, match="too heavy"):
        search.fit(X, y)
    assert [t.state for t in search.trials_] == ["failed"] * 2 + ["complete"] * 3
    assert "too heavy" in search.cv_results_["error"][0]
    with pytest.raises(RuntimeError, match="too heavy"):
        search.set_params(error_score="raise").fit(X, y)


def test_callbacks_see_each_trial_and_can_stop(rare):
    seen = []

    def stop_at_three(study, trial):
        seen.append(trial.number)
        return len(seen) == 3

    search = fitted(rare, callbacks=[stop_at_three], n_trials=8)
    assert seen == [0, 1, 2]
    assert search.n_trials_ == 3
    assert search.stop_reason_ == "a callback ended the search"


def test_scikit_learn_callbacks(rare):
    callback = pytest.importorskip("sklearn.callback")
    search = paper_search(LinearSVC(), n_trials=3, cv=3)
    tasks = []

    class Recorder:
        def setup(self, estimator, context):
            tasks.append("setup")

        def on_fit_task_begin(self, estimator, context):
            tasks.append(context.task_name)

        def on_fit_task_end(self, estimator, context):
            return False

        def teardown(self, estimator, context):
            tasks.append("teardown")

    assert isinstance(Recorder(), callback.FitCallback)
    search.set_callbacks(Recorder()).fit(*rare)
    assert tasks == ["setup", "fit", "trial-0-0", "trial-0-1", "trial-0-2", "teardown"]


@pytest.mark.parametrize(
    ("options", "first", "last"),
    [
        # Seven values of C, on a ladder of six rungs each; nobody knows before how many of them a race leaves.
        ({"cv": 2}, 42, None),
        ({"cv": 2, "n_trials": 2, "threshold": "tune"}, 14, 14),
        ({"cv": 2, "strategy": "cone", "param_grid": None, "tol": 1.0}, 10, 1),
    ],
)
def test_the_progress_bar_ends_at_its_end(rare, options, first, last, monkeypatch):
    bars = []

    class Bar(tqdm.tqdm):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            bars.append((self, self.total))

    monkeypatch.setattr("tqdm.tqdm", Bar)
    search = CostSearch(LinearSVC(), verbose=1, **options).fit(*rare)
    ((bar, total),) = bars
    last = search.n_trials_ if last is None else last
    assert (total, bar.n, bar.total) == (first, last, last)


def test_metadata_routing(rare):
    import sklearn

    X, y = rare
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    groups = np.arange(len(y)) % 7
    base = make_pipeline(StandardScaler(), LinearSVC())
    # With routing the steps of a pipeline are fitted with each training, by the generic engine.
    plain = paper_search(base, n_trials=3, cv=3, engine="generic").fit(X, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        from sklearn.model_selection import StratifiedGroupKFold

        routed = paper_search(base, n_trials=3, cv=3).fit(X, y, sample_weight=weight)
        assert routed.trials_ == plain.trials_
        search = CostSearch(base, n_trials=2, cv=StratifiedGroupKFold(3)).fit(X, y, groups=groups)
        assert search.n_splits_ == 3
        inner = CostSearch(base, n_trials=2, param_grid=None, cv=2).set_fit_request(sample_weight=True)
        outer = GridSearchCV(inner.set_score_request(sample_weight=True), {"n_trials": [2]})
        assert outer.fit(X, y, sample_weight=weight).best_estimator_.n_trials_ == 2
    direct = CostSearch(base, n_trials=2, cv=StratifiedGroupKFold(3), engine="generic").fit(X, y, groups=groups)
    assert direct.trials_ == search.trials_


# ---------------------------------------------------------------- the winner, trained once more on everything


X = np.linspace(0.0, 1.0, 120)[:, None]
Y = (np.arange(120) >= 90).astype(int)


class Drifting(ClassifierMixin, BaseEstimator):
    """Scores that move with the number of training samples, by more than they differ among each other."""

    def __init__(self, drift=1.0):
        self.drift = drift

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.size_ = np.unique(y), len(y)
        return self

    def decision_function(self, X):
        return X[:, 0] + self.drift * self.size_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


@pytest.mark.parametrize(("drift", "found"), [(1.0, "all"), (-1.0, "none")])
def test_a_threshold_that_does_not_pass_on_is_said(drift, found):
    search = paper_search(Drifting(drift), n_trials=2)
    with pytest.warns(UserWarning, match=f"finds {found} of its samples positive"):
        search.fit(X, Y)
    assert search.best_score_ > 0.9
    assert np.unique(search.predict(X)).size == 1


def test_a_winner_that_is_as_useless_on_held_out_data_is_not_news():
    constant = np.zeros_like(X)
    search = CostSearch(LinearSVC(), n_trials=2).fit(constant, Y)
    assert np.unique(search.predict(constant)).size == 1


# ---------------------------------------------------------------- costSearch with the classifiers that people use,


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


@pytest.mark.slow
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
@pytest.mark.parametrize("own", ["balanced", {"no": 0.5, "yes": 3.0}], ids=str)
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


# ---------------------------------------------------------------- corrected scores and intervals of fitted searches


@pytest.fixture(scope="module")
def samples():
    return make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)


def told(search):
    return search.corrected_score_, *search.score_interval_, *search.threshold_interval_


def assessed(base=None, **options):
    return CostSearch(base or LinearSVC(), **({"n_trials": 4, "cv": 3, "param_grid": {"C": [0.1, 1.0]}} | options))


def test_nothing_but_the_seed_decides(samples):
    found = assessed(random_state=1).fit(*samples)
    assert told(found) == told(assessed(random_state=1, n_jobs=2).fit(*samples))
    assert told(found) == told(pickle.loads(pickle.dumps(found)))
    assert told(found) != told(assessed(random_state=2).fit(*samples))
    assert told(found.fit(*samples)) == told(found)


def test_own_decisions_and_models_that_are_fitted_have_them_too(samples):
    own = assessed(DecisionTreeClassifier(max_depth=3), param_grid=None, threshold=None).fit(*samples)
    assert own.score_interval_[0] < own.corrected_score_ < own.score_interval_[1]
    assert np.isnan(own.threshold_interval_).all()
    fitted = CostSearch(LogisticRegression().fit(*samples), cv="prefit").fit(*samples)
    assert fitted.score_interval_[0] < fitted.corrected_score_ <= fitted.best_score_ + 0.02


def test_plug_in(samples):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    plugin = PlugInClassifier(LogisticRegression(), cv=cv).fit(*samples)
    assert plugin.held_out_.n_samples == 300
    assert plugin.score_interval_[0] < plugin.corrected_score_ < plugin.score_interval_[1]
    assert plugin.threshold_interval_[0] <= plugin.threshold_ <= plugin.threshold_interval_[1]
    asked = PlugInClassifier(LogisticRegression(), "recall", constraint="precision >= 0.5", cv=3).fit(*samples)
    assert 0.0 < asked.corrected_score_ < 1.0


@pytest.mark.parametrize("limit", [1 << 24, 0], ids=["in the file", "trained again"])
@pytest.mark.parametrize("base", [LinearSVC(), DecisionTreeClassifier(max_depth=3)], ids=["linear", "other"])
def test_a_resumed_search_says_the_same(samples, tmp_path, monkeypatch, base, limit):
    monkeypatch.setattr(checkpoint, "_LARGEST", limit)
    options = {"param_grid": None, "n_trials": 5, "random_state": 0}
    whole = assessed(base, **options).fit(*samples)
    path = tmp_path / "trials.json"
    stop = assessed(base, **options, checkpoint=path, callbacks=[lambda study, trial: trial.number == 2]).fit(*samples)
    assert stop.n_trials_ == 3
    assert (json.loads(path.read_text())["kept"]["scores"] is None) == (limit == 0)
    resumed = assessed(base, **options, checkpoint=path).fit(*samples)
    assert told(resumed) == told(whole)
    assert resumed.held_out_.n_dropped == 0


def test_a_study_that_is_told_predictions(samples):
    X, y = samples
    study = Study.from_target(y[150:], n_trials=3)
    while (trial := study.ask()) is not None:
        model = LogisticRegression(class_weight={0: trial.c_fp, 1: trial.c_fn}).fit(X[:150], y[:150])
        study.tell(trial, y[150:], y_score=model.predict_proba(X[150:])[:, 1])
    low, high = study.score_interval
    assert low < study.corrected_score < high
    assert study.threshold_interval[0] <= study.threshold_interval[1]


def test_a_study_without_them_says_none(samples):
    _, y = samples
    study = Study.from_target(y, n_trials=3)
    assert study.corrected_score is None
    study.tell(study.ask(), y, y)
    assert study.corrected_score == 1.0
    study.tell(study.ask(), y[::-1], y)  # other samples
    assert study.corrected_score is None
    assert study.score_interval is study.threshold_interval is None
