"""BoundEpsilonDisplay: bounds against the excess of the trained models."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from builders import paper_search
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from csf import ErrorProfile, Study
from csf.bounds import BOUNDS, ConeBound, get_bound
from notebooks.experiments.bound_excess import BoundEpsilonDisplay

EPS = [0.0, 0.002, 0.01]
DATA = make_classification(400, 6, weights=[0.85], class_sep=0.7, flip_y=0.05, random_state=0)


@pytest.fixture
def study():
    """Five told trials and a failed one, of a study on F1."""
    study = Study("f1", pos=0.2, n_trials=6)
    study.fail(study.ask(), "no memory")
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=ErrorProfile(fn=0.04 + 0.1 * trial.t, fp=0.02 / (0.2 + trial.t), pos=0.2))
    return study


def searched(metric, data=DATA, **options):
    options = {"n_trials": 4, "cv": 0.3, "random_state": 0} | options
    return paper_search(LinearSVC(dual=False), metric, **options).fit(*data)


@pytest.fixture(scope="module")
def search():
    return searched("f1", bound_on="train")


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


def test_metric_without_levels_has_the_support_lines_alone():
    assert BoundEpsilonDisplay.from_estimator(searched("gmean")).names == ["support lines"]


def test_given_axes_are_used_and_plot_can_be_called_again(study):
    ax = plt.subplots()[1]
    display = BoundEpsilonDisplay.from_study(study, ax=ax)
    assert display.ax_ is ax
    assert display.plot(line_kwargs={"lw": 4}).ax_ is not ax
    assert display.lines_[0].get_linewidth() == 4


def test_what_has_nothing_to_show_says_so():
    with pytest.raises(ValueError, match="no complete trial to bound anything with"):
        BoundEpsilonDisplay.from_study(Study("f1", pos=0.2))
    noise = np.random.default_rng(0).integers(0, 2, size=(400, 3)).astype(float), DATA[1]
    with pytest.warns(UserWarning, match="no trial satisfies"):
        infeasible = searched("recall", noise, constraint="precision >= 0.99")
    display = BoundEpsilonDisplay.from_estimator(infeasible)
    assert np.isnan(display.attained)
    texts = [note.get_text() for note in display.labels_]
    assert "no trial satisfies the constraint" in texts
    assert not any("best seen" in text for text in texts)
