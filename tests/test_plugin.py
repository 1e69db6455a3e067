"""PlugInClassifier: the best cut of honest out-of-fold scores, in scikit-learn's manners."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from builders import paper_search
from oracles.threshold_sweep import plug_in_threshold
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GroupKFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf.metrics import METRICS, Constrained, Constraint, Recall, get_constraint, get_metric
from csf.plugin import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn, plain_channel

# Solved so exactly that it does not matter by whom.
LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-10)


@pytest.fixture(scope="module")
def data():
    return make_classification(600, 6, weights=[0.85], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).exponential(size=600)


class Column(ClassifierMixin, BaseEstimator):
    """Scores with the first column, whatever it has learnt; remembers what its fit was given."""

    def fit(self, X, y, sample_weight=None, tag=None):
        self.classes_ = np.unique(y)
        self.given_ = {"n": len(y), "sample_weight": sample_weight, "tag": tag}
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


class OneColumn(ClassifierMixin, BaseEstimator):
    """Scores with one column."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, self.column]


# ---------------------------------------------------------------- the threshold


@pytest.mark.parametrize("base", [LOGISTIC, GaussianNB()])
def test_threshold_is_that_of_the_pseudo_code_on_out_of_fold_scores(data, base):
    X, y = data
    model = PlugInClassifier(base).fit(X, y)
    score = cross_val_predict(base, X, y, cv=5, method="predict_proba")[:, 1]
    threshold, value = plug_in_threshold(y == 1, score)
    assert model.threshold_ == pytest.approx(threshold, abs=1e-7)
    assert model.best_score_ == pytest.approx(float(value), rel=1e-15)


@pytest.mark.parametrize("metric", METRICS)
def test_the_rule_reproduces_the_reported_value(data, metric):
    X, y = data
    model = PlugInClassifier(LinearSVC(dual=False), metric).fit(X, y)
    score = cross_val_predict(LinearSVC(dual=False), X, y, cv=5, method="decision_function")
    predicted = (score >= model.threshold_).astype(int)
    assert get_metric(metric).score(y, predicted) == pytest.approx(model.best_score_, abs=1e-14)
    assert model.best_score_ == model.curve_.value(metric).max()
    assert get_metric(metric).of(model.profile_) == pytest.approx(model.best_score_, abs=1e-14)


def test_final_model_is_fitted_to_everything(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC).fit(X, y)
    np.testing.assert_allclose(model.estimator_.coef_, clone(LOGISTIC).fit(X, y).coef_, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict_proba(X)[:, 1] >= model.threshold_)
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert model.n_features_in_ == 6


def test_better_than_one_half_where_positives_are_rare():
    X, y = make_classification(2000, 6, weights=[0.95], class_sep=0.5, flip_y=0.05, random_state=0)
    plain = cross_val_score(LOGISTIC, X, y, scoring="f1").mean()
    assert cross_val_score(PlugInClassifier(LOGISTIC), X, y).mean() > plain + 0.05


# ---------------------------------------------------------------- folds


def test_spread_of_the_fold_thresholds(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC, cv=StratifiedKFold(4)).fit(X, y)
    score = cross_val_predict(LOGISTIC, X, y, cv=4, method="predict_proba")[:, 1]
    folds = [plug_in_threshold(y[test] == 1, score[test])[0] for _, test in StratifiedKFold(4).split(X, y)]
    np.testing.assert_allclose(model.fold_thresholds_, folds, atol=1e-7)
    assert model.threshold_std_ == pytest.approx(np.std(folds), abs=1e-7)


def test_infinite_fold_thresholds_count_as_the_nearest_score():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    splits = [([0, 1], [2, 3]), ([0, 1], [4, 5])]
    model = PlugInClassifier(Column(), "accuracy", cv=splits).fit(X, [0, 1, 1, 0, 0, 1])
    np.testing.assert_array_equal(model.fold_thresholds_, [np.inf, 5.5])
    assert model.threshold_std_ == np.std([6.0, 5.5])


