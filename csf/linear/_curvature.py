"""Second derivatives of the logistic loss, kept from one problem to the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.linalg import get_lapack_funcs

from csf._common.typing import Array, IntArray
from csf.linear.losses import LOGISTIC
from csf.linear.matrix import Rows

__all__ = ["Curvatures", "inverse_of", "thinned"]

Inverse: TypeAlias = Callable[[Array], Array]
# Rows of a class that its matrix is made of, at least, and as many for each coefficient.
_ENOUGH, _ENOUGH_PER_FEATURE = 3_000, 25
# Times that the limit of `thinned` is set anew.
_ROUNDS = 10
_potrf, _potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)


class Curvatures:
    """Matrices of second derivatives of both classes, at the coefficients where they were last taken.

    They depend on these coefficients and on the data alone: a search that goes on after a pause makes the same ones.
    Threads may share an object: what is kept is replaced at once.
    """

    def __init__(self, rows: Rows, sign: Array, ridge: Array, shares: Array | None) -> None:
        # Shares are what weights are proportional to within each class; None for equal ones.
        self._rows, self._sign, self._ridge, self._shares = rows, sign, ridge, shares
        # Weights of the classes, of the shares; made when they are needed.
        self._per_share: Array | None = None
        self._kept = b"", np.empty(0)

    @cached_property
    def _taken(self) -> list[tuple[int, IntArray]]:
        """Rows of both classes that matrices are made of: every k-th, and k."""
        # Some thousand rows say it as well as a million: steps with the sum over every k-th of them leave little.
        enough, of_pos = max(_ENOUGH, _ENOUGH_PER_FEATURE * self._ridge.size), self._sign > 0.0
        places = [np.flatnonzero(of_class) for of_class in (of_pos, ~of_pos)]
        every = [max(1, each.size // enough) for each in places]
        return [(k, each[::k].copy()) for k, each in zip(every, places)]

    @property
    def share(self) -> float:
        """Share of the rows that matrices are made of."""
        return sum(places.size for _, places in self._taken) / max(1, self._rows.n_rows)

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
        for matrix, (every, places) in zip(matrices, self._taken):
            if margins is None:
                z = self._sign[places] * rows.take(rows.at[places]).scores(anchor)
            else:
                z = margins[places]
            shares = None if self._shares is None else self._shares[places]
            rows.add_gram(places, every * LOGISTIC.curvature(z, shares), matrix)
        self._kept = anchor.tobytes(), matrices
        return matrices


def inverse_of(matrix: Array, ridge: Array) -> Inverse:
    """Function that applies the inverse of an upper triangle and a ridge; changes the matrix."""
    diagonal = matrix.diagonal() + ridge
    # Neither the constant feature nor one that vanishes under the curvatures needs to have any: rounding may leave
    # no factor, and the smallest growth that leaves one is taken.
    growth = 0.0
    while True:
        matrix.flat[:: ridge.size + 1] = diagonal * (1.0 + growth) + (growth if growth else 0.0)
        # The library reads columns: its lower triangle is the upper one of the matrix.
        factor, failed = _potrf(matrix.T, lower=True)
        if not failed:
            return lambda slope: _potrs(factor, slope, lower=True)[0]
        growth = max(10.0 * growth, 1e-14)


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
