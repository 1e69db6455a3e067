"""Logistic regression of several classes with an L2 penalty and a weight for each sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from csf._common.typing import Array, FloatArray, IntArray
from csf.solvers.base import DIRECT, NOISE, Inverse, Scalar, check_finite, inverse_of, quietly
from csf.solvers.matrix import Rows

# Rows that are looked at at once, dense and sparse: what is computed of them stays in the cache; sparse sums are as
# long as there are features, however few rows they are of.
_CHUNK, _SPARSE_CHUNK = 2048, 4096
# Second derivatives are taken from every k-th of many rows: from so many, and so many for each feature.
_ENOUGH, _ENOUGH_PER_FEATURE = 10_000, 100
# Least share of the curvature that any direction among the classes is taken to have.
_LEAST = 1e-8
# What is left of a gain that is lost in rounding, where slopes are lost too.
_HIDDEN = 1e-8
# Share of the slope that inexact Newton steps leave, the most products they take, and as many with an old guess of the
# second derivatives as say that it is too old.
_FORCING, _MOST, _MANY = 0.1, 200, 15


@dataclass(frozen=True, eq=False)
class MultinomialSolution:
    """Coefficients of all classes, of shape (n_classes, n_coefficients), and what they took."""

    w: FloatArray
    objective: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, and what one look at all samples says about them."""

    w: FloatArray
    objective: Scalar
    slope: FloatArray


