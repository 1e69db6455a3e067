"""Displays: data computed once, drawn as often as you like. matplotlib is imported by ``plot`` alone."""

from csf.plots.cone import ConeDisplay
from csf.plots.threshold_curve import ThresholdCurveDisplay

__all__ = ["ConeDisplay", "ThresholdCurveDisplay"]
