"""Predictions that a learner makes while it learns: each for the next example, before its label is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from csf._common.compiled import njit
from csf._common.typing import IntArray
from csf.metrics.profile import ErrorProfile

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["EmittedPredictions", "count_predictions"]


class EmittedPredictions:
    """Counts of emitted predictions, for learners that keep them in ``self._counts``: tp, fp, fn, tn."""

    n_seen_: int

    _counts: IntArray

    @property
    def online_counts_(self) -> dict[str, int]:
        """Dict with ``tp``, ``fp``, ``fn`` and ``tn`` of all predictions emitted so far."""
        check_is_fitted(self)
        return dict(zip(("tp", "fp", "fn", "tn"), self._counts.tolist()))

    @property
    def online_profile_(self) -> ErrorProfile:
        """Error profile of all predictions emitted so far; raises ValueError until both classes have been seen."""
        return ErrorProfile.from_counts(**self.online_counts_)

    @property
    def n_updates_(self) -> int:
        """Steps made: one for each example."""
        check_is_fitted(self)
        return self.n_seen_

    def _numbers(self) -> dict[str, Any]:
        return self.online_counts_


def value_of_counts(metric: Metric, *, tp: int, fp: int, fn: int, tn: int) -> float:
    """Linear-fractional metric of counts, also where one class is absent; 0 where it is 0 / 0."""
    total = max(tp + fp + fn + tn, 1)
    return metric.value(fn / total, fp / total, pos=(tp + fn) / total)


@njit(cache=True, nogil=True)
def count_predictions(is_predicted, is_pos, counts) -> None:
    """Add boolean predictions to the counts tp, fp, fn, tn."""
    for i in range(is_pos.shape[0]):
        counts[(0 if is_pos[i] else 1) if is_predicted[i] else (2 if is_pos[i] else 3)] += 1
