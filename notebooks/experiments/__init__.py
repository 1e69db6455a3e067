"""Protocols and tables on real data, the papers' and what defaults are chosen by: sets, splits, methods, statistics."""

from notebooks.experiments.datasets import DataSet, load_set
from notebooks.experiments.methods import METHODS
from notebooks.experiments.protocols import PROTOCOLS, Protocol
from notebooks.experiments.report import Report
from notebooks.experiments.run import Plan, read_cells, run_cells
from notebooks.experiments.statistics import (
    Difference,
    Ranking,
    mean_and_error,
    mean_difference,
    paired_difference,
    rank_methods,
)

__all__ = [
    "METHODS",
    "PROTOCOLS",
    "DataSet",
    "Difference",
    "Plan",
    "Protocol",
    "Ranking",
    "Report",
    "load_set",
    "mean_and_error",
    "mean_difference",
    "paired_difference",
    "rank_methods",
    "read_cells",
    "run_cells",
]
