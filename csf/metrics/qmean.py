"""Q-mean, one minus the quadratic mean of the two error rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from csf._common.typing import Values
from csf.metrics.concave import Concave, as_given, check_rates, inside

__all__ = ["QMean"]


@dataclass(frozen=True)
class QMean(Concave):
    r"""One minus the quadratic mean of the false negative and the false positive rate, in [0, 1].

    Notes
    -----
    .. math:: Q = 1 - \sqrt{\frac{(1 - TPR)^2 + (1 - TNR)^2}{2}}, \qquad
              \Psi^*(\alpha, \beta) = \alpha + \beta - 1 \text{ if } \alpha^2 + \beta^2 \le 1/2,
              \text{ else } -\infty

    with the infimum taken over the plane. The tangents trace the arc of radius :math:`1/\sqrt{2}`; the dual
    region is the quarter disc inside it. There is no tangent where both rates are 1.

    References
    ----------
    .. [1] S. Lawrence et al., "Neural network classification and prior class probabilities", in: Neural Networks:
       Tricks of the Trade, 1998.

    Examples
    --------
    >>> QMean().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    >>> QMean().gradient(0.4, 0.2)
    (0.424, 0.566)
    """

    lipschitz = math.sqrt(0.5)

    @property
    def name(self) -> str:
        """``"qmean"``."""
        return "qmean"

    def link(self, tpr: Values, tnr: Values) -> Values:
        """One minus the quadratic mean of the error rates, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        return as_given(1.0 - np.hypot(1.0 - tpr, 1.0 - tnr) * math.sqrt(0.5))[0]

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent; (1/2, 1/2) where both rates are 1, see `Concave.gradient`."""
        return self.dual(*check_rates(tpr, tnr))

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """``alpha + beta - 1`` in the disc, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside(alpha**2 + beta**2 <= 0.5 + 1e-9, alpha + beta - 1.0)

    def conjugate_gradient(self, alpha: Values, beta: Values) -> tuple[Values, Values]:
        """``(1, 1)``, see `Concave.conjugate_gradient`."""
        ones = np.ones(np.broadcast_shapes(np.shape(alpha), np.shape(beta)))
        return as_given(ones, ones)

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent; 0 for an average above 1, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        fnr, fpr = np.maximum(1.0 - tpr, 0.0), np.maximum(1.0 - tnr, 0.0)
        length = np.hypot(fnr, fpr)
        scale = math.sqrt(0.5) / np.where(length > 0, length, 1.0)
        corner = np.where((tpr == 1) & (tnr == 1), 0.5, 0.0)
        return as_given(corner + fnr * scale, corner + fpr * scale)

    def project(self, alpha: float, beta: float) -> tuple[float, float]:
        """Clip at 0, then scale into the disc, see `Concave.project`."""
        a, b = max(float(alpha), 0.0), max(float(beta), 0.0)
        # the order matters: cone first, then ball
        scale = min(1.0, math.sqrt(0.5) / max(math.hypot(a, b), 1e-300))
        return a * scale, b * scale
