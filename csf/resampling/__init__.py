"""What held-out scores of many trials say besides the largest value: its optimism, its error, and other winners."""

from csf.resampling.assessment import AssessedMixin, Assessment, assess, mean_assessment
from csf.resampling.outcomes import standard_error
from csf.resampling.resampling import Resampling, Rule, best_rows
from csf.resampling.retuning import CodedRow, Retuned, retune
from csf.resampling.store import MAX_BYTES, EntryStore, ScoreRow, ScoreStore, TrialKey

__all__ = [
    "MAX_BYTES",
    "AssessedMixin",
    "Assessment",
    "CodedRow",
    "EntryStore",
    "Resampling",
    "Retuned",
    "Rule",
    "ScoreRow",
    "ScoreStore",
    "TrialKey",
    "assess",
    "best_rows",
    "mean_assessment",
    "retune",
    "standard_error",
]
