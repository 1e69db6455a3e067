"""What held-out scores of many trials show besides the largest value: its optimism, its error, and other winners."""

from csf.resampling.assessment import AssessedMixin, Assessment, ThresholdQuestion, assess, mean_assessment, seed_of
from csf.resampling.choices import Chooser
from csf.resampling.outcomes import differences, standard_error
from csf.resampling.resampling import Resampling, Rule, best_rows
from csf.resampling.retuning import CodedRow, Retuned, retune
from csf.resampling.store import MAX_BYTES, EntryStore, ScoreRow, ScoreStore, TrialKey

__all__ = [
    "MAX_BYTES",
    "AssessedMixin",
    "Assessment",
    "Chooser",
    "CodedRow",
    "EntryStore",
    "Resampling",
    "Retuned",
    "Rule",
    "ScoreRow",
    "ScoreStore",
    "ThresholdQuestion",
    "TrialKey",
    "assess",
    "best_rows",
    "differences",
    "mean_assessment",
    "retune",
    "seed_of",
    "standard_error",
]
