"""Protocols and tables on real data, the papers' and what defaults are chosen by: sets, splits, methods, statistics."""

from csf.experiments.choices import CHOICE_BASES, ExactThreshold, OuterFolds, WholeSearch, choice_methods, family
from csf.experiments.choices_report import ChoicesReport, Verdict, write_choices
from csf.experiments.datasets import DataSet, folder_names, load_set
from csf.experiments.figures import make_figures
from csf.experiments.methods import METHODS, PlugInBisection, Result, Search, TunedThreshold
from csf.experiments.protocols import PROTOCOLS, Protocol, Split
from csf.experiments.report import Report, write_report
from csf.experiments.run import Plan, read_cells, run_cells
from csf.experiments.statistics import (
    Difference,
    Ranking,
    mean_and_error,
    mean_difference,
    paired_difference,
    rank_methods,
)
from csf.experiments.streams import LEARNERS, run_streams
from csf.experiments.training_cache import BASES, Base, SplitContext, TrainingCache

__all__ = [
    "BASES",
    "CHOICE_BASES",
    "LEARNERS",
    "METHODS",
    "PROTOCOLS",
    "Base",
    "ChoicesReport",
    "DataSet",
    "Difference",
    "ExactThreshold",
    "OuterFolds",
    "Plan",
    "PlugInBisection",
    "Protocol",
    "Ranking",
    "Report",
    "Result",
    "Search",
    "Split",
    "SplitContext",
    "TrainingCache",
    "TunedThreshold",
    "Verdict",
    "WholeSearch",
    "choice_methods",
    "family",
    "folder_names",
    "load_set",
    "make_figures",
    "mean_and_error",
    "mean_difference",
    "paired_difference",
    "rank_methods",
    "read_cells",
    "run_cells",
    "run_streams",
    "write_choices",
    "write_report",
]

# Their names in 0.1.
Bench, Lab = TrainingCache, SplitContext
