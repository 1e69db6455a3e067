"""CONE: faithful to the paper, to a literal raster of it, and useful where the paper has no cones."""

from itertools import pairwise

import numpy as np
import pytest
from builders import exact_learner, histories, random_profiles, run, shares, told
from hypothesis import given
from hypothesis import strategies as st
from oracles import cone_search
from scipy.optimize import brentq

from csf import ErrorProfile, Study, Trial
from csf.bounds import ConeBound
from csf.metrics import Constrained, FBeta, Jaccard, LinearFractional, Metric, Recall, get_constraint, get_metric
from csf.strategies import Cone, Grid


class Youden(Metric):
    """A metric of the user's own."""

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)


ANY = [FBeta(), FBeta(3.0), Jaccard(), *map(get_metric, ("gmean", "qmean", "min_rate", "gower_legendre")), Youden()]
any_metric = pytest.mark.parametrize("metric", ANY, ids=lambda metric: metric.name)


def pending(number, t, metric, pos):
    c_fn, c_fp = metric.cost_weights(t, pos=pos)
    return Trial(number=number, t=t, costs=(c_fn, c_fp))


# ---------------------------------------------------------------- the paper


@any_metric
def test_first_proposal_is_the_middle(metric):
    lo, hi = metric.range(0.2)
    assert Cone().propose([], metric=metric, pos=0.2) == 0.5 * (lo + hi)


@any_metric
@given(data=st.data(), pos=shares)
def test_proposals_halve_an_interval_between_tried_levels(metric, data, pos):
    trials = data.draw(histories(metric, pos))
    t = Cone().propose(trials, metric=metric, pos=pos)
    lo, hi = metric.range(pos)
    edges = np.array(sorted([lo, hi, *(trial.t for trial in trials)]))
    at = np.searchsorted(edges, t)
    assert t == 0.5 * (edges[at - 1] + edges[at])


@given(data=st.data(), pos=shares)
def test_proposal_is_next_to_a_level_of_the_highest_envelope(data, pos):
    trials = data.draw(histories(FBeta(), pos, min_size=1))
    t = Cone().propose(trials, metric=FBeta(), pos=pos)
    edges = np.array(sorted([0.0, 1.0, *(trial.t for trial in trials)]))
    at = np.searchsorted(edges, t)
    levels = np.linspace(edges[at - 1], edges[at], 2001)
    bound = ConeBound(trials, FBeta(), pos=pos, eps=0.0)
    steepest = max(bound.cones.slope_left.max(), bound.cones.slope_right.max())
    assert (
        bound.upper_bound(levels).max() >= bound.best_possible() - steepest * (edges[at] - edges[at - 1]) / 2000 - 1e-9
    )


def test_the_middle_of_the_widest_range_wins():
    """One trial whose cone reaches the ceiling at 0.3 and 0.9: [0, 0.3] is wider than [0.9, 1]."""
    pos = 0.3
    trial = told(0, 0.8, 0.3, 0.02, pos=pos)
    bound = ConeBound([trial], FBeta(), pos=pos, eps=0.0)
    assert bound.upper_bound([0.0])[0] == 1.0
    assert bound.upper_bound([1.0])[0] < 1.0
    assert Cone().propose([trial], metric=FBeta(), pos=pos) == 0.4


def test_the_widest_range_need_not_be_the_first():
    """Two failures close the interval between them at this depth; [0.5, 1] is wider than [0, 0.375]."""
    failed = [Trial(number=i, t=t, costs=(2 - t, t), state="failed", error="no") for i, t in enumerate((0.375, 0.5))]
    assert Cone(depth=3).propose(failed, metric=FBeta(), pos=0.2) == 0.75


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_proposals_are_those_of_a_raster_of_the_square(beta):
    """The literal algorithm on a dense grid of bits, on histories that it can decide."""
    decided = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        pos, metric = rng.uniform(0.05, 0.6), FBeta(beta)
        points = random_profiles(rng, pos, 40)
        history = []
        for number in range(rng.integers(1, 7)):
            t = Cone().propose([trial for trial, _ in history], metric=metric, pos=pos)
            # now an exact learner, now any profile at all
            costs = np.array(metric.cost_weights(t, pos=pos))
            fn, fp = points[np.argmin(points @ costs) if rng.random() < 0.5 else rng.integers(len(points))]
            history.append((told(number, t, fn / pos, fp / (1 - pos), pos=pos, metric=metric), (t, fn, fp)))
        expected = cone_search.next_level([row for _, row in history], pos, beta)
        if expected is not None:
            decided += 1
            assert Cone().propose([trial for trial, _ in history], metric=metric, pos=pos) == expected
    assert decided >= 6


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@any_metric
def test_depth_ends_after_all_of_the_dyadic_grid(metric, depth):
    pos, lo, hi = 0.2, *metric.range(0.2)
    points = random_profiles(np.random.default_rng(depth), pos, 50)
    study = run(Study(metric, Cone(depth=depth), pos=pos, n_trials=100), exact_learner(points, pos))
    levels = sorted(trial.t for trial in study.trials)
    assert levels == pytest.approx(lo + (hi - lo) * np.arange(1, 2**depth) / 2**depth)
    assert study.stop_reason.startswith("strategy cone is done")


