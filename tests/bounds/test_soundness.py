"""What the bounds promise, on random finite problems that are solved exactly."""

import numpy as np
import pytest
from oracles.finite_problem import (
    FiniteProblem,
    best_value,
    cost_optimal,
    excess,
    published_cone,
    random_problem,
    trial_of,
)

from csf import ErrorProfile, Trial
from csf.bounds import ConeBound, DiagonalBound, ParambathBound, SupportLineBound
from csf.metrics import (
    BalancedAccuracy,
    Constrained,
    FBeta,
    GMean,
    GowerLegendre,
    HMean,
    Jaccard,
    MinRate,
    Precision,
    QMean,
    Recall,
    Tversky,
    WeightedAccuracy,
    get_constraint,
)
from csf.metrics.profile import Hull

LINEAR = [
    FBeta(),
    FBeta(2.0),
    FBeta(0.5),
    FBeta(10.0),
    Jaccard(),
    Tversky(0.3, 0.7),
    Tversky(2.0, 0.5),
    GowerLegendre(),
    WeightedAccuracy(),
    BalancedAccuracy(),
]
OTHER = [
    GMean(),
    HMean(),
    QMean(),
    MinRate(),
    Constrained(Recall(), get_constraint("precision >= 0.5")),
    Constrained(FBeta(), get_constraint("recall >= 0.6")),
    Constrained(GMean(), get_constraint("fpr <= 0.3")),
    Constrained(Jaccard(), get_constraint("predicted_positive_rate <= 0.4")),
    Constrained(HMean(), get_constraint("predicted_positive_rate >= 0.4")),
]
EPS = (0.0, "evidence")  # the same for an exact learner
ROUNDING = 1e-9


def random_levels(rng, problem, metric):
    """One to three levels anywhere in the range, now and then many, or close to the optimum."""
    lo, hi = metric.range(problem.pos)
    levels = lo + (hi - lo) * rng.uniform(0.001, 0.999, rng.choice([1, 2, 3, 3, 12]))
    near = best_value(problem, metric) + 1e-3 * (hi - lo) * rng.normal()
    levels[0] = rng.choice([levels[0], np.clip(near, lo + 1e-3 * (hi - lo), hi - 1e-3 * (hi - lo))])
    return levels.tolist()


def exact_trials(rng, problem, metric, levels):
    """Trials of a learner that returns any one of the cost-optimal profiles."""
    optimal = [cost_optimal(problem, metric, t) for t in levels]
    profiles = [profiles[rng.integers(len(profiles))] for profiles in optimal]
    return [trial_of(problem, metric, t, e, number=i) for i, (t, e) in enumerate(zip(levels, profiles))]


def check_exact_learner(n_problems, seed):
    """Share of problems in which the envelope excludes what an exact learner reaches; asserts what must hold."""
    rng, refuted = np.random.default_rng(seed), 0
    for _ in range(n_problems):
        problem, metric = random_problem(rng), LINEAR[rng.integers(len(LINEAR))]
        *levels, other = random_levels(rng, problem, metric) + rng.uniform(*metric.range(problem.pos), 1).tolist()
        trials = exact_trials(rng, problem, metric, levels)
        optimum = best_value(problem, metric) - ROUNDING
        reached = best_value(problem, metric, cost_optimal(problem, metric, other)) - ROUNDING
        support = SupportLineBound(trials, metric, pos=problem.pos, eps=EPS[rng.integers(2)])
        assert support.best_possible() >= optimum, (problem, metric, levels)
        assert support.upper_bound([other])[0] >= reached, (problem, metric, levels, other)
        for bound in (DiagonalBound, ParambathBound, ConeBound):
            best = bound(trials, metric, pos=problem.pos).best_possible()
            assert best >= optimum, (bound, problem, metric, levels)
        refuted += ConeBound(trials, metric, pos=problem.pos).upper_bound([other])[0] < reached
    return refuted / n_problems


def test_bounds_hold_for_an_exact_learner():
    check_exact_learner(200, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.simulation) for seed in (2, 3, 4))])
def test_bounds_hold_in_twenty_thousand_problems_and_the_envelope_does_not(seed):
    """The envelope bounds the best value, but not what training at another level reaches."""
    assert 0.003 < check_exact_learner(5000, seed) < 0.04


@pytest.mark.parametrize("n_problems", [200, pytest.param(1500, marks=pytest.mark.slow)])
def test_support_line_bound_holds_for_every_kind_of_metric(n_problems):
    rng = np.random.default_rng(5)
    for _ in range(n_problems):
        problem, metric = random_problem(rng), OTHER[rng.integers(len(OTHER))]
        *levels, other = [*random_levels(rng, problem, metric), rng.uniform(0.001, 0.999)]
        bound = SupportLineBound(exact_trials(rng, problem, metric, levels), metric, pos=problem.pos)
        reached = best_value(problem, metric, cost_optimal(problem, metric, other))
        assert bound.best_possible() >= best_value(problem, metric) - ROUNDING, (problem, metric, levels)
        assert bound.upper_bound([other])[0] >= reached - ROUNDING, (problem, metric, levels, other)


@pytest.mark.parametrize("bound", [SupportLineBound, DiagonalBound, ParambathBound, ConeBound])
def test_bounds_hold_for_a_poor_learner_whose_excess_is_known(bound):
    rng = np.random.default_rng(6)
    for _ in range(500):
        problem, metric = random_problem(rng), LINEAR[rng.integers(len(LINEAR))]
        levels = random_levels(rng, problem, metric)
        profiles = [problem.profiles[i] for i in rng.integers(len(problem.profiles), size=len(levels))]
        trials = [trial_of(problem, metric, t, e, number=i) for i, (t, e) in enumerate(zip(levels, profiles))]
        too_much = [excess(problem, metric, t, e) + 1e-15 for t, e in zip(levels, profiles)]
        best = bound(trials, metric, pos=problem.pos, eps=lambda trial: too_much[trial.number]).best_possible()  # noqa: B023
        assert best >= best_value(problem, metric) - ROUNDING, (problem, metric, levels, profiles)


