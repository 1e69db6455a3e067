"""Displays of searches: their metric, constraint and threshold, and what they say where no trial is feasible."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from builders import paper_search
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from csf import CostSearch, ErrorProfile, Study
from csf.metrics import Constrained, Recall, get_constraint
from csf.plots import (
    BoundComparisonDisplay,
    ConeDisplay,
    ErrorProfileDisplay,
    ProgressDisplay,
    ThresholdCurveDisplay,
)
from csf.plugin import PlugInClassifier
from csf.report.kinds import facts_of
from csf.thresholding import threshold_curve

OF_TRIALS = (BoundComparisonDisplay, ConeDisplay, ErrorProfileDisplay, ProgressDisplay)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] + 0.7 * RNG.normal(size=400) > 1).astype(int)
NOISE = RNG.integers(0, 2, size=(400, 3)).astype(float)
SEARCH = paper_search(LinearSVC(), metric="recall", constraint="precision >= 0.8", n_trials=4, cv=3)


@pytest.fixture(scope="module")
def search():
    return clone(SEARCH).fit(X, Y)


@pytest.fixture(scope="module")
def infeasible():
    with pytest.warns(UserWarning, match="no trial satisfies"):
        return clone(SEARCH).set_params(constraint="precision >= 0.99").fit(NOISE, Y)


def test_the_threshold_curve_of_a_search_is_that_of_its_aim(search):
    display = ThresholdCurveDisplay.from_estimator(search, X, Y)
    assert display.threshold == search.best_threshold_
    assert display.value == Recall().of(search.threshold_curve(X, Y).at(search.best_threshold_))
    assert display.value == search.score(X, Y)
    assert display.metric_name == "recall, precision >= 0.8"
    score = search.best_estimator_.decision_function(X)
    assert display.thresholds.min() >= score.min()
    assert list(display.companions) == ["precision", "predicted positive"]  # recall is the metric itself
    display = ThresholdCurveDisplay.from_estimator(search, X, Y, metric="f1")
    assert (display.metric_name, display.threshold) == ("f1", search.best_threshold_)
    assert ThresholdCurveDisplay.from_estimator(search, X, Y, threshold=0.25).threshold == 0.25
    with pytest.raises(ValueError, match=r"y holds the labels \[0, 2\], the search knows \[0, 1\]"):
        search.threshold_curve(X, 2 * Y)
    own = paper_search(LinearSVC(), threshold=None, n_trials=2, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="kept the base's own decisions"):
        ThresholdCurveDisplay.from_estimator(own)


def test_without_data_a_search_shows_the_scores_that_it_was_cut_on(search):
    display = ThresholdCurveDisplay.from_estimator(search)
    assert (display.threshold, display.value) == (search.best_threshold_, search.best_score_)
    assert display.threshold_interval == search.threshold_interval_
    assert display.demands == [("precision", ">=", 0.8, search.constraint_value_)]
    said = display.label_.get_text()
    assert f"recall = {search.best_score_:.3f} at threshold {search.best_threshold_:.3g}\n90 % interval" in said
    assert f"precision = {search.constraint_value_:.3g}: precision >= 0.8 holds" in said
    low, high = search.threshold_interval_
    first, last = display.thresholds[-1], display.thresholds[0]
    box = display.interval_.get_extents().transformed(display.ax_.transData.inverted())
    np.testing.assert_allclose([box.x0, box.x1], [max(low, first), min(high, last)], rtol=1e-6)
    np.testing.assert_array_equal(display.demand_lines_[0].get_ydata(), [0.8, 0.8])
    assert display.short_name == "recall"
    assert ThresholdCurveDisplay.from_estimator(search, threshold=0.3).interval_ is None


def test_labels_and_weights_reach_the_curve():
    y, weight = np.where(Y == 1, "a", "b"), RNG.random(400)
    named = clone(SEARCH).set_params(pos_label="a").fit(X, y, sample_weight=weight)
    curve = named.threshold_curve(X, y, weight)
    # The base knows the user's labels, of which "b" is the last one.
    expected = threshold_curve(Y, -named.best_estimator_.decision_function(X), sample_weight=weight)
    np.testing.assert_allclose(curve.fn, expected.fn)
    np.testing.assert_allclose(curve.fp, expected.fp)
    assert ThresholdCurveDisplay.from_estimator(named, X, y).threshold == named.best_threshold_


def test_several_classes_are_cut_at_the_score_against_the_null_class():
    y = np.where(X[:, 0] > 1, 2, np.where(X[:, 1] > 1, 1, 0))
    several = paper_search(OneVsRestClassifier(LinearSVC()), null_class=0, n_trials=2, cv=3).fit(X, y)
    display = ThresholdCurveDisplay.from_estimator(several, X, y)
    assert display.value == pytest.approx(several.score(X, y))


def test_a_constrained_rate_that_is_no_companion_is_drawn():
    limited = paper_search(LinearSVC(), constraint="fpr <= 0.05", n_trials=2, cv=3).fit(X, Y)
    display = ThresholdCurveDisplay.from_estimator(limited, X, Y)
    assert list(display.companions) == ["precision", "recall", "predicted positive", "fpr"]
    assert "fpr <= 0.05" in display.label_.get_text()


def test_the_best_cut_of_a_constrained_metric_satisfies_it():
    curve = threshold_curve(Y, X[:, 0])
    metric = Constrained(Recall(), get_constraint("precision >= 0.8"))
    display = ThresholdCurveDisplay.from_curves(curve, metric)
    assert display.threshold == curve.best("recall", metric.constraint).threshold
    model = PlugInClassifier(LinearSVC(), "recall", constraint="precision >= 0.8", cv=3).fit(X, Y)
    assert ThresholdCurveDisplay.from_estimator(model).metric_name == "recall, precision >= 0.8"


def test_other_objects_are_sent_to_where_they_are_drawn(search):
    y = np.column_stack([Y, 1 - Y])
    labels = CostSearch(LinearSVC(), "f1_macro", param_grid=None, n_trials=1, cv=2).fit(X, y)
    for display in OF_TRIALS:
        with pytest.raises(ValueError, match=r"draw searches_\[k\] for one label k"):
            display.from_estimator(labels)
        with pytest.raises(TypeError, match="a Study is drawn by from_study"):
            display.from_estimator(search.studies_[0])
        with pytest.raises(TypeError, match=r"needs a fitted csf\.CostSearch, got LinearSVC"):
            display.from_estimator(LinearSVC())


def test_where_nothing_is_feasible_score_bound_and_gap_say_so(infeasible, search):
    assert not infeasible.feasible_
    assert infeasible.best_score_ == infeasible.trials_[infeasible.best_index_].score
    assert infeasible.upper_bound_ == 0.0
    assert np.isnan([infeasible.gap_, infeasible.studies_[0].gap]).all()
    assert search.gap_ == pytest.approx(search.upper_bound_ - max(t.attained for t in search.trials_ if t.feasible))


def test_a_tolerance_does_not_end_a_search_that_found_nothing_feasible():
    found = clone(SEARCH).set_params(constraint="precision >= 0.99", tol=0.01)
    with pytest.warns(UserWarning, match="no trial satisfies"):
        found.fit(NOISE, Y)
    assert found.n_trials_ == 4
    assert "tol" not in found.stop_reason_


def texts(display):
    return [label.get_text() for label in display.labels_]


def test_the_cones_of_an_infeasible_search(infeasible):
    """What is drawn is by how much the constraint is missed; there is no bound and no area."""
    display = ConeDisplay.from_estimator(infeasible)
    assert not display.feasible
    assert display.metric_name == display.ax_.get_ylabel() == "precision"
    assert display.winner_.get_ydata() == [infeasible.constraint_value_]
    np.testing.assert_array_equal(np.sort(display.attained), np.sort([trial.rate for trial in infeasible.trials_]))
    np.testing.assert_array_equal(display.bound_line_.get_ydata(), [0.99, 0.99])
    assert display.union_ is None
    assert display.cones == []
    said = "\n".join(texts(display))
    assert "asked for: precision >= 0.99" in said
    assert "No trial satisfies precision >= 0.99" in display.ax_.get_title("left")
    assert f"closest: precision {infeasible.constraint_value_:.3f}" in said
    assert "winner" not in said


def test_the_progress_bounds_and_threshold_of_an_infeasible_search(infeasible):
    display = ProgressDisplay.from_estimator(infeasible)
    assert np.isnan(display.attained).all()
    assert any("no trial satisfies" in text for text in texts(display))
    assert not any("best seen" in text for text in texts(display))
    assert BoundComparisonDisplay.from_estimator(infeasible).violations.tolist() == [0]
    said = ThresholdCurveDisplay.from_estimator(infeasible).label_.get_text()
    assert "precision >= 0.99 does not hold (infeasible)" in said


def test_profiles_of_an_infeasible_search(infeasible, search):
    display = ErrorProfileDisplay.from_estimator(infeasible)
    assert "closest" in texts(display)
    assert "infeasible: no trial satisfies precision >= 0.99" in texts(display)
    assert display.best_contour_ is None
    assert "winner" in texts(ErrorProfileDisplay.from_estimator(search))


def test_the_facts_say_the_same(infeasible):
    numbers = "; ".join(map(str, facts_of(infeasible).all_numbers))
    assert "precision out-of-fold: precision >= 0.99 does not hold" in numbers
    assert "0.000 upper bound of recall, an estimate for these parameters and folds (support)" in numbers


def test_a_study_without_feasible_trials_has_no_gap():
    study = Study(Constrained(Recall(), get_constraint("precision >= 0.9")), pos=0.2, tol=0.5)
    assert study.gap is None
    study.tell(study.ask(), profile=ErrorProfile.from_counts(tp=10, fn=10, fp=20, tn=60))
    assert np.isnan(study.gap)
    assert study.ask() is not None


@pytest.mark.parametrize("kind", OF_TRIALS)
def test_unfitted_search_is_refused(kind, unfitted):
    with pytest.raises(NotFittedError, match="not fitted"):
        kind.from_estimator(unfitted)


@pytest.mark.parametrize("failed", [False, True])
def test_study_without_results_is_refused(failed):
    study = Study("f1", pos=0.2)
    if failed:
        study.fail(study.ask(), "no memory")
    for kind in (ConeDisplay, ErrorProfileDisplay, ProgressDisplay):
        with pytest.raises(ValueError, match=r"no complete trial (with a level )?to draw"):
            kind.from_study(study)


@pytest.mark.parametrize("kind", [ConeDisplay, ErrorProfileDisplay, ProgressDisplay])
def test_given_axes_are_used_and_drawing_again_changes_no_array(kind, study):
    ax = plt.subplots()[1]
    display = kind.from_study(study, ax=ax)
    assert display.ax_ is ax
    before = {name: value.copy() for name, value in vars(display).items() if isinstance(value, np.ndarray)}
    assert display.plot() is display
    assert display.ax_ is not ax
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(display, name), value)


@pytest.mark.slow
def test_importing_displays_leaves_matplotlib_alone():
    code = "import sys, csf.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
