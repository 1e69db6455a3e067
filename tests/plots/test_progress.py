"""Values as they change: bounds trial by trial, learners along a stream, a monitor batch by batch."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch, Study
from csf.bounds import get_bound
from csf.metrics import get_metric
from csf.plots import MonitorDisplay, ProgressDisplay, StreamDisplay
from csf.streams import PrequentialResult


def test_lines_show_every_beginning_of_the_study(study):
    names = ["envelope", "support", "parambath"]
    display = ProgressDisplay.from_study(study, bounds=names, eps=0.0)
    np.testing.assert_array_equal(display.n_trials, np.arange(1, 7))
    for line, heights, name in zip(display.bound_lines_, display.best_possible, names, strict=True):
        np.testing.assert_array_equal(line.get_data(), [display.n_trials, heights])
        bounds = [get_bound(name)(study.trials[:n], study.metric, pos=study.pos, eps=0.0) for n in display.n_trials]
        np.testing.assert_array_equal(heights, [bound.best_possible() for bound in bounds])


def test_best_value_starts_after_failures_and_never_falls(study):
    display = ProgressDisplay.from_study(study, line_kwargs={"c": "red"}, bound_kwargs={"lw": 4})
    attained = [t.attained for t in study.trials if t.attained is not None]
    assert np.isnan(display.attained[0])
    np.testing.assert_array_equal(display.attained[1:], np.maximum.accumulate(attained))
    np.testing.assert_array_equal(display.line_.get_ydata(), display.attained)
    assert (display.names, display.best_possible[0, -1]) == (["upper bound"], study.upper_bound)
    assert (display.line_.get_color(), display.bound_lines_[0].get_linewidth()) == ("red", 4)
    single = Study("f1", pos=0.2, n_trials=1)
    single.tell(single.ask(), profile=study.trials[1].profile)
    assert ProgressDisplay.from_study(single).n_trials.tolist() == [1]


def test_end_of_the_lines_is_what_the_search_reports(search):
    display = ProgressDisplay.from_estimator(search, bounds=["support"])
    bound = search.upper_bound_ - search.bound_margin_
    assert display.best_possible[0, -1] == pytest.approx(bound, abs=1e-12)
    gap = search.gap_ - search.bound_margin_
    assert display.best_possible[0, -1] - display.attained[-1] == pytest.approx(gap, abs=1e-12)
    assert [note.get_text() for note in display.labels_] == [
        f"best seen {display.attained[-1]:.3f}",
        f"support lines {bound:.3f}",
    ]


def test_one_bound_by_default_that_of_the_search(concave_search, grid_search):
    """With the margin that the search has, over the trials of all settings."""
    for search in (concave_search, grid_search):
        display = ProgressDisplay.from_estimator(search)
        assert display.names == ["upper bound"]
        assert display.n_trials[-1] == search.n_trials_
        assert display.best_possible[0, -1] == search.upper_bound_
        assert (display.best_possible[0] >= display.attained).all()
        assert display.labels_[1].get_text() == f"upper bound {search.upper_bound_:.3f}"


def test_a_reference_is_drawn_and_named(search):
    display = ProgressDisplay.from_estimator(search, reference=0.75)
    np.testing.assert_array_equal(display.reference_line_.get_ydata(), [0.75, 0.75])
    assert display.labels_[-1].get_text() == "reference 0.750"
    low, high = display.ax_.get_ylim()
    assert low < 0.75 < high
    assert ProgressDisplay.from_estimator(search).reference_line_ is None


def result(seed, n_records=20, *, metric="f1", window=None):
    rng = np.random.default_rng(seed)
    n = 10 * np.arange(1, n_records + 1)
    counts = rng.multinomial(10, [0.3, 0.1, 0.2, 0.4], n_records).cumsum(axis=0)
    return PrequentialResult(n, rng.random(n_records).cumsum(), counts, 10, get_metric(metric), window)


@pytest.fixture
def results():
    return {"first": result(0, window=50), "second": result(1, 15)}


@pytest.mark.parametrize(
    ("against", "metric", "window", "label"),
    [
        *(("examples", "gmean", None, "gmean of the last 50 examples"), ("seconds", "gmean", 0, "gmean")),
        *(("examples", None, None, "f1 of the last 50 examples"), ("seconds", None, 0, "f1")),
    ],
)
def test_lines_show_the_curves_by_the_metric_and_window_of_the_first_result(results, against, metric, window, label):
    ax = plt.subplots()[1]
    options = {"metric": metric, "window": window, "against": against, "line_kwargs": {"lw": 4}}
    display = StreamDisplay.from_results(results, ax=ax, **options)
    for line, (name, one) in zip(display.lines_, results.items(), strict=True):
        x = one.n_examples if against == "examples" else one.seconds
        expected = one.curve(metric or "f1", window=50 if window is None else None)
        np.testing.assert_array_equal(line.get_data(), [x, expected])
        np.testing.assert_array_equal(display.curves[name], line.get_data())
        assert (line.get_label(), line.get_linewidth()) == (name, 4)
    assert against in display.ax_.get_xlabel()
    assert display.ax_.get_ylabel() == label
    assert display.ax_ is ax is not display.plot().ax_


def test_labels_say_the_last_values_and_do_not_hide_each_other(results, study):
    from csf.plots.drawing import extent

    display = StreamDisplay.from_results(results | {f"{i}": results["first"] for i in range(8)}, window=0)
    ends = [one.curve("f1")[-1] for one in results.values()]
    assert [note.get_text() for note in display.labels_[:2]] == [f"first {ends[0]:.3f}", f"second {ends[1]:.3f}"]
    for drawn in (display, ProgressDisplay.from_study(study, bounds=["support", "support", "diagonal", "envelope"])):
        drawn.figure_.canvas.draw()
        boxes = sorted((extent(note) for note in drawn.labels_), key=lambda box: box.y0)
        assert all(low.y1 <= high.y0 + 2 for low, high in itertools.pairwise(boxes))


def test_gaps_and_single_points_are_borne():
    n = np.array([10, 20])
    gap = StreamDisplay(curves={"a": (n, np.array([np.nan, 0.5])), "b": (n, np.array([np.nan, np.nan]))}).plot()
    assert [note.get_text() for note in gap.labels_] == ["a 0.500"]
    assert gap.lines_[0].get_marker() == "o"
    assert StreamDisplay(curves={"b": (n, np.array([np.nan, np.nan]))}).plot().labels_ == []


def test_bad_arguments_are_refused(results):
    with pytest.raises(ValueError, match=r"against must be one of \('examples', 'seconds'\), got 'hours'"):
        StreamDisplay.from_results(results, against="hours")
    with pytest.raises(ValueError, match="there is no result to draw"):
        StreamDisplay.from_results({})


def test_of_several_models_it_shows_where_each_begins_and_when_it_was_dropped():
    X, y = make_classification(400, 5, n_redundant=0, weights=[0.8], class_sep=2.0, flip_y=0.02, random_state=0)
    blind = make_pipeline(FunctionTransformer(np.zeros_like), DecisionTreeClassifier())
    search = CostSearch({"good": LogisticRegression(), "blind": blind}, random_state=0).fit(X, y)
    display = ProgressDisplay.from_estimator(search)
    assert display.models == {"good": 2, "blind: dropped after 4 of 8 folds": 1}
    assert set(display.models) <= {text.get_text() for text in display.ax_.texts}
    assert ProgressDisplay.from_estimator(search, setting=0).models == {}


@pytest.fixture(scope="module")
def monitor():
    X, y = make_classification(900, weights=[0.8], random_state=0)
    search = CostSearch(LogisticRegression(), n_trials=2, param_grid=None, cv=3, threshold="tune").fit(X, y)
    monitor = search.monitor("f1 >= 0.5")
    for week in range(12):
        found = search.predict(X)
        monitor.update(y if week < 6 else np.roll(y, 1), found, name=f"week {week}")
    return monitor


def test_it_shows_what_the_monitor_knows(monitor):
    display = monitor.plot()
    assert isinstance(display, MonitorDisplay)
    assert display.names == [f"week {week}" for week in range(12)]
    assert display.alarm == monitor.alarm == "week 6"
    (values, level) = display.ax_.get_lines()[:2]
    np.testing.assert_allclose(values.get_ydata(), [value for _, value, _ in monitor.history])
    assert set(level.get_ydata()) == {0.5}
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["level 0.5", "lost since week 6"]


def test_it_draws_where_it_is_told_and_before_any_batch(monitor):
    ax = plt.subplots()[1]
    assert monitor.plot(ax).ax_ is ax
    empty = monitor.search.monitor("f1 >= 0.4").plot()
    assert empty.alarm is None
    assert not np.size(empty.ax_.get_lines()[0].get_ydata())


def test_batches_that_wait_have_no_value_yet(monitor):
    waiting = monitor.search.monitor("f1 >= 0.5")
    waiting.update([0, 1, 1], [0, 1, 0])
    for week in (2, 3):
        waiting.expect([0, 1], rows=[10 * week, 10 * week + 1], name=f"week {week}")
    display = waiting.plot()
    assert display.names == ["1", "week 2", "week 3"]
    assert (display.n_waiting, np.isnan(display.values).tolist()) == (2, [False, True, True])
    assert "2 without all labels" in [text.get_text() for text in display.ax_.texts]


def test_evidence_beyond_all_doubt_leaves_the_line_of_the_alarm_in_sight(monitor):
    display = monitor.plot()
    display.evidence = np.geomspace(1.0, 1e180, 12)
    axes = display.plot().figure_.axes
    low, high = axes[-1].get_ylim()
    assert low < 1.0 < high <= 1e5
