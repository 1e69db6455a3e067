"""CriticalDifferenceDisplay."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notebooks.experiments.critical_difference import CriticalDifferenceDisplay
from notebooks.experiments.statistics import rank_methods

NAMES = ["grid", "cone", "plain", "support", "pooled"]


def display(ranks=(3.0, 1.2, 4.6, 2.0, 4.2), difference=1.0, **options):
    return CriticalDifferenceDisplay(names=NAMES, ranks=ranks, critical_difference=difference, **options)


@given(ranks=st.lists(st.floats(1.0, 9.0), min_size=1, max_size=9), difference=st.floats(0.0, 9.0))
def test_groups_are_the_largest_ones_within_the_difference(ranks, difference):
    names = [f"m{at}" for at in range(len(ranks))]
    rank = dict(zip(names, ranks))
    found = CriticalDifferenceDisplay(names=names, ranks=ranks, critical_difference=difference).groups()
    for group in found:
        assert rank[group[-1]] <= rank[group[0]] + difference
        assert not any(set(group) < set(other) for other in found)
    together = {frozenset(pair) for group in found for pair in itertools.combinations(group, 2)}
    close = {
        frozenset(pair)
        for pair in itertools.combinations(names, 2)
        if max(rank[name] for name in pair) <= min(rank[name] for name in pair) + difference
    }
    assert together == close


def test_picture_shows_ranks_names_and_groups():
    drawn = display(highlight=["cone"]).plot()
    assert [line.get_xdata()[0] for line in drawn.lines_] == drawn.ranks.tolist()
    assert [note.get_text() for note in drawn.labels_][1:3] == ["cone  1.20", "4.60  plain"]
    assert [note.get_fontweight() for note in drawn.labels_] == ["normal", "bold", "normal", "normal", "normal"]
    assert drawn.groups() == [("cone", "support"), ("support", "grid"), ("pooled", "plain")]
    ends = [(bar.get_xdata()[0], bar.get_xdata()[-1]) for bar in drawn.bars_]
    np.testing.assert_allclose(ends, [(1.2, 2.0), (2.0, 3.0), (4.2, 4.6)], atol=0.1)
    unknown = display(difference=np.nan).plot()
    assert unknown.groups() == unknown.bars_ == []


def test_names_do_not_hide_each_other():
    names = [f"method number {at}" for at in range(15)]
    ranks = np.linspace(1.0, 9.0, 15) ** 1.1
    drawn = CriticalDifferenceDisplay(names=names, ranks=ranks, critical_difference=4.0).plot()
    drawn.figure_.canvas.draw()
    boxes = [note.get_window_extent() for note in drawn.labels_]
    assert not any(first.overlaps(second) for first, second in itertools.combinations(boxes, 2))


def test_ranking_of_the_experiments_is_drawn_on_given_axes():
    ranking = rank_methods(NAMES, np.random.default_rng(0).random((6, 5)))
    ax = plt.subplots()[1]
    drawn = CriticalDifferenceDisplay.from_ranking(ranking, ax=ax)
    assert drawn.ax_ is ax
    np.testing.assert_array_equal(drawn.ranks, ranking.ranks)
    assert drawn.plot(line_kwargs={"lw": 3}, bar_kwargs={"c": "red"}).ax_ is not ax
    assert drawn.lines_[0].get_linewidth() == 3
    assert {bar.get_color() for bar in drawn.bars_} <= {"red"}


@pytest.mark.parametrize("ranks", [(1.0, 2.0), (1.0, 2.0, 3.0, 4.0, np.nan)])
def test_wrong_ranks_are_refused(ranks):
    with pytest.raises(ValueError, match="ranks must be 5 finite numbers"):
        display(ranks=ranks)
