"""Several classes that are all alike: evaluation, and the result of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.messages import shown
from csf._common.sklearn import named_models
from csf._common.typing import Array, Estimator, IntArray, Label, Params
from csf._common.validation import check_labels, check_weights, floats
from csf.data.folds import Fold, pooled
from csf.data.labels import learnt_classes, read_classes, refuse_weightless
from csf.data.responses import PROBABILITIES_FIRST, method_once_fitted
from csf.evaluate import Candidate, kept
from csf.evaluate.draws import LARGE
from csf.evaluate.entry_means import class_shares
from csf.metrics import get_confusion_metric, get_constraint
from csf.metrics.constraints import named
from csf.metrics.demands import ConstrainedClasses, demands_on
from csf.metrics.registry import for_classes
from csf.metrics.trials import Trial, nothing_worked
from csf.search.config import (
    CLASS_MULTIPLES,
    Model,
    class_splits,
    settings_of,
)
from csf.search.problems.base import FittedBase, Problem, Studies
from csf.search.problems.results import (
    AnsweredResult,
    SearchRecord,
    column,
    held_out_units,
    trial_table,
    warn_of_open_gap,
    warn_of_violation,
)
from csf.search.selection import EqualWeightsFirst, drops_settings
from csf.search.study import MulticlassStudy, judged_fields
from csf.search.supports import CLASSES
from csf.search.training import Evaluator, FoldResult, HeldOutPredictions
from csf.thresholding.alerts import (
    AlertLimit,
    ComparedRows,
    WrongAlerts,
    largest_of,
    no_scores,
    sureness_of,
)
from csf.thresholding.batch import shares_limited
from csf.thresholding.certificates import STRICTER, Decisions
from csf.thresholding.class_answers import ClassAnswers, ClassCandidates, ClassReviews, LabelledRows
from csf.thresholding.class_choice import ARGMAX, TUNED, MulticlassChoice, MulticlassStore
from csf.thresholding.evaluation import Evaluation
from csf.thresholding.exact_tests import ScoredSamples
from csf.thresholding.linear_rule import (
    ClassProbabilityRule,
    MulticlassRule,
    RuleRows,
    aligned_scores,
    confusion_of,
    cross_fitted,
    tune_rule,
)
from csf.thresholding.prevalence import KnownSamples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Estimator, Samples
    from csf.data.folds import ClassShares, Fold, Task
    from csf.data.labels import Labels
    from csf.evaluate import Assessment
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.constraints import Review
    from csf.metrics.trials import Trial
    from csf.search.config import Model, SearchConfig, SearchEffort
    from csf.search.plan import Plan
    from csf.search.training import Evaluator
    from csf.thresholding.class_choice import MulticlassStore


@dataclass(frozen=True, eq=False)
class MulticlassProblem(Problem):
    """Problem of three or more classes without a null class: the largest score decides, shifted by a rule or not."""

    metric: ConfusionMetric
    supports = CLASSES

    @classmethod
    def matches(cls, config: SearchConfig, y: ArrayLike) -> bool:
        """Match three and more classes without a positive or a null class."""
        return config.null_class is None and config.pos_label is None and check_labels(y)[1].size > 2

    @classmethod
    def read(cls, config: SearchConfig, X: Samples, y: ArrayLike, given: Mapping[str, object]) -> tuple[Self, IntArray]:
        """Read a target and its codes; raise a ValueError for what is known of two classes alone."""
        labels, codes = read_classes(y)
        return cls.of_labels(config, labels, ", or say with null_class= which class means nothing to find"), codes

    @classmethod
    def of_labels(cls, config: SearchConfig, labels: Labels, way: str = "") -> Self:
        """Build the problem of known classes; raise a ValueError, with a ``way`` out, for what they cannot have."""
        try:
            metric = get_confusion_metric(for_classes(config.metric, labels.classes))
        except ValueError as error:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass with "
                f"{labels.classes.size} classes: {error}"
            ) from None
        cls.supports.check(config, way=way)
        if (constraint := get_constraint(config.constraint)) is not None:
            metric = ConstrainedClasses(metric, demands_on(constraint, labels.classes.tolist()))
        return cls(labels, metric)

    @property
    def _n_classes(self) -> int:
        return self.labels.classes.size

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """Check the user's weights and return them."""
        weight = check_weights(sample_weight, codes.shape[0])
        totals = np.bincount(codes, weight, self._n_classes)
        refuse_weightless(self.labels.classes[totals <= 0.0].tolist())
        return weight

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[Params]:
        """List the settings of a model's parameters; boosters have none."""
        return settings_of(model.param_grid, model.base, config.engine, multiples=CLASS_MULTIPLES)

    def cv(self, config: SearchConfig, y: Array, effort: SearchEffort, *, random_state: Any) -> Any:
        """Return the splitter, or the splits."""
        return class_splits(y, effort, random_state=random_state) if config.cv is None else config.cv

    def studies(self, config: SearchConfig, shares: ClassShares, efforts: Sequence[SearchEffort]) -> Studies:
        """Create a study without trials for each setting, which has an effort."""
        options = {"shares": shares.class_shares, "n_trials": config.n_trials}
        return [MulticlassStudy(self.metric, config.strategy, **options, why=effort.only_equal) for effort in efforts]

    def race(self, config: SearchConfig, plan: Plan, store: object) -> EqualWeightsFirst | None:
        """Return what drops settings that equal weights show to be no better; ``None`` where all go on."""
        small = plan.n_rows < LARGE or len(plan.models) > 1
        if small or len(plan.studies) < 3 or config.constraint is not None or not drops_settings(config):
            return None
        return EqualWeightsFirst(plan.studies)

    def judge(self, config: SearchConfig) -> Evaluator:
        """Create the judge of trainings."""
        methods = {method_once_fitted(model.base, PROBABILITIES_FIRST) for model in config.models}
        if len(methods) > 1 and config.tunes:
            raise ValueError(
                "several models of several classes need the same kind of score, but only some of these have "
                "predict_proba. Wrap the others in CalibratedClassifierCV, or leave them out"
            )
        return MulticlassEvaluator(
            self.metric, self._n_classes, margins=methods == {"decision_function"}, tune=config.tunes
        )

    def fitted_result(self, config: SearchConfig, base: FittedBase, task: Task) -> FoldResult:
        """Score all samples by a fitted base."""
        if named_models(config.base) is not None:
            raise ValueError(
                "csf cannot choose among several fitted models when y has several classes; give one of them, or "
                "unfitted models"
            )
        scores = aligned_scores(base.base, task.X, self.labels.classes, PROBABILITIES_FIRST)
        self.labels.check_codes(learnt_classes(base.base))
        return FoldResult(decided=scores.argmax(axis=1), score=scores)

    def fitted_rule(self, outcome: MulticlassResult, base: FittedBase, result: FoldResult) -> MulticlassRule:
        """Build the rule of a fitted base."""
        return self.rule_of(outcome, base.base)

    def concluded(self, searched: SearchRecord, models: Sequence[Model]) -> MulticlassResult:
        """Choose the winner, and its rule."""
        return conclude_classes(searched, self.labels)

    def rule_of(self, result: MulticlassResult, estimator: Estimator, method: str | None = None) -> MulticlassRule:
        """Build the rule of a winner that is a fitted estimator."""
        return result.rule_with(estimator, self.labels)

    def with_mean_scores(self, result: MulticlassResult, mean: Array, folds: list[Fold]) -> MulticlassResult:
        """Replace the winner's held-out scores by means over models, and the rule."""
        store, metric = result.store, result.metric
        row, score = store[result.key], kept(mean)
        proba = store.probabilities(score, row.costs)
        judged = cross_fitted(proba, store.truth, metric, store.parts(score), weight=store.weight)
        small = row.decided.dtype
        decided = score.argmax(axis=1).astype(small)
        store.put(replace(row, score=score, decided=decided, judged=judged.astype(small)))
        return ruled(result)

    def held_out_scores(self, model: Estimator, fold: Fold) -> Array:
        """Compute the probabilities of all classes in what a fold holds out."""
        return aligned_scores(model, fold.X_test, self.labels.classes, ("predict_proba",))


