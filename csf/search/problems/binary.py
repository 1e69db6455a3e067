"""Two classes, or several beside a null class: studies, evaluation, the result of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Keywords, Label, Params
from csf.data.folds import Fold, pool_held_out, pooled
from csf.data.labels import read_labels
from csf.data.responses import class_gaps, class_scores, compare, lost_samples
from csf.evaluate import Candidate, Chooser, Resampling, ScoreStore, kept
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.choices import BEST, decisions
from csf.evaluate.resampling import EntryResampling, FixedEntries
from csf.metrics.averages import values_of_tables
from csf.metrics.binary import Recall
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.registry import positive_class, truth_of
from csf.metrics.trials import Trial, gap, known_hull, outcome
from csf.search.certification import with_tested_threshold
from csf.search.config import (
    BEYOND,
    MULTIPLES,
    Model,
    chooser_of,
    settings_of,
    strategy_of,
)
from csf.search.margin import bound_with_margin
from csf.search.problems.decisions import ScoreDecision, ScoreResult, curve_of, decision_of
from csf.search.problems.prevalence import fields_at_share
from csf.search.problems.results import (
    SearchRecord,
    column,
    held_out_units,
    trial_table,
    warn_of_open_gap,
    warn_of_violation,
)
from csf.search.problems.two_classes import TwoClasses
from csf.search.selection import Race, SettingRace, choose, races, stable_choice
from csf.search.study import Study
from csf.search.supports import NO_CLASS_GAPS
from csf.search.training import Evaluator, FoldResult, HeldOutPredictions
from csf.strategies import ImbalanceRatio
from csf.thresholding.alerts import ComparedRows, no_scores
from csf.thresholding.band import ConfidenceBand
from csf.thresholding.batch import limit_of_others
from csf.thresholding.capacity import (
    LOST,
    NullClassCandidates,
    ReviewBands,
    ScoreAnswers,
    ScoreCandidates,
    bands_of_score,
    merged_lost,
)
from csf.thresholding.curve import ThresholdCurve, sweep_several
from csf.thresholding.evaluation import Evaluation, TableTerms
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.linear_rule import fit_calibrator
from csf.thresholding.null_class import ClassGapAnswers, LimitedClasses, LimitedClassTerms, class_limits
from csf.thresholding.rule import AllowedAnswers, ThresholdRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Samples
    from csf.data.folds import ClassShares, Task
    from csf.data.responses import Response
    from csf.evaluate import Assessment, ScoreRow, TrialKey
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint, Review
    from csf.metrics.trials import OutcomeFields
    from csf.search.config import SearchConfig, SearchEffort
    from csf.search.plan import Plan
    from csf.thresholding.base import DecisionRule
    from csf.thresholding.capacity import Capacity, NamedCapacities
    from csf.thresholding.certificates import Guarantee


# Name of the decision rule of a trial by its threshold.
THRESHOLD = "threshold"

# A demand that the trivial answer does not keep, for each of them.
_WAYS_OUT = {"positive": "precision >= 0.8", "negative": "recall >= 0.8"}


def make_studies(config: SearchConfig, efforts: Sequence[SearchEffort], *, pos: float) -> list[Study]:
    """Create a study without trials for each setting, which has an effort."""
    warn_of_trivial(config.aim, pos)
    options = {"pos": pos, "n_trials": config.n_trials, "tol": config.tol, "bound": config.bound}
    return [Study(config.aim, strategy_of(config.strategy, effort), **options) for effort in efforts]


def study_of_equal_costs(config: SearchConfig, pos: float) -> Study:
    """Create a study of one pending trial, at equal costs."""
    study = Study(config.aim, ImbalanceRatio(), pos=pos, n_trials=1, bound=config.bound)
    study.trials = [Trial(number=0, t=None, costs=(1.0, 1.0))]
    return study


def warn_of_trivial(metric: Metric, pos: float) -> None:
    """Warn where a search cannot improve anything: the same answer to every sample is best."""
    answer = metric.trivial_answer(pos=pos)
    if answer is not None:
        warn(
            f"{metric.name} is largest when every sample is predicted {answer}, so a search for it would find just "
            f"that. Add a constraint that such predictions violate, such as constraint={_WAYS_OUT[answer]!r}, or "
            "maximise a metric that counts both errors, such as 'f1'"
        )


@dataclass(frozen=True, eq=False)
class BinaryProblem(TwoClasses):
    """Problem of two classes, or of several with a null class, whose score has a threshold, or one for each row."""

    decision: ScoreDecision = field(default_factory=ScoreDecision, kw_only=True)
    # What the decision depends on beside the scores, for each sample.
    beside: Mapping[str, Array] = field(default_factory=dict, kw_only=True)

    @classmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Match every target that no other kind takes."""
        return True

    @classmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Params) -> tuple[BinaryProblem, IntArray]:
        """Read a target and its codes."""
        pos_label, decision = config.pos_label, decision_of(config)
        if config.null_class is None:
            limited = config.constraint is not None or config.review is not None
            pos_label = positive_class(config.metric, y, pos_label, matters=limited)
        labels, codes = read_labels(y, pos_label=pos_label, null_class=config.null_class)
        if labels.classes.size > 2 and (truth := truth_of(config.metric)) is not None:
            raise ValueError(
                f"metric={truth.name!r} is one of two classes, and beside null_class={config.null_class!r} there "
                f"are {labels.classes.size - 1}: of a positive without a label nobody knows the class. Merge these "
                "classes into one, or take a metric of complete labels, such as 'f1'"
            )
        known = decision.read(config, labels, X, given, codes)
        return BinaryProblem(labels, decision=known, beside=known.beside(X, given)), codes

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights and return them; the decision may need rows of some kind."""
        weight = super().weights(sample_weight, codes)
        self.decision.check(codes > 0, self.beside, weight)
        return weight

    @property
    def decides_by_score(self) -> bool:
        """True where rows have no thresholds of their own."""
        return self.decision.is_single

    def of_part(self, task: Task) -> tuple[Self, Task]:
        """Restrict the problem to a task that may be a part of all samples; return what the base's fit is given."""
        self.decision.check_certificate(task)
        beside = self.decision.beside(task.X, task.fit_params)
        return replace(self, beside=beside), task.without(beside)

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """List the settings of a model's parameters, see `settings_of`."""
        multiples = [*MULTIPLES, *BEYOND] if self._races(config) else MULTIPLES
        return settings_of(model.param_grid, model.base, config.engine, multiples=multiples, n_samples=n_samples)

    def studies(self, config: SearchConfig, shares: ClassShares, efforts: Sequence[SearchEffort]) -> list[Study]:
        """Create a study without trials for each setting, which has an effort."""
        return make_studies(config, efforts, pos=shares.pos)

    def _races(self, config: SearchConfig) -> bool:
        """Check whether settings drop out, see `races`."""
        return races(config)

    def race(self, config: SearchConfig, plan: Plan, store: Any) -> SettingRace | None:
        """Create the race that decides which settings are trained at more costs; return ``None`` for all of them."""
        if not self._races(config) or store is None or len(plan.studies) == 1:
            return None
        # What bounds read of training parts is that of all folds.
        n_first = plan.n_first if plan.names and config.bound_on == "validation" else 0
        return Race(plan.studies, plan.steps, store, config.aim, names=plan.names, n_first=n_first)

    def judge(self, config: SearchConfig) -> Evaluator:
        """Create the judge of trainings."""
        return BinaryEvaluator(config.aim, tune=config.tunes, beside=self.beside)

    def fitted_studies(self, config: SearchConfig, task: Task) -> list[Study]:
        """Create a study with one pending trial for each fitted base."""
        pos = ErrorProfile.from_masks(task.codes > 0, task.codes > 0, sample_weight=task.weight).pos
        warn_of_trivial(config.aim, pos)
        return [study_of_equal_costs(config, pos) for _ in config.models]

    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> BinaryResult:
        """Choose the winner among the trials of some models, and its decision."""
        if not searched.n_splits:
            _warn_of_one_unit(searched.store)
        # A sample has other values than the rows that decide.
        sampled = searched.store is not None and searched.store.is_sample
        won = conclude(searched, chooser_of(searched.config, models, draws=not sampled))
        classes = self.labels.by_code.tolist() if self.labels.classes.size > 2 else ()
        return self.decision.conclude(replace(won, decision=self.decision, classes=classes))

    def read_constraint(self, constraint: str | Constraint | None) -> Constraint | None:
        """Read a constraint, which may be by segment."""
        by_row = self.decision.constraint(None)
        return super().read_constraint(constraint) if by_row is None else by_row

    def with_mean_scores(self, result: BinaryResult, mean: Array, folds: list[Fold]) -> BinaryResult:
        """Replace the winner's held-out scores by means over models, and the threshold."""
        if self.labels.classes.size == 2:
            return result.decision.tuned(with_mean_scores(result, mean.ravel()))
        (score, code), n_classes = compare(mean, 0, probabilities=True), self.labels.classes.size
        gaps = class_gaps(mean[:, 1:], np.arange(1, n_classes), n_classes)
        return with_mean_scores(result, score, lost_samples(pool_held_out(folds)[0], code), gaps)

    def held_out_scores(self, model: Any, fold: Any) -> Array:
        """Compute the scores in what a fold holds out that are averaged; beside a null class those of each code."""
        if self.labels.classes.size == 2:
            return super().held_out_scores(model, fold)
        scores = class_scores(model, fold.X_test, ("predict_proba",))
        every = np.zeros((len(scores), self.labels.classes.size))
        every[:, fold.labels.learnt_by(model).codes] = scores
        return every

    def rule_by(
        self, result: BinaryResult, estimator: Estimator, known: Array, names: Array, method: str | None = None
    ) -> ThresholdRule:
        """Build the rule of a fitted estimator with a score by a method."""
        config = result.config
        rule = ThresholdRule.of(
            estimator,
            known=known,
            names=names,
            null=self.labels.null,
            threshold=result.threshold,
            method=method,
            tuned=config.tunes,
            costs=result.winner.costs,
            one_vs_rest=config.weighting == "one-vs-rest",
        )
        return result.in_rule(rule)


