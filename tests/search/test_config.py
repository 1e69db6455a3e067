"""What a search does that is given nothing but its base."""

import time
import warnings
from functools import wraps
from inspect import signature

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf._common.sklearn import check_options, options_of
from csf.cli.parser import make_parser
from csf.plugin import PlugInClassifier
from csf.report.checks import findings
from csf.search.config import (
    BY_ROUNDS,
    FAST,
    PLAIN,
    SLOW,
    SearchConfig,
    SharedOptions,
    effort_of,
    has_fast_solver,
    open_cv,
    settings_of,
    steps_of,
    variant_numbers,
)
from csf.strategies import Ladder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = (X[:, 0] + RNG.normal(size=240) > 1.4).astype(int)
MULTIPLES = sorted(4.0**k for k in range(-3, 4))


@pytest.mark.parametrize(
    ("base", "name", "own"),
    [
        (LinearSVC(), "C", 1.0),
        (LinearSVC(loss="hinge", C=3.0), "C", 3.0),
        (LogisticRegression(C=0.5), "C", 0.5),
        (make_pipeline(StandardScaler(), LogisticRegression()), "logisticregression__C", 1.0),
        (make_pipeline(make_column_transformer((StandardScaler(), [0])), LinearSVC()), "linearsvc__C", 1.0),
        (OneVsRestClassifier(LinearSVC(C=2.0)), "estimator__C", 2.0),
        (make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())), "onevsrestclassifier__estimator__C", 1.0),
    ],
)
def test_c_is_searched_around_the_bases_own_which_comes_first(base, name, own):
    settings = settings_of("auto", base)
    assert settings[0] == {name: own}
    assert sorted(setting[name] / own for setting in settings) == MULTIPLES


@pytest.mark.parametrize(
    "base",
    [
        DecisionTreeClassifier(),
        SGDClassifier(),
        LinearSVC(penalty="l1", dual=False),
        OneVsRestClassifier(SGDClassifier()),
    ],
)
def test_other_bases_are_taken_as_they_are(base):
    assert settings_of("auto", base) == [{}]
    assert not has_fast_solver(base)


@pytest.mark.parametrize("base", [LogisticRegression(C=3.0), LinearSVC(C=3.0)], ids=["logistic", "svc"])
def test_settings_that_are_equally_good_leave_the_base_its_own_c_and_costs(base):
    apart = np.column_stack([np.arange(60) < 20, RNG.random(60)]) * [10.0, 1.0]
    search = CostSearch(base, cv=2).fit(apart, (np.arange(60) < 20) * 1)
    assert {trial.score for trial in search.trials_} == {1.0}
    assert search.best_params_ == {"C": 3.0}
    assert search.best_cost_weights_[0] == search.best_cost_weights_[1]


@pytest.mark.parametrize("engine", ["generic", "liblinear"])
def test_other_engines_search_the_same_values_of_c_at_fewer_costs(engine):
    settings = settings_of("auto", LinearSVC(), engine)
    assert settings == settings_of("auto", LinearSVC())
    effort = effort_of(LinearSVC(), engine, "auto", settings)
    assert effort is SLOW
    assert steps_of("auto", settings, effort) == steps_of("auto", settings)


@pytest.mark.parametrize(
    ("counts", "effort", "splits"),
    [
        ((80, 20), FAST, 15),
        ((80, 20), SLOW, 15),
        ((20_000, 20), SLOW, 5),
        ((80, 20), PLAIN, 8),
        ((9, 3), PLAIN, 6),
        ((20_000, 20), PLAIN, 5),
        ((2000, 500), PLAIN, 5),
        ((20_000, 20), FAST, 15),
        ((2000, 499), FAST, 15),
        ((2000, 500), FAST, 5),
        ((9, 5), FAST, 15),
    ],
)
def test_folds_are_repeated_where_positives_are_few_and_trainings_cheap(counts, effort, splits):
    y = np.repeat([0, 1], counts)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the rarer class has only 3 samples")
        cv = open_cv(y, effort, random_state=None)
    assert cv.get_n_splits() == splits
    assert all(np.unique(y[train]).size == 2 for train, _ in cv.split(y, y))


def test_fewer_samples_of_a_class_than_folds_are_warned_of():
    y = np.repeat([0, 1], (9, 3))
    with pytest.warns(UserWarning, match=r"rarer class has only 3 samples, and each of the 3 folds holds out one"):
        cv = open_cv(y, FAST, random_state=None)
    assert cv.get_n_splits() == 9
    assert all(np.unique(y[train]).size == 2 for train, _ in cv.split(y, y))


