"""Metrics that are concave in the two rates, with the dual variables that primal-dual learners need."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from csf._common.typing import Array, Values
from csf.metrics.base import Metric
from csf.metrics.profile import NOISE

__all__ = [
    "Concave",
    "GMean",
    "HMean",
    "MinRate",
    "QMean",
]

# Rounding of rates and of dual points on the border of their region.
_SLACK = 1e-9


def check_rates(tpr: Values, tnr: Values) -> tuple[Array, Array]:
    """Check two rates and return them as float arrays clipped to [0, 1]."""
    rates = []
    for name, rate in (("tpr", tpr), ("tnr", tnr)):
        rate = np.asarray(rate, dtype=float)
        bad = ~((rate >= -_SLACK) & (rate <= 1.0 + _SLACK))
        if bad.any():
            raise ValueError(
                f"{name} must be a rate in [0, 1], got {float(rate[bad].flat[0])!r}; "
                "averages of rewards, which may be negative, go to extension and dual"
            )
        rates.append(np.clip(rate, 0.0, 1.0))
    return rates[0], rates[1]


def as_given(*arrays: Values) -> tuple[Values, ...]:
    """Return the arrays broadcast together, as floats where every one is a scalar."""
    alike = np.broadcast_arrays(*arrays)
    return tuple(array.copy() if array.ndim else float(array) for array in alike)


def inside(allowed: Values, values: Values) -> Values:
    """Return ``values`` where ``allowed``, minus infinity elsewhere; floats for scalars."""
    return as_given(np.where(allowed, values, -np.inf))[0]


class Concave(Metric):
    r"""A metric :math:`\Psi(TPR, TNR)`, concave and non-decreasing in both rates.

    Subclasses write `link`, `conjugate` and `dual`; the gradient, the value on error profiles and the extension to
    negative averages follow.

    Attributes
    ----------
    lipschitz : float
        Lipschitz constant of the link on the unit square for the Euclidean norm; ``inf`` where there is none.
    differentiable : bool
        Whether the link has one tangent at each interior point of the unit square.

    Notes
    -----
    Duals follow the concave convention

    .. math:: \Psi^*(\alpha, \beta) = \inf_{u, v} \{\alpha u + \beta v - \Psi(u, v)\}, \qquad
              \Psi(P, N) = \min_{(\alpha, \beta) \in A} \{\alpha P + \beta N - \Psi^*(\alpha, \beta)\}

    where the *dual region* A is a compact convex set that keeps the second equality on the unit square. Learners
    replace the rates by averages of concave rewards, which may be negative. Then the right-hand side, still with
    the minimum over A, is the `extension`: finite, concave, non-decreasing and Lipschitz on the whole plane.

    References
    ----------
    .. [1] H. Narasimhan, P. Kar, P. Jain, "Optimizing Non-decomposable Performance Measures: A Tale of Two
       Classes", ICML 2015.
    """

    lipschitz: float = np.inf
    differentiable: bool = True

    @abstractmethod
    def link(self, tpr: Values, tnr: Values) -> Values:
        """Compute the metric as a function of the two rates.

        Parameters
        ----------
        tpr, tnr : float or ndarray
            Rates within the positive and the negative class, in [0, 1].

        Returns
        -------
        float or ndarray
            One value for each pair.

        Raises
        ------
        ValueError
            If a rate is outside [0, 1].
        """

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Compute the slopes of the tangent of the link; (1/2, 1/2) where it has none.

        These are the `dual`, unless the dual region of a subclass leaves out some gradients.

        Parameters
        ----------
        tpr, tnr : float or ndarray
            Rates, in [0, 1].

        Returns
        -------
        tuple of float or ndarray
            ``(alpha, beta)``, the derivatives by ``tpr`` and ``tnr``.

        Raises
        ------
        ValueError
            If a rate is outside [0, 1].
        """
        return self.dual(*check_rates(tpr, tnr))

    @abstractmethod
    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Compute the concave conjugate of the link; minus infinity outside its domain.

        Parameters
        ----------
        alpha, beta : float or ndarray
            Dual variables of ``tpr`` and ``tnr``.

        Returns
        -------
        float or ndarray
            The infimum of ``alpha * u + beta * v - link(u, v)``. Points within 1e-9 of the domain count as inside.
        """

    @abstractmethod
    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Find the point of the dual region that attains the `extension`.

        Parameters
        ----------
        tpr, tnr : float or ndarray
            Averages of rewards of each class, at most 1; may be negative.

        Returns
        -------
        tuple of float or ndarray
            ``(alpha, beta)``: the `gradient`, where the gradient lies in the dual region.
        """

    @property
    def initial_dual(self) -> tuple[float, float]:
        """Starting point of learners: ``(0.5, 0.5)``, in the dual region of every metric of this package."""
        return 0.5, 0.5

    def extension(self, tpr: Values, tnr: Values) -> Values:
        """Compute the link extended to the whole plane.

        Parameters
        ----------
        tpr, tnr : float or ndarray
            Averages of rewards of each class, at most 1; may be negative.

        Returns
        -------
        float or ndarray
            The smallest ``alpha * tpr + beta * tnr - conjugate(alpha, beta)`` over the dual region; never below
            the link.
        """
        tpr, tnr = np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float)
        alpha, beta = self.dual(tpr, tnr)
        return as_given(alpha * tpr + beta * tnr - self.conjugate(alpha, beta))[0]

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Compute the metric on error profiles, through the two rates.

        Parameters
        ----------
        fn, fp : float or ndarray
            Shares of *all* samples: false negatives in [0, pos], false positives in [0, 1 - pos].
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        float or ndarray
            One value for each profile.
        """
        fn, fp, neg = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float), 1.0 - pos
        # Roots would make much of what rounding leaves. The share of negatives is a difference itself, so that what
        # rounding leaves of it does not shrink with it.
        return self.link(_rate(fn, pos, NOISE * pos), _rate(fp, neg, NOISE))


def _rate(error: Array, share: float, noise: float) -> Array:
    """Compute the share of a class that is classified correctly; 0 where only rounding error is left of it."""
    return np.where(share - error <= noise, 0.0, 1.0 - error / share)


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

    name: ClassVar[str] = "gmean"
    eps: float = 1e-3

    def __post_init__(self) -> None:
        if not (isinstance(self.eps, Real) and 0.0 < self.eps < 1.0):
            raise ValueError(f"eps must be in (0, 1), got {self.eps!r}")

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Compute the geometric mean of the rates, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        return as_given(np.sqrt(tpr * tnr))[0]

    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Compute the tangent; (1/2, 1/2) where a rate is 0, see `Concave.gradient`."""
        tpr, tnr = check_rates(tpr, tnr)
        defined = (tpr > 0) & (tnr > 0)
        # roots first: the ratio of two tiny rates may overflow
        slope = np.sqrt(np.where(defined, tnr, 1.0)) / np.sqrt(np.where(defined, tpr, 1.0))
        return as_given(0.5 * slope, 0.5 / slope)

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Return 0 on and above the hyperbola, minus infinity elsewhere, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside((alpha > 0) & (beta > 0) & (alpha * beta >= 0.25 - 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Clip the tangent to the box; return its upper corner where both averages are negative, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        # Ends of the box of duals; their product is 1/4, so two corners lie on the hyperbola.
        lo, hi = 0.5 * math.sqrt(self.eps), 0.5 / math.sqrt(self.eps)
        root_p, root_n = np.sqrt(np.maximum(tpr, 0.0)), np.sqrt(np.maximum(tnr, 0.0))
        alpha = np.where(root_p > 0, 0.5 * root_n / np.where(root_p > 0, root_p, 1.0), hi)
        alpha = np.clip(np.where((tpr == 0) & (tnr <= 0), lo, alpha), lo, hi)
        alpha = np.where((tpr == 0) & (tnr == 0), 0.5, alpha)
        beta = np.where((tpr < 0) & (tnr < 0), hi, 0.25 / alpha)
        return as_given(alpha, beta)


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

    name: ClassVar[str] = "hmean"
    lipschitz = 2.0

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Compute the harmonic mean of the rates, 0 where both are 0, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        total = tpr + tnr
        # one factor is divided first: the product of two tiny rates is 0
        return as_given(2.0 * tpr * (tnr / np.where(total > 0, total, 1.0)))[0]

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Return 0 on and above the curve, minus infinity elsewhere, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        roots = np.sqrt(np.maximum(alpha, 0.0)) + np.sqrt(np.maximum(beta, 0.0))
        return inside((alpha >= 0) & (beta >= 0) & (roots >= np.sqrt(2.0) - 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Compute the tangent; return a corner of the box where an average is negative, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        up, vp = np.maximum(tpr, 0.0), np.maximum(tnr, 0.0)
        total = up + vp
        share = np.where(total > 0, vp / np.where(total > 0, total, 1.0), 0.5)
        alpha, beta = 2.0 * share**2, 2.0 * (1.0 - share) ** 2
        none = total == 0
        alpha = np.where(none & (tpr < 0), 2.0, np.where(none & (tnr < 0), 0.0, alpha))
        beta = np.where(none & (tnr < 0), 2.0, np.where(none & (tpr < 0), 0.0, beta))
        return as_given(alpha, beta)


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

    name: ClassVar[str] = "qmean"
    lipschitz = math.sqrt(0.5)

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Compute one minus the quadratic mean of the error rates, see `Concave.link`."""
        tpr, tnr = check_rates(tpr, tnr)
        return as_given(1.0 - np.hypot(1.0 - tpr, 1.0 - tnr) * math.sqrt(0.5))[0]

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Return ``alpha + beta - 1`` in the disc, minus infinity elsewhere, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside(alpha**2 + beta**2 <= 0.5 + 1e-9, alpha + beta - 1.0)

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Compute the tangent; 0 for an average above 1, see `Concave.dual`."""
        tpr, tnr = np.broadcast_arrays(np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float))
        fnr, fpr = np.maximum(1.0 - tpr, 0.0), np.maximum(1.0 - tnr, 0.0)
        length = np.hypot(fnr, fpr)
        scale = math.sqrt(0.5) / np.where(length > 0, length, 1.0)
        corner = np.where((tpr == 1) & (tnr == 1), 0.5, 0.0)
        return as_given(corner + fnr * scale, corner + fpr * scale)


def concave_of(metric: Metric) -> Concave | None:
    """Return the metric where it is a concave function of the two rates; ``None`` for others."""
    return metric if isinstance(metric, Concave) else None


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

    name: ClassVar[str] = "min_rate"
    lipschitz = 1.0
    differentiable = False

    def link(self, tpr: Values, tnr: Values) -> Values:
        """Return the smaller rate, see `Concave.link`."""
        return as_given(np.minimum(*check_rates(tpr, tnr)))[0]

    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Return 0 on the segment, minus infinity elsewhere, see `Concave.conjugate`."""
        alpha, beta = np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float)
        return inside((alpha >= 0) & (beta >= 0) & (np.abs(alpha + beta - 1.0) <= 1e-9), np.zeros(()))

    def dual(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Put all weight on the smaller average, or halves where they are equal, see `Concave.dual`."""
        tpr, tnr = np.asarray(tpr, dtype=float), np.asarray(tnr, dtype=float)
        alpha = 0.5 * (1.0 + np.sign(tnr - tpr))
        return as_given(alpha, 1.0 - alpha)
