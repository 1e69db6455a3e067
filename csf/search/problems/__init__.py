"""Kinds of problem that a search solves, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csf._common.typing import Params
from csf.metrics.constraints import check_no_review
from csf.search.problems.binary import BinaryProblem
from csf.search.problems.multiclass import MulticlassProblem
from csf.search.problems.row_costs import RowCostProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import IntArray, Samples
    from csf.search.config import SearchConfig
    from csf.search.problems.base import Problem

# The first one that matches is the kind of a target with one label a sample.
KINDS: list[type[Problem]] = [RowCostProblem, MulticlassProblem, BinaryProblem]


def read_problem(config: SearchConfig, X: Samples, y: ArrayLike, given: Params) -> tuple[Problem, IntArray]:
    """Read the problem that a target with one label a sample poses, and its codes.

    ``given`` are costs or segments of rows. A ValueError for options that the kind has no use for.
    """
    kind = next(kind for kind in KINDS if kind.matches(config, y))
    problem, codes = kind.read(config, X, y, given)
    if config.review is not None:
        # Beside a null class the answers have one name for all others, and are those classes.
        check_no_review(problem.labels.classes.tolist())
        config.review.limits_on(problem.labels.answers)
    return problem, codes
