"""The imbalance ratio: one trial, each class at the price of the other one's share."""

import pytest
from builders import rates, shares, told
from hypothesis import given

from csf import ErrorProfile, Study
from csf.metrics import METRICS, get_metric
from csf.strategies import ImbalanceRatio


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