def test_folds_of_one_class_count_in_the_pool_only(data):
    X, y = data[0][:60], data[1][:60]
    model = PlugInClassifier(LOGISTIC, cv=LeaveOneOut()).fit(X, y)
    assert model.curve_.fn.shape[0] == 61
    assert model.fold_thresholds_.shape == (0,)
    assert np.isnan(model.threshold_std_)


def test_hold_out(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC, cv=0.25, random_state=0).fit(X, y)
    assert model.curve_.fn.shape[0] == 151
    assert np.isnan(model.threshold_std_)
    assert clone(model).fit(X, y).threshold_ == model.threshold_
    assert clone(model).set_params(random_state=1).fit(X, y).threshold_ != model.threshold_
    one, other = (PlugInClassifier(LOGISTIC, cv=0.25).fit(X, y) for _ in range(2))
    assert one.threshold_ == other.threshold_


@pytest.mark.parametrize("cv", [3, 0.25])
def test_groups_are_held_out_and_drawn_together(data, cv):
    X, y = data
    groups = np.arange(600) // 6
    model = PlugInClassifier(Column(), cv=cv).fit(X, y, groups=groups)
    assert model.held_out_.has_groups
    assert model.held_out_.n_samples == np.unique(groups).size if cv == 3 else 25
    assert model.fold_thresholds_.size == (3 if cv == 3 else 1)


def test_prefit(data):
    X, y = data
    fitted = clone(LOGISTIC).fit(X[:300], y[:300])
    model = PlugInClassifier(fitted, cv="prefit").fit(X[300:], y[300:])
    assert model.estimator_ is fitted
    threshold, _ = plug_in_threshold(y[300:] == 1, fitted.predict_proba(X[300:])[:, 1])
    assert model.threshold_ == pytest.approx(threshold, abs=1e-7)
    with pytest.raises(NotFittedError, match="not fitted"):
        PlugInClassifier(LOGISTIC, cv="prefit").fit(X, y)


def test_a_prefit_base_may_know_codes_of_the_labels(data):
    X, names = data[0], np.where(data[1] == 1, "spam", "ham")
    fitted = clone(LOGISTIC).fit(*data)
    model = PlugInClassifier(fitted, cv="prefit", pos_label="spam").fit(X, names)
    coded = PlugInClassifier(fitted, cv="prefit").fit(*data)
    np.testing.assert_array_equal(model.predict(X) == "spam", coded.predict(X) == 1)
    with pytest.raises(ValueError, match="trained on"):
        PlugInClassifier(fitted, cv="prefit", pos_label="ham").fit(X, names)
    with pytest.raises(ValueError, match=r"has learnt the classes \[6, 7\], and y holds \[0, 1\]"):
        PlugInClassifier(clone(LOGISTIC).fit(X, 6 + data[1]), cv="prefit").fit(*data)


def test_models_that_are_fitted_have_narrower_intervals(data):
    """Nothing is trained anew that could be worse than what was judged."""
    X, y = data
    whole = [(np.arange(600), np.arange(600))]
    fitted, trained = PlugInClassifier(clone(LOGISTIC).fit(X, y), cv="prefit"), PlugInClassifier(LOGISTIC, cv=whole)
    widths = [np.ptp(model.fit(X, y).score_interval_) for model in (fitted, trained)]
    assert widths[0] < widths[1]


def test_frozen_base_is_never_refitted(data):
    X, y = data
    fitted = clone(LOGISTIC).fit(X[:300], y[:300])
    model = PlugInClassifier(FrozenEstimator(fitted), cv=5).fit(X[300:], y[300:])
    assert model.threshold_ == PlugInClassifier(fitted, cv="prefit").fit(X[300:], y[300:]).threshold_
    assert model.threshold_std_ > 0
    assert model.estimator_.estimator is fitted


# ---------------------------------------------------------------- weights


