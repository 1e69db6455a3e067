"""Displays: data computed once, drawn as often as you like. matplotlib is imported by ``plot`` alone."""

from csf.plots.bounds import BoundComparisonDisplay, ErrorProfileDisplay
from csf.plots.cone import ConeDisplay
from csf.plots.decisions import CapacityDisplay, NetBenefitDisplay
from csf.plots.progress import MonitorDisplay, ProgressDisplay, StreamDisplay
from csf.plots.threshold_curve import ThresholdCurveDisplay

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