def class_metric(metric: Any) -> ConfusionMetric | None:
    """Return the metric for several classes without a null class; ``None`` where it has no meaning for them."""
    try:
        return get_confusion_metric(metric)
    except (TypeError, ValueError):
        return None


class MulticlassEvaluator(Evaluator):
    """Judge of trials without a null class; ``margins`` is true where scores are not probabilities."""

    def __init__(self, metric: ConfusionMetric, n_classes: int, *, margins: bool, tune: bool) -> None:
        self.metric, self.n_classes, self.margins, self.tune = metric, n_classes, margins, tune

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> MulticlassStore:
        """Create the store of held-out scores."""
        self._store = MulticlassStore(
            truth, weight, n_classes=self.n_classes, margins=self.margins, samples=samples, max_bytes=max_bytes
        )
        return self._store

    def _judged(self, folds: list[Fold], results: list[FoldResult], trial: Trial) -> tuple[Params, HeldOutPredictions]:
        store, decided = self._store, pooled([result.decided for result in results])
        plain, tuned, judged, score, codes = self._confusion(decided), None, None, None, None
        if self.tune:
            score = kept(pooled([result.score for result in results]))
            proba = store.probabilities(score, trial.costs)
            rule = tune_rule(proba, store.truth, self.metric, weight=store.weight)
            codes = cross_fitted(proba, store.truth, self.metric, store.parts(score), weight=store.weight)
            tuned, judged = self._confusion(rule.decide(proba)), self._confusion(codes)
        of_folds = tuple(self._fold_score(fold, result) for fold, result in zip(folds, results))
        fields = {**judged_fields(self.metric, plain, tuned, judged), "fold_scores": of_folds}
        return fields, HeldOutPredictions(score, decided, codes)

    def _confusion(self, decided: IntArray) -> Array:
        return confusion_of(self._store.truth, decided, self.n_classes, self._store.weight)

    def _fold_score(self, fold: Fold, result: FoldResult) -> float | None:
        """Compute the metric of the model's own decision in one fold; ``None`` where the fold has no weight."""
        if fold.weight_test is not None and not fold.weight_test.any():
            return None
        assert result.decided is not None, "failed trainings are left out before"
        confusion = confusion_of(fold.y_test, result.decided, self.n_classes, fold.weight_test)
        return float(self.metric.value(confusion))


