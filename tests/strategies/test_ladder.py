"""The ladder of cost ratios: equal costs first, balanced ones second, the rest in between."""

import math

import numpy as np
import pytest
from builders import shares
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Study
from csf.metrics import METRICS, get_metric
from csf.strategies import Ladder


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


@pytest.mark.parametrize("size", [0, -1, 2.5, "six"])
def test_a_size_that_is_no_count_is_refused(size):
    with pytest.raises((ValueError, TypeError), match="size"):
        Ladder(size)


def test_whether_settings_race_is_true_or_false():
    with pytest.raises(TypeError, match="race must be True or False, got 'no'"):
        Ladder(race="no")
