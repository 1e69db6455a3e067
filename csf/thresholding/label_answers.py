"""Answers to pairs of a sample and a label, where all labels share a threshold, within limits by label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.intervals import DrawnSums
from csf.evaluate.resampling import EntryResampling
from csf.thresholding.capacity import RankedAnswers, ScoreAnswers
from csf.thresholding.evaluation import AnswerTerms, GivenAnswers, TableTerms

if TYPE_CHECKING:
    from csf.evaluate.draws import Units
    from csf.evaluate.intervals import DrawnErrors
    from csf.evaluate.label_means import EntrySampleDraws
    from csf.evaluate.stores import HeldOutEntries
    from csf.metrics.averages import Averaged


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
            entries = np.flatnonzero(self.labels == label)
            given = RankedAnswers(self.rank[entries], self.least).within({1: limit}, weight[entries])
            share[entries], others[entries] = given.share, given.others
        none = np.full(self.codes.size, -1)
        counted = GivenAnswers(np.where(self.codes == 1, self.labels, none), share, none)
        return GivenAnswers(self.codes, share, others, None, counted)

    def acted(self, answer: int, given: GivenAnswers, weight: Array) -> float:
        """Compute the share of the samples that get a label."""
        return float(weight @ given.share_of(answer) / weight[self.labels == answer].sum())


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
        self,
        entries: Units | HeldOutEntries,
        labels: IntArray,
        of_tables: Callable[[Array], Array],
        *,
        unit: float = 1.0,
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


class SampleMeanCandidates(LabelCandidates):
    """Trials and thresholds for a mean over samples, chosen again on parts of the samples."""

    def __init__(self, draws: EntrySampleDraws, costs: Callable[[], Costs], labels: IntArray) -> None:
        self.draws, self.costs, self.labels, self.units = draws, costs, labels, draws.units
        self.weights_in = self.units.weights_in

    def on_parts(self, counts: Array, first: int) -> Iterable[LabelAnswers]:
        """Choose trials and thresholds on parts, see `csf.thresholding.evaluation.Candidates`."""
        for score, threshold in self.draws.on_parts(counts):
            yield LabelAnswers(score, threshold, self.units.is_pos, self.costs, self.labels)


class SampleMeanTerms(AnswerTerms):
    """Terms of a mean over samples; entries are the labels of a sample, then those of the next one."""

    n_classes = n_answers = 2
    unit = 1.0

    def __init__(self, entries: Units | HeldOutEntries, labels: IntArray, metric: Averaged) -> None:
        self.entries, self.labels, self.metric = entries, labels, metric
        self.truth, self.n_labels = entries.truth.astype(np.int64), int(labels.max()) + 1

    def _found(self, answers: GivenAnswers) -> Array:
        """Compute how far each sample gets each label, of shape (n_samples, n_labels)."""
        shares = sum((share * (codes == 1) for codes, share in answers.parts), np.zeros(self.truth.size))
        return shares.reshape(-1, self.n_labels)

    def _rows(self, answers: GivenAnswers, weight: Array) -> tuple[Array, Array]:
        """Compute the value of each sample, and its weight."""
        truth = self.truth.reshape(-1, self.n_labels) > 0
        return self.metric.of_samples(truth, self._found(answers)), weight[:: self.n_labels]

    def sums(self, answers: GivenAnswers, weight: Array) -> Array:
        """Sum values and weights of samples, and by label the weights of those that have it and get it, or have it."""
        values, weights = self._rows(answers, weight)
        has = weight * self.truth
        gets = has * self._found(answers).ravel()
        by_label = [np.bincount(self.labels, part, self.n_labels) for part in (gets, has)]
        return np.concatenate([[values @ weights, weights.sum()], *by_label])

    def value(self, sums: Array) -> Array:
        """Compute the mean over samples."""
        return sums[..., 0] / sums[..., 1]

    def captured(self, sums: Array, answer: int) -> float:
        """Compute the share of the samples with a label that get it."""
        gets, has = np.reshape(sums[2:], (2, -1))[:, answer]
        return float(gets / has)

    def drawn(self, answers: GivenAnswers, seed: int) -> DrawnErrors:
        """Draw the errors of the value, as if no limit moved with the rows."""
        units = self.entries
        values, weights = self._rows(answers, units.weights_in(np.ones_like(units.copies)))
        of_row = units.samples[:: self.n_labels]
        by_unit = [np.bincount(of_row, part, units.copies.size) for part in (values * weights, weights)]
        return DrawnSums(self.value, np.column_stack(by_unit), units.copies).bootstrap(n_draws_of(units.copies), seed)