# ---------------------------------------------------------------- trials that say little


@any_metric
def test_models_that_find_nothing_leave_something_to_try(metric):
    """They say that larger levels find nothing either, and nothing about smaller ones."""
    pos = 0.05
    study = Study(metric, "cone", pos=pos, n_trials=150)
    while (trial := study.ask()) is not None:
        study.tell(trial, profile=ErrorProfile(fn=pos, fp=0.0, pos=pos))
    assert len(study.trials) == 150
    lo, hi = metric.range(pos)
    # Nothing is refined to dust while wide intervals are left.
    gaps = np.diff([lo, *sorted(trial.t for trial in study.trials), hi])
    if not isinstance(metric, LinearFractional):
        assert gaps.min() > 1e-3 * (hi - lo)


def test_levels_beyond_the_margin_are_not_proposed():
    """There the level would be clipped to one that was tried, and the search would end."""
    metric, pos = FBeta(), 0.01
    trials = []
    for number in range(40):
        t = Cone().propose(trials, metric=metric, pos=pos)
        assert metric.clip_level(t, pos=pos) == t
        trials.append(told(number, t, 1.0, 0.0, pos=pos, metric=metric))
    assert len({trial.t for trial in trials}) == 40


def test_failed_trials_divide_and_bound_nothing():
    failed = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="failed", error="no")
    assert Cone().propose([failed], metric=FBeta(), pos=0.2) == 0.25
    other = told(1, 0.25, 0.2, 0.1, pos=0.2)
    t = Cone().propose([failed, other], metric=FBeta(), pos=0.2)
    edges = [0.0, 0.25, 0.5, 1.0]
    assert t in [0.125, 0.375, 0.75]
    levels = np.linspace(0, 1, 1001)
    height = ConeBound([other], FBeta(), pos=0.2).upper_bound(levels)
    best = levels[height >= height.max() - 1e-12].mean()
    assert t == next(0.5 * (a + b) for a, b in pairwise(edges) if a <= best <= b)


def test_nothing_is_left_between_levels_a_billionth_apart():
    levels = np.linspace(0, 1, 9)[1:-1]
    trials = [told(i, t, 0.5, 0.1, pos=0.2) for i, t in enumerate(levels)]
    assert Cone(depth=3).propose(trials, metric=FBeta(), pos=0.2) is None
    assert Cone().propose(trials, metric=FBeta(), pos=0.2) is not None


def test_hundreds_of_trials():
    pos = 0.1
    points = random_profiles(np.random.default_rng(0), pos, 300)
    study = run(Study("f1", "cone", pos=pos, n_trials=300), exact_learner(points, pos))
    assert len(study.trials) == 300
    assert study.best_score == FBeta().value(points[:, 0], points[:, 1], pos=pos).max()


# ---------------------------------------------------------------- several at once


@any_metric
@given(data=st.data(), pos=st.floats(0.05, 0.95))
def test_pending_proposals_are_not_repeated(metric, data, pos):
    trials = data.draw(histories(metric, pos, max_size=4))
    levels = {trial.t for trial in trials}
    for _ in range(4):
        t = Cone(batch_size=4).propose(trials, metric=metric, pos=pos)
        assert t not in levels
        levels.add(t)
        trials = [*trials, pending(len(trials), t, metric, pos)]


@given(data=st.data(), pos=st.floats(0.05, 0.95), order=st.permutations(range(6)))
def test_order_of_pending_and_told_trials_does_not_matter(data, pos, order):
    metric = FBeta()
    trials = data.draw(histories(metric, pos, min_size=3, max_size=3))
    for _ in range(3):
        t = Cone().propose(trials, metric=metric, pos=pos)
        trials = [*trials, pending(len(trials), t, metric, pos)]
    expected = Cone().propose(trials, metric=metric, pos=pos)
    assert Cone().propose([trials[i] for i in order], metric=metric, pos=pos) == expected


