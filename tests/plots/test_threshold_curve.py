"""Threshold curves: what is drawn is on the curve, and of cross-validated models what they predict on new data."""

import copy

import matplotlib.pyplot as plt
import numpy as np
import pytest
from builders import paper_search
from builders_of_kinds import FRAME, KINDS, LR, SEVERAL, N, Y, samples_of, search_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from csf import CostSearch, tune_threshold
from csf.metrics import Averaged, FBeta, Incomplete, RowCosts, get_metric
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


# ---------------------------------------------------------------- every kind of problem


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith("classes") and k != "two own decision"])
def test_the_mark_is_the_value_of_the_predictions(kind):
    search, (X, y) = search_of(kind), samples_of(kind)
    weight = np.random.default_rng(0).integers(1, 4, N).astype(float)
    for given in ({}, {"sample_weight": weight}):
        display = ThresholdCurveDisplay.from_estimator(search, X, y, **given)
        assert display.value == pytest.approx(search.score(X, y, **given))
        assert np.isfinite(display.thresholds).all()
        assert (np.diff(display.thresholds) < 0).all()
        assert display.short_name in display.label_.get_text()
        plt.close(display.figure_)
    held_out = ThresholdCurveDisplay.from_estimator(search)
    # Decisions about costs of rows are judged with rules that are tuned on other rows.
    close = 0.05 if getattr(search, "row_rule_", "plain") != "plain" or kind == "rows demand" else 1e-9
    assert held_out.value == pytest.approx(search.best_score_, abs=close)
    plt.close(held_out.figure_)


@pytest.mark.parametrize("kind", ["rows", "rows boosting", "labels samples"])
def test_values_along_the_curve_are_those_of_other_thresholds(kind):
    search, (X, y) = search_of(kind), samples_of(kind)
    display = ThresholdCurveDisplay.from_estimator(search, X, y)
    chosen = search.best_threshold_
    try:
        for at in (0, 100, -1):
            search.best_threshold_ = display.thresholds[at]
            found = search.predict(X)
            assert display.values[at] == pytest.approx(search.score(X, y))
            positive = found == search.pos_label_ if kind != "labels samples" else found
            assert display.companions["predicted positive"][at] == pytest.approx(np.mean(positive))
    finally:
        search.best_threshold_ = chosen
    plt.close(display.figure_)


def test_costs_that_fit_was_given_are_given_again():
    costs = {"fn_cost": FRAME["amount"].to_numpy(), "fp_cost": 5.0}
    X = FRAME.drop(columns="amount")
    search = CostSearch(LR, "savings", n_trials=1, param_grid=None, cv=2).fit(X, Y, **costs)
    display = ThresholdCurveDisplay.from_estimator(search, X, Y, **costs, line_kwargs={"color": "red"})
    assert display.value == pytest.approx(search.score(X, Y, **costs))
    assert display.line_.get_color() == "red"
    curve = search.threshold_curve(X, Y, **costs)
    assert curve.values[curve.cuts_at(search.best_threshold_)] == pytest.approx(display.value)
    with pytest.raises(ValueError, match="fn_cost must be given"):
        ThresholdCurveDisplay.from_estimator(search, X, Y)
    with pytest.raises(TypeError, match="fn_cost, fp_cost cannot be given with metric='f1'"):
        ThresholdCurveDisplay.from_estimator(search_of("two"), *samples_of("two"), **costs)


def test_another_metric_is_one_of_rows_that_count_the_same():
    search = search_of("rows")
    display = ThresholdCurveDisplay.from_estimator(search, FRAME, Y, metric="f1")
    assert display.value == pytest.approx(FBeta().score(Y, search.predict(FRAME)))
    curve = search.threshold_curve(FRAME, Y)
    assert ThresholdCurveDisplay.from_curves(curve).value == np.nanmax(curve.values)
    plt.close("all")


def test_money_has_an_axis_of_its_own():
    costs = RowCosts(fn="amount", fp=5.0, measure="cost")
    search = CostSearch(LR, costs, n_trials=1, param_grid=None, cv=2).fit(FRAME, Y)
    display = ThresholdCurveDisplay.from_estimator(search, FRAME, Y)
    assert display.companions == {}
    assert display.value == pytest.approx(search.score(FRAME, Y))
    assert "log(gain / loss)" in display.ax_.get_xlabel()


