"""Limits on single classes beside a null class: which entries get which class, and what that is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, IntArray, Label
from csf._common.validation import check_share
from csf.data.responses import margin
from csf.metrics.averages import values_of_tables
from csf.thresholding.batch import refuse_null, shares_limited
from csf.thresholding.capacity import LOST, merged_lost
from csf.thresholding.evaluation import GivenAnswers, TableTerms, TunedAnswers

if TYPE_CHECKING:
    from csf.evaluate.draws import Units
    from csf.evaluate.stores import Store
    from csf.metrics.base import Metric


@dataclass(frozen=True, eq=False)
class LimitedClasses:
    """True classes of the entries, and the classes of which a share of the rows may get one.

    Classes without a limit are one kind of true class, and of answers to it the right ones and those of a wrong class
    are told apart: so what a value depends on does not grow with the number of classes.

    Parameters
    ----------
    truth : ndarray of int, shape (n_entries,)
        Codes of the true classes, 0 for the null class.
    codes : sequence of int
        Codes of the limited classes.
    """

    truth: IntArray
    codes: Sequence[int]

    def place(self, code: int) -> int:
        """Return the place of a limited class among these."""
        return list(self.codes).index(code)

    @property
    def kinds(self) -> IntArray:
        """Kind of each entry: 0 for the null class, 1 for classes without a limit, then one for each limited class."""
        kinds = (self.truth > 0).astype(np.int64)
        for place, code in enumerate(self.codes):
            kinds[self.truth == code] = 2 + place
        return kinds

    def marked(self, answers: IntArray) -> IntArray:
        """Convert classes that entries get to 0, 1 or `LOST`, then one for each limited class."""
        wrong = (self.truth > 0) & (answers != self.truth)
        marked = np.where(answers == 0, 0, np.where(wrong, LOST, 1))
        for place, code in enumerate(self.codes):
            marked[answers == code] = LOST + 1 + place
        return marked


class ClassGapAnswers(TunedAnswers):
    """Answers of the null class, or of the best one of the other classes, by a score with a threshold.

    A limit takes a class from the entries that lose least by their next best answer, as `predict` does.
    """

    def __init__(self, score: Array, threshold: float, class_gaps: Array, classes: LimitedClasses) -> None:
        self.classes = classes
        # Beside the best class: what the null class gains, and what each other class does.
        self.gains = np.column_stack([-margin(score.astype(np.float64), threshold, True), -class_gaps])
        self.codes = self.gains.argmax(axis=1)

    def within(self, limits: Mapping[int, float], weight: Array) -> GivenAnswers:
        """Answer within limits by code, and tell right and wrong answers apart."""
        return super().within(limits, weight).marked(self.classes.marked)


class LimitedClassTerms(TableTerms):
    """Terms of a metric beside a null class, where some of the other classes have limits."""

    def __init__(self, entries: Units | Store, metric: Metric, classes: LimitedClasses) -> None:
        n_limited = len(classes.codes)
        of_tables = partial(_values, metric)
        super().__init__(entries, 2 + n_limited, of_tables, unit=metric.unit, n_answers=LOST + 1 + n_limited)
        self.truth, self.classes = classes.kinds, classes

    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of the entries of a class that get it."""
        table, place = self.final(sums)[0], self.classes.place(answer)
        return float(table[2 + place, LOST + 1 + place] / table[2 + place].sum())


def _values(metric: Metric, tables: Array) -> Array:
    """Compute a metric of tables of kinds and answers, see `LimitedClasses`."""
    right = np.trace(tables[..., 2:, LOST + 1 :], axis1=-2, axis2=-1)
    answers = np.zeros((*tables.shape[:-2], 2, LOST + 1))
    answers[..., 0, :] = tables[..., 0, : LOST + 1]
    answers[..., 0, 1] += tables[..., 0, LOST + 1 :].sum(axis=-1)
    answers[..., 1, :] = tables[..., 1:, : LOST + 1].sum(axis=-2)
    answers[..., 1, 1] += right
    answers[..., 1, LOST] += tables[..., 1:, LOST + 1 :].sum(axis=(-2, -1)) - right
    return values_of_tables(metric, merged_lost(answers))


def class_limits(at_most: object, names: Sequence[Label]) -> dict[int, float]:
    """Read limits on single classes by code; ``names`` are those of all codes, that of the null class first."""
    refuse_null(at_most, names, names[0])
    return shares_limited(at_most, names, check=check_share)
