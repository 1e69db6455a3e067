"""Metrics of error profiles, and the class costs that aim at a level of them."""

from csf.metrics.accuracy import BalancedAccuracy, WeightedAccuracy
from csf.metrics.base import Coefficients, LinearFractional, Metric
from csf.metrics.concave import Concave
from csf.metrics.constraint import Constrained, Constraint, get_constraint
from csf.metrics.custom import CustomMetric
from csf.metrics.fbeta import FBeta
from csf.metrics.gmean import GMean
from csf.metrics.gower_legendre import GowerLegendre
from csf.metrics.hmean import HMean
from csf.metrics.jaccard import Jaccard
from csf.metrics.min_rate import MinRate
from csf.metrics.qmean import QMean
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
    "Concave",
    "Constrained",
    "Constraint",
    "CustomMetric",
    "FBeta",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "GMean",
    "GowerLegendre",
    "HMean",
    "Jaccard",
    "LinearFractional",
    "Metric",
    "MinRate",
    "Precision",
    "PredictedPositiveRate",
    "QMean",
    "Recall",
    "Specificity",
    "Tversky",
    "WeightedAccuracy",
    "get_constraint",
    "get_metric",
]
