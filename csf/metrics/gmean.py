"""G-mean, the geometric mean of the two rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np

from csf._common.typing import Values
from csf.metrics.concave import Concave, as_given, check_rates, inside

__all__ = ["GMean"]


@dataclass(frozen=True)
class GMean(Concave):
    r"""Geometric mean of the true positive and the true negative rate, in [0, 1].

    Parameters
    ----------
    eps : float, default=1e-3
        Smallest ratio of the two rates whose tangent is kept by the dual region, in (0, 1). It does not change
        the value of the metric, only how steep its `extension` may be, ``1 / (2 sqrt(eps))``.

    Raises
    ------
    ValueError
        If ``eps`` is not in (0, 1).

    Notes
    -----
    .. math:: G = \sqrt{TPR \cdot TNR}, \qquad
              \Psi^*(\alpha, \beta) = 0 \text{ if } \alpha\beta \ge 1/4,\ \alpha, \beta > 0,
              \text{ else } -\infty

    with the infimum taken over non-negative rates. The tangents are the points of the hyperbola
    :math:`\alpha\beta = 1/4`; the dual region is what lies above it in the box
    :math:`[\sqrt{\varepsilon}/2,\ 1/(2\sqrt{\varepsilon})]^2`. Where a rate is 0 there is no tangent.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.

    Examples
    --------
    >>> GMean().value(fn=0.05, fp=0.15, pos=0.25)
    0.8
    >>> GMean().gradient(0.9, 0.4)
    (0.333, 0.75)
    """

    eps: float = 1e-3

    def __post_init__(self) -> None:
        if not (isinstance(self.eps, Real) and 0.0 < self.eps < 1.0):
            raise ValueError(f"eps must be in (0, 1), got {self.eps!r}")

    @property
    def name(self) -> str:
        """``"gmean"``."""
        return "gmean"

    def _box(self) -> tuple[float, float]:
        """Ends of the box of duals; their product is 1/4, so two corners lie on the hyperbola."""
        root = math.sqrt(self.eps)
        return 0.5 * root, 0.5 / root

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Geometric mean of the rates, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        return as_given(np.sqrt(tpr * tnr))[0]

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent; (1/2, 1/2) where a rate is 0, see `Concave.gradient`."""
        tpr, tnr = check_rates(tpr, tnr)
        defined = (tpr > 0) & (tnr > 0)
        # roots first: the ratio of two tiny rates may overflow
        slope = np.sqrt(np.where(defined, tnr, 1.0)) / np.sqrt(np.where(defined, tpr, 1.0))
        return as_given(0.5 * slope, 0.5 / slope)

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """0 on and above the hyperbola, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside((alpha > 0) & (beta > 0) & (alpha * beta >= 0.25 - 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Tangent clipped to the box; its upper corner where both averages are negative, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        lo, hi = self._box()
        root_p, root_n = np.sqrt(np.maximum(tpr, 0.0)), np.sqrt(np.maximum(tnr, 0.0))
        alpha = np.where(root_p > 0, 0.5 * root_n / np.where(root_p > 0, root_p, 1.0), hi)
        alpha = np.clip(np.where((tpr == 0) & (tnr <= 0), lo, alpha), lo, hi)
        alpha = np.where((tpr == 0) & (tnr == 0), 0.5, alpha)
        beta = np.where((tpr < 0) & (tnr < 0), hi, 0.25 / alpha)
        return as_given(alpha, beta)

    def project(self, alpha: float, beta: float) -> tuple[float, float]:
        """Clip to the box, or the nearest point of the hyperbola, see `Concave.project`."""
        lo, hi = self._box()
        a, b = min(max(alpha, lo), hi), min(max(beta, lo), hi)
        if a * b >= 0.25:
            return float(a), float(b)
        z = np.roots([16.0, -16.0 * alpha, 0.0, 4.0 * beta, -1.0])
        z = np.clip(np.append(z.real[np.abs(z.imag) <= 1e-6 * (1.0 + np.abs(z))], [lo, hi]), lo, hi)
        z = float(z[np.argmin((z - alpha) ** 2 + (0.25 / z - beta) ** 2)])
        return z, 0.25 / z
