"""Strategies that train where the trials so far promise most."""

import math
from itertools import pairwise

import numpy as np
import pytest
from builders import exact_learner, histories, random_profiles, run, shares, told
from hypothesis import given
from hypothesis import strategies as st
from oracles import cone_search, half_planes
from scipy.optimize import brentq

from csf import ErrorProfile, Study, Trial
from csf.bounds import ConeBound
from csf.metrics import (
    METRICS,
    Constrained,
    FBeta,
    GMean,
    Jaccard,
    LinearFractional,
    Metric,
    Recall,
    WeightedAccuracy,
    get_constraint,
    get_metric,
)
from csf.strategies import Cone, Grid, ImbalanceRatio, Ladder, Support
from csf.strategies.named import corner_promise

POS = 0.2


def history(levels, metric):
    """Trials of an exact learner on a smooth trade-off: each support line touches it."""
    fnr = np.linspace(0, 1, 2001)
    points = np.column_stack([fnr * POS, (1 - fnr**0.4) ** 2.5 * (1 - POS)])
    trials = []
    for number, t in enumerate(levels):
        fn, fp = points[np.argmin(points @ np.array(metric.cost_weights(t, pos=POS)))]
        trials.append(told(number, t, fn / POS, min(fp / (1 - POS), 1.0), pos=POS, metric=metric))
    return trials


@given(levels=st.lists(st.integers(1, 63), min_size=1, max_size=5, unique=True))
def test_promises_are_values_of_corners_of_the_polygon(levels):
    metric, levels = GMean(), sorted(level / 64 for level in levels)
    trials = history(levels, metric)
    lines = [(*t.costs, t.c_fn * t.profile.fn + t.c_fp * t.profile.fp) for t in trials]
    corners = np.array(half_planes.possible(lines, POS)).clip(0, [POS, 1 - POS])
    values = metric.value(corners[:, 0], corners[:, 1], pos=POS)
    promise = corner_promise(trials, np.array([0.0, *levels, 1.0]), metric, POS)
    assert promise.shape == (len(levels) + 1,)
    assert all(np.abs(values - value).min() < 1e-6 for value in promise)
    assert promise.max() == pytest.approx(values.max(), abs=1e-6)


@pytest.mark.parametrize("constraint", ["precision >= 0.8", "fpr <= 0.02", "predicted_positive_rate <= 0.1"])
def test_a_forbidden_corner_promises_the_best_allowed_profile_near_it(constraint):
    """The interval whose two support lines meet next to the border of the constraint promises most."""
    metric = Constrained(Recall(), get_constraint(constraint))
    levels = np.arange(1, 16) / 16
    trials = history(levels, metric)
    promise = corner_promise(trials, np.concatenate([[0.0], levels, [1.0]]), metric, POS)
    allowed = [trial.value for trial in trials if trial.feasible]
    at = int(np.argmax(promise))
    assert promise[at] >= max(allowed)
    assert promise[at] <= max(allowed) + 0.1
    # Left of it models are forbidden, right of it they find less.
    assert [trial.feasible for trial in trials] == [False] * at + [True] * (15 - at)


def test_an_interval_without_an_allowed_profile_promises_its_miss():
    metric = Constrained(Recall(), get_constraint("specificity >= 1"))
    promise = corner_promise(history([0.25, 0.5], metric), np.array([0.0, 0.25, 0.5, 1.0]), metric, POS)
    assert promise[0] < promise[1] < 0 < promise[2]


def test_the_model_that_finds_everything_is_known_without_training():
    """Below the lowest level, what finds too little promises the best that finds enough on the way to that model."""
    metric = Constrained(FBeta(), get_constraint("predicted_positive_rate >= 0.6"))
    (trial,) = history([0.5], metric)
    corner = 0.0, (trial.c_fn * trial.profile.fn + trial.c_fp * trial.profile.fp) / trial.c_fp
    assert 0.0 < metric.constraint.violation(*corner, pos=POS) < 0.2
    promise = corner_promise([trial], np.array([0.0, 0.5, 1.0]), metric, POS)
    assert promise[0] == pytest.approx(metric.value(0.0, 0.4, pos=POS))


def test_nothing_known_promises_the_perfect_classifier():
    assert corner_promise([], np.array([0.0, 1.0]), GMean(), POS).tolist() == [1.0]


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


@pytest.mark.parametrize("beta", [1.0, pytest.param(2.0, marks=pytest.mark.slow)])
def test_proposals_are_those_of_a_raster_of_the_square(beta):
    """The literal algorithm on a dense grid of bits, on histories that it can decide."""
    decided = 0
    for seed in range(20):
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
    assert decided >= 3


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


def odds(t):
    return np.log(t / (1 - t))


def propose(trials, metric=None, **options):
    return Support(**options).propose(trials, metric=FBeta() if metric is None else metric, pos=0.1)