@pytest.mark.parametrize("seed", [6, 11, 13, 14])
def test_pending_proposals_send_the_next_ones_elsewhere(seed):
    """Each gets a provisional cone; without it all four would crowd into the first interval."""
    rng = np.random.default_rng(seed)
    metric, pos = FBeta(), rng.uniform(0.05, 0.5)
    learn = exact_learner(random_profiles(rng, pos, 60), pos)
    trials = run(Study(metric, Cone(eps=0.0), pos=pos, n_trials=int(rng.integers(1, 6))), learn).trials
    edges = [0.0, *sorted(trial.t for trial in trials), 1.0]
    levels = []
    for _ in range(4):
        levels.append(Cone(eps=0.0, batch_size=4).propose(trials, metric=metric, pos=pos))
        trials = [*trials, pending(len(trials), levels[-1], metric, pos)]
    assert len(set(np.searchsorted(edges, levels))) > 1


def rate_of(metric, value, pos):
    """Rate at which both classes are taken for the other where the metric has some value."""
    return brentq(lambda rate: metric.value(rate * pos, rate * (1 - pos), pos=pos) - value, 0.0, 1.0)


@pytest.mark.parametrize("metric", [FBeta(), FBeta(2.0), Jaccard()], ids=lambda metric: metric.name)
def test_a_pending_proposal_counts_as_a_trial_that_reaches_the_envelope(metric):
    """Its rates of errors of both kinds are the same."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        pos = rng.uniform(0.05, 0.5)
        trials = [told(i, t, *rng.random(2), pos=pos, metric=metric) for i, t in enumerate(rng.random(4))]
        t = Cone().propose(trials, metric=metric, pos=pos)
        height = ConeBound(trials, metric, pos=pos, eps=0.0).upper_bound([t])[0]
        rate = rate_of(metric, height, pos)
        as_told = [*trials, told(4, t, rate, rate, pos=pos, metric=metric)]
        expected = Cone().propose(as_told, metric=metric, pos=pos)
        assert Cone().propose([*trials, pending(4, t, metric, pos)], metric=metric, pos=pos) == expected


def test_batches_reach_what_single_trials_reach():
    pos = 0.1
    points = random_profiles(np.random.default_rng(1), pos, 200)
    best = FBeta().value(points[:, 0], points[:, 1], pos=pos).max()
    for size in (1, 4):
        study = Study("f1", Cone(batch_size=size), pos=pos, n_trials=16)
        while batch := study.ask_batch():
            assert len(batch) <= size
            for trial in batch:
                study.tell(trial, profile=exact_learner(points, pos)(trial.costs))
        assert study.best_score == pytest.approx(best, abs=0.01)


# ---------------------------------------------------------------- quality


@any_metric
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_learner_comes_close_to_the_best_profile(metric, seed):
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0.02, 0.6)
    points = random_profiles(rng, pos, 300)
    # costs reach the hull only; metrics that are not linear-fractional may be best inside it
    study = run(Study(metric, "cone", pos=pos, n_trials=20), exact_learner(points, pos), known=points)
    best = metric.value(points[:, 0], points[:, 1], pos=pos).max()
    lo, hi = metric.range(pos)
    assert max(trial.value for trial in study.trials) >= best - 0.05 * (hi - lo)


@pytest.mark.parametrize(
    ("metric", "constraint"),
    [
        (Recall(), "precision >= 0.8"),
        (FBeta(), "fpr <= 0.01"),
        (FBeta(), "recall >= 0.9"),
        (Recall(), "predicted_positive_rate <= 0.05"),
        (get_metric("gmean"), "fpr <= 0.02"),
    ],
)
def test_constraints_steer_the_search(metric, constraint):
    """An exact learner on a smooth trade-off: ten trials end next to the best allowed profile, a grid does not."""
    pos, fnr = 0.1, np.linspace(0, 1, 4001)
    points = np.column_stack([fnr * pos, (1 - fnr**0.35) ** (1 / 0.35) * (1 - pos)])
    metric = Constrained(metric, get_constraint(constraint))
    allowed = points[metric.constraint.violation(points[:, 0], points[:, 1], pos=pos) == 0]
    best = metric.value(allowed[:, 0], allowed[:, 1], pos=pos).max()
    search, grid = (
        run(Study(metric, strategy, pos=pos, n_trials=10), exact_learner(points, pos)) for strategy in (Cone(), Grid())
    )
    assert search.best_trial.feasible
    assert search.best_score >= best - 0.005
    assert search.best_score >= grid.best_score or not grid.best_trial.feasible


def test_a_constraint_that_nothing_satisfies_is_approached():
    metric = Constrained(Recall(), get_constraint("precision >= 0.999"))
    points = random_profiles(np.random.default_rng(0), 0.1, 50)
    study = run(Study(metric, Cone(), pos=0.1, n_trials=8), exact_learner(points, 0.1))
    assert len(study.trials) == 8
