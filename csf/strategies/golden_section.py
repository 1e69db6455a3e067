"""Golden-section search on the level: compare two levels, keep the part around the better one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from csf._common.validation import check_number
from csf.metrics import LinearFractional, Metric
from csf.strategies.base import SAME, Strategy
from csf.trials import Trial

__all__ = ["GoldenSection"]

# Share of an interval up to its inner level on the right: one of two inner levels serves the smaller interval again.
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class GoldenSection(Strategy):
    """Narrow down the level of the largest value, for values that rise with the level, then fall.

    With an exact learner, linear-fractional metrics and the G-mean and its kind are such functions of the level. Each
    training takes away 38 % of the levels left; all that is compared are values, so it serves every metric.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval of levels, as a share of the range.

    Notes
    -----
    Of two equal values of a linear-fractional metric the levels themselves say where the best one lies: above both
    where the values are. For other metrics the one at the lower level counts as better then. A failed training counts
    as the worst. A real learner is noisy: an interval that is given up does not come back. `Cone` and `Support` are
    safer then.

    References
    ----------
    .. [1] J. Kiefer, "Sequential minimax search for a maximum", Proceedings of the American Mathematical Society 4,
       1953.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> GoldenSection().propose([], metric=FBeta(), pos=0.1)
    0.382
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | None:
        """The inner level of the interval left that was not tried, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width, tells = hi - lo, isinstance(metric, LinearFractional)
        while hi - lo > max(self.tol, 4.0 * SAME) * width:
            left, right = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
            values = []
            for level in (left, right):
                trained = metric.clip_level(level, pos=pos)
                here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
                if not here:
                    return level
                values.append(max((t.attained for t in here if t.attained is not None), default=-math.inf))
            rises = values[1] > values[0] or (tells and values[0] == values[1] > right)
            lo, hi = (left, hi) if rises else (lo, right)
        return None

    @property
    def name(self) -> str:
        """``"golden_section"``."""
        return "golden_section"