def test_a_single_sample_of_a_class_is_too_little():
    with pytest.raises(ValueError, match="n_samples=1"):
        CostSearch(LinearSVC()).fit(X, np.arange(240) == 7)


def test_equal_costs_of_all_settings_come_first():
    order = []
    CostSearch(LogisticRegression(), callbacks=[lambda study, trial: order.append((trial.setting, trial.costs))]).fit(
        X, Y
    )
    settings = [setting for setting, _ in order]
    n_tried = len(set(settings))
    assert sorted(settings[:n_tried]) == sorted(set(settings))
    assert {costs for _, costs in order[:n_tried]} == {(1.0, 1.0)}
    assert (1.0, 1.0) not in {costs for _, costs in order[n_tried:]}


def test_the_call_without_arguments():
    search = CostSearch(LogisticRegression()).fit(X, Y)
    # The C of the base and the two next to it; only settings that may still win climb the ladder.
    assert (search.n_trials_, search.n_splits_) == (36, 15)
    again = CostSearch(LogisticRegression()).fit(X, Y)
    assert again.trials_ == search.trials_
    assert again.best_threshold_ == search.best_threshold_
    np.testing.assert_array_equal(search.predict(X), again.predict(X))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cv": 0.3},
        {"cv": 0.3, "metric": "recall", "constraint": "fpr <= 0.6", "confidence": 0.6},
    ],
)
def test_without_a_seed_the_same_call_gives_the_same_result(options):
    one, other = (CostSearch(LogisticRegression(), param_grid=None, **options).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.held_out_.samples, other.held_out_.samples)
    np.testing.assert_array_equal(one.best_estimator_.coef_, other.best_estimator_.coef_)
    assert one.best_score_ == other.best_score_
    if "confidence" in options:
        assert one.guarantee_ == other.guarantee_


def test_searches_of_labels_without_a_seed_draw_the_same_share():
    y = np.column_stack([X[:, 0] > 0.5, X[:, 0] > 1.2])
    search = CostSearch(LogisticRegression(), "f1_macro", param_grid=None, cv=0.3, n_trials=1)
    one, other = (clone(search).fit(X, y) for _ in range(2))
    assert one.best_score_ == other.best_score_


def test_equal_costs_alone_are_the_exact_threshold_on_the_same_folds():
    """What the cheapest careful rival does, by another way."""
    cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=3)
    base = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
    search = CostSearch(base, strategy=Ladder(1), param_grid=None, threshold="tune", cv=cv).fit(X, Y)
    plugin = PlugInClassifier(base, cv=cv, response_method="decision_function").fit(X, Y)
    assert search.best_threshold_ == pytest.approx(plugin.threshold_, abs=1e-5)
    assert search.best_score_ == pytest.approx(plugin.best_score_)
    np.testing.assert_array_equal(search.predict(X), plugin.predict(X))


def test_the_stable_cut_is_the_one_that_is_used_and_judged():
    search = CostSearch(LogisticRegression(), param_grid=None).fit(X, Y)
    winner = search.trials_[search.best_index_]
    assert search.best_threshold_ != winner.threshold
    assert search.best_score_ <= winner.score
    assert search.best_score_ >= winner.score - 0.1
    proba = search.best_estimator_.decision_function(X)
    np.testing.assert_array_equal(search.predict(X) == 1, proba >= search.best_threshold_)
    assert search.held_out_[winner.setting, winner.number].threshold == search.best_threshold_
    low, high = search.threshold_interval_
    assert low < search.best_threshold_ < high


