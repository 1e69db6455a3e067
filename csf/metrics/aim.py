"""What is maximised: a metric, under a constraint if there is one."""

from __future__ import annotations

from typing import Any

from csf._common.typing import Estimator
from csf.metrics.base import Metric
from csf.metrics.constraint import Constrained, get_constraint
from csf.metrics.registry import get_metric

__all__ = ["aim", "aim_of"]


def aim(metric: str | Metric, constraint: Any) -> Metric:
    """The metric itself where there is no constraint."""
    metric, constraint = get_metric(metric), get_constraint(constraint)
    return metric if constraint is None else Constrained(metric, constraint)


def aim_of(search: Estimator) -> Metric:
    """What a search maximises, or anything else that has a metric and maybe a constraint."""
    return aim(search.metric, getattr(search, "constraint", None))
