"""Weights that are projected onto a ball and averaged over steps, at the cost of the entries that a step touches."""

import math

import numpy as np
from numba import njit

from csf.structural._rows import score_rows

__all__ = ["AveragedWeights"]

# Places in the vector of scalars: w = A v; the sum of all w so far is S v - u.
A, S, SQUARED_NORM, TOUCHED = range(4)
# Scale below which v and u are written anew: the difference S v - u loses as many digits as A has lost.
_SMALL = 1e-3


class AveragedWeights:
    """Last and averaged weights of projected subgradient descent, all zero at first.

    Parameters
    ----------
    n_weights : int
        Number of weights.
    """

    def __init__(self, n_weights):
        self.v, self.u = np.zeros(n_weights), np.zeros(n_weights)
        self.scalars = np.array([1.0, 0.0, 0.0, 0.0])
        self.n_steps = 0

    def scores(self, rows, x_scale, constant):
        """Scores of rows by the last weights, see `score_rows`."""
        return self.scalars[A] * score_rows(rows, self.v, x_scale, constant)

    def add(self, rows, factors, x_scale, constant):
        """Add the sum of scaled rows, each times its factor, to the last weights; `end_step` ends the step."""
        if isinstance(rows, tuple):
            _add_csr(*rows, factors, x_scale, constant, self.v, self.u, self.scalars)
        else:
            _add_dense(rows, factors, x_scale, constant, self.v, self.u, self.scalars)

    def end_step(self, radius):
        """Shorten the last weights to the radius, and add them to the average."""
        _end_step(self.v, self.u, self.scalars, radius)
        self.n_steps += 1

    def last(self):
        """Weights of the last step."""
        return self.scalars[A] * self.v

    def average(self):
        """Mean of the weights after each step."""
        return (self.scalars[S] * self.v - self.u) / max(self.n_steps, 1)


@njit(cache=True, nogil=True)
def _gain(j, amount, v, u, s):
    """Add ``amount`` to one last weight."""
    change = amount / s[A]
    s[SQUARED_NORM] += amount * (2.0 * s[A] * v[j] + amount)
    v[j] += change
    u[j] += s[S] * change


@njit(cache=True, nogil=True)
def _add_dense(X, factors, x_scale, constant, v, u, s):
    total = np.zeros(v.shape[0])
    for i in range(X.shape[0]):
        if factors[i] != 0.0:
            factor = factors[i] * x_scale
            for j in range(X.shape[1]):
                total[j] += factor * X[i, j]
            if constant > 0.0:
                total[-1] += factors[i] * constant
    for j in range(v.shape[0]):
        _gain(j, total[j], v, u, s)
    s[TOUCHED] += v.shape[0]


@njit(cache=True, nogil=True)
def _add_csr(data, indices, indptr, factors, x_scale, constant, v, u, s):
    bias = 0.0
    for i in range(indptr.shape[0] - 1):
        if factors[i] != 0.0:
            factor = factors[i] * x_scale
            for k in range(indptr[i], indptr[i + 1]):
                _gain(indices[k], factor * data[k], v, u, s)
            s[TOUCHED] += indptr[i + 1] - indptr[i]
            bias += factors[i] * constant
    if constant > 0.0:
        _gain(v.shape[0] - 1, bias, v, u, s)


@njit(cache=True, nogil=True)
def _end_step(v, u, s, radius):
    if s[TOUCHED] >= v.shape[0]:  # free of drift, at no more than the cost of the steps since the last time
        s[SQUARED_NORM] = s[A] * s[A] * np.dot(v, v)
        s[TOUCHED] = 0.0
    if s[SQUARED_NORM] > radius * radius:
        s[A] *= radius / math.sqrt(s[SQUARED_NORM])
        s[SQUARED_NORM] = radius * radius
    if s[A] < _SMALL:
        for j in range(v.shape[0]):
            u[j] -= s[S] * v[j]
            v[j] *= s[A]
        s[A], s[S] = 1.0, 0.0
    s[S] += s[A]
