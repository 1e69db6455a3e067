"""Metrics of error profiles, and the class costs that aim at a level of them."""

from csf.metrics.accuracy import BalancedAccuracy, WeightedAccuracy
from csf.metrics.base import Coefficients, LinearFractional, Metric
from csf.metrics.custom import CustomMetric
from csf.metrics.fbeta import FBeta
from csf.metrics.gower_legendre import GowerLegendre
from csf.metrics.jaccard import Jaccard
from csf.metrics.rates import (
    FalseNegativeRate,
    FalsePositiveRate,
    Precision,
    PredictedPositiveRate,
    Recall,
    Specificity,
)
from csf.metrics.registry import METRICS, get_metric
from csf.metrics.tversky import Tversky

__all__ = [
    "METRICS",
    "BalancedAccuracy",
    "Coefficients",
    "CustomMetric",
    "FBeta",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "GowerLegendre",
    "Jaccard",
    "LinearFractional",
    "Metric",
    "Precision",
    "PredictedPositiveRate",
    "Recall",
    "Specificity",
    "Tversky",
    "WeightedAccuracy",
    "get_metric",
]
