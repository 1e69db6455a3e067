"""Streams whose posteriors are known, a learner that gives them away, and the best threshold."""

import numpy as np
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin


class KnownPosterior(ClassifierMixin, BaseEstimator):
    """Learner for streams whose only feature is the posterior."""

    def partial_fit(self, X, y, classes=None):
        self.classes_ = np.asarray(classes)
        return self

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


def beta_stream(a, b, n, seed):
    """Posteriors with a Beta law, and labels."""
    rng = np.random.default_rng(seed)
    eta = rng.beta(a, b, n)
    return eta, (rng.random(n) < eta).astype(int)


def population(a, b):
    """Functions of the threshold: E[eta; eta >= theta] and Pr(eta >= theta); and the share of positives."""
    pos = a / (a + b)
    more = stats.beta(a + 1, b)
    return (lambda theta: pos * more.sf(theta)), stats.beta(a, b).sf, pos


def best_threshold(a, b, squared_beta):
    """Root of theta (beta^2 pos + rho(theta)) - A(theta)."""
    A, rho, pos = population(a, b)
    return optimize.brentq(lambda theta: theta * (squared_beta * pos + rho(theta)) - A(theta), 0.0, 1.0, xtol=1e-12)


def best_value(a, b, squared_beta):
    """Largest F-beta of the population over thresholds, by search."""
    A, rho, pos = population(a, b)
    grid = np.linspace(0.0, 1.0, 4001)
    return np.max((1.0 + squared_beta) * A(grid) / (squared_beta * pos + rho(grid)))
