"""Logistic regression of two or several classes with an L2 penalty and a weight for each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from csf._common.threads import side_by_side
from csf._common.typing import Array, FloatArray, IntArray, Samples
from csf.solvers.base import (
    DIRECT,
    LOGISTIC,
    NOISE,
    Inverse,
    Scalar,
    Solution,
    Solver,
    check_finite,
    conjugate_gradients,
    inverse_of,
    least_gap,
)
from csf.solvers.matrix import Rows

# Looks at all samples that steps with new second derivatives take to the end.
_LAST_LOOKS = 2.0
_TINY = np.finfo(np.float64).tiny
# New second derivatives that take fewer looks than these are always made: old ones mislead first steps.
_CHEAP = 2.0
# Share of the rows that represent the others, up to which a problem is solved on these first.
_FEW_OF_MANY = 1.0 / 12.0
# Share of the slope that inexact Newton steps leave.
_FORCING = 0.3
# Rows that such steps make second derivatives of: one of so many, and so many at least.
_THINNED, _FEWEST = 8, 2000
# Steps after which it is twice as many.
_PATIENCE = 5
# Logarithms of the weights of both classes to that of their ratio.
_RATIO = np.array([1.0, -1.0])
# Lengths of a step that are tried in memory.
_LENGTHS = 20
# Samples in one pass: as many as stay in the cache.
_CHUNK = 32768


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, with the results of one pass over all samples."""

    w: Array
    margins: Array
    objective: Scalar
    slope: Array
    # Not the gap, but no larger, and the factors of the dual variables of both classes that it takes.
    least_gap: Scalar
    scale: Array

    @property
    def less(self) -> Scalar:
        """Fraction of one class that has to be left out."""
        return 1.0 - self.scale.min()

    @property
    def square(self) -> Scalar:
        """Squared norm of the slope."""
        return self.slope @ self.slope


