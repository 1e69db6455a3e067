"""Thresholds on a score: the error profile at every cut, and classifiers that choose the best one."""

from csf.thresholding.curve import Cut, ThresholdCurve, sweep, threshold_curve

__all__ = ["Cut", "ThresholdCurve", "sweep", "threshold_curve"]