@pytest.mark.parametrize(("answer", "threshold"), [("negative", np.inf), ("positive", -np.inf)])
def test_the_same_answer_to_all_rows_is_written_down(answer, threshold):
    search = copy.copy(search_of("rows"))
    search.row_rule_ = answer
    display = ThresholdCurveDisplay.from_estimator(search, FRAME, Y)
    assert display.threshold == threshold
    assert "is positive" in display.label_.get_text()


def test_labels_have_a_line_each_and_their_mean():
    search, (X, y) = search_of("labels"), samples_of("labels")
    display = ThresholdCurveDisplay.from_estimator(search, X, y)
    np.testing.assert_allclose(display.values, np.mean(list(display.companions.values()), axis=0))
    assert set(display.companions) == {"0", "1", "2"}
    for at in (0, 50, -1):
        found = search.decision_function(X) >= display.thresholds[at]
        drawn = [display.companions[str(column)][at] for column in range(3)]
        assert drawn == pytest.approx(f1_score(y, found, average=None))
    assert display.threshold == 0.0
    only = np.where(np.arange(3) == 1, y, 0)  # labels that nobody has there
    assert ThresholdCurveDisplay.from_estimator(search, X, only).value == pytest.approx(search.score(X, only))
    with pytest.raises(ValueError, match="give X and y"):
        ThresholdCurveDisplay.from_estimator(search, X)


def test_of_many_labels_the_lowest_have_lines():
    columns = [0, 1, 2] * 4
    search = CostSearch(LR, "f1_macro", n_trials=1, param_grid=None, cv=2).fit(
        samples_of("labels")[0], SEVERAL[:, columns]
    )
    display = ThresholdCurveDisplay.from_estimator(search)
    values = [one.best_score_ for one in search.searches_]
    assert set(display.companions) == {str(at) for at in np.argsort(values, kind="stable")[:8]}
    assert display.value == pytest.approx(np.mean(values))
    title, legend = display.label_.get_window_extent(), display.ax_.get_legend().get_window_extent()
    assert title.y0 >= legend.y1 - 8


@pytest.mark.parametrize("average", ["micro", "samples"])
def test_labels_that_share_a_threshold_are_drawn_by_their_own_average(average):
    search, (X, y) = search_of(f"labels {average}"), samples_of(f"labels {average}")
    display = ThresholdCurveDisplay.from_estimator(search, X, y)
    assert display.value == pytest.approx(Averaged(FBeta(), average).of(y, search.predict(X)))
    assert f"f1_{average} = " in display.label_.get_text()


@pytest.mark.parametrize("metric", ["f1", "recall", "gmean"])
def test_rates_beside_a_metric_of_the_truth_are_of_the_truth(metric):
    rng, true = np.random.default_rng(0), np.arange(60) < 20
    score = rng.integers(0, 12, 60) + 3.0 * true
    # Of each ten rows that are alike three have the wrong label if they are positive, and one if they are negative.
    place = np.tile(np.arange(10), 60)
    label = np.repeat(true, 10) ^ (place < np.where(np.repeat(true, 10), 3, 1))
    options = {"threshold": 5.5}
    of_truth = ThresholdCurveDisplay.from_predictions(true, score, metric=metric, **options)
    found = ThresholdCurveDisplay.from_predictions(
        label, np.repeat(score, 10), metric=Incomplete(metric, missed=0.3, false=0.1), **options
    )
    assert list(found.companions) == list(of_truth.companions)
    at = np.isin(found.thresholds, of_truth.thresholds)
    np.testing.assert_allclose(found.values[at], of_truth.values)
    for name, values in of_truth.companions.items():
        np.testing.assert_allclose(found.companions[name][at], values)


def test_a_demand_on_the_truth_is_drawn_on_its_rate():
    rng, y = np.random.default_rng(0), np.arange(600) < 150
    metric = Incomplete("recall", labelled=0.75)
    search = tune_threshold(y, rng.normal(size=600) + 2.0 * y, metric, constraint="precision >= 0.8").search
    display = ThresholdCurveDisplay.from_estimator(search)
    assert list(display.companions) == ["precision", "predicted positive"]
    ((rate, _, level, seen),) = display.demands
    assert (rate, level, seen) == ("precision", 0.8, pytest.approx(search.constraint_value_))
