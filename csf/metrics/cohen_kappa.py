"""Cohen's kappa, the agreement of the true and the predicted labels beyond chance."""

from dataclasses import dataclass

from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["CohenKappa"]


@dataclass(frozen=True)
class CohenKappa(LinearFractional):
    r"""Cohen's kappa of an error profile, at most 1; 0 is what chance gives, less than 0 is worse.

    Notes
    -----
    .. math:: \kappa(e) = 1 - \frac{e_{FN} + e_{FP}}{2 P (1 - P) + (1 - 2 P)(e_{FP} - e_{FN})}

    The denominator is the disagreement of chance, with the shares of positives that are true and predicted. It is
    at least min(P, 1 - P) and :math:`\kappa` falls with both errors everywhere. Levels worth aiming at are [0, 1]:
    predicting one class everywhere already gives 0.

    References
    ----------
    .. [1] J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20,
       1960.

    Examples
    --------
    >>> CohenKappa().value(fn=0.05, fp=0.15, pos=0.25)
    0.529
    >>> CohenKappa().cost_weights(0.6, pos=0.25)
    (1.2, 0.8)
    """

    @property
    def name(self) -> str:
        """``"cohen_kappa"``."""
        return "cohen_kappa"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of kappa, see `LinearFractional.coefficients`."""
        neg, chance = 1.0 - pos, 2.0 * pos * (1.0 - pos)
        return Coefficients(chance, -2.0 * neg, -2.0 * pos, chance, pos - neg, neg - pos)
