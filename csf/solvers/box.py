"""Quadratic programs of linear SVMs in their dual variables: coordinate descent and conjugate gradients take turns."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array, IntArray
from csf.solvers.base import conjugate_gradients
from csf.solvers.kernels import descend
from csf.solvers.matrix import Rows

# Products of conjugate gradients of one turn.
_PRODUCTS = 60
# Passes end where this share of the range of projected gradients is left.
_LEFT = 0.03
# Conjugate gradients end between these shares of the squared slope.
_REST = 1e-4, 0.1
# What they leave, as a share of what may be left.
_SHARE = 0.1
# Halvings of a step that leaves the box before it is given up.
_HALVINGS = 10


class BoxProgram:
    r"""Minimises a quadratic function over a box.

    Notes
    -----
    The function is :math:`\tfrac12 \|\sum_i \alpha_i y_i x_i\|^2 + \tfrac12 \sum_i r_i \alpha_i^2 - \sum_i \alpha_i`
    for ridges r. Coordinate descent [1]_ finds out quickly which variables are at their bounds, and is slow to solve
    for the others where features are alike or weights are large. So a few passes take turns with conjugate gradients
    on the variables that are free, whose step is shortened to the box [2]_.

    References
    ----------
    .. [1] C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.
    .. [2] J. Moré, G. Toraldo, "On the solution of large quadratic programming problems with bound constraints",
       SIAM Journal on Optimization 1, 1991.
    """

    def __init__(self, rows: Rows, sign: Array, ridge: Array, upper: Array, squares: Array) -> None:
        # The squared hinge adds a ridge to the diagonal, the hinge none; upper bounds may be infinite.
        self.rows, self.sign, self.ridge, self.upper, self.squares = rows, sign, ridge, upper, squares

    def turn(
        self, dual: Array, w: Array, margins: Array, passes: int, *, wanted: float = 0.0, seed: int = 0
    ) -> tuple[Array, int]:
        """Some passes of coordinate descent, then conjugate gradients where the passes do not end by themselves.

        Changes ``dual`` and ``w``; ``margins`` tell which variables passes may leave out, ``wanted`` is the share of
        the gap that may be left. Returns the coefficients and the passes used.
        """
        order, enough = self._order(dual, margins)
        rows, problem = self.rows, (self.sign, self.ridge, self.upper, self.squares)
        used = descend(rows.parts, rows.constant, rows.at, problem, dual, w, order, enough, passes, seed)
        # Passes that end by themselves are all that easy problems need.
        if used == passes:
            self.improve_free(dual, w, wanted=wanted)
        # Both have changed the coefficients along with the variables, with the rounding of each change: they are
        # summed anew from the variables, which alone are the state.
        return self.rows.combine(dual * self.sign), used

    def _order(self, dual: Array, margins: Array) -> tuple[IntArray, float]:
        """Variables to pass over, and the range of projected gradients that is enough."""
        gradient = margins - 1.0 + self.ridge * dual
        gradient = np.where(dual <= 0.0, np.minimum(gradient, 0.0), gradient)
        projected = np.where(dual >= self.upper, np.maximum(gradient, 0.0), gradient)
        projected[self.upper <= 0.0] = 0.0
        span = projected.max(initial=0.0) - projected.min(initial=0.0)
        return np.flatnonzero(projected), _LEFT * float(span)

    def improve_free(self, dual: Array, w: Array, *, wanted: float = 0.0) -> None:
        """Lower the function in the variables that are not at a bound, by conjugate gradients."""
        free = np.flatnonzero((dual > 0.0) & (dual < self.upper))
        if free.size == 0:
            return
        block, ridge = self.rows.block(free, self.sign[free]), self.ridge[free]
        slope = block.scores(w[block.columns]) - 1.0 + ridge * dual[free]
        diagonal, has_ridge = self.squares[free] + ridge, bool(ridge.any())
        diagonal[diagonal == 0.0] = 1.0

        def product(v: Array) -> Array:
            # The hinge has no ridge, and many products.
            return block.outer(v) + ridge * v if has_ridge else block.outer(v)

        left = np.clip(_SHARE * wanted, *_REST)
        step = conjugate_gradients(product, -slope, diagonal=diagonal, left=left, max_iter=_PRODUCTS)
        # The step ignores the box and may go up once it is clipped. A shorter one goes down eventually; if ten halvings
        # do not find it, the next passes will.
        for length in 0.5 ** np.arange(_HALVINGS):
            moved = np.clip(dual[free] + length * step, 0.0, self.upper[free])
            change = moved - dual[free]
            if slope @ change + 0.5 * change @ product(change) < 0.0:
                dual[free] = moved
                return
