"""Strategies whose costs do not depend on results."""

import math

import numpy as np
import pytest
from builders import rates, shares, told
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Study
from csf.metrics import METRICS, FBeta, WeightedAccuracy, get_metric
from csf.strategies import Grid, ImbalanceRatio, Ladder


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
    for strategy in (Grid, Ladder):
        with pytest.raises(error, match="size must be an int >= 1, got"):
            strategy(size).propose([], metric=FBeta(), pos=0.1)


def climbed(pos, size=6, metric="f1"):
    """All trials of a study that only climbs."""
    study = Study(metric, Ladder(size), pos=pos, n_trials=50)
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=ErrorProfile(fn=0.5 * pos, fp=0.1 * (1 - pos), pos=pos))
    assert study.stop_reason.startswith("strategy ladder is done")
    return study.trials


@given(pos=shares, size=st.integers(1, 12))
def test_rungs_are_equal_steps_of_the_logarithm_from_equal_costs_to_balanced_ones(pos, size):
    trials = climbed(pos, size)
    assert len(trials) == size
    assert trials[0].costs == (1.0, 1.0)
    ratios = np.sort([math.log(trial.c_fn / trial.c_fp) for trial in trials])
    balance = math.log((1 - pos) / pos)
    if size > 1:
        top = ratios[np.argmax(np.abs(ratios))]
        assert abs(top) == pytest.approx(max(abs(balance), math.log(3)))
        assert math.copysign(1, top) == math.copysign(1, balance)
        np.testing.assert_allclose(np.diff(ratios), abs(top) / (size - 1))
        assert trials[1].c_fn / trials[1].c_fp == pytest.approx(math.exp(top))


@given(pos=shares)
def test_a_search_that_ends_early_has_seen_the_whole_range(pos):
    seen = [abs(math.log(trial.c_fn / trial.c_fp)) for trial in climbed(pos, 9)]
    top = max(seen)
    for k, largest_step in ((2, 1.0), (3, 0.5), (5, 0.26)):
        steps = np.diff(np.sort(seen[:k])) / top
        assert steps.max() <= largest_step + 1e-9


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("pos", [0.01, 0.4, 0.8])
def test_a_level_is_named_where_the_metric_has_one_with_these_costs(name, pos):
    metric = get_metric(name)
    for trial in climbed(pos, metric=name):
        if trial.t is not None:
            c_fn, c_fp = metric.cost_weights(trial.t, pos=pos)
            assert c_fn * trial.c_fp == pytest.approx(c_fp * trial.c_fn)


def test_levels_of_f1_reach_from_the_best_value_to_that_of_predicting_everything():
    levels = [trial.t for trial in climbed(0.1)]
    assert levels[0] is None  # F1 = 1 is the end of the range
    # Balanced costs belong to F1 = 2 pos, a little above the value of predicting everything.
    assert min(levels[1:]) == levels[1] == pytest.approx(0.2)


@pytest.mark.parametrize("name", METRICS)
@given(pos=shares)
def test_costs_are_the_shares_turned_round(name, pos):
    metric = get_metric(name)
    t, c_fn, c_fp = ImbalanceRatio().propose([], metric=metric, pos=pos)
    assert (c_fn, c_fp) == (1.0 - pos, pos)
    # Weighted by them, both classes count the same: predicting either one everywhere costs the same.
    assert c_fn * pos == pytest.approx(c_fp * (1.0 - pos))
    if t is not None:
        a_fn, a_fp = metric.cost_weights(t, pos=pos)
        assert a_fn * c_fp == pytest.approx(a_fp * c_fn, rel=1e-6)


@given(pos=shares, fnr=rates)
def test_it_is_one_trial(pos, fnr):
    assert ImbalanceRatio().propose([told(0, 0.5, fnr, 0.1, pos=pos)], metric=get_metric("f1"), pos=pos) is None


@pytest.mark.parametrize("name", ["f1", "f2", "recall", "gmean", "accuracy"])
@pytest.mark.parametrize("pos", [1e-6, 0.1, 0.7])
def test_a_study_trains_once(name, pos):
    study = Study(name, "imbalance_ratio", pos=pos, n_trials=5)
    trial = study.ask()
    assert trial.costs == (1.0 - pos, pos)
    study.tell(trial, profile=ErrorProfile(fn=0.5 * pos, fp=0.1 * (1 - pos), pos=pos))
    assert study.ask() is None
    assert study.stop_reason == "strategy imbalance_ratio is done"
    assert 0 <= study.gap <= 1


def test_whether_settings_race_is_true_or_false():
    with pytest.raises(TypeError, match="race must be True or False, got 'no'"):
        Ladder(race="no")
