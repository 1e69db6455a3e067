"""`check_online` finds what it is there to find."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from testing.least_squares import LeastSquares

from csf.online import RiverClassifier
from csf.testing import check_online

RNG = np.random.default_rng(0)


@pytest.mark.skipif(find_spec("river") is None, reason="river is not installed")
def test_learners_of_river_keep_the_contract():
    assert check_online(RiverClassifier()) is None


class NoPredictions(LeastSquares):
    predict = None


class TurnedPredictions(LeastSquares):
    def predict(self, X):
        return 1 - super().predict(X)


class NotANumber(LeastSquares):
    def decision_function(self, X):
        return super().decision_function(X) * np.nan


class Columns(LeastSquares):
    def decision_function(self, X):
        return super().decision_function(X)[:, None]


class Miscounting(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        self.n_seen_ = 5
        return self


class ByTheChunk(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        super().partial_fit(X, y, classes)
        self._w *= 0.9
        return self


class Unseeded(LeastSquares):
    def fit(self, X, y):
        super().fit(X, y)
        self._w += 1e-3 * RNG.random(self._w.size)
        return self


class Remembering(LeastSquares):
    def _start(self, n_features):
        super()._start(n_features)
        self.fits = getattr(self, "fits", 0) + 1
        self._w += self.fits


class SparseBlind(LeastSquares):
    def _step(self, X, y):
        super()._step(X * (0.5 if sparse.issparse(X) else 1.0), y)


class SparseScores(LeastSquares):
    def decision_function(self, X):
        return super().decision_function(X) + (1.0 if sparse.issparse(X) else 0.0)


class FondOfZero(LeastSquares):
    def _step(self, X, y):
        super()._step(X, y * (2.0 if self.classes_[0] == 0 else 1.0))


class OwnLabels(LeastSquares):
    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


class FondOfTheFirst(LeastSquares):
    def _step(self, X, y):
        super()._step(X @ np.diag([3.0, *np.ones(X.shape[1] - 1)]), y)


class NeedsBothClasses(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        if np.unique(y).size < 2 and len(y) > 7:
            raise ValueError("one class only")
        return super().partial_fit(X, y, classes)


class OneClassWillDo(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, [0, 1] if classes is None and not hasattr(self, "classes_") else classes)


class Swallowing(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        X = X if sparse.issparse(X) else np.nan_to_num(X)
        return super().partial_fit(X, y, classes)


class Stained(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        if hasattr(self, "_w"):
            self._w[0] += 0.0 if np.isfinite(sparse.csr_array(X).data).all() else 1.0
        return super().partial_fit(X, y, classes)


class CountingFirst(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        before = getattr(self, "n_seen_", 0)
        try:
            return super().partial_fit(X, y, classes)
        except ValueError:
            self.n_seen_ = before + len(y)
            raise


class ForgetfulPickle(LeastSquares):
    def __getstate__(self):
        return super().__getstate__() | {"_w": np.round(self._w, 6)}


class PickleWithoutClock(LeastSquares):
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


class Writing(LeastSquares):
    def partial_fit(self, X, y, classes=None):
        y[:] = y
        return super().partial_fit(X, y, classes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (NoPredictions, "has no method predict"),
        (TurnedPredictions, "predict and the sign of decision_function disagree on"),
        (NotANumber, "decision_function must be finite"),
        (Columns, r"decision_function must have shape \(300,\)"),
        (Miscounting, "n_seen_ must be 300, got 5"),
        (ByTheChunk, "chunks of 1 give another model than all at once"),
        (Unseeded, "two fits with the same seed differ"),
        (Remembering, "fit remembers an earlier fit"),
        (SparseBlind, "dense and sparse rows give different models"),
        (SparseScores, "dense and sparse rows get different scores"),
        (FondOfZero, "labels {0, 1} and {-1, 1} give different models"),
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


class Empty(LeastSquares):
    """Its step does nothing."""

    def _step(self, X, y):
        pass


class Contrary(LeastSquares):
    """Learns the labels turned."""

    def _step(self, X, y):
        super()._step(X, -y)


class WithoutIntercept(LeastSquares):
    """Has one by name."""

    def _step(self, X, y):
        for i in range(y.size):
            super()._step(X[i : i + 1], y[i : i + 1])
            self._w[-1] = 0.0


class Pessimist(LeastSquares):
    """Ranks well and finds nothing."""

    def _weights(self):
        w = np.append(self._w[:-1], self._w[-1] - 1e3)
        return w, w


LEARN_NOTHING = {
    Empty: "_easy_streams_are_learnt: an easy stream is not learnt, its scores are constant: .* curve is 0.5",
    Contrary: "_easy_streams_are_learnt: an easy stream is not learnt: .* curve is 0",
    WithoutIntercept: "_intercepts_are_learnt: an easy stream on one side of the origin is not learnt",
    Pessimist: r"_easy_streams_are_learnt: an easy stream is not learnt: .* and F1 0 \(0.6\)",
}


@pytest.mark.parametrize("learner", LEARN_NOTHING, ids=lambda learner: learner.__name__)
def test_learners_that_learn_nothing_are_found(learner):
    with pytest.raises(AssertionError, match=LEARN_NOTHING[learner]):
        check_online(learner())


def test_a_good_learner_passes():
    assert check_online(LeastSquares()) is None


def test_who_has_no_intercept_by_choice_needs_none():
    assert check_online(LeastSquares(fit_intercept=False)) is None
