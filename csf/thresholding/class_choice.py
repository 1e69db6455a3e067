"""Which training and which decision win among several classes, and what they are worth on new data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf.resampling import Assessment, TrialKey
from csf.resampling.assessment import SPREAD
from csf.resampling.draws import LeftOut, bootstrap_counts, judge_left_out
from csf.resampling.resampling import LARGE, N_DRAWS, N_DRAWS_OF_MANY
from csf.thresholding.linear_rule import confusion_of, tune_rule

if TYPE_CHECKING:
    from csf._common.typing import Array, IntArray
    from csf.metrics.confusion import ConfusionMetric
    from csf.thresholding.class_store import ClassStore

__all__ = ["Candidate", "ClassQuestion", "choose_class"]

# Draws that say how much of a gain is luck.
_DRAWS = 40
# Standard deviations over draws by which a candidate has to gain over the base's own decision with equal weights: other
# class weights change the model, and not its decisions alone.
_MARGIN, _MARGIN_OF_WEIGHTS = 0.5, 2.0
# Two thirds of the samples choose, the others judge: what two thirds say has so much larger an error.
_LARGER_ERROR = np.sqrt(3.0 / 2.0)


class Candidate(NamedTuple):
    """A trial with the base's own decision, or with a tuned rule."""

    key: TrialKey
    ruled: bool


