"""Choice of the training and of the decision rule for several classes, from stored held-out scores."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf.evaluate import MAX_BYTES, Candidate, EntryStore, TrialKey, TrialRow
from csf.evaluate.assessment import CandidateChoice
from csf.evaluate.choices import Margins
from csf.evaluate.draws import Units, bootstrap_counts, distinct, grouped
from csf.thresholding.evaluation import GivenAnswers, TableTerms
from csf.thresholding.linear_rule import confusion_of, fit_class_calibrator, tune_rule, without_weights

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.trials import Trial
    from csf.thresholding.linear_rule import ClassCalibrator

# ---------------------------------------------------------------- held-out scores of all classes


# Parts in which rules are tuned on the others and judged.
_DEALT_PARTS = 5
# Where fewer samples than this share differ in their scores, as with a small tree, equal scores mean no copies.
_FEW_CONTENTS = 0.25


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassRow(TrialRow):
    """Predictions of one trial of several classes; see `csf.evaluate.TrialRow` for the other parameters.

    Scores have a column for each class, see `csf.evaluate.stores.kept`; ``None`` where no rule is tuned.

    Parameters
    ----------
    judged : ndarray of int, shape (n_entries,), default=None
        Codes by rules that were tuned on other samples.
    costs : tuple of float
        Class weights of the training.
    tuned : ndarray of shape (n_classes, n_classes), default=None
        Confusion matrix of the rule that is tuned on all entries.
    """

    decided: IntArray
    judged: IntArray | None
    costs: Costs
    tuned: Array | None = None

    @property
    def arrays(self) -> tuple[Array | None, ...]:
        """Arrays that the trial does not contain."""
        return self.score, self.decided, self.judged


class MulticlassStore(EntryStore[ClassRow]):
    """Pooled held-out scores of all classes, of the trials of one search.

    ``truth`` are codes; with ``margins`` scores are decisions, which calibration turns into probabilities.
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

    def add_trial(
        self,
        key: TrialKey,
        trial: Trial,
        score: Array | None,
        decided: IntArray,
        judged: IntArray | None = None,
        *_: object,
    ) -> None:
        """Store the predictions of a complete trial; scores have the precision in which they are kept."""
        assert trial.score is not None, "a complete trial has a score"
        small = np.min_scalar_type(self.n_classes - 1)
        self.put(
            ClassRow(
                key=key,
                score=score,
                decided=decided.astype(small, copy=False),
                judged=None if judged is None else judged.astype(small, copy=False),
                costs=trial.costs,
                tuned=None if trial.tuned is None else np.array(trial.tuned),
                value=trial.score,
                violation=trial.violation,
                equal_costs=len(set(trial.costs)) == 1,
            )
        )

    def probabilities(self, score: Array, costs: Costs) -> Array:
        """Compute the probabilities that rules read: without class weights, calibrated where scores are margins."""
        score, calibrator = score.astype(np.float64), self.calibrator(score)
        return without_weights(score if calibrator is None else calibrator.predict(score), self.class_weights(costs))

    def class_weights(self, costs: Costs) -> Array:
        """Return the class weights to remove from a training's probabilities; calibrated ones contain none."""
        return (np.ones(self.n_classes) if self.margins else np.asarray(costs)) / self.odds

    def calibrator(self, score: Array) -> ClassCalibrator | None:
        """Fit the calibrator of a trial's scores; return ``None`` where they are probabilities."""
        return fit_class_calibrator(score, self.truth, self._weight_there) if self.margins else None

    def parts(self, score: Array) -> IntArray:
        """Assign each entry to one of five stratified parts; all entries of a sample are in the same one.

        Samples are dealt in an order that their values decide, and those with equal values together: a row of weight 2
        and two such rows are in one part.
        """
        content = np.bincount(self.samples, weights=self.content(score))
        kind = np.zeros(self.n_samples, dtype=self.truth.dtype)
        kind[self.samples] = self.truth
        return dealt([kind, content], np.minimum(self.copies, 1)).argmax(axis=1)[self.samples]

    def content(self, score: Array) -> Array:
        """Compute a number for each entry from its scores alone."""
        return _mixed(score.astype(np.float32).T)

    def at_shares(self, shares: Array) -> MulticlassStore:
        """Return the same entries under other class shares, with weights and odds in proportion."""
        weight = np.ones(self.truth.size) if self._weight_there is None else self._weight_there
        there = np.bincount(self.truth, weight, self.n_classes)
        adapted = copy.copy(self)
        vars(adapted).pop("drawn", None)
        adapted.odds = shares / (there / there.sum())
        adapted.weight = weight * adapted.odds[self.truth]
        return adapted

    @cached_property
    def drawn(self) -> tuple[Units, IntArray]:
        """Units to draw and their entries; samples with equal predictions in all trials form one unit."""
        predicted = [self.content(row.score) if row.score is not None else row.decided for row in self]
        return grouped(self, [_mixed(predicted)])

    def with_decisions(self, key: TrialKey, decided: IntArray) -> MulticlassStore:
        """Return the same entries with one trial, decided otherwise."""
        other = self.only(key)
        other.put(replace(self[key], decided=decided.astype(self[key].decided.dtype), judged=None))
        return other

    def confusion(self, decided: IntArray) -> Array:
        """Compute the confusion matrix of decisions about the entries."""
        return confusion_of(self.truth, decided, self.n_classes, self.weight)

    def put(self, row: ClassRow) -> None:
        """Store a row as it is."""
        vars(self).pop("drawn", None)
        super().put(row)


