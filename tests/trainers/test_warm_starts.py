"""Which states are kept and handed on."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from csf.solvers import Solution
from csf.trainers.base import WarmStarts


def test_families_are_kept_apart():
    starts = WarmStarts()
    starts.add("svm", (0.0, 0.0), "a")
    starts.add("logistic", (0.0, 0.0), "b")
    assert starts.nearest("svm", (5.0, 5.0)) == ["a"]
    assert starts.nearest("other", (0.0, 0.0)) == []


def test_equally_near_ones_come_latest_first():
    starts = WarmStarts()
    for name in "abc":
        starts.add("svm", (1.0,), name)
    assert starts.nearest("svm", (1.0,)) == ["c", "b", "a"]


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), max_size=60), st.floats(-10, 10))
def test_the_nearest_of_the_latest_are_given_in_order(places, at):
    starts = WarmStarts()
    for number, place in enumerate(places):
        starts.add("svm", place, (number, place))
    given_states = starts.nearest("svm", (at, at))
    distances = [abs(x - at) + abs(y - at) for _, (x, y) in given_states]
    assert distances == sorted(distances)
    assert len(given_states) == min(6, len(places))
    kept = [np.abs(np.subtract(place, at)).sum() for place in places[-24:]]
    assert distances == sorted(kept)[:6]
    assert all(number >= len(places) - 24 for number, _ in given_states)


def test_large_states_are_kept_in_smaller_numbers():
    """Solutions of many classes with many features: their arrays count, wherever in a state they are."""
    starts = WarmStarts()
    for number in range(10):
        solution = Solution(np.zeros(1_000_000), 1.0, 0.0, 1, margins=None)
        starts.add("logistic", (float(number),), tuple((np.zeros(2), part) for part in [solution] * 2))
    assert [int(state[0][1].w.size) for state in starts.nearest("logistic", (0.0,))] == [1_000_000] * 4
    for number in range(5):
        starts.add("logistic", (float(number),), (np.zeros(10_000_000),))
    assert len(starts.nearest("logistic", (0.0,))) == 3
