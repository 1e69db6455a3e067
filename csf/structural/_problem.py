"""A structural loss on a fixed training set, as a convex function of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf._common.typing import Array, BoolArray, Samples
from csf.online.rows import lengths, power_of_two_above
from csf.structural.losses import ClassScores

if TYPE_CHECKING:
    from csf.structural._rows import Rows
    from csf.structural.losses.base import Tangent


__all__ = ["Plane", "StructuralProblem"]


class Plane(NamedTuple):
    """Tangent plane: ``offset + gradient @ w`` is ``value`` at the weights asked for, below the loss at others."""

    value: float
    offset: float
    gradient: Array


class StructuralProblem:
    """Loss of linear scores of scaled rows."""

    def __init__(
        self,
        rows: Rows,
        is_pos: BoolArray,
        tangent_of: Callable[[ClassScores], Tangent],
        *,
        n_features: int,
        constant: float,
        x_scale: float,
    ) -> None:
        self._tangent_of = tangent_of
        self._constant = constant
        self._rows = rows.take(np.argsort(~is_pos, kind="stable"))
        self.n_pos = int(np.count_nonzero(is_pos))
        self.n_weights = n_features + (constant > 0.0)
        self.x_scale = x_scale

    def scores(self, w: Array) -> ClassScores:
        """Scores of the rows, by class."""
        score = self._rows.scores(w, self.x_scale, self._constant)
        return ClassScores.equal(score[: self.n_pos], score[self.n_pos :])

    def value(self, w: Array) -> float:
        """Loss at some weights."""
        return self._tangent_of(self.scores(w)).value

    def plane(self, w: Array) -> Plane:
        """Tangent plane at some weights."""
        tangent = self._tangent_of(self.scores(w))
        gradient = np.zeros(self.n_weights)
        self._rows.add(tangent.slope, self.x_scale, self._constant, gradient)
        return Plane(tangent.value, tangent.offset, gradient)


def longest_scale(X: Samples) -> float:
    """Largest power of two that makes no row of ``X`` longer than 1 (1 if all are 0)."""
    longest = float(lengths(X).max(initial=0.0))
    return 1.0 / power_of_two_above(longest) if longest > 0.0 else 1.0
