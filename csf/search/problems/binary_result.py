"""Result of a search of two classes, or of several beside a null class: what its scores and decision say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, IntArray, Keywords, Label, Params
from csf.data.responses import lost_samples
from csf.evaluate import Candidate, Chooser, Resampling, ScoreStore, kept
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.choices import BEST, decisions
from csf.evaluate.entry_means import class_shares, select
from csf.evaluate.resampling import EntryResampling, FixedEntries
from csf.metrics.averages import values_of_tables
from csf.metrics.binary import Recall
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import truth_of
from csf.metrics.trials import Trial, gap
from csf.search.certification import with_tested_threshold
from csf.search.margin import bound_with_margin
from csf.search.problems.decisions import ScoreDecision, curve_of
from csf.search.problems.prevalence import fields_at_share
from csf.search.problems.results import (
    SearchRecord,
    column,
    held_out_units,
    trial_table,
    warn_of_open_gap,
    warn_of_violation,
)
from csf.search.problems.two_classes import TwoClassResult
from csf.search.selection import choose, stable_choice
from csf.search.supports import NO_CLASS_GAPS, Supports
from csf.thresholding.alerts import ComparedRows, no_scores
from csf.thresholding.band import ConfidenceBand
from csf.thresholding.batch import limit_of_others
from csf.thresholding.capacity import (
    LOST,
    NullClassCandidates,
    ScoreAnswers,
    ScoreCandidates,
    bands_of_score,
    merged_lost,
)
from csf.thresholding.certificates import STRICTER
from csf.thresholding.curve import ThresholdCurve, sweep_several
from csf.thresholding.evaluation import Evaluation, TableTerms
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.exchange import ScoredEntries
from csf.thresholding.linear_rule import fit_calibrator
from csf.thresholding.null_class import ClassGapAnswers, LimitedClasses, LimitedClassTerms, class_limits
from csf.thresholding.prevalence import KnownSamples
from csf.thresholding.row_thresholds import BY
from csf.thresholding.rule import AllowedAnswers, ThresholdRule

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.evaluate import Assessment, ScoreRow, TrialKey
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint, Review
    from csf.search.problems.segments import SegmentConstraint
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.capacity import Capacity, NamedCapacities, ReviewBands
    from csf.thresholding.certificates import Guarantee

# Name of the decision rule of a trial by its threshold.
THRESHOLD = "threshold"


@dataclass(frozen=True, eq=False, kw_only=True)
class BinaryResult(TwoClassResult):
    """Result of a search of costs and a threshold, or thresholds by segment for scores beyond which 0 is one."""

    store: ScoreStore | None
    threshold: float | None
    decision: ScoreDecision = field(default_factory=ScoreDecision)
    # Decisions on the held-out samples that took the place of the winner's own.
    decided: BoolArray | None = None
    constraint_value: float | None = None
    bound_margin: float = np.nan
    # Place of the trial that would be best at another share of positives, and its score there.
    moved_best: tuple[int, float] | None = None
    # How the winner was chosen.
    chooser: Chooser = BEST
    # Labels by code, of several classes beside a null class.
    classes: Sequence[Label] = ()

    @property
    def kind(self) -> str:
        """``"binary"``, or ``"segments"`` or ``"row_thresholds"`` where rows have thresholds of their own."""
        return self.decision.kind

    @property
    def supports(self) -> Supports:  # pyright: ignore[reportIncompatibleVariableOverride] (that of the decision)
        """What the decision refuses."""
        return self.decision.supports

    @property
    def constraint(self) -> Constraint | None:
        """Constraint of the decisions."""
        return self.decision.constraint(super().constraint)

    def in_rule(self, rule: Any) -> Any:
        """Put the threshold, or those by row, into a rule."""
        return self.decision.in_rule(rule, self.threshold)

    def check_limits(self) -> None:
        """Raise a ValueError where a limit on the number of positive predictions would break the constraint."""
        self.decision.check_limits()

    @property
    def row(self) -> ScoreRow:
        """Held-out scores of the winner; those beyond the threshold of each entry where rows have their own."""
        if self.store is None:
            raise ValueError("the held-out scores of this search were not kept")
        return self.decision.beyond(self.store[self.key], self.store)

    def scores_beside(self, segment: Label) -> ScoredEntries | None:
        """Return the held-out entries that a threshold decides; ``None`` where none does."""
        row, store = self.row, self.store
        if store is None or row.score is None or self.threshold is None:
            return None
        counts = self.decision.places(store, segment)
        if counts is None:
            return None
        counts &= np.isfinite(row.score) & (store.weights_in(store.copies) > 0.0)
        return ScoredEntries(select(store, counts), row.score[counts].astype(np.float64), self.threshold)

    # ------------------------------------------------------------ steps of a test, see `with_tested_steps`

    def stricter(self) -> list[Self]:
        """Tune the decision to stricter and stricter levels; the strictest one comes first."""
        return [replace(step, decided=decisions(step.row)) for step in self.decision.steps(self, STRICTER.tolist())]

    @property
    def segmented(self) -> SegmentConstraint | None:
        """Constraint by segments, if there is one."""
        return self.decision.segmented

    @property
    def held_out_decisions(self) -> BoolArray:
        """Decisions about the held-out entries."""
        return decisions(self.row) if self.decided is None else self.decided

    @property
    def limit_cost(self) -> float:
        """What a constraint by segments costs on the held-out entries."""
        return self.decision.limit_cost(self)

    @property
    def by_segment(self) -> Sequence[Params]:
        """What the decision has for each segment, if there are some."""
        return self.decision.by_segment

    @property
    def held_out_segments(self) -> IntArray:
        """Places of the segments of the held-out entries."""
        assert self.store is not None, "thresholds are tuned in memory"
        return self.store.beside[BY]

    def rows_of(self, rule: Any, task: Task) -> tuple[Array, Mapping[str, Array]]:
        """Score samples, and read what their thresholds depend on."""
        return rule.raw(task.X), self.decision.beside(task.X, task.fit_params)

    def decide(self, rows: tuple[Array, Mapping[str, Array]]) -> BoolArray:
        """Decide scored rows."""
        assert self.threshold is not None, "decisions that are tuned have thresholds"
        return self.decision.decide(*rows, self.threshold)

    @cached_property
    def table(self) -> dict[str, Array]:
        """Table of the trials, see `cv_results`."""
        dropped = np.array([self.studies[trial.setting].dropped for trial in self.trials])
        return cv_results(self.trials, self.settings, self.n_splits) | {"dropped": dropped}

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        attributes = super().published() | {
            "best_t_": self.winner.t,
            "best_cost_weights_": self.winner.costs,
            "best_threshold_": self.threshold,
            "constraint_value_": self.constraint_value,
            "bound_margin_": self.bound_margin,
        }
        if self.moved_best is not None:
            attributes["best_index_at_prevalence_"], attributes["score_at_prevalence_"] = self.moved_best
        return attributes | self.decision.published

    @property
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out samples."""
        if self.threshold is not None and self.has_scores:
            return self.curve().at(self.threshold)
        assert self.winner.chosen is not None, "a winner has been judged"
        return self.winner.chosen

    @property
    def scored(self) -> KnownSamples | None:
        """Held-out entries of two classes with their scores; ``None`` where there are none."""
        store, score = self._learnt_store, self.row.score if self.follows_shares else None
        if store is None or score is None or not np.isfinite(score).all():
            return None
        return KnownSamples.of(store, score.astype(np.float64))

    @property
    def learnt_shares(self) -> Array:
        """Shares of the classes, by code and by weight, that the winner was trained with."""
        store = self._learnt_store
        assert store is not None, "asked for with held-out scores"
        return class_shares(store, store.is_pos if store.codes is None else store.codes, max(len(self.classes), 2))

    @property
    def _learnt_store(self) -> ScoreStore | None:
        """Held-out scores with the share of positives of before, where it was moved."""
        return self.store if self.store is None or self.store.unmoved is None else self.store.unmoved

    def at_shares(self, pos: float, rule: ThresholdRule | None) -> tuple[BinaryResult, ThresholdRule | None]:
        """Adapt the result and the rule to another share of positives."""
        result = replace(self, **fields_at_share(self, self.row, pos))
        return result, None if rule is None else result.in_rule(rule)

    def curve(self) -> ThresholdCurve:
        """Return all thresholds on the winner's held-out scores."""
        row, store = self.row, self.store
        assert store is not None, "there is a row of it"
        return curve_of(store, row)

    # Entries that each sample is in one held-out prediction.
    n_together: ClassVar[int] = 1

    def tested(self, rule: DecisionRule, held_back: Task | None, confidence: float) -> Self:
        """Test thresholds, or those by row."""
        return self.decision.tested(self, rule, held_back, confidence)

    def tested_threshold(self, rule: DecisionRule, held_back: Task | None, confidence: float) -> Self:
        """Test thresholds on samples held back, or on all without them."""
        store, score = self.store, self.row.score
        assert store is not None, "searches in memory keep predictions"
        assert score is not None, "a threshold is tuned on scores"
        scored = None if held_back is None else self.scored_samples(rule, held_back)
        given = store.weight if scored is None else scored.weight
        together = store.has_groups if scored is None else scored.groups is not None
        # Entries of a sample with a weight go together too.
        grouped = together or (given is not None and store.repeats > 1.0)
        entries = ScoredSamples(
            store.is_pos,
            score,
            None if given is None else store.weight,
            self.row.lost,
            store.samples if grouped else None,
            store.repeats / self.n_together,
        )
        return with_tested_threshold(self, self.metric, entries, scored, confidence)

    def band(self, confidence: float) -> ConfidenceBand | None:
        """Bound the rates at all thresholds on scores held back or given, of rows that count once each."""
        unseen = self.calibrated is not None or not self.n_splits
        if not unseen or not self.decision.is_single or not self.has_scores or truth_of(self.metric) is not None:
            return None
        known = self.calibrated or self.held_out_rows()
        units, plain = known.units, self.row.lost is None or not self.row.lost.any()
        once = units.copies.size == units.samples.size and not np.ptp(units.weights_in(units.copies))
        once &= known.truth.ndim == 1  # pairs of a sample and a label go together
        return ConfidenceBand(known.truth > 0, known.rows, confidence) if plain and once else None

    def scored_samples(self, rule: Any, held_back: Task) -> ScoredSamples:
        """Score samples that were held back."""
        (named, score), is_pos = rule.scored(held_back.X), held_back.codes > 0
        lost = lost_samples(held_back.user_labels.decode(held_back.codes), named, rule.null)
        return ScoredSamples(is_pos, score, held_back.weight, lost, held_back.groups)

    def at_threshold(self, threshold: float) -> Self:
        """Take another threshold; the corrected score is then that of this one, not of the best one."""
        decided = decisions(replace(self.row, threshold=threshold))
        score = self.metric.of(self.curve().at(threshold))
        return replace(self, threshold=threshold, score=score, decided=decided)

    def tested_by(self, test: Guarantee) -> Self:
        """Keep the test of the decisions, and the constrained rate there."""
        return replace(super().tested_by(test), constraint_value=next(iter(test.rates.values())))

    @property
    def _judged_store(self) -> ScoreStore:
        """Held-out scores of all trials, or the decisions that replace them."""
        store = self.store
        assert store is not None, "asked for where there is one"
        if self.decided is None:
            return store
        decided = ScoreStore(store.is_pos, store.weight, samples=store.samples, copies=store.copies)
        decided.has_groups = store.has_groups
        decided.add(self.key, decided=self.decided, value=self.row.value)
        return decided

    def _resampling(self, seed: int) -> Resampling:
        """Return the choice of the winner and its thresholds, or of the decisions that replace them."""
        store = self._judged_store
        # Decisions that replaced the winner's have nothing to be tuned.
        decision = self.decision if self.decided is None else ScoreDecision()
        return decision.resampling(store, self.metric, **self._draws(seed))

    def _draws(self, seed: int) -> Keywords:
        """Return the options of a choice that is made again on draws."""
        n_draws = n_draws_of(self._judged_store.copies)
        return {"keep": [self.key], "n_draws": n_draws, "random_state": seed, "chooser": self.chooser}

    def _assessed(self, seed: int) -> Assessment:
        store = self._judged_store
        # Without splits nothing was trained: the model is the user's own.
        assessment = self._resampling(seed).assess(self.key, trained=self.n_splits > 0)
        if len(ends := self.metric.extremes) > 1:
            assessment = assessment.over_range(self.metric.of(self.errors), [end.of(self.errors) for end in ends])
        if store.share == 1.0:
            return assessment
        # Counts of all rows say what was attained, and draws of a sample what the choice added to the best value there:
        # at the threshold of all rows the sample may miss the constraint. Chance falls with the root of the rows.
        metric, attained, by_chance = self.metric, self.row.value, store.share**0.5
        if self.threshold is not None:
            attained = metric.of(self.curve().best(metric, metric.constraint).profile)
        return replace(
            assessment,
            corrected_score=self.score - by_chance * (attained - assessment.corrected_score),
            monte_carlo_error=by_chance * assessment.monte_carlo_error,
        )

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the answers by the winner's score, within limits or with reviews."""
        if review is None:
            self.check_limits()
        metric, answers, sampled = self.metric, self.held_out_answers, self._resampling(seed)
        store, error, truth = self._judged_store, 0.0 if review is None else review.error, truth_of(metric)
        recall = None if truth is None else partial(values_of_tables, truth.like(Recall()))
        of_tables, n_answers = partial(values_of_tables, metric), 2
        candidates = ScoreCandidates(sampled, self._error_costs)
        if self.lost is not None:
            candidates = NullClassCandidates(self._entry_resampling(seed), self._answers_by)
            of_tables, n_answers = partial(_values_of_null_class, metric), LOST + 1
        options: Keywords = {"unit": metric.unit, "error": error, "recall": recall, "n_answers": n_answers}
        terms, part_terms = (TableTerms(entries, 2, of_tables, **options) for entries in (store, candidates.units))
        return Evaluation(answers, terms, candidates, part_terms, seed)

    def capacity(
        self, at_most: object, names: list[Label], assess: Callable[[], Assessment]
    ) -> Capacity | NamedCapacities:
        """Assess answers of which some go to no more than a share of the rows, beside a null class also by class."""
        by_class = len(self.classes) > 2 and isinstance(limit_of_others(at_most, self.classes, names[0]), Mapping)
        if not by_class:
            return super().capacity(at_most, names, assess)
        limits = class_limits(at_most, self.classes)
        _, gaps = self.held_out_answers, self.row.class_gaps
        if gaps is None:
            raise ValueError(NO_CLASS_GAPS)
        return self.within_limits(at_most, limits, partial(self._class_evaluation, list(limits)), assess)

    def _class_evaluation(self, limited: Sequence[int], seed: int) -> Evaluation:
        """Return what evaluates the answers beside a null class within limits on classes, given their codes."""
        store = self.store
        assert store is not None, "asked for where there is one"
        assert self.threshold is not None, "answers are ranked by scores"
        classes = LimitedClasses(store.is_pos.astype(np.int64) if store.codes is None else store.codes, limited)

        def answers(row: ScoreRow, threshold: float) -> ClassGapAnswers:
            assert row.score is not None, "thresholds are tuned"
            assert row.class_gaps is not None, "other rows are left out"
            return ClassGapAnswers(row.score, threshold, row.class_gaps, classes)

        compared = [row.key for row in store if row.class_gaps is not None]
        candidates = NullClassCandidates(self._entry_resampling(seed, compared), answers)
        terms, part_terms = (LimitedClassTerms(entries, self.metric, classes) for entries in (store, candidates.units))
        return Evaluation(answers(self.row, self.threshold), terms, candidates, part_terms, seed)

    def _entry_resampling(self, seed: int, among: Sequence[TrialKey] | None = None) -> EntryResampling:
        """Return the choice of the winner and its threshold, in which equal samples are not merged.

        It is one ``among`` some trials, all of them by default.
        """
        store = self.store
        assert store is not None, "asked for where there is one"
        if self.decided is not None:
            assert self.threshold is not None, "a test chose one"
            return FixedEntries(store.only(self.key), self.metric, self.threshold)
        known = store if among is None else store.only(*among)
        return EntryResampling(known, self.metric, **self._draws(seed))

    def _answers_by(self, row: ScoreRow, threshold: float) -> ScoreAnswers:
        """Answer all held-out entries beside a null class; those of a wrong class take places by their scores."""
        assert row.score is not None, "thresholds are tuned"
        truth = self._judged_store.truth
        lost = np.zeros(truth.size, dtype=bool) if row.lost is None else row.lost
        return ScoreAnswers(row.score, threshold, truth, self._error_costs, lost)

    @property
    def lost(self) -> BoolArray | None:
        """Held-out entries that are taken for a wrong class, of several beside a null class."""
        rows = [] if self.store is None else [row.lost for row in self.store]
        if self.store is None or all(lost is None for lost in rows):
            return None
        winner_lost = self.row.lost
        return np.zeros(self.store.is_pos.size, dtype=bool) if winner_lost is None else winner_lost

    def totals(self, table: Array) -> Array:
        """Sum a table over the classes; answers of a wrong class go with all others that are not null."""
        totals = super().totals(table)
        return totals if self.lost is None else np.array([totals[0], totals[1] + totals[LOST], totals[-1]])

    @property
    def held_out_answers(self) -> ScoreAnswers:
        """Answers by the winner's score to all held-out entries."""
        row = self.row if self.store is not None else None
        if row is None or row.score is None or self.threshold is None:
            raise no_scores("to rank rows by")
        return ScoreAnswers(row.score, self.threshold, self._judged_store.truth, self._error_costs, self.lost)

    def review_codes(self, bands: ReviewBands, answers: ScoreAnswers) -> IntArray:
        """Return the answers with reviews to the entries of an evaluation; the number of answers is a review."""
        return answers.with_reviews(bands, self.allowed_answers(bands.review, bands.extra_cost))

    def allowed_answers(self, review: Review, extra_cost: float) -> AllowedAnswers:
        """Rank the held-out entries by their scores, for three answers."""
        return AllowedAnswers.of_score(self.held_out_answers.rank)

    def bands(self, review: Review) -> ReviewBands:
        """Compute the score bands of the three answers."""
        answers, store = self.held_out_answers, self._judged_store
        weight = store.weights_in(store.copies)
        costs = self._error_costs()
        return bands_of_score(review, answers.rank, answers.truth, weight, costs, answers.least, self.lost)

    def _error_costs(self) -> tuple[float, float]:
        """Compute the costs of both errors that the three answers are weighed by."""
        answers, metric, store = self.held_out_answers, self.metric, self._judged_store
        truth, weight = answers.truth, store.weights_in(store.copies)
        share = float(np.average(truth, weights=weight))
        if metric.constraint is None:
            return metric.cost_weights(metric.clip_level(self.score, pos=share), pos=share)
        # What both errors cost where the threshold that the constraint asks for is the best one.
        proba = fit_calibrator("sigmoid", answers.rank, truth, weight)
        assert proba is not None, "one was asked for"
        (share,) = proba.predict(np.array([answers.least]))
        return 1.0 - share, share

    def held_out_rows(self) -> ComparedRows:
        """Collect the held-out rows; an alert would be wrong for negatives, and for those taken for a wrong class."""
        (store, score), lost = self.compared_scores, self.row.lost
        return ComparedRows(score, store.is_pos if lost is None else store.is_pos & ~lost, store)

    def scored_rows(self, rule: Any, task: Task) -> ComparedRows:
        """Score samples by the rule that predicts."""
        rule = rule.for_rows(task.fit_params)
        (named, score), truth = rule.scored(task.X), task.user_labels.decode(task.codes)
        right = (task.codes > 0) & ~lost_samples(truth, named, rule.null)
        return ComparedRows(kept(score), right, held_out_units(task))

    def with_training(self, rule: ThresholdRule, some: Task) -> Self:
        """Keep some of the training samples; warn where the model trained on all of them predicts one class."""
        known = super().with_training(rule, some)
        if not self.config.averages_folds:
            rule = rule.for_rows(some.fit_params)
            predicted = rule.predict(some.X) != rule.null if known.trained is None else known.trained.rows >= rule.cut
            warn_of_one_side(self.metric, replace(self.winner, threshold=self.threshold, score=self.score), predicted)
        return known

    @property
    def compared_scores(self) -> tuple[ScoreStore, Array]:
        """Held-out entries and scores of the winner, which limits on wrong alerts compare with."""
        if self.store is None:
            raise ValueError(
                "wrong_at_most compares rows with held-out scores, which searches on Dask and Spark do not keep; "
                "search in memory with csf.CostSearch, or give csf.tune_threshold labels and scores of held-out rows"
            )
        if (score := self.row.score) is None:
            raise no_scores("for wrong_at_most to compare rows by")
        return self.store, score


