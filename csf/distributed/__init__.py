"""Cost search on distributed data: an engine trains and counts, and exact thresholds come from its counts."""

from csf.distributed.counts import (
    Bins,
    CountedCut,
    MemoryScores,
    PartedScores,
    PartScores,
    Quantiles,
    Scored,
    counted_cut,
    own_decision,
)
from csf.distributed.engine import Engine, EngineSearch, FoldTotals, Job, MemoryEngine, hash_folds

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
