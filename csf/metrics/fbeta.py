"""F-beta, the weighted harmonic mean of precision and recall."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from csf._common.validation import check_number
from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["FBeta"]

# Its square is a number.
_LARGEST = 1e150


@dataclass(frozen=True)
class FBeta(LinearFractional):
    r"""F-beta score of an error profile, in [0, 1].

    The harmonic mean of precision and recall, tilted by ``beta``.

    Parameters
    ----------
    beta : float, default=1.0
        Importance of recall relative to precision; positive.

    Raises
    ------
    ValueError
        If ``beta`` is not positive and finite.

    Notes
    -----
    .. math:: F_\beta(e) = \frac{(1+\beta^2)(P - e_{FN})}{(1+\beta^2)P - e_{FN} + e_{FP}}

    It is 0, without a warning, where nothing positive is found.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> FBeta(beta=2.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.741
    >>> FBeta().cost_weights(0.6, pos=0.25)
    (1.4, 0.6)
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.beta, Real) and not 0 < float(self.beta) < _LARGEST:
            raise ValueError(
                f"beta must be positive and finite, got {self.beta!r}; accepted: numbers below {_LARGEST:g}"
            )
        check_number(self.beta, "beta", positive=True)

    @property
    def name(self) -> str:
        """``"f1"``, ``"f2"``, ``"f0.5"``, …"""
        return f"f{self.beta:g}"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of F-beta, see `LinearFractional.coefficients`."""
        b = 1.0 + self.beta**2
        return Coefficients(b * pos, -b, 0.0, b * pos, -1.0, 1.0)
