"""Contracts of metrics, strategies, trainers, learners and thresholds by row, as checks that third parties run too."""

from csf.testing.learner import check_online
from csf.testing.metric import check_metric, check_strategy
from csf.testing.row_thresholds import check_row_thresholds
from csf.testing.trainer import check_engine, check_trainer

__all__ = [
    "check_engine",
    "check_metric",
    "check_online",
    "check_row_thresholds",
    "check_strategy",
    "check_trainer",
]