def conclude(
    searched: SearchRecord,
    chooser: Chooser,
    *,
    made: Callable[..., BinaryResult] = BinaryResult,
) -> BinaryResult:
    """Conclude a search by the rule of its ``chooser``.

    Raises a TypeError or ValueError where no trial worked.
    """
    config, trials, metric, store = searched.config, searched.trials, searched.metric, searched.store
    won = choose(trials, metric, store, chooser)
    _warn_of(won.trial, metric)
    key = won.trial.setting, won.trial.number
    if store is not None:
        store.put(replace(store[key], threshold=won.threshold, value=won.score))
    # One bound for all settings: it speaks of every classifier on these data, whatever its parameters. What the
    # training parts say has no scores here, and so no margin.
    judged = store if config.bound_on == "validation" else None
    bound = bound_with_margin(trials, metric, pos=searched.studies[0].pos, bound=config.bound, store=judged)
    distance = gap(trials, bound.exact)
    assert distance is not None, "a winner attained something"
    return made(
        **searched.shared,
        candidate=Candidate(key, THRESHOLD),
        threshold=won.threshold,
        score=won.score,
        feasible=won.trial.feasible,
        constraint_value=won.trial.rate,
        upper_bound=bound.value,
        gap=distance + bound.margin,
        bound_margin=bound.margin,
        chooser=chooser,
    )


