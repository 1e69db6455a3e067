"""Tversky index: overlap of true and predicted positives with a cost for each kind of error."""

from __future__ import annotations

from dataclasses import dataclass

from csf._common.validation import check_number
from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["Tversky"]


@dataclass(frozen=True)
class Tversky(LinearFractional):
    r"""Tversky index of an error profile, in [0, 1].

    Parameters
    ----------
    alpha : float, default=0.5
        Cost of a false negative; >= 0.
    beta : float, default=0.5
        Cost of a false positive; >= 0. Both 0.5 give F1, both 1 give Jaccard.

    Raises
    ------
    ValueError
        If a cost is negative or not finite.

    Notes
    -----
    .. math:: T(e) = \frac{TP}{TP + \alpha e_{FN} + \beta e_{FP}}

    References
    ----------
    .. [1] A. Tversky, "Features of similarity", Psychological Review 84, 1977.

    Examples
    --------
    >>> Tversky(alpha=0.7, beta=0.3).value(fn=0.05, fp=0.15, pos=0.25)
    0.714
    """

    alpha: float = 0.5
    beta: float = 0.5

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            check_number(getattr(self, name), name)

    @property
    def name(self) -> str:
        """``"tversky(0.5, 0.5)"``, …"""
        return f"tversky({self.alpha:g}, {self.beta:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the Tversky index, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 0.0, pos, self.alpha - 1.0, self.beta)
