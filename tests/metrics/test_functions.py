"""Functions of labels and scorers as metrics: what they become, their values, and those that are refused."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer

from csf import CostSearch, ErrorProfile
from csf._common.identity import fingerprint
from csf.metrics import (
    MCC,
    Averaged,
    BalancedAccuracy,
    CohenKappa,
    ConfusionFunction,
    FBeta,
    Jaccard,
    OfTwoClasses,
    Precision,
    Recall,
    WeightedAccuracy,
    WeightedKappa,
    get_confusion_metric,
    get_metric,
)
from csf.metrics.confusion import MCCOfClasses
from csf.metrics.functions import QuotientOfLabels, RatioOfLabels


def profit(y_true, y_pred, sample_weight=None):
    """A found positive earns 10, a false alarm costs 1."""
    return np.average(10.0 * (y_true & y_pred) - 1.0 * (~y_true & 1) * y_pred, weights=sample_weight)


def tilted_mean(y_true, y_pred, sample_weight=None):
    """Geometric mean of recall and specificity that leans to recall: no ratio."""
    right = [np.average(y_pred[y_true == k] == k, weights=sample_weight[y_true == k]) for k in (0, 1)]
    return right[1] ** 0.7 * right[0] ** 0.3


def worst_recall(y_true, y_pred, sample_weight=None):
    return sk.recall_score(y_true, y_pred, average=None, sample_weight=sample_weight).min()


EIGHT = [
    sk.f1_score,
    sk.jaccard_score,
    sk.precision_score,
    sk.recall_score,
    sk.balanced_accuracy_score,
    sk.matthews_corrcoef,
    sk.cohen_kappa_score,
    sk.accuracy_score,
]
OF_CLASSES = [
    partial(sk.f1_score, average="macro", zero_division=0),
    partial(sk.f1_score, average="weighted", zero_division=0),
    partial(sk.jaccard_score, average="macro", zero_division=0),
    partial(sk.precision_score, average="macro", zero_division=0),
    sk.balanced_accuracy_score,
    sk.matthews_corrcoef,
    sk.cohen_kappa_score,
    sk.accuracy_score,
]


def labels(rng, n_classes):
    """Truth with all classes, decisions that may lack some, and weights."""
    n = int(rng.integers(n_classes + 2, 60))
    truth = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))])
    found = np.where(rng.random(truth.size) < rng.random(), truth, rng.integers(0, n_classes, truth.size))
    found = np.full_like(found, rng.integers(n_classes)) if rng.random() < 0.05 else found
    return truth, found, rng.gamma(1.0, size=truth.size)


@pytest.mark.slow
@pytest.mark.parametrize("function", EIGHT, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:.*ill-defined")
def test_values_of_two_classes_are_the_functions_own(function):
    rng = np.random.default_rng(0)
    metric = get_metric(function)
    for _ in range(3000 // 8):
        truth, found, weight = labels(rng, 2)
        profile = ErrorProfile.from_predictions(truth, found, sample_weight=weight)
        assert metric.of(profile) == pytest.approx(function(truth, found, sample_weight=weight), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("function", OF_CLASSES, ids=range(8))
def test_values_of_several_classes_are_the_functions_own(function):
    rng = np.random.default_rng(0)
    metric = get_confusion_metric(function)
    for _ in range(3000 // 8):
        n_classes = int(rng.integers(3, 6))
        truth, found, weight = labels(rng, n_classes)
        table = sk.confusion_matrix(truth, found, labels=np.arange(n_classes), sample_weight=weight)
        value = float(metric.value(table / table.sum()))
        assert value == pytest.approx(function(truth, found, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize(
    ("function", "metric"),
    [
        (sk.f1_score, FBeta(1.0)),
        (make_scorer(sk.f1_score), FBeta(1.0)),
        (make_scorer(sk.fbeta_score, beta=3.7), FBeta(3.7)),
        (partial(sk.fbeta_score, beta=2.0), FBeta(2.0)),
        (make_scorer(sk.f1_score, average="macro"), OfTwoClasses(Averaged(FBeta()))),
        (make_scorer(sk.jaccard_score), Jaccard()),
        (make_scorer(sk.cohen_kappa_score), CohenKappa()),
        (sk.get_scorer("precision"), Precision()),
        (sk.get_scorer("recall"), Recall()),
        (sk.get_scorer("balanced_accuracy"), BalancedAccuracy()),
        (sk.get_scorer("matthews_corrcoef"), MCC()),
        (sk.accuracy_score, WeightedAccuracy()),
    ],
)
def test_functions_with_the_values_of_a_metric_are_that_metric(function, metric):
    assert get_metric(function) == metric
    assert fingerprint(get_metric(function)) == fingerprint(metric)


def test_functions_of_several_classes_become_known_metrics_too():
    assert get_confusion_metric(make_scorer(sk.fbeta_score, beta=3, average="macro")) == Averaged(FBeta(3.0))
    precision = Averaged(Precision(), "weighted")
    assert get_confusion_metric(sk.get_scorer("precision_weighted")) == precision
    assert get_metric(sk.get_scorer("precision_weighted")) == OfTwoClasses(precision)
    assert get_confusion_metric(make_scorer(sk.cohen_kappa_score, weights="quadratic")) == WeightedKappa()
    assert get_confusion_metric(sk.get_scorer("f1_micro")) == Averaged(FBeta(), average="micro")
    assert get_confusion_metric(sk.matthews_corrcoef) == MCCOfClasses()
    assert isinstance(get_confusion_metric(worst_recall), ConfusionFunction)


def test_means_over_rows_are_ratios_and_others_are_called():
    metric = get_metric(profit)
    assert isinstance(metric, RatioOfLabels)
    assert metric.name == "profit"
    assert metric.value(fn=0.05, fp=0.15, pos=0.25) == pytest.approx(10 * 0.2 - 0.15, abs=1e-12)
    c_fn, c_fp = metric.cost_weights(1.0, pos=0.25)
    assert c_fn / c_fp == pytest.approx(10.0)
    metric.require_falling("a test", pos=0.25)
    assert isinstance(get_metric(tilted_mean), OfTwoClasses)
    assert get_metric(tilted_mean).value(fn=0.05, fp=0.15, pos=0.25) == pytest.approx(0.8**0.7 * 0.8**0.3)


def mean_of_both_precisions(y_true, y_pred, *, sample_weight=None):
    """No name that csf knows."""
    return sk.precision_score(y_true, y_pred, average="macro", sample_weight=sample_weight, zero_division=0)


@pytest.mark.parametrize("function", [mean_of_both_precisions, partial(sk.precision_score, zero_division=1)])
def test_means_of_ratios_are_read_off_a_few_values(function):
    metric, rng = get_metric(function), np.random.default_rng(0)
    assert isinstance(metric, QuotientOfLabels)
    for n, n_pos in ((40, 3), (1000, 200), (5000, 60)):
        tp, fp = rng.integers(0, n_pos + 1, 8), rng.integers(0, n - n_pos + 1, 8)
        tp[:2], fp[:2] = [0, n_pos], [0, n - n_pos]
        value = metric.value((n_pos - tp) / n, fp / n, pos=n_pos / n)
        truth = np.arange(n) < n_pos
        for each, hits, wrong in zip(value, tp, fp):
            found = (np.arange(n) < hits) | ((np.arange(n) >= n_pos) & (np.arange(n) < n_pos + wrong))
            assert each == pytest.approx(function(truth, found), abs=1e-10)


def test_losses_of_scorers_count_with_their_sign():
    metric = get_metric(make_scorer(sk.zero_one_loss, greater_is_better=False))
    assert metric.value(fn=0.05, fp=0.15, pos=0.25) == pytest.approx(-0.2, abs=1e-12)
    assert metric.range(0.25) == (-1.0, 0.0)


def test_a_convention_for_nobody_predicted_is_kept():
    metric = get_metric(make_scorer(sk.precision_score, zero_division=1))
    assert metric.value(fn=0.25, fp=0.0, pos=0.25) == 1.0
    assert get_metric(sk.precision_score).value(fn=0.25, fp=0.0, pos=0.25) == 0.0


@pytest.fixture(scope="module")
def two():
    return make_classification(150, 6, weights=[0.7], random_state=0)


def test_a_search_for_a_function_is_the_search_for_its_name(two):
    X, y = two
    named = np.where(y, "yes", "no")
    by_name, by_function = (
        CostSearch(LogisticRegression(), metric, pos_label="yes", random_state=0).fit(X, named)
        for metric in ("f1", make_scorer(sk.f1_score))
    )
    assert by_function.best_threshold_ == by_name.best_threshold_
    assert by_function.corrected_score_ == by_name.corrected_score_
    assert pickle.loads(pickle.dumps(by_function)).predict(X).tolist() == by_name.predict(X).tolist()


@pytest.mark.parametrize(
    "metric", [profit, tilted_mean, pytest.param(make_scorer(sk.f1_score, average="weighted"), marks=pytest.mark.slow)]
)
def test_searches_for_ones_own_functions(metric, two):
    X, y = two
    search = CostSearch(LogisticRegression(), metric, n_trials=1, param_grid=None, cv=2, random_state=0).fit(X, y)
    held_out = search.held_out_curve().at(search.best_threshold_)
    assert search.best_score_ == pytest.approx(get_metric(metric).of(held_out), abs=1e-9)
    assert search.best_score_ >= get_metric(metric).value(0.0, 1 - y.mean(), pos=y.mean())
    loaded = pickle.loads(pickle.dumps(search))
    assert loaded.best_score_ == search.best_score_
    assert loaded.score(X, y) == search.score(X, y)


@pytest.mark.slow  # a function that is no ratio is called again and again
@pytest.mark.simulation
def test_a_search_of_several_classes_for_a_function():
    X, y = make_classification(300, 8, n_informative=5, n_classes=3, weights=[0.7, 0.2], random_state=0)
    options = {"n_trials": 1, "param_grid": None, "cv": 3, "random_state": 0}
    known = CostSearch(LogisticRegression(), make_scorer(sk.f1_score, average="macro"), **options).fit(X, y)
    assert known.best_score_ == CostSearch(LogisticRegression(), "f1_macro", **options).fit(X, y).best_score_
    own = CostSearch(LogisticRegression(), worst_recall, **options).fit(X, y)
    assert own.best_score_ == pytest.approx((np.diag(own.confusion_) / own.confusion_.sum(axis=1)).min())


def test_another_function_is_another_checkpoint(two, tmp_path):
    X, y = two
    options = {"n_trials": 1, "param_grid": None, "cv": 3, "checkpoint": tmp_path / "search"}
    CostSearch(LogisticRegression(), profit, **options).fit(X, y)
    CostSearch(LogisticRegression(), profit, **options).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint"):
        CostSearch(LogisticRegression(), tilted_mean, **options).fit(X, y)


def no_weights(y_true, y_pred):
    return 0.0


def ignored_weights(y_true, y_pred, sample_weight=None):
    return sk.f1_score(y_true, y_pred)


@pytest.mark.parametrize("function", EIGHT, ids=lambda f: f.__name__)
def test_no_metric_hides_that_its_weights_are_left_out(function):
    with pytest.raises(ValueError, match="It ignores the weights"):
        get_metric(lambda y_true, y_pred, sample_weight=None: function(y_true, y_pred))


def total(y_true, y_pred, sample_weight=None):
    return float((sample_weight * (y_true == y_pred)).sum())


def by_order(y_true, y_pred, sample_weight=None):
    right = (y_true == y_pred) * sample_weight
    return float((right * np.linspace(0.0, 1.0, right.size)).sum() / sample_weight.sum())


def recall_with_a_bonus(y_true, y_pred, sample_weight=None):
    """More false alarms make it larger."""
    return sk.recall_score(y_true, y_pred, sample_weight=sample_weight) + 0.1 * np.average(
        y_pred, weights=sample_weight
    )


def by_name(y_true, y_pred, sample_weight=None):
    return sk.f1_score(y_true, y_pred, pos_label="yes", sample_weight=sample_weight)


class Unhashable:
    __hash__ = None

    def __call__(self, y_true, y_pred, sample_weight=None):
        return sk.f1_score(y_true, y_pred, sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        (no_weights, r"no_weights\(y_true, y_pred\) cannot be called .* Add sample_weight=None"),
        (lambda estimator, X, y: 0.0, "cannot be called as"),
        (ignored_weights, "It ignores the weights"),
        (by_order, "depends on more than the confusion matrix"),
        (total, "it is a total. Divide it by"),
        (recall_with_a_bonus, "increases when there are more errors"),
        (by_name, "on the codes 0 and 1, 1 for the positive class"),
        (sk.zero_one_loss, "greater_is_better=False"),
        (sk.roc_auc_score, "judges the order of the scores"),
        (make_scorer(sk.roc_auc_score, response_method="predict_proba"), "judges the order of the scores"),
        (sk.log_loss, "judges probabilities"),
        (sk.hinge_loss, "it takes 'pred_decision'"),
        (make_scorer(sk.f1_score, response_method="predict_proba"), "judges predict_proba"),
        (make_scorer(sk.f1_score, pos_label="yes"), "leave pos_label out, and give it to the search"),
        (make_scorer(sk.f1_score, average="micro", labels=[1]), "leave labels out"),
        (make_scorer(sk.f1_score, average=None), "one finite number"),
        (sk.confusion_matrix, "one finite number"),
        (sk.class_likelihood_ratios, "fails where csf calls it"),
        (sk.fowlkes_mallows_score, "cannot be called as"),
    ],
)
def test_refused_with_the_way_out(metric, what):
    with pytest.raises(ValueError, match=what):
        get_metric(metric)


def test_losses_of_several_classes_are_refused():
    with pytest.raises(ValueError, match="greater_is_better=False"):
        get_confusion_metric(sk.zero_one_loss)
    with pytest.raises(ValueError, match="average setting"):
        get_confusion_metric(sk.f1_score)


def test_what_cannot_be_remembered_is_read_again():
    assert get_metric(Unhashable()) == FBeta(1.0)


def test_a_metric_without_a_value_where_there_are_no_errors():
    def positive_likelihood_ratio(y_true, y_pred, sample_weight=None):
        return sk.class_likelihood_ratios(y_true, y_pred, sample_weight=sample_weight)[0]

    with pytest.raises(ValueError, match=r"is nan without errors, .*'informedness' or another metric that is defined"):
        get_metric(positive_likelihood_ratio)
