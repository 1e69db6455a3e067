"""Answers to pairs of a sample and a label, where all labels share a threshold, within limits by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.evaluate.resampling import EntryResampling
from csf.thresholding.capacity import RankedAnswers, ScoreAnswers
from csf.thresholding.evaluation import GivenAnswers, TableTerms

if TYPE_CHECKING:
    from csf.evaluate.draws import Units
    from csf.evaluate.intervals import DrawnErrors
    from csf.evaluate.stores import Store


class LabelAnswers(ScoreAnswers):
    """Answers by one threshold to pairs of a sample and a label; limits are by the place of a label."""

    def __init__(
        self, score: Array, threshold: float, truth: BoolArray, costs: Callable[[], Costs], labels: IntArray
    ) -> None:
        super().__init__(score, threshold, truth, costs)
        self.labels = labels

    def within(self, limits: Mapping[int, float], weight: Array) -> GivenAnswers:
        """Answer where some labels go to no more than a share of the samples."""
        share, others = np.ones(self.codes.size), self.codes.copy()
        for label, limit in limits.items():
            own = np.flatnonzero(self.labels == label)
            given = RankedAnswers(self.rank[own], self.least).within({1: limit}, weight[own])
            share[own], others[own] = given.share, given.others
        return GivenAnswers(self.codes, share, others, None, np.where(self.codes == 1, self.labels, -1))

    def acted(self, answer: int, given: GivenAnswers, weight: Array) -> float:
        """Compute the share of the samples that get a label."""
        return float(weight @ (given.share * given.gets(answer)) / weight[self.labels == answer].sum())


class LabelCandidates:
    """Trials and thresholds that labels share, chosen again on parts of the samples."""

    def __init__(self, sampled: EntryResampling, costs: Callable[[], Costs], labels: IntArray) -> None:
        self.sampled, self.costs, self.labels, self.units = sampled, costs, labels, sampled.units
        self.weights_in = self.units.weights_in

    def on_parts(self, counts: Array, first: int) -> Iterable[LabelAnswers]:
        """Choose trials and thresholds on parts, see `csf.thresholding.evaluation.Candidates`."""
        for score, threshold in self.sampled.on_parts(counts, first):
            yield LabelAnswers(score, threshold, self.units.is_pos, self.costs, self.labels)


class LabelTerms(TableTerms):
    """Terms of a metric of all pairs of a sample and a label together, with a table for each label."""

    def __init__(
        self, entries: Units | Store, labels: IntArray, of_tables: Callable[[Array], Array], *, unit: float = 1.0
    ) -> None:
        super().__init__(entries, 2, of_tables, unit=unit)
        self.labels, self.pairs = labels, TableTerms(entries, 2, of_tables, unit=unit)

    def sums(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum weights by label, true class and answer."""
        n_cells = 4 * (int(self.labels.max()) + 1)
        place, sums = 4 * self.labels + 2 * self.truth, np.zeros(n_cells)
        for codes, share in answers.parts:
            sums += np.bincount(place + codes, weight * share, n_cells)
        return sums

    def value(self, sums: Array) -> Array:
        """Compute the metric of all labels together."""
        return self.pairs.value(np.reshape(sums, (*np.shape(sums)[:-1], -1, 4)).sum(axis=-2))

    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of the samples with a label that get it."""
        return self.pairs.captured(sums[4 * answer : 4 * answer + 4], 1)

    def drawn(self, answers: GivenAnswers, seed: int) -> DrawnErrors:
        """Draw the errors of the value, as if no limit moved with the rows."""
        return self.pairs.drawn(answers, seed)
