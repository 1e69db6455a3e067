"""Learners for streams: one example after the other, in memory that does not grow."""

from csf.online.base import LinearOnlineClassifier, OnlineClassifier
from csf.online.logistic import OnlineLogistic, RiverClassifier
from csf.online.omcsl import OMCSL
from csf.online.posterior import FOFO, OFO
from csf.online.spade import SPADE, STAMP

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
