"""Displays: data computed once, drawn as often as you like. matplotlib is imported by ``plot`` alone."""

from csf.plots.bounds import BoundComparisonDisplay
from csf.plots.cone import ConeDisplay
from csf.plots.critical_difference import CriticalDifferenceDisplay
from csf.plots.epsilon import BoundEpsilonDisplay
from csf.plots.profile import ErrorProfileDisplay
from csf.plots.progress import ProgressDisplay
from csf.plots.stream import StreamDisplay
from csf.plots.threshold_curve import ThresholdCurveDisplay

__all__ = [
    "BoundComparisonDisplay",
    "BoundEpsilonDisplay",
    "ConeDisplay",
    "CriticalDifferenceDisplay",
    "ErrorProfileDisplay",
    "ProgressDisplay",
    "StreamDisplay",
    "ThresholdCurveDisplay",
]
