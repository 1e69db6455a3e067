"""Compiled steps that need no tuning: a Gaussian belief about the weights of a logistic model, one example at a time.

Each example narrows the belief by what it tells (its curvature) and moves the mean to the most probable weights, so
that no step is too long however wide the belief or heavy the example. With few features the belief has a full
covariance; with many, one variance each. Weights, covariance and gradient are those of features divided by the
largest value met so far, with the same prior for each: the unit of a feature does not matter.

With a full covariance, examples that say little are gathered: their gradients are added up until they weigh 2 % of
what is known, and their curvatures until a step of the covariance is worth its cost. So a long stream costs a few
operations a feature and example.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from csf._common.typing import Array, FloatArray, Samples
from csf.online._gaussian import INTERCEPT, MEAN, UNIT, VARIANCE, WIDER, diagonal, full
from csf.online._steps import SteppingLearner, StepRule
from csf.online.rows import parts

__all__ = ["Belief", "BeliefSteps", "Pricing", "believe"]

# Features with a full covariance, at most.
MOST_CORRELATED = 512


class Pricing(NamedTuple):
    """Weights of the two classes in the loss. The model is that of equal weights: their log-ratio is an offset."""

    pos: float = 1.0
    neg: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, pos: float, neg: float) -> Pricing:
        """Weights for two positive prices.

        Their ratio is the fourth root of that of the prices, their product 1; the rest is left to the cut. Weights in
        full proportion follow a few examples of the rare class: they cost up to 5 points of average precision.
        """
        ratio = math.sqrt(math.sqrt(pos / neg))
        return cls(math.sqrt(ratio), 1.0 / math.sqrt(ratio), math.log(ratio))


class Belief:
    """State of the learner. ``prior`` is the precision of the prior of each weight, that of the constant apart."""

    def __init__(self, n_features: int, *, prior: float, constant: float, window: int | None = None) -> None:
        n, self.n_features = n_features + 1, n_features
        self.prior, self.constant, self.window = float(prior), float(constant), float(window or np.inf)
        self.full = n_features <= MOST_CORRELATED
        variance = 1.0 / np.append(np.full(n_features, self.prior), INTERCEPT)
        if self.full:
            self.mean, self.gradient, self.scale = np.zeros((3, n))
            self.spread, self.scalars = np.diag(variance), np.array([0.0, 0.0, 0.0, 1.0])
            self.scale[-1] = constant
        else:
            # what a step needs of a weight lies side by side
            self.table = np.zeros((n, 4))
            self.table[:, VARIANCE], self.table[-1, UNIT] = variance, constant

    def weights(self) -> tuple[Array, Array]:
        """Weights that predict, with what has been gathered, and those of the last step."""
        if not self.full:
            last = self.table[:, MEAN] / np.where(self.table[:, UNIT] > 0.0, self.table[:, UNIT], np.inf)
            return last, last
        scale = np.where(self.scale > 0.0, self.scale, np.inf)
        latest = self.mean + self.scalars[WIDER] * (self.spread @ self.gradient)
        return latest / scale, self.mean / scale


def believe(
    belief: Belief, X: Samples, y: FloatArray, t: int, pricing: Pricing, proba: FloatArray, start: int = 0
) -> None:
    """Write the posterior of each row from ``start`` on, as many as ``proba`` holds, then learn it.

    ``t`` rows came before these.
    """
    b, options, part = belief, (belief.prior, belief.window, *pricing), slice(start, start + proba.size)
    values, *places = parts(X)
    # sparse rows are read where they are: slices of sparse matrices are slow
    sparse = (values, places[0], places[1][start : part.stop + 1]) if places else None
    if b.full:
        rows = (values[part],) if sparse is None else sparse
        full(rows, y[part], b.mean, b.spread, b.gradient, b.scale, b.scalars, t, options, proba)
        return
    if sparse is None:
        columns = np.tile(np.arange(X.shape[1], dtype=np.int32), proba.size)
        sparse = values[part].ravel(), columns, np.arange(proba.size + 1) * X.shape[1]
    diagonal(*sparse, y[part], b.table, t, options, proba)


class BeliefSteps(StepRule):
    """Steps without tuning, of rows as they are."""

    scales_rows = False

    def __init__(self, learner: SteppingLearner, n_features: int) -> None:
        constant = learner._constant()
        self.belief = Belief(n_features, prior=learner.prior, constant=constant, window=learner.window)

    def learn(self, learner: SteppingLearner, X: Samples, y: FloatArray) -> FloatArray:
        """Posterior of each row before it is learnt, which it then is."""
        proba = np.empty(y.size)
        believe(self.belief, X, y, learner.n_seen_, Pricing(), proba)
        return proba

    def weights(self) -> tuple[Array, Array]:
        """Weights that predict, with what has been gathered, and those of the last step."""
        return self.belief.weights()
