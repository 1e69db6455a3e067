"""One line that says what the rest of a long search takes."""

import logging

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from csf import CostSearch
from csf.search import loop as forecast
from csf.search.loop import Forecast

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + RNG.normal(size=80) > 0.8).astype(int)


def ticking(*times):
    ticks = iter(times)
    return Forecast(lambda: next(ticks))


@pytest.mark.parametrize(
    ("times", "left", "is_like_first", "said"),
    [
        ((0.0, 20.0, 40.0), 3, True, [63, None]),
        ((0.0, 20.0, 40.0), 3, False, [None, 63]),
        ((0.0, 5.0, 10.0), 3, True, [None, None]),
        ((0.0, 5.0, 45.0), 3, True, [None, 123]),
        ((0.0, 500.0, 1000.0), 0, True, [None, None]),
    ],
)
def test_what_is_left_is_said_once_where_it_is_long(times, left, is_like_first, said, caplog):
    told = ticking(*times)
    for seconds in said:
        told.add_trial([1.0, 2.0], left=left, is_like_first=is_like_first)
        lines = [record.getMessage() for record in caplog.records if record.name == "csf"]
        caplog.clear()
        assert [line.startswith(f"the search takes {seconds} s more at most") for line in lines] == [True] * (
            seconds is not None
        )
        for line in lines:
            assert all(name in line for name in ("time_limit=", "n_jobs=", "n_trials=", "verbose="))


def test_a_last_training_that_is_long_is_said_too(caplog):
    ticking(0.0, 500.0).add_trial([100.0, 90.0], left=0, is_like_first=True)
    assert "takes 150 s more at most" in caplog.text


@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)])
@pytest.mark.parametrize(
    ("options", "n_lines"), [({}, 1), ({"verbose": 1}, 0), ({"time_limit": 1e6}, 0), ({"n_trials": 1}, 0)], ids=str
)
def test_searches_say_it_unless_a_bar_or_a_limit_does(base, options, n_lines, monkeypatch, caplog):
    """As if each trial took more than half a minute: what is short is any rest with trials in it."""
    monkeypatch.setattr(forecast, "_SHORT", 0.0)
    monkeypatch.setattr(forecast, "LAST", 0.0)
    with caplog.at_level(logging.WARNING, logger="csf"):
        CostSearch(base, param_grid=None, cv=2, **options).fit(X, Y)
    assert sum(record.name == "csf" for record in caplog.records) == n_lines
