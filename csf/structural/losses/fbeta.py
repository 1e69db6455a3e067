"""Structural hinge loss of F-beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf.metrics import FBeta
from csf.structural._limits import check_moderate
from csf.structural.losses._kernels import fbeta_tangent
from csf.structural.losses.base import Labelled, Tangent

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores


__all__ = ["FBetaLoss"]


@dataclass(frozen=True)
class FBetaLoss(Labelled):
    r"""Structural hinge loss of F-beta: an upper bound of 1 - F-beta of the labels ``score > 0``.

    Parameters
    ----------
    beta : float, default=1.0
        Importance of recall relative to precision; positive.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples. A factor only
        rescales the scores.

    Raises
    ------
    ValueError
        If ``beta`` or ``kappa`` is not positive and finite.

    Notes
    -----
    With the positives and the negatives sorted, the worst labelling is found in O(n log n), also where samples of
    the two classes stand for different shares of the data.

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.

    Examples
    --------
    >>> loss, is_pos = FBetaLoss(), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, -2.0], is_pos)
    Tangent(value=0.083, offset=0.333, slope=array([ 0. , -0.5, 0. , 0. ]))
    >>> loss.value(np.zeros(4), is_pos)
    1.0
    """

    beta: float = 1.0
    kappa: float | None = None

    def __post_init__(self) -> None:
        check_moderate(self.beta, "beta")
        self._check_kappa()

    @property
    def metric(self) -> FBeta:
        """F-beta."""
        return FBeta(self.beta)

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        kappas = self._kappas(scores)
        b2 = float(self.beta) ** 2
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        # what one more negative can add to the loss of F-beta, at most: lower ones never come into the labelling
        total = pos.shape[0] * scores.share_pos
        found = min(total, b2 * total)
        gain = (1.0 + b2) * scores.share_neg * found / (found + b2 * total) ** 2
        near = np.sort(neg[neg > -gain])
        slope = np.empty(pos.shape[0] + neg.shape[0])
        delta, linear = fbeta_tangent(
            pos, neg, np.sort(pos), near, scores.share_pos, scores.share_neg, *kappas, b2, slope
        )
        return Tangent(delta + linear, delta, slope)
