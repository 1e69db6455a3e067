"""Gower-Legendre similarity of the true and the predicted labels."""

from __future__ import annotations

from dataclasses import dataclass

from csf._common.validation import check_number
from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["GowerLegendre"]


@dataclass(frozen=True)
class GowerLegendre(LinearFractional):
    r"""Gower-Legendre similarity of an error profile, in [0, 1].

    Parameters
    ----------
    sigma : float, default=2.0
        Cost of a disagreement, positive. 1 is accuracy, 2 the Rogers-Tanimoto and 0.5 the Sokal-Sneath index.

    Raises
    ------
    ValueError
        If ``sigma`` is not positive and finite.

    Notes
    -----
    .. math:: G(e) = \frac{1 - e_{FN} - e_{FP}}{1 + (\sigma - 1)(e_{FN} + e_{FP})}

    It increases with accuracy alone, so both classes cost the same at every level: only the size of the
    weights changes along a search, not their ratio.

    References
    ----------
    .. [1] J. Gower, P. Legendre, "Metric and Euclidean properties of dissimilarity coefficients",
       Journal of Classification 3, 1986.

    Examples
    --------
    >>> GowerLegendre(sigma=2.0).value(fn=0.05, fp=0.15, pos=0.25)
    0.667
    """

    sigma: float = 2.0

    def __post_init__(self) -> None:
        check_number(self.sigma, "sigma", positive=True)

    @property
    def name(self) -> str:
        """``"gower_legendre(2)"``, …"""
        return f"gower_legendre({self.sigma:g})"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the similarity, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -1.0, -1.0, 1.0, self.sigma - 1.0, self.sigma - 1.0)