def _mixed(columns: Sequence[Array] | Array) -> Array:
    """Combine columns into one number an entry: different entries differ almost surely, close ones are close."""
    # Machines differ in the last digits of scores: that must not deal all samples anew, as a hash would.
    mixed = np.zeros(len(columns[0]))
    for column, factor in zip(columns, np.random.default_rng(0).uniform(0.5, 1.5, len(columns))):
        mixed += factor * column
    return mixed


def dealt(columns: Sequence[Array], copies: IntArray) -> IntArray:
    """Count the copies of each sample in each of five parts, (n_samples, 5), dealt in the order of some columns.

    Copies of samples with equal columns are together, unless most samples are like others.
    """
    order, starts = distinct(columns, np.flatnonzero(copies > 0))
    of_copies = np.repeat(order, copies[order])
    place = np.arange(of_copies.size)
    if starts.size >= _FEW_CONTENTS * of_copies.size:
        first = np.concatenate([[0], np.cumsum(copies[order])])[starts]
        place = np.searchsorted(first, place, side="right") - 1
    part = of_copies * _DEALT_PARTS + place % _DEALT_PARTS
    return np.bincount(part, minlength=copies.size * _DEALT_PARTS).reshape(-1, _DEALT_PARTS)


# ---------------------------------------------------------------- the choice


# Draws that say how much of a gain is chance.
_DRAWS = 40
# Rules of several classes: the largest score as the base gives it, and a tuned rule of its probabilities.
ARGMAX, TUNED = "argmax", "tuned"


