"""What all strategies share: balanced levels, names, metrics they cannot serve."""

import pytest
from builders import shares, told
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Study
from csf.metrics import METRICS, FBeta, GMean, LinearFractional, WeightedAccuracy, get_metric
from csf.metrics.registry import aim
from csf.strategies import (
    STRATEGIES,
    Bisection,
    Cone,
    Dinkelbach,
    EqualCostsFirst,
    FunctionStrategy,
    Grid,
    Ladder,
    Proposal,
    Strategy,
    Support,
    get_strategy,
)
from csf.strategies.base import balanced_level, tried_levels
from csf.testing import check_strategy


@pytest.mark.parametrize("name", METRICS)
@given(pos=shares)
def test_balanced_level_weighs_both_classes_alike(name, pos):
    metric = get_metric(name)
    level = balanced_level(metric, pos=pos)
    lo, hi = metric.range(pos)
    if level is None:  # then one class outweighs the other at every level
        balance = [pos * c_fn - (1 - pos) * c_fp for c_fn, c_fp in (metric.cost_weights(t, pos=pos) for t in (lo, hi))]
        assert balance[0] * balance[1] >= -1e-12
    else:
        c_fn, c_fp = metric.cost_weights(level, pos=pos)
        assert lo < level < hi
        assert pos * c_fn == pytest.approx((1 - pos) * c_fp, rel=1e-6)


def test_balanced_level_of_f1_is_twice_the_share():
    assert balanced_level(FBeta(), pos=0.1) == pytest.approx(0.2)
    assert balanced_level(FBeta(), pos=0.6) is None
    assert balanced_level(WeightedAccuracy(), pos=0.3) is None
    assert balanced_level(GMean(), pos=0.3) == pytest.approx(0.5)


@pytest.mark.parametrize("strategy", [Bisection(), Dinkelbach()])
def test_strategies_that_read_values_as_levels_need_levels(strategy):
    strategy.check_metric(FBeta())
    with pytest.raises(TypeError, match=rf"strategy '{strategy.name}' needs a linear-fractional .*; 'gmean' has none"):
        strategy.check_metric(GMean())


@pytest.mark.parametrize("strategy", [Cone(), Grid()])
def test_the_others_serve_every_metric(strategy):
    assert strategy.check_metric(GMean()) is None


def test_defaults_of_the_contract():
    class Fixed(Strategy):
        def propose(self, trials, *, metric, pos):
            return None

    assert Fixed().name == "fixed"
    assert Fixed().batch_size == 1
    strategy = Fixed()
    assert strategy.with_budget(7) is strategy
    assert strategy.check_metric(GMean()) is None


@given(levels=st.lists(st.none() | st.floats(0, 1), max_size=5))
def test_tried_levels_are_sorted_and_leave_out_trials_without_one(levels):
    from csf import Trial

    trials = [Trial(number=i, t=t, costs=(1.0, 1.0)) for i, t in enumerate(levels)]
    assert tried_levels(trials) == sorted(t for t in levels if t is not None)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Bisection(tol="0.1"), "tol"),
        (lambda: Bisection(tol=float("nan")), "tol"),
        (lambda: Dinkelbach(tol=None), "tol"),
        (lambda: Support(tol=-1.0), "tol"),
        (lambda: Support(patience=0.5), "patience"),
        (lambda: Support(reach=0.5), "reach"),
        (lambda: Support(reach=1e-300), "reach"),
        (lambda: Cone(depth="2"), "depth"),
        (lambda: Cone(batch_size=0), "batch_size"),
        (lambda: Cone(eps=-1.0), "eps"),
        (lambda: Grid(size=1.5), "size"),
        (lambda: EqualCostsFirst("grid"), "strategy"),
    ],
)
def test_parameters_are_checked(make, name):
    with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
        make()


def lower(trials, *, metric, pos):
    return 0.5 ** (len(trials) + 1) if len(trials) < 3 else None


class Callable:
    def __call__(self, trials, *, metric, pos):
        return Proposal(None, 2.0, 1.0) if not trials else None


def test_a_function_decides():
    study = Study("f1", lower, pos=0.1, n_trials=9)
    levels = []
    while (trial := study.ask()) is not None:
        levels.append(trial.t)
        study.fail(trial, "skipped")
    assert levels == [0.5, 0.25, 0.125]
    assert study.stop_reason == "strategy lower is done"


def test_it_gets_the_trials_the_metric_and_the_share():
    seen = []

    def spy(trials, *, metric, pos):
        seen.append((trials, metric, pos))
        return 0.5

    study = Study("f2", spy, pos=0.25)
    study.ask()
    assert seen == [((), study.metric, 0.25)]


@pytest.mark.parametrize(
    ("function", "name"), [(lower, "lower"), (Callable(), "Callable"), (lambda *_, **__: None, "<lambda>")]
)
def test_names(function, name):
    assert FunctionStrategy(function).name == name


def test_an_object_may_propose_costs():
    trial = Study("f1", Callable(), pos=0.1).ask()
    assert (trial.t, trial.costs) == (None, (2.0, 1.0))


NEUTRAL = told(0, 0.5, 0.3, 0.2, pos=0.2, costs=(1.0, 1.0))


@given(count=st.integers(0, 5), place=st.integers(0, 5))
def test_the_other_strategy_does_not_see_the_first_trial(count, place):
    others = [told(i + 1, 0.1 + i / 10, 0.3, 0.2, pos=0.2) for i in range(count)]
    trials = [*others[:place], NEUTRAL, *others[place:]]
    how = {"metric": FBeta(), "pos": 0.2}
    assert EqualCostsFirst(Grid(7)).propose(trials, **how) == Grid(7).propose(others, **how)
    assert EqualCostsFirst(Cone()).propose(others, **how) == Proposal(None, 1.0, 1.0)


