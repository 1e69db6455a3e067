"""Learners for streams: one example after the other, in memory that does not grow."""

from csf.online.base import LinearOnlineClassifier, OnlineClassifier
from csf.online.fofo import FOFO
from csf.online.logistic import OnlineLogistic
from csf.online.ofo import OFO

__all__ = ["FOFO", "OFO", "LinearOnlineClassifier", "OnlineClassifier", "OnlineLogistic"]
