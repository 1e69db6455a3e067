"""Weighted linear models that are trained many times on the same data: exact, deterministic, warm-started, certified.

A solver is prepared once for its data and then solved for any weights, from earlier solutions, by the one method of
`csf.solvers.base.Solver`. Each solution carries its duality gap: how far its objective can be from the optimum at
most.
"""

from csf.solvers.base import HingeSolution, Solution, Solver
from csf.solvers.hinge import Hinge, HingeDescent, SquaredHinge
from csf.solvers.logistic import Logistic
from csf.solvers.matrix import Rows

__all__ = ["Hinge", "HingeDescent", "HingeSolution", "Logistic", "Rows", "Solution", "Solver", "SquaredHinge"]