class Multinomial:
    r"""Data of a logistic regression of several classes, solved for any weights.

    For weights :math:`c_i \ge 0` and scores :math:`f_k(x) = \langle w_k, x \rangle` it minimises

    .. math:: \tfrac12 \sum_k \|w_k\|^2 + \sum_i c_i (\log \sum_k e^{f_k(x_i)} - f_{y_i}(x_i))

    where the coefficients of the constant feature are not penalised, by Newton's method. The equations are solved by
    conjugate gradients, each of which takes about a look at the samples. What brings them to one scale is a guess of
    the second derivatives: the product of two means over the samples, one of the classes' probabilities and one of the
    features. With it 20 looks do from a solution for other weights, and 30 from zero, where plain BFGS takes 70.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature.
    places : ndarray of int of shape (n_samples,)
        Class of each sample: 0, ..., n_classes - 1.
    n_classes : int
        Number of classes.
    """

    def __init__(self, rows: Rows, places: IntArray, n_classes: int) -> None:
        self.rows, self.places, self._shape = rows, places, (n_classes, rows.n_coefficients)
        self._ridge = np.ones(rows.n_coefficients)
        if rows.constant:
            self._ridge[-1] = 0.0

    @quietly
    def solve(
        self, weight: Array, *, tol: float, start: FloatArray | None = None, max_iter: int = 200
    ) -> MultinomialSolution:
        """Solve for weights, until no derivative is beyond ``tol`` times their sum.

        The ``start`` are coefficients of shape (n_classes, n_coefficients).
        """
        point = self._look(np.zeros(self._shape) if start is None else start, weight)
        goal, count, inverse = tol * float(weight.sum()), 0, None
        while np.abs(point.slope).max() > goal and count < max_iter:
            inverse = self._inverse(point.w, weight) if inverse is None else inverse
            step, n_products = self._step(point, weight, inverse, goal)
            found = self._search(point, step, weight)
            if found is None:
                break
            # A guess that was taken elsewhere serves as long as few products do with it.
            inverse = None if n_products > _MANY else inverse
            point, count = found, count + 1
        w = point.w.copy()
        # Constants that all classes share change nothing: they are fixed by their sum 0, as scikit-learn's are.
        if self.rows.constant:
            w[:, -1] -= w[:, -1].mean()
        return MultinomialSolution(w, float(point.objective), count)

    def _look(self, w: FloatArray, weight: Array) -> _Point:
        """Objective and slope of coefficients."""
        constant, slope, loss = self.rows.constant, self._ridge * w, 0.0
        for inside, part in _chunks(self.rows):
            scores, places, each = _scores(part, w, constant), self.places[inside], weight[inside]
            own = places, np.arange(places.size)
            of_own = scores[own]
            top, sums = _exponentiate(scores)
            loss += each @ (np.log(sums) + top - of_own)
            scores *= each / sums
            scores[own] -= each
            _add_rows(part, scores, constant, slope)
        objective = 0.5 * np.vdot(w, self._ridge * w) + loss
        check_finite(objective + np.vdot(slope, slope))
        return _Point(w, objective, slope)

    def _step(self, point: _Point, weight: Array, inverse: Inverse, goal: float) -> tuple[FloatArray, int]:
        """Newton's step, up to a share of the slope, and how many products with second derivatives it took."""
        shares = np.empty((self._shape[0], self.rows.n_rows))
        for inside, part in _chunks(self.rows):
            shares[:, inside] = _shares(part, point.w, self.rows.constant)
        step, residual = np.zeros(self._shape), -point.slope
        direction = inverse(residual)
        first = norm = np.vdot(residual, direction)
        n_products = 0
        while n_products < _MOST:
            n_products += 1
            image = self._image(shares, weight, direction)
            curvature = np.vdot(direction, image)
            # Rounding has left none there. What was found so far still goes down.
            if not curvature > 0.0:
                break
            step += norm / curvature * direction
            residual -= norm / curvature * image
            scaled = inverse(residual)
            norm, before = np.vdot(residual, scaled), norm
            if norm <= _FORCING**2 * first or np.abs(residual).max() <= _FORCING * goal:
                break
            direction = scaled + norm / before * direction
        return step, n_products

    def _image(self, shares: FloatArray, weight: Array, v: FloatArray) -> FloatArray:
        """Product of the second derivatives, where classes have these probabilities, with coefficients."""
        constant, out = self.rows.constant, self._ridge * v
        for inside, part in _chunks(self.rows):
            moved, of_part = _scores(part, v, constant), shares[:, inside]
            moved -= np.einsum("ki,ki->i", of_part, moved)
            moved *= of_part
            moved *= weight[inside]
            _add_rows(part, moved, constant, out)
        return out

    def _search(self, point: _Point, step: FloatArray, weight: Array) -> _Point | None:
        """A point along a step that is better, or ``None`` where rounding hides descent."""
        descent, length, noise = np.vdot(point.slope, step), 1.0, NOISE * point.objective
        while length >= 1e-10 and -length * descent > noise * _HIDDEN:
            found = self._look(point.w + length * step, weight)
            gain = point.objective - found.objective
            if gain > 0.0 and gain >= -1e-4 * length * descent:
                return found
            # Rounding hides gains long before it hides slopes.
            if gain >= -noise and abs(np.vdot(found.slope, step)) <= -0.5 * descent:
                return found
            length *= 0.5
        return None

    def _inverse(self, w: FloatArray, weight: Array) -> Inverse:
        """Function that applies about the inverse of the second derivatives."""
        (n_classes, size), n_rows = self._shape, self.rows.n_rows
        every = max(1, n_rows // max(_ENOUGH, _ENOUGH_PER_FEATURE * size))
        places = np.arange(0, n_rows, every)
        # Means of the probabilities' and of the features' parts: their product is right where these are independent.
        of_classes = np.zeros((n_classes, n_classes))
        of_features = np.zeros((size, size) if size <= DIRECT else size)
        for inside, part in _chunks(self.rows.take(self.rows.at[places])):
            shares, each = _shares(part, w, self.rows.constant), every * weight[places[inside]]
            of_classes += np.diag(shares @ each) - (shares * each) @ shares.T
            each *= 1.0 - np.einsum("ki,ki->i", shares, shares)
            _add_squares(part, each, self.rows.constant, of_features)
        factors, turn = np.linalg.eigh(of_classes / max(np.trace(of_classes), np.finfo(float).tiny))
        # What all classes share has no curvature: of rounding nothing may become a step.
        apply = [self._inverse_of(factor * of_features) for factor in np.maximum(factors, _LEAST)]

        def solve(slope: FloatArray) -> FloatArray:
            return turn @ np.stack([f(line) for f, line in zip(apply, turn.T @ slope)])

        return solve

    def _inverse_of(self, curvature: FloatArray) -> Inverse:
        if curvature.ndim == 2:
            return inverse_of(curvature, self._ridge)
        diagonal = curvature + self._ridge
        diagonal[diagonal == 0.0] = 1.0
        return lambda slope: slope / diagonal


def scores_of(rows: Rows, w: FloatArray) -> FloatArray:
    """Scores of rows in all classes, of shape (n_rows, n_classes)."""
    out = np.empty((rows.n_rows, w.shape[0]))
    for inside, part in _chunks(rows):
        out[inside] = _scores(part, w, rows.constant).T
    return out


def shares_of(rows: Rows, w: FloatArray) -> FloatArray:
    """Probabilities of all classes, of shape (n_rows, n_classes)."""
    out = np.empty((rows.n_rows, w.shape[0]))
    for inside, part in _chunks(rows):
        out[inside] = _shares(part, w, rows.constant).T
    return out


def _chunks(rows: Rows) -> Iterator[tuple[slice, Any]]:
    """Some rows after the other: where they are, and their features in float64."""
    size = _SPARSE_CHUNK if rows.is_sparse else _CHUNK
    for start in range(0, rows.n_rows, size):
        inside = slice(start, start + size)
        yield inside, rows.X[rows.at[inside]].astype(np.float64, copy=False)


def _scores(part: Any, w: FloatArray, constant: float) -> FloatArray:
    """Scores of rows in all classes, a line each: few long lines are fast to go through."""
    scores = w[:, :-1] @ part.T if isinstance(part, np.ndarray) else np.ascontiguousarray((part @ w[:, :-1].T).T)
    scores += constant * w[:, -1:]
    return scores


def _shares(part: Any, w: FloatArray, constant: float) -> FloatArray:
    """Probabilities of all classes, a line each."""
    shares = _scores(part, w, constant)
    shares /= _exponentiate(shares)[1]
    return shares


def _add_rows(part: Any, factor: FloatArray, constant: float, out: FloatArray) -> None:
    """Add rows times a factor in each class."""
    out[:, :-1] += factor @ part if isinstance(part, np.ndarray) else (part.T @ factor.T).T
    out[:, -1] += constant * factor.sum(axis=1)


def _add_squares(part: Any, factor: Array, constant: float, out: FloatArray) -> None:
    """Add outer products of rows, or their diagonals, times a factor each."""
    if out.ndim == 1:
        out[:-1] += factor @ (part * part) if isinstance(part, np.ndarray) else part.multiply(part).T @ factor
        out[-1] += constant * constant * factor.sum()
        return
    rows = np.full((factor.size, out.shape[0]), constant)
    rows[:, :-1] = part if isinstance(part, np.ndarray) else part.toarray()
    out += (rows * factor[:, None]).T @ rows


def _exponentiate(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Exponentials of scores less the largest one of each row, in place; these, and the sums."""
    top = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    return top, scores.sum(axis=0)
