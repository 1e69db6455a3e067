"""Error profiles, their metrics, and the class costs that aim at a level of these."""

from csf.metrics import registry
from csf.metrics.base import Coefficients, LinearFractional, Metric
from csf.metrics.binary import CustomMetric
from csf.metrics.concave import Concave
from csf.metrics.confusion import ConfusionFunction, ConfusionMetric, CostMatrix, OfTwoClasses
from csf.metrics.constraints import (
    Constrained,
    Constraint,
    FalseNegativeRate,
    FalsePositiveRate,
    MeanCost,
    PredictedPositiveRate,
    Rate,
    Review,
    get_constraint,
)
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.registry import *  # noqa: F403 - a new metric is listed in one file
from csf.metrics.row_costs import Column, RowCosts

__all__ = [
    "Coefficients",
    "Column",
    "Concave",
    "ConfusionFunction",
    "ConfusionMetric",
    "Constrained",
    "Constraint",
    "CostMatrix",
    "CustomMetric",
    "ErrorProfile",
    "FalseNegativeRate",
    "FalsePositiveRate",
    "Hull",
    "LinearFractional",
    "MeanCost",
    "Metric",
    "OfTwoClasses",
    "PredictedPositiveRate",
    "Rate",
    "Review",
    "RowCosts",
    "get_constraint",
]
__all__ += registry.__all__
