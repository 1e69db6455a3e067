"""Sums of weights that are the same in whatever order Spark adds them up."""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["WeightSums"]

# Bits of a digit: sums of digits stay below 2^63 for 10^11 rows.
_BITS = 26
_DIGITS = 3
# Scales beyond are no numbers of a computer any more; what is smaller by so much counts for nothing.
_SMALLEST = -900


@dataclass(frozen=True)
class WeightSums:
    """Weights as three digits of 26 bits below a power of two, which add up as integers."""

    # Floating-point sums depend on the order of the terms, and Spark's order changes from run to run: a search that is
    # resumed would find other numbers than one that went through. What is lost is below the largest weight times 2 to
    # the power of -78 for each row.

    exponent: int

    @classmethod
    def below(cls, largest: float) -> WeightSums:
        """Sums of weights up to a largest one."""
        return cls(max(frexp(largest)[1], _SMALLEST))

    def columns(self, weight: Column) -> list[Column]:
        """Sums of the digits of a column of weights."""
        rest, sums = weight * F.lit(ldexp(1.0, -self.exponent)), []
        for _ in range(_DIGITS):
            rest = rest * F.lit(2.0**_BITS)
            digit = F.floor(rest)
            sums.append(F.sum(digit))
            rest = rest - digit
        return sums

    def total(self, digits: Any) -> float:
        """Sum of weights."""
        whole = 0
        for digit in digits:
            whole = (whole << _BITS) + int(digit)
        return ldexp(float(whole), self.exponent - _BITS * _DIGITS)