def test_weights_reach_the_base_and_the_metric(data, weight):
    X, y = data
    model = PlugInClassifier(Column()).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.estimator_.given_["sample_weight"], weight)
    predicted = (X[:, 0] >= model.threshold_).astype(int)
    value = get_metric("f1").score(y, predicted, sample_weight=weight)
    assert model.best_score_ == pytest.approx(value, abs=1e-14)


def test_weights_count_in_the_metric_where_the_base_has_none(data, weight):
    X, y = data
    base = KNeighborsClassifier(15)
    model = PlugInClassifier(base).fit(X, y, sample_weight=weight)
    score = cross_val_predict(base, X, y, cv=5, method="predict_proba")[:, 1]
    predicted = (score >= model.threshold_).astype(int)
    assert model.best_score_ == pytest.approx(get_metric("f1").score(y, predicted, sample_weight=weight), abs=1e-14)


def test_weights_reach_the_last_step_of_a_pipeline(data, weight):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LOGISTIC)
    model = PlugInClassifier(pipeline).fit(X, y, sample_weight=weight)
    direct = clone(pipeline).fit(X, y, logisticregression__sample_weight=weight)
    np.testing.assert_allclose(model.estimator_[-1].coef_, direct[-1].coef_, rtol=1e-5)


def test_weightless_samples_do_not_exist(data):
    X, y = data
    weight = np.where(np.arange(600) % 5, 1.0, 0.0)
    kept = np.flatnonzero(weight)
    base = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    splits = list(StratifiedKFold(3).split(X, y))
    place = np.cumsum(weight).astype(int) - 1
    fewer = [(place[np.intersect1d(a, kept)], place[np.intersect1d(b, kept)]) for a, b in splits]
    with_zeros = PlugInClassifier(base, cv=splits).fit(X, y, sample_weight=weight)
    without = PlugInClassifier(base, cv=fewer).fit(X[kept], y[kept])
    assert with_zeros.threshold_ == pytest.approx(without.threshold_, abs=1e-8)
    assert with_zeros.best_score_ == pytest.approx(without.best_score_, abs=1e-12)


def test_weights_go_where_a_fit_takes_them():
    def path(base):
        return plain_channel(base).name

    assert path(LogisticRegression()) == "sample_weight"
    assert path(KNeighborsClassifier()) == path(make_pipeline(StandardScaler(), KNeighborsClassifier())) == ""
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    assert path(make_pipeline(StandardScaler(), inner)) == "pipeline__logisticregression__sample_weight"
    assert path(OneVsRestClassifier(LogisticRegression())) == ""
    with sklearn.config_context(enable_metadata_routing=True):
        assert path(LogisticRegression()) == ""


def test_class_weights_of_the_base_are_its_own_affair(data):
    """Without a warning: no costs are searched that they could multiply."""
    X, y = data
    base = LogisticRegression(class_weight="balanced", tol=1e-8)
    model = PlugInClassifier(base).fit(X, y)
    np.testing.assert_allclose(model.estimator_.coef_, clone(base).fit(X, y).coef_, rtol=1e-4)


def test_other_fit_arguments_are_cut_to_the_fold(data):
    X, y = data
    model = PlugInClassifier(Column(), cv=3).fit(X, y, tag="kept whole")
    assert model.estimator_.given_["tag"] == "kept whole"
    seen = []

    class Spy(Column):
        def fit(self, X, y, tag=None):
            seen.append((len(y), len(tag)))
            return super().fit(X, y)

    PlugInClassifier(Spy(), cv=3).fit(X, y, tag=np.arange(600))
    assert seen == [(400, 400)] * 3 + [(600, 600)]