class Slow(ClassifierMixin, BaseEstimator):
    """Takes its time."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.05)
        self.classes_ = np.unique(y)
        self.weighted_ = sample_weight is not None
        self.inner_ = LogisticRegression().fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def decision_function(self, X):
        return self.inner_.decision_function(X)


class Counted(DecisionTreeClassifier):
    """Counts its trainings."""

    fitted = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fitted += 1
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.mark.slow
@pytest.mark.parametrize("base", [Counted(max_depth=2, random_state=0), make_pipeline(StandardScaler(), Counted())])
def test_bases_without_a_fast_solver_take_at_most_half_as_many_trainings_more_as_a_tuned_threshold(base, monkeypatch):
    monkeypatch.setattr(Counted, "fitted", 0)
    TunedThresholdClassifierCV(base, scoring="f1").fit(X, Y)
    tuned, Counted.fitted = Counted.fitted, 0
    search = CostSearch(base).fit(X, Y)
    assert Counted.fitted <= 1.5 * tuned
    assert (search.n_trials_, search.n_splits_) == (1, 8)
    assert "its only ratio is that of equal costs; strategy=Ladder(3) tries others" in search.stop_reason_


@pytest.mark.parametrize(
    ("options", "n_trials", "n_splits"),
    [
        ({"strategy": Ladder(3)}, 3, 8),
        ({"strategy": "cone", "n_trials": 4}, 4, 8),
        ({"param_grid": None}, 3, 15),
        ({"param_grid": {"max_depth": [1, 2]}, "n_trials": 2, "threshold": "tune"}, 4, 15),
        ({"cv": 3}, 1, 3),
    ],
    ids=str,
)
def test_what_is_asked_for_is_searched_whatever_it_costs(options, n_trials, n_splits):
    search = CostSearch(DecisionTreeClassifier(max_depth=2, random_state=0), **options).fit(X, Y)
    assert (search.n_trials_, search.n_splits_) == (n_trials, n_splits)


def boosters():
    return [
        GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0),
        make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0)),
    ]


@pytest.mark.parametrize("base", boosters(), ids=["alone", "in a pipeline"])
def test_boosters_are_trained_once_a_fold_for_all_numbers_of_rounds(base, monkeypatch):
    fitted, fit = [], GradientBoostingClassifier.fit

    @wraps(fit)
    def counting(self, *args, **more):
        fitted.append(self.n_estimators)
        return fit(self, *args, **more)

    monkeypatch.setattr(GradientBoostingClassifier, "fit", counting)
    search = CostSearch(base).fit(X, Y)
    (name,) = search.best_params_
    assert [search.cv_results_[f"param_{name}"][at] for at in range(3)] == [20, 10, 5]
    assert {trial.costs for trial in search.trials_} == {(1.0, 1.0)}
    assert (search.n_trials_, search.n_splits_) == (3, 8)
    assert fitted == [20] * 8 + [search.best_params_[name]]
    assert "its only ratio is that of equal costs; strategy=Ladder(3) tries others" in search.stop_reason_
    assert not search.cv_results_["dropped"].any()


@pytest.mark.parametrize(
    ("options", "n_trials", "n_splits"),
    [
        ({"strategy": Ladder(2), "threshold": "tune"}, 6, 8),
        ({"param_grid": None}, 3, 15),
        ({"engine": "generic", "param_grid": None, "cv": 2}, 3, 2),
    ],
    ids=str,
)
def test_costs_of_boosters_are_searched_where_they_are_asked_for(options, n_trials, n_splits):
    search = CostSearch(GradientBoostingClassifier(n_estimators=3, max_depth=1), **options).fit(X, Y)
    assert (search.n_trials_, search.n_splits_) == (n_trials, n_splits)


def test_arguments_of_fit_may_stop_boosters_so_that_all_of_their_rounds_are_taken():
    base = GradientBoostingClassifier(n_estimators=3, max_depth=1)
    search = CostSearch(base, cv=2).fit(X, Y, monitor=lambda *told: False)
    assert search.best_params_ == {}


def test_the_time_limit_ends_the_search_with_what_there_is():
    start = time.monotonic()
    search = CostSearch(Slow(), strategy=Ladder(3), time_limit=0.6).fit(X, Y)
    assert time.monotonic() - start < 5.0
    assert search.stop_reason_ == "the time limit of 0.6 s leaves no time for another trial and the refit"
    assert search.n_trials_ == 1
    assert search.trials_[0].costs == (1.0, 1.0)
    assert search.predict(X).shape == (240,)


def test_the_first_trial_is_finished_however_little_time_there_is():
    search = CostSearch(Slow(), time_limit=1e-3).fit(X, Y)
    assert search.n_trials_ == 1
    # Equal costs are no weights: what some bases train much faster.
    assert not search.best_estimator_.weighted_


@pytest.mark.parametrize("limit", [0, -1.0, np.nan, "5 s", True])
def test_a_limit_that_is_no_time_is_refused(limit):
    with pytest.raises((ValueError, TypeError), match="time_limit"):
        CostSearch(LinearSVC(), time_limit=limit).fit(X, Y)


def test_an_unknown_word_for_the_grid_is_refused():
    with pytest.raises(
        ValueError, match=r"param_grid must be one of \('auto', 'wide'\), got 'Auto'. Did you mean 'auto'"
    ):
        CostSearch(LinearSVC(), param_grid="Auto").fit(X, Y)


# ---------------------------------------------------------------- arguments that are no numbers are checked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("callbacks", print),
        ("callbacks", "text"),
        ("callbacks", [1]),
        ("checkpoint", 1),
        ("checkpoint", 2.5),
        ("checkpoint", ""),
    ],
)
def test_callbacks_and_checkpoint_are_checked(name, value):
    search = CostSearch(LinearSVC(), **{name: value})
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        search.fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize("name", options_of(SearchConfig))
def test_options_are_declared_once(name):
    """The command line, Dask and Spark have the default, the check and the words that are declared beside each one."""
    known, default = options_of(SearchConfig)[name], getattr(SearchConfig, name)
    check_options(SearchConfig(LinearSVC()))
    assert signature(CostSearch).parameters[name].default is default
    assert bool(known.in_memory) or name in {"cv", "calibration", "engine"} or hasattr(SharedOptions, name)
    if known.check is not None:
        with pytest.raises((TypeError, ValueError), match=r"^it(=| must be)"):
            known.check(object(), "it")
    search = make_parser()._subparsers._group_actions[0].choices["search"]
    for action in search._actions:
        if action.dest == name and name != "verbose":
            assert action.help.startswith(known.words)
            assert action.default == default


@pytest.mark.parametrize("grid", [0, [1.0], {"C": 1.0}, [], ()])
def test_the_grid_of_parameters_is_named(grid):
    with pytest.raises((TypeError, ValueError), match=r"param_grid=.* cannot be used: (Parameter|it holds no setting)"):
        CostSearch(LinearSVC(), param_grid=grid).fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize(("metric", "answer"), [("recall", "positive"), ("specificity", "negative")])
def test_a_search_that_has_nothing_to_find_says_so(metric, answer):
    X, y = [[0.0], [1.0], [2.0]] * 10, [0, 0, 1] * 10
    search = CostSearch(LinearSVC(), metric, param_grid=None, n_trials=2, cv=2)
    message = f"{metric} is largest when every sample is predicted {answer}.* such as constraint='"
    with pytest.warns(UserWarning, match=message):
        search.fit(X, y)
    fitted = LinearSVC().fit(X, y)
    with pytest.warns(UserWarning, match=message):
        CostSearch(fitted, metric, cv="prefit").fit(X, y)
    search.set_params(constraint=f"{'precision' if metric == 'recall' else 'recall'} >= 0.8").fit(X, y)


# ---------------------------------------------------------------- settings of boosters


BOOSTER = HistGradientBoostingClassifier(max_iter=4, random_state=0)


@pytest.mark.parametrize(
    ("metric", "y", "n_settings"),
    [("f1", Y, 12), ("f1_macro", np.arange(Y.size) % 3, 4), ("f1_macro", np.column_stack([Y, 1 - Y]), 12)],
    ids=["two classes", "several classes", "several labels"],
)
def test_wide_searches_settings_of_boosters_with_any_metric(metric, y, n_settings):
    search = CostSearch(BOOSTER, metric, param_grid="wide", cv=2, n_trials=1).fit(X, y)
    for one in getattr(search, "searches_", [search]):
        assert len(one.result_.settings) == n_settings
        assert one.best_params_ in one.result_.settings
        assert one.n_trials_ in (n_settings, n_settings - 3)


@pytest.mark.parametrize("base", [LinearSVC(), GradientBoostingClassifier(), RandomForestClassifier()], ids=str)
def test_wide_is_auto_for_other_bases(base):
    wide, auto = (settings_of(grid, base, n_samples=100) for grid in ("wide", "auto"))
    assert wide == auto


def test_wide_says_where_it_knows_nothing():
    search = CostSearch(RandomForestClassifier(2, random_state=0), param_grid="wide", cv=2).fit(X, Y)
    assert "param_grid='wide' knows no parameter of RandomForestClassifier to search" in search.stop_reason_


def test_settings_are_numbered_by_what_differs_besides_rounds():
    settings = [{"a__n_estimators": 4}, {"a__n_estimators": 2}, {"a__max_depth": 1, "a__n_estimators": 4}, {"C": 1.0}]
    assert variant_numbers(settings) == [0, 0, 1, 2]


def test_the_largest_trees_wait_for_the_others():
    before = [step.before for step in steps_of("wide", settings_of("wide", BOOSTER, n_samples=100), BY_ROUNDS)]
    assert before == [None] * 9 + [0] * 3
    # Of two variants none waits.
    few = clone(BOOSTER).set_params(max_leaf_nodes=9, learning_rate=0.2, l2_regularization=1.0, min_samples_leaf=9)
    settings = settings_of("wide", few, n_samples=100)
    assert len(settings) == 6
    assert {step.before for step in steps_of("wide", settings, BY_ROUNDS)} == {None}


def test_settings_that_belong_together_are_at_no_edge():
    search = CostSearch(BOOSTER, param_grid="wide", cv=2, n_trials=1).fit(X, Y)
    search.best_params_ = {"max_leaf_nodes": 4, "learning_rate": 0.05, "max_iter": 4}
    assert "CSF002" not in [each.code for each in findings(search)]
