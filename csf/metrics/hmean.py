"""H-mean, the harmonic mean of the two rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from csf._common.typing import Values
from csf.metrics.concave import Concave, as_given, check_rates, inside

__all__ = ["HMean"]


@dataclass(frozen=True)
class HMean(Concave):
    r"""Harmonic mean of the true positive and the true negative rate, in [0, 1].

    Notes
    -----
    .. math:: H = \frac{2\,TPR \cdot TNR}{TPR + TNR}, \qquad
              \Psi^*(\alpha, \beta) = 0 \text{ if } \sqrt{\alpha} + \sqrt{\beta} \ge \sqrt{2},
              \text{ else } -\infty

    with the infimum taken over non-negative rates. The tangents trace the curve
    :math:`\sqrt{\alpha} + \sqrt{\beta} = \sqrt{2}`; the dual region is what lies above it in the box
    :math:`[0, 2]^2`. There is no tangent where both rates are 0.

    References
    ----------
    .. [1] K. Kennedy, B. Mac Namee, S. Delany, "Learning without default: a study of one-class classification
       and the low-default portfolio problem", AICS 2009.

    Examples
    --------
    >>> HMean().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    >>> HMean().gradient(0.9, 0.3)
    (0.125, 1.125)
    """

    lipschitz = 2.0

    @property
    def name(self) -> str:
        """``"hmean"``."""
        return "hmean"

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Harmonic mean of the rates, 0 where both are 0, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        total = tpr + tnr
        # one factor is divided first: the product of two tiny rates is 0
        return as_given(2.0 * tpr * (tnr / np.where(total > 0, total, 1.0)))[0]

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent; (1/2, 1/2) where both rates are 0, see `Concave.gradient`."""
        return self.dual(*check_rates(tpr, tnr))

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """0 on and above the curve, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        roots = np.sqrt(np.maximum(alpha, 0.0)) + np.sqrt(np.maximum(beta, 0.0))
        return inside((alpha >= 0) & (beta >= 0) & (roots >= np.sqrt(2.0) - 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent; a corner of the box where an average is negative, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        up, vp = np.maximum(tpr, 0.0), np.maximum(tnr, 0.0)
        total = up + vp
        share = np.where(total > 0, vp / np.where(total > 0, total, 1.0), 0.5)
        alpha, beta = 2.0 * share**2, 2.0 * (1.0 - share) ** 2
        none = total == 0
        alpha = np.where(none & (tpr < 0), 2.0, np.where(none & (tnr < 0), 0.0, alpha))
        beta = np.where(none & (tnr < 0), 2.0, np.where(none & (tpr < 0), 0.0, beta))
        return as_given(alpha, beta)

    def project(self, alpha: float, beta: float) -> tuple[float, float]:
        """Clip to the box, or the nearest point of the curve, see `Concave.project`."""
        a, b = min(max(alpha, 0.0), 2.0), min(max(beta, 0.0), 2.0)
        if np.sqrt(a) + np.sqrt(b) >= np.sqrt(2.0):
            return float(a), float(b)
        s = np.roots([4.0, -6.0, 6.0 - alpha - beta, beta - 2.0])
        s = np.clip(np.append(s.real[np.abs(s.imag) <= 1e-6 * (1.0 + np.abs(s))], [0.0, 1.0]), 0.0, 1.0)
        s = float(s[np.argmin((2.0 * s**2 - alpha) ** 2 + (2.0 * (1.0 - s) ** 2 - beta) ** 2)])
        return 2.0 * s**2, 2.0 * (1.0 - s) ** 2
