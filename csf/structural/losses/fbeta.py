"""Structural hinge loss of F-beta."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from csf.metrics import FBeta
from csf.online.base import check_positive
from csf.structural.losses.base import Labelled, labelled_tangent

__all__ = ["FBetaLoss"]


@njit(cache=True, nogil=True)
def best_counts(pos, neg, weight_pos, weight_neg, b2, missed):
    """Numbers of positives and negatives, and the loss, of the labelling that is worst for F-beta.

    ``pos`` and ``neg`` are falling scores, times what a label costs. For a fixed number of positives the objective
    is concave in that of negatives, so that halving finds the best.
    """
    total = b2 * weight_pos * pos.shape[0]
    part_pos = -missed
    best, best_pos, best_neg, best_delta = -np.inf, 0, 0, 0.0
    sums = np.empty(neg.shape[0] + 1)
    sums[0] = 0.0
    for k in range(neg.shape[0]):
        sums[k + 1] = sums[k] + neg[k]
    for a in range(pos.shape[0] + 1):
        if a > 0:
            part_pos += pos[a - 1]
        found = (1.0 + b2) * weight_pos * a
        base = weight_pos * a + total
        lo, hi = 0, neg.shape[0]
        while lo < hi:
            b = (lo + hi) // 2
            below = base + weight_neg * b
            if found * weight_neg / (below * (below + weight_neg)) + neg[b] > 0.0:
                lo = b + 1
            else:
                hi = b
        delta = 1.0 - found / (base + weight_neg * lo)
        value = delta + part_pos + sums[lo]
        if value > best:
            best, best_pos, best_neg, best_delta = value, a, lo, delta
    return best_pos, best_neg, best_delta


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

    def __post_init__(self):
        check_positive(self.beta, "beta")
        self._check_kappa()

    def class_tangent(self, scores):
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        kappas = self._kappas(scores)
        pos = np.sort(2.0 * kappas[0] * scores.pos)[::-1]
        b2 = float(self.beta) ** 2
        neg = 2.0 * kappas[1] * scores.neg
        # what one more negative can add to the loss of F-beta, at most: lower ones never come into the labelling
        total = pos.shape[0] * scores.share_pos
        found = min(total, b2 * total)
        gain = (1.0 + b2) * scores.share_neg * found / (found + b2 * total) ** 2
        neg = np.sort(neg[neg > -gain])[::-1]
        n_pos, n_neg, delta = best_counts(pos, neg, scores.share_pos, scores.share_neg, b2, pos.sum())
        return labelled_tangent(scores, kappas, delta, n_pos, n_neg)

    def performance(self, score, is_pos):
        """F-beta of the labels ``score > 0``, see `StructuralLoss.performance`."""
        n, found = is_pos.shape[0], score > 0.0
        fn, fp = np.count_nonzero(is_pos & ~found) / n, np.count_nonzero(found & ~is_pos) / n
        return float(FBeta(self.beta).value(fn, fp, pos=np.count_nonzero(is_pos) / n))
