"""Structural hinge loss of any metric, by a table of its values for all counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array
from csf.metrics import Metric, get_metric
from csf.structural.losses._kernels import table_tangent
from csf.structural.losses.base import Labelled, Tangent

if TYPE_CHECKING:
    from csf.structural.losses.base import ClassScores


__all__ = ["TableLoss"]

# Cells of a table of float64: 80 MB.
_MOST_CELLS = 10_000_000


@lru_cache(maxsize=1)
def _losses(metric: Metric, n_pos: int, n_neg: int, share_pos: float, share_neg: float) -> Array:
    """1 - metric for ``a`` positives (rows) and ``b`` negatives (columns) labelled positive."""
    fn = np.minimum(share_pos * np.arange(n_pos, -1, -1.0), share_pos * n_pos)[:, None]
    fp = (share_neg * np.arange(n_neg + 1.0))[None, :]
    pos = share_pos * n_pos
    table = np.ascontiguousarray(1.0 - np.broadcast_to(metric.value(fn, fp, pos=pos), (n_pos + 1, n_neg + 1)))
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class TableLoss(Labelled):
    r"""Structural hinge loss of any metric: an upper bound of 1 - metric of the labels ``score > 0``.

    Parameters
    ----------
    metric : str or Metric, default="gmean"
        A name in ``csf.metrics.METRICS`` or a metric; it must be hashable, as all of csf are.
    kappa : float, default=None
        Factor of each sample in the linear part, positive; ``None`` means 1 / number of samples.

    Raises
    ------
    ValueError
        If the metric is unknown.

    Notes
    -----
    All numbers of positives and negatives are tried: time and memory are ``n_pos * n_neg``, at most ten million. For
    F-beta, `FBetaLoss` finds the same in O(n log n).

    References
    ----------
    .. [1] T. Joachims, "A Support Vector Method for Multivariate Performance Measures", ICML 2005.

    Examples
    --------
    >>> loss, is_pos = TableLoss("gmean"), np.array([True, True, False, False])
    >>> loss.tangent([3.0, 0.5, -1.0, -2.0], is_pos)
    Tangent(value=0.043, offset=0.293, slope=array([ 0. , -0.5, 0. , 0. ]))
    """

    metric: str | Metric = "gmean"
    kappa: float | None = None

    def __post_init__(self) -> None:
        get_metric(self.metric)
        self._check_kappa()

    def class_tangent(self, scores: ClassScores) -> Tangent:
        """Value and subgradient, see `StructuralLoss.class_tangent`."""
        n_pos, n_neg = scores.pos.shape[0], scores.neg.shape[0]
        if n_pos * n_neg > _MOST_CELLS:
            raise ValueError(
                f"the table for {n_pos} positives and {n_neg} negatives has more than {_MOST_CELLS} cells; learn from "
                "buffers, or use FBetaLoss or csf.fenchel.FenchelSVM"
            )
        kappas = self._kappas(scores)
        table = _losses(get_metric(self.metric), n_pos, n_neg, scores.share_pos, scores.share_neg)
        pos, neg = 2.0 * kappas[0] * scores.pos, 2.0 * kappas[1] * scores.neg
        slope = np.empty(n_pos + n_neg)
        delta, linear = table_tangent(table, pos, neg, np.sort(pos), np.sort(neg), *kappas, slope)
        return Tangent(delta + linear, delta, slope)
