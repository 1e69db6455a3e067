"""Learners for streams: one example after the other, in memory that does not grow."""

from csf.online.base import LinearOnlineClassifier, OnlineClassifier
from csf.online.logistic import OnlineLogistic

__all__ = ["LinearOnlineClassifier", "OnlineClassifier", "OnlineLogistic"]