def test_it_starts_in_the_middle_and_aims_at_the_best_value_next():
    assert propose([]) == pytest.approx(0.5)
    first = told(0, 0.5, 0.5, 0.02, pos=0.1)
    assert propose([first]) == pytest.approx(first.attained)
    # A best value next to a tried level is not trained again: it explores instead.
    near = told(0, 0.5, 0.5, 0.05, pos=0.1)
    assert odds(near.attained) == pytest.approx(odds(0.5), abs=0.25)
    assert odds(propose([near])) == pytest.approx(0.5 * odds(0.01))


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.5, 0.02), (0.02, 0.6)])
def test_without_levels_it_aims_between_the_support_lines_that_promise_most(rates):
    """One trial: the interval to the side where the end of its line is better."""
    metric = get_metric("gmean")
    trial = told(0, 0.4, *rates, pos=0.1, metric=metric)
    fn, fp = trial.profile.fn, trial.profile.fp
    cost = trial.c_fn * fn + trial.c_fp * fp
    # Left of it everything is found, right of it nothing in vain.
    promise = [metric.value(0.0, cost / trial.c_fp, pos=0.1), metric.value(cost / trial.c_fn, 0.0, pos=0.1)]
    ends = (0.01, 0.4) if promise[0] > promise[1] else (0.4, 0.99)
    assert odds(propose([trial], metric)) == pytest.approx(np.mean(odds(np.array(ends))))


def test_exploring_halves_the_widest_gap_of_the_log_odds():
    trials = [told(0, 0.5, 0.4, 0.02, pos=0.1), told(1, 0.6, 0.4, 0.02, pos=0.1)]
    t = propose(trials)
    assert odds(t) == pytest.approx(0.5 * (odds(0.01) + odds(0.5)))


@pytest.mark.parametrize("metric", [FBeta(), FBeta(3.0), Jaccard(), get_metric("gmean"), get_metric("qmean")], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_support_an_exact_learner_comes_close_to_the_best_profile(metric, seed):
    rng = np.random.default_rng(seed)
    pos = rng.uniform(0.02, 0.6)
    points = random_profiles(rng, pos, 300)
    study = run(Study(metric, Support(), pos=pos, n_trials=30), exact_learner(points, pos), known=points)
    best = metric.value(points[:, 0], points[:, 1], pos=pos).max()
    assert max(trial.value for trial in study.trials) >= best - 0.03
    assert all(0.01 <= trial.t <= 0.99 for trial in study.trials)


def test_it_stops_when_the_gap_is_closed_and_exploring_does_not_pay():
    pos = 0.2
    points = random_profiles(np.random.default_rng(0), pos, 30)
    study = run(Study("f1", Support(tol=0.01), pos=pos, n_trials=60), exact_learner(points, pos), known=points)
    assert study.stop_reason == "strategy support is done"
    assert study.gap <= 0.01
    assert 3 < len(study.trials) < 30


def test_the_bound_alone_is_no_reason_to_stop():
    """One trial that knows itself to be best closes the gap; exploring goes on for `patience` trials."""
    perfect = told(0, 0.5, 0.0, 0.0, pos=0.1)
    assert propose([perfect]) is not None
    trials = [perfect, *(told(i, 0.5 + i / 20, 0.0, 0.0, pos=0.1) for i in (1, 2))]
    assert propose(trials) is not None
    assert propose([*trials, told(3, 0.75, 0.0, 0.0, pos=0.1)]) is None
    # An improvement starts the count anew.
    poor = [told(i, 0.5 + i / 20, 0.5, 0.1, pos=0.1) for i in range(3)]
    assert propose([*poor, told(3, 0.75, 0.0, 0.0, pos=0.1)]) is not None


@pytest.mark.parametrize("metric", [FBeta(), Jaccard()], ids=repr)
@pytest.mark.parametrize("patience", [1, 2, 3, 5])
def test_patience_counts_exploring_trials_only(metric, patience):
    """The first trial is as good as any and closes the gap; then it explores as often as promised, exploits aside."""
    trials, explored, strategy = [], 0, Support(patience=patience)
    while (t := strategy.propose(trials, metric=metric, pos=0.1)) is not None:
        exploited = len(trials) % 2 and np.isclose(t, 0.99)
        explored += bool(trials) and not exploited
        trials.append(told(len(trials), t, 0.0, 0.0, pos=0.1, metric=metric))
    assert explored == patience


def test_an_exploit_that_pays_starts_the_count_anew():
    trials = []
    while (t := propose(trials, tol=0.02, patience=2)) is not None:
        better = len(trials) == 3
        trials.append(told(len(trials), t, 0.0 if better else 0.3, 0.0 if better else 0.02, pos=0.1))
    assert len(trials) >= 3 + 1 + 2


# ---------------------------------------------------------------- strategies whose costs do not depend on results


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
