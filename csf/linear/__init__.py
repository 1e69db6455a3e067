"""Weighted linear models that are trained many times on the same data: exact, deterministic, warm-started, certified.

A solver is prepared once for its data and then solved for any weights, from earlier solutions, by the one method of
`csf.linear.solution.Solver`. Each solution carries its duality gap: how far its objective can be from the optimum at
most.
"""

from csf.linear.hinge import Hinge, HingeSolution
from csf.linear.hinge_descent import HingeDescent
from csf.linear.logistic import Logistic
from csf.linear.matrix import Rows
from csf.linear.solution import Solution, Solver
from csf.linear.squared_hinge import SquaredHinge

__all__ = ["Hinge", "HingeDescent", "HingeSolution", "Logistic", "Rows", "Solution", "Solver", "SquaredHinge"]
