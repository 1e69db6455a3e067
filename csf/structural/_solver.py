"""The one-slack cutting-plane method: a model of the loss from its tangent planes, and a certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from csf._common.messages import warn
from csf._common.typing import Array
from csf.structural._simplex_qp import solve_simplex_qp

if TYPE_CHECKING:
    from csf.structural._problem import Plane, StructuralProblem


__all__ = ["Bounds", "CuttingPlaneSolver", "warn_of_weak_results"]

# The small quadratic program is solved to this part of the gap asked for.
_INNER = 1e-3
# Rounding of objectives and bounds, as a share of their terms: no smaller gap is proven.
_NOISE = 4 * np.finfo(np.float64).eps


class Bounds(NamedTuple):
    """Best objective met and largest lower bound, after one more tangent plane."""

    objective: float
    bound: float
    n_cuts: int


class CuttingPlaneSolver:
    r"""Minimise :math:`\frac12 \|w\|^2 + C \ell(w)` for one loss and any C; planes are kept from one C to the next."""

    def __init__(self, problem: StructuralProblem, *, drop_after: int = 50) -> None:
        self._problem = problem
        self._drop_after = drop_after
        # the first plane is 0: the loss is not negative
        self._planes = np.zeros((1, problem.n_weights))
        self._gram, self._offsets, self._alpha = np.zeros((1, 1)), np.zeros(1), np.ones(1)
        self._idle = np.zeros(1, dtype=np.int64)
        self._size = 1

    def solve(
        self, C: float, *, eps: float, max_iter: int, watch: Callable[[Bounds, Array, Array], Any] | None = None
    ) -> tuple[Array, Array, list[Bounds]]:
        """Solve for one ``C``."""
        tol = eps * max(1.0, C)
        steps: list[Bounds] = []
        objective, bound = np.inf, 0.0
        best: Any = None
        w, lower = self._model_minimum(C, _INNER * tol)
        while True:
            bound = max(bound, lower)
            plane = self._problem.plane(w)
            value: Any = 0.5 * (w @ w) + C * max(plane.value, 0.0)
            # the minimum of the model is preferred to an earlier point where both are good enough
            if value < objective or value - bound <= tol:
                best, objective = w, value
            steps.append(Bounds(objective, min(bound, objective - _NOISE * (C + objective)), self._size - 1))
            if watch is not None:
                watch(steps[-1], best, w)
            if objective - bound <= tol or len(steps) == max_iter:
                return best, w, steps
            self._add(plane)
            w, lower = self._model_minimum(C, _INNER * tol)

    def _model_minimum(self, C: float, tol: float) -> tuple[Array, float]:
        """Minimum of the model: weights, and the value, which is a lower bound."""
        size = self._size
        alpha, gram, offsets = C * self._alpha[:size], self._gram[:size, :size], self._offsets[:size]
        solve_simplex_qp(np.ascontiguousarray(gram), offsets, C, alpha, tol)
        self._alpha[:size] = alpha / C
        used = np.flatnonzero(alpha)
        w = -(alpha[used] @ self._planes[used])
        self._idle[1:size] += 1
        self._idle[used] = 0
        return w, float(alpha @ offsets - 0.5 * (w @ w))

    def _add(self, plane: Plane) -> None:
        """Add a plane, in the place of one that has been idle for long if there is any."""
        slot = int(np.argmax(self._idle[: self._size]))
        if slot == 0 or self._idle[slot] < self._drop_after:
            slot, self._size = self._size, self._size + 1
        if slot == self._offsets.shape[0]:
            self._grow()
        self._planes[slot], self._offsets[slot] = plane.gradient, plane.offset
        self._idle[slot] = 0  # its alpha is 0 already
        row = self._planes[: self._size] @ plane.gradient
        self._gram[slot, : self._size] = self._gram[: self._size, slot] = row

    def _grow(self) -> None:
        more = max(16, self._offsets.shape[0])
        self._planes = np.pad(self._planes, ((0, more), (0, 0)))
        self._gram = np.pad(self._gram, (0, more))
        for name in ("_offsets", "_alpha", "_idle"):
            setattr(self, name, np.pad(getattr(self, name), (0, more)))


def warn_of_weak_results(steps: list[Bounds], at_zero: float, C: float, *, eps: float, advice: tuple[str, ...]) -> None:
    """Warn where the solver was stopped early, or where zero weights are as good as what it found."""
    objective, bound, _ = steps[-1]
    gap = (objective - bound) / max(1.0, C)
    if gap > eps:
        warn(
            f"stopped after {len(steps)} tangent planes with a gap of {gap:.2g} > eps={eps:g}; {advice[0]}",
            ConvergenceWarning,
        )
    elif at_zero - bound <= eps * max(1.0, C):
        warn(
            f"zero weights are as good as any up to eps={eps:g}; the model may be of little use. {advice[1]}, use a "
            "looser loss (a larger beta for partial AUC), or OnePassMiniBatch",
        )
