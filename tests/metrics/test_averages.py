"""Averages of ratios over classes; those over labels are tested in `tests/search/problems/test_multilabel.py`."""

from functools import partial

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch, metric_interval
from csf.metrics import (
    Averaged,
    FBeta,
    GMean,
    Incomplete,
    Jaccard,
    NegativePredictiveValue,
    Precision,
    Recall,
    Specificity,
    WeightedAccuracy,
    get_confusion_metric,
    get_metric,
)
from csf.metrics.registry import get_label_metric

RATIOS = {
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "jaccard": sk.jaccard_score,
    "f0.3": partial(sk.fbeta_score, beta=0.3),
}


def shares_of(y, z, n_classes, weight):
    counts = sk.confusion_matrix(y, z, labels=range(n_classes), sample_weight=weight)
    return counts / counts.sum()


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", RATIOS)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 5), n=st.integers(2, 30))
@settings(max_examples=15)
def test_averages_of_ratios_are_those_of_scikit_learn(name, average, seed, n_classes, n):
    """Classes may be never true, never predicted, or neither."""
    rng = np.random.default_rng(seed)
    y, z, weight = rng.integers(n_classes, size=n), rng.integers(n_classes, size=n), rng.uniform(0.1, 3.0, n)
    options = {"labels": range(n_classes), "average": average, "sample_weight": weight, "zero_division": 0}
    expected = RATIOS[name](y, z, **options)
    metric = get_confusion_metric(f"{name}_{average}")
    assert metric.value(shares_of(y, z, n_classes, weight)) == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 10**6), average=st.sampled_from(["macro", "micro", "weighted"]))
@settings(max_examples=15)
def test_true_negatives_count_where_a_ratio_has_them(seed, average):
    rng = np.random.default_rng(seed)
    confusion = rng.dirichlet(np.ones(16)).reshape(4, 4)
    true, predicted, right = confusion.sum(axis=1), confusion.sum(axis=0), np.diag(confusion)
    negatives, found = 1.0 - true, 1.0 - true - predicted + right
    expected = {
        "macro": (found / negatives).mean(),
        "micro": found.sum() / negatives.sum(),
        "weighted": true @ (found / negatives),
    }
    assert Averaged(Specificity(), average).value(confusion) == pytest.approx(expected[average])


@pytest.mark.parametrize("metric", [Jaccard(), Precision(), Recall(), Specificity(), FBeta(2.0)], ids=lambda m: m.name)
@pytest.mark.parametrize(("average", "null"), [("macro", None), ("weighted", None), ("micro", None), ("micro", 1)])
def test_gradients_are_slopes_of_values(metric, average, null):
    confusion = np.random.default_rng(0).dirichlet(np.ones(9)).reshape(3, 3)
    metric, step = Averaged(metric, average, null), 1e-6
    gradient = metric.gradient(confusion)
    for true, of, into in np.ndindex(3, 3, 3):
        move = np.zeros((3, 3))
        move[true, of] += step
        move[true, into] -= step
        slope = (metric.value(confusion + move) - metric.value(confusion - move)) / (2 * step)
        assert gradient[true, of] - gradient[true, into] == pytest.approx(slope, abs=1e-5)


def test_the_micro_average_of_two_classes_is_a_ratio_of_right_answers():
    terms = Averaged(Jaccard(), "micro").of_two.terms()
    assert terms == {"tp": (1.0, 1.0), "fn": (0.0, 2.0), "fp": (0.0, 2.0), "tn": (1.0, 1.0)}
    assert Averaged(Jaccard(), "micro", null=0).terms() is Averaged(Jaccard()).terms() is None
    # The number of true negatives of a row is that of the other classes.
    assert Averaged(Specificity(), "micro").terms() is None


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("metric", [Jaccard(), Specificity(), NegativePredictiveValue(), WeightedAccuracy(2.0, 1.0)])
def test_intervals_hold_the_value(metric, average):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    predicted = np.where(rng.random(400) < 0.5, y, rng.integers(0, 3, 400))
    value = Averaged(metric, average).value(shares_of(y, predicted, 3, None))
    low, high = metric_interval(y, predicted, Averaged(metric, average))
    assert low < value < high


def test_a_search_finds_the_best_mean_of_another_ratio():
    X, y = make_classification(1500, 8, n_informative=5, n_classes=3, weights=[0.8, 0.15], random_state=0)
    options = {"param_grid": None, "cv": 3, "n_trials": 1, "random_state": 0}
    by_name, by_object = (
        CostSearch(LogisticRegression(), metric, **options).fit(X, y)
        for metric in ("jaccard_macro", Averaged(Jaccard()))
    )
    plain = LogisticRegression().fit(X, y)
    scores = [sk.jaccard_score(y, model.predict(X), average="macro") for model in (by_name, plain)]
    assert scores[0] > scores[1]
    assert by_name.score(X, y) == pytest.approx(scores[0])
    np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Averaged("f1"), TypeError, r"csf\.metrics\.Metric of two classes, got 'f1'; .*get_metric makes one"),
        (lambda: Averaged(GMean(), "samples"), ValueError, "the mean over samples is that of F-beta"),
        (lambda: get_metric(Averaged(FBeta(), "samples")), ValueError, "for one label a sample write 'f1_macro'"),
        (lambda: get_metric(Averaged(GMean())), ValueError, "'gmean_macro' is for several labels .*'f1_macro'"),
        (lambda: get_confusion_metric(Averaged(GMean())), ValueError, "'gmean_macro' is for several labels"),
        (lambda: Averaged(Incomplete("f1", labelled=0.5)).value(np.eye(3) / 3), ValueError, "for several labels"),
        (lambda: get_label_metric(Averaged(FBeta(), "micro", 0)), ValueError, "null=0 is a class, and y has several"),
    ],
)
def test_averages_without_a_meaning_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()
