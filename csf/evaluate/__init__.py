"""Evaluation on held-out data: records of trials, their scores, draws of the samples, and corrected values."""

from csf.evaluate.assessment import AssessedMixin, Assessment, Candidate, mean_assessment, seed_of
from csf.evaluate.audits import AuditPlan, audit, labels_needed
from csf.evaluate.choices import Chooser, differences, standard_error
from csf.evaluate.draws import CodedRow, Retuned, retune
from csf.evaluate.predictions import AuditedValue, Difference, metric_difference, metric_interval
from csf.evaluate.resampling import Resampling, assess
from csf.evaluate.stores import MAX_BYTES, EntryStore, HeldOutEntries, ScoreRow, ScoreStore, TrialKey, TrialRow, kept

__all__ = [
    "AssessedMixin",
    "Assessment",
    "AuditPlan",
    "AuditedValue",
    "Candidate",
    "Chooser",
    "CodedRow",
    "Difference",
    "EntryStore",
    "HeldOutEntries",
    "MAX_BYTES",
    "Resampling",
    "Retuned",
    "ScoreRow",
    "ScoreStore",
    "TrialKey",
    "TrialRow",
    "assess",
    "audit",
    "metric_difference",
    "differences",
    "kept",
    "labels_needed",
    "metric_interval",
    "mean_assessment",
    "retune",
    "seed_of",
    "standard_error",
]
