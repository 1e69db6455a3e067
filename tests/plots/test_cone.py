"""ConeDisplay: what is drawn is what was computed, and what was computed is what the bounds say."""

import numpy as np
import pytest
import shapely
from builders import paper_search
from sklearn.svm import LinearSVC

from csf import CostSearch, ErrorProfile, Study
from csf.bounds import ConeBound, SupportLineBound
from csf.plots import ConeDisplay
from csf.strategies import Ladder


def complete(trials):
    return [trial for trial in trials if trial.state == "complete"]


def test_artists_show_the_arrays(study):
    display = ConeDisplay.from_study(study)
    told = complete(study.trials)
    np.testing.assert_array_equal(display.points_.get_data(), [[t.t for t in told], [t.value for t in told]])
    np.testing.assert_array_equal(display.envelope_line_.get_data(), [display.levels, display.envelope])
    np.testing.assert_array_equal(display.bound_line_.get_ydata(), [display.best_possible] * 2)
    np.testing.assert_array_equal(display.failed_.get_data(), [[0.5], [display.bottom]])
    assert display.winner_.get_xdata() == [study.best_trial.t]
    for path, corners in zip(display.cones_.get_paths(), display.cones, strict=True):
        np.testing.assert_array_equal(path.vertices[: len(corners)], corners)


def test_arrays_are_those_of_the_bound_that_was_asked_for(study):
    display = ConeDisplay.from_study(study, bound="envelope", eps=0.01)
    bound = ConeBound(study.trials, study.metric, pos=study.pos, eps=0.01)
    np.testing.assert_array_equal(display.envelope, bound.upper_bound(display.levels).clip(0, 1))
    assert display.best_possible == bound.best_possible()
    assert ConeDisplay.from_study(study).best_possible == study.upper_bound
    assert set(display.t) <= set(display.levels)
    for corners, cone in zip(display.cones, zip(*bound.cones), strict=True):
        assert np.abs(corners - cone[:2]).sum(axis=1).min() < 1e-12


def test_a_metric_without_levels_is_drawn_over_the_ratio_of_costs(concave_search):
    display = ConeDisplay.from_estimator(concave_search)
    assert display.ratio
    assert display.ax_.get_xscale() == "log"
    np.testing.assert_allclose(display.t, [t.c_fn / t.c_fp for t in concave_search.trials_])
    assert display.best_possible == concave_search.upper_bound_
    np.testing.assert_array_equal(display.envelope, concave_search.upper_bound_)
    np.testing.assert_array_equal(display.value, display.attained)
    assert display.diagonal_line_ is None
    assert display.cones == []


def test_slices_of_the_support_line_bound_are_drawn_when_asked_for(concave_search):
    display = ConeDisplay.from_estimator(concave_search, bound="support")
    study = concave_search.studies_[0]
    bound = SupportLineBound(concave_search.trials_, study.metric, pos=study.pos)
    np.testing.assert_array_equal(display.envelope, bound.upper_bound(display.levels))
    assert display.best_possible == bound.best_possible()
    assert display.claim == "ruled out for exact learners"
    with pytest.raises(TypeError, match="linear-fractional"):
        ConeDisplay.from_estimator(concave_search, bound="envelope")


def test_tuned_trials_show_their_best_threshold_and_with_a_bound_their_own_decisions_too(search):
    told = complete(search.trials_)
    display = ConeDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.points_.get_data(), [[t.t for t in told], [t.attained for t in told]])
    assert display.winner_.get_ydata() == [search.trials_[search.best_index_].attained]
    display = ConeDisplay.from_estimator(search, bound="envelope")
    ends = np.array([segment[1] for segment in display.stems_.get_segments()])
    np.testing.assert_array_equal(ends, [[t.t, t.attained] for t in told])
    np.testing.assert_array_equal(display.points_.get_ydata(), [t.value for t in told])
    assert (display.attained >= display.value).all()
    assert display.ratios.size == 0


def shown(display):
    """Every point that a display shows, with its place on the axis."""
    own = np.column_stack([display.t, display.value])
    best = np.column_stack([display.t, display.attained])
    points = np.concatenate([own, best, display.others])
    return points[np.isfinite(points[:, 1])]


def height_of_the_edge(display, x):
    scale = np.log if display.ratio else np.asarray
    return np.interp(scale(x), scale(display.levels), display.envelope)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"metric": "f1"},
        {"metric": "jaccard", "strategy": "grid", "n_trials": 15},
        {"metric": "f2", "threshold": None},
        {"metric": "f1", "threshold": None, "strategy": "grid", "n_trials": 15},
        {"metric": "gmean"},
        {"metric": "gmean", "threshold": None, "strategy": "grid", "n_trials": 9},
        {"metric": "recall", "constraint": "precision >= 0.6"},
        {"metric": "f1", "param_grid": {"C": [1e-5, 1.0]}},
        {"metric": "f1", "strategy": "ladder", "param_grid": "auto", "threshold": "stable", "normalize": "mean"},
    ],
)
def test_no_trial_lies_in_a_shaded_area(data, options):
    """Neither above the edge nor inside a cone, whatever the metric, the strategy and the thresholds."""
    search = paper_search(LinearSVC(dual=False), **({"n_trials": 5, "cv": 0.3, "random_state": 0} | options))
    display = ConeDisplay.from_estimator(search.fit(*data))
    points = shown(display)
    assert points.size
    assert (points[:, 1] <= height_of_the_edge(display, points[:, 0]) + 1e-9).all()
    assert points[:, 1].max() <= display.best_possible + 1e-12
    for cone in display.cones:
        assert not shapely.contains_xy(shapely.Polygon(cone).buffer(-1e-9), *points.T).any()
    assert display.winner_.get_ydata()[0] <= display.best_possible == search.upper_bound_


