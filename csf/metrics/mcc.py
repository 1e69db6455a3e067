"""Matthews correlation coefficient of the true and the predicted labels."""

from dataclasses import dataclass

import numpy as np

from csf._common.typing import Values
from csf.metrics.base import Metric

__all__ = ["MCC"]


# Predicted shares up to this are what rounding leaves of none; its root would show, 1e-8 instead of 0.
ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class MCC(Metric):
    r"""Matthews correlation coefficient (phi) of an error profile: 1 is perfect, 0 chance, less than 0 worse.

    Notes
    -----
    With the predicted share of positives :math:`q = P - e_{FN} + e_{FP}`

    .. math:: M(e) = \sqrt{\frac{P (1 - P)}{q (1 - q)}} \left(1 - \frac{e_{FN}}{P} - \frac{e_{FP}}{1 - P}\right)

    and 0, its limit, where one class is predicted everywhere. It falls with both errors everywhere, below chance too:
    turning all predictions turns the sign. Levels worth aiming at are [0, 1].

    It is not linear-fractional. Above chance the profiles *below* a value are a convex set (:math:`\sqrt{q (1 - q)}` is
    concave), so on a convex trade-off the best profile is a corner, and cheapest for the slopes of :math:`M` there.
    Up to a factor these are

    .. math:: a(t) = (2 - P - t, P + t), \qquad
              t = P + \frac{P (1 - P) (1 - 2 q)}{q (1 - q)} \left(1 - \frac{e_{FN}}{P} - \frac{e_{FP}}{1 - P}\right)

    with t in [0, 1] wherever :math:`M \ge 0`: no other costs can be needed.

    References
    ----------
    .. [1] B. Matthews, "Comparison of the predicted and observed secondary structure of T4 phage lysozyme",
       Biochimica et Biophysica Acta 405, 1975.

    Examples
    --------
    >>> MCC().value(fn=0.05, fp=0.15, pos=0.25)
    0.545
    >>> MCC().cost_weights(0.6, pos=0.25)
    (1.15, 0.85)
    """

    @property
    def name(self) -> str:
        """``"mcc"``."""
        return "mcc"

    def value(self, fn: Values, fp: Values, *, pos: float) -> Values:
        """Value of the coefficient, see `Metric.value`."""
        fn, fp, neg = np.asarray(fn, dtype=float), np.asarray(fp, dtype=float), 1.0 - pos
        # Differences of shares keep the digits that 1 - fn / pos would lose where nearly all of a class is missed.
        tp, tn = np.maximum(pos - fn, 0.0), np.maximum(neg - fp, 0.0)
        spread = np.sqrt(pos * neg) * np.sqrt(tp + fp) * np.sqrt(tn + fn)
        defined = np.minimum(tp + fp, tn + fn) > ROUNDING
        result = np.where(defined, tp * tn - fn * fp, 0.0) / np.where(defined, spread, 1.0)
        return result if result.ndim else float(result)

    def cost_weights(self, t: float, *, pos: float) -> tuple[float, float]:
        """Class costs a(t) of the notes, see `Metric.cost_weights`; t is a place in the range, not a value.

        Parameters
        ----------
        t : float
            Level, inside `range`.
        pos : float
            Share of positives, in (0, 1).

        Returns
        -------
        tuple of float
            ``(c_fn, c_fp)``.
        """
        return float(2.0 - pos - t), float(pos + t)
