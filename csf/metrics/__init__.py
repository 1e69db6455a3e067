"""Error profiles, their metrics, and the class costs that aim at a level of these."""

from csf.metrics import binary, concave, confusion
from csf.metrics.averages import Averaged
from csf.metrics.base import Coefficients, LinearFractional, Measure, Metric
from csf.metrics.binary import *  # noqa: F403 - a new metric is listed in its own file, and in csf.metrics.named
from csf.metrics.concave import *  # noqa: F403
from csf.metrics.confusion import *  # noqa: F403
from csf.metrics.constraints import Constrained, Constraint, Review, get_constraint
from csf.metrics.named import CONFUSION_METRICS, METRICS
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.registry import Incomplete, get_confusion_metric, get_metric
from csf.metrics.row_costs import Column, RowCosts

__all__ = [
    "Averaged",
    "CONFUSION_METRICS",
    "Coefficients",
    "Column",
    "Constrained",
    "Constraint",
    "ErrorProfile",
    "Hull",
    "Incomplete",
    "LinearFractional",
    "METRICS",
    "Measure",
    "Metric",
    "Review",
    "RowCosts",
    "get_confusion_metric",
    "get_constraint",
    "get_metric",
]
__all__ += binary.__all__
__all__ += concave.__all__
__all__ += confusion.__all__
