"""Results of searches for several labels: those of each label, or that of a threshold that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import IntArray, Label, Params
from csf._common.validation import floats
from csf.data.folds import Task
from csf.evaluate import Candidate, kept, mean_assessment
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.choices import decisions
from csf.evaluate.draws import Units
from csf.evaluate.label_means import EntrySampleDraws, LabelledSamples, SampleDraws
from csf.metrics.averages import Averaged, values_of_tables
from csf.metrics.registry import get_label_metric
from csf.metrics.trials import nothing_worked
from csf.search.problems.binary_result import THRESHOLD, BinaryResult
from csf.search.problems.results import SearchRecord, held_out_units
from csf.search.selection import N_DRAWS, averaged_cut
from csf.search.supports import LABELS, SHARED_THRESHOLD, Supports
from csf.thresholding.alerts import (
    AlertLimit,
    ComparedRows,
    WrongAlerts,
)
from csf.thresholding.batch import places_limited, shares_limited
from csf.thresholding.capacity import LabelReviews, NamedCapacities
from csf.thresholding.curve import ValuedCurve, sweep
from csf.thresholding.evaluation import Evaluation
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.label_answers import (
    LabelAnswers,
    LabelCandidates,
    LabelTerms,
    SampleMeanCandidates,
    SampleMeanTerms,
)
from csf.thresholding.label_rule import MultilabelRule, with_means

if TYPE_CHECKING:
    from csf._common.typing import Array, Estimator
    from csf.evaluate import Assessment, ScoreRow, ScoreStore
    from csf.metrics import Review
    from csf.thresholding.capacity import Reviewed


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelsResult(BinaryResult):
    """Result of a search for several labels that share a threshold."""

    # Columns of the target in the order of held-out entries, see `csf.data.labels.LabelMatrix`.
    order: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def kind(self) -> str:
        """``"shared_threshold"``."""
        return "shared_threshold"

    @property
    def supports(self) -> Supports:
        """What labels that share a threshold refuse."""
        return SHARED_THRESHOLD

    @property
    def n_together(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride] (that of these labels)
        """Number of labels: pairs of a row belong together."""
        return self.order.size

    def scored_samples(self, rule: Any, held_back: Task) -> ScoredSamples:
        """Score pairs of a sample that was held back and a label."""
        rows = np.arange(held_back.n_samples) if held_back.groups is None else held_back.groups
        weight = None if held_back.weight is None else np.repeat(held_back.weight, self.n_together)
        score, groups = rule.score_samples(held_back.X).ravel(), np.repeat(rows, self.n_together)
        return ScoredSamples(held_back.codes.ravel() > 0, score, weight, None, groups)

    def by_label(self, entries: Array) -> Array:
        """Arrange values of held-out entries: a row for each sample, and a column for each label of the target."""
        return entries.reshape(-1, self.order.size)[:, np.argsort(self.order)]

    @staticmethod
    def read_metric(metric: Any) -> Averaged:
        """Read a metric of several labels."""
        return get_label_metric(metric)

    def reviews(self, review: Review, names: Sequence[Label]) -> LabelReviews:
        """Tune the bands that all labels share."""
        return LabelReviews((super().reviews(review, names),))

    def reviewed(self, bands: LabelReviews, assessment: Assessment) -> Reviewed:
        """Assess three answers to pairs of a sample and a label."""
        return super().reviewed(bands.bands[0], assessment)

    def held_out_rows(self) -> ComparedRows:
        """Collect the held-out rows with a column for each label."""
        store, score = self.compared_scores
        score, truth, samples = (self.by_label(values) for values in (score, store.truth, store.samples))
        weight = None if store.importance is None else self.by_label(store.importance)[:, 0]
        folds = None if store.folds is None else self.by_label(store.folds)[:, 0]
        return ComparedRows(score, truth, Units(truth[:, 0], weight, samples[:, 0], store.copies, folds))

    def scored_rows(self, rule: MultilabelRule, task: Task) -> ComparedRows:
        """Score samples, with a column for each label."""
        return ComparedRows(kept(rule.score_samples(task.X)), task.codes, held_out_units(task))

    def with_training(self, rule: MultilabelRule, some: Task) -> Self:
        """Keep some of the training samples, for limits on wrong alerts."""
        return replace(self, trained=self.scored_rows(rule, some)) if self.has_scores else self

    def alerts_among(self, known: ComparedRows, label: int, bands: Any = None) -> WrongAlerts:
        """Collect the scores of rows without a label."""
        return known.alerts(known.rows[:, label], label)

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read limits on wrong alerts by label."""
        return limits_by_label(wrong_at_most, names, self.wrong_alerts)

    def capacity_limits(self, at_most: object, names: list[Label]) -> dict[int, float]:
        """Read shares of the samples that get some labels, by the places of these."""
        return shares_limited(at_most, names, "label")

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the answers by the winner's score, within limits by label or with reviews."""
        if review is not None:
            return super().evaluation(seed, review)
        known, store = self.held_out_answers, self._judged_store
        labels = np.tile(self.order, store.is_pos.size // self.order.size)
        answers = LabelAnswers(known.rank, known.least, known.truth, known.costs, labels)
        candidates = LabelCandidates(self._entry_resampling(seed), known.costs, labels)
        of_tables = partial(values_of_tables, self.metric)
        terms, part_terms = (
            LabelTerms(entries, labels, of_tables, unit=self.metric.unit) for entries in (store, candidates.units)
        )
        return Evaluation(answers, terms, candidates, part_terms, seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleMeansResult(LabelsResult):
    """Result of a search of the mean over rows."""

    n_labels: int
    aim: Averaged

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the answers by the winner's score, within limits by label."""
        known, store = self.held_out_answers, self._judged_store
        labels = np.tile(self.order, store.is_pos.size // self.order.size)
        answers = LabelAnswers(known.rank, known.least, known.truth, known.costs, labels)
        draws = EntrySampleDraws(store, self.n_labels, self.aim, n_draws_of(store.copies), seed)
        candidates = SampleMeanCandidates(draws, known.costs, labels)
        terms, part_terms = (SampleMeanTerms(entries, labels, self.aim) for entries in (store, draws.units))
        return Evaluation(answers, terms, candidates, part_terms, seed)

    def curve(self) -> ValuedCurve:
        """Return all thresholds on the winner's held-out scores, with the mean over samples at each."""
        pairs, row, store = super().curve(), self.row, self._judged_store
        assert row.score is not None, "a curve was made of it"
        return with_means(pairs, store.is_pos, row.score, store.weight, n_labels=self.n_labels, aim=self.aim)

    def _assessed(self, seed: int) -> Assessment:
        assert self.store is not None, "asked for where there is one"
        return SampleDraws(self.store, self.n_labels, self.aim, n_draws_of(self.store.copies), seed).assess(self.key)


def conclude_sample_means(
    searched: SearchRecord, *, n_labels: int, aim: Averaged, margin: float | None
) -> SampleMeansResult:
    """Conclude trials that were judged on all pairs of a row and a label, now by the mean over rows."""
    store: ScoreStore = searched.store
    if not len(store):
        raise nothing_worked(searched.trials)
    truth = LabelledSamples(store.is_pos, n_labels, aim)
    for row in list(store):
        store.put(_judged(row, store, truth))
    won = min(store, key=lambda row: row.rank) if margin is None else _stable(store, truth)
    for study in searched.studies:
        study.trials = [
            replace(trial, threshold=store[key].threshold, score=store[key].value) if key in store else trial
            for trial in study.trials
            for key in [(trial.setting, trial.number)]
        ]
    store.put(won)
    return SampleMeansResult(
        **searched.shared,
        candidate=Candidate(won.key, THRESHOLD),
        threshold=won.threshold,
        score=won.value,
        n_labels=n_labels,
        aim=aim,
    )


def _judged(row: ScoreRow, store: ScoreStore, truth: LabelledSamples) -> ScoreRow:
    """Return the row with the threshold that is best for the mean over rows."""
    if row.score is None:
        return replace(row, value=_value(decisions(row), store, truth))
    threshold, value = truth.best_cut(row.score, store.weight)
    return replace(row, threshold=threshold, value=value)


def _value(answers: Array, store: ScoreStore, truth: LabelledSamples) -> float:
    weight = None if store.weight is None else store.weight[:: truth.n_labels]
    return float(np.average(truth.values(answers), weights=weight))


def _stable(store: ScoreStore, truth: LabelledSamples) -> ScoreRow:
    """Choose the row with the best mean over draws, at the mean of its best thresholds; see `stable_choice`."""
    draws = SampleDraws(store, truth.n_labels, truth.metric, N_DRAWS, 0)
    values = np.array([values for _, values in draws.retuned])
    best = int(values.mean(axis=1).argmax())
    row = draws.rows[best]
    if row.score is None or row.threshold is None:
        return row
    score = row.score

    def value(cut: float) -> float:
        return _value(score >= cut, store, truth)

    curve = sweep(store.is_pos, score.astype(np.float64), store.weight)
    cut = averaged_cut(curve, row.threshold, draws.thresholds(best), value, float(values[best].std()))
    return replace(row, threshold=cut, value=value(cut))


@dataclass(frozen=True, eq=False)
class MeanResult:
    """Result of searches of one label each, for the mean over labels."""

    kind: ClassVar[str] = "multilabel"
    supports: ClassVar[Supports] = LABELS
    follows_shares: ClassVar[bool] = True
    read_metric = staticmethod(get_label_metric)

    searches: list[Estimator]

    @property
    def _thresholds(self) -> Array:
        return np.array([search.best_threshold_ for search in self.searches], dtype=float)

    @property
    def rule(self) -> MultilabelRule | None:
        """Rule of the winners; ``None`` where nothing was trained on all samples."""
        if not self.searches[0].refit:
            return None
        return MultilabelRule(tuple(search._rule for search in self.searches), self._thresholds)

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        trials = [trial for search in self.searches for trial in search.trials_]
        scores = np.array([search.best_score_ for search in self.searches])
        return {
            "searches_": self.searches,
            "best_scores_": scores,
            "feasible_": all(search.feasible_ for search in self.searches),
            "constraint_value_": [search.constraint_value_ for search in self.searches],
            "best_score_": float(scores.mean()),
            "upper_bound_": float(np.mean([search.upper_bound_ for search in self.searches])),
            "gap_": float(np.mean([search.gap_ for search in self.searches])),
            "best_params_": [search.best_params_ for search in self.searches],
            "trials_": trials,
            "n_trials_": len(trials),
            "n_splits_": self.searches[0].n_splits_,
            "best_t_": np.array([np.nan if search.best_t_ is None else search.best_t_ for search in self.searches]),
            "best_cost_weights_": [search.best_cost_weights_ for search in self.searches],
            "best_threshold_": self._thresholds,
        } | self._tests

    @property
    def _tests(self) -> Params:
        """Tests of the constraints on all labels, where there are some."""
        tests = [getattr(search, "guarantee_", None) for search in self.searches]
        return {} if all(test is None for test in tests) else {"guarantee_": tests}

    def reviews(self, review: Review, names: Sequence[Label]) -> LabelReviews:
        """Collect the bands of all labels."""
        return LabelReviews(tuple(search.review_bands() for search in self.searches))

    def reviewed(self, bands: LabelReviews, assessment: Assessment) -> list[Reviewed]:
        """Assess three answers to each label."""
        return [search.review_ for search in self.searches]

    def capacity(self, at_most: object, names: list[Label], assess: Callable[[], Assessment]) -> NamedCapacities:
        """Assess limits on the shares of rows with some labels; the interval takes all errors to go together."""
        limits = places_limited(at_most, names, "label")
        limited = {label: self.searches[label].at_capacity(share) for label, share in limits.items()}
        values = [
            limited[label].value if label in limited else search.corrected_score_
            for label, search in enumerate(self.searches)
        ]
        ends = [
            limited[label].interval if label in limited else search.score_interval_
            for label, search in enumerate(self.searches)
        ]
        low, high = np.mean(ends, axis=0).tolist()
        return NamedCapacities.of(
            float(np.mean(values)), (low, high), {names[label]: limited[label] for label in limited}
        )

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read limits on wrong alerts by label."""
        return limits_by_label(wrong_at_most, names, lambda label: self.searches[label].result_.wrong_alerts(1))

    def assess(self) -> Assessment:
        """Assess the mean over labels."""
        return mean_assessment([search.assess() for search in self.searches])

    def at_shares(self, shares: ArrayLike, rule: MultilabelRule | None) -> tuple[MeanResult, MultilabelRule | None]:
        """Adapt the outcome and the rule to other shares of each label."""
        new, n_labels = floats(shares, "pos"), len(self.searches)
        if new.shape != (n_labels,):
            raise ValueError(
                f"y has several labels a sample: pos must be the share of samples with each of {n_labels} labels, an "
                f"array or a dict by label_names_, got {shares!r}"
            )
        result = MeanResult([search.at_prevalence(share) for search, share in zip(self.searches, new.tolist())])
        new_rule = result.rule
        return result, None if rule is None or new_rule is None else replace(new_rule, names=rule.names)


def limits_by_label(
    wrong_at_most: object, names: list[Label], wrong_alerts: Callable[[int], WrongAlerts]
) -> dict[int, AlertLimit]:
    """Read limits on wrong alerts by label; ``wrong_alerts`` collects the scores of rows without one."""
    shares = shares_limited(wrong_at_most, names, "label", "wrong_at_most", example=0.2)
    return {label: AlertLimit(wrong_alerts(label), share) for label, share in shares.items()}
