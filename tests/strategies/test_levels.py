"""Strategies that move from level to level."""

from dataclasses import replace

import numpy as np
import pytest
from builders import exact_learner, random_profiles, run, told
from hypothesis import given
from hypothesis import strategies as st

from csf import Study, Trial
from csf.metrics import MCC, FBeta, FowlkesMallows, GMean, GowerLegendre, Jaccard, Precision, Tversky, WeightedAccuracy
from csf.strategies import Bisection, Dinkelbach, GoldenSection

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


def after(values):
    """Levels tried when the trials have these values in turn, and the one proposed after them."""
    metric, trials = FBeta(), []
    for number, value in enumerate(values):
        t = metric.clip_level(GoldenSection().propose(trials, metric=metric, pos=0.2), pos=0.2)
        trials.append(replace(told(number, t, 0.5, 0.1, pos=0.2), attained=value))
    return [trial.t for trial in trials], GoldenSection().propose(trials, metric=metric, pos=0.2)


@pytest.mark.parametrize(("values", "following"), [([0.2, 0.4], 0.764), ([0.4, 0.2], 0.236), ([None, 0.0], 0.764)])
def test_the_part_around_the_better_level_is_kept(values, following):
    levels, proposed = after(values)
    assert levels == pytest.approx([0.382, 0.618], abs=1e-3)
    assert proposed == pytest.approx(following, abs=1e-3)


@pytest.mark.parametrize(("value", "following"), [(0.3, 0.236), (0.5, 0.236), (0.7, 0.764), (None, 0.236)])
def test_of_equal_values_the_side_wins_that_the_value_lies_on(value, following):
    """A model of value 0.7 at both levels says that the best level is 0.7 at least."""
    assert after([value, value])[1] == pytest.approx(following, abs=1e-3)


def test_each_training_serves_twice():
    levels, _ = after([0.1, 0.5, 0.4, 0.6, 0.55, 0.61, 0.605])
    assert np.unique(np.round(levels, 6)).size == 7
    widths = np.abs(np.subtract(levels[2:], levels[1:-1]))
    assert widths.max() < 0.5


@pytest.mark.parametrize("metric", [FBeta(), Jaccard(), GMean(), MCC(), FowlkesMallows()], ids=lambda m: m.name)
@pytest.mark.parametrize("seed", range(4))
def test_with_an_exact_learner_it_finds_the_best_costs(metric, seed):
    """Seventeen trainings narrow the level down to a thousandth."""
    points = random_profiles(np.random.default_rng(seed), 0.1, 40)
    levels = np.linspace(1e-6, 1.0 - 1e-6, 5001)
    cheapest = points[[np.argmin(points @ metric.cost_weights(t, pos=0.1)) for t in levels]]
    study = run(Study(metric, "golden_section", pos=0.1, n_trials=40), exact_learner(points, 0.1))
    assert study.best_trial.value >= metric.value(*cheapest.T, pos=0.1).max() - 1e-9
    assert len(study.trials) <= 17
    assert "done" in study.stop_reason or "finished" in study.stop_reason


def test_it_ends_with_its_tolerance():
    points = random_profiles(np.random.default_rng(0), 0.1, 40)
    study = run(Study("f1", GoldenSection(tol=0.2), pos=0.1, n_trials=40), exact_learner(points, 0.1))
    assert len(study.trials) == 5
