"""Logistic regression with an L2 penalty and a weight for each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from csf._common.threads import side_by_side
from csf._common.typing import Array, IntArray
from csf.solvers.base import (
    DIRECT,
    NOISE,
    Inverse,
    Scalar,
    Solution,
    check_finite,
    conjugate_gradients,
    inverse_of,
    quietly,
)
from csf.solvers.losses import LOGISTIC, least_gap
from csf.solvers.matrix import Rows

# Looks at all samples that steps with new second derivatives take to the end.
_LAST_LOOKS = 2.0
# New second derivatives that take fewer looks than these are always made: old ones mislead first steps.
_CHEAP = 2.0
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
    """Coefficients, and what one look at all samples says about them."""

    w: Array
    margins: Array
    objective: Scalar
    slope: Array
    # Not the gap, but no larger, and the factors of the dual variables of both classes that it takes.
    least_gap: Scalar
    scale: Array

    @property
    def less(self) -> Scalar:
        """How much of one class has to be left out."""
        return 1.0 - self.scale.min()

    @property
    def square(self) -> Scalar:
        """Squared slope."""
        return self.slope @ self.slope


class Logistic:
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
        self._ridge = np.ones(rows.n_coefficients)
        self._free = rows.constant != 0.0 and not penalise_constant
        if self._free:
            self._ridge[-1] = 0.0
        self._curvatures = Curvatures(rows, sign, self._ridge, shares)
        self._parts = [(part, rows.take(rows.at[part])) for part in rows.blocks(_CHUNK)]

    @quietly
    def solve(
        self,
        weight: Array,
        *,
        tol: float,
        atol: float = 0.0,
        starts: Sequence[Solution] = (),
        max_iter: int = 200,
    ) -> Solution:
        """Minimise the weighted objective.

        Parameters
        ----------
        weight : ndarray of shape (n_samples,)
            Weights >= 0 of the losses.
        tol : float
            Duality gap to reach, as a share of the objective.
        atol : float, default=0.0
            Duality gap to reach, in units of the objective; the larger of the two counts.
        starts : sequence of Solution, default=()
            Solutions for other weights of the same problem, the nearest first.
        max_iter : int, default=200
            Limit of Newton steps.

        Returns
        -------
        Solution
            The solution; its gap shows whether ``tol`` was reached. Steps that are lost in rounding end the search.

        Raises
        ------
        ValueError
            If the features are so large that sums overflow.
        """
        direct, curvatures = self.rows.n_coefficients <= DIRECT, self._curvatures
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
            found = self._search(point, -inverse(point.slope), weight, shortest=1e-10 if fresh else 1.0)
            if found is None and not fresh:
                inverse = None
                continue
            if found is None:
                gap = self._gap(point, weight, goal)
                # A poor start may lead to where all curvatures vanish, and no step helps. From zero none can.
                if starts and gap > goal:
                    return self.solve(weight, tol=tol, atol=atol, max_iter=max_iter)
                break
            left = found.least_gap + found.less * found.objective
            if not direct or self._is_stale(found.square / point.square, goal / max(left, goal)):
                inverse = None
            point, count = found, count + 1
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
        """Where the solution is likely to be, and where the second derivatives were taken that serve there."""
        near = starts[0]
        known = [each for each in starts if each.totals is not None and (each.totals * totals).all()]
        if near.totals is None or not known or known[0] is not near:
            return near.w, near.anchor
        weights: Any = [each.totals for each in known]
        places, place = np.log(weights), np.log(totals)
        # If a logistic model holds, other costs move the constant by the logarithm of their ratio, and nothing else.
        # What else moves does so smoothly.
        shift = np.zeros_like(near.w)
        if self._free:
            shift[-1] = 1.0 / self.rows.constant
        line = next((other - places[0] for other in places[1:] if not np.allclose(other, places[0])), None)
        guess = near.w - (places[0] @ _RATIO) * shift
        if line is not None:
            along = (places - places[0]) @ line / (line @ line)
            factors = _interpolation(along, places - places[0] - np.outer(along, line), line, place - places[0])
            guess = sum(f * (each.w - (at @ _RATIO) * shift) for f, each, at in zip(factors, known, places) if f)
        return guess + (place @ _RATIO) * shift, near.anchor

    def _look(self, w: Array, weight: Array) -> _Point:
        """Objective, slope and gap of coefficients."""
        ridge, margins = self._ridge, np.empty(self.rows.n_rows)

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
        r"""Duality gap of the residuals, where the larger class is scaled down if the constant is free.

        What the scaled class loses is at most its loss times what is taken; closer bounds take a look at its margins,
        and are only asked for where that is too much.
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
        """A point along a step that is better, or ``None`` where rounding hides descent."""
        descent, length = point.slope @ step, 1.0
        while length >= shortest and -length * descent > NOISE * point.objective:
            found = self._look(point.w + length * step, weight)
            value = found.objective
            if value <= point.objective + 1e-4 * length * descent and value < point.objective:
                return found
            whole, along = length == 1.0, found.margins - point.margins
            length = self._shorter(point, step, along, weight) if whole else 0.5 * length
        return None

    def _shorter(self, point: _Point, step: Array, along: Array, weight: Array) -> float:
        """About the best length of a step that goes too far; margins are linear along it, so that no row is read."""
        ridge_step = self._ridge * step
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
        """Whether new second derivatives take less than more steps with old ones, which leave a share of the slope."""
        return bool(left > 0.5 or np.log(wanted) / np.log(left) > _LAST_LOOKS + self._curvatures.price)

    def _conjugate(self, curvature: Array, n_steps: int) -> Callable[[Array], Array]:
        """Function that applies about the inverse of the second derivatives, by conjugate gradients."""
        # What the steps leave anyway hides what an eighth of the rows does not say. A search that takes long gets more.
        rows, ridge = self.rows, self._ridge
        count = max(_FEWEST, rows.n_rows / _THINNED) * 2.0 ** (n_steps // _PATIENCE)
        taken, factor = thinned(curvature * rows.squared_norms(), count)
        rows, curvature = rows.take(rows.at[taken]), factor * curvature[taken]
        diagonal = ridge + rows.combine(curvature, squares=True)
        diagonal[diagonal == 0.0] = 1.0

        def product(v: Array) -> Array:
            return ridge * v + rows.image(curvature, v)

        def solve(slope: Array) -> Array:
            return conjugate_gradients(product, slope, diagonal=diagonal, left=_FORCING**2, max_iter=200)

        return solve


def _interpolation(along: Array, beside: Array, line: Array, away: Array) -> Array:
    """Factors of solutions, the nearest first, at places along a line that lead to another place.

    A parabola through three places that are apart and enclose the new one, else the line through two.
    """
    x, reach = away @ line / (line @ line), np.linalg.norm(line)
    chosen = [0]
    for k in range(1, along.size):
        apart = all(abs(along[k] - along[other]) > 0.2 for other in chosen)
        if apart and np.linalg.norm(beside[k]) < 0.1 * reach and len(chosen) < 3:
            chosen.append(k)
    at = along[chosen]
    if len(chosen) == 3 and not at.min() - 0.3 <= x <= at.max() + 0.3:
        chosen, at = chosen[:2], at[:2]
    if len(chosen) == 2:
        x = np.clip(x, at.min() - 1.0, at.max() + 1.0)
    factors = np.zeros(along.size)
    for k, own in zip(chosen, at):
        others = at[at != own]
        factors[k] = np.prod((x - others) / (own - others))
    return factors


# About as many rows of a class as its matrix is made of, at least, and for each coefficient.
_ENOUGH, _ENOUGH_PER_FEATURE = 3_000, 25
# Times that the limit of `thinned` is set anew.
_ROUNDS = 10


class Curvatures:
    """Matrices of second derivatives of both classes, at the coefficients where they were last taken.

    They depend on these coefficients and on the data alone: a search that goes on after a pause makes the same ones.
    Threads may share an object: what is kept is replaced in one step.
    """

    def __init__(self, rows: Rows, sign: Array, ridge: Array, shares: Array | None) -> None:
        # Shares are what weights are proportional to within each class; None for equal ones.
        self._rows, self._sign, self._ridge, self._shares = rows, sign, ridge, shares
        # Weights of the classes, of the shares; made when they are needed.
        self._per_share: Array | None = None
        self._kept = b"", np.empty(0)

    @cached_property
    def _taken(self) -> list[tuple[IntArray, Array]]:
        """Rows of both classes that matrices are made of, and how many rows each of them stands for."""
        # Some thousand rows say it as well as a million, as long as the few that a rare feature has are among them.
        enough, of_pos = max(_ENOUGH, _ENOUGH_PER_FEATURE * self._ridge.size), self._sign > 0.0
        return [self._stand_for(np.flatnonzero(of_class), enough) for of_class in (of_pos, ~of_pos)]

    def _stand_for(self, places: IntArray, count: int) -> tuple[IntArray, Array]:
        if places.size <= count:
            return places, np.ones(places.size)
        shares = np.ones(places.size) if self._shares is None else self._shares[places]
        taken, factor = thinned(self._rows.take(self._rows.at[places]).leverages(shares), count)
        return places[taken], factor

    @property
    def share(self) -> float:
        """Share of the rows that matrices are made of."""
        return sum(places.size for places, _ in self._taken) / max(1, self._rows.n_rows)

    @property
    def price(self) -> float:
        """What new matrices take, in looks at all rows."""
        return self.share * self._rows.stored / (4.0 if self._rows.is_sparse else 16.0)

    def totals(self, weight: Array | None) -> Array:
        """Weights of the classes, the positive one first; of ``None``, their numbers of samples."""
        of_pos = self._sign > 0.0
        if weight is None:
            return np.array([np.count_nonzero(of_pos), of_pos.size - np.count_nonzero(of_pos)], dtype=float)
        return np.array([weight @ of_pos, weight @ ~of_pos])

    def inverse(self, anchor: Array, totals: Array) -> Inverse:
        """Function that applies the inverse for weights that are proportional to the shares in each class."""
        matrices = self._matrices(anchor, None)
        if self._per_share is None:
            self._per_share = self.totals(self._shares)
        factor = np.divide(totals, self._per_share, out=np.zeros(2), where=self._per_share > 0)
        return inverse_of(factor[0] * matrices[0] + factor[1] * matrices[1], self._ridge)

    def inverse_at(self, w: Array, margins: Array, weight: Array, totals: Array) -> tuple[Inverse, Array | None]:
        """The same for any weights, at coefficients whose margins are known."""
        if self._are_shared(weight, totals):
            self._matrices(w, margins)
            return self.inverse(w, totals), w
        matrix = np.zeros((self._ridge.size, self._ridge.size))
        self._rows.add_gram(np.arange(self._rows.n_rows), LOGISTIC.curvature(margins, weight), matrix)
        return inverse_of(matrix, self._ridge), None

    def _are_shared(self, weight: Array, totals: Array) -> bool:
        """Whether weights are proportional to the shares in each class."""
        per_share = self._per_share = self.totals(self._shares)
        factor = np.divide(totals, per_share, out=np.zeros(2), where=per_share > 0)
        expected = np.where(self._sign > 0.0, *factor)
        if self._shares is not None:
            expected *= self._shares
        return bool(np.abs(expected - weight).max(initial=0.0) <= 1e-9 * weight.max(initial=0.0))

    def _matrices(self, anchor: Array, margins: Array | None) -> Array:
        """Matrices of both classes, made unless they are the ones that are kept."""
        key, matrices = self._kept
        if key == anchor.tobytes():
            return matrices
        rows, size = self._rows, self._ridge.size
        matrices = np.zeros((2, size, size))
        for matrix, (places, factor) in zip(matrices, self._taken):
            if margins is None:
                z = self._sign[places] * rows.take(rows.at[places]).scores(anchor)
            else:
                z = margins[places]
            shares = None if self._shares is None else self._shares[places]
            rows.add_gram(places, factor * LOGISTIC.curvature(z, shares), matrix)
        self._kept = anchor.tobytes(), matrices
        return matrices


def thinned(sizes: Array, count: float) -> tuple[IntArray, Array]:
    """About ``count`` places that stand for the whole of a sum, and what each is multiplied with.

    The largest terms stand for themselves, the others for as much of the sum as lies between them: so a sum of outer
    products loses little in any direction.
    """
    known = np.flatnonzero(sizes)
    if known.size <= count:
        return known, np.ones(known.size)
    limit = sizes.sum() / count
    # Terms above the limit are not cut into several: the limit falls until the others make up the number.
    for _ in range(_ROUNDS):
        chances = np.minimum(sizes / limit, 1.0)
        limit *= chances.sum() / count
    reached = np.cumsum(chances)
    taken = np.flatnonzero(np.floor(reached) > np.floor(reached - chances))
    return taken, 1.0 / chances[taken]
