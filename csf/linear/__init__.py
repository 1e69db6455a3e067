"""Weighted linear models that are trained many times on the same data: exact, deterministic, warm-started, certified.

A solver is prepared once for its data and then solved for any weights, from an earlier solution. Each solution carries
its duality gap: how far its objective can be from the optimum at most.
"""

from csf.linear.descent import HingeDescent
from csf.linear.hinge import Hinge, HingeSolution
from csf.linear.logistic import Logistic
from csf.linear.matrix import Rows
from csf.linear.solution import Solution
from csf.linear.squared_hinge import SquaredHinge

__all__ = ["Hinge", "HingeDescent", "HingeSolution", "Logistic", "Rows", "Solution", "SquaredHinge"]
