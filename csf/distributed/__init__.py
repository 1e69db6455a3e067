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
from csf.distributed.engine import Engine, FoldTotals, Job, LocalModel, MemoryEngine, RowCostData, hash_folds
from csf.distributed.plan import EngineOutcome, EnginePlan, search_on

__all__ = [
    "Bins",
    "CountedCut",
    "Engine",
    "EngineOutcome",
    "EnginePlan",
    "FoldTotals",
    "Job",
    "LocalModel",
    "MemoryEngine",
    "MemoryScores",
    "PartScores",
    "PartedScores",
    "Quantiles",
    "RowCostData",
    "Scored",
    "counted_cut",
    "hash_folds",
    "own_decision",
    "search_on",
]
