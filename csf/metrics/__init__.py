"""Metrics of error profiles, and the class costs that aim at a level of them."""

from csf.metrics import registry
from csf.metrics.base import Coefficients, LinearFractional, Metric
from csf.metrics.concave import Concave
from csf.metrics.confusion import ConfusionFunction, ConfusionMetric, CostMatrix, OfTwoClasses
from csf.metrics.constraint import Constrained, Constraint, get_constraint
from csf.metrics.custom import CustomMetric
from csf.metrics.labels import LabelMetric
from csf.metrics.rates import FalseNegativeRate, FalsePositiveRate, PredictedPositiveRate, Rate
from csf.metrics.registry import *  # noqa: F403 - a new metric is listed in one file

__all__ = [
    "Coefficients",
    "Concave",
    "ConfusionFunction",
    "ConfusionMetric",
    "Constrained",
    "Constraint",
    "CostMatrix",
    "CustomMetric",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "LabelMetric",
    "LinearFractional",
    "Metric",
    "OfTwoClasses",
    "PredictedPositiveRate",
    "Rate",
    "get_constraint",
]
__all__ += registry.__all__