@dataclass(frozen=True, eq=False, kw_only=True)
class MulticlassResult(AnsweredResult):
    """Result of a search of class weights and a rule."""

    kind = "multiclass"
    supports = CLASSES

    store: MulticlassStore
    rule: ClassProbabilityRule = field(default_factory=lambda: ClassProbabilityRule.argmax(0))
    confusion: Array = field(default_factory=lambda: np.empty((0, 0)))
    names: Sequence[Label] = ()
    # The candidate, where there was no choice among several.
    only: Candidate | None = None
    # Decisions on the held-out samples that took the place of the winner's.
    decided: IntArray | None = None

    def _assessed(self, seed: int) -> Assessment:
        store, candidate, only = self.store, self.candidate, self.only
        if self.decided is not None:
            store, candidate = store.with_decisions(candidate.key, self.decided), Candidate(candidate.key, ARGMAX)
            only = candidate
        choice = MulticlassChoice(store, self.metric, only=only, random_state=seed)
        return choice.assess(candidate, trained=self.n_splits > 0)

    def published(self) -> Params:
        """Return the attributes of the fitted search."""
        return super().published() | {
            "class_costs_": np.array(self.winner.costs),
            "rule_": self.rule,
            "confusion_": self.confusion,
            "constraint_value_": self.metric.rate(self.confusion),
        }

    @property
    def rates(self) -> dict[str, float]:
        """Constrained values on held-out samples, by their names."""
        demands = self.metric.demands
        names = named([demand.constraint for demand in demands])
        return {name: float(demand.rate(self.confusion)) for name, demand in zip(names, demands)}

    @property
    def learnt_shares(self) -> Array:
        """Shares of the classes, by code and by weight, that the winner was trained with."""
        return class_shares(self.store, self.store.truth, self.store.n_classes)

    @property
    def probable(self) -> KnownSamples | None:
        """Held-out entries with their probabilities; ``None`` without scores."""
        store, row = self.store, self.store[self.candidate.key]
        if row.score is None:
            return None
        return KnownSamples.of(store, store.probabilities(row.score, row.costs))

    def reviews(self, review: Review, names: Sequence[Label]) -> ClassReviews:
        """Tune the rule of the classes and a review on the held-out entries."""
        known = self._held_out_rows()
        return ClassReviews.tuned(review, self.metric, self.names, known).limited(known)

    def tested_reviews(
        self, review: Review, rule: MulticlassRule, calibration: Task, confidence: float
    ) -> ClassReviews:
        """Tune the rule of the classes and a review, and test its limits on wrong answers."""
        known, weight = self._held_out_rows(), calibration.weight
        weight = np.ones(calibration.n_samples) if weight is None else weight
        tested = LabelledRows(rule.rows(calibration.X), calibration.codes, weight, calibration.groups)
        return ClassReviews.tuned(review, self.metric, self.names, known).limited(known, tested, confidence)

    def _held_out_rows(self) -> LabelledRows:
        """Collect the held-out entries as the winner's rule sees them."""
        store, row = self.store, self.store[self.candidate.key]
        assert row.score is not None, "asked for where scores are tuned"
        proba = store.probabilities(row.score, row.costs)
        rows = RuleRows(row.score.astype(np.float64), proba)
        if not self.rule.is_argmax:
            rows = RuleRows(self.rule.scores(proba), proba, self.rule.worth)
        groups = store.samples if store.has_groups else None
        return LabelledRows(rows, store.truth, store.weights_in(store.copies), groups, store.repeats)

    def evaluation(self, seed: int, review: Review | None = None) -> Evaluation:
        """Return what evaluates the answers of the rule, within limits or with reviews."""
        choice = MulticlassChoice(self.store, self.metric, only=self.only, random_state=seed)
        candidates, terms = ClassCandidates(choice, self.names), choice.terms(0.0 if review is None else review.error)
        return Evaluation(candidates.answers(self.candidate, terms.weight), terms, candidates, terms, seed)

    def review_codes(self, bands: ClassReviews, answers: ClassAnswers) -> IntArray:
        """Return the answers with reviews to the entries of an evaluation; the number of classes is a review."""
        return bands.decide(answers.known.rows)

    def held_out_rows(self) -> ComparedRows:
        """Collect the scores and probabilities of the held-out rows."""
        if self.store[self.candidate.key].score is None:
            raise no_scores("for wrong_at_most to compare rows by")
        return ComparedRows(self._held_out_rows().rows, self.store.truth, self.store)

    def scored_rows(self, rule: MulticlassRule, task: Task) -> ComparedRows:
        """Score samples by the rule that predicts."""
        return ComparedRows(rule.rows(task.X), task.codes, held_out_units(task))

    def alerts_among(
        self, known: ComparedRows, code: int, bands: Any = None, limited: Sequence[int] = ()
    ) -> WrongAlerts:
        """Collect the probabilities of rows of all other classes; rows that are alerts of another one are below all."""
        answers = largest_of(known.rows.scores, limited or [code]) if bands is None else bands.decide(known.rows)
        return known.alerts(sureness_of(known.rows.proba, code, answers), code)

    def alert_limits(self, wrong_at_most: object, names: list[Label], bands: Any = None) -> dict[int, AlertLimit]:
        """Read limits on wrong alerts by class."""
        shares = shares_limited(wrong_at_most, names, "class", "wrong_at_most", example=0.2)
        if len(shares) == len(names):
            raise ValueError(
                f"wrong_at_most={shown(wrong_at_most)} limits all classes; leave one without a limit, for "
                "the other rows"
            )
        return {code: AlertLimit(self.wrong_alerts(code, bands, list(shares)), share) for code, share in shares.items()}

    def capacity_limits(self, at_most: object, names: list[Label]) -> dict[int, float]:
        """Read shares of the rows by class."""
        shares = shares_limited(at_most, names, example=50)
        if len(shares) == len(names) and sum(shares.values()) < 1.0:
            raise ValueError(
                f"at_most={shown(at_most)} limits all classes to less than all rows; leave one without a limit"
            )
        if self.store[self.candidate.key].score is None:
            raise no_scores("to rank rows by")
        return shares

    def stricter(self) -> list[MulticlassResult]:
        """Tune the rule to stricter and stricter levels; the strictest one comes first, and the winner's own last."""
        store, row = self.store, self.store[self.candidate.key]
        assert row.score is not None, "rules are tuned on scores"
        proba = store.probabilities(row.score, row.costs)
        levels = [self.metric.tightened(share) for share in STRICTER]
        rules = [tune_rule(proba, store.truth, level, weight=store.weight) for level in levels]
        results = [self._decided_by(rule, rule.decide(proba)) for rule in rules]
        is_argmax = self.rule.is_argmax
        return results + ([self._decided_by(self.rule, row.decided.astype(np.int64))] if is_argmax else [])

    def _decided_by(self, rule: ClassProbabilityRule, decided: IntArray) -> MulticlassResult:
        """Take a rule, and its decisions about the held-out entries."""
        confusion = self.store.confusion(decided)
        value = float(self.metric.value(confusion))
        candidate = Candidate(self.key, ARGMAX if rule.is_argmax else TUNED)
        # The corrected score is that of the rule which is taken, not of the best one.
        return replace(self, rule=rule, confusion=confusion, score=value, decided=decided, candidate=candidate)

    def rows_of(self, rule: MulticlassRule, task: Task) -> RuleRows:
        """Score samples."""
        return rule.rows(task.X)

    def decide(self, rows: RuleRows) -> IntArray:
        """Decide scored rows, whose scores are those of the winner's own decision."""
        return rows.codes if self.rule.is_argmax else self.rule.decide(rows.proba)

    def views(
        self,
        truth: IntArray,
        decided: Sequence[IntArray],
        samples: ScoredSamples,
        held_back: Task | None = None,
    ) -> list[Decisions]:
        """Read decisions as each part of the constraint does."""
        views = []
        for demand in self.metric.demands:
            marks = [demand.cells(truth, codes) for codes in decided]
            views.append(Decisions(replace(samples, is_pos=marks[0][0]), [predicted for _, predicted in marks]))
        return views

    def in_rule(self, rule: MulticlassRule) -> MulticlassRule:
        """Put the rule of this result into one that predicts."""
        return replace(rule, rule=self.rule, own=self.rule.is_argmax)

    @property
    def table(self) -> dict[str, Array]:
        """Table of the trials: metric of the base's decision, the tuned rule, and rules tuned on other samples."""

        def value(trial: Trial, name: str) -> float | None:
            matrix = getattr(trial, name)
            return None if matrix is None else float(self.metric.value(np.array(matrix)))

        columns = {f"{name}_value": column(self.trials, partial(value, name=name)) for name in ("tuned", "judged")}
        return trial_table(self.trials, self.settings, self.n_splits, judged=columns)

    def rule_with(self, estimator: Estimator, labels: Labels) -> MulticlassRule:
        """Build the rule that predicts with a fitted estimator."""
        row = self.store[self.candidate.key]
        calibrator, precision = None, MulticlassRule.precision
        if row.score is not None:
            calibrator, precision = self.store.calibrator(row.score), row.score.dtype.name
        known = labels.learnt_by(estimator).known
        weights, plain = self.store.class_weights(row.costs), self.candidate.rule == ARGMAX
        return MulticlassRule(estimator, labels.classes, known, self.rule, weights, calibrator, plain, precision)

    @staticmethod
    def read_metric(metric: Any) -> ConfusionMetric:
        """Read a metric of several classes."""
        return get_confusion_metric(metric)

    def at_shares(
        self, shares: ArrayLike, rule: MulticlassRule | None
    ) -> tuple[MulticlassResult, MulticlassRule | None]:
        """Adapt the result and the rule to other shares of classes; distributions within each class stay."""
        new, n_classes = floats(shares, "pos"), self.store.n_classes
        if new.shape != (n_classes,) or not (new > 0.0).all() or not np.isfinite(new).all():
            raise ValueError(f"pos must be one positive share for each of {n_classes} classes, got {shares!r}")
        store = self.store.at_shares(new / new.sum())
        if np.allclose(store.odds, self.store.odds):
            return self, rule
        row = store[self.candidate.key]
        if row.score is None:
            raise ValueError("the search kept the base's own decisions (threshold=None), so that no rule can move")
        # Probabilities of the calibration samples were those at the shares of before.
        tuned = Candidate(row.key, TUNED)
        result = ruled(replace(self, store=store, candidate=tuned, only=tuned, calibrated=None, trained=None))
        if rule is None:
            return result, None
        return result, replace(rule, rule=result.rule, class_weights=store.class_weights(row.costs), own=False)