def test_metadata_routing(data, weight):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        asked = PlugInClassifier(Column().set_fit_request(sample_weight=True)).fit(X, y, sample_weight=weight)
        declined = PlugInClassifier(Column().set_fit_request(sample_weight=False)).fit(X, y, sample_weight=weight)
        groups = np.arange(600) % 7
        grouped = PlugInClassifier(Column(), cv=GroupKFold(7)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(asked.estimator_.given_["sample_weight"], weight)
    assert declined.estimator_.given_["sample_weight"] is None
    assert declined.threshold_ == asked.threshold_  # the metric counts weights either way
    assert grouped.fold_thresholds_.shape == (7,)
    router = PlugInClassifier(LOGISTIC).get_metadata_routing()
    assert set(router._route_mappings) == {"base", "splitter"}


# ---------------------------------------------------------------- labels and containers


@pytest.mark.parametrize("pos_label", ["ham", "spam"])
def test_string_labels_with_either_class_positive(data, pos_label):
    X, y = data
    names = np.where(y == 1, "spam", "ham")
    model = PlugInClassifier(LOGISTIC, pos_label=pos_label).fit(X, names)
    labels = (y == (pos_label == "spam")).astype(int)
    score = cross_val_predict(LOGISTIC, X, names, cv=5, method="predict_proba")[:, int(pos_label == "spam")]
    assert model.threshold_ == pytest.approx(plug_in_threshold(labels == 1, score)[0], abs=1e-7)
    predicted = model.predict(X)
    assert set(predicted) == {"ham", "spam"}
    np.testing.assert_array_equal(predicted == pos_label, model.positive_score(X) >= model.threshold_)
    # scikit-learn's convention: the sign speaks of the second class
    np.testing.assert_array_equal(predicted == "spam", model.decision_function(X) > 0)
    proba = model.set_params(calibration=None).predict_proba(X)
    np.testing.assert_array_equal(proba, model.estimator_.predict_proba(X))


@pytest.mark.parametrize("pos_label", [-1, 1])
def test_calibrated_probabilities_of_either_class(data, pos_label):
    X, y = data[0], 2 * data[1] - 1
    model = PlugInClassifier(LinearSVC(dual=False), calibration="sigmoid", pos_label=pos_label).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba[:, 1].mean() == pytest.approx((y == 1).mean(), abs=0.02)
    np.testing.assert_array_equal(model.predict(X) == pos_label, proba[:, int(pos_label == 1)] >= model.threshold_)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)


def test_frames(data):
    X, y = data
    columns = [f"x{i}" for i in range(6)]
    plain = PlugInClassifier(LOGISTIC).fit(X, y)
    frame = PlugInClassifier(LOGISTIC).fit(pd.DataFrame(X, columns=columns), pd.Series(y, index=np.arange(600) + 7))
    other = PlugInClassifier(LOGISTIC).fit(pl.DataFrame(X, schema=columns), pl.Series(y))
    # A frame may hand its columns on in another memory order, and sums then round differently.
    assert frame.threshold_ == pytest.approx(plain.threshold_, rel=1e-12)
    assert other.threshold_ == pytest.approx(plain.threshold_, rel=1e-12)
    assert list(frame.feature_names_in_) == columns


# ---------------------------------------------------------------- scores and probabilities


def test_response_method(data):
    X, y = data
    proba, decision = (
        PlugInClassifier(LOGISTIC, response_method=m).fit(X, y) for m in ("predict_proba", "decision_function")
    )
    assert 0 < proba.threshold_ < 1
    assert decision.threshold_ < 0
    assert proba.best_score_ == decision.best_score_
    assert PlugInClassifier(LOGISTIC).fit(X, y).threshold_ == proba.threshold_


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_calibration_keeps_the_value(data, calibration):
    """Monotone maps keep the order; the steps of isotonic regression end at the corners of the hull."""
    plain = PlugInClassifier(LinearSVC(dual=False)).fit(*data)
    model = PlugInClassifier(LinearSVC(dual=False), calibration=calibration).fit(*data)
    assert model.best_score_ == pytest.approx(plain.best_score_, abs=1e-12)
    assert 0 < model.threshold_ < 1


