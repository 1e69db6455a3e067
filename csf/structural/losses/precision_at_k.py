"""Structural hinge losses of the precision among the top k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray
from csf._common.validation import check_fraction
from csf.structural.losses._kernels import precision_tangent
from csf.structural.losses.base import Labelled, Tangent, largest, whole_count
from csf.structural.ranking import precision_at_k_score

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores


__all__ = ["PrecisionAtK"]


@dataclass(frozen=True)
class PrecisionAtK(Labelled):
    r"""Structural hinge loss of the precision among the k samples with the largest scores.

    By default k is the number of positives: then precision equals recall and F1, and the performance is the
    precision-recall break-even point (PRBEP).

    Parameters
    ----------
    k : float, default=None
        Share of samples to select, in (0, 1); ``None`` is the share of positives.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.
    allow_k_neq_pos : bool, default=False
        Whether ``k`` may be given. Where it differs from the share of positives the loss is *not* an upper bound
        of 1 - precision, since the true labels are no selection of k samples; learners warn. `TopPrecision` has a
        bound for small k.

    Raises
    ------
    ValueError
        If ``k`` is given without ``allow_k_neq_pos`` or is not in (0, 1).

    Notes
    -----
    The worst selection is found by selection and one sort of the samples near the threshold. Where the samples of the
    two classes stand for different shares of the data, selections are those of the nearest share.

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.
    .. [2] P. Kar, H. Narasimhan, P. Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss
       Functions", NIPS 2014.

    Examples
    --------
    >>> loss, is_pos = PrecisionAtK(), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.45, offset=0.5, slope=array([ 0. , -0.5, 0. , 0.5]))
    >>> loss.value(np.zeros(4), is_pos)
    1.0
    """

    k: float | None = None
    kappa: float | None = None
    allow_k_neq_pos: bool = False

    ranking = True

    def __post_init__(self) -> None:
        if self.k is not None:
            check_fraction(self.k, "k")
            if not self.allow_k_neq_pos:
                raise ValueError(
                    f"k={self.k!r} differs from the share of positives in general, and then the loss does not bound "
                    "1 - precision; leave k=None, use TopPrecision(k), or set allow_k_neq_pos=True"
                )
        self._check_kappa()

    def check(self) -> None:
        """Warn where the loss bounds nothing, see `StructuralLoss.check`."""
        if self.k is not None:
            warn(
                f"PrecisionAtK(k={self.k!r}) is no upper bound of 1 - precision unless k is the share of positives",
            )

    def _count(self, n_pos: int, n_neg: int) -> float:
        """Samples selected: the sum counts those that are negative."""
        return float(n_pos if self.k is None else whole_count(self.k, n_pos + n_neg))

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        kappas = self._kappas(scores)
        top = self._top(scores)
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        near = largest(neg, int(top / scores.share_neg + 1.0))
        slope = np.empty(pos.shape[0] + neg.shape[0])
        delta, linear = precision_tangent(
            pos, neg, np.sort(pos), near, scores.share_pos, scores.share_neg, *kappas, top, slope
        )
        return Tangent(delta + linear, delta, slope)

    def _top(self, scores: ClassScores) -> float:
        """Share of the data to select."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        if self.k is None:
            return n_pos * scores.share_pos
        unit = min(scores.share_pos, scores.share_neg)
        total = n_pos * scores.share_pos + n_neg * scores.share_neg
        return unit * whole_count(self.k, total / unit)

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Precision among the top k, see `StructuralLoss.performance`."""
        return precision_at_k_score(is_pos, score, k=self.k, pos_label=True)
