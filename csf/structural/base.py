"""Common parts of learners of structural losses: rows, averaged weights, samples of a stream, thresholds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from csf._common.compiled import column_of, njit, parts, row_and_bounds, stacked
from csf._common.typing import Array, FloatArray, IntArray, Samples
from csf._common.validation import check_bool
from csf.metrics import get_metric
from csf.thresholding.curve import sweep

if TYPE_CHECKING:
    from csf.structural.losses import ClassScores, StructuralLoss

# ---------------------------------------------------------------- rows


class TrainingRows:
    """Some rows of an array or a CSR matrix."""

    def __init__(self, X: Samples, parts: tuple[Array, ...], rows: IntArray) -> None:
        self.X, self.parts, self.places = X, parts, rows

    def __len__(self) -> int:
        return self.places.shape[0]

    def take(self, places: IntArray | slice) -> TrainingRows:
        """Select some of these rows by an array of places or a slice."""
        return TrainingRows(self.X, self.parts, self.places[places])

    def copy(self) -> TrainingRows:
        """Copy the rows to memory of their own."""
        return rows_of(self.X[self.places])

    def scores(self, w: Array, x_scale: float, constant: float) -> FloatArray:
        """Compute the products of scaled rows with ``w``; its last entry is for a positive constant feature."""
        out = np.empty(len(self))
        _scores(self.parts, self.places, w, x_scale, constant, out)
        return out

    def add(self, slopes: Array, x_scale: float, constant: float, out: Array) -> float:
        """Add the sum of scaled rows, each times its slope, to ``out``. Return the gain of its squared length."""
        return _add(self.parts, self.places, slopes, x_scale, constant, out)


def rows_of(X: Samples) -> TrainingRows:
    """Return all rows of an array or a CSR matrix."""
    return TrainingRows(X, parts(X), np.arange(X.shape[0]))


def stack_rows(pieces: Sequence[TrainingRows]) -> TrainingRows:
    """Copy the rows of all pieces into one piece; sparse if one of them is."""
    return rows_of(stacked([piece.X[piece.places] for piece in pieces]))


@njit(cache=True, nogil=True)
def split_classes(score, sign, out, places) -> int:
    """Write the scores of positives to the front of ``out`` and those of negatives behind, all in their order.

    ``places`` gets the place of each sample in ``out``. Returns the number of positives.
    """
    n_pos = 0
    for i in range(sign.shape[0]):
        n_pos += sign[i] > 0.0
    front, back = 0, n_pos
    for i in range(sign.shape[0]):
        if sign[i] > 0.0:
            places[i] = front
            front += 1
        else:
            places[i] = back
            back += 1
        out[places[i]] = score[i]
    return n_pos


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _score(X, i, w):
    # A function of its own: within the loop over rows, references to the arrays of a row would be counted.
    row, start, stop = row_and_bounds(X, i)
    values, total = row[0], 0.0
    for k in range(start, stop):
        total += values[k] * w[column_of(row, k)]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _scores(X, rows, w, x_scale, constant, out):
    shift = w[-1] * constant if constant > 0.0 else 0.0
    for i in range(rows.shape[0]):
        out[i] = _score(X, rows[i], w) * x_scale + shift


@njit(cache=True, nogil=True)
def _add(X, rows, slopes, x_scale, constant, out):
    # A sparse sum pays for the entries that it changes alone, a dense one changes them all.
    gain, bias = -np.dot(out, out) if len(X) == 1 else 0.0, 0.0
    for i in range(rows.shape[0]):
        if slopes[i] != 0.0:
            row, start, stop = row_and_bounds(X, rows[i])
            values, factor = row[0], slopes[i] * x_scale
            for k in range(start, stop):
                j, change = column_of(row, k), factor * values[k]
                if len(X) == 3:
                    gain += change * (2.0 * out[j] + change)
                out[j] += change
            bias += slopes[i] * constant
    if constant > 0.0:
        if len(X) == 3:
            gain += bias * (2.0 * out[-1] + bias)
        out[-1] += bias
    return gain + np.dot(out, out) if len(X) == 1 else gain


# ---------------------------------------------------------------- averaged weights


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

    def scores(self, rows: TrainingRows, x_scale: float, constant: float) -> FloatArray:
        """Compute the scores of rows by the last weights."""
        return self.scalars[A] * rows.scores(self.v, x_scale, constant)

    def add(self, rows: TrainingRows, slopes: Array, x_scale: float, constant: float) -> float:
        """Add the sum of scaled rows, each times its slope, to the gradient. Return its gain of squared length."""
        return rows.add(slopes, x_scale, constant, self._gradient)

    def step(self, steps: Sequence[tuple[TrainingRows, Array]], eta: float, radius: float) -> None:
        """Descend the gradient by the rows and slopes of the ``steps``; shorten to the radius; add to the average."""
        for rows, slopes in steps:
            _move_along(rows.parts, rows.places, slopes, self._gradient, eta, self.v, self.u, self.scalars)
        self.n_steps += 1
        _end_step(self.v, self.u, self.scalars, radius, float(self.n_steps) ** self._power)

    def last(self) -> Array:
        """Return the weights of the last step."""
        return self.scalars[A] * self.v

    def average(self) -> Array:
        """Compute the average of the weights after each step."""
        return (self.scalars[S] * self.v - self.u) / max(self.scalars[PARTS], 1.0)


@njit(cache=True, nogil=True)
def _move(j, gradient, eta, v, u, s):
    """Move one weight and reset its gradient."""
    amount = -eta * gradient[j]
    change = amount / s[A]
    s[SQUARED_NORM] += amount * (2.0 * s[A] * v[j] + amount)
    v[j] += change
    u[j] += s[S] * change
    gradient[j] = 0.0


@njit(cache=True, nogil=True)
def _move_along(X, rows, slopes, gradient, eta, v, u, s):
    """Move all weights, or those that sparse rows with a slope have entries for."""
    if len(X) == 1:
        for j in range(v.shape[0]):
            _move(j, gradient, eta, v, u, s)
        s[TOUCHED] += v.shape[0]
        return
    for i in range(rows.shape[0]):
        if slopes[i] != 0.0:
            row, start, stop = row_and_bounds(X, rows[i])
            for k in range(start, stop):
                j = column_of(row, k)
                if gradient[j] != 0.0:
                    _move(j, gradient, eta, v, u, s)
            s[TOUCHED] += stop - start
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


# ---------------------------------------------------------------- a uniform sample of a stream


class Reservoir:
    """Random sample of a stream: each row that was added is kept with the same probability."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: TrainingRows | None = None
        self.n_kept = 0
        self.n_seen = 0

    def add(self, rows: TrainingRows, random: FloatArray) -> None:
        """Add rows, given a uniform random number in [0, 1) for each."""
        number = self.n_seen + np.arange(1, random.size + 1)
        place = np.where(number <= self.size, number - 1, (random * number).astype(np.int64))
        kept = np.flatnonzero(place < self.size)
        self.n_seen += random.size
        if kept.size == 0:
            return
        n_before = self.n_kept
        self.n_kept = min(self.size, self.n_seen)
        source = np.arange(self.n_kept)
        for k in kept:  # in order: a later row takes the place of an earlier one
            source[place[k]] = n_before + k
        known = [rows] if self.rows is None else [self.rows, rows]
        self.rows = stack_rows(known).take(source).copy()


