"""PlugInClassifier for three or more classes: the rule of honest out-of-fold probabilities, or of a prefit model's."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from csf.metrics import ConfusionFunction, get_confusion_metric
from csf.plugin import PlugInClassifier
from csf.thresholding.linear_rule import confusion_of, fit_class_calibrator, tune_rule

MACRO = get_confusion_metric("f1_macro")
NAMES = np.array(["ant", "bee", "cat"])
# Solved so exactly that it does not matter by whom.
LOGISTIC, SVM = LogisticRegression(tol=1e-8, max_iter=1000), LinearSVC(dual=False, tol=1e-10)


@pytest.fixture(scope="module")
def data():
    return make_classification(
        600, 6, n_informative=4, n_classes=3, weights=[0.65, 0.25], class_sep=0.6, flip_y=0.05, random_state=0
    )


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).exponential(size=600)


def same(rule, other):
    np.testing.assert_array_equal(rule.slopes, other.slopes)
    np.testing.assert_array_equal(rule.offsets, other.offsets)


# ---------------------------------------------------------------- what to expect on new data


@pytest.mark.parametrize("base", [LOGISTIC, SVM])
def test_the_corrected_score_is_of_rules_that_were_tuned_on_other_samples(base):
    X, y = make_classification(6000, 6, n_informative=4, n_classes=3, weights=[0.7, 0.2], flip_y=0.1, random_state=0)
    model = PlugInClassifier(base, "f1_macro", random_state=0).fit(X[:500], y[:500])
    low, high = model.score_interval_
    assert low < model.corrected_score_ < model.best_score_
    assert low < model.score(X[500:], y[500:]) < high
    assert np.isnan(model.threshold_interval_).all()
    again = PlugInClassifier(base, "f1_macro", random_state=0).fit(X[:500], y[:500])
    assert again.corrected_score_ == model.corrected_score_
    assert pickle.loads(pickle.dumps(model)).corrected_score_ == model.corrected_score_


def test_a_weight_counts_as_a_repetition_in_the_corrected_score(data):
    """With a base that is fitted already there are no folds that could differ."""
    X, y = data
    base = clone(LOGISTIC).fit(X[:300], y[:300])
    X, y, twice = X[300:], y[300:], np.random.default_rng(0).integers(0, 3, 300)
    options = {"metric": "f1_macro", "cv": "prefit", "random_state": 0}
    weighted = PlugInClassifier(base, **options).fit(X, y, sample_weight=twice)
    repeated = PlugInClassifier(base, **options).fit(np.repeat(X, twice, axis=0), np.repeat(y, twice))
    assert weighted.corrected_score_ == pytest.approx(repeated.corrected_score_)
    assert weighted.score_interval_ == pytest.approx(repeated.score_interval_)


def test_a_class_with_too_few_samples_is_named(data):
    X, y = data
    y = np.where((np.cumsum(y == 2) > 3) & (y == 2), 0, y)
    with pytest.raises(ValueError, match="cv=5 needs at least 5 samples of each class, and there are 3 of 'cat'; use"):
        PlugInClassifier(LOGISTIC, "f1_macro").fit(X, NAMES[y])


# ---------------------------------------------------------------- the rule


@pytest.mark.parametrize("base", [LOGISTIC, GaussianNB()])
def test_rule_is_tuned_on_out_of_fold_probabilities(data, base):
    X, y = data
    model = PlugInClassifier(base, "f1_macro").fit(X, NAMES[y])
    proba = cross_val_predict(base, X, y, cv=5, method="predict_proba")
    same(model.rule_, tune_rule(proba, y, MACRO))
    decided = model.rule_.decide(proba)
    np.testing.assert_allclose(model.confusion_, confusion_matrix(y, decided, normalize="all"), atol=1e-15)
    assert model.best_score_ == pytest.approx(f1_score(y, decided, average="macro"), abs=1e-14)
    assert model.best_score_ > f1_score(y, proba.argmax(axis=1), average="macro")


def test_prediction_is_the_argmax_of_the_decision_function(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC, "f1_macro").fit(X, NAMES[y])
    base = clone(LOGISTIC).fit(X, y)
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_allclose(model.predict_proba(X), base.predict_proba(X), atol=1e-6)
    expected = model.predict_proba(X) * model.rule_.slopes - model.rule_.offsets
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6)  # scores of the kept precision
    np.testing.assert_array_equal(model.predict(X), NAMES[expected.argmax(axis=1)])
    assert (model.predict(X) != NAMES[base.predict(X)]).mean() > 0.02
    assert model.score(X, NAMES[y]) == pytest.approx(f1_score(NAMES[y], model.predict(X), average="macro"))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(clone(model), "rule_")


def test_prefit_reads_the_model_as_it_is(data):
    X, y = data
    base = clone(LOGISTIC).fit(X[:300], NAMES[y[:300]])
    model = PlugInClassifier(base, "f1_macro", cv="prefit").fit(X[300:], NAMES[y[300:]])
    assert model.estimator_ is base
    same(model.rule_, tune_rule(base.predict_proba(X[300:]), y[300:], MACRO))
    assert model.best_score_ == pytest.approx(model.score(X[300:], NAMES[y[300:]]), abs=1e-14)


@pytest.mark.parametrize("metric", ["mcc", "quadratic_kappa", ConfusionFunction(lambda c: np.diag(c).min())])
def test_any_metric_of_the_confusion_matrix(data, metric):
    X, y = data
    model = PlugInClassifier(LOGISTIC, metric).fit(X, y)
    assert model.best_score_ == get_confusion_metric(metric).value(model.confusion_)
    if metric == "quadratic_kappa":
        assert model.rule_.matrix is not None
        assert model.score(X, y) == pytest.approx(cohen_kappa_score(y, model.predict(X), weights="quadratic"))


def test_a_base_without_probabilities_is_calibrated(data):
    X, y = data
    model = PlugInClassifier(SVM, "f1_macro").fit(X, y)
    scores = cross_val_predict(SVM, X, y, cv=5, method="decision_function")
    calibrator = fit_class_calibrator(scores, y, None)
    same(model.rule_, tune_rule(calibrator.predict(scores), y, MACRO))
    proba = calibrator.predict(clone(SVM).fit(X, y).decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), proba, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.rule_.decide(proba))
    read = PlugInClassifier(LOGISTIC, "f1_macro", response_method="decision_function").fit(X, y)
    expected = read.calibrator_.predict(clone(LOGISTIC).fit(X, y).decision_function(X))
    np.testing.assert_allclose(read.predict_proba(X), expected, atol=1e-6)


def test_weights_reach_the_calibration(data, weight):
    X, y = data
    base = clone(SVM).fit(X, y)
    model = PlugInClassifier(base, "f1_macro", cv="prefit").fit(X, y, sample_weight=weight)
    proba = fit_class_calibrator(base.decision_function(X), y, weight).predict(base.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), proba)
    same(model.rule_, tune_rule(proba, y, MACRO, weight=weight))


def test_weights_reach_the_base_and_the_metric(data, weight):
    X, y = data
    model = PlugInClassifier(LOGISTIC, "f1_macro").fit(X, y, sample_weight=weight)
    proba = np.empty((600, 3))
    for train, test in StratifiedKFold(5).split(X, y):
        proba[test] = clone(LOGISTIC).fit(X[train], y[train], sample_weight=weight[train]).predict_proba(X[test])
    order = np.concatenate([test for _, test in StratifiedKFold(5).split(X, y)])
    same(model.rule_, tune_rule(proba[order], y[order], MACRO, weight=weight[order]))
    confusion = confusion_of(y, model.rule_.decide(proba), 3, weight)
    assert model.best_score_ == pytest.approx(MACRO.value(confusion), abs=1e-14)
    score = model.score(X, y, sample_weight=weight)
    assert score == pytest.approx(f1_score(y, model.predict(X), average="macro", sample_weight=weight))


def test_repeated_folds_are_pooled_and_settings_compared(data):
    X, y = data
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    grid = {"C": [1e-4, 1.0]}
    model = PlugInClassifier(LOGISTIC, "f1_macro", cv=cv, param_grid=grid).fit(X, y)
    each = [PlugInClassifier(LogisticRegression(C=C), "f1_macro", cv=cv).fit(X, y) for C in grid["C"]]
    best = max(each, key=lambda one: one.best_score_)
    assert (model.best_params_["C"], model.best_score_) == (best.base.C, best.best_score_)
    assert each[0].best_score_ != each[1].best_score_
    assert model.best_params_["C"] == model.estimator_.C


def test_a_class_that_a_training_part_lacks_is_refused(data):
    X, y = data
    splits = [(np.flatnonzero(y < 2), np.arange(0, 600, 2)), (np.arange(0, 600, 2), np.arange(1, 600, 2))]
    with pytest.raises(ValueError, match="without fold 0 there is no 2 row of positive weight to train on"):
        PlugInClassifier(LOGISTIC, "f1_macro", cv=splits).fit(X, y)


# ---------------------------------------------------------------- two classes, and back


def test_two_classes_keep_their_threshold(data):
    """Also for the names that only several classes had, and after a fit to three."""
    X, y = data
    model = PlugInClassifier(LOGISTIC, "f1_macro").fit(X, y)
    model.fit(X, y > 0)
    assert np.isfinite(model.threshold_)
    assert model.positive_score(X).shape == (600,)
    assert model.decision_function(X).shape == (600,)
    assert model.best_score_ == pytest.approx(model.curve_.value("f1_macro").max())
    assert not hasattr(model, "rule_")
    assert not hasattr(model, "confusion_")
    assert model.corrected_score_ < 1.0
    model.fit(X, y)
    for name in ("threshold_", "best_threshold_", "curve_", "pos_label_", "positive_score"):
        assert not hasattr(model, name)


def test_probabilities_come_with_the_rule(data):
    X, y = data
    model = PlugInClassifier(SVM, "mcc")
    assert not hasattr(model, "predict_proba")
    model.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    model.fit(X, y > 0)
    assert not hasattr(model, "predict_proba")


def test_tags_say_what_the_metric_can_do():
    for metric, several in (("f1", False), ("f1_macro", True), ("mcc", True), ("unknown", False), (1, False)):
        assert get_tags(PlugInClassifier(LOGISTIC, metric)).classifier_tags.multi_class is several


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"metric": "f1"}, "Only binary classification is supported. The type of the target is multiclass"),
        ({"constraint": "precision >= 0.8"}, "constraint='precision >= 0.8' needs two classes"),
        ({"calibration": "sigmoid"}, "calibration='sigmoid' needs two classes, but y has 3"),
        ({"pos_label": 1}, "pos_label=1 needs two classes"),
        ({"cv": [(np.arange(300), np.arange(300, 302))]}, "the held-out part of cv has no sample .* of "),
    ],
)
def test_what_several_classes_do_not_have(data, options, match):
    with pytest.raises(ValueError, match=match):
        PlugInClassifier(LOGISTIC, **({"metric": "f1_macro"} | options)).fit(*data)


def test_a_prefit_model_of_other_classes(data):
    """Places of the labels are no others."""
    X, y = data
    base = clone(LOGISTIC).fit(X, y)
    model, coded = (PlugInClassifier(base, "f1_macro", cv="prefit").fit(X, labels) for labels in (NAMES[y], y))
    np.testing.assert_array_equal(model.predict(X), NAMES[coded.predict(X)])
    with pytest.raises(ValueError, match=r"has learnt the classes \[5, 6, 7\], and y holds \[0, 1, 2\]"):
        PlugInClassifier(clone(LOGISTIC).fit(X, y + 5), "f1_macro", cv="prefit").fit(X, y)


def test_new_labels_are_no_part_of_a_score(data):
    X, y = data
    model = PlugInClassifier(LOGISTIC, "f1_macro").fit(X, y)
    with pytest.raises(ValueError, match="y holds 3, which is none of the fitted classes"):
        model.score(X, y + 1)
