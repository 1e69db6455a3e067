"""What a new user tries first and csf refuses: each error names what was given and the way out."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss, make_scorer, roc_auc_score, zero_one_loss

import csf
from csf import CostSearch

X, Y = make_classification(300, 5, weights=[0.8], random_state=0)
MODEL = LogisticRegression().fit(X, Y)
SCORE, PRED, PROBA = MODEL.decision_function(X), MODEL.predict(X), MODEL.predict_proba(X)
NAMES = np.where(Y, "bad", "good")


def search(metric, **options):
    return CostSearch(LogisticRegression(), metric, **options).fit(X, Y)


def unweighted(y_true, y_pred):
    return f1_score(y_true, y_pred)


def total(y_true, y_pred, sample_weight=None):
    return float(((y_true == y_pred) * sample_weight).sum())


REFUSED = {
    "a function without weights": (lambda: search(unweighted), "Add sample_weight=None and hand it on"),
    "a sum over rows": (lambda: search(total), "Divide it by sample_weight.sum()"),
    "the area under the curve": (lambda: search(roc_auc_score), "judge bases by it"),
    "a scorer of probabilities": (
        lambda: search(make_scorer(log_loss, response_method="predict_proba")),
        "judge bases by it",
    ),
    "a loss": (lambda: search(zero_one_loss), "greater_is_better=False"),
    "a scorer of estimators": (lambda: search(lambda estimator, X, y: 0.0), "sample_weight=None"),
    "a scorer with a label": (lambda: search(make_scorer(f1_score, pos_label="no")), "is not a label of y"),
    "a scorer without an average": (lambda: search(make_scorer(f1_score, average=None)), "give it an average"),
    "a name of an average": (lambda: search("mcc_weighted"), "such as 'f1_macro', 'jaccard_weighted' and"),
    "labels for scores": (lambda: csf.tune_threshold(Y, PRED), "give scores or probabilities"),
    "probabilities of two classes": (lambda: csf.tune_threshold(Y, PROBA), "such as score[:, 1]"),
    "a constant score": (lambda: csf.tune_threshold(Y, np.zeros(300)), "no threshold separates any"),
    "a score with gaps": (lambda: csf.tune_threshold(Y, np.where(Y, np.nan, 0.0)), "drop these, or give them a score"),
    "too few scores": (lambda: csf.tune_threshold(Y, SCORE[:9]), "give one score for each label"),
    "scores before labels": (lambda: csf.tune_threshold(SCORE, Y), "use a classification target"),
    "labels in words": (lambda: csf.tune_threshold(NAMES, SCORE), "pos_label='bad'"),
    "one class": (lambda: csf.tune_threshold(np.zeros(300), SCORE), "check the split or the positive label"),
    "one score of three classes": (
        lambda: csf.tune_threshold(np.arange(300) % 3, SCORE, "f1_macro"),
        "a column for each",
    ),
    "a metric of two of three classes": (
        lambda: csf.tune_threshold(np.arange(300) % 3, np.random.default_rng(0).random((300, 3))),
        "write 'f1_macro'",
    ),
    "confidence alone": (lambda: csf.tune_threshold(Y, SCORE, confidence=0.9), "needs a constraint"),
    "scores for predictions": (lambda: csf.metric_interval(Y, SCORE), "csf.tune_threshold(y, score)"),
    "codes for names": (lambda: csf.metric_interval(NAMES, PRED, pos_label="bad"), "Give predicted labels"),
    "a percentage": (lambda: csf.metric_interval(Y, PRED, level=90), "level"),
    "one method too short": (lambda: csf.metric_difference(Y, PRED, PRED[:9]), "one label for each of 300 samples"),
    "groups of another table": (lambda: csf.metric_interval(Y, PRED, groups=np.arange(9)), "one entry for each of 300"),
    "a single group": (lambda: search("f1").fit(X, Y, groups=np.zeros(300)), "at least two groups"),
    "more folds than groups": (lambda: search("f1", cv=5).fit(X, Y, groups=np.arange(300) % 3), "use fewer folds"),
    "a metric that is none": (lambda: csf.metric_difference(Y, PRED, PRED, "f_one"), "known: f1"),
}


def test_there_are_enough_of_them():
    assert len(REFUSED) >= 25


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_names_the_way_out(name):
    call, way_out = REFUSED[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert way_out in str(caught.value)
