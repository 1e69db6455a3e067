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
        self._gradient = np.zeros(n_weights)  # of the step that is being made, else 0

    def scores(self, rows, x_scale, constant):
        """Scores of rows by the last weights, see `score_rows`."""
        return self.scalars[A] * score_rows(rows, self.v, x_scale, constant)

    def add(self, rows, slopes, x_scale, constant):
        """Add the sum of scaled rows, each times its slope, to the gradient; returns what its squared length gains."""
        kernel = _add_csr if isinstance(rows, tuple) else _add_dense
        rows = rows if isinstance(rows, tuple) else (rows,)
        return kernel(*rows, slopes, x_scale, constant, self._gradient)

    def step(self, parts, eta, radius):
        """Go down the gradient, whose rows and slopes are ``parts``; shorten to the radius; add to the average."""
        if any(not isinstance(rows, tuple) for rows, _ in parts):
            _move_dense(self._gradient, eta, self.v, self.u, self.scalars)
        else:
            for rows, slopes in parts:
                _move_csr(*rows[1:], slopes, self._gradient, eta, self.v, self.u, self.scalars)
        _end_step(self.v, self.u, self.scalars, radius)
        self.n_steps += 1

    def last(self):
        """Weights of the last step."""
        return self.scalars[A] * self.v

    def average(self):
        """Mean of the weights after each step."""
        return (self.scalars[S] * self.v - self.u) / max(self.n_steps, 1)


@njit(cache=True, nogil=True)
def _add_dense(X, slopes, x_scale, constant, gradient):
    before = np.dot(gradient, gradient)
    for i in range(X.shape[0]):
        if slopes[i] != 0.0:
            factor = slopes[i] * x_scale
            for j in range(X.shape[1]):
                gradient[j] += factor * X[i, j]
            if constant > 0.0:
                gradient[-1] += slopes[i] * constant
    return np.dot(gradient, gradient) - before


@njit(cache=True, nogil=True)
def _add_csr(data, indices, indptr, slopes, x_scale, constant, gradient):
    gain, bias = 0.0, 0.0
    for i in range(indptr.shape[0] - 1):
        if slopes[i] != 0.0:
            factor = slopes[i] * x_scale
            for k in range(indptr[i], indptr[i + 1]):
                j, change = indices[k], factor * data[k]
                gain += change * (2.0 * gradient[j] + change)
                gradient[j] += change
            bias += slopes[i] * constant
    if constant > 0.0:
        gain += bias * (2.0 * gradient[-1] + bias)
        gradient[-1] += bias
    return gain


@njit(cache=True, nogil=True)
def _move(j, gradient, eta, v, u, s):
    """Move one weight and forget its gradient."""
    amount = -eta * gradient[j]
    change = amount / s[A]
    s[SQUARED_NORM] += amount * (2.0 * s[A] * v[j] + amount)
    v[j] += change
    u[j] += s[S] * change
    gradient[j] = 0.0


@njit(cache=True, nogil=True)
def _move_dense(gradient, eta, v, u, s):
    for j in range(v.shape[0]):
        _move(j, gradient, eta, v, u, s)
    s[TOUCHED] += v.shape[0]


@njit(cache=True, nogil=True)
def _move_csr(indices, indptr, slopes, gradient, eta, v, u, s):
    for i in range(indptr.shape[0] - 1):
        if slopes[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                if gradient[indices[k]] != 0.0:
                    _move(indices[k], gradient, eta, v, u, s)
            s[TOUCHED] += indptr[i + 1] - indptr[i]
    _move(v.shape[0] - 1, gradient, eta, v, u, s)


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
