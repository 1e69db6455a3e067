"""Fowlkes-Mallows index, the geometric mean of precision and recall."""

from dataclasses import dataclass

import numpy as np

from csf._common.typing import Values
from csf.metrics.base import Metric

__all__ = ["FowlkesMallows"]


# Predicted shares up to this are what rounding leaves of none; its root would show, 1e-8 instead of 0.
ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class FowlkesMallows(Metric):
    r"""Geometric mean of precision and recall of an error profile, in [0, 1]; 0 where nothing positive is found.

    Notes
    -----
    .. math:: G(e) = \frac{P - e_{FN}}{\sqrt{P (P - e_{FN} + e_{FP})}}

    It is not linear-fractional. The profiles below a value are a convex set (the root in the denominator is concave),
    so on a convex trade-off the best profile is a corner, and cheapest for the slopes of :math:`G` there. Up to a
    factor these are :math:`a(t) = (2 - t, t)`, with t the **precision** of the best profile: the costs of F1, where t
    is its F1 score.

    The function of this name in `sklearn.metrics` compares clusterings, by pairs of samples; it is another number.

    References
    ----------
    .. [1] E. Fowlkes, C. Mallows, "A method for comparing two hierarchical clusterings", Journal of the American
       Statistical Association 78, 1983.

    Examples
    --------
    >>> FowlkesMallows().value(fn=0.05, fp=0.15, pos=0.25)
    0.676
    >>> FowlkesMallows().cost_weights(0.6, pos=0.25)
    (1.4, 0.6)
    """

    @property
    def name(self) -> str:
        """``"fowlkes_mallows"``."""
        return "fowlkes_mallows"

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Value of the index, see `Metric.value`."""
        fn, fp = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float)
        found = np.maximum(pos - fn, 0.0)
        defined = found + fp > ROUNDING
        result = np.where(defined, found, 0.0) / np.where(defined, np.sqrt(pos) * np.sqrt(found + fp), 1.0)
        return result if result.ndim else float(result)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Class costs of the precision t, see `Metric.cost_weights`.

        Parameters
        ----------
        t : float
            Level, inside `range`; a precision, not a value of the index.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``.
        """
        return float(2.0 - t), float(t)
