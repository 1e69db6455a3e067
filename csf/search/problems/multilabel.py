"""Several labels per sample: a search for each of them, or one search of a threshold that they share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.utils import check_random_state

from csf._common.sklearn import clone, is_pairwise, last_step
from csf._common.typing import IntArray, Keywords, Label, Params, PathLike
from csf._common.validation import check_weights, floats
from csf.data.costs import assembled
from csf.data.folds import Task, enough_splits, read_groups, resolve_splits
from csf.data.labels import LabelMatrix, Labels, label_strata, read_codes
from csf.evaluate import MAX_BYTES, Candidate, kept, mean_assessment
from csf.evaluate.assessment import n_draws_of
from csf.evaluate.choices import decisions
from csf.evaluate.draws import Units
from csf.evaluate.label_means import EntrySampleDraws, LabelledSamples, SampleDraws
from csf.metrics import get_constraint
from csf.metrics.averages import Averaged, values_of_tables
from csf.metrics.constraints import all_of
from csf.metrics.registry import constraint_of_truth, get_label_metric
from csf.metrics.trials import nothing_worked
from csf.search.certification import confidence_in_each, n_promises
from csf.search.config import (
    chooser_of,
    cv_of,
    effort_of,
    shared_effort,
    split_seed,
)
from csf.search.plan import Plan
from csf.search.planning import plan_in_memory, run_search, split_for_test, training_sample
from csf.search.problems.base import record_of
from csf.search.problems.binary import BinaryProblem
from csf.search.problems.binary_result import THRESHOLD, BinaryResult, conclude
from csf.search.problems.results import SearchRecord, held_out_units
from csf.search.selection import N_DRAWS, averaged_cut
from csf.search.supports import LABELS, SAMPLE_MEANS, SHARED_THRESHOLD, Supports
from csf.strategies import Ladder
from csf.thresholding.alerts import (
    NO_LIMITS,
    AlertLimit,
    AlertLimits,
    ComparedRows,
    WrongAlerts,
    of_positive,
)
from csf.thresholding.base import DecisionRule
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
from csf.thresholding.rule import ThresholdRule
from csf.trainers import Prepared

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, Estimator, Samples
    from csf.data.folds import LabelFold
    from csf.evaluate import Assessment, ScoreRow, ScoreStore
    from csf.evaluate.stores import Store
    from csf.metrics import Constraint, Review
    from csf.search.config import Model, SearchConfig
    from csf.search.loop import Deadline
    from csf.thresholding.capacity import Reviewed
    from csf.thresholding.curve import ThresholdCurve

# ---------------------------------------------------------------- fitted classifiers with their thresholds


@dataclass(frozen=True, eq=False)
class MultilabelRule(DecisionRule):
    """Rules of all labels; ``threshold`` is one that they share, or has one for each."""

    rules: tuple[ThresholdRule, ...]
    threshold: Any
    names: Sequence[Label] = ()
    # A mean over samples.
    aim: Averaged | None = None

    in_words = f"each label by its own rule, on a column of the scores of its own estimator: {ThresholdRule.in_words}"
    review_in_words = ThresholdRule.review_in_words

    @property
    def more_than_threshold(self) -> str:
        """Several labels."""
        return f"{len(self.rules)} labels a sample"

    @property
    def score_names(self) -> Sequence[Label]:
        """Labels."""
        return self.label_names

    def on_scores(self) -> Self:
        """Return the rule for samples with the scores of each label's estimator, of probabilities that of class 1."""
        rules = tuple(rule.on_scores(column) for column, rule in enumerate(self.by_label))
        return replace(self, rules=rules, threshold=tuple(rule.threshold for rule in rules), aim=None)

    @classmethod
    def of(
        cls, estimators: list[Estimator], *, threshold: float | None, aim: Averaged | None = None, **options: Any
    ) -> Self:
        """Create the rule of estimators that share a threshold; see `ThresholdRule.of`."""
        rules = tuple(ThresholdRule.of(estimator, threshold=threshold, **options) for estimator in estimators)
        return cls(rules, rules[0].threshold, aim=aim)

    @property
    def label_names(self) -> Sequence[Label]:
        """Names of the labels, or their places."""
        return self.names or range(len(self.rules))

    @property
    def estimator(self) -> OneVsRestClassifier:
        """Estimators of all labels, in a classifier of scikit-learn for several labels."""
        estimators = [rule.estimator for rule in self.rules]
        return assembled(OneVsRestClassifier(clone(estimators[0])), np.eye(len(estimators), dtype=np.int64), estimators)

    @property
    def by_label(self) -> list[ThresholdRule]:
        """Rule of each label, with its threshold."""
        thresholds = np.broadcast_to(np.asarray(self.threshold, dtype=object), len(self.rules))
        return [replace(rule, threshold=threshold) for rule, threshold in zip(self.rules, thresholds)]

    def predict(self, X: Samples) -> Array:
        """Predict 1 where a sample has a label, else 0."""
        return np.column_stack([rule.predict(X) for rule in self.by_label]).astype(np.int64, copy=False)

    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict with limits by label."""
        limits = {} if at_most is None else places_limited(at_most, self.label_names, "label")
        columns = [
            rule.predict_within(X, limits.get(label), of_positive(wrong, label))
            if label in limits or label in wrong
            else rule.predict(X)
            for label, rule in enumerate(self.by_label)
        ]
        return np.column_stack(columns).astype(np.int64, copy=False)

    def value(self, metric: Any, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Compute a metric of predicted labels."""
        truth = read_codes(y, self.label_names)
        return get_label_metric(metric).of(truth, predicted, check_weights(sample_weight, truth.shape[0]))

    def score_samples(self, X: Samples) -> Array:
        """Compute the scores that the thresholds are for."""
        return np.column_stack([rule.score_samples(X) for rule in self.rules])

    def decision_function(self, X: Samples) -> Array:
        """Compute the distances of the scores from their thresholds, positive where a label is predicted."""
        return np.column_stack([rule.decision_function(X) for rule in self.by_label])

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the labels, with the costs taken out again."""
        return np.column_stack([rule.predict_proba(X)[:, 1] for rule in self.rules])

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """Evaluate all thresholds that labels share, on all pairs of a sample and a label."""
        if np.ndim(self.threshold):
            raise ValueError("each label has a threshold of its own; ask searches_[k].threshold_curve for that of one")
        truth = read_codes(y, self.label_names)
        weight = check_weights(sample_weight, truth.shape[0])
        weight = None if weight is None else np.repeat(weight, truth.shape[1])
        pairs = truth.ravel() > 0, self.score_samples(X).ravel(), weight
        curve = sweep(*pairs)
        return curve if self.aim is None else with_means(curve, *pairs, n_labels=len(self.rules), aim=self.aim)


# ---------------------------------------------------------------- the mean F-beta of rows


def with_means(
    pairs: ThresholdCurve, truth: BoolArray, score: Array, weight: Array | None, *, n_labels: int, aim: Averaged
) -> ValuedCurve:
    """Add the mean F-beta over samples at each threshold to the curve of pairs of a sample and a label."""
    ordered, values = LabelledSamples(truth, n_labels, aim).cumulated(score, weight)
    place = np.searchsorted(-ordered, -pairs.lowest_score, side="right")
    return ValuedCurve(pairs.lowest_score, pairs.fn, pairs.fp, pairs.pos, values[place], pairs)


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
        shares = shares_limited(wrong_at_most, names, "label", "wrong_at_most", example=0.2)
        return {label: AlertLimit(self.wrong_alerts(label), share) for label, share in shares.items()}

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


# ---------------------------------------------------------------- the search


def file_of_label(path: PathLike, label: int) -> str:
    """Name the checkpoint of one label: ``trials.label0.json`` for ``trials.json``."""
    stem, suffix = os.path.splitext(os.fsdecode(path))
    return f"{stem}.label{label}{suffix}"


# What a sample has of a label: not the label, or the label.
ANSWERS_OF_LABEL = (0, 1)
# Seconds that a search is given where no time is left: it then trains at equal costs alone.
_NO_TIME = 1e-3


class LabelSearch:
    """Search of a `csf.CostSearch` for several labels.

    The mean over labels of a metric is largest where each label's metric is: so each label has its own search, with its
    own levels and threshold. A metric of all labels together is one of two classes, whose samples are the pairs of a
    sample and a label; it has one classifier per label, all trained with the same costs. Resampling draws rows.
    """

    def __init__(
        self, search: Estimator, config: SearchConfig, X: Samples, y: ArrayLike, weight: ArrayLike | None, given: Params
    ) -> None:
        self.search, self.aim = search, get_label_metric(config.metric)
        _check(config, self.aim)
        self.labels = LabelMatrix.read(y, weight)
        self.demands = _demands_of(config, self.labels.names.tolist(), self.aim)
        weight = check_weights(weight, len(self.labels.codes))
        fit_groups: Any = given.get("groups")
        groups = read_groups(fit_groups, len(self.labels.codes))
        task = Task(X, self.labels.codes, weight, given, groups=groups, pairwise=is_pairwise(search))
        task, self.held_back = self._split(config, task)
        _check_folds(config.cv, self.labels)
        base, grid = _of_each_label(config)
        config = replace(config, base=base, param_grid=grid, metric=self.aim.metric, confidence=None)
        codes = self.labels.ordered
        splits, seed, fit_params = common_splits(config, task.X, label_strata(codes), task.fit_params)
        if config.may_hold_out_less:
            groups = read_groups(task.fit_params.get("groups"), task.n_samples)
            splits = enough_splits(splits, codes, task.weight, groups)
        _check_splits(splits, self.labels)
        self.task = replace(task, codes=codes, fit_params=fit_params, groups=None)
        self.config = replace(config, cv=splits, random_state=seed)
        # Steps of a pipeline before its last one are fitted to all labels, where they can be.
        self.prepared = Prepared(labels=codes)

    def _split(self, config: SearchConfig, task: Task) -> tuple[Task, Task | None]:
        """Hold back samples for tests, where a confidence is asked for."""
        task, held_back = split_for_test(config, task, by_score=True)
        self.labels = replace(self.labels, codes=task.codes)
        return task, held_back

    @property
    def _confidence(self) -> float:
        """Confidence in each promise about a label with which all together have that of the user."""
        n_tests = [n_promises(demand, self.config.review, ANSWERS_OF_LABEL) for demand in self.demands]
        return confidence_in_each(self.search.confidence, sum(n_tests))

    def fit(self, deadline: Deadline | None) -> tuple[MeanResult | BinaryResult, MultilabelRule | None, float, Params]:
        """Search; return outcome, rule, seconds of the last trainings, and the attributes of the labels."""
        labels = self.labels
        result, rule, seconds = self._one_by_one() if self.aim.average == "macro" else self._together(deadline)
        about = {"classes_": np.arange(labels.n_labels), "label_names_": labels.names}
        about |= {"pos_label_": None, "null_class_": None, "class_count_": labels.codes.sum(axis=0, dtype=np.int64)}
        rule = None if rule is None else replace(rule, names=tuple(labels.names.tolist()))
        return result, rule, seconds, about

    def _one_by_one(self) -> tuple[MeanResult, MultilabelRule | None, float]:
        search, config, labels = self.search, self.config, self.labels
        names = ("base", "param_grid", "metric", "cv", "random_state", "confidence")
        template = clone(search).set_params(**{name: getattr(config, name) for name in names})
        end = None if config.time_limit is None else time.monotonic() + config.time_limit
        task, searches, share = self.task, [], MAX_BYTES // labels.n_labels
        for number, label in enumerate(labels.order.tolist()):
            if end is not None:
                template.set_params(time_limit=max((end - time.monotonic()) / (labels.n_labels - number), _NO_TIME))
            template.set_params(constraint=self.demands[label])
            if config.checkpoint is not None:
                template.set_params(checkpoint=file_of_label(config.checkpoint, label))
            one = task.codes[:, number].astype(np.int64)
            searches.append(clone(template)._fit(task.X, one, task.weight, dict(task.fit_params), self.prepared, share))
            self._test(searches[-1], label)
        result = MeanResult(labels.given(searches))
        seconds = sum(fitted.refit_time_ for fitted in searches if search.refit)
        return result, result.rule, seconds

    def _test(self, search: Estimator, label: int) -> None:
        """Test the demand on one label, and the limits of its reviews."""
        if self.search.confidence is None:
            return
        held_back = self.held_back
        if held_back is not None:
            codes = held_back.codes[:, label].astype(np.int64)
            held_back = replace(held_back, codes=codes, labels=Labels(np.arange(2), 0))
        search._test(held_back, self._confidence)

    def _together(self, deadline: Deadline | None) -> tuple[BinaryResult, MultilabelRule | None, float]:
        search, labels, config = self.search, self.labels, self.config
        task, problem = self.task, AllLabels(self.task.user_labels)
        changes: Keywords = {"constraint": self.demands[0]}
        if self.aim.empty is not None:
            # A mean over rows has no costs that aim at a level of it: those of all trainings are equal.
            changes["strategy"] = Ladder(1)
            problem = SampleMeans(task.user_labels, labels.n_labels, self.aim)
        config = replace(config, **changes)
        plan = plan_in_memory(search, config, problem, task, self.prepared)
        result, rule, seconds, _ = run_search(config, problem, plan, search=search, deadline=deadline)
        result = replace(result, order=labels.order)
        if rule is not None:
            rule = replace(rule, rules=tuple(labels.given(list(rule.rules))))
            if search.confidence is not None:
                result = result.tested(rule, self.held_back, search.confidence)
                rule = result.in_rule(rule)
            if self.held_back is not None:
                result = result.with_calibration(rule, self.held_back)
            else:
                codes = np.column_stack(labels.given(list(task.codes.T)))
                result = result.with_training(rule, training_sample(replace(task, codes=codes)))
        return result, rule, seconds


@dataclass(frozen=True, eq=False)
class AllLabels(BinaryProblem):
    """Labels that share costs and a threshold: each pair of a sample and a label is an entry."""

    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> BinaryResult:
        """Choose the winner among the trials of some models, and its threshold."""
        return conclude(searched, chooser_of(searched.config, models), made=LabelsResult)

    def held_out_scores(self, model: list[Estimator], fold: LabelFold) -> Array:
        """Compute the probabilities of all labels in what a fold holds out, a column for each."""
        columns = zip(model, fold.columns)
        return np.column_stack([super(AllLabels, self).held_out_scores(one, column) for one, column in columns])

    def rule_of(self, result: BinaryResult, estimator: list[Estimator], aim: Averaged | None = None) -> MultilabelRule:
        """Build the rule of the fitted estimators of all labels; ``aim`` is a mean over samples."""
        options = {"known": np.arange(2), "names": np.arange(2), "null": 0, "costs": result.winner.costs}
        return MultilabelRule.of(estimator, threshold=result.threshold, aim=aim, tuned=result.config.tunes, **options)


@dataclass(frozen=True, eq=False)
class SampleMeans(AllLabels):
    """Labels that share costs and a threshold, evaluated by the mean over samples."""

    n_labels: int
    aim: Averaged

    def rule_of(self, result: BinaryResult, estimator: list[Estimator], aim: Averaged | None = None) -> MultilabelRule:
        """Build the rule of the fitted estimators of all labels."""
        return super().rule_of(result, estimator, self.aim)

    def _races(self, config: SearchConfig) -> bool:
        """Return False: held-out values are those of pairs."""
        return False

    def conclude(self, config: SearchConfig, plan: Plan, store: Store | None, stopped: str | None) -> BinaryResult:
        """Build the result of a finished search, by the mean over samples."""
        searched = record_of(plan, config, store, stopped or "all settings are done")
        margin = chooser_of(config, plan.models).margin
        return conclude_sample_means(searched, n_labels=self.n_labels, aim=self.aim, margin=margin)


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
        shares = shares_limited(wrong_at_most, names, "label", "wrong_at_most", example=0.2)
        known = [search.result_ for search in self.searches]
        return {label: AlertLimit(known[label].wrong_alerts(1), share) for label, share in shares.items()}

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


def _check(config: SearchConfig, aim: Averaged) -> None:
    """Raise an error for options that have no meaning for several labels."""
    (LABELS if aim.average == "macro" else SHARED_THRESHOLD).check(config)
    if aim.average == "weighted":
        name = f"{aim.metric.name}_macro"
        raise ValueError(
            f"metric={aim.name!r} of several labels is largest where each label's own is, as {name!r} is: search for "
            f"{name!r}, and judge predictions with csf.metric_interval(y, pred, {aim.name!r})"
        )
    if aim.empty is not None:
        SAMPLE_MEANS.check(config, f"metric={aim.name!r}")


def _demands_of(config: SearchConfig, names: Sequence[Label], aim: Averaged) -> list[Constraint | None]:
    """Return the constraint on each label; a part without a label is one on all of them."""
    constraint = constraint_of_truth(aim.metric, get_constraint(config.constraint))
    if constraint is None:
        return [None] * len(names)
    if aim.average != "macro" and any(part.of is not None for part in constraint.parts):
        raise ValueError(
            f"constraint {constraint}: with metric={aim.name!r} all labels share a threshold, and constraints are on "
            "all pairs of a sample and a label together. Leave the brackets out, or search for a mean over labels, "
            "such as 'f1_macro'"
        )
    constraint.require_all_rows()
    places = [(part.place_in(names), replace(part, of=None)) for part in constraint.parts]
    demands: list[Constraint | None] = []
    for label in range(len(names)):
        parts = [part for place, part in places if place in (None, label)]
        demands.append(all_of(parts) if parts else None)
    return demands


def _of_each_label(config: SearchConfig) -> tuple[Estimator, object]:
    """Return the base of each label and its grid, or those of several models by their names."""
    bases, grids = zip(*(_of_one_label(model.base, model.param_grid) for model in config.models))
    names = [model.name for model in config.models]
    return (bases[0], grids[0]) if None in names else (dict(zip(names, bases)), dict(zip(names, grids)))


def _of_one_label(base: Estimator, grid: object) -> tuple[Estimator, object]:
    """Return the base of each label and its grid, where one base for all labels trains a classifier per label."""
    prefix, last = last_step(base)
    if isinstance(last, ClassifierChain):
        raise ValueError(
            f"{type(last).__name__} trains on all labels at once, but each label needs its own costs. Give the "
            "classifier inside it, which csf trains for each label, or tune a threshold for each column of held-out "
            "probabilities with csf.thresholding.sweep"
        )
    if type(last) is not MultiOutputClassifier:
        return base, grid
    estimator = (
        clone(last.estimator) if not prefix else clone(base).set_params(**{prefix.removesuffix("__"): last.estimator})
    )
    old, grids = f"{prefix}estimator__", [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(grids, Sequence) or isinstance(grids, str):
        return estimator, grid
    return estimator, [{_renamed(name, old, prefix): values for name, values in grid.items()} for grid in grids]


def _renamed(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old) if name.startswith(old) else name


def _check_folds(cv: object, labels: LabelMatrix) -> None:
    """Raise a ValueError that names the label with too few samples for a number of folds."""
    needed = 2 if cv is None or isinstance(cv, float) else cv
    if not isinstance(needed, int | np.integer) or isinstance(needed, bool):
        return
    counts = labels.codes.sum(axis=0, dtype=np.int64)
    fewest = np.minimum(counts, labels.codes.shape[0] - counts)
    label = int(fewest.argmin())
    if fewest[label] < needed:
        raise ValueError(
            f"cv={cv!r} needs at least {needed} samples with and without each label; column "
            f"{labels.names.tolist()[label]!r} of y is {int(counts[label] == fewest[label])} for {fewest[label]}. Use "
            "fewer folds, or leave that column out"
        )


def _check_splits(splits: list[tuple[IntArray, IntArray]], labels: LabelMatrix) -> None:
    """Raise a ValueError that names the label which a training part lacks."""
    for number, (train, _) in enumerate(splits):
        learnt = labels.codes[train]
        alike = np.flatnonzero(learnt.min(axis=0) == learnt.max(axis=0))
        if alike.size:
            label = int(alike[0])
            raise ValueError(
                f"split {number} of cv trains on samples all of which have {int(learnt[0, label])} in column "
                f"{labels.names.tolist()[label]!r} of y; use fewer folds, or leave that column out"
            )


def common_splits(
    search: SearchConfig, X: Samples, y: Array, fit_params: Mapping[str, object]
) -> tuple[list[tuple[IntArray, IntArray]], int | None, Params]:
    """Draw splits for several searches on the same samples, stratified by ``y``; return seed and fit arguments too."""
    state = None if search.random_state is None else check_random_state(search.random_state)
    efforts = [effort_of(model.base, search.engine, model.param_grid, [{}]) for model in search.models]
    cv = cv_of(search.cv, y, shared_effort(efforts), random_state=state)
    groups = {"groups": fit_params["groups"]} if "groups" in fit_params else {}
    splits = resolve_splits(cv, X, y, random_state=split_seed(state), split_params=groups)
    seed = None if state is None else int(state.randint(np.iinfo(np.int32).max))
    return splits, seed, {name: value for name, value in fit_params.items() if name != "groups"}
