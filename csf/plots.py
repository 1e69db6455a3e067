"""Displays: data computed once, drawn as often as you like. matplotlib is imported by ``plot`` alone."""

from csf.show.bounds import BoundComparisonDisplay, ErrorProfileDisplay
from csf.show.cone import ConeDisplay
from csf.show.decisions import CapacityDisplay, NetBenefitDisplay
from csf.show.progress import MonitorDisplay, ProgressDisplay, StreamDisplay
from csf.show.threshold_curve import ThresholdCurveDisplay

__all__ = [
    "BoundComparisonDisplay",
    "CapacityDisplay",
    "ConeDisplay",
    "ErrorProfileDisplay",
    "MonitorDisplay",
    "NetBenefitDisplay",
    "ProgressDisplay",
    "StreamDisplay",
    "ThresholdCurveDisplay",
]