def test_nothing_or_everything_positive_still_ranks(data):
    X, y = data
    noise = np.random.default_rng(0).standard_normal((600, 1))
    nothing = PlugInClassifier(Column(), "accuracy").fit(noise, y)
    assert nothing.threshold_ == np.inf
    assert set(nothing.predict(noise)) == {0}
    everything = PlugInClassifier(Column(), "recall").fit(X, y)
    assert everything.threshold_ == -np.inf or everything.best_score_ == 1.0
    order = np.argsort(nothing.decision_function(noise))
    np.testing.assert_array_equal(order, np.argsort(noise[:, 0]))


# ---------------------------------------------------------------- constraints


def test_constraint(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC, "recall", constraint="precision >= 0.8").fit(X, y)
    precision = get_metric("precision").of(model.profile_)
    assert model.feasible_
    assert precision >= 0.8
    allowed = model.curve_.value("precision") >= 0.8
    assert model.best_score_ == model.curve_.value("recall")[allowed].max()
    own = PlugInClassifier(LOGISTIC, Constrained(Recall(), get_constraint("precision >= 0.8"))).fit(X, y)
    assert own.threshold_ == model.threshold_


def test_a_constraint_that_cannot_hold(data):
    X = np.random.default_rng(0).standard_normal((600, 1))
    with pytest.warns(UserWarning, match=r"no threshold satisfies precision >= 1"):
        model = PlugInClassifier(Column(), constraint="precision >= 1").fit(
            -np.abs(X) - 9 * (data[1][:, None] == 1), data[1]
        )
    assert not model.feasible_


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"calibration": "beta"}, ValueError, "calibration must be one of"),
        ({"response_method": "predict"}, ValueError, "response_method must be one of"),
        (
            {"cv": [(np.arange(300), np.arange(300, 310))]},
            ValueError,
            "held-out parts of cv hold a weight of 0 in the positive class",
        ),
        ({"base": Perceptron(), "response_method": "predict_proba"}, TypeError, "Perceptron has no predict_proba"),
        ({"pos_label": "yes"}, ValueError, "pos_label='yes'"),
    ],
)
def test_bad_parameters(options, error, match):
    X = np.random.default_rng(0).standard_normal((600, 2))
    y = (np.arange(600) % 50 == 0).astype(int)
    y[300] = 0
    model = PlugInClassifier(**({"base": LOGISTIC} | options))
    with pytest.raises(error, match=match):
        model.fit(X, y)


def test_parameters_are_checked_before_the_base(data):
    with pytest.raises(ValueError, match="response_method must be one of"):
        PlugInClassifier(None, response_method="predict").fit(*data)


def test_two_constraints_are_one_too_many(data):
    metric = Constrained(Recall(), get_constraint("precision >= 0.8"))
    with pytest.raises(ValueError, match="constraint of its own"):
        PlugInClassifier(LOGISTIC, metric, constraint="fpr <= 0.1").fit(*data)


@pytest.mark.parametrize(
    ("y", "sample_weight", "match"),
    [
        (np.arange(600) % 3, None, "multiclass"),
        (np.arange(599) % 2, None, "inconsistent numbers of samples"),
        (np.arange(600) % 2, np.arange(600) % 2.0, "zero for every sample of the classes"),
    ],
)
def test_bad_data(data, y, sample_weight, match):
    with pytest.raises(ValueError, match=match):
        PlugInClassifier(LOGISTIC).fit(data[0], y, sample_weight=sample_weight)


class Nan(Column):
    """Scores that are not numbers."""

    def decision_function(self, X):
        return np.full(len(X), np.nan)


def test_nan_scores_name_the_base(data):
    with pytest.raises(ValueError, match="Nan gave NaN scores for 120 of 120 samples"):
        PlugInClassifier(Nan()).fit(*data)


@pytest.mark.parametrize("base", [[], 0.5, LogisticRegression])
def test_the_base_is_a_classifier(base):
    with pytest.raises(TypeError, match=r"base must be a classifier object with fit, .*got"):
        PlugInClassifier(base, response_method="predict_proba").fit([[0.0], [1.0]] * 10, [0, 1] * 10)


