"""Solutions of linear models as states: what is kept of them, and how they make a start for the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from csf._common.typing import Array
from csf.solvers import HingeSolution, Rows

__all__ = ["light", "part_of", "starts_at"]


def starts_at(starts: Sequence[Any], place: Array) -> list[Any]:
    """Solutions to start from: on the line through the nearest two, but for solvers that mix them by themselves.

    Coefficients move along with the logarithms of the weights. Dual variables of the hinge loss are piecewise linear in
    the weights themselves.
    """
    solutions = [solution for _, solution in starts]
    if len(starts) < 2:
        return solutions
    (first, near), (second, far) = starts[:2]
    if isinstance(near, HingeSolution) and near.dual is not None:
        part = _part(np.exp(place), np.exp(first), np.exp(second), -1.0)
        return [replace(near, dual=near.dual + part * (far.dual - near.dual))]
    # Solvers that mix solutions, or know better lines, do so by themselves.
    if near.dual is not None or getattr(near, "totals", None) is not None:
        return solutions
    part = _part(place, first, second, -0.5)
    changes = {"w": near.w + part * (far.w - near.w)}
    if isinstance(near, HingeSolution):
        changes["share"] = np.clip(near.share + part * (far.share - near.share), 0.0, 1.0)
    return [replace(near, **changes)]


def _part(place: Array, first: Array, second: Array, least: float) -> float:
    """How far a place lies along the line from one place to another, from ``least`` to 1."""
    line = second - first
    return float(np.clip((place - first) @ line / (line @ line), least, 1.0)) if line.any() else 0.0


def part_of(solution: Any, rows: Rows, sign: Array) -> Any:
    """What a solution on all samples implies for some of them: dual variables of the others are left out."""
    if isinstance(solution, HingeSolution):
        dual = None if solution.dual is None else solution.dual[rows.at]
        return replace(solution, share=solution.share[rows.at], dual=dual)
    if solution.dual is None:
        # Second derivatives that are made once, for all parts, are made where the solution is.
        anchor = None if solution.anchor is None else solution.w
        return replace(solution, anchor=anchor, of_all=True)
    dual = solution.dual[rows.at]
    return replace(solution, dual=dual, margins=sign * rows.scores(rows.combine(dual * sign)))


def light(solution: Any) -> Any:
    """What the next training needs, no more: either coefficients, or dual variables (and margins to mix them)."""
    if getattr(solution, "dual", None) is None:
        return replace(solution, margins=None)
    margins = None if isinstance(solution, HingeSolution) else solution.margins
    return replace(solution, w=None, margins=margins)