def test_the_plain_call_is_drawn_over_levels_with_its_other_settings(data):
    search = CostSearch(LinearSVC(dual=False), n_trials=4, cv=3, random_state=0).fit(*data)
    display = ConeDisplay.from_estimator(search)
    winner = search.trials_[search.best_index_]
    assert not display.ratio
    assert display.ax_.get_xlabel() == "level t (the costs follow from it)"
    assert len(display.t) == 4
    assert display.t[0] == 1.0  # equal costs aim at a perfect F1
    others = [trial for trial in search.trials_ if trial.setting != winner.setting]
    assert len(display.others) == len(others)
    assert len(display.others_) == len({trial.setting for trial in others}) > 0
    level = 1.0 if winner.t is None else winner.t
    # one measure for all: the mark is the winner's dot
    np.testing.assert_allclose(display.winner_.get_data(), [[level], [winner.attained]])
    text = display.labels_[-1].get_text()
    assert f"winner: f1 {winner.attained:.3f} at t = {level:.2f}" in text
    assert text.endswith(f"{search.corrected_score_:.3f} to expect on new data")
    # each line has its C at its end, the winner's first
    named = [note.get_text() for note in display.labels_ if note.get_text().startswith("C = ")]
    assert len(named) == len(display.others_) + 1
    assert named[0] == f"C = {search.best_params_['C']:.3g}"
    assert "trial" in display.ax_.get_title("left")
    own = ConeDisplay.from_estimator(search, setting=0)
    assert own.others_ == []
    assert own.best_possible == search.studies_[0].upper_bound


def tips(display):
    return np.array([cone[np.argmin(cone[:, 1])] for cone in display.cones])


def test_each_level_has_one_cone_that_begins_above_its_best_trial_by_the_margin(data):
    search = CostSearch(LinearSVC(dual=False), cv=3, param_grid={"C": [0.01, 1.0]}, random_state=0)
    search.set_params(strategy=Ladder(4, race=False)).fit(*data)
    display = ConeDisplay.from_estimator(search)
    assert len(display.cones) == 4
    assert search.bound_margin_ > 0.0
    trials = np.concatenate([np.column_stack([display.t, display.attained]), display.others])
    for level, height in tips(display):
        best = trials[np.isclose(trials[:, 0], level), 1].max()
        assert height >= best + search.bound_margin_ - 1e-9


def test_the_upper_axis_has_the_ratios_of_costs(study):
    display = ConeDisplay.from_study(study)
    levels, ratios = display.ratios.T
    np.testing.assert_allclose([(2.0 - t) / t for t in levels], ratios)
    (above,) = display.ax_.child_axes
    assert above.get_xlabel() == "cost of a false negative / cost of a false positive"
    assert [text.get_text() for text in above.get_xticklabels()] == [f"{ratio:g}" for ratio in ratios]
    assert 1.0 in ratios


def test_costs_that_no_level_has_are_drawn_over_their_ratio(data):
    X, y = data
    search = CostSearch(LinearSVC(dual=False), cv=3, param_grid=None, random_state=0).fit(X, 1 - y)
    display = ConeDisplay.from_estimator(search)
    assert display.ratio
    assert display.cones == []
    assert display.ax_.child_axes == []


def test_search_over_settings_shows_the_winners(grid_search):
    winner = grid_search.trials_[grid_search.best_index_].setting
    assert winner == 1
    display = ConeDisplay.from_estimator(grid_search)
    other = ConeDisplay.from_estimator(grid_search, setting=1 - winner)
    np.testing.assert_array_equal(display.t, [t.t for t in grid_search.studies_[winner].trials])
    np.testing.assert_array_equal(other.value, [t.attained for t in grid_search.studies_[1 - winner].trials])


def test_unknown_setting_is_refused(grid_search):
    with pytest.raises(ValueError, match=r"setting must be in 0\.\.1 .* got 2"):
        ConeDisplay.from_estimator(grid_search, setting=2)


@pytest.mark.parametrize("fn", [0.05, 0.2])
def test_one_trial_even_with_value_zero(fn):
    study = Study("f1", pos=0.2, n_trials=1)
    study.tell(study.ask(), profile=ErrorProfile(fn=fn, fp=0.0, pos=0.2))
    display = ConeDisplay.from_study(study)
    assert display.value == [study.trials[0].value]
    assert display.failed_ is None
    points = shown(display)
    assert (points[:, 1] <= height_of_the_edge(display, points[:, 0]) + 1e-9).all()


def test_labels_can_be_left_out_and_artists_styled(study):
    display = ConeDisplay.from_study(study, labels=False, point_kwargs={"color": "red"}, envelope_kwargs={"lw": 3})
    assert display.labels_ == []
    assert display.points_.get_color() == "red"
    assert display.envelope_line_.get_linewidth() == 3
    assert len(display.plot().labels_) == 4