# ---------------------------------------------------------------- parameters of the base

GRID = {"var_smoothing": [1.0, 1e-9, 0.1]}


def each_setting(X, y, **options):
    bases = [GaussianNB(var_smoothing=value) for value in GRID["var_smoothing"]]
    return [PlugInClassifier(base, **options).fit(X, y) for base in bases]


@pytest.mark.parametrize("options", [{"metric": "f1"}, {"metric": "recall", "constraint": "precision >= 0.6"}], ids=str)
@pytest.mark.parametrize("calibration", [None, "isotonic"])
def test_the_best_setting_is_taken_on_the_same_folds(data, options, calibration):
    X, y = data
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=np.random.RandomState(3))
    splits = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=np.random.RandomState(3)).split(X, y))
    options = {"calibration": calibration, **options}
    alone = each_setting(X, y, cv=splits, **options)
    best = max(alone, key=lambda model: model.best_score_)
    model = PlugInClassifier(GaussianNB(), param_grid=GRID, cv=cv, **options).fit(X, y)
    assert model.best_params_ == {"var_smoothing": best.base.var_smoothing}
    assert model.estimator_.var_smoothing == best.base.var_smoothing
    assert (model.threshold_, model.best_score_) == (best.threshold_, best.best_score_)
    np.testing.assert_array_equal(model.decision_function(X), best.decision_function(X))
    assert model.base.var_smoothing == 1e-9


def test_the_corrected_score_knows_of_the_choice_among_settings(data):
    X, y = data
    noise = np.random.default_rng(0).normal(size=(600, 12))
    splits = list(StratifiedKFold(5).split(X, y))
    grid = {"column": list(range(12))}
    chosen = PlugInClassifier(OneColumn(), param_grid=grid, cv=splits).fit(noise, y)
    alone = PlugInClassifier(OneColumn(**chosen.best_params_), cv=splits).fit(noise, y)
    assert chosen.best_score_ == alone.best_score_
    assert len(chosen.held_out_) == 12
    assert chosen.corrected_score_ < alone.corrected_score_


def test_of_equal_settings_the_first_is_taken(data):
    grid = [{"priors": [None], "var_smoothing": [1e-9]}, {"var_smoothing": [1e-9]}]
    assert PlugInClassifier(GaussianNB(), param_grid=grid).fit(*data).best_params_ == {
        "priors": None,
        "var_smoothing": 1e-9,
    }


@pytest.mark.filterwarnings("ignore:no threshold satisfies:UserWarning")
def test_where_no_setting_satisfies_the_constraint_the_nearest_is_taken(data):
    class FewErrors(Constraint):
        def violation(self, fn, fp, *, pos):
            return 0.01 + fn + 0.3 * fp

    class FewRecalled(Recall):
        constraint = FewErrors(Recall(), ">=", 1.0)

    options = {"metric": FewRecalled()}
    alone = each_setting(*data, **options)
    model = PlugInClassifier(GaussianNB(), param_grid=GRID, **options).fit(*data)
    missed = [each.profile_.fn + 0.3 * each.profile_.fp for each in alone]
    assert int(np.argmin(missed)) != int(np.argmax([each.best_score_ for each in alone]))
    assert model.best_params_ == {"var_smoothing": GRID["var_smoothing"][int(np.argmin(missed))]}