# ---------------------------------------------------------------- threshold after learning


def check_tuning(loss: StructuralLoss, tune_threshold: object) -> None:
    """Check the parameter ``tune_threshold`` of a learner."""
    check_bool(tune_threshold, "tune_threshold")
    if tune_threshold and not loss.ranking and loss.metric is None:
        raise ValueError(f"tune_threshold=True needs a loss with a metric to be tuned, got {loss!r}; leave it False")


def choose_threshold(loss: StructuralLoss, scores: ClassScores) -> float:
    """Choose the threshold of scores: the share of positives for a loss that only ranks, else the metric's best."""
    score = np.concatenate([scores.pos, scores.neg])
    share = np.repeat([scores.share_pos, scores.share_neg], [scores.pos.shape[0], scores.neg.shape[0]])
    if not loss.ranking:
        assert loss.metric is not None  # checked with the parameters
        is_pos = np.arange(score.shape[0]) < scores.pos.shape[0]
        return float(sweep(is_pos, score, share).best(get_metric(loss.metric)).threshold)
    order = np.argsort(-score, kind="stable")
    target = scores.pos.shape[0] * scores.share_pos * (1.0 - 1e-9)
    last = min(int(np.searchsorted(np.cumsum(share[order]), target)), score.shape[0] - 1)
    upper, lower = score[order[last]], score[order[min(last + 1, score.shape[0] - 1)]]
    middle = 0.5 * upper + 0.5 * lower
    return float(middle if middle > lower else upper)
