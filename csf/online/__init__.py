"""Learners for streams: one example after the other, in memory that does not grow."""

from csf.online.base import LinearOnlineClassifier, OnlineClassifier
from csf.online.fofo import FOFO
from csf.online.logistic import OnlineLogistic
from csf.online.ofo import OFO
from csf.online.omcsl import OMCSL
from csf.online.river import RiverClassifier
from csf.online.spade import SPADE
from csf.online.stamp import STAMP

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
