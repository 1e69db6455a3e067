"""`check_metric` and `check_strategy` find what they are there to find."""

import numpy as np
import pytest
from sklearn import metrics as sk

from csf.metrics import (
    MCC,
    BalancedAccuracy,
    Coefficients,
    CohenKappa,
    CustomMetric,
    FalsePositiveRate,
    FBeta,
    GMean,
    Informedness,
    Jaccard,
    LinearFractional,
    Metric,
    Rate,
    get_metric,
)
from csf.strategies import Cone, EqualCostsFirst, FunctionStrategy, Grid, ImbalanceRatio, Proposal, Strategy
from csf.testing import check_metric, check_strategy

RNG = np.random.default_rng(0)


class Youden(Metric):
    """A good metric, to be spoilt."""

    def value(self, fn, fp, *, pos):
        return 1 - fn / pos - fp / (1 - pos)


def spoilt(**methods):
    return type("Spoilt", (Youden,), methods)()


def test_a_good_metric_passes():
    assert check_metric(Youden()) is None


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


@pytest.mark.parametrize(("ones", "zeros"), [("tp", "fp"), ("tp", "fn"), ("tn", "fp"), ("tn", "fn")])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_makes_no_right_rate_wrong(ones, zeros, seed):
    rate = type("Rate of two cells", (Rate,), {"ones": (ones,), "zeros": (zeros,)})()
    assert check_metric(rate, random_state=seed) is None


@pytest.mark.parametrize("metric", ["f1", FBeta, None])
def test_a_metric_is_needed(metric):
    with pytest.raises(AssertionError, match=r"is not a csf\.metrics\.Metric"):
        check_metric(metric)


# ---------------------------------------------------------------- another formula


def f2(y_true, y_pred, *, sample_weight):
    return sk.fbeta_score(y_true, y_pred, beta=2.0, sample_weight=sample_weight)


class HalfKappa(CohenKappa):
    """Chance is taken from the true labels alone."""

    def coefficients(self, pos):
        chance = 2.0 * pos * (1.0 - pos)
        return Coefficients(chance, -1.0, -1.0, chance, 0.0, 0.0)


class SquaredCorrelation(MCC):
    """The right order of profiles, in other units."""

    def value(self, fn, fp, *, pos):
        value = super().value(fn, fp, pos=pos)
        return value * abs(value)


class TurnedRates(FBeta):
    """The F1 of the other class."""

    def coefficients(self, pos):
        neg = 1.0 - pos
        return Coefficients(2.0 * neg, 0.0, -2.0, 2.0 * neg, 1.0, -1.0)


class Unweighted(FBeta):
    """Leaves out the weights of samples."""

    def score(self, y_true, y_pred, *, sample_weight=None, pos_label=None):
        return super().score(y_true, y_pred, pos_label=pos_label)


OTHER_FORMULAS = {
    "another beta": (FBeta(1.9), f2),
    "Jaccard for F1": (Jaccard(), sk.f1_score),
    "kappa with half the chance": (HalfKappa(), sk.cohen_kappa_score),
    "squared correlation": (SquaredCorrelation(), sk.matthews_corrcoef),
    "balanced accuracy, not adjusted": (Informedness(), sk.balanced_accuracy_score),
    "arithmetic for geometric mean": (GMean(), sk.balanced_accuracy_score),
    "F1 of the other class": (TurnedRates(), sk.f1_score),
    "recall for precision": (get_metric("recall"), sk.precision_score),
}


@pytest.mark.parametrize("name", OTHER_FORMULAS)
def test_another_formula_is_found(name):
    """These keep all other laws."""
    metric, reference = OTHER_FORMULAS[name]
    assert check_metric(metric) is None
    with pytest.raises(AssertionError, match=r"pos=0.5: the reference gives .* where the metric gives"):
        check_metric(metric, reference=reference)


def test_weights_that_are_left_out_are_found():
    assert check_metric(Unweighted()) is None
    with pytest.raises(AssertionError, match=r"the reference gives .*with weights"):
        check_metric(Unweighted(), reference=sk.f1_score)


def test_the_right_formula_passes():
    assert check_metric(BalancedAccuracy(), reference=sk.balanced_accuracy_score) is None
    assert check_metric(FBeta(2.0), reference=f2) is None


@pytest.mark.parametrize(("check", "part"), [(check_metric, FBeta()), (check_strategy, FunctionStrategy(len))])
def test_the_seed_is_checked(check, part):
    with pytest.raises(TypeError, match=r"random_state must be an int >= 0, a Generator or None, got 0.5"):
        check(part, random_state=0.5)


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


NO_PROGRESS = {
    nothing: "after 0 trials: nothing was trained",
    equal_costs: "rare class, after 1 trials: the best f1 is 0, where 0.243 is possible and 0.121 is required",
    near_the_first: "rare class, after 20 trials: the best f1 is 0",
    away_from_the_best: "rare class, after 20 trials: the best f1 is 0",
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