class Logistic(Solver[Solution]):
    r"""Data of a logistic regression, solved for any weights.

    Parameters
    ----------
    rows : Rows
        Training data with the constant feature.
    sign : ndarray of shape (n_samples,)
        +1 for the positive class and -1 for the other.
    penalise_constant : bool, default=False
        Whether the coefficient of the constant feature is regularised like the others.
    shares : ndarray of shape (n_samples,), default=None
        What the weights of all problems are proportional to within each class; ``None`` for equal ones. Where that
        holds, second derivatives serve several problems.
    whole : callable, default=None
        Gives the same problem on all samples, where these are a part of them. Its second derivatives serve solutions
        that start from one of it.

    Notes
    -----
    For weights :math:`c_i \ge 0` and signs :math:`y_i` it minimises

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \log(1 + e^{-y_i \langle w, x_i \rangle})

    by Newton's method. With few features the second derivatives of both classes are kept as long as steps with them
    pay, from one problem to the next. A start moves the constant by the logarithm of the ratio of the costs, and the
    rest along a line or a parabola through earlier solutions. With many features the equations are solved by conjugate
    gradients. The gap is that of the dual variables :math:`c_i \sigma(-y_i \langle w, x_i \rangle)`, averaged over the
    classes where the constant feature is free [1]_.

    References
    ----------
    .. [1] H.-F. Yu, F.-L. Huang, C.-J. Lin, "Dual coordinate descent methods for logistic regression and maximum
       entropy models", Machine Learning 85, 2011.

    Examples
    --------
    >>> from csf.solvers import Rows
    >>> problem = Logistic(Rows(np.array([[0.0], [1.0], [3.0]])), np.array([-1.0, -1.0, 1.0]))
    >>> problem.solve(np.full(3, 10.0), tol=1e-9).w.round(2)
    array([ 2.21, -4.48])
    """

    _limit = 200

    def __init__(
        self,
        rows: Rows,
        sign: Array,
        *,
        penalise_constant: bool = False,
        shares: Array | None = None,
        whole: Callable[[], Logistic] | None = None,
    ) -> None:
        self.rows, self.sign, self._whole = rows, sign, whole
        self.ridge = np.ones(rows.n_coefficients)
        self._free = rows.constant != 0.0 and not penalise_constant
        if self._free:
            self.ridge[-1] = 0.0
        self._curvatures = Curvatures(rows, sign, self.ridge, shares)
        self._parts = [(part, rows.take(rows.places[part])) for part in rows.blocks(_CHUNK)]

    @cached_property
    def _few(self) -> tuple[IntArray, Array, Logistic] | None:
        """Rows that represent all, how many each represents, and the problem on these; ``None`` without many rows."""
        curvatures = self._curvatures
        if self.rows.n_coefficients > DIRECT or curvatures.share > _FEW_OF_MANY:
            return None
        places, factor = (np.concatenate(parts) for parts in zip(*curvatures._taken))
        part = self.rows.take(self.rows.places[places])
        return places, factor, Logistic(part, self.sign[places], penalise_constant=not self._free)

    def _guesses(self, weight: Array, tol: float) -> list[Solution]:
        """Solve for a few rows that represent the others: from there, few looks at all rows are left."""
        if self._few is None:
            return []
        places, factor, problem = self._few
        return [problem.solve(factor * weight[places], tol=tol)]

    def _solve(
        self, weight: Array, tol: float, atol: float, starts: Sequence[Solution], max_iter: int, *, guess: bool = True
    ) -> Solution:
        direct, curvatures = self.rows.n_coefficients <= DIRECT, self._curvatures
        starts = starts or (self._guesses(weight, tol) if guess else [])
        totals = curvatures.totals(weight)
        w, anchor = self._start(totals, starts) if starts else (np.zeros(self.rows.n_coefficients), None)
        of_all = anchor is not None and starts[0].of_all and self._whole is not None
        is_cheap = direct and curvatures.price < _CHEAP
        # Those of all samples are made once for all parts, which are alike: steps with them leave little more.
        known = self._whole()._curvatures if of_all and self._whole is not None else curvatures
        inverse = None if anchor is None or is_cheap else known.inverse(anchor, totals)
        point, count, gap = self._look(w, weight), 0, np.inf
        while True:
            goal = max(atol, tol * point.objective)
            if point.least_gap <= goal or count >= max_iter:
                gap = self._gap(point, weight, goal)
                if gap <= goal or count >= max_iter:
                    break
            fresh = inverse is None
            if inverse is None and direct:
                (inverse, anchor), of_all = curvatures.inverse_at(point.w, point.margins, weight, totals), False
            elif inverse is None:
                inverse = self._conjugate(LOGISTIC.curvature(point.margins, weight), count)
            # A step with old second derivatives that goes too far says that they are too old.
            better = self._search(point, -inverse(point.slope), weight, shortest=1e-10 if fresh else 1.0)
            if better is None and not fresh:
                inverse = None
                continue
            if better is None:
                gap = self._gap(point, weight, goal)
                # A poor start may lead to where all curvatures vanish, and no step helps. From zero none can.
                if starts and gap > goal:
                    return self._solve(weight, tol, atol, (), max_iter, guess=False)
                break
            left = better.least_gap + better.less * better.objective
            if not direct or self._is_stale(better.square / point.square, goal / max(left, goal)):
                inverse = None
            point, count = better, count + 1
        gap = max(gap, NOISE * point.objective)
        return Solution(
            point.w,
            float(point.objective),
            float(gap),
            count,
            point.margins,
            totals=totals,
            anchor=anchor,
            of_all=of_all,
        )

    def _start(self, totals: Array, starts: Sequence[Solution]) -> tuple[Array, Array | None]:
        """Estimate the solution, and choose the place of the second derivatives that serve there."""
        first = starts[0]
        known = [start for start in starts if start.totals is not None and (start.totals * totals).all()]
        if first.totals is None or not known or known[0] is not first:
            return first.w, first.anchor
        weights: Any = [start.totals for start in known]
        places, place = np.log(weights), np.log(totals)
        # If a logistic model holds, other costs move the constant by the logarithm of their ratio, and nothing else.
        # What else moves does so smoothly.
        shift = np.zeros_like(first.w)
        if self._free:
            shift[-1] = 1.0 / self.rows.constant
        line = next((other - places[0] for other in places[1:] if not np.allclose(other, places[0])), None)
        guess = first.w - (places[0] @ _RATIO) * shift
        if line is not None:
            along = (places - places[0]) @ line / (line @ line)
            factors = _interpolation(along, places - places[0] - np.outer(along, line), line, place - places[0])
            guess = sum(
                f * (start.w - (place @ _RATIO) * shift) for f, start, place in zip(factors, known, places) if f
            )
        return guess + (place @ _RATIO) * shift, first.anchor

    def _look(self, w: Array, weight: Array) -> _Point:
        """Compute the objective, slope and gap of coefficients."""
        ridge, margins = self.ridge, np.empty(self.rows.n_rows)

        # A part at a time: its rows are still in the cache when they are summed.
        def look(place: tuple[slice, Rows]) -> tuple[Scalar, Array]:
            inside, part = place
            factor = np.empty(part.n_rows)
            np.multiply(self.sign[inside], part.scores(w), out=margins[inside])
            loss = LOGISTIC.terms(margins[inside], self.sign[inside], weight[inside], factor)
            return loss, part.combine_by_sign(factor)

        losses, pulls = zip(*side_by_side(look, self._parts))
        loss, pulls = sum(losses), np.sum(pulls, axis=0)
        slope = ridge * w - pulls.sum(axis=0)
        check_finite(slope @ slope)
        return _Point(w, margins, 0.5 * w @ (ridge * w) + loss, slope, *least_gap(w, ridge, pulls))

    def _gap(self, point: _Point, weight: Array, goal: Scalar) -> Scalar:
        r"""Compute the duality gap of the residuals, with the larger class scaled down if the constant is unpenalised.

        The cost of scaling a class is at most its loss times the fraction removed; a closer bound takes a pass over its
        margins, and is only computed where that is too much.
        """
        less = point.less
        if less == 1.0:
            return np.inf
        loose = point.least_gap + less * point.objective
        if loose <= goal or less == 0.0:
            return loose
        of_class = (self.sign > 0.0) if point.scale[0] < 1.0 else (self.sign < 0.0)
        return point.least_gap + LOGISTIC.lost(point.margins[of_class], weight[of_class], less)

    def _search(self, point: _Point, step: Array, weight: Array, *, shortest: float) -> _Point | None:
        """Search along a step for a better point; return ``None`` where rounding hides descent."""
        descent, length = point.slope @ step, 1.0
        while length >= shortest and -length * descent > NOISE * point.objective:
            trial = self._look(point.w + length * step, weight)
            value = trial.objective
            if value <= point.objective + 1e-4 * length * descent and value < point.objective:
                return trial
            whole, along = length == 1.0, trial.margins - point.margins
            length = self._shorter(point, step, along, weight) if whole else 0.5 * length
        return None

    def _shorter(self, point: _Point, step: Array, along: Array, weight: Array) -> float:
        """Estimate the best length of a step that is too long; margins are linear along it, so that no row is read."""
        ridge_step = self.ridge * step
        first, second, low, high, length = point.w @ ridge_step, step @ ridge_step, 0.0, 1.0, 0.5
        for _ in range(_LENGTHS):
            odds = 1.0 / (1.0 + np.exp(point.margins + length * along))
            pull = weight * odds * along
            slope = first + length * second - pull.sum()
            low, high = (length, high) if slope < 0.0 else (low, length)
            before, length = length, length - slope / (second + pull @ (along - odds * along))
            # Newton's method within a bracket, as far as a search that goes on elsewhere needs.
            if not low < length < high:
                length = 0.5 * (low + high)
            if abs(length - before) <= 0.1 * length:
                break
        return length

    def _is_stale(self, left: Scalar, wanted: Scalar) -> bool:
        """Check whether new second derivatives take less time than more steps with old ones."""
        return bool(left > 0.5 or np.log(wanted) / np.log(max(left, _TINY)) > _LAST_LOOKS + self._curvatures.price)

    def _conjugate(self, curvature: Array, n_steps: int) -> Callable[[Array], Array]:
        """Return a function that approximates the inverse of the second derivatives by conjugate gradients."""
        # What the steps leave anyway hides what an eighth of the rows does not say. A search that takes long gets more.
        rows, ridge = self.rows, self.ridge
        count = max(_FEWEST, rows.n_rows / _THINNED) * 2.0 ** (n_steps // _PATIENCE)
        taken, factor = thinned(curvature * rows.squared_norms(), count)
        rows, curvature = rows.take(rows.places[taken]), factor * curvature[taken]
        diagonal = ridge + rows.combine(curvature, squares=True)
        diagonal[diagonal == 0.0] = 1.0

        def product(v: Array) -> Array:
            return ridge * v + rows.image(curvature, v)

        def solve(slope: Array) -> Array:
            return conjugate_gradients(product, slope, diagonal=diagonal, left=_FORCING**2, max_iter=200)

        return solve


def _interpolation(along: Array, beside: Array, line: Array, away: Array) -> Array:
    """Compute the factors of solutions, the nearest first, that interpolate them along a line at a new place.

    Uses a parabola through three places that are apart and enclose the new one, else the line through two.
    """
    x, distance = away @ line / (line @ line), np.linalg.norm(line)
    chosen = [0]
    for k in range(1, along.size):
        is_distinct = all(abs(along[k] - along[other]) > 0.2 for other in chosen)
        if is_distinct and np.linalg.norm(beside[k]) < 0.1 * distance and len(chosen) < 3:
            chosen.append(k)
    places = along[chosen]
    if len(chosen) == 3 and not places.min() - 0.3 <= x <= places.max() + 0.3:
        chosen, places = chosen[:2], places[:2]
    if len(chosen) == 2:
        x = np.clip(x, places.min() - 1.0, places.max() + 1.0)
    factors = np.zeros(along.size)
    for k, place in zip(chosen, places):
        others = places[places != place]
        factors[k] = np.prod((x - others) / (place - others))
    return factors


# About as many rows of a class as its matrix is made of, at least, for each coefficient, and one of so many.
_ENOUGH, _ENOUGH_PER_FEATURE, _ENOUGH_OF_MANY = 3_000, 25, 16
# Choosing some of less than so many times as many takes as long as matrices of all.
_WORTH = 4
# Times that the limit of `thinned` is set anew, unless it yields so much of the number before.
_ROUNDS, _ALL_BUT = 10, 1.0 - 1e-9


class Curvatures:
    """Matrices of second derivatives of both classes, at the coefficients where they were last computed.

    They depend only on these coefficients and on the data: a search that is resumed computes the same ones. Threads may
    share an object: cached values are replaced in one step.
    """

    def __init__(self, rows: Rows, sign: Array, ridge: Array, shares: Array | None) -> None:
        # Shares are what weights are proportional to within each class; None for equal ones.
        self._rows, self._sign, self._ridge, self._shares = rows, sign, ridge, shares
        # Weights of the classes, of the shares; made when they are needed.
        self._per_share: Array | None = None
        self._kept = b"", np.empty(0)

    @cached_property
    def _taken(self) -> list[tuple[IntArray, Array]]:
        """Rows of both classes from which matrices are computed, and the number of rows that each represents."""
        # Some thousand rows say it as well as a million, as long as the few that a rare feature has are among them.
        enough, of_pos = max(_ENOUGH, _ENOUGH_PER_FEATURE * self._ridge.size), self._sign > 0.0
        classes = [np.flatnonzero(of_class) for of_class in (of_pos, ~of_pos)]
        return [self._stand_for(places, max(enough, places.size / _ENOUGH_OF_MANY)) for places in classes]

    def _stand_for(self, places: IntArray, count: float) -> tuple[IntArray, Array]:
        if places.size <= _WORTH * count:
            return places, np.ones(places.size)
        shares = np.ones(places.size) if self._shares is None else self._shares[places]
        taken, factor = thinned(self._rows.take(self._rows.places[places]).leverages(shares), count)
        return places[taken], factor

    @property
    def share(self) -> float:
        """Share of the rows from which matrices are computed."""
        return sum(places.size for places, _ in self._taken) / max(1, self._rows.n_rows)

    @property
    def price(self) -> float:
        """Time to compute new matrices, in passes over all rows."""
        return self.share * self._rows.stored / (4.0 if self._rows.is_sparse else 16.0)

    def totals(self, weight: Array | None) -> Array:
        """Sum the weights of the classes, positive first; for ``None`` return their numbers of samples."""
        of_pos = self._sign > 0.0
        if weight is None:
            return np.array([np.count_nonzero(of_pos), of_pos.size - np.count_nonzero(of_pos)], dtype=float)
        return np.array([weight @ of_pos, weight @ ~of_pos])

    def inverse(self, anchor: Array, totals: Array) -> Inverse:
        """Return a function that applies the inverse for weights that are proportional to the shares in each class."""
        matrices = self._matrices(anchor, None)
        if self._per_share is None:
            self._per_share = self.totals(self._shares)
        factor = np.divide(totals, self._per_share, out=np.zeros(2), where=self._per_share > 0)
        return inverse_of(factor[0] * matrices[0] + factor[1] * matrices[1], self._ridge)

    def inverse_at(self, w: Array, margins: Array, weight: Array, totals: Array) -> tuple[Inverse, Array | None]:
        """Return a function that applies the inverse for any weights, at coefficients whose margins are known."""
        if self._are_shared(weight, totals):
            self._matrices(w, margins)
            return self.inverse(w, totals), w
        matrix = np.zeros((self._ridge.size, self._ridge.size))
        self._rows.add_gram(np.arange(self._rows.n_rows), LOGISTIC.curvature(margins, weight), matrix)
        return inverse_of(matrix, self._ridge), None

    def _are_shared(self, weight: Array, totals: Array) -> bool:
        """Check whether weights are proportional to the shares in each class."""
        per_share = self._per_share = self.totals(self._shares)
        factor = np.divide(totals, per_share, out=np.zeros(2), where=per_share > 0)
        expected = np.where(self._sign > 0.0, *factor)
        if self._shares is not None:
            expected *= self._shares
        return bool(np.abs(expected - weight).max(initial=0.0) <= 1e-9 * weight.max(initial=0.0))

    def _matrices(self, anchor: Array, margins: Array | None) -> Array:
        """Return the matrices of both classes; reuse them where they are cached."""
        key, matrices = self._kept
        if key == anchor.tobytes():
            return matrices
        rows, size = self._rows, self._ridge.size
        matrices = np.zeros((2, size, size))
        for matrix, (places, factor) in zip(matrices, self._taken):
            if margins is None:
                z = self._sign[places] * rows.take(rows.places[places]).scores(anchor)
            else:
                z = margins[places]
            shares = None if self._shares is None else self._shares[places]
            rows.add_gram(places, factor * LOGISTIC.curvature(z, shares), matrix)
        self._kept = anchor.tobytes(), matrices
        return matrices


def thinned(sizes: Array, count: float) -> tuple[IntArray, Array]:
    """Choose about ``count`` places that represent a whole sum, and the factor of each.

    The largest terms represent themselves, the others the part of the sum between them: so a sum of outer products
    changes little in any direction.
    """
    known = np.flatnonzero(sizes)
    if known.size <= count:
        return known, np.ones(known.size)
    limit = sizes.sum() / count
    # Terms above the limit are not cut into several: the limit falls until the others make up the number.
    for _ in range(_ROUNDS):
        chances = np.minimum(sizes / limit, 1.0)
        short = chances.sum() / count
        limit *= short
        if short > _ALL_BUT:
            break
    reached = np.cumsum(chances)
    taken = np.flatnonzero(np.floor(reached) > np.floor(reached - chances))
    return taken, 1.0 / chances[taken]


# ---------------------------------------------------------------- several classes


# Rows that are looked at at once, dense and sparse: what is computed of them stays in the cache; sparse sums are as
# long as there are features, however few rows they are of.
_ROWS, _SPARSE_ROWS = 2048, 4096
# Second derivatives are taken from every k-th of many rows: from so many, and so many for each feature.
_ENOUGH_TO_GUESS, _ENOUGH_TO_GUESS_PER_FEATURE = 10_000, 100
# Least share of the curvature that any direction among the classes is taken to have.
_LEAST = 1e-8
# What is left of a gain that is lost in rounding, where slopes are lost too.
_HIDDEN = 1e-8
# Share of the slope that inexact Newton steps leave, the most products they take, and as many with an old guess of the
# second derivatives as say that it is too old.
_FORCING_OF_CLASSES, _MOST, _MANY = 0.1, 200, 15


@dataclass(frozen=True, eq=False)
class MultinomialSolution:
    """Coefficients of all classes, of shape (n_classes, n_coefficients), and the work that they took."""

    w: FloatArray
    objective: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class _PointOfClasses:
    """Coefficients, with the results of one pass over all samples."""

    w: FloatArray
    objective: Scalar
    slope: FloatArray


class Multinomial:
    r"""Data of a logistic regression of several classes, solved for any weights.

    For weights :math:`c_i \ge 0` and scores :math:`f_k(x) = \langle w_k, x \rangle` it minimises

    .. math:: \tfrac12 \sum_k \|w_k\|^2 + \sum_i c_i (\log \sum_k e^{f_k(x_i)} - f_{y_i}(x_i))

    where the coefficients of the constant feature are not penalised, by Newton's method. The equations are solved by
    conjugate gradients, each of which takes about one pass over the samples. Their preconditioner approximates the
    second derivatives by the product of two means over the samples, one of the classes' probabilities and one of the
    features. With it 20 passes suffice from a solution for other weights, and 30 from zero, where BFGS without it takes
    70.

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

    @np.errstate(over="ignore", invalid="ignore")
    def solve(
        self, weight: Array, *, tol: float, start: FloatArray | None = None, max_iter: int = 200
    ) -> MultinomialSolution:
        """Minimise for given weights, until no derivative exceeds ``tol`` times their sum.

        The ``start`` is an array of coefficients of shape (n_classes, n_coefficients).
        """
        point = self._look(np.zeros(self._shape) if start is None else start, weight)
        goal, count, inverse = tol * float(weight.sum()), 0, None
        while np.abs(point.slope).max() > goal and count < max_iter:
            inverse = self._inverse(point.w, weight) if inverse is None else inverse
            step, n_products = self._step(point, weight, inverse, goal)
            better = self._search(point, step, weight)
            if better is None:
                break
            # A guess that was taken elsewhere serves as long as few products do with it.
            inverse = None if n_products > _MANY else inverse
            point, count = better, count + 1
        w = point.w.copy()
        # Constants that all classes share change nothing: they are fixed by their sum 0, as scikit-learn's are.
        if self.rows.constant:
            w[:, -1] -= w[:, -1].mean()
        return MultinomialSolution(w, float(point.objective), count)

    def _look(self, w: FloatArray, weight: Array) -> _PointOfClasses:
        """Compute the objective and slope of coefficients."""
        constant, slope, loss = self.rows.constant, self._ridge * w, 0.0
        for inside, part in _chunks(self.rows):
            scores, places, row_weight = _scores(part, w, constant), self.places[inside], weight[inside]
            cells = places, np.arange(places.size)
            of_own = scores[cells]
            top, sums = _exponentiate(scores)
            loss += row_weight @ (np.log(sums) + top - of_own)
            scores *= row_weight / sums
            scores[cells] -= row_weight
            _add_rows(part, scores, constant, slope)
        objective = 0.5 * np.vdot(w, self._ridge * w) + loss
        check_finite(objective + np.vdot(slope, slope))
        return _PointOfClasses(w, objective, slope)

    def _step(self, point: _PointOfClasses, weight: Array, inverse: Inverse, goal: float) -> tuple[FloatArray, int]:
        """Compute Newton's step, up to a share of the slope, and count the products with second derivatives."""
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
            if norm <= _FORCING_OF_CLASSES**2 * first or np.abs(residual).max() <= _FORCING_OF_CLASSES * goal:
                break
            direction = scaled + norm / before * direction
        return step, n_products

    def _image(self, shares: FloatArray, weight: Array, v: FloatArray) -> FloatArray:
        """Multiply coefficients by the second derivatives, where classes have the probabilities ``shares``."""
        constant, out = self.rows.constant, self._ridge * v
        for inside, part in _chunks(self.rows):
            change, of_part = _scores(part, v, constant), shares[:, inside]
            change -= np.einsum("ki,ki->i", of_part, change)
            change *= of_part
            change *= weight[inside]
            _add_rows(part, change, constant, out)
        return out

    def _search(self, point: _PointOfClasses, step: FloatArray, weight: Array) -> _PointOfClasses | None:
        """Search along a step for a better point; return ``None`` where rounding hides descent."""
        descent, length, noise = np.vdot(point.slope, step), 1.0, NOISE * point.objective
        while length >= 1e-10 and -length * descent > noise * _HIDDEN:
            trial = self._look(point.w + length * step, weight)
            gain = point.objective - trial.objective
            if gain > 0.0 and gain >= -1e-4 * length * descent:
                return trial
            # Rounding hides gains long before it hides slopes.
            if gain >= -noise and abs(np.vdot(trial.slope, step)) <= -0.5 * descent:
                return trial
            length *= 0.5
        return None

    def _inverse(self, w: FloatArray, weight: Array) -> Inverse:
        """Return a function that approximates the inverse of the second derivatives."""
        (n_classes, size), n_rows = self._shape, self.rows.n_rows
        every = max(1, n_rows // max(_ENOUGH_TO_GUESS, _ENOUGH_TO_GUESS_PER_FEATURE * size))
        places = np.arange(0, n_rows, every)
        # Means of the probabilities' and of the features' parts: their product is right where these are independent.
        of_classes = np.zeros((n_classes, n_classes))
        of_features = np.zeros((size, size) if size <= DIRECT else size)
        for inside, part in _chunks(self.rows.take(self.rows.places[places])):
            shares, row_weight = _shares(part, w, self.rows.constant), every * weight[places[inside]]
            of_classes += np.diag(shares @ row_weight) - (shares * row_weight) @ shares.T
            row_weight *= 1.0 - np.einsum("ki,ki->i", shares, shares)
            _add_squares(part, row_weight, self.rows.constant, of_features)
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
    """Compute the scores of rows in all classes, of shape (n_rows, n_classes)."""
    out = np.empty((rows.n_rows, w.shape[0]))
    for inside, part in _chunks(rows):
        out[inside] = _scores(part, w, rows.constant).T
    return out


def shares_of(rows: Rows, w: FloatArray) -> FloatArray:
    """Compute the probabilities of all classes, of shape (n_rows, n_classes)."""
    out = np.empty((rows.n_rows, w.shape[0]))
    for inside, part in _chunks(rows):
        out[inside] = _shares(part, w, rows.constant).T
    return out


def _chunks(rows: Rows) -> Iterator[tuple[slice, Samples]]:
    """Yield chunks of rows: their indices, and their features in float64."""
    size = _SPARSE_ROWS if rows.is_sparse else _ROWS
    for start in range(0, rows.n_rows, size):
        inside = slice(start, start + size)
        yield inside, rows.X[rows.places[inside]].astype(np.float64, copy=False)


def _scores(part: Samples, w: FloatArray, constant: float) -> FloatArray:
    """Compute the scores of rows, with a line for each class: a few long lines are fast to process."""
    scores = w[:, :-1] @ part.T if isinstance(part, np.ndarray) else np.ascontiguousarray((part @ w[:, :-1].T).T)
    scores += constant * w[:, -1:]
    return scores


def _shares(part: Samples, w: FloatArray, constant: float) -> FloatArray:
    """Compute the probabilities of all classes, with a line for each class."""
    shares = _scores(part, w, constant)
    shares /= _exponentiate(shares)[1]
    return shares


def _add_rows(part: Samples, factor: FloatArray, constant: float, out: FloatArray) -> None:
    """Add rows times a factor in each class to ``out``."""
    out[:, :-1] += factor @ part if isinstance(part, np.ndarray) else (part.T @ factor.T).T
    out[:, -1] += constant * factor.sum(axis=1)


def _add_squares(part: Samples, factor: Array, constant: float, out: FloatArray) -> None:
    """Add outer products of rows, or their diagonals, times a factor each, to ``out``."""
    if out.ndim == 1:
        out[:-1] += factor @ (part * part) if isinstance(part, np.ndarray) else part.multiply(part).T @ factor
        out[-1] += constant * constant * factor.sum()
        return
    rows = np.full((factor.size, out.shape[0]), constant)
    rows[:, :-1] = part if isinstance(part, np.ndarray) else part.toarray()
    out += (rows * factor[:, None]).T @ rows


def _exponentiate(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Exponentiate scores less the largest one of each row, in place; return them and their sums."""
    top = scores.max(axis=0)
    scores -= top
    np.exp(scores, out=scores)
    return top, scores.sum(axis=0)
