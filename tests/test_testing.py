"""The conformance checks find what they are there to find."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB

from csf.metrics import Coefficients, CustomMetric, FalsePositiveRate, FBeta, LinearFractional, Metric
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP, LinearOnlineClassifier, OnlineLogistic, RiverClassifier
from csf.strategies import FunctionStrategy, Proposal, Strategy
from csf.testing import check_metric, check_online, check_strategy

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


# ---------------------------------------------------------------- online learners

ONLINE = [
    OnlineLogistic(),
    OnlineLogistic(step="paper", alpha=0.01, radius=5.0, averaging="suffix"),
    OFO(),
    OFO(posterior=BernoulliNB()),
    FOFO(horizon=600),
    FOFO("jaccard", step_scale=3.0),
    OMCSL(),
    OMCSL("f2", average=True, loss="hinge"),
    SPADE(),
    SPADE("gmean", sampling="balanced", step="paper", dual="closed"),
    SPADE("min_rate", reward="logistic", step="paper", pos=0.3),
    STAMP(),
    STAMP("jaccard", level="surrogate", step="paper", growth=1.5),
]


@pytest.mark.parametrize("learner", ONLINE, ids=str)
def test_online_learners_keep_the_contract(learner):
    assert check_online(learner) is None


@pytest.mark.skipif(find_spec("river") is None, reason="river is not installed")
def test_learners_of_river_keep_the_contract():
    assert check_online(RiverClassifier()) is None


class Sums(LinearOnlineClassifier):
    """A good learner, to be spoilt: weighted sums of the rows of each class."""

    def __init__(
        self, passes=1, shuffle=True, fit_intercept=True, intercept_scaling=1.0, pos_label=None, random_state=None
    ):
        self.passes, self.shuffle, self.pos_label, self.random_state = passes, shuffle, pos_label, random_state
        self.fit_intercept, self.intercept_scaling = fit_intercept, intercept_scaling

    def _check_parameters(self):
        pass

    def _start(self, n_features):
        self.threshold_, self._w = 0.0, np.zeros(n_features + 1)

    def _step(self, X, y):
        X = X.toarray() if sparse.issparse(X) else X
        self._w += y @ np.column_stack([X, np.ones(y.size)])

    def _weights(self):
        return self._w, self._w


def test_a_good_learner_passes():
    assert check_online(Sums()) is None


class NoPredictions(Sums):
    predict = None


class TurnedPredictions(Sums):
    def predict(self, X):
        return 1 - super().predict(X)


class NotANumber(Sums):
    def decision_function(self, X):
        return super().decision_function(X) * np.nan


class Columns(Sums):
    def decision_function(self, X):
        return super().decision_function(X)[:, None]


class Miscounting(Sums):
    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        self.n_seen_ = 5
        return self


class ByTheChunk(Sums):
    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        self._w *= 0.9
        return self


class Unseeded(Sums):
    def _step(self, X, y):
        super()._step(X, y)
        self._w += 1e-12 * RNG.random(self._w.size)


class Remembering(Sums):
    def _start(self, n_features):
        super()._start(n_features)
        self.fits = getattr(self, "fits", 0) + 1
        self._w += self.fits


class SparseBlind(Sums):
    def _step(self, X, y):
        super()._step(X * (0.5 if sparse.issparse(X) else 1.0), y)


class SparseScores(Sums):
    def decision_function(self, X):
        return super().decision_function(X) + (1.0 if sparse.issparse(X) else 0.0)


class FondOfZero(Sums):
    def _step(self, X, y):
        super()._step(X, y * (2.0 if self.classes_[0] == 0 else 1.0))


class OwnLabels(Sums):
    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


class FondOfTheFirst(Sums):
    def _step(self, X, y):
        super()._step(X, y)
        self._w[0] = 0.0


class NeedsBothClasses(Sums):
    def partial_fit(self, X, y, classes=None):
        if np.unique(y).size < 2 and len(y) > 7:
            raise ValueError("one class only")
        return super().partial_fit(X, y, classes)


class OneClassWillDo(Sums):
    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, [0, 1] if classes is None and not hasattr(self, "classes_") else classes)


class Swallowing(Sums):
    def partial_fit(self, X, y, classes=None):
        X = X if sparse.issparse(X) else np.nan_to_num(X)
        return super().partial_fit(X, y, classes)


class Stained(Sums):
    def partial_fit(self, X, y, classes=None):
        if hasattr(self, "_w"):
            self._w[0] += 0.0 if np.isfinite(sparse.csr_array(X).data).all() else 1.0
        return super().partial_fit(X, y, classes)


class CountingFirst(Sums):
    def partial_fit(self, X, y, classes=None):
        before = getattr(self, "n_seen_", 0)
        try:
            return super().partial_fit(X, y, classes)
        except ValueError:
            self.n_seen_ = before + len(y)
            raise


class ForgetfulPickle(Sums):
    def __getstate__(self):
        return super().__getstate__() | {"_w": np.round(self._w, 6)}


class PickleWithoutClock(Sums):
    """Rows count double from the 150th since the last restart on."""

    clock = 0

    def _start(self, n_features):
        super()._start(n_features)
        self.clock = 0

    def __getstate__(self):
        return {key: value for key, value in super().__getstate__().items() if key != "clock"}

    def _step(self, X, y):
        super()._step(X, y * (1.0 + (self.clock + np.arange(y.size) >= 150)))
        self.clock += y.size


class Writing(Sums):
    def partial_fit(self, X, y, classes=None):
        y[:] = y
        return super().partial_fit(X, y, classes)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (NoPredictions, "has no method predict"),
        (TurnedPredictions, "predict and the sign of decision_function disagree on"),
        (NotANumber, "decision_function must be finite"),
        (Columns, r"decision_function must have shape \(300,\)"),
        (Miscounting, "n_seen_ must be 300, got 5"),
        (ByTheChunk, "chunks of 1 teach something else than one go"),
        (Unseeded, "two fits with the same seed differ"),
        (Remembering, "fit remembers an earlier fit"),
        (SparseBlind, "dense and sparse rows teach different things"),
        (SparseScores, "dense and sparse rows get different scores"),
        (FondOfZero, "labels {0, 1} and {-1, 1} teach different things"),
        (OwnLabels, "predict must give the labels of the stream"),
        (FondOfTheFirst, "the order of features changes coef_"),
        (NeedsBothClasses, "_chunks_may_have_one_class: one class only"),
        (OneClassWillDo, "a first chunk of one class, without classes must raise ValueError"),
        (Swallowing, "a chunk with NaN must raise ValueError"),
        (Stained, "a chunk with NaN is refused, but leaves a trace"),
        (CountingFirst, "a chunk with NaN is refused, but counted in n_seen_"),
        (ForgetfulPickle, "a pickle has other scores"),
        (PickleWithoutClock, "a pickle goes on in another way"),
        (Writing, "read-only"),
    ],
)
def test_bad_learners_are_found(learner, message):
    with pytest.raises(AssertionError, match=message):
        check_online(learner())
