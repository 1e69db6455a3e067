"""Contracts of metrics, strategies, trainers and online learners, as checks that third parties can run too."""

from csf.testing.learner import check_online
from csf.testing.metric import check_metric, check_strategy
from csf.testing.trainer import check_engine, check_trainer

__all__ = ["check_engine", "check_metric", "check_online", "check_strategy", "check_trainer"]
