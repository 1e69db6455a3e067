"""Bisection on the level: is a value of t attainable by training at t?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from csf._common.validation import check_number
from csf.strategies.base import SAME, Strategy, require_levels

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.strategies.base import Proposal
    from csf.trials import Trial


__all__ = ["Bisection"]


@dataclass(frozen=True)
class Bisection(Strategy):
    """Halve the range of levels by the sign test of fractional programming.

    For an exact learner the model trained at t has a value of at least t exactly when some model has.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval, in units of the metric.

    References
    ----------
    .. [1] H. Narasimhan et al., "Consistent multiclass algorithms for complex performance measures", ICML 2015.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Bisection().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Middle of the interval that is left, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width = hi - lo
        # Levels that count as the same one cannot be told apart by another training, whatever the tolerance.
        while hi - lo > max(self.tol, SAME * width):
            middle = 0.5 * (lo + hi)
            trained = metric.clip_level(middle, pos=pos)
            here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
            if not here:
                return middle
            # A failed training shows no model of this value.
            attained = any(t.value is not None and t.value >= middle for t in here)
            lo, hi = (middle, hi) if attained else (lo, middle)
        return None

    def check_metric(self, metric: Metric) -> None:
        """Bisection needs levels, see `Strategy.check_metric`."""
        require_levels(self, metric)
