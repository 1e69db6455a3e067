"""BoundComparisonDisplay: regions, areas and violations of several bounds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import trapezoid

from csf import ErrorProfile, Study
from csf.bounds import BOUNDS, ConeBound, get_bound
from csf.plots import BoundComparisonDisplay


@pytest.mark.parametrize("eps", [0.0, "evidence"])
def test_panels_show_the_regions_of_their_bounds(study, eps):
    display = BoundComparisonDisplay.from_study(study, bounds=list(BOUNDS), eps=eps)
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
    display = BoundComparisonDisplay.from_study(study)
    assert display.displays_[0].best_possible == 1.0  # by Parambath et al.
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    assert display.axes_[0].get_ylim()[1] < 0.7


def test_panels_have_their_titles(study):
    display = BoundComparisonDisplay.from_study(study)
    titles = [ax.get_title().split(":")[0] for ax in display.axes_]
    assert titles == display.names == ["Parambath et al.", "cones", "support lines"]


def test_a_bound_of_ones_own_is_named_by_its_class(study):
    class Mine(ConeBound):
        """Somebody's own."""

    assert BoundComparisonDisplay.from_study(study, bounds=[Mine]).names == ["Mine"]


def test_metric_without_levels_has_the_support_lines_alone(concave_search):
    assert BoundComparisonDisplay.from_estimator(concave_search).names == ["support lines"]


def test_given_axes_are_used_and_plot_can_be_called_again(study):
    _, axes = plt.subplots(2, 2)
    display = BoundComparisonDisplay.from_study(study, bounds=list(BOUNDS), axes=axes)
    assert display.axes_.tolist() == axes.ravel().tolist()
    assert display.plot().axes_[0] is not axes[0, 0]
    assert display.displays_[0].ax_ is display.axes_[0]


def test_wrong_number_of_axes_is_refused(study):
    axes = plt.subplots(1, 2)[1]
    with pytest.raises(ValueError, match="one of the 3 bounds each, got 2"):
        BoundComparisonDisplay.from_study(study, axes=axes)