@pytest.mark.parametrize("strategy", [Cone(), Grid(4)], ids=repr)
def test_it_keeps_the_contract(strategy):
    check_strategy(EqualCostsFirst(strategy))
    assert EqualCostsFirst(strategy).name == strategy.name
    assert EqualCostsFirst(strategy).batch_size == strategy.batch_size


def test_twice_is_once():
    """Else the inner one would wait for equal costs that it is not shown."""
    assert EqualCostsFirst(EqualCostsFirst(Grid(3))) == EqualCostsFirst(Grid(3))


def test_one_trial_of_the_budget_is_its_own():
    assert EqualCostsFirst(Grid()).with_budget(11) == EqualCostsFirst(Grid(10))
    assert EqualCostsFirst(Grid()).with_budget(1) == EqualCostsFirst(Grid(1))
    assert EqualCostsFirst(Grid(7)).with_budget(11) == EqualCostsFirst(Grid(7))


# Metrics that are maximised by predicting one class, unless a constraint keeps them from it.
NEEDED = {"recall": "precision >= 0.5", "precision": "recall >= 0.5", "specificity": "recall >= 0.5"}
# Reasons for a search of equal costs alone, each with what it says of the search.
REASONS = {
    "has costs of the same ratio at every level; strategy 'ladder' tries others": lambda strategy, pos: (
        strategy not in ("ladder", "imbalance_ratio")
    ),
    "strategy imbalance_ratio is done: at a share of positives of 0.5 it has equal costs only": lambda strategy, pos: (
        strategy == "imbalance_ratio" and pos == 0.5
    ),
}


@pytest.mark.parametrize("first", [False, True], ids=["alone", "after equal costs"])
@pytest.mark.parametrize("pos", [0.2, 0.5])
@pytest.mark.parametrize("metric", METRICS)
def test_other_costs_than_equal_ones_are_tried_or_the_reason_is_said(metric, pos, first):
    """All strategies, also where costs of one of their levels are equal, as for the G-mean of balanced classes."""
    served = 0
    for name in STRATEGIES:
        strategy = get_strategy(name)
        target = aim(metric, NEEDED.get(metric))
        if name in ("bisection", "dinkelbach") and not isinstance(target, LinearFractional):
            continue
        study = Study(target, EqualCostsFirst(strategy) if first else strategy, pos=pos, n_trials=6)
        while trial := study.ask():
            study.tell(trial, profile=ErrorProfile(0.05, 0.05, pos))
        served += 1
        if all(trial.c_fn == trial.c_fp for trial in study.trials):
            (holds,) = [holds for reason, holds in REASONS.items() if reason in study.stop_reason]
            assert holds(name, pos)
        elif name in ("cone", "grid", "bisection", "golden_section", "ladder") and "ratio" not in study.stop_reason:
            assert len(study.trials) >= 5  # a grid of five may hold equal costs, which were tried
    assert served >= 6


def test_a_level_of_equal_costs_is_not_trained_twice():
    """Cone asks for the middle first: known from equal costs, whose result it is told at its own level."""
    profile, costs = ErrorProfile(0.2, 0.1, 0.5), []
    study = Study("gmean", EqualCostsFirst(Cone()), pos=0.5, n_trials=4)
    while trial := study.ask():
        costs.append(trial.costs)
        study.tell(trial, profile=profile)
    assert costs[0] == (1.0, 1.0)
    assert sum(c_fn == c_fp for c_fn, c_fp in costs) == 1
    assert len(costs) == 4


def test_a_budget_of_one_trial_is_said_to_be_the_reason():
    study = Study("f1", EqualCostsFirst(Ladder()), pos=0.2, n_trials=1)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    assert study.ask() is None
    assert study.stop_reason == "all 1 trials are done: n_trials allows equal costs only"


@pytest.mark.parametrize("strategy", [Ladder(1), EqualCostsFirst(Ladder(1))])
def test_a_ladder_of_one_ratio_is_said_to_be_the_reason(strategy):
    study = Study("f1", strategy, pos=0.2)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    assert study.ask() is None
    assert study.stop_reason.endswith("done: its only ratio is that of equal costs; strategy=Ladder(3) tries others")


@pytest.mark.parametrize("proposal", ["a level", float("nan")])
def test_what_is_no_proposal_is_refused_by_the_study(proposal):
    study = Study("f1", EqualCostsFirst(get_strategy(lambda trials, *, metric, pos: proposal)), pos=0.2, n_trials=2)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    with pytest.raises((TypeError, ValueError), match="proposed"):
        study.ask()


# ---------------------------------------------------------------- strategies by name


@pytest.mark.parametrize("name", STRATEGIES)
def test_names_give_fresh_objects_of_the_same_name(name):
    assert isinstance(get_strategy(name), Strategy)
    assert get_strategy(name).name == name
    assert get_strategy(name) == get_strategy(name)


def test_objects_and_functions_are_taken_as_they_are():
    grid = Grid(3)
    assert get_strategy(grid) is grid
    assert isinstance(get_strategy(lambda trials, *, metric, pos: None), FunctionStrategy)


def test_unknown_names_are_listed():
    with pytest.raises(ValueError, match=r"unknown strategy 'con'; known: cone, grid, .* or a function"):
        get_strategy("con")


@pytest.mark.parametrize("strategy", [None, 3, Cone, ["cone"]])
def test_anything_else_is_refused(strategy):
    with pytest.raises(TypeError, match=r"strategy must be a name \(cone, .*\), a Strategy object or a function, got"):
        get_strategy(strategy)
