"""Weights that are projected onto a ball and averaged over steps, at the cost of the entries that a step touches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from csf._common.compiled import njit
from csf._common.typing import Array, FloatArray

if TYPE_CHECKING:
    from csf.structural._rows import Rows

__all__ = ["AveragedWeights"]

# Places in the vector of scalars: w = A v; the sum of all w so far, each times its part, is S v - u; the parts sum to
# PARTS.
A, S, SQUARED_NORM, TOUCHED, PARTS = range(5)
# Scale below which v and u are written anew: the difference S v - u loses as many digits as A has lost.
_SMALL = 1e-3


class AveragedWeights:
    """Last and averaged weights of projected subgradient descent, all zero at first."""

    def __init__(self, n_weights: int, power: float) -> None:
        self.v, self.u = np.zeros(n_weights), np.zeros(n_weights)
        self.scalars = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
        self._power = power
        self.n_steps = 0
        self._gradient = np.zeros(n_weights)  # of the step that is being made, else 0

    def scores(self, rows: Rows, x_scale: float, constant: float) -> FloatArray:
        """Scores of rows by the last weights."""
        return self.scalars[A] * rows.scores(self.v, x_scale, constant)

    def add(self, rows: Rows, slopes: Array, x_scale: float, constant: float) -> float:
        """Add the sum of scaled rows, each times its slope, to the gradient; returns what its squared length gains."""
        return rows.add(slopes, x_scale, constant, self._gradient)

    def step(self, parts: Sequence[tuple[Rows, Array]], eta: float, radius: float) -> None:
        """Go down the gradient, whose rows and slopes are ``parts``; shorten to the radius; add to the average."""
        for rows, slopes in parts:
            rows.touch((_move_all, _move_touched), slopes, self._gradient, eta, self.v, self.u, self.scalars)
        self.n_steps += 1
        _end_step(self.v, self.u, self.scalars, radius, float(self.n_steps) ** self._power)

    def last(self) -> Array:
        """Weights of the last step."""
        return self.scalars[A] * self.v

    def average(self) -> Array:
        """Average of the weights after each step."""
        return (self.scalars[S] * self.v - self.u) / max(self.scalars[PARTS], 1.0)


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
def _move_all(gradient, eta, v, u, s):
    for j in range(v.shape[0]):
        _move(j, gradient, eta, v, u, s)
    s[TOUCHED] += v.shape[0]


@njit(cache=True, nogil=True)
def _move_touched(indices, starts, stops, slopes, gradient, eta, v, u, s):
    for i in range(starts.shape[0]):
        if slopes[i] != 0.0:
            for k in range(starts[i], stops[i]):
                if gradient[indices[k]] != 0.0:
                    _move(indices[k], gradient, eta, v, u, s)
            s[TOUCHED] += stops[i] - starts[i]
    _move(v.shape[0] - 1, gradient, eta, v, u, s)


@njit(cache=True, nogil=True)
def _end_step(v, u, s, radius, part):
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
    s[S] += part * s[A]
    s[PARTS] += part