def _values_of_null_class(metric: Metric, tables: Array) -> Array:
    """Compute values of tables whose last answer is one of a wrong class."""
    return values_of_tables(metric, merged_lost(tables))


def _warn_of_one_unit(store: ScoreStore) -> None:
    """Warn where the samples cannot be split into parts that choose and parts that evaluate a threshold."""
    unit = "group" if store.has_groups else "sample"
    for name, among in (("positives", store.is_pos), ("negatives", ~store.is_pos)):
        if (samples := store.samples[among]).size and (samples == samples[0]).all():
            warn(
                f"the {name} are those of one {unit}: what to expect on new data cannot be estimated, and "
                f"corrected_score_ and score_interval_ are NaN. Give {name} of several {unit}s"
            )


class BinaryEvaluator(Evaluator):
    """Judge of trials of two classes, or of several with a null class, whose score has a threshold."""

    def __init__(self, metric: Metric, *, tune: bool, beside: Mapping[str, Array] = MappingProxyType({})) -> None:
        self.metric, self.tune, self.beside = metric, tune, beside

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> ScoreStore:
        """Create the store of held-out scores."""
        store = ScoreStore(truth > 0, weight, samples=samples, max_bytes=max_bytes)
        if (n_others := int(truth.max())) > 1:
            store.codes = truth.astype(np.min_scalar_type(n_others))
        if self.beside:
            store.beside = {name: values[samples] for name, values in self.beside.items()}
        return store

    def _judged(self, folds: list[Fold], results: list[FoldResult], trial: Trial) -> tuple[Params, HeldOutPredictions]:
        metric = self.metric
        truth, weight, _ = pool_held_out(folds)
        decided, lost = (pooled([getattr(result, name) for result in results]) for name in ("decided", "lost"))
        score = pooled([result.score for result in results]) if self.tune else None
        # The metric is no mean over folds: what all of them hold out is judged together, with one threshold.
        judged = evaluate(metric, truth > 0, lost, decided, score, weight)
        fields: Keywords = {**judged, "fold_scores": _fold_scores(metric, folds, results, judged)}
        guides = [result.train_outcome for result in results if result.train_outcome is not None]
        if guides:
            # Strategies and bounds read the training parts; threshold and score stay those of held-out data.
            trained = _train_outcome(metric, folds, guides)
            fields |= {name: trained[name] for name in ("profile", "hull", "value", "attained")}
        gaps = [result.class_gaps for result in results if result.class_gaps is not None]
        class_gaps = pooled(gaps) if len(gaps) == len(results) else None
        return fields, HeldOutPredictions(score, decided, lost, class_gaps)


