"""Grid: middles of equal parts, in order, whatever was tried."""

import numpy as np
import pytest
from builders import shares, told
from hypothesis import given
from hypothesis import strategies as st

from csf import Study
from csf.metrics import FBeta, WeightedAccuracy, get_metric
from csf.strategies import Grid


@pytest.mark.parametrize("metric", [FBeta(), get_metric("gmean"), WeightedAccuracy(3.0, 1.0)])
@given(size=st.integers(1, 40), pos=shares)
def test_levels_are_the_middles_of_equal_parts(metric, size, pos):
    lo, hi = metric.range(pos)
    trials = []
    while (t := Grid(size).propose(trials, metric=metric, pos=pos)) is not None:
        trials.append(told(len(trials), t, 0.5, 0.5, pos=pos, metric=metric))
    middles = lo + (np.arange(size) + 0.5) * (hi - lo) / size
    assert [trial.t for trial in trials] == pytest.approx(middles)


@given(tried=st.sets(st.integers(0, 9)), pos=shares)
def test_levels_that_were_tried_are_left_out(tried, pos):
    trials = [told(i, (j + 0.5) / 10, 0.5, 0.5, pos=pos) for i, j in enumerate(sorted(tried))]
    left = sorted(set(range(10)) - tried)
    t = Grid(10).propose(trials, metric=FBeta(), pos=pos)
    assert t == (pytest.approx((left[0] + 0.5) / 10) if left else None)


def test_size_is_the_budget_unless_given():
    assert Grid().with_budget(7) == Grid(size=7)
    assert Grid(3).with_budget(7) == Grid(3)
    study = Study("f1", "grid", pos=0.1, n_trials=4)
    assert [trial.t for trial in study.ask_batch()] == pytest.approx([0.125, 0.375, 0.625, 0.875])
    assert Grid().propose([], metric=FBeta(), pos=0.1) == pytest.approx(0.05)
    assert [Grid(3).most_trials(7), Grid(9).most_trials(7), Grid().most_trials(7)] == [3, 7, 7]


@pytest.mark.parametrize(
    ("size", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), ("5", TypeError), (True, TypeError)]
)
def test_size_is_a_count(size, error):
    with pytest.raises(error, match="size must be an int >= 1, got"):
        Grid(size).propose([], metric=FBeta(), pos=0.1)
