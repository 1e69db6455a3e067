"""ConeDisplay: what is drawn is what was computed, and what was computed is what the bounds say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from csf import ErrorProfile, Study
from csf.bounds import ConeBound, DiagonalBound, SupportLineBound
from csf.plots import ConeDisplay


def complete(trials):
    return [trial for trial in trials if trial.state == "complete"]


def test_artists_show_the_arrays(study):
    display = ConeDisplay.from_study(study)
    told = complete(study.trials)
    np.testing.assert_array_equal(display.points_.get_data(), [[t.t for t in told], [t.value for t in told]])
    np.testing.assert_array_equal(display.envelope_line_.get_data(), [display.levels, display.envelope])
    np.testing.assert_array_equal(display.bound_line_.get_ydata(), [display.best_possible] * 2)
    np.testing.assert_array_equal(display.failed_.get_data(), [[0.5], [0.0]])
    assert display.winner_.get_xdata() == [study.best_trial.t]
    for path, corners in zip(display.cones_.get_paths(), display.cones, strict=True):
        np.testing.assert_array_equal(path.vertices[: len(corners)], corners)


def test_arrays_are_those_of_the_bounds(study):
    display = ConeDisplay.from_study(study, eps=0.01)
    options = {"pos": study.pos, "eps": 0.01}
    bound = ConeBound(study.trials, study.metric, **options)
    np.testing.assert_array_equal(display.envelope, bound.upper_bound(display.levels).clip(0, 1))
    assert display.best_possible == DiagonalBound(study.trials, study.metric, **options).best_possible()
    assert set(display.t) <= set(display.levels)
    for corners, cone in zip(display.cones, zip(*bound.cones), strict=True):
        assert np.abs(corners - cone[:2]).sum(axis=1).min() < 1e-12


def test_metric_without_levels_gets_the_support_line_slices(concave_search):
    display = ConeDisplay.from_estimator(concave_search)
    bound = SupportLineBound(
        concave_search.trials_, concave_search.studies_[0].metric, pos=concave_search.studies_[0].pos
    )
    np.testing.assert_array_equal(display.envelope, bound.upper_bound(display.levels))
    margin = concave_search.bound_margin_
    assert display.best_possible == pytest.approx(bound.best_possible() + margin, abs=1e-12)
    assert display.diagonal_line_ is None
    assert len(display.cones) == 1


def test_cones_of_a_metric_without_levels_are_refused(concave_search):
    with pytest.raises(TypeError, match="linear-fractional"):
        ConeDisplay.from_estimator(concave_search, bound="envelope")


def test_tuned_trials_show_their_best_cut(search):
    display = ConeDisplay.from_estimator(search)
    ends = np.array([segment[1] for segment in display.cuts_.get_segments()])
    np.testing.assert_array_equal(ends, [[t.t, t.attained] for t in complete(search.trials_)])
    np.testing.assert_array_equal(display.points_.get_ydata(), [t.value for t in complete(search.trials_)])
    assert (display.attained >= display.value).all()
    assert display.winner_.get_ydata() == [search.trials_[search.best_index_].attained]


def test_no_point_lies_above_the_best_possible_value(search):
    display = ConeDisplay.from_estimator(search)
    assert display.attained.max() <= display.best_possible + 1e-12


def test_search_over_settings_shows_the_winners(grid_search):
    winner = grid_search.trials_[grid_search.best_index_].setting
    assert winner == 1
    display = ConeDisplay.from_estimator(grid_search)
    other = ConeDisplay.from_estimator(grid_search, setting=1 - winner)
    np.testing.assert_array_equal(display.t, [t.t for t in grid_search.studies_[winner].trials])
    np.testing.assert_array_equal(other.value, [t.value for t in grid_search.studies_[1 - winner].trials])


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


def test_study_without_results_is_refused():
    study = Study("f1", pos=0.2)
    with pytest.raises(ValueError, match="no complete trial with a level"):
        ConeDisplay.from_study(study)


def test_unfitted_search_is_refused(unfitted):
    with pytest.raises(NotFittedError, match="not fitted"):
        ConeDisplay.from_estimator(unfitted)


def test_given_axes_are_used_and_plot_can_be_called_again(study):
    _, axes = plt.subplots(1, 2)
    display = ConeDisplay.from_study(study, ax=axes[0])
    arrays = display.t.copy(), display.envelope.copy()
    assert display.ax_ is axes[0]
    assert display.plot(axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.plot().ax_ not in list(axes)
    np.testing.assert_array_equal(display.t, arrays[0])
    np.testing.assert_array_equal(display.envelope, arrays[1])


def test_labels_can_be_left_out_and_artists_styled(study):
    display = ConeDisplay.from_study(study, labels=False, point_kwargs={"color": "red"}, envelope_kwargs={"lw": 3})
    assert display.labels_ == []
    assert display.points_.get_color() == "red"
    assert display.envelope_line_.get_linewidth() == 3
    assert len(display.plot().labels_) == 5