def _found(answer: Response | FoldResult, threshold: float | None) -> BoolArray:
    """Return the mask of samples above a threshold, or of the model's own positive decisions (``None``)."""
    decided, score = answer.decided, answer.score
    if threshold is not None:
        assert score is not None, "a threshold is one of scores"
        return score >= threshold
    assert decided is not None, "failed trainings are left out before"
    return decided


def evaluate(
    metric: Metric, is_pos: BoolArray, lost: BoolArray, decided: BoolArray, score: Array | None, weight: Array | None
) -> OutcomeFields:
    """Evaluate decisions and scores (or ``None``) on one data set; return the fields of a trial."""
    profile = ErrorProfile.from_masks(is_pos, decided & ~lost, sample_weight=weight)
    curve = None if score is None else sweep_several(is_pos, lost, score, weight)
    cut = None if curve is None else curve.best(metric, metric.constraint)
    return outcome(metric, profile, hull=known_hull(profile, curve), cut=cut)


def _fold_scores(
    metric: Metric, folds: list[Fold], results: list[FoldResult], pooled: OutcomeFields
) -> tuple[float | None, ...]:
    """Compute the metric of each fold at the pooled threshold; a single fold has the pooled value."""
    if len(folds) == 1:
        return (pooled["score"],)
    return tuple(_fold_score(metric, fold, result, pooled["threshold"]) for fold, result in zip(folds, results))


