"""Means over samples of several labels: the best threshold that labels share, on all samples and on draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.data.responses import midpoint
from csf.evaluate._kernels import add_gains, row_gains
from csf.evaluate.assessment import LEVEL, Choice, interval
from csf.evaluate.draws import CodedRow, Units, bootstrap_counts, units_of
from csf.evaluate.intervals import DrawnSums
from csf.evaluate.stores import TrialKey

if TYPE_CHECKING:
    from csf.evaluate.stores import ScoreStore
    from csf.metrics.averages import Averaged

# Sums of as many terms as there are entries differ by less than this where they are of the same entries.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class LabelledSamples:
    """True labels of entries, which are the labels of a row, then those of the next one, and the values of rows.

    Parameters
    ----------
    is_pos : ndarray of bool, shape (n_entries,)
        Truth.
    n_labels : int
        Entries of a row.
    metric : Averaged
        A mean over samples.
    """

    is_pos: BoolArray
    n_labels: int
    metric: Averaged

    def gains(self, order: IntArray) -> Array:
        """Compute by how much each entry, added to those before it, changes the value of its row; 0 for others."""
        gains = np.zeros(self.is_pos.size)
        row_gains(order, self.is_pos, self.n_labels, self.metric.beta**2, self.metric.empty or 0.0, gains)
        return gains

    @property
    def empty(self) -> Array:
        """Value of each row where no label is predicted, see `Averaged.empty`."""
        return np.where(self.is_pos.reshape(-1, self.n_labels).any(axis=1), 0.0, self.metric.empty or 0.0)

    def values(self, predicted: BoolArray) -> Array:
        """Compute the value of each row where the given labels are predicted."""
        gains = self.gains(np.flatnonzero(predicted))
        return self.empty + gains.reshape(-1, self.n_labels).sum(axis=1)

    def cumulated(self, score: Array, weight: Array | None) -> tuple[Array, Array]:
        """Return scores from the largest on, and the mean value where none, the first one, the first two are found."""
        weights = np.ones(score.size) if weight is None else weight
        order = np.argsort(-score, kind="stable")
        order = order[weights[order] > 0.0]
        nothing = self.empty @ weights[:: self.n_labels]
        values = np.append(nothing, nothing + np.cumsum((self.gains(order) * weights)[order]))
        return score[order], values / (weights.sum() / self.n_labels)

    def best_cut(self, score: Array, weight: Array | None) -> tuple[float, float]:
        """Find the threshold with the largest mean value, the highest among equals, and that value."""
        ordered, values = self.cumulated(score, weight)
        ends = np.append(ordered[1:] != ordered[:-1], True)
        allowed = np.append(ordered[0] < np.inf, ends)
        best = int(np.argmax(allowed & (values >= values[allowed].max() - _SAME)))
        upper = ordered[best - 1] if best else np.inf
        lower = ordered[best] if best < ordered.size else -np.inf
        inner = 0 < best < ordered.size
        cut = midpoint(upper, lower) if inner else -np.inf if best else np.inf
        return float(cut), float(values[best])


class SampleDraws(Choice[TrialKey]):
    """Draws of the rows, with each trial's threshold tuned again on each; see `Resampling` for the binary case.

    Parameters
    ----------
    store : ScoreStore
        Held-out scores of the trials; entries of a sample are its labels, in each part that holds it out.
    n_labels : int
        Number of labels.
    metric : Averaged
        A mean over samples.
    n_draws : int
        Number of bootstrap draws.
    random_state : int
        Seed.
    """

    value_range = (0.0, 1.0)

    def __init__(self, store: ScoreStore, n_labels: int, metric: Averaged, n_draws: int, random_state: int) -> None:
        self.rows = list(store)
        self.n_draws, self.random_state = n_draws, random_state
        self._units, self.coded = self._units_of(store, [CodedRow.of(row, store) for row in self.rows], n_labels)
        truth = LabelledSamples(self.units.is_pos, n_labels, metric)
        weights = np.ones(truth.is_pos.size) if self.units.weight is None else self.units.weight
        self.gains = [truth.gains(np.argsort(row.codes, kind="stable")) * weights for row in self.coded]
        unit, weight = self.units.samples[::n_labels], weights[::n_labels]
        n_units = self.units.copies.size
        self.weight = np.bincount(unit, weight, minlength=n_units)
        self.empty = np.bincount(unit, weight * truth.empty, minlength=n_units)

    @staticmethod
    def _units_of(store: ScoreStore, coded: list[CodedRow], n_labels: int) -> tuple[Units, list[CodedRow]]:
        """Merge equal samples into units."""
        return units_of(store, coded, n_labels)

    @property
    def units(self) -> Units:
        """Units that are drawn."""
        return self._units

    def place(self, key: TrialKey) -> int:
        """Return the place of a trial."""
        return [row.key for row in self.rows].index(key)

    def sums(self, label_row: int, counts: Array) -> Array:
        """Compute the weighted sum of the values at each threshold of a trial, of shape (n_cuts, n_draws)."""
        row = self.coded[label_row]
        sums = np.zeros((row.thresholds.size + 1, counts.shape[1]))
        add_gains(row.codes, self.gains[label_row], self.units.samples, np.ascontiguousarray(counts), sums)
        return self.empty @ counts + np.cumsum(sums[:-1], axis=0)

    def tuned(self, row: int, counts: Array) -> tuple[IntArray, Array]:
        """Tune the threshold of a trial on each draw; return it with its value, the middle one among equals."""
        values = self.sums(row, counts) / (self.weight @ counts)
        tied = values >= values.max(axis=0) - _SAME
        first, places = tied.argmax(axis=0), np.arange(len(values))[:, None]
        last = np.where(~tied & (places > first), places, len(values)).min(axis=0) - 1
        return (first + last) // 2, values.max(axis=0)

    @cached_property
    def counts(self) -> Array:
        """Bootstrap draws, of shape (n_units, n_draws)."""
        return np.concatenate(list(bootstrap_counts(self.units.copies, self.n_draws, self.random_state)), axis=1)

    @cached_property
    def retuned(self) -> list[tuple[IntArray, Array]]:
        """Best threshold and value of each trial on each bootstrap draw."""
        return [self.tuned(row, self.counts) for row in range(len(self.rows))]

    def thresholds(self, row: int) -> Array:
        """Tune the threshold of a trial again on each bootstrap draw."""
        return self.coded[row].thresholds[self.retuned[row][0]]

    def errors(self, winner: TrialKey) -> Array:
        """Compute the bootstrap errors of the value of a trial at its own threshold."""
        place = self.place(winner)
        row = self.coded[place]
        chosen = np.flatnonzero(row.thresholds == self.rows[place].threshold)
        cut = int(chosen[0]) if chosen.size else 0
        sums = self.empty + np.bincount(
            self.units.samples, np.where(row.codes <= cut, self.gains[place], 0.0), minlength=self.empty.size
        )
        drawn = DrawnSums(
            lambda totals: totals[:, 0] / totals[:, 1], np.column_stack([sums, self.weight]), self.units.copies
        )
        return drawn.bootstrap(self.n_draws, self.random_state).errors

    def threshold_interval(self, winner: TrialKey) -> tuple[float, float]:
        """Compute the interval of a trial's threshold."""
        return interval(self.thresholds(self.place(winner)), LEVEL)

    def value(self, sums: Array) -> float:
        """Compute the mean over rows from their values and weights."""
        return float(sums[0] / sums[1])

    def judge(self, counts: Array, first: int) -> Array:
        """Sum the values and the weights of the rows outside each part, at the threshold that is best inside."""
        left_out = self.units.copies[:, None] - counts.astype(np.int64)
        tuned = [self.tuned(row, counts) for row in range(len(self.rows))]
        winners, sums = np.array([values for _, values in tuned]).argmax(axis=0), np.zeros(counts.shape[1])
        for row in np.unique(winners):
            draws = np.flatnonzero(winners == row)
            sums[draws] = self.sums(row, left_out[:, draws])[tuned[row][0][draws], np.arange(draws.size)]
        return np.column_stack([sums, self.weight @ left_out])


class EntrySampleDraws(SampleDraws):
    """Draws whose units are the samples themselves: equal ones are not merged, so that all scores are known."""

    @staticmethod
    def _units_of(store: ScoreStore, coded: list[CodedRow], n_labels: int) -> tuple[Units, list[CodedRow]]:
        return Units(store.truth, store.importance, store.samples, store.copies), coded

    def on_parts(self, counts: Array) -> Iterator[tuple[Array, float]]:
        """Choose a trial and its threshold on parts; return the scores of all entries and the threshold."""
        tuned = [self.tuned(place, counts) for place in range(len(self.rows))]
        for part, place in enumerate(np.array([values for _, values in tuned]).argmax(axis=0).tolist()):
            score = self.rows[place].score
            assert score is not None, "thresholds are tuned"
            yield score, float(self.coded[place].thresholds[tuned[place][0][part]])
