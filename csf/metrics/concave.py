"""Metrics that are concave in the two rates, with the dual variables that primal-dual learners need."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from csf._common.typing import Array, Values
from csf.metrics.base import Metric

__all__ = ["Concave", "as_given", "check_rates", "inside"]

# Rounding of rates and of dual points on the border of their region.
_SLACK = 1e-9
# Largest share of all samples that is rounding alone: roots would make much of it.
_NOISE = 4 * np.finfo(np.float64).eps


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

    Subclasses write `link`, `gradient`, `conjugate`, `dual` and `project`; the value on error profiles and the
    extension to negative averages follow.

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
        """Value of the metric as a function of the two rates.

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

    @abstractmethod
    def gradient(self, tpr: Values, tnr: Values) -> tuple[Values, Values]:
        """Slopes of the tangent of the link; (1/2, 1/2) where it has none.

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

    @abstractmethod
    def conjugate(self, alpha: Values, beta: Values) -> Values:
        """Concave conjugate of the link; minus infinity outside its domain.

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
        """Point of the dual region that attains the `extension`.

        Parameters
        ----------
        tpr, tnr : float or ndarray
            Averages of rewards of each class, at most 1; may be negative.

        Returns
        -------
        tuple of float or ndarray
            ``(alpha, beta)``: the `gradient`, where the gradient lies in the dual region.
        """

    @abstractmethod
    def project(self, alpha: float, beta: float) -> tuple[float, float]:
        """Nearest point of the dual region.

        Parameters
        ----------
        alpha, beta : float
            Any point of the plane.

        Returns
        -------
        tuple of float
            The Euclidean projection.
        """

    def conjugate_gradient(self, alpha: Values, beta: Values) -> tuple[Values, Values]:
        """Derivatives of the conjugate inside its domain.

        Parameters
        ----------
        alpha, beta : float or ndarray
            A point of the dual region.

        Returns
        -------
        tuple of float or ndarray
            Derivatives by ``alpha`` and ``beta``; zeros for a link that is homogeneous of degree one.
        """
        zeros = np.zeros(np.broadcast_shapes(np.shape(alpha), np.shape(beta)))
        slopes = as_given(zeros, zeros)
        return slopes[0], slopes[1]

    @property
    def initial_dual(self) -> tuple[float, float]:
        """Starting point of learners: ``(0.5, 0.5)``, in the dual region of every metric of this package."""
        return 0.5, 0.5

    def extension(self, tpr: Values, tnr: Values) -> Values:
        """Value of the link extended to the whole plane.

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
        """Value of the metric on error profiles, through the two rates.

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
        # the share of negatives is a difference itself, so that what rounding leaves of it does not shrink with it
        return self.link(_rate(fn, pos, _NOISE * pos), _rate(fp, neg, _NOISE))


def _rate(error: Array, share: float, noise: float) -> Array:
    """Part of a class that is right; 0 where no more than rounding is left of it."""
    return np.where(share - error <= noise, 0.0, 1.0 - error / share)
