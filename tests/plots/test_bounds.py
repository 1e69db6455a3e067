"""What several bounds rule out, and the plane of error profiles: what is drawn is what the bounds say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import trapezoid

from csf import ErrorProfile, Study
from csf.bounds import BOUNDS, ConeBound, SupportLineBound, get_bound, known_profiles
from csf.plots import BoundComparisonDisplay, ErrorProfileDisplay


@pytest.mark.parametrize("eps", [0.0, "evidence"])
def test_panels_show_the_regions_of_their_bounds(study, eps):
    display = BoundComparisonDisplay.from_study(study, bounds=list(BOUNDS), eps=eps, labels=False)
    for drawn, name, area, violations in zip(display.displays_, BOUNDS, display.area, display.violations, strict=True):
        bound = get_bound(name)(study.trials, study.metric, pos=study.pos, eps=eps)
        heights = drawn.envelope_line_.get_ydata()
        np.testing.assert_array_equal(heights, np.clip(bound.upper_bound(drawn.levels), 0, 1))
        # The region is what lies above the bound.
        assert area == pytest.approx(trapezoid(1 - heights, drawn.levels), abs=5e-3)
        assert violations == sum(t.value > bound.upper_bound([t.t])[0] + 1e-9 for t in study.trials if t.value)


def test_violations_are_counted_and_told(search):
    display = BoundComparisonDisplay.from_estimator(search, bounds=["envelope"], eps=0.0)
    trials, metric, pos = search.trials_, search.studies_[0].metric, search.studies_[0].pos
    above = [t.value > ConeBound(trials, metric, pos=pos, eps=0.0).upper_bound([t.t])[0] + 1e-9 for t in trials]
    assert display.violations.tolist() == [sum(above)]
    assert (" inside" in display.axes_[0].get_title()) == any(above)


def test_all_panels_have_the_scale_that_shows_low_values():
    study = Study("f1", pos=0.02, n_trials=3)
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=ErrorProfile(fn=0.012, fp=0.05, pos=0.02))
    display = BoundComparisonDisplay.from_study(study, labels=False)
    assert display.displays_[0].best_possible == 1.0  # by Parambath et al.
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    assert display.axes_[0].get_ylim()[1] < 0.7


def test_panels_use_given_axes_and_can_be_drawn_again(study):
    _, axes = plt.subplots(2, 2)
    display = BoundComparisonDisplay.from_study(study, bounds=list(BOUNDS), axes=axes, labels=False)
    assert display.axes_.tolist() == axes.ravel().tolist()
    assert display.plot(labels=False).axes_[0] is not axes[0, 0]
    assert display.displays_[0].ax_ is display.axes_[0]
    with pytest.raises(ValueError, match="one of the 3 bounds each, got 2"):
        BoundComparisonDisplay.from_study(study, axes=axes[0])


@pytest.mark.slow
def test_panels_have_the_names_of_their_bounds(study, concave_search):
    class Mine(ConeBound):
        """Somebody's own."""

    display = BoundComparisonDisplay.from_study(study, labels=False)
    titles = [ax.get_title().split(":")[0] for ax in display.axes_]
    assert titles == display.names == ["Parambath et al.", "cones", "support lines"]
    assert BoundComparisonDisplay.from_study(study, bounds=[Mine]).names == ["Mine"]
    assert BoundComparisonDisplay.from_estimator(concave_search).names == ["support lines"]


def xy(line):
    return np.column_stack(line.get_data())


@pytest.mark.parametrize("rates", [True, False])
def test_artists_show_the_arrays_as_rates_or_shares(study, rates):
    style = {"point_kwargs": {"c": "red"}, "line_kwargs": {"lw": 3}}
    display = ErrorProfileDisplay.from_study(study, rates=rates, labels=False, **style)
    assert display.labels_ == []
    assert (display.points_.get_color(), display.support_lines_.get_linewidth()) == ("red", [3])
    assert display.values[5, 3] == study.metric.value(display.grid_fn[3], display.grid_fp[5], pos=0.2)
    told = [t for t in study.trials if t.state == "complete"]
    unit = [0.2, 0.8] if rates else [1.0, 1.0]
    np.testing.assert_array_equal(display.profiles, [(t.profile.fn, t.profile.fp) for t in told])
    np.testing.assert_allclose(xy(display.points_) * unit, display.profiles)
    np.testing.assert_allclose(xy(display.known_line_) * unit, known_profiles(told).points)
    np.testing.assert_allclose(np.array(display.support_lines_.get_segments()) * unit, display.lines)
    np.testing.assert_allclose(xy(display.possible_line_) * unit, display.possible)
    np.testing.assert_allclose(xy(display.winner_)[0] * unit, display.winner)
    best = study.best_trial.profile
    assert display.winner == (best.fn, best.fp)
    assert ("rate" in display.ax_.get_xlabel()) == rates


def test_the_winner_stands_where_its_best_cut_is_and_the_bound_is_that_of_the_search(search, concave_search):
    display = ErrorProfileDisplay.from_estimator(search)
    metric, winner = search.studies_[0].metric, search.trials_[search.best_index_]
    assert metric.value(*display.winner, pos=display.pos) == pytest.approx(winner.attained)
    assert ErrorProfileDisplay.from_estimator(concave_search).best_possible == concave_search.upper_bound_
    assert (np.array(display.winner) < display.window).all()
    ends = [display.ax_.get_xlim()[1], display.ax_.get_ylim()[1]]
    np.testing.assert_allclose(ends, np.array(display.window) / [display.pos, 1 - display.pos])


def test_no_known_profile_lies_where_none_is_expected(search):
    display = ErrorProfileDisplay.from_estimator(search)
    edge = np.interp(display.known[:, 0], *display.possible.T)
    assert (display.known[:, 1] >= edge - 1e-9).all()


def test_support_lines_pass_through_their_cheapest_profiles(search):
    display = ErrorProfileDisplay.from_estimator(search)
    for trial, ends in zip(search.trials_, display.lines, strict=True):
        cheapest = known_profiles(search.trials_).cheapest(*trial.costs)
        np.testing.assert_allclose(ends @ trial.costs, cheapest)
        assert (ends >= -1e-9).all()
        assert (ends <= np.array([display.pos, 1 - display.pos]) + 1e-9).all()


def test_best_contour_touches_the_possible_profiles(search):
    display = ErrorProfileDisplay.from_estimator(search, rates=False)
    metric, pos = search.studies_[0].metric, search.studies_[0].pos
    bound = SupportLineBound(search.trials_, metric, pos=pos)
    assert display.best_possible == bound.best_possible()
    np.testing.assert_array_equal(display.possible, bound.chain_)
    corners = np.concatenate(display.best_contour_.allsegs[0])
    np.testing.assert_allclose(metric.value(*corners.T, pos=pos), display.best_possible, atol=1e-3)


@pytest.mark.parametrize(("fn", "fp"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.8)])
def test_extreme_profiles(fn, fp):
    study = Study("f1", pos=0.2, n_trials=1)
    study.tell(study.ask(), profile=ErrorProfile(fn=fn, fp=fp, pos=0.2))
    display = ErrorProfileDisplay.from_study(study)
    display.figure_.canvas.draw()
    assert display.profiles.tolist() == [[fn, fp]]
    assert (display.best_contour_ is None) == (display.best_possible in (0.0, 1.0))
