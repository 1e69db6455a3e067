"""How good fitted classifiers are on held-out data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf._common.typing import Array, BoolArray
from csf.errors.profile import ErrorProfile

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.constraint import Constraint


__all__ = ["Judged", "judge"]


@dataclass(frozen=True)
class Judged:
    """What one classifier does on held-out data.

    Parameters
    ----------
    value : float
        The metric.
    rate : float or None
        The constrained rate, where there is a constraint.
    """

    value: float
    rate: float | None


def judge(
    metric: Metric,
    constraint: Constraint | None,
    is_pos: BoolArray,
    predicted_pos: BoolArray,
    weight: Array | None = None,
) -> Judged:
    """Metric and constrained rate of predictions.

    Parameters
    ----------
    metric : Metric
        What is maximised.
    constraint : Constraint or None
        What must hold.
    is_pos, predicted_pos : ndarray of bool, shape (n_samples,)
        Truth and prediction.
    weight : ndarray of shape (n_samples,), default=None
        Sample weights.

    Returns
    -------
    Judged
        Both numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from csf.metrics import FBeta
    >>> judge(FBeta(1.0), None, np.array([True, True, False]), np.array([True, False, False])).value
    0.667
    """
    profile = ErrorProfile.from_masks(is_pos, predicted_pos, sample_weight=weight)
    return Judged(metric.of(profile), None if constraint is None else constraint.quantity.of(profile))
