"""The contract of thresholds by row: each broken property is named."""

from dataclasses import dataclass

import numpy as np
import pytest

from csf.testing import check_row_thresholds
from csf.thresholding import RowThresholds, TunedThresholds

VALUES = np.arange(1000) % 3


@dataclass(frozen=True)
class OneCut(RowThresholds):
    cut: float = 0.0

    def beside(self, X, given=None):
        return np.asarray(given)

    def of_rows(self, beside):
        return np.full(beside.size, self.cut)

    def tuned(self, metric, rows, share=0.0):
        best = rows.best_cut(metric, np.zeros(rows.score.size), share)
        return TunedThresholds(type(self)(best.threshold), best.value, best.feasible)

    @property
    def parameters(self):
        return {"all rows": self.cut}


class ChangesRows(OneCut):
    def tuned(self, metric, rows, share=0.0):
        rows.score[0] += 1.0
        return super().tuned(metric, rows, share)


class OtherClass(OneCut):
    def tuned(self, metric, rows, share=0.0):
        best = super().tuned(metric, rows, share)
        return best._replace(thresholds=OneCut(best.thresholds.cut))


class NoThreshold(OneCut):
    def of_rows(self, beside):
        return np.full(beside.size, np.nan)


class AlwaysKept(OneCut):
    def tuned(self, metric, rows, share=0.0):
        return super().tuned(metric, rows, 0.0)


class Worse(OneCut):
    def tuned(self, metric, rows, share=0.0):
        best = super().tuned(metric, rows._replace(score=np.abs(rows.score)), share)
        return best._replace(thresholds=type(self)(np.inf), value=0.0, keeps=metric.constraint is None)


class FixedCut(OneCut):
    def tuned(self, metric, rows, share=0.0):
        return super().tuned(metric, rows._replace(score=np.minimum(rows.score, 2.0)), share)


class NoJson(OneCut):
    @property
    def parameters(self):
        return {"all rows": np.array([self.cut])}


def test_a_right_one_passes():
    check_row_thresholds(OneCut(), VALUES)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (ChangesRows, "must not change the rows"),
        (OtherClass, "must return a OtherClass"),
        (NoThreshold, "a threshold for each row"),
        (AlwaysKept, "keeps must say whether"),
        (Worse, "one threshold for all rows is better"),
        (FixedCut, "all larger by 4"),
        (NoJson, "not JSON serializable"),
    ],
)
def test_a_broken_property_is_named(broken, named):
    with pytest.raises(AssertionError, match=named):
        check_row_thresholds(broken(), VALUES)