def _warn_of(winner: Trial, metric: Metric) -> None:
    """Warn where the winner has a problem."""
    warn_of_open_gap(winner)
    if not winner.feasible:
        warn_of_violation(metric.constraint, winner.rate)


def with_mean_scores(
    result: BinaryResult, mean: Array, lost: BoolArray | None = None, class_gaps: Array | None = None
) -> BinaryResult:
    """Replace the winner's scores by mean scores, and the samples that are taken for a wrong class.

    Threshold, value and everything computed from them then belong to the mean of the models.
    """
    store, metric = result.store, result.metric
    assert store is not None, "a search in memory has one"
    lost = None if lost is None or not lost.any() else lost
    best = sweep_several(store.is_pos, lost, mean, store.weight).best(metric, metric.constraint)
    row = replace(result.row, score=mean, lost=lost, class_gaps=class_gaps)
    row = replace(row, threshold=best.threshold, value=best.value)
    store.put(row)
    threshold, profile = best.threshold, best.profile
    if result.config.is_stable and (cut := stable_choice(store, metric, among=result.key)) is not None:
        threshold, profile = cut.threshold, cut.profile
    value, constraint = metric.of(profile), metric.constraint
    store.put(replace(row, threshold=threshold, value=value))
    rate = None if constraint is None else constraint.rate.of(profile)
    return replace(result, threshold=threshold, score=value, feasible=best.feasible, constraint_value=rate)


