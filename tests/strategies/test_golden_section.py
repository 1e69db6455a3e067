"""Golden-section search."""

from dataclasses import replace

import numpy as np
import pytest
from builders import exact_learner, random_profiles, run, told

from csf import Study
from csf.metrics import MCC, FBeta, FowlkesMallows, GMean, Jaccard
from csf.strategies import GoldenSection


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
