"""Held-out scores of all classes, and what is decided by them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, Costs, IntArray
from csf.metrics.base import rank
from csf.resampling import MAX_BYTES, EntryStore, TrialKey
from csf.resampling.units import Units, grouped
from csf.thresholding._calibration import fit_class_calibrator
from csf.thresholding.class_rule import without_weights

if TYPE_CHECKING:
    from csf.thresholding._calibration import ClassCalibrator

__all__ = ["ClassRow", "ClassStore"]

# Parts in which rules are tuned on the others and judged.
_PARTS = 5
# Where fewer samples than this share differ in their scores, as with a small tree, equal scores mean no copies.
_FEW_CONTENTS = 0.25


@dataclass(frozen=True, eq=False)
class ClassRow:
    """What one trial predicts for the held-out entries.

    Parameters
    ----------
    key : tuple of int
        Setting and number of the trial.
    score : ndarray of shape (n_entries, n_classes), default=None
        Scores of the classes as the base gives them, float32; ``None`` where no rule is tuned.
    decided : ndarray of int, shape (n_entries,)
        Codes by the base's own decision.
    judged : ndarray of int, shape (n_entries,), default=None
        Codes by rules that were tuned on other samples.
    costs : tuple of float
        Class weights of the training.
    value : float
        Score of the trial.
    """

    key: TrialKey
    score: Array | None
    decided: IntArray
    judged: IntArray | None
    costs: Costs
    value: float

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """What the trial does not say itself."""
        return self.score, self.decided, self.judged

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays if array is not None)

    @property
    def neutral(self) -> bool:
        """Whether all classes weigh the same."""
        return len(set(self.costs)) == 1

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better, see `csf.metrics.base.rank`."""
        setting, number = self.key
        return rank(0.0, self.value, number, setting)


class ClassStore(EntryStore[ClassRow]):
    """Pooled held-out scores of all classes, of the trials of one search.

    ``truth`` are codes; ``margins`` says that scores are decisions, of which probabilities are made by calibration.
    """

    def __init__(
        self,
        truth: IntArray,
        weight: Array | None = None,
        *,
        n_classes: int,
        margins: bool,
        samples: IntArray | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(truth, weight, samples=samples, max_bytes=max_bytes)
        self.n_classes, self.margins = n_classes, margins
        # By what the odds of the classes are larger than where the trainings were, and the weights there.
        self.odds, self._weight_there = np.ones(n_classes), weight

    def hear(
        self, key: TrialKey, trial: Any, score: Array | None, decided: IntArray, judged: IntArray | None = None
    ) -> None:
        """Keep what a complete trial predicts."""
        assert trial.score is not None, "a complete trial has a score"
        small = np.min_scalar_type(self.n_classes - 1)
        self.put(
            ClassRow(
                key,
                None if score is None else np.ascontiguousarray(score, dtype=np.float32),
                decided.astype(small, copy=False),
                None if judged is None else judged.astype(small, copy=False),
                trial.costs,
                trial.score,
            )
        )

    def check(self, arrays: Sequence[Array | None]) -> None:
        """A ValueError unless arrays of a file can be scores, own and judged decisions."""
        score, *decisions = arrays
        size = self.truth.size
        if score is not None and (score.dtype != np.float32 or score.shape != (size, self.n_classes)):
            raise ValueError(f"scores have the shape {score.shape} and type {score.dtype}")
        if score is not None and not np.isfinite(score).all():
            raise ValueError("scores are missing")
        for codes in decisions:
            if codes is None and codes is not decisions[0]:
                continue
            if codes is None or codes.dtype.kind != "u" or codes.shape != (size,) or codes.max() >= self.n_classes:
                raise ValueError("decisions are no codes of classes")

    def probabilities(self, score: Array, costs: Costs) -> Array:
        """What rules read: probabilities with the class weights taken out, or made of margins."""
        calibrator = self.calibrator(score)
        return without_weights(score if calibrator is None else calibrator.predict(score), self.class_weights(costs))

    def class_weights(self, costs: Costs) -> Array:
        """What is taken out of the probabilities of a training: its weights, of which calibration knows none."""
        return (np.ones(self.n_classes) if self.margins else np.asarray(costs)) / self.odds

    def calibrator(self, score: Array) -> ClassCalibrator | None:
        """What makes probabilities of the scores of a trial; ``None`` where they are some."""
        return fit_class_calibrator(score, self.truth, self._weight_there) if self.margins else None

    def parts(self, score: Array) -> IntArray:
        """Part of each entry, of five that have about as much of each class; all entries of a sample are in one.

        Samples are dealt in an order that what is said of them decides, and those of which the same is said together:
        a row of weight 2 and two such rows are in one part.
        """
        return _dealt(self.truth, self.samples, self.content(score), np.flatnonzero(self.copies > 0))

    def content(self, score: Array) -> Array:
        """A number for each entry that its scores decide."""
        return _mixed(score.astype(np.float32).T)

    def moved(self, shares: Array) -> ClassStore:
        """The same entries where classes have other shares: weights and odds are in proportion."""
        weight = np.ones(self.truth.size) if self._weight_there is None else self._weight_there
        there = np.bincount(self.truth, weight, self.n_classes)
        moved = copy.copy(self)
        vars(moved).pop("drawn", None)
        moved.odds = shares / (there / there.sum())
        moved.weight = weight * moved.odds[self.truth]
        return moved

    @cached_property
    def drawn(self) -> tuple[Units, IntArray]:
        """What is drawn, samples for which all trials predict the same as one, and the entries of these."""
        said = [self.content(row.score) if row.score is not None else row.decided for row in self]
        return grouped(self, [_mixed(said)])

    def put(self, row: ClassRow) -> None:
        """Keep a row as it is."""
        vars(self).pop("drawn", None)
        super().put(row)


def _mixed(columns: Sequence[Array] | Array) -> Array:
    """One number of several for each entry: others for others, almost surely, and close ones where they are close."""
    # Machines differ in the last digits of scores: that must not deal all samples anew, as a hash would.
    mixed = np.zeros(len(columns[0]))
    for column, factor in zip(columns, np.random.default_rng(0).uniform(0.5, 1.5, len(columns))):
        mixed += factor * column
    return mixed


def _dealt(truth: IntArray, samples: IntArray, content: Array, among: IntArray) -> IntArray:
    """Parts of entries: samples of each class in the order of their content, dealt one by one.

    Those that are not ``among`` weigh nothing, and take nobody's place.
    """
    of_sample = np.bincount(samples, weights=content)
    kind = np.zeros(of_sample.size, dtype=truth.dtype)
    kind[samples] = truth
    order = among[np.lexsort([of_sample[among], kind[among]])]
    new = np.ones(order.size, dtype=bool)
    new[1:] = (of_sample[order][1:] != of_sample[order][:-1]) | (kind[order][1:] != kind[order][:-1])
    if np.count_nonzero(new) < _FEW_CONTENTS * new.size:
        new[:] = True
    part = np.zeros(of_sample.size, dtype=np.int64)
    part[order] = (np.cumsum(new) - 1) % _PARTS
    return part[samples]
