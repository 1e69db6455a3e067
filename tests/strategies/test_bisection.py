"""Bisection: the sign test finds the optimum of a finite class, and ends."""

import numpy as np
import pytest
from builders import exact_learner, random_profiles, run, told
from hypothesis import given
from hypothesis import strategies as st

from csf import Study, Trial
from csf.metrics import FBeta, Jaccard, Tversky, WeightedAccuracy
from csf.strategies import Bisection

METRICS = [FBeta(), FBeta(0.5), Jaccard(), Tversky(2.0, 0.2), WeightedAccuracy(5.0, 1.0)]


def propose(trials, tol=1e-3):
    return Bisection(tol).propose(trials, metric=FBeta(), pos=0.2)


@pytest.mark.parametrize("metric", METRICS[:4], ids=lambda metric: metric.name)
@given(seed=st.integers(0, 10**6), pos=st.floats(0.02, 0.8))
def test_an_exact_learner_ends_at_the_optimum(metric, seed, pos):
    points = random_profiles(np.random.default_rng(seed), pos, 100)
    learn = exact_learner(points, pos)
    study = run(Study(metric, Bisection(1e-4), pos=pos, n_trials=50), learn)
    best = metric.value(points[:, 0], points[:, 1], pos=pos).max()
    # The sign test: a model trained at t reaches t exactly when some model does.
    for trial in study.trials:
        assert (trial.value >= trial.t) == (best >= trial.t) or abs(trial.t - best) < 1e-9
    assert study.best_score >= best - 1e-4
    assert len(study.trials) <= 14


def test_a_value_at_least_its_level_moves_up_a_smaller_one_down():
    good, bad = told(0, 0.5, 0.0, 0.0, pos=0.2), told(0, 0.5, 1.0, 0.0, pos=0.2)
    assert propose([]) == 0.5
    assert propose([good]) == 0.75
    assert propose([bad]) == 0.25
    equal = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="complete", value=0.5)
    assert propose([equal]) == 0.75


def test_a_failed_training_shows_no_such_model():
    assert propose([Trial(number=0, t=0.5, costs=(1.5, 0.5), state="failed", error="no")]) == 0.25


@pytest.mark.parametrize("tol", [0.0, 1e-300, 1e-12, 0.3])
def test_it_ends_whatever_the_tolerance(tol):
    trials = []
    while (t := propose(trials, tol)) is not None:
        trials.append(told(len(trials), FBeta().clip_level(t, pos=0.2), 0.25, 0.125, pos=0.2))
        assert len(trials) < 60
    assert (len(trials) == 2) == (tol == 0.3)


@pytest.mark.parametrize("fnr", [0.0, 1.0])
def test_it_ends_at_the_ends_of_the_range(fnr):
    """The last levels are clipped to the margin; they are recognised there."""
    study = Study("f1", Bisection(1e-8), pos=0.2, n_trials=60)
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=told(0, 0.5, fnr, 0.0, pos=0.2).profile)
    assert study.stop_reason == "strategy bisection is done"


def test_other_levels_in_the_history_do_not_disturb():
    others = [told(1, 0.3, 0.2, 0.2, pos=0.2), told(2, None, 0.2, 0.2, pos=0.2, costs=(0.8, 0.2))]
    assert propose([told(0, 0.5, 1.0, 0.0, pos=0.2), *others]) == 0.25