def _fold_score(metric: Metric, fold: Fold, result: FoldResult, threshold: float | None) -> float | None:
    """Compute the metric of one fold at the pooled threshold; ``None`` where the fold lacks a class."""
    if not fold.holds_out_both:
        return None
    predicted = _found(result, threshold) & ~pooled([result.lost])
    return metric.of(ErrorProfile.from_masks(fold.y_test > 0, predicted, sample_weight=fold.weight_test))


def _train_outcome(metric: Metric, folds: list[Fold], known: list[tuple[ErrorProfile, Hull]]) -> OutcomeFields:
    """Average the profiles and hulls of the training parts over folds, where the bounds use these."""
    sizes = np.array([f.train.size if f.weight_train is None else f.weight_train.sum() for f in folds], dtype=float)
    shares = sizes / sizes.sum()
    profiles, hulls = zip(*known)
    fn, fp, pos = (float(np.dot(shares, [getattr(p, name) for p in profiles])) for name in ("fn", "fp", "pos"))
    return outcome(metric, ErrorProfile(fn, fp, pos), hull=Hull.mean(hulls, shares))


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


@dataclass(frozen=True, eq=False, kw_only=True)
class BinaryResult(ScoreResult):
    """Result of a search of costs and a threshold, or thresholds by segment for scores beyond which 0 is one."""

    constraint_value: float | None = None
    bound_margin: float = np.nan
    # Place of the trial that would be best at another share of positives, and its score there.
    moved_best: tuple[int, float] | None = None
    # How the winner was chosen.
    chooser: Chooser = BEST
    # Labels by code, of several classes beside a null class.
    classes: Sequence[Label] = ()

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
        return attributes | self.decision.published(self)

    @property
    def errors(self) -> ErrorProfile:
        """Error profile of the decisions about the held-out samples."""
        if self.threshold is not None and self.has_scores:
            return self.curve().at(self.threshold)
        assert self.winner.chosen is not None, "a winner has been judged"
        return self.winner.chosen

    @property
    def scored(self) -> tuple[BoolArray, Array] | None:
        """True class and score of held-out samples of two classes, each once; ``None`` where there are none."""
        store, score = self.store, self.row.score if self.follows_shares else None
        if store is None or score is None or not np.isfinite(score).all():
            return None
        entries = store.first_entries
        return store.is_pos[entries], score[entries].astype(np.float64)

    def at_shares(self, pos: float, rule: ThresholdRule | None) -> tuple[BinaryResult, ThresholdRule | None]:
        """Adapt the result and the rule to another share of positives."""
        result = replace(self, **fields_at_share(self, pos))
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

    def reviews(self, review: Review, names: Sequence[Label]) -> Any:
        """Tune the rule of three answers on the held-out entries; of two labels the positive one comes last."""
        bands = super().reviews(review, names)
        self.decision.check_reviews(self, bands)
        return bands

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
