"""Threshold curves of cross-validated classifiers: what they show is what the models predict on their test parts."""

import numpy as np
import pytest
from builders import paper_search
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import MacroCostSearch
from csf.metrics import get_metric
from csf.plots import ThresholdCurveDisplay
from csf.thresholding import PlugInClassifier, threshold_curve


def searched(pos_label):
    return paper_search(LinearSVC(), "jaccard", n_trials=3, cv=3, pos_label=pos_label)


OWN = {
    "search": searched,
    "pipeline": lambda pos_label: make_pipeline(StandardScaler(), searched(pos_label)),
    "plug-in": lambda pos_label: PlugInClassifier(GaussianNB(), "jaccard", pos_label=pos_label),
}


def crossed(model, X, y, cv=3):
    return cross_validate(model, X, y, cv=cv, return_estimator=True, return_indices=True)


def parts(results):
    return zip(results["estimator"], results["indices"]["test"])


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("names", [(0, 1), ("z", "a")])
def test_zero_is_what_the_models_predict(data, kind, names):
    X, y = data[0], np.array(names)[data[1]]
    results = crossed(OWN[kind](names[1]), X, y)
    display = ThresholdCurveDisplay.from_cv_results(results, X, y)
    predicted = np.concatenate([model.predict(X[test]) for model, test in parts(results)])
    truth = np.concatenate([y[test] for _, test in parts(results)])
    assert display.threshold == 0.0
    assert display.metric_name == "jaccard"
    assert display.value == pytest.approx(get_metric("jaccard").score(truth, predicted, pos_label=names[1]))
    assert display.fold_values.shape == (3, display.thresholds.size)
    for drawn in (display, display.plot()):
        assert drawn.ax_.get_xlabel() == "threshold, minus that of each model"


def test_fold_values_are_those_of_each_model(data):
    X, y = data
    results = crossed(OWN["plug-in"](1), X, y)
    display = ThresholdCurveDisplay.from_cv_results(results, X, y, threshold=0.125)
    assert display.threshold == 0.125
    for at in (0, 40, -1):
        for values, (model, test) in zip(display.fold_values, parts(results)):
            found = model.decision_function(X[test]) >= display.thresholds[at]
            assert values[at] == pytest.approx(get_metric("jaccard").score(y[test], found.astype(int)))


def test_any_classifier_is_cut_by_its_score(data):
    X, y = data
    results = crossed(LogisticRegression(), X, y, ShuffleSplit(4, test_size=0.5, random_state=0))
    display = ThresholdCurveDisplay.from_cv_results(results, X, y, metric="f2", name="mine")
    score = np.concatenate([model.predict_proba(X[test])[:, 1] for model, test in parts(results)])
    truth = np.concatenate([y[test] for _, test in parts(results)])
    best = threshold_curve(truth, score).best("f2")
    assert (display.threshold, display.value) == (best.threshold, best.value)
    assert len(display.fold_values) == 4
    assert (display.name, display.ax_.get_xlabel()[-8:]) == ("mine", "score on")


def test_weights_count_and_folds_of_one_class_have_no_curve(data):
    X, y = data
    results = crossed(LogisticRegression(), X, y, StratifiedKFold(4))
    weight = np.random.default_rng(0).exponential(size=y.size)
    weight[np.intersect1d(results["indices"]["test"][1], np.flatnonzero(y == 1))] = 0.0
    display = ThresholdCurveDisplay.from_cv_results(results, X, y, sample_weight=weight)
    score = np.concatenate([model.predict_proba(X[test])[:, 1] for model, test in parts(results)])
    at = np.concatenate(results["indices"]["test"])
    assert display.value == threshold_curve(y[at], score, sample_weight=weight[at]).best("f1").value
    assert len(display.fold_values) == 3


def test_bad_input(data):
    X, y = data
    results = crossed(LogisticRegression(), X, y)
    draw = ThresholdCurveDisplay.from_cv_results
    with pytest.raises(ValueError, match=r"holds \['fit_time'.*return_estimator=True, return_indices=True"):
        draw(cross_validate(LogisticRegression(), X, y), X, y)
    with pytest.raises(ValueError, match="X has 50 samples, cv_results refers to sample 399"):
        draw(results, X[:50], y[:50])
    with pytest.raises(ValueError, match="multiclass with 3 classes"):
        draw(results, X, np.arange(400) % 3)
    three = np.argmax(X[:, :3], axis=1)
    macro = crossed(MacroCostSearch(paper_search(LinearSVC(), n_trials=2, cv=2)), X, three)
    with pytest.raises(TypeError, match="cross-validate a CostSearch of one class"):
        draw(macro, X, three)
