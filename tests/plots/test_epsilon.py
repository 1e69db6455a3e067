"""BoundEpsilonDisplay: bounds against the excess of the trained models."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from csf.bounds import BOUNDS, ConeBound, get_bound
from csf.plots import BoundEpsilonDisplay

EPS = [0.0, 0.002, 0.01]


def test_lines_show_the_bounds(study):
    display = BoundEpsilonDisplay.from_study(study, eps=EPS, bounds=list(BOUNDS))
    for line, heights, name in zip(display.lines_, display.best_possible, BOUNDS, strict=True):
        np.testing.assert_array_equal(line.get_data(), [EPS, heights])
        expected = [get_bound(name)(study.trials, study.metric, pos=study.pos, eps=e).best_possible() for e in EPS]
        np.testing.assert_array_equal(heights, expected)


def test_bounds_rise_with_the_excess(search):
    display = BoundEpsilonDisplay.from_estimator(search)
    assert display.eps[0] == 0.0
    assert (np.diff(display.best_possible, axis=1) >= -1e-9).all()


def test_excess_is_shown_in_samples(study):
    display = BoundEpsilonDisplay.from_study(study, eps=EPS, n_samples=500)
    np.testing.assert_allclose(display.lines_[0].get_xdata(), [0.0, 1.0, 5.0])
    np.testing.assert_array_equal(display.eps, EPS)
    assert display.ax_.get_xlabel().endswith("in samples")


def test_largest_excess_and_best_value_seen_are_marked(search):
    display = BoundEpsilonDisplay.from_estimator(search, n_samples=280)
    excess = ConeBound(search.trials_, search.studies_[0].metric, pos=search.studies_[0].pos, eps="evidence").excess()
    assert display.evidence == pytest.approx(excess.max())
    np.testing.assert_allclose(display.evidence_line_.get_xdata(), 280 * excess.max())
    np.testing.assert_array_equal(display.attained_line_.get_ydata(), max(t.attained for t in search.trials_))


def test_metric_without_levels_has_the_support_lines_alone(concave_search):
    assert BoundEpsilonDisplay.from_estimator(concave_search).names == ["support lines"]


def test_given_axes_are_used_and_plot_can_be_called_again(study):
    ax = plt.subplots()[1]
    display = BoundEpsilonDisplay.from_study(study, ax=ax)
    assert display.ax_ is ax
    assert display.plot(line_kwargs={"lw": 4}).ax_ is not ax
    assert display.lines_[0].get_linewidth() == 4
