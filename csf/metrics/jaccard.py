"""Jaccard index (intersection over union) of the true and the predicted positives."""

from __future__ import annotations

from dataclasses import dataclass

from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["Jaccard"]


@dataclass(frozen=True)
class Jaccard(LinearFractional):
    r"""Jaccard index of an error profile, in [0, 1]: true positives over everything true or predicted positive.

    Notes
    -----
    .. math:: J(e) = \frac{P - e_{FN}}{P + e_{FP}} = \frac{F_1}{2 - F_1}

    References
    ----------
    .. [1] O. Koyejo et al., "Consistent binary classification with generalized performance metrics", NIPS 2014.

    Examples
    --------
    >>> Jaccard().value(fn=0.05, fp=0.15, pos=0.25)
    0.5
    >>> Jaccard().cost_weights(0.5, pos=0.25)
    (1.0, 0.5)
    """

    @property
    def name(self) -> str:
        """``"jaccard"``."""
        return "jaccard"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of the Jaccard index, see `LinearFractional.coefficients`."""
        return Coefficients(pos, -1.0, 0.0, pos, 0.0, 1.0)