@pytest.mark.parametrize("bound", [SupportLineBound, DiagonalBound, ParambathBound, ConeBound])
def test_evidence_holds_where_the_cheapest_profiles_are_known(bound):
    """The models are poor, but at each trained level somebody knows the cheapest profile."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        problem, metric = random_problem(rng), LINEAR[rng.integers(len(LINEAR))]
        trials = []
        for i, t in enumerate(random_levels(rng, problem, metric)):
            own = problem.profiles[rng.integers(len(problem.profiles))]
            known = Hull([own, cost_optimal(problem, metric, t)[0]])
            trials.append(trial_of(problem, metric, t, own, number=i, hull=known))
        best = bound(trials, metric, pos=problem.pos, eps="evidence").best_possible()
        assert best >= best_value(problem, metric) - ROUNDING, (problem, metric, trials)


# Three samples, one of them positive, and two classifiers: all negative (F1 = 0) and all positive (F1 = 1/2).
# Their costs are (2 - t)/3 and 2t/3, so the second one wins below t = 2/3.
TWO = FiniteProblem([(1 / 3, 0.0), (0.0, 2 / 3)], 1 / 3)


def test_counter_example_to_proposition_1():
    """Trained at 0.7, the cone leaves at most 0.3 at level 0.6, where an exact learner reaches 1/2."""
    (e,) = cost_optimal(TWO, FBeta(), 0.7)
    (other,) = cost_optimal(TWO, FBeta(), 0.6)
    assert (e, other) == (TWO.profiles[0], TWO.profiles[1])
    trials = [trial_of(TWO, FBeta(), 0.7, e)]
    reached = FBeta().value(*other, pos=TWO.pos)
    assert reached == pytest.approx(0.5)
    assert published_cone(e, 0.7, 0.6, pos=TWO.pos) == pytest.approx(0.3)
    assert ConeBound(trials, FBeta(), pos=TWO.pos).upper_bound([0.6])[0] == pytest.approx(0.3)
    assert DiagonalBound(trials, FBeta(), pos=TWO.pos).best_possible() == pytest.approx(0.525)
    support = SupportLineBound(trials, FBeta(), pos=TWO.pos, eps=0.0)
    assert support.upper_bound([0.6])[0] == pytest.approx(0.519, abs=5e-4)
    assert support.best_possible() == pytest.approx(0.519, abs=5e-4)


def test_counter_example_to_every_cone_that_is_continuous():
    """Where the cheapest profile changes the metric jumps: no cone through one side allows the other."""
    trials = [trial_of(TWO, FBeta(), 0.67, TWO.profiles[0])]
    assert cost_optimal(TWO, FBeta(), 0.66) == [TWO.profiles[1]]
    for bound in (ConeBound, ParambathBound):
        assert bound(trials, FBeta(), pos=TWO.pos).upper_bound([0.66])[0] < 0.1
        assert bound(trials, FBeta(), pos=TWO.pos).best_possible() >= 0.5
    assert SupportLineBound(trials, FBeta(), pos=TWO.pos, eps=0.0).upper_bound([0.66])[0] >= 0.5


def test_cones_are_those_of_the_paper():
    rng = np.random.default_rng(8)
    for _ in range(300):
        problem, beta = random_problem(rng), float(rng.choice([0.5, 1.0, 2.0]))
        t, level = rng.uniform(0.01, 0.99, 2).tolist()
        trials = [trial_of(problem, FBeta(beta), t, problem.profiles[0])]
        (height,) = ConeBound(trials, FBeta(beta), pos=problem.pos).upper_bound([level])
        expected = published_cone(problem.profiles[0], t, level, pos=problem.pos, beta=beta)
        assert height == pytest.approx(min(expected, 1.0), abs=1e-9)


def test_levels_at_the_ends_of_the_range_lose_nothing():
    """One trial at the smallest or largest level that a search trains at."""
    rng = np.random.default_rng(9)
    for _ in range(500):
        problem, metric = random_problem(rng), (LINEAR + OTHER[:4])[rng.integers(len(LINEAR) + 4)]
        end = metric.clip_level(rng.choice(metric.range(problem.pos)), pos=problem.pos)
        level, other = rng.uniform(0.001, 0.999, 2).tolist()
        bound = SupportLineBound(exact_trials(rng, problem, metric, [end, level]), metric, pos=problem.pos)
        reached = best_value(problem, metric, cost_optimal(problem, metric, other))
        assert bound.upper_bound([other])[0] >= reached - ROUNDING, (problem, metric, end, level, other)


def test_the_diagonal_is_not_below_what_was_attained_where_denominators_vanish():
    """Precision has a denominator of 0 where nothing is found: its cones rise like the diagonal, up to rounding."""
    profile = ErrorProfile(0.1271780108946486, 0.05946494301072436, 0.2)
    value = Precision().of(profile)
    costs = [Precision().cost_weights(t, pos=0.2) for t in (0.2, value)]
    trials = [
        Trial(number=i, t=t, costs=(c_fn, c_fp), state="complete", profile=profile)
        for i, (t, (c_fn, c_fp)) in enumerate(zip((0.2, value), costs))
    ]
    assert value <= DiagonalBound(trials, Precision(), pos=0.2).best_possible() <= value + ROUNDING
