"""The conformance checks find what they are there to find."""

import numpy as np
import pytest

from csf.metrics import Coefficients, CustomMetric, FalsePositiveRate, FBeta, LinearFractional, Metric
from csf.strategies import FunctionStrategy, Proposal, Strategy
from csf.testing import check_metric, check_strategy

RNG = np.random.default_rng(0)


class Youden(Metric):
    """A good metric, to be spoilt."""

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)


def spoilt(**methods):
    return type("Spoilt", (Youden,), methods)()


def test_good_parts_pass():
    assert check_metric(Youden()) is None
    assert check_strategy(FunctionStrategy(lambda trials, *, metric, pos: None)) is None


METRICS = {
    "scalars only": ({"value": lambda self, fn, fp, *, pos: max(1 - fn / pos - fp, 0.0)}, "Spoilt, pos=0.5: The truth"),
    "arrays only": (
        {"value": lambda self, fn, fp, *, pos: np.atleast_1d(1 - np.asarray(fn) / pos - fp)},
        "numbers must give a number",
    ),
    "NaN in a corner": (
        {"value": lambda self, fn, fp, *, pos: np.where(np.asarray(fn) == pos, np.nan, 1 - np.asarray(fn) / pos - fp)},
        "values must be finite",
    ),
    "division by zero": (
        {"value": lambda self, fn, fp, *, pos: np.asarray(pos - fn) / (pos - fn + fp)},
        "Spoilt, pos=0.5: .* encountered in divide",
    ),
    "grows": ({"value": lambda self, fn, fp, *, pos: 1 - fn + fp}, "the value grows with an error"),
    "exceeds its range": ({"value": lambda self, fn, fp, *, pos: 2 - fn - fp}, "above the range's end 1"),
    "range turned": ({"range": lambda self, pos: (1.0, 0.0)}, "the range must be finite with lo < hi"),
    "infinite range": ({"range": lambda self, pos: (-np.inf, 1.0)}, "the range must be finite"),
    "negative costs": (
        {"cost_weights": lambda self, t, *, pos: (1.0, -t)},
        "must be finite, not negative and not both",
    ),
    "no costs": ({"cost_weights": lambda self, t, *, pos: (0.0, 0.0)}, "must be finite, not negative and not both 0"),
    "three costs": ({"cost_weights": lambda self, t, *, pos: (1.0, 1.0, 1.0)}, "cost_weights must return"),
    "random": ({"value": lambda self, fn, fp, *, pos: 1 - fn - fp - 1e-6 * RNG.random()}, "the same profiles give oth"),
    "writes": ({"value": lambda self, fn, fp, *, pos: np.subtract(1, fn, out=np.asarray(fn)) - fp}, "read-only"),
    "no name": ({"name": ""}, "name must be a text"),
}


@pytest.mark.parametrize("name", METRICS)
def test_bad_metrics_are_found(name):
    methods, message = METRICS[name]
    metric = spoilt(**methods)
    with pytest.raises(AssertionError, match=message):
        check_metric(metric)


class WrongCosts(FBeta):
    """Costs of another level."""

    def cost_weights(self, t, *, pos):
        return super().cost_weights(0.9 * t, pos=pos)


class WrongOffset(FBeta):
    """An offset that moves the line."""

    def offset(self, t, *, pos):
        return super().offset(t, pos=pos) + 0.01 * pos


class WrongDenominator(FBeta):
    """A denominator that is not the one of the value."""

    def denominator(self, fn, fp, *, pos):
        return 2.0 * super().denominator(fn, fp, pos=pos)


class Infinite(LinearFractional):
    """A coefficient that is no number."""

    def coefficients(self, pos):
        return Coefficients(pos, -1.0, 0.0, pos, np.inf, 1.0)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (WrongCosts(), "the costs of level .* misplace"),
        (WrongOffset(), "the costs of level .* misplace"),
        (WrongDenominator(), "differences of values are not those of errors weighted"),
        (FalsePositiveRate(), "fpr, pos=0.5: the value grows with an error"),
        (CustomMetric((1.0, 1.0, -1.0, 1.0, 0.0, 0.0), levels=(0.0, 2.0)), "the value grows with an error"),
        (Infinite(), "Infinite, pos=0.5"),
    ],
    ids=lambda part: getattr(part, "name", ""),
)
def test_bad_linear_fractional_metrics_are_found(metric, message):
    with pytest.raises(AssertionError, match=message):
        check_metric(metric)


@pytest.mark.parametrize("metric", ["f1", FBeta, None])
def test_a_metric_is_needed(metric):
    with pytest.raises(AssertionError, match=r"is not a csf\.metrics\.Metric"):
        check_metric(metric)


# ---------------------------------------------------------------- strategies


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
