"""The picture of a monitor."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.plots import MonitorDisplay


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
    import matplotlib.pyplot as plt

    ax = plt.subplots()[1]
    assert monitor.plot(ax).ax_ is ax
    empty = monitor.search.monitor("f1 >= 0.4").plot()
    assert empty.alarm is None
    assert not np.size(empty.ax_.get_lines()[0].get_ydata())


def test_evidence_beyond_all_doubt_leaves_the_line_of_the_alarm_in_sight(monitor):
    display = monitor.plot()
    display.evidence = np.geomspace(1.0, 1e180, 12)
    axes = display.plot().figure_.axes
    low, high = axes[-1].get_ylim()
    assert low < 1.0 < high <= 1e5
