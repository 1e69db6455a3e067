"""How a constraint by segments compares their rates: each with the level, or each two of them with each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from csf._common.typing import Array, Values

# Smallest factor that a level of 0 stands for, by which rates are divided.
_TINY = 1e-300


class PairLimit(NamedTuple):
    """Limit on the rates of each two segments: ``scale * first - second <= slack``, whichever is the first.

    Examples
    --------
    >>> limit = PairLimit(scale=0.8, slack=0.0)
    >>> limit.excess(0.5, 0.3), limit.largest_beside(0.4)
    (0.1, 0.5)
    """

    scale: float
    slack: float

    def excess(self, first: Values, second: Values) -> Values:
        """Compute ``scale * first - second - slack``, which is positive where the limit is broken."""
        return self.scale * first - second - self.slack

    def largest_beside(self, rate: Values) -> Values:
        """Compute the largest rate that is allowed beside a smaller one."""
        return (rate + self.slack) / max(self.scale, _TINY)

    def widest(self, largest: float) -> float:
        """Compute the largest difference of two rates that are allowed beside each other, neither above ``largest``."""
        return (1.0 - self.scale) * largest + self.slack


NO_LIMIT = PairLimit(1.0, np.inf)


class SegmentComparison(ABC):
    """Comparison of the rates of segments with a level.

    Thresholds, certificates and reports read a constraint by these methods alone.

    Attributes
    ----------
    word : str
        Word after the name of the rate.
    link : str
        Words before the column of the segments.
    side : {">=", "<="} or None
        The only side on which a level makes sense; ``None``: that of the rate.
    """

    word: ClassVar[str]
    link: ClassVar[str] = "by"
    side: ClassVar[str | None]

    @abstractmethod
    def value(self, rates: Array, side: str) -> float:
        """Reduce the rates of segments, NaN where a segment has none, to the value that the level is for."""

    @abstractmethod
    def limit(self, level: float) -> PairLimit | None:
        """Return the limit on the rates of each two segments; ``None`` where each keeps the level by itself."""


class _InEach(SegmentComparison):
    word, link, side = "", "in each", None

    def value(self, rates: Array, side: str) -> float:
        return float(np.nanmin(rates) if side == ">=" else np.nanmax(rates))

    def limit(self, level: float) -> None:
        return None


class _Gap(SegmentComparison):
    word, side = "gap", "<="

    def value(self, rates: Array, side: str) -> float:
        return float(np.nanmax(rates) - np.nanmin(rates))

    def limit(self, level: float) -> PairLimit:
        return PairLimit(1.0, level)


class _Ratio(SegmentComparison):
    word, side = "ratio", ">="

    def value(self, rates: Array, side: str) -> float:
        largest = np.nanmax(rates)
        return float(np.nanmin(rates) / largest) if largest > 0.0 else 1.0  # rates of 0 are equal

    def limit(self, level: float) -> PairLimit:
        return PairLimit(level, 0.0)


COMPARISONS: dict[str, SegmentComparison] = {"each": _InEach(), "gap": _Gap(), "ratio": _Ratio()}
