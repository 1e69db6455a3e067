"""Cost search where the data are: an engine trains and counts, and exact thresholds come from its counts."""

from csf.cluster.bins import Bins, Quantiles
from csf.cluster.cut import CountedCut, counted_cut, own_decision
from csf.cluster.engine import Engine, FoldTotals, Job
from csf.cluster.folds import hash_folds
from csf.cluster.in_memory import MemoryEngine
from csf.cluster.loop import EngineSearch
from csf.cluster.scored import MemoryScores, PartedScores, PartScores, Scored

__all__ = [
    "Bins",
    "CountedCut",
    "Engine",
    "EngineSearch",
    "FoldTotals",
    "Job",
    "MemoryEngine",
    "MemoryScores",
    "PartScores",
    "PartedScores",
    "Quantiles",
    "Scored",
    "counted_cut",
    "hash_folds",
    "own_decision",
]