@dataclass(frozen=True, eq=False)
class _Choice:
    """Candidates of a store, and their decisions about the entries of its units."""

    store: ClassStore
    metric: ConfusionMetric
    # What is taken whatever it is worth.
    only: Candidate | None = None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Own decisions first, and smaller powers of the shares first: of equals the first one wins."""
        if self.only is not None:
            return [self.only]
        own = [Candidate(row.key, False) for row in self.store]
        return own + [Candidate(row.key, True) for row in self.store if row.judged is not None]

    @cached_property
    def _decided(self) -> list[IntArray]:
        _, at = self.store.drawn
        rows = [(self.store[each.key], each.ruled) for each in self.candidates]
        return [(row.judged if ruled else row.decided)[at] for row, ruled in rows]  # pyright: ignore[reportOptionalSubscript]

    def _weight(self, counts: Array) -> Array:
        """Weight of the entries of units that are there so often."""
        units, _ = self.store.drawn
        weight = counts[units.samples].astype(float)
        return weight if units.weight is None else weight * units.weight

    def _values(self, weight: Array) -> Array:
        """Values of all candidates."""
        units, _ = self.store.drawn
        n_classes = self.store.n_classes
        return self.metric.value(
            np.stack([confusion_of(units.truth, codes, n_classes, weight) for codes in self._decided])
        )

    @cached_property
    def values(self) -> Array:
        """Values of all candidates on all samples."""
        return self._values(self._weight(self.store.drawn[0].copies))

    @cached_property
    def errors(self) -> Array:
        """Standard deviation of the gain of each candidate over the default, over bootstrap draws of samples."""
        blocks = bootstrap_counts(self.store.drawn[0].copies, _DRAWS, 0)
        values = np.stack([self._values(self._weight(counts)) for block in blocks for counts in block.T])
        return (values - values[:, [self.default(self.values)]]).std(axis=0)

    def default(self, values: Array) -> int:
        """The best of the base's own decisions with equal class weights."""
        plain = [not each.ruled and self.store[each.key].neutral for each in self.candidates]
        # A search whose trainings with equal weights failed has others only.
        return int(np.argmax(np.where(plain, values, -np.inf))) if any(plain) else int(np.argmax(values))

    def best(self, values: Array, errors: Array) -> int:
        """Place of the winner: the default, unless others gain enough over it."""
        default = self.default(values)
        weighted = np.array([not self.store[each.key].neutral for each in self.candidates])
        margin = np.where(weighted, _MARGIN_OF_WEIGHTS, _MARGIN)
        passes = values - values[default] > margin * errors
        return int(np.argmax(np.where(passes, values, -np.inf))) if passes.any() else default

    @property
    def winner(self) -> Candidate:
        """Who wins on all samples."""
        return self.candidates[self.best(self.values, self.errors)]

    def left_out(self, seed: int) -> LeftOut:
        """Winners that are chosen, and rules that are tuned, on two thirds of the samples, judged on the others."""
        units, n_classes = self.store.drawn[0], self.store.n_classes
        # Calibration takes its time, and the same few trials win again and again.
        proba_of = cache(self._proba)

        def judge(counts: Array, first: int) -> Array:
            sums = np.empty((counts.shape[1], n_classes, n_classes))
            for at, held in enumerate(counts.T.astype(np.int64)):
                inside, outside = self._weight(held), self._weight(units.copies - held)
                place = self.best(self._values(inside), _LARGER_ERROR * self.errors)
                decided = self._decided[place]
                if self.candidates[place].ruled:
                    proba = proba_of(self.candidates[place].key)
                    decided = tune_rule(proba, units.truth, self.metric, weight=inside).decide(proba)
                sums[at] = outside.sum() * confusion_of(units.truth, decided, n_classes, outside)
            return sums

        return judge_left_out(units, judge, lambda sums: float(self.metric.value(sums / sums.sum())), seed)

    def _proba(self, key: TrialKey) -> Array:
        row, (_, at) = self.store[key], self.store.drawn
        assert row.score is not None, "rules are tuned on scores"
        return self.store.probabilities(row.score, row.costs)[at]

    def value_errors(self, candidate: Candidate, seed: int) -> Array:
        """Bootstrap errors of the value of a candidate's decisions, see `csf.resampling.outcomes.Judged.errors`."""
        units, _ = self.store.drawn
        n_classes, codes = self.store.n_classes, self._decided[self.candidates.index(candidate)]
        n_draws = N_DRAWS if units.copies.sum() <= LARGE else N_DRAWS_OF_MANY
        typical = self._typical_weights()
        rng, values = np.random.default_rng([seed, 2]), []
        for counts in (counts for block in bootstrap_counts(units.copies, n_draws, seed) for counts in block.T):
            weight = self._weight(counts)
            confusion = weight.sum() * confusion_of(units.truth, codes, n_classes, weight)
            # What was not met yet can be met: a sample of each class, which may be taken for any.
            confusion += rng.gamma(1.0 / n_classes, size=confusion.shape) * typical[:, None]
            values.append(self.metric.value(confusion / confusion.sum()))
        return np.array(values) - np.mean(values)

    def _typical_weights(self) -> Array:
        """Weight of a sample of each class with all its entries, such that as many of them vary as much."""
        units, _ = self.store.drawn
        each = np.bincount(units.samples, weights=units.weight, minlength=units.copies.size)
        kinds, n_classes = units.kinds, self.store.n_classes
        sums, squares = (np.bincount(kinds, units.copies * each**power, n_classes) for power in (1, 2))
        return np.divide(squares, sums, out=np.zeros(n_classes), where=sums > 0.0)


def choose_class(store: ClassStore, metric: ConfusionMetric) -> Candidate:
    """The trial and the decision that win."""
    return _Choice(store, metric).winner


@dataclass(frozen=True, eq=False)
class ClassQuestion:
    """What a winner among several classes is worth."""

    metric: ConfusionMetric
    winner: Candidate
    random_state: int
    # Whether the winner was chosen among the candidates of the store.
    chosen: bool = True

    def answer(self, store: ClassStore) -> Assessment:
        """The assessment."""
        choice = _Choice(store, self.metric, None if self.chosen else self.winner)
        shares = np.bincount(store.truth, store.weight, store.n_classes) / np.sum(
            store.truth.size if store.weight is None else store.weight
        )
        wrong = (1.0 - np.eye(shares.size)) * shares[:, None] / (shares.size - 1)
        ends = float(self.metric.value(wrong)), float(self.metric.value(np.diag(shares)))
        found = choice.left_out(self.random_state)
        return Assessment(
            found.corrected_score,
            SPREAD * choice.value_errors(self.winner, self.random_state),
            (np.nan, np.nan),
            ends,
            random_state=self.random_state,
            monte_carlo_error=found.monte_carlo_error,
        )
