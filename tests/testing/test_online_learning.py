"""`check_online` finds learners that learn nothing."""

import numpy as np
import pytest
from testing.least_squares import LeastSquares

from csf.testing import check_online


class Empty(LeastSquares):
    """Its step does nothing."""

    def _step(self, X, y):
        pass


class Contrary(LeastSquares):
    """Learns the labels turned."""

    def _step(self, X, y):
        super()._step(X, -y)


class InterceptAlone(LeastSquares):
    """Learns how many positives there are, no more."""

    def _step(self, X, y):
        super()._step(X * 0.0, y)


class WithoutIntercept(LeastSquares):
    """Has one by name."""

    def _step(self, X, y):
        for i in range(y.size):
            super()._step(X[i : i + 1], y[i : i + 1])
            self._w[-1] = 0.0


class ContraryIntercept(LeastSquares):
    """Predicts with the intercept on the wrong side."""

    def _weights(self):
        w = np.append(self._w[:-1], -self._w[-1])
        return w, w


class Frozen(LeastSquares):
    """Stands still after ten rows, of one class by chance or not."""

    def _step(self, X, y):
        left = max(0, 10 - self.n_seen_)
        super()._step(X[:left], y[:left])


class Optimist(LeastSquares):
    """Ranks well and calls every row positive."""

    def _weights(self):
        w = np.append(self._w[:-1], self._w[-1] + 1e3)
        return w, w


class Pessimist(LeastSquares):
    """Ranks well and finds nothing."""

    def _weights(self):
        w = np.append(self._w[:-1], self._w[-1] - 1e3)
        return w, w


LEARN_NOTHING = {
    Empty: "_easy_streams_are_learnt: an easy stream is not learnt, its scores are constant: .* curve is 0.5",
    Contrary: "_easy_streams_are_learnt: an easy stream is not learnt: .* curve is 0",
    InterceptAlone: "_easy_streams_are_learnt: an easy stream is not learnt, its scores are constant",
    WithoutIntercept: "_intercepts_are_learnt: an easy stream on one side of the origin is not learnt",
    ContraryIntercept: "_intercepts_are_learnt: an easy stream on one side of the origin is not learnt",
    Frozen: "an easy stream .*is not learnt",
    Optimist: "_easy_streams_are_learnt: an easy stream is not learnt: .* and F1 0.4",
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
