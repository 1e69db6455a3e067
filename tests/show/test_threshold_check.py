"""The check for reports of skore, which is not imported."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from csf.report import ThresholdCheck

X, Y = make_classification(2000, 8, weights=[0.93], class_sep=0.6, flip_y=0.03, random_state=0)


def report(X=X, Y=Y, **known):
    """What the check reads of a report."""
    model = LogisticRegression().fit(X[:1000], Y[:1000])
    about = {"ml_task": "binary-classification", "pos_label": None, "X_test": X[1000:], "y_test": Y[1000:]}
    return SimpleNamespace(estimator_=model, **(about | known))


def test_it_says_what_a_threshold_of_a_half_costs():
    one = report()
    said = ThresholdCheck().check_function(one)
    assert "The estimator's own threshold costs" in said
    assert f"its predictions have {f1_score(Y[1000:], one.estimator_.predict(X[1000:])):.3f}" in said
    assert ThresholdCheck(least=0.9).check_function(one) is None
    assert ThresholdCheck("accuracy").check_function(one) is None


def test_folds_are_taken_together():
    one = report()
    half = [report(X_test=X[1000 + start :: 2], y_test=Y[1000 + start :: 2]) for start in (0, 1)]
    both = SimpleNamespace(ml_task=one.ml_task, pos_label=None, reports_=half)
    value = f"{f1_score(Y[1000:], one.estimator_.predict(X[1000:])):.3f}"
    assert value in ThresholdCheck().check_function(both)


def test_names_of_classes():
    names = np.where(Y, "bad", "good")
    said = ThresholdCheck(pos_label="bad").check_function(report(Y=names))
    assert said.split(" costs")[1] == ThresholdCheck().check_function(report()).split(" costs")[1]
    assert ThresholdCheck().check_function(report(Y=names, pos_label="bad")) == said


def test_it_is_a_check_of_skore():
    with matplotlib.rc_context():  # skore switches to interactive figures
        skore = pytest.importorskip("skore")
        made = skore.evaluate(LogisticRegression(), X, Y, splitter=3)
        made.checks.add([ThresholdCheck(), ThresholdCheck("accuracy")])
        found = made.checks.summarize().frame().set_index("code")
    assert found.loc["CSF101-F1", "section"] == "tip"
    assert "costs" in found.loc["CSF101-F1", "explanation"]
    assert found.loc["CSF101-ACCURACY", "section"] == "passed"
    with matplotlib.rc_context():
        three = skore.evaluate(LogisticRegression(), X, np.arange(len(X)) % 3, splitter=0.3)
        three.checks.add([ThresholdCheck()])
        assert three.checks.summarize().frame().set_index("code").loc["CSF101-F1", "section"] == "not_applicable"
