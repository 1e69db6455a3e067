"""Dinkelbach: with an exact learner the value only rises, and ends at the optimum."""

import numpy as np
import pytest
from builders import exact_learner, random_profiles, run, told
from hypothesis import given
from hypothesis import strategies as st

from csf import Study, Trial
from csf.metrics import FBeta, GowerLegendre, Jaccard, Precision, Tversky
from csf.strategies import Dinkelbach


@pytest.mark.parametrize("metric", [FBeta(), FBeta(3.0), Jaccard(), Tversky(2.0, 0.2)], ids=lambda metric: metric.name)
@given(seed=st.integers(0, 10**6), pos=st.floats(0.02, 0.8))
def test_an_exact_learner_rises_to_the_optimum(metric, seed, pos):
    points = random_profiles(np.random.default_rng(seed), pos, 100)
    study = run(Study(metric, Dinkelbach(1e-9), pos=pos, n_trials=50), exact_learner(points, pos))
    values = [trial.value for trial in study.trials]
    assert (np.diff(values[1:]) >= -1e-12).all()
    assert study.best_score == pytest.approx(metric.value(points[:, 0], points[:, 1], pos=pos).max(), abs=1e-9)
    assert len(study.trials) < 20
    assert study.stop_reason == "strategy dinkelbach is done"


def test_it_starts_balanced_or_in_the_middle():
    assert Dinkelbach().propose([], metric=FBeta(), pos=0.1) == pytest.approx(0.2)
    assert Dinkelbach().propose([], metric=FBeta(), pos=0.7) == 0.5
    assert Dinkelbach().propose([], metric=GowerLegendre(), pos=0.5) == 0.5


def test_it_aims_at_the_best_value_so_far():
    trials = [told(0, 0.4, 0.5, 0.1, pos=0.2), told(1, 0.6, 0.2, 0.1, pos=0.2)]
    best = max(trial.value for trial in trials)
    assert Dinkelbach().propose(trials, metric=FBeta(), pos=0.2) == best
    assert Dinkelbach(tol=0.2).propose(trials, metric=FBeta(), pos=0.2) is None


def test_after_a_failure_it_starts_elsewhere_and_then_ends():
    failed = Trial(number=0, t=0.2, costs=(1.8, 0.2), state="failed", error="no")
    assert Dinkelbach().propose([failed], metric=FBeta(), pos=0.1) == 0.5
    other = Trial(number=1, t=0.5, costs=(1.5, 0.5), state="failed", error="no")
    assert Dinkelbach().propose([failed, other], metric=FBeta(), pos=0.1) is None


def test_a_perfect_model_is_aimed_at_inside_the_margin():
    perfect = told(0, 0.2, 0.0, 0.0, pos=0.1, metric=Precision())
    t = Dinkelbach().propose([perfect], metric=Precision(), pos=0.1)
    assert t == Precision().clip_level(1.0, pos=0.1) < 1.0
