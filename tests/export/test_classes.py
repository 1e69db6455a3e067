"""A table of slopes and offsets predicts what a search of several classes does."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.export import class_rule, fixed_threshold, linear_rule, to_onnx
from csf.metrics import CostMatrix
from csf.thresholding.linear_rule import LinearRule

NAMES = np.array(["ash", "elm", "oak"])


def searched(base, metric="gmean", **options):
    X, y = make_classification(
        300, 5, n_informative=3, n_redundant=0, n_classes=3, weights=[0.7, 0.2], flip_y=0.2, random_state=0
    )
    return CostSearch(base, metric, **{"n_trials": 1, "param_grid": None, "cv": 3} | options).fit(X, NAMES[y])


def new_rows():
    return 2 * np.random.default_rng(1).normal(size=(5000, 5))


@pytest.mark.parametrize(
    ("base", "options", "kind"),
    [
        (LogisticRegression(), {}, "affine"),
        (LinearSVC(), {}, "affine"),
        (LogisticRegression(), {"metric": CostMatrix([[0, 1, 1], [9, 0, 1], [20, 1, 0]])}, "affine"),
        (LogisticRegression(), {"threshold": None, "metric": "balanced_accuracy"}, "argmax"),
        (LinearSVC(), {"threshold": None}, "argmax"),
    ],
)
def test_table_and_estimator_predict_what_the_search_does(base, options, kind):
    search, X = searched(base, **options), new_rows()
    rule = class_rule(search)
    assert search.rule_.kind == kind
    scores = getattr(search.best_estimator_, rule.reads)(X)
    expected = search.predict(X)
    assert set(expected) == set(NAMES)
    np.testing.assert_array_equal(rule.predict(scores), expected)
    if kind == "argmax":  # the estimator alone
        np.testing.assert_array_equal(NAMES[search.best_estimator_.predict(X)], expected)


def test_weights_of_training_are_taken_out():
    """As a winner that was trained with them: the same model, a rule of its unweighted probabilities."""
    search = searched(LogisticRegression())
    rule = search._rule
    weights = np.array([0.5, 2.0, 3.0])
    slopes, offsets = np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.1, 0.2])
    object.__setattr__(rule, "class_weights", weights)
    object.__setattr__(rule, "rule", LinearRule(slopes, offsets))
    object.__setattr__(rule, "own", False)
    table, proba = class_rule(search), search.best_estimator_.predict_proba(new_rows())
    np.testing.assert_array_equal(table.predict(proba), search.predict(new_rows()))
    plain = proba / weights
    plain /= plain.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(table.predict(proba), NAMES[(plain * slopes - offsets).argmax(axis=1)])
    assert (table.predict(proba) != NAMES[(proba * slopes - offsets).argmax(axis=1)]).any()


CODE = """
import json, pickle, numpy as np
rule, model, X = json.load(open("rule.json")), pickle.load(open("model.pkl", "rb")), np.load("X.npy")
s = getattr(model, rule["reads"])(X)
if rule["calibration"] is not None:
    slope, intercept = np.array(rule["calibration"]).T
    s = 1 / (1 + np.exp(-(slope * s + intercept)))
    s = s / s.sum(axis=1, keepdims=True)
if rule["class_weights"] is not None:
    s = s / np.array(rule["class_weights"])
    s = s / s.sum(axis=1, keepdims=True)
if rule["matrix"] is not None:
    s = s @ np.array(rule["matrix"])
else:
    s = np.array(rule["slopes"]) * s - np.array(rule["offsets"])
print(" ".join(np.array(rule["classes"])[s.argmax(axis=1)]))
"""


def test_the_file_predicts_where_csf_is_not_installed(tmp_path, without_csf):
    search, X = searched(LinearSVC()), new_rows()
    class_rule(search).save(tmp_path / "rule.json")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(search.best_estimator_))
    np.save(tmp_path / "X.npy", X)
    assert without_csf(CODE, tmp_path).split() == search.predict(X).tolist()
    record = json.loads((tmp_path / "rule.json").read_text(encoding="utf-8"))
    assert record["classes"] == NAMES.tolist()
    assert "largest of slopes * s - offsets" in record["rule"]


@pytest.mark.parametrize("export", [fixed_threshold, linear_rule, to_onnx])
def test_cuts_are_of_two_classes(export):
    with pytest.raises(ValueError, match=r"knows 3 classes; .* csf\.export\.class_rule\(search\)"):
        export(searched(LogisticRegression()))


def test_two_classes_have_no_table():
    X, y = make_classification(100, random_state=0)
    search = CostSearch(LogisticRegression(), param_grid=None, cv=3).fit(X, y)
    with pytest.raises(ValueError, match="fixed_threshold and linear_rule"):
        class_rule(search)
    with pytest.raises(ValueError, match="refit=False"):
        class_rule(searched(LogisticRegression(), refit=False))
