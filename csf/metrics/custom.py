"""A linear-fractional metric of the user's own, from its six numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from csf._common.validation import floats
from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["CustomMetric"]


@dataclass(frozen=True)
class CustomMetric(LinearFractional):
    """A metric ``(n0 + n_fn fn + n_fp fp) / (d0 + d_fn fn + d_fp fp)`` given by its six numbers.

    Parameters
    ----------
    numbers : callable or sequence of 6 floats
        ``(n0, n_fn, n_fp, d0, d_fn, d_fp)``, or a function of the share of positives that returns them. Give a
        module-level function if the search has to be pickled.
    label : str, default="custom"
        Name for tables and plots.
    levels : tuple of float, default=(0.0, 1.0)
        Smallest and largest level worth aiming at.

    Raises
    ------
    ValueError
        If the levels are not two increasing finite numbers; on use, if there are not six finite numbers or the
        denominator is negative for some error profile (turn the signs of all six).

    Examples
    --------
    The F1 score, written by hand:

    >>> f1 = CustomMetric(lambda pos: (2 * pos, -2, 0, 2 * pos, -1, 1), label="my F1")
    >>> f1.value(fn=0.05, fp=0.15, pos=0.25)
    0.667
    """

    numbers: Callable[[float], Sequence[float]] | Sequence[float]
    label: str = "custom"
    levels: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise TypeError(f"label must be a text, got {self.label!r}")
        levels = floats(self.levels, "levels")
        if levels.shape != (2,) or not np.isfinite(levels).all() or not levels[0] < levels[1]:
            raise ValueError(f"levels must be two finite numbers (lo, hi) with lo < hi, got {self.levels!r}")

    @property
    def name(self) -> str:
        """The label."""
        return self.label

    def range(self, pos: float) -> tuple[float, float]:
        """The given levels, see `Metric.range`."""
        lo, hi = self.levels
        return float(lo), float(hi)

    def coefficients(self, pos: float) -> Coefficients:
        """The given numbers, see `LinearFractional.coefficients`."""
        given = floats(self.numbers(pos) if callable(self.numbers) else self.numbers, "numbers")
        if given.shape != (6,) or not np.isfinite(given).all():
            raise ValueError(
                f"numbers must give six finite values (n0, n_fn, n_fp, d0, d_fn, d_fp), got {given.tolist()}"
            )
        numbers = Coefficients(*given.tolist())
        lowest = numbers.d0 + min(numbers.d_fn * pos, 0.0) + min(numbers.d_fp * (1.0 - pos), 0.0)
        if lowest < -1e-12 * max(abs(numbers.d0), 1.0):
            raise ValueError(
                f"the denominator of {self.label!r} falls to {lowest:.6g} over the error profiles with pos={pos:g}; it "
                "must not be negative. Turn the signs of all six numbers if it always is"
            )
        return numbers
