"""`check_metric` finds what it is there to find."""

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
    get_metric,
)
from csf.strategies import FunctionStrategy
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
