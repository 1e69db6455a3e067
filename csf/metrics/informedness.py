"""Informedness: how much better than chance a decision is informed, in both classes alike."""

from dataclasses import dataclass

from csf.metrics.base import Coefficients, LinearFractional

__all__ = ["Informedness"]


@dataclass(frozen=True)
class Informedness(LinearFractional):
    """Informedness (Youden's J), the sum of both rates less 1: 1 is perfect, 0 chance, less than 0 worse.

    It orders classifiers as balanced accuracy does, so its costs do not depend on the level and one training is
    enough. Levels worth aiming at are [0, 1]: predicting one class everywhere already gives 0.

    References
    ----------
    .. [1] W. Youden, "Index for rating diagnostic tests", Cancer 3, 1950.

    Examples
    --------
    >>> Informedness().value(fn=0.05, fp=0.15, pos=0.25)
    0.6
    >>> Informedness().cost_weights(0.4, pos=0.25)
    (4.0, 1.333)
    """

    @property
    def name(self) -> str:
        """``"informedness"``."""
        return "informedness"

    def coefficients(self, pos: float) -> Coefficients:
        """The six numbers of informedness, see `LinearFractional.coefficients`."""
        return Coefficients(1.0, -1.0 / pos, -1.0 / (1.0 - pos), 1.0, 0.0, 0.0)
