"""Tight hinge loss of the partial area under the ROC curve."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray
from csf._common.validation import check_choice
from csf.structural.losses._kernels import pair_hinges, share_top
from csf.structural.losses.base import StructuralLoss, Tangent, whole_count
from csf.structural.ranking import AREAS, partial_auc_score

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores


__all__ = ["PartialAUC"]


@dataclass(frozen=True)
class PartialAUC(StructuralLoss):
    r"""Mean hinge loss of the pairs of a positive with one of the negatives of largest score.

    It bounds 1 - partial AUC from above, for false positive rates in [0, ``beta``].

    Parameters
    ----------
    beta : float, default=0.1
        Largest false positive rate, in (0, 1]; 1 is the whole area.
    mode : {"count", "fraction"}, default="count"
        ``"count"``: the ``ceil(beta * n_neg)`` largest negatives count alike. ``"fraction"``: the last one counts in
        part, which is the exact area.

    Raises
    ------
    ValueError
        If ``beta`` or ``mode`` is none of these.

    Notes
    -----
    .. math:: \ell(s) = \frac{1}{n_+ j} \sum_{i: y_i = 1} \sum_{k \in T} \max(0, 1 - s_i + s_k), \qquad
              j = \lceil \beta n_- \rceil

    with T the j negatives of largest score, in O(n + j log j). Shares of the data do not matter: each class is
    averaged by itself.

    References
    ----------
    .. [1] H. Narasimhan, S. Agarwal, "SVMpAUC-tight: a new support vector method for optimizing partial AUC based
       on a tight convex upper bound", KDD 2013.

    Examples
    --------
    >>> loss, is_pos = PartialAUC(beta=0.5), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, 0.4], is_pos)
    Tangent(value=0.45, offset=0.5, slope=array([ 0. , -0.5, 0. , 0.5]))
    """

    beta: float = 0.1
    mode: str = "count"

    ranking = True

    def __post_init__(self) -> None:
        if isinstance(self.beta, bool) or not isinstance(self.beta, numbers.Real):
            raise TypeError(f"beta must be a number in (0, 1], got {self.beta!r}")
        if not 0.0 < self.beta <= 1.0:
            raise ValueError(f"beta must be in (0, 1], got {self.beta!r}: at least one negative has to be in the range")
        check_choice(self.mode, "mode", AREAS)

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        count = whole_count(self.beta, n_neg) if self.mode == "count" else self.beta * n_neg
        share = np.ones(n_neg)
        if count < n_neg:
            last = n_neg - math.ceil(count)
            share_top(scores.neg, count, np.partition(scores.neg, last)[last], share)
        top = np.flatnonzero(share)
        top = top[np.argsort(scores.neg[top])]
        order = np.argsort(scores.pos)
        sums = np.empty(n_pos + top.shape[0])
        loss, active = pair_hinges(scores.pos[order], scores.neg[top], share[top], sums)
        sums /= n_pos * count
        slope = np.zeros(n_pos + n_neg)
        slope[order], slope[n_pos + top] = sums[:n_pos], sums[n_pos:]
        return Tangent(loss / (n_pos * count), active / (n_pos * count), slope)

    def total(self, n_pos: int, n_neg: int) -> tuple[StructuralLoss, float]:
        """Sum over pairs, see `StructuralLoss.total`."""
        count = whole_count(self.beta, n_neg) if self.mode == "count" else self.beta * n_neg
        return self, float(n_pos * count)

    def performance(self, score: Array, is_pos: BoolArray) -> float:
        """Partial AUC, divided by ``beta``, see `StructuralLoss.performance`."""
        return partial_auc_score(is_pos, score, beta=self.beta, mode=self.mode, pos_label=True)
