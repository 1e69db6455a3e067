"""Thresholds on a score: the error profile at every threshold, and rules that choose the best one."""

from csf.thresholding.consistent import BisectionResult, Mixture, bisection, frank_wolfe
from csf.thresholding.curve import (
    Cut,
    ThresholdCurve,
    ValuedCurve,
    cost_threshold,
    probability_curve,
    sweep,
    sweep_several,
    threshold_curve,
)
from csf.thresholding.exchange import ExchangeRate
from csf.thresholding.linear_rule import ClassProbabilityRule
from csf.thresholding.prevalence import Prevalence, curve_at_prevalence, estimate_prevalence, fold_probabilities
from csf.thresholding.row_thresholds import RowThresholds, ScoredRows, TunedThresholds
from csf.thresholding.tuned import (
    CatBoostMetric,
    EvalMetric,
    TunedScorer,
    catboost_metric,
    lightgbm_metric,
    tuned_scorer,
    xgboost_metric,
)

__all__ = [
    "BisectionResult",
    "CatBoostMetric",
    "Cut",
    "EvalMetric",
    "ClassProbabilityRule",
    "ExchangeRate",
    "Mixture",
    "Prevalence",
    "RowThresholds",
    "ScoredRows",
    "ThresholdCurve",
    "TunedScorer",
    "TunedThresholds",
    "ValuedCurve",
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
