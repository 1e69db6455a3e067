"""Thresholds on a score: the error profile at every threshold, and classifiers that choose the best one."""

from csf.search.plugin import BisectionPlugIn, FrankWolfePlugIn, PlugInClassifier, RandomizedFrankWolfePlugIn
from csf.thresholds.consistent import Bisection, Mixture, bisection, frank_wolfe
from csf.thresholds.curve import (
    Cut,
    ThresholdCurve,
    cost_threshold,
    probability_curve,
    sweep,
    sweep_several,
    threshold_curve,
)
from csf.thresholds.linear_rule import LinearRule
from csf.thresholds.prevalence import Prevalence, curve_at_prevalence, estimate_prevalence, fold_probabilities
from csf.thresholds.tuned import (
    CatBoostMetric,
    EvalMetric,
    TunedScorer,
    catboost_metric,
    lightgbm_metric,
    tuned_scorer,
    xgboost_metric,
)

__all__ = [
    "Bisection",
    "BisectionPlugIn",
    "CatBoostMetric",
    "Cut",
    "EvalMetric",
    "FrankWolfePlugIn",
    "LinearRule",
    "Mixture",
    "PlugInClassifier",
    "Prevalence",
    "RandomizedFrankWolfePlugIn",
    "ThresholdCurve",
    "TunedScorer",
    "bisection",
    "catboost_metric",
    "cost_threshold",
    "curve_at_prevalence",
    "estimate_prevalence",
    "fold_probabilities",
    "frank_wolfe",
    "lightgbm_metric",
    "probability_curve",
    "sweep",
    "sweep_several",
    "threshold_curve",
    "tuned_scorer",
    "xgboost_metric",
]
