"""Equal costs before everything else."""

import pytest
from builders import told
from hypothesis import given
from hypothesis import strategies as st

from csf import ErrorProfile, Study
from csf.metrics import METRICS, FBeta, LinearFractional
from csf.metrics.registry import aim
from csf.strategies import STRATEGIES, Cone, Grid, Ladder, NeutralFirst, Proposal, get_strategy
from csf.testing import check_strategy

NEUTRAL = told(0, 0.5, 0.3, 0.2, pos=0.2, costs=(1.0, 1.0))


@given(count=st.integers(0, 5), place=st.integers(0, 5))
def test_the_other_strategy_does_not_see_the_first_trial(count, place):
    others = [told(i + 1, 0.1 + i / 10, 0.3, 0.2, pos=0.2) for i in range(count)]
    trials = [*others[:place], NEUTRAL, *others[place:]]
    how = {"metric": FBeta(), "pos": 0.2}
    assert NeutralFirst(Grid(7)).propose(trials, **how) == Grid(7).propose(others, **how)
    assert NeutralFirst(Cone()).propose(others, **how) == Proposal(None, 1.0, 1.0)


@pytest.mark.parametrize("strategy", [Cone(), Grid(4)], ids=repr)
def test_it_keeps_the_contract(strategy):
    check_strategy(NeutralFirst(strategy))
    assert NeutralFirst(strategy).name == strategy.name
    assert NeutralFirst(strategy).batch_size == strategy.batch_size


def test_twice_is_once():
    """Else the inner one would wait for equal costs that it is not shown."""
    assert NeutralFirst(NeutralFirst(Grid(3))) == NeutralFirst(Grid(3))


def test_one_trial_of_the_budget_is_its_own():
    assert NeutralFirst(Grid()).with_budget(11) == NeutralFirst(Grid(10))
    assert NeutralFirst(Grid()).with_budget(1) == NeutralFirst(Grid(1))
    assert NeutralFirst(Grid(7)).with_budget(11) == NeutralFirst(Grid(7))


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
        study = Study(target, NeutralFirst(strategy) if first else strategy, pos=pos, n_trials=6)
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
    study = Study("gmean", NeutralFirst(Cone()), pos=0.5, n_trials=4)
    while trial := study.ask():
        costs.append(trial.costs)
        study.tell(trial, profile=profile)
    assert costs[0] == (1.0, 1.0)
    assert sum(c_fn == c_fp for c_fn, c_fp in costs) == 1
    assert len(costs) == 4


def test_a_budget_of_one_trial_is_said_to_be_the_reason():
    study = Study("f1", NeutralFirst(Ladder()), pos=0.2, n_trials=1)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    assert study.ask() is None
    assert study.stop_reason == "all 1 trials are done: n_trials allows equal costs only"


@pytest.mark.parametrize("strategy", [Ladder(1), NeutralFirst(Ladder(1))])
def test_a_ladder_of_one_ratio_is_said_to_be_the_reason(strategy):
    study = Study("f1", strategy, pos=0.2)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    assert study.ask() is None
    assert study.stop_reason.endswith("done: its only ratio is that of equal costs; strategy=Ladder(3) tries others")


@pytest.mark.parametrize("proposal", ["a level", float("nan")])
def test_what_is_no_proposal_is_refused_by_the_study(proposal):
    study = Study("f1", NeutralFirst(get_strategy(lambda trials, *, metric, pos: proposal)), pos=0.2, n_trials=2)
    study.tell(study.ask(), profile=ErrorProfile(0.05, 0.05, 0.2))
    with pytest.raises((TypeError, ValueError), match="proposed"):
        study.ask()
