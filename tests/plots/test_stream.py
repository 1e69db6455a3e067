"""StreamDisplay: curves of learners along a stream."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest

from csf.metrics import get_metric
from csf.plots import StreamDisplay
from csf.streams import PrequentialResult


def result(seed, n_records=20, *, metric="f1", window=None):
    rng = np.random.default_rng(seed)
    n = 10 * np.arange(1, n_records + 1)
    counts = rng.multinomial(10, [0.3, 0.1, 0.2, 0.4], n_records).cumsum(axis=0)
    return PrequentialResult(n, rng.random(n_records).cumsum(), counts, 10, get_metric(metric), window)


@pytest.fixture
def results():
    return {"first": result(0, window=50), "second": result(1, 15)}


@pytest.mark.parametrize("against", ["examples", "seconds"])
def test_lines_show_the_curves(results, against):
    display = StreamDisplay.from_results(results, metric="gmean", against=against)
    for line, (name, one) in zip(display.lines_, results.items(), strict=True):
        x = one.n_examples if against == "examples" else one.seconds
        np.testing.assert_array_equal(line.get_data(), [x, one.curve("gmean", window=50)])
        np.testing.assert_array_equal(display.curves[name], line.get_data())
        assert line.get_label() == name
    assert against in display.ax_.get_xlabel()
    assert display.ax_.get_ylabel() == "gmean of the last 50 examples"


def test_metric_and_window_are_those_of_the_first_result(results):
    display = StreamDisplay.from_results(results)
    np.testing.assert_array_equal(display.curves["first"][1], results["first"].values)
    np.testing.assert_array_equal(display.curves["second"][1], results["second"].curve("f1", window=50))


def test_window_0_is_everything(results):
    display = StreamDisplay.from_results(results, window=0)
    np.testing.assert_array_equal(display.curves["first"][1], results["first"].curve("f1"))
    assert display.ax_.get_ylabel() == "f1"


def test_labels_say_the_last_values_and_do_not_hide_each_other(results):
    from csf.plots._style import extent

    display = StreamDisplay.from_results(results | {f"{i}": results["first"] for i in range(8)}, window=0)
    ends = [one.curve("f1")[-1] for one in results.values()]
    assert [note.get_text() for note in display.labels_[:2]] == [f"first {ends[0]:.3f}", f"second {ends[1]:.3f}"]
    display.figure_.canvas.draw()
    boxes = sorted((extent(note) for note in display.labels_), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 2 for low, high in itertools.pairwise(boxes))


def test_gaps_and_single_points_are_borne():
    n = np.array([10, 20])
    gap = StreamDisplay(curves={"a": (n, np.array([np.nan, 0.5])), "b": (n, np.array([np.nan, np.nan]))}).plot()
    assert [note.get_text() for note in gap.labels_] == ["a 0.500"]
    assert gap.lines_[0].get_marker() == "o"
    assert StreamDisplay(curves={"b": (n, np.array([np.nan, np.nan]))}).plot().labels_ == []


def test_given_axes_and_styles_are_used(results):
    ax = plt.subplots()[1]
    display = StreamDisplay.from_results(results, ax=ax, line_kwargs={"lw": 4})
    assert display.ax_ is ax
    assert {line.get_linewidth() for line in display.lines_} == {4}
    assert display.plot().ax_ is not ax


def test_bad_arguments_are_refused(results):
    with pytest.raises(ValueError, match=r"against must be one of \('examples', 'seconds'\), got 'hours'"):
        StreamDisplay.from_results(results, against="hours")
    with pytest.raises(ValueError, match="there is no result to draw"):
        StreamDisplay.from_results({})
