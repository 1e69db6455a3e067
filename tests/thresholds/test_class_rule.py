"""One object that predicts several classes: a fitted classifier, its probabilities without weights, and the rule."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from csf.thresholding import LinearRule
from csf.thresholds.linear_rule import RuleOfClasses, fit_calibrator, fit_class_calibrator

NAMES = np.array(["ant", "bee", "cat"])
RULE = LinearRule(np.array([1.0, 3.0, 2.0]), np.array([0.1, 0.0, 0.4]))


@pytest.fixture(scope="module")
def data():
    return make_classification(
        300, 5, n_informative=4, n_redundant=0, n_classes=3, weights=[0.6, 0.3], class_sep=0.6, random_state=0
    )


@pytest.fixture(scope="module")
def model(data):
    return LogisticRegression().fit(*data)


def test_the_rule_decides_about_probabilities(data, model):
    X, _ = data
    rule = RuleOfClasses(model, NAMES, model.classes_, RULE)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(rule.predict_proba(X), proba)
    np.testing.assert_array_equal(rule.decision_function(X), proba * RULE.slopes - RULE.offsets)
    np.testing.assert_array_equal(rule.predict(X), NAMES[(proba * RULE.slopes - RULE.offsets).argmax(axis=1)])
    assert (rule.predict(X) != NAMES[model.predict(X)]).any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rule)).predict(X), rule.predict(X))


def test_class_weights_of_the_training_are_taken_out(data, model):
    X, _ = data
    weights = np.array([0.5, 1.0, 4.0])
    rule = RuleOfClasses(model, NAMES, model.classes_, RULE, class_weights=weights)
    odds = model.predict_proba(X) / weights
    np.testing.assert_allclose(rule.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(rule.predict(X), NAMES[RULE.decide(rule.predict_proba(X))])


def test_the_classifiers_own_decision_reads_scores_as_they_are(data, model):
    """Its probabilities are without the weights all the same."""
    X, _ = data
    weights = np.array([0.5, 1.0, 4.0])
    rule = RuleOfClasses(model, NAMES, model.classes_, LinearRule.argmax(3), class_weights=weights, own=True)
    np.testing.assert_array_equal(rule.predict(X), NAMES[model.predict(X)])
    np.testing.assert_array_equal(rule.decision_function(X), model.predict_proba(X))
    assert (rule.predict_proba(X).argmax(axis=1) != model.predict(X)).any()


def test_without_probabilities_its_own_decision_reads_margins(data):
    X, y = data
    model = LinearSVC().fit(X, y)
    rule = RuleOfClasses(model, NAMES, model.classes_, LinearRule.argmax(3), own=True)
    np.testing.assert_array_equal(rule.predict(X), NAMES[model.predict(X)])
    np.testing.assert_array_equal(rule.decision_function(X), model.decision_function(X))
    with pytest.raises(TypeError, match="has no predict_proba"):
        rule.predict_proba(X)


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier without any scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_its_own_decision_needs_no_scores(data):
    X, y = data
    model = Silent().fit(X, np.where(y == 0, 2, 1))  # codes 1 and 2
    rule = RuleOfClasses(model, NAMES, model.classes_, LinearRule.argmax(3), own=True)
    np.testing.assert_array_equal(rule.predict(X), np.where(X[:, 0] > 0, "cat", "bee"))


@pytest.mark.parametrize("as_labels", [True, False])
def test_a_class_that_was_not_learnt_has_probability_0(data, as_labels):
    X, y = data
    keep = y != 1
    model = LogisticRegression().fit(X[keep], NAMES[y[keep]] if as_labels else y[keep])
    rule = RuleOfClasses(model, NAMES, model.classes_, RULE)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(rule.predict_proba(X), np.column_stack([proba[:, 0], 0.0 * proba[:, 0], proba[:, 1]]))


def test_labels_that_look_like_codes_are_labels(data):
    """Classes 0, 2, 3 learnt by their names: column 1 is class 2, not the third one."""
    X, y = data
    classes = np.array([0, 2, 3])
    model = LogisticRegression().fit(X[y < 2], classes[y[y < 2]])
    assert not RuleOfClasses(model, classes, model.classes_, RULE).predict_proba(X)[:, 2].any()


# ---------------------------------------------------------------- decision scores


def test_calibrated_margins_are_a_sigmoid_of_each_class_scaled_to_sum_1(data):
    X, y = data
    weight = np.random.default_rng(0).random(y.size)
    model = LinearSVC().fit(X, y)
    scores = model.decision_function(X)
    calibrator = fit_class_calibrator(scores, y, weight)
    rule = RuleOfClasses(model, NAMES, model.classes_, RULE, calibrator=calibrator)
    columns = [fit_calibrator("sigmoid", scores[:, k], y == k, weight).predict(scores[:, k]) for k in range(3)]
    expected = np.column_stack(columns) / np.sum(columns, axis=0)[:, None]
    np.testing.assert_allclose(rule.predict_proba(X), expected)
    np.testing.assert_array_equal(rule.predict(X), NAMES[RULE.decide(rule.predict_proba(X))])
    assert calibrator.predict(scores).sum(axis=1) == pytest.approx(1.0)


def test_scores_that_no_class_likes_and_infinite_ones(data):
    X, y = data
    scores = np.eye(3)[y] + 0.1 * X[:, :3]
    calibrator = fit_class_calibrator(scores, y, None)
    assert calibrator.predict(np.full((1, 3), -1e9)).tolist() == [[1 / 3] * 3]
    with pytest.raises(ValueError, match="needs finite scores"):
        fit_class_calibrator(np.where(scores > 1.2, np.inf, scores), y, None)
