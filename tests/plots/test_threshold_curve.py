"""Threshold curves: what is drawn is on the curve, and of cross-validated models what they predict on new data."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from builders import paper_search
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.metrics import get_metric
from csf.plots import ThresholdCurveDisplay
from csf.plugin import PlugInClassifier
from csf.thresholding import threshold_curve


@pytest.fixture(scope="module")
def plugin(data):
    return PlugInClassifier(GaussianNB(), "jaccard").fit(*data)


def test_artists_show_the_arrays(plugin):
    display = ThresholdCurveDisplay.from_estimator(plugin)
    np.testing.assert_array_equal(display.line_.get_data(), [display.thresholds, display.values])
    for name, values in display.companions.items():
        np.testing.assert_array_equal(display.companion_lines_[name].get_data(), [display.thresholds, values])
    np.testing.assert_array_equal(display.threshold_line_.get_xdata(), [plugin.threshold_] * 2)
    assert "jaccard" in display.label_.get_text()
    vertices = display.fill_between_.get_paths()[0].vertices[:, 1]
    assert vertices.min() == display.fold_values.min()
    assert vertices.max() == display.fold_values.max()
    assert set(display.fold_marks_.get_xdata()) <= set(plugin.fold_thresholds_)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["5 folds", "precision", "recall", "predicted positive", "jaccard"]


def test_without_data_it_shows_the_out_of_fold_scores(plugin):
    display = ThresholdCurveDisplay.from_estimator(plugin)
    assert (display.threshold, display.value) == (plugin.threshold_, plugin.best_score_)
    profiles = [plugin.curve_.at(threshold) for threshold in display.thresholds]
    np.testing.assert_array_equal(display.values, [get_metric("jaccard").of(profile) for profile in profiles])
    np.testing.assert_allclose(display.companions["recall"], [profile.tpr for profile in profiles])
    np.testing.assert_allclose(display.companions["predicted positive"], [p.predicted_pos for p in profiles])
    assert display.values.max() == plugin.best_score_
    expected = [get_metric("jaccard").of(plugin.fold_curves_[2].at(threshold)) for threshold in display.thresholds]
    np.testing.assert_array_equal(display.fold_values[2], expected)
    np.testing.assert_array_equal(display.fold_thresholds, plugin.fold_thresholds_)
    display = ThresholdCurveDisplay.from_curves(plugin.curve_, "f1", fold_curves=plugin.fold_curves_)
    np.testing.assert_array_equal(display.fold_thresholds, [c.best("f1").threshold for c in plugin.fold_curves_])


@pytest.mark.parametrize("names", [(0, 1), ("usual", "rare")])
def test_on_new_data(data, names):
    X, y = data[0], np.array(names)[data[1]]
    model = PlugInClassifier(GaussianNB(), "jaccard", pos_label=names[1]).fit(X, y)
    display = ThresholdCurveDisplay.from_estimator(model, X[:200], y[:200])
    assert display.value == pytest.approx(model.score(X[:200], y[:200]))
    assert display.fill_between_ is None


def test_any_classifier_and_labels(data):
    X, y = data[0], np.where(data[1] == 1, "spam", "ham")
    model = LogisticRegression().fit(X, y)
    display = ThresholdCurveDisplay.from_estimator(model, X, y, pos_label="spam")
    best = threshold_curve(y, model.predict_proba(X)[:, 1], pos_label="spam").best("f1")
    assert (display.threshold, display.value) == (best.threshold, best.value)
    assert display.ax_.get_title(loc="left").startswith("LogisticRegression: f1 = ")
    marked = ThresholdCurveDisplay.from_estimator(model, X, y, pos_label="ham", metric="f2", threshold=0.5)
    assert marked.threshold == 0.5
    assert marked.value == pytest.approx(get_metric("f2").score(y, model.predict(X), pos_label="ham"))


def test_many_cuts_are_thinned_and_outliers_left_out():
    rng = np.random.default_rng(0)
    y, weight = (rng.random(20_000) < 0.1).astype(int), rng.exponential(size=20_000)
    score = rng.standard_normal(20_000) + 2 * y
    score[0] = -1e6
    display = ThresholdCurveDisplay.from_predictions(y, score, sample_weight=weight, metric="gmean")
    assert display.value == threshold_curve(y, score, sample_weight=weight).best("gmean").value
    assert 200 < display.thresholds.shape[0] <= 501
    assert display.thresholds[-1] > -10
    assert (np.diff(display.thresholds) < 0).all()
    assert display.threshold in display.thresholds
    assert ThresholdCurveDisplay.from_predictions([0, 1, 1], [0.0, 1.0, 1.0]).thresholds.tolist() == [0.5]


@pytest.mark.parametrize(("metric", "text"), [("accuracy", "nothing is positive"), ("f1", "everything is positive")])
def test_infinite_thresholds_are_written_down(metric, text):
    """Scores that are upside down: rather all in one class than any cut."""
    display = ThresholdCurveDisplay.from_predictions([1, 0, 0, 0], [0.0, 1.0, 2.0, 3.0], metric=metric)
    assert np.isinf(display.threshold)
    assert display.threshold_line_ is None
    assert text in display.label_.get_text()


def test_given_axes_and_styles(plugin):
    figure, ax = plt.subplots()
    display = ThresholdCurveDisplay.from_estimator(
        plugin, ax=ax, name="mine", line_kwargs={"color": "black"}, fill_between_kwargs={"alpha": 0.5}
    )
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.line_.get_color() == "black"
    assert display.fill_between_.get_alpha() == 0.5
    assert ax.get_title(loc="left").startswith("mine: jaccard = ")
    assert display.plot() is display
    assert display.ax_ is not ax


def test_bad_input(plugin, data):
    draw, of = ThresholdCurveDisplay.from_estimator, ThresholdCurveDisplay.from_predictions
    refused = {
        "all scores are equal": lambda: of([0, 1], [0.5, 0.5]),
        "unknown metric": lambda: of([0, 1], [0.1, 0.2], metric="auc"),
        "give X and y: GaussianNB": lambda: draw(plugin.estimator_),
        "give X and y: PlugInClassifier": lambda: draw(plugin, data[0]),
        "not fitted": lambda: draw(PlugInClassifier(GaussianNB())),
    }
    for message, ask in refused.items():
        with pytest.raises(ValueError, match=message):
            ask()


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


def test_results_of_cross_validation_that_cannot_be_drawn_are_refused(data):
    X, y = data
    results = crossed(LogisticRegression(), X, y)
    draw = ThresholdCurveDisplay.from_cv_results
    with pytest.raises(ValueError, match=r"holds \['fit_time'.*return_estimator=True, return_indices=True"):
        draw(cross_validate(LogisticRegression(), X, y), X, y)
    with pytest.raises(ValueError, match="X has 50 samples, cv_results refers to sample 399"):
        draw(results, X[:50], y[:50])
    with pytest.raises(ValueError, match="multiclass with 3 classes"):
        draw(results, X, np.arange(400) % 3)
    labels = np.column_stack([X[:, 0] > 0.0, X[:, 1] > 0.0])
    macro = crossed(CostSearch(LinearSVC(), "f1_macro", param_grid=None, n_trials=1, cv=2), X, labels, KFold(2))
    with pytest.raises(ValueError, match="y should be a 1d array"):
        draw(macro, X, labels)
