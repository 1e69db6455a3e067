"""Learners for streams: one example after the other, in memory that does not grow."""

from csf.learners.logistic import OnlineLogistic, RiverClassifier
from csf.learners.omcsl import OMCSL
from csf.learners.online import LinearOnlineClassifier, OnlineClassifier
from csf.learners.posterior import FOFO, OFO
from csf.learners.spade import SPADE, STAMP

__all__ = [
    "FOFO",
    "OFO",
    "OMCSL",
    "SPADE",
    "STAMP",
    "LinearOnlineClassifier",
    "OnlineClassifier",
    "OnlineLogistic",
    "RiverClassifier",
]