def test_settings_may_be_steps_of_pipelines_and_are_not_fitted(data):
    first = LogisticRegression(C=1e-4)
    grid = {"last": [first, GaussianNB()]}
    base = sklearn.pipeline.Pipeline([("scale", StandardScaler()), ("last", LogisticRegression())])
    model = PlugInClassifier(base, param_grid=grid).fit(*data)
    assert set(model.best_params_) == {"last"}
    assert not hasattr(first, "coef_")
    assert not hasattr(grid["last"][1], "classes_")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"param_grid": []}, ValueError, r"param_grid=\[\] cannot be used: it holds no setting; give None"),
        ({"param_grid": {"D": [1]}}, ValueError, "Invalid parameter 'D'"),
        ({"param_grid": 3}, TypeError, "Parameter grid"),
        ({"param_grid": GRID, "cv": "prefit"}, ValueError, "leave out param_grid, or give folds as cv"),
        ({"param_grid": GRID, "cv": [(np.arange(300), np.arange(300, 302))]}, ValueError, "both classes|one class"),
    ],
)
def test_grids_that_cannot_be_used(data, options, error, message):
    X, y = data
    y = np.where(np.arange(y.size) < 300, y, 0)
    with pytest.raises(error, match=message):
        PlugInClassifier(GaussianNB(), **options).fit(X, y)


# ---------------------------------------------------------------- what searches of costs and plug-ins share: names of


X, Y = make_classification(200, weights=[0.8], random_state=0)
SPELLINGS = (("threshold_", "best_threshold_"), ("estimator_", "best_estimator_"))
PLUG_INS = [BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn]


def search(base, **options):
    return paper_search(base, n_trials=2, **options)


@pytest.mark.parametrize("make", [search, *PLUG_INS])
def test_results_have_both_names(make):
    model = make(LogisticRegression(), cv=3)
    assert not any(hasattr(model, name) for names in SPELLINGS for name in names)
    model.fit(X, Y)
    for one, other in SPELLINGS:
        assert getattr(model, one) is getattr(model, other)
    assert not any(hasattr(clone(model), name) for names in SPELLINGS for name in names)


@pytest.mark.parametrize(("make", "names"), [(search, 0), *((plug_in, 1) for plug_in in PLUG_INS)])
def test_the_other_name_is_read_only(make, names):
    model = make(LogisticRegression(), cv=3).fit(X, Y)
    with pytest.raises(AttributeError, match="has no setter"):
        setattr(model, SPELLINGS[0][names], 0.5)


def test_a_search_without_refit_has_no_estimator_under_any_name():
    model = search(LogisticRegression(), refit=False, cv=3).fit(X, Y)
    assert model.threshold_ == model.best_threshold_
    assert not hasattr(model, "estimator_")


@pytest.mark.parametrize("make", [search, PlugInClassifier])
def test_logarithms_come_and_go_with_probabilities(make):
    without, having = make(LinearSVC(), cv=3), make(LogisticRegression(), cv=3).fit(X, Y)
    assert not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_log_proba'"):
        without.predict_log_proba(X)
    np.testing.assert_array_equal(having.predict_log_proba(X), np.log(having.predict_proba(X)))


def test_a_calibration_gives_logarithms():
    assert hasattr(PlugInClassifier(LinearSVC(), calibration="sigmoid"), "predict_log_proba")


@pytest.mark.parametrize("make", [search, PlugInClassifier])
def test_groups_go_to_the_splitter_with_and_without_routing(make):
    groups = np.arange(Y.size) % 5
    plain = make(LOGISTIC, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make(LOGISTIC, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert routed.best_score_ == plain.best_score_
    assert routed.best_threshold_ == pytest.approx(plain.best_threshold_, abs=1e-7)


@pytest.mark.parametrize("plug_in", PLUG_INS)
def test_the_score_is_that_of_the_predictions(plug_in):
    """Drawn predictions are no exception: a mixture of two thresholds scores as what it draws."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    X = (y + rng.normal(size=400))[:, None]
    options = {"random_state": 3} if plug_in is RandomizedFrankWolfePlugIn else {}
    metric = "gmean" if "FrankWolfe" in plug_in.__name__ else "f1"
    model = plug_in(LogisticRegression(), metric, cv=3, **options).fit(X, y)
    predicted = model.predict(X)
    recall, specificity = (np.mean(predicted[y == kind] == kind) for kind in (True, False))
    expected = np.sqrt(recall * specificity) if metric == "gmean" else f1_score(y, predicted)
    assert model.score(X, y) == pytest.approx(expected)
