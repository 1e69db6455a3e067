"""Kinds of problem that a search solves, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from csf._common.validation import check_labels
from csf.metrics.row_costs import row_costs as get_row_costs
from csf.search.problems.binary import BinaryProblem
from csf.search.problems.multiclass import MulticlassProblem
from csf.search.problems.row_costs import RowCostProblem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import IntArray, Samples
    from csf.search.config import SearchConfig
    from csf.search.problems.base import Problem


def read_problem(config: SearchConfig, X: Samples, y: ArrayLike, given: Mapping[str, Any]) -> tuple[Problem, IntArray]:
    """Read the kind of problem that a target with one label a sample poses, and its codes.

    ``given`` are costs of rows. A ValueError for options that the kind has no use for.
    """
    costs = get_row_costs(config.metric)
    if costs is not None:
        return RowCostProblem.read(config, costs, X, y, given)
    if config.null_class is None and config.pos_label is None and check_labels(y)[1].size > 2:
        return MulticlassProblem.read(config, y)
    return BinaryProblem.read(config, y)
