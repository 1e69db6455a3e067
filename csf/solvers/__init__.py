"""Weighted linear models that are trained many times on the same data: exact, deterministic, warm-started, certified.

A solver is prepared once for its data and then solved for any weights, from earlier solutions, by the single method of
`csf.solvers.base.Solver`. Each solution has a duality gap: an upper bound of the distance of its objective from the
optimum.
"""

from csf.solvers.base import HingeSolution, Solution, Solver
from csf.solvers.hinge import Hinge, HingeDescent, SquaredHinge
from csf.solvers.logistic import Logistic
from csf.solvers.matrix import Rows

__all__ = ["Hinge", "HingeDescent", "HingeSolution", "Logistic", "Rows", "Solution", "Solver", "SquaredHinge"]
