"""Surrogate of the precision among the top k for k below the number of positives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray
from csf._common.validation import check_fraction
from csf.structural.losses._kernels import top_precision_tangent
from csf.structural.losses.base import Labelled, Tangent, largest, whole_count
from csf.structural.ranking import precision_at_k_score

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores


__all__ = ["TopPrecision"]


@dataclass(frozen=True)
class TopPrecision(Labelled):
    r"""Convex upper bound of 1 - precision among the k largest scores, for k up to the number of positives.

    Each negative among the k is compared with the mean of the positives that are not among them, so that k positives
    at the top suffice: the others may lie anywhere.

    Parameters
    ----------
    k : float, default=0.01
        Share of samples to select, in (0, 1). The number of samples is rounded up, and is never more than that of
        positives.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.

    Raises
    ------
    ValueError
        If ``k`` is not in (0, 1).

    Notes
    -----
    For K selected samples, of which TP are positive,

    .. math:: \ell(s) = \max_{\bar y} 1 - \frac{TP}{K} + 2 \kappa \Big( \sum_{\bar y_i = 1, y_i = -1} s_i -
              \frac{K - TP}{n_+ - TP} \sum_{\bar y_i = -1, y_i = 1} s_i \Big)

    It counts samples alike, whatever share of the data they stand for. For K equal to the number of positives it
    is `PrecisionAtK`.

    References
    ----------
    .. [1] P. Kar, H. Narasimhan, P. Jain, "Surrogate Functions for Maximizing Precision at the Top", ICML 2015.

    Examples
    --------
    >>> loss, is_pos = TopPrecision(k=0.25), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.325, offset=1.0, slope=array([-0.25, -0.25, 0. , 0.5 ]))
    """

    k: float = 0.01
    kappa: float | None = None

    ranking = True

    def __post_init__(self) -> None:
        check_fraction(self.k, "k")
        self._check_kappa()

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        kappa = 1.0 / (n_pos + n_neg) if self.kappa is None else self.kappa
        size = min(whole_count(self.k, n_pos + n_neg), n_pos)
        pos, neg = 2.0 * kappa * scores.pos, 2.0 * kappa * scores.neg
        slope = np.empty(n_pos + n_neg)
        delta, linear = top_precision_tangent(pos, neg, np.sort(pos), largest(neg, size), size, kappa, slope)
        return Tangent(delta + linear, delta, slope)

    def _count(self, n_pos: int, n_neg: int) -> float:
        """Samples selected: the sum counts those that are negative."""
        return float(min(whole_count(self.k, n_pos + n_neg), n_pos))

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Precision among the top k, see `StructuralLoss.performance`."""
        return precision_at_k_score(is_pos, score, k=self.k, pos_label=True)
