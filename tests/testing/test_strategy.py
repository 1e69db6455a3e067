"""`check_strategy` finds what it is there to find."""

import pytest

from csf.metrics import GMean
from csf.strategies import Cone, EqualCostsFirst, FunctionStrategy, Grid, ImbalanceRatio, Proposal, Strategy
from csf.testing import check_strategy


class Counting(Strategy):
    """Keeps a state."""

    calls = 0

    def propose(self, trials, *, metric, pos):
        self.calls += 1
        return 1.0 / (self.calls + 1.0)


class Ordered(Strategy):
    """Reads the trials in the order in which they come."""

    def propose(self, trials, *, metric, pos):
        return 0.5 if not trials else 0.5 * trials[-1].t + 0.01


class Tidying(Strategy):
    """Changes the list that it is given."""

    def propose(self, trials, *, metric, pos):
        if isinstance(trials, list):
            trials.sort(key=lambda trial: -trial.number)
        return 0.5 ** (len(trials) + 1)


class Hungry(Strategy):
    """Wants more than one pending trial and does not look at them."""

    batch_size = 4

    def propose(self, trials, *, metric, pos):
        return 0.5 ** (1 + sum(trial.state != "pending" for trial in trials))


class Blind(Strategy):
    """Believes that every trial has a value."""

    def propose(self, trials, *, metric, pos):
        return 0.5 if not trials else 0.5 / (1 + len(trials)) + 0.1 * max(trial.value for trial in trials)


def halves(trials, *, metric, pos):
    return 0.5 ** (len(trials) + 1)


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (Counting(), "counting, exact learner, after 0 trials: the same trials give another proposal"),
        (Ordered(), "ordered, exact learner, after . trials: the proposal depends on the order of the trials"),
        (Tidying(), "propose changed the list of trials"),
        (Hungry(), "hungry, exact learner, after . trials: costs .* were tried before"),
        (Blind(), "blind, failing learner"),
        (FunctionStrategy(lambda trials, *, metric, pos: 1.5), "outside the range"),
        (FunctionStrategy(lambda trials, *, metric, pos: -0.1), "outside the range"),
        (FunctionStrategy(lambda trials, *, metric, pos: float("nan")), "the same trials give another proposal"),
        (FunctionStrategy(lambda trials, *, metric, pos: "half"), "accepted: a level"),
        (FunctionStrategy(lambda trials, *, metric, pos: 0.5), "after 1 trials: costs .* were tried before"),
        (
            FunctionStrategy(lambda trials, *, metric, pos: Proposal(None, 1.0, 0.0)),
            "costs must be positive and finite",
        ),
    ],
)
def test_bad_strategies_are_found(strategy, message):
    with pytest.raises(AssertionError, match=message):
        check_strategy(strategy)


@pytest.mark.parametrize("size", [0, -1, 2.0, "2"])
def test_batch_size_is_a_count(size):
    strategy = FunctionStrategy(halves)
    object.__setattr__(strategy, "batch_size", size)
    with pytest.raises(AssertionError, match="batch_size must be None or >= 1"):
        check_strategy(strategy)


@pytest.mark.parametrize("strategy", ["cone", Strategy, halves])
def test_a_strategy_is_needed(strategy):
    with pytest.raises(AssertionError, match=r"is not a csf\.strategies\.Strategy"):
        check_strategy(strategy)


# ---------------------------------------------------------------- no progress


def nothing(trials, *, metric, pos):
    """Trains nothing."""


def equal_costs(trials, *, metric, pos):
    """One training as without any search."""
    return None if trials else Proposal(None, 1.0, 1.0)


def near_the_first(trials, *, metric, pos):
    """Never leaves its first level."""
    return 0.5 + 1e-4 * len(trials)


def near_the_top(trials, *, metric, pos):
    """Looks where costs are nearly equal."""
    return 0.95 + 1e-4 * len(trials)


def near_the_bottom(trials, *, metric, pos):
    """Looks where one class weighs nearly nothing."""
    return 1e-3 + 1e-5 * len(trials)


def away_from_the_best(trials, *, metric, pos):
    """Halves the side that the best value is not on."""
    lo, hi = 0.0, 1.0
    for _ in trials:
        t = 0.5 * (lo + hi)
        told = next((trial for trial in trials if abs(trial.t - t) < 1e-9), None)
        if told is None:
            return t
        lo, hi = (lo, t) if (told.value or 0.0) >= t else (t, hi)
    return 0.5 * (lo + hi)


def swapped_ratio(trials, *, metric, pos):
    """The imbalance ratio the wrong way round."""
    return None if trials else Proposal(None, pos, 1.0 - pos)


NO_PROGRESS = {
    nothing: "after 0 trials: nothing was trained",
    equal_costs: "rare class, after 1 trials: the best f1 is 0, where 0.243 can be had, and 0.121 is asked for",
    near_the_first: "rare class, after 20 trials: the best f1 is 0",
    near_the_top: "rare class, after 20 trials: the best f1 is 0",
    near_the_bottom: "class, after 20 trials: the best f1 is",
    away_from_the_best: "rare class, after 20 trials: the best f1 is 0",
    swapped_ratio: "rare class, after 1 trials: the best f1 is 0",
}


@pytest.mark.parametrize("function", NO_PROGRESS, ids=lambda function: function.__name__)
def test_strategies_that_get_nowhere_are_found(function):
    with pytest.raises(AssertionError, match=f"{function.__name__}, .*{NO_PROGRESS[function]}"):
        check_strategy(FunctionStrategy(function))


@pytest.mark.parametrize("strategy", [ImbalanceRatio(), Grid(4), Cone(depth=2), EqualCostsFirst(Cone())], ids=repr)
@pytest.mark.parametrize("metric", ["f1", "gmean", "mcc", "accuracy"])
def test_modest_strategies_pass(strategy, metric):
    assert check_strategy(strategy, metric=metric, n_trials=6) is None


def two_levels(trials, *, metric, pos):
    return (0.5, 0.7, None)[len(trials)]


def test_the_metric_decides_what_progress_is():
    """Levels at which nothing is found for F1 are good ones for the G-mean."""
    assert check_strategy(FunctionStrategy(two_levels), metric=GMean()) is None
    with pytest.raises(AssertionError, match="two_levels, rare class, after 2 trials: the best f1 is 0"):
        check_strategy(FunctionStrategy(two_levels))