def conclude_classes(searched: SearchRecord, labels: Labels) -> MulticlassResult:
    """Conclude a search of several classes; raise a TypeError or ValueError where no trial worked."""
    if not len(searched.store):
        raise nothing_worked(searched.trials)
    winner = MulticlassChoice(searched.store, searched.metric).winner
    result = MulticlassResult(**searched.shared, candidate=winner, names=tuple(labels.classes.tolist()))
    warn_of_open_gap(result.winner)
    result = ruled(result)
    if not result.feasible:
        warn_of_violation(searched.config.constraint, result.metric.rate(result.confusion))
    return result


def ruled(result: MulticlassResult) -> MulticlassResult:
    """Add the rule of the candidate to an outcome, and the rule's decisions about all held-out entries."""
    metric = result.metric
    rule, confusion = tuned_decision(result.store, metric, result.candidate)
    value, feasible = float(metric.value(confusion)), not metric.missing(confusion)
    return replace(result, guarantee=None, rule=rule, confusion=confusion, score=value, feasible=feasible, decided=None)


def tuned_decision(
    store: MulticlassStore, metric: ConfusionMetric, candidate: Candidate
) -> tuple[ClassProbabilityRule, Array]:
    """Tune the rule of a candidate on all held-out entries; return it with the confusion matrix of its decisions."""
    row, rule = store[candidate.key], ClassProbabilityRule.argmax(store.n_classes)
    decided = row.decided
    if candidate.rule == TUNED:
        assert row.score is not None, "rules are tuned on scores"
        proba = store.probabilities(row.score, row.costs)
        rule = tune_rule(proba, store.truth, metric, weight=store.weight)
        decided = rule.decide(proba)
    return rule, confusion_of(store.truth, decided, store.n_classes, store.weight)