def warn_of_one_side(metric: Metric, winner: Trial, predicted: BoolArray) -> None:
    """Warn where the winner, trained on all samples, predicts one class, unlike its trainings on folds."""
    if predicted.any() and not predicted.all():
        return
    assert winner.profile is not None, "winners are complete"
    assert winner.score is not None, "winners are complete"
    pos = winner.profile.pos
    useless = ErrorProfile(fn=0.0, fp=1.0 - pos, pos=pos) if predicted.all() else ErrorProfile(fn=pos, fp=0.0, pos=pos)
    if winner.score > metric.of(useless) + 1e-9:
        warn(
            f"the winner (t={winner.t}, threshold {winner.threshold}) has {metric.name} {winner.score:.4g} on held-out "
            f"data, but trained on all data it finds {'all' if predicted.all() else 'none'} of its samples positive: "
            "its scores are too alike for a threshold to pass from one training to the next. Search other parameters "
            'of the base (param_grid={"C": [...]}), or train with equal costs alone (n_trials=1)',
        )


def cv_results(trials: list[Trial], settings: list[Params], n_folds: int) -> dict[str, Array]:
    """Tabulate all trials in their order, with the results of every fold."""
    costs = {f"param_{name}": column(trials, attrgetter(name)) for name in ("c_fn", "c_fp")}
    judged = {"threshold": column(trials, attrgetter("threshold"))}
    judged["fn"] = column(trials, lambda t: t.profile and t.profile.fn)
    judged["fp"] = column(trials, lambda t: t.profile and t.profile.fp)
    return trial_table(trials, settings, n_folds, costs=costs, judged=judged)


def _values_of_null_class(metric: Metric, tables: Array) -> Array:
    """Compute values of tables whose last answer is one of a wrong class."""
    return values_of_tables(metric, merged_lost(tables))
