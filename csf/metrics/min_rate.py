"""The smaller of the two rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csf._common.typing import Values
from csf.metrics.concave import Concave, as_given, check_rates, inside

__all__ = ["MinRate"]


@dataclass(frozen=True)
class MinRate(Concave):
    r"""The smaller of the true positive and the true negative rate, in [0, 1].

    Notes
    -----
    .. math:: M = \min(TPR, TNR), \qquad
              \Psi^*(\alpha, \beta) = 0 \text{ if } \alpha + \beta = 1,\ \alpha, \beta \ge 0,
              \text{ else } -\infty

    with the infimum taken over the plane; the dual region is that segment. It has no tangent where the rates are
    equal, which is where learners end: prefer one that does not need it.

    References
    ----------
    .. [1] H. Vincent Poor, "An Introduction to Signal Detection and Estimation", 1994 (minimax rules).

    Examples
    --------
    >>> MinRate().value(fn=0.05, fp=0.3, pos=0.25)
    0.6
    >>> MinRate().gradient(0.8, 0.6)
    (0.0, 1.0)
    """

    lipschitz = 1.0
    differentiable = False

    @property
    def name(self) -> str:
        """``"min_rate"``."""
        return "min_rate"

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Smaller rate, see `Concave.link`."""
        return as_given(np.minimum(*check_rates(tpr, tnr)))[0]

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Slope 1 for the smaller rate; (1/2, 1/2) where they are equal, see `Concave.gradient`."""
        return self.dual(*check_rates(tpr, tnr))

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """0 on the segment, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside((alpha >= 0) & (beta >= 0) & (np.abs(alpha + beta - 1.0) <= 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """All weight on the smaller average, halves where they are equal, see `Concave.dual`."""
        tpr, tnr = np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float)
        alpha = 0.5 * (1.0 + np.sign(tnr - tpr))
        return as_given(alpha, 1.0 - alpha)

    def project(self, alpha: float, beta: float) -> tuple[float, float]:
        """Nearest point of the segment, see `Concave.project`."""
        a = min(max(0.5 * (alpha - beta + 1.0), 0.0), 1.0)
        return float(a), float(1.0 - a)
