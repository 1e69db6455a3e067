"""The positive class of texts, where a metric treats both classes alike or a scorer names one."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, fbeta_score, make_scorer, matthews_corrcoef

import csf
from csf import CostSearch
from csf.metrics import METRICS, Review
from csf.metrics.registry import CONFUSION_METRICS, positive_class
from csf.plugin import PlugInClassifier

X, CODES = make_classification(300, weights=[0.7], random_state=0)
Y = np.array(["healthy", "cancer"])[CODES]
QUICK = {"param_grid": None, "n_trials": 1, "cv": 3}
OF_CANCER = make_scorer(fbeta_score, beta=2, pos_label="cancer")
ALIKE = {"accuracy", "balanced_accuracy", "cohen_kappa", "gmean", "hmean", "informedness", "mcc", "min_rate", "qmean"}


def test_the_metrics_that_treat_classes_alike():
    alike = {name for name in METRICS if positive_class(name, Y, None) is not None}
    assert ALIKE & set(METRICS) <= alike
    assert not alike & {"f1", "f2", "jaccard", "recall", "precision", "specificity"}
    assert {name for name in CONFUSION_METRICS if positive_class(name, Y, None) is None} == set()


@pytest.mark.parametrize("metric", ["mcc", "f1_macro", make_scorer(matthews_corrcoef)], ids=str)
def test_they_need_no_positive_class(metric):
    search = CostSearch(LogisticRegression(), metric, **QUICK).fit(X, Y)
    named = CostSearch(LogisticRegression(), metric, pos_label="healthy", **QUICK).fit(X, Y)
    assert search.pos_label_ == "healthy"
    np.testing.assert_array_equal(search.predict(X), named.predict(X))
    assert search.score(X, Y) == named.score(X, Y)
    predicted = PlugInClassifier(LogisticRegression(), metric="mcc", cv=3).fit(X, Y).predict(X)
    assert csf.metric_interval(Y, predicted, metric) == csf.metric_interval(Y, predicted, metric, pos_label="healthy")


def test_a_scorer_names_the_class():
    search = CostSearch(LogisticRegression(), OF_CANCER, **QUICK).fit(X, Y)
    named = CostSearch(LogisticRegression(), "f2", pos_label="cancer", **QUICK).fit(X, Y)
    assert search.pos_label_ == "cancer"
    assert search.best_score_ == named.best_score_
    np.testing.assert_array_equal(search.predict(X), named.predict(X))
    assert search.score(X, Y) == pytest.approx(OF_CANCER(search, X, Y))
    interval = csf.metric_interval(Y, search.predict(X), OF_CANCER)
    assert interval == csf.metric_interval(Y, search.predict(X), "f2", pos_label="cancer")
    of_0 = CostSearch(LogisticRegression(), make_scorer(f1_score, pos_label=0), **QUICK).fit(X, CODES)
    assert of_0.pos_label_ == 0
    demanding = CostSearch(LogisticRegression(), OF_CANCER, constraint="precision >= 0.3", **QUICK).fit(X, Y)
    assert demanding.pos_label_ == "cancer"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1"}, "Give pos_label"),
        ({"metric": "mcc", "constraint": "recall >= 0.8"}, "Give pos_label"),
        ({"metric": "mcc", "review": Review(cost=0.1)}, "Give pos_label"),
        ({"metric": OF_CANCER, "pos_label": "healthy"}, "scorer has pos_label='cancer', and pos_label='healthy'"),
        ({"metric": make_scorer(f1_score, pos_label="ill")}, "pos_label='ill' is not a label of y"),
    ],
)
def test_where_the_class_matters_it_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        CostSearch(LogisticRegression(), **options).fit(X, Y)
