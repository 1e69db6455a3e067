"""Which training and which decision by row win, from stored held-out scores and the costs of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from csf._common.typing import Array, BoolArray, IntArray
from csf.evaluate import MAX_BYTES, Assessment, EntryStore, TrialKey, TrialRow
from csf.evaluate.assessment import LEVEL, SPREAD, interval, n_draws_of
from csf.evaluate.choices import Margins
from csf.evaluate.draws import LARGE, LeftOut, Units, bootstrap_counts, judge_left_out
from csf.metrics.row_costs import CostTable, RowCosts
from csf.thresholds.class_choice import dealt
from csf.thresholds.row_rule import FARTHEST, Tuned, tune, unweighted

# A trial, and how its scores decide.
RowCandidate = tuple[TrialKey, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowScores(TrialRow):
    """What one trial predicts; ``power`` is that of its training weights."""

    score: Array
    decided: None = None
    power: float

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """What the trial does not say itself."""
        return (self.score,)


class RowStore(EntryStore[RowScores]):
    """Pooled held-out log-odds, or margins, of the trials of one search, and what the entries cost.

    ``likely`` says whether they are the log-odds of the class.
    """

    def __init__(
        self,
        truth: BoolArray,
        weight: Array | None,
        costs: RowCosts,
        table: CostTable,
        *,
        likely: bool,
        samples: IntArray,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(truth, weight, samples=samples, max_bytes=max_bytes)
        self.costs, self.table, self.likely = costs, table, likely
        self.answers, self.shift = table.answers(truth), table.shift

    @cached_property
    def fixed(self) -> Array:
        """What both answers cost in one copy of each sample, and its weight."""
        return np.stack([self._of_samples(each) for each in (*self.answers, np.ones(self.truth.size))])

    @cached_property
    def unit(self) -> float:
        """Largest cost, in units of which squares of costs stay numbers."""
        return float(self.fixed[:2].max())

    def add_trial(self, key: TrialKey, trial: Any, score: Array, *_: Any) -> None:
        """Keep what a complete trial predicts."""
        self.put(RowScores(key=key, score=score, value=trial.score, equal_costs=not trial.t, power=trial.t))

    @property
    def kinds(self) -> tuple[str, ...]:
        """How scores can decide: the first one stays unless another gains the margin."""
        return ("plain", "sigmoid", "swept") if self.likely else ("sigmoid",)

    def unweighted(self, score: Array, power: float) -> Array:
        """Log-odds, or margins, of what a training with weights gave."""
        return unweighted(score, self.shift, power)

    def tuned(self, score: Array, kind: str, counts: Array) -> Tuned:
        """What decides, tuned on entries of samples that are there so often."""
        # Rows tell nothing of odds beyond their number; those of trees, 0 or infinite, would flatten the sigmoid.
        farthest = float(np.log(counts.sum())) if self.likely else FARTHEST
        return tune(kind, score, self.truth, self.table, self.weights_in(counts), farthest)

    def decisions(self, score: Array, kind: str) -> BoolArray:
        """Decisions about the entries, see `beyond`."""
        return Tuned().decide(self.beyond(score, kind), self.shift)

    def beyond(self, score: Array, kind: str) -> Array:
        """Log-odds of the entries beyond the threshold, each by what was tuned on the entries of other samples."""
        if kind == "plain":
            return score
        found, part_of = np.zeros(self.truth.size), np.zeros(self.n_samples, dtype=np.int64)
        near = np.clip(score, -FARTHEST, FARTHEST)
        parts = dealt(self.truth.astype(np.int64), self.samples, near, np.flatnonzero(self.copies > 0))
        # Halves of many samples say as much.
        parts = parts if self.n_samples <= LARGE else parts % 2
        part_of[self.samples] = parts
        for part in range(parts.max() + 1):
            inside, rule = parts == part, self.tuned(score, kind, np.where(part_of == part, 0, self.copies))
            # Infinite ones of both have no difference.
            found[inside] = np.clip(rule.log_odds(score[inside]), -FARTHEST, FARTHEST) - rule.threshold
        return found

    def _of_samples(self, values: Array) -> Array:
        """Sums over the entries of one copy of each sample."""
        weight = values if self.importance is None else values * self.importance
        return np.bincount(self.samples, weight, minlength=self.n_samples)

    def paid(self, decided: BoolArray) -> Array:
        """What decisions about the entries cost, in one copy of each sample."""
        return self._of_samples(np.where(decided, self.answers[1], self.answers[0]))

    def costs_at(self, score: Array, thresholds: Array, counts: Array) -> Array:
        """Mean cost of a row at each of ascending thresholds, on samples that are there so often."""
        weight = self.answers[1] - self.answers[0]
        weight = weight if self.importance is None else weight * self.importance
        place = np.searchsorted(thresholds, score, side="right"), self.samples
        moves = sparse.csr_array((weight, place), shape=(thresholds.size + 1, self.n_samples)) @ counts
        return (self.fixed[0] @ counts + moves[::-1].cumsum(axis=0)[::-1][1:]) / (self.fixed[2] @ counts)

    def value(self, paid: Array, counts: Array) -> Any:
        """Value of decisions on samples that are there so often; of a column for each draw, an array."""
        return self.costs.value(paid @ counts, *(self.fixed @ counts))


def reach(errors: Array, gap: float) -> Array:
    """Errors whose interval holds the value on all held-out rows, so far from the corrected one.

    Where a row is most of the total and some choices answer it wrongly, no draw of the winner's answers shows that.
    """
    low, high = interval(errors, LEVEL)
    return np.where(errors >= high, np.fmax(errors, gap), np.where(errors <= low, np.fmin(errors, gap), errors))


class RowChoice:
    """Candidates of a store, and what their decisions come to."""

    def __init__(self, store: RowStore) -> None:
        self.store = store
        self._known: dict[RowCandidate, Array] = {}

    def score(self, key: TrialKey) -> Array:
        """Log-odds, or margins, of a trial."""
        return self.store.unweighted(self.store[key].score, self.store[key].power)

    def paid(self, candidate: RowCandidate) -> Array:
        """What a candidate's decisions cost in each sample."""
        if candidate not in self._known:
            key, kind = candidate
            self._known[candidate] = self.store.paid(self.store.decisions(self.score(key), kind))
        return self._known[candidate]

    def _saved(self, over: RowCandidate, candidate: RowCandidate, counts: Array, margin: float) -> float:
        """What a candidate saves over another one; 0 unless that is more than the margin.

        The margin is in standard deviations over bootstrap draws of the samples.
        """
        each = (self.paid(over) - self.paid(candidate)) / self.store.unit
        saved = float(each @ counts)
        return saved if saved > margin * np.sqrt(counts @ each**2) else 0.0

    def choose(self, counts: Array) -> RowCandidate:
        """The training, and then what decides with it, on samples that are there so often."""
        kind, *others = self.store.kinds
        # The base's own setting, trained as it is, comes first, and is the first of equal ones.
        keys = sorted(row.key for row in self.store)
        key = max(keys, key=lambda key: self._saved((keys[0], kind), (key, kind), counts, Margins.ROW_COSTS))
        for other in others:
            if self._saved((key, kind), (key, other), counts, Margins.ROW_RULES[other]):
                kind = other
        return key, kind

    def assess(self, winner: RowCandidate, threshold: float, seed: int, *, trained: bool) -> Assessment:
        """What a winner is worth: the choice made again on two thirds of the rows, judged on the others."""
        store, n_draws, spread = self.store, n_draws_of(self.store.copies), SPREAD if trained else 1.0
        negative, positive, rows = store.fixed @ store.copies
        # As many partitions as the error asks for, in a unit that is as large as the savings there can be.
        unit = 1.0 if store.costs.measure == "savings" else min(negative, positive) / rows
        found, paid = self._left_out(seed, unit), self.paid(winner)
        draws = bootstrap_counts(store.copies, n_draws, seed)
        values = np.concatenate([store.value(paid, counts) for counts in draws])
        largest = store.value(store.paid(store.answers[1] < store.answers[0]), store.copies)
        corrected = unit * found.corrected_score
        return Assessment(
            corrected,
            reach(spread * (values - np.nanmean(values)), store.value(paid, store.copies) - corrected),
            (threshold, threshold),
            (-np.inf, largest),
            random_state=seed,
            spread=spread,
            monte_carlo_error=unit * found.monte_carlo_error,
        )

    def _left_out(self, seed: int, unit: float) -> LeftOut:
        """Sums of what is paid, of both answers and of rows in each left-out part."""
        store, truth = self.store, np.zeros(self.store.n_samples, dtype=bool)
        truth[store.samples] = store.truth

        def judge(counts: Array, first: int) -> Array:
            sums = []
            for held in counts.T.astype(np.int64):
                (key, kind), outside = self.choose(held), store.copies - held
                score = self.score(key)
                paid = store.paid(store.tuned(score, kind, held).decide(score, store.shift))
                sums.append([paid @ outside, *(store.fixed @ outside)])
            return np.array(sums)

        units = Units(truth, None, np.arange(store.n_samples), store.copies)
        return judge_left_out(units, judge, lambda sums: store.costs.value(*sums) / unit, seed)
