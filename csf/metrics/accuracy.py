"""Accuracy with a cost for each kind of error, and balanced accuracy."""

from __future__ import annotations

from dataclasses import dataclass

from csf._common.validation import check_number
from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["BalancedAccuracy", "WeightedAccuracy"]


@dataclass(frozen=True)
class WeightedAccuracy(LinearFractional):
    r"""One minus the weighted error, ``1 - w_fn fn - w_fp fp``, at most 1.

    Parameters
    ----------
    w_fn, w_fp : float, default=1.0
        Costs of a false negative and of a false positive; positive. Both 1 give accuracy.

    Raises
    ------
    ValueError
        If a cost is not positive and finite.

    Notes
    -----
    It can be summed over examples: its costs do not depend on the level, and one training is enough.

    Examples
    --------
    >>> WeightedAccuracy(w_fn=3.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.7
    >>> WeightedAccuracy(w_fn=3.0).cost_weights(0.4, pos=0.25)
    (3.0, 1.0)
    """

    w_fn: float = 1.0
    w_fp: float = 1.0

    def __post_init__(self) -> None:
        for name in ("w_fn", "w_fp"):
            check_number(getattr(self, name), name, positive=True)

    @property
    def name(self) -> str:
        """``"accuracy"``, or its costs where they differ from 1."""
        return "accuracy" if self.w_fn == self.w_fp == 1 else f"accuracy({self.w_fn:g}, {self.w_fp:g})"

    def range(self, pos: float) -> tuple[float, float]:
        """From everything wrong to everything right, see `Metric.range`."""
        return 1.0 - self.w_fn * pos - self.w_fp * (1.0 - pos), 1.0

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the weighted accuracy, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -self.w_fn, -self.w_fp, 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class BalancedAccuracy(LinearFractional):
    """Mean of the true positive and the true negative rate, in [0, 1].

    Examples
    --------
    >>> BalancedAccuracy().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    >>> BalancedAccuracy().cost_weights(0.4, pos=0.25)
    (2.0, 0.667)
    """

    @property
    def name(self) -> str:
        """``"balanced_accuracy"``."""
        return "balanced_accuracy"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of balanced accuracy, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -0.5 / pos, -0.5 / (1.0 - pos), 1.0, 0.0, 0.0)