class MulticlassChoice(CandidateChoice):
    """Candidates of a store, and their decisions about the entries of its units; ``only`` one, or all of them."""

    def __init__(
        self, store: MulticlassStore, metric: ConfusionMetric, *, only: Candidate | None = None, random_state: int = 0
    ) -> None:
        self.store, self.metric, self.only, self.random_state = store, metric, only, random_state
        self.unit = metric.unit
        # Calibration takes its time, and the same few trials win again and again.
        self.probabilities = cache(self._probabilities)

    @property
    def units(self) -> Units:
        """Units that are drawn."""
        return self.store.drawn[0]

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Candidates, the base's own decisions first; of equal ones the first wins."""
        if self.only is not None:
            return [self.only]
        plain = [Candidate(row.key, ARGMAX) for row in self.store]
        return plain + [Candidate(row.key, TUNED) for row in self.store if row.judged is not None]

    @cached_property
    def _decided(self) -> list[IntArray]:
        _, entries = self.store.drawn
        rows = [(self.store[key], rule) for key, rule in self.candidates]
        return [(row.judged if rule == TUNED else row.decided)[entries] for row, rule in rows]  # pyright: ignore[reportOptionalSubscript]

    def _confusion(self, codes: IntArray, weight: Array) -> Array:
        """Compute the confusion matrix of decisions about the entries, which sums to 1."""
        return confusion_of(self.units.truth, codes, self.store.n_classes, weight)

    def _values(self, counts: Array) -> Array:
        """Compute the values of all candidates on samples with these counts."""
        weight = self.units.weights_in(counts)
        return self.metric.value(np.stack([self._confusion(codes, weight) for codes in self._decided]))

    def _missing(self, counts: Array) -> Array:
        """Compute by how much candidates miss the constraints; tuned rules do so on all samples that they are for."""
        weight = self.units.weights_in(counts)
        matrices = []
        for (key, rule), codes in zip(self.candidates, self._decided):
            tuned = self.store[key].tuned if rule == TUNED else None
            matrices.append(self._confusion(codes, weight) if tuned is None else tuned)
        return np.asarray(self.metric.missing(np.stack(matrices)))

    @cached_property
    def gain_errors(self) -> Array:
        """Standard deviation of the gain of each candidate over the default, over bootstrap draws of samples."""
        blocks = bootstrap_counts(self.units.copies, _DRAWS, 0)
        values = np.stack([self._values(counts) for block in blocks for counts in block.T])
        copies = self.units.copies
        default = self._default(self._values(copies), self._allowed(copies))
        return (values - values[:, [default]]).std(axis=0)

    def _allowed(self, counts: Array) -> BoolArray:
        """Mark the candidates that keep the constraints on samples with these counts, or miss least."""
        missing = self._missing(counts)
        return missing <= missing.min()

    @cached_property
    def _equal(self) -> BoolArray:
        """Mark the candidates that are trained with equal class weights."""
        return np.array([self.store[key].equal_costs for key, _ in self.candidates])

    def _default(self, values: Array, allowed: BoolArray) -> int:
        """Return the place of the best of the base's own decisions with equal class weights, if one is allowed."""
        plain = np.array([rule == ARGMAX for _, rule in self.candidates])
        # A search whose trainings with equal weights failed has others only.
        for among in (plain & self._equal & allowed, self._equal & allowed, allowed):
            if among.any():
                break
        return int(np.argmax(np.where(among, values, -np.inf)))

    def choose(self, counts: Array) -> Candidate:
        """Choose the default on samples with these counts, unless another candidate gains enough over it."""
        values, allowed = self._values(counts), self._allowed(counts)
        default = self._default(values, allowed)
        margin = np.where(self._equal, Margins.RULE, Margins.CLASS_WEIGHTS)
        # What a part of the samples says has a larger error.
        error = np.sqrt(self.units.copies.sum() / counts.sum()) * self.gain_errors
        passes = allowed & (values - values[default] > margin * error)
        return self.candidates[int(np.argmax(np.where(passes, values, -np.inf))) if passes.any() else default]

    @property
    def winner(self) -> Candidate:
        """Candidate that wins on all samples."""
        return self.choose(self.units.copies)

    def outside(self, candidate: Candidate, counts: Array) -> Array:
        """Tune a candidate's rule on samples with these counts; return the confusion matrix of all others."""
        units = self.units
        inside, outside = units.weights_in(counts), units.weights_in(units.copies - counts)
        decided = self._decided[self.candidates.index(candidate)]
        if candidate.rule == TUNED:
            proba = self.probabilities(candidate.key)
            decided = tune_rule(proba, units.truth, self.metric, weight=inside).decide(proba)
        return outside.sum() * self._confusion(decided, outside)

    def value(self, sums: Array) -> float:
        """Compute the metric from sums of weights by true class and answer."""
        return float(self.metric.value(sums / sums.sum()))

    def _probabilities(self, key: TrialKey) -> Array:
        row, (_, entries) = self.store[key], self.store.drawn
        assert row.score is not None, "rules are tuned on scores"
        return self.store.probabilities(row.score, row.costs)[entries]

    def errors(self, winner: Candidate) -> Array:
        """Draw bootstrap errors of the value of a candidate, see `csf.evaluate.choices.JudgedDecisions`."""
        codes = self._decided[self.candidates.index(winner)].astype(np.int64)
        return self.terms().drawn(GivenAnswers.whole(codes), self.random_state).errors

    def terms(self, error: float = 0.0) -> TableTerms:
        """Return what answers to the entries of the units add up to; reviews end in an ``error`` so often."""

        def of_tables(tables: Array) -> Array:
            return np.asarray(self.metric.value(tables))

        return TableTerms(self.units, self.store.n_classes, of_tables, unit=self.unit, error=error)

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """Value of the worst and of the best decisions."""
        totals = np.bincount(self.store.truth, self.store.weight, self.store.n_classes)
        shares = totals / totals.sum()
        wrong = (1.0 - np.eye(shares.size)) * shares[:, None] / (shares.size - 1)
        return float(self.metric.value(wrong)), float(self.metric.value(np.diag(shares)))
