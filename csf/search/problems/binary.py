"""Two classes, or several beside a null class: how they are read, studied and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf._common.messages import warn
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Keywords, Params
from csf.data.folds import Fold, pool_held_out, pooled
from csf.data.labels import read_labels
from csf.data.responses import class_gaps, class_scores, compare, lost_samples
from csf.evaluate import ScoreStore
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.registry import positive_class, truth_of
from csf.metrics.trials import Trial, known_hull, outcome
from csf.search.config import (
    BEYOND,
    MULTIPLES,
    Model,
    chooser_of,
    settings_of,
    strategy_of,
)
from csf.search.problems.binary_result import BinaryResult, conclude, with_mean_scores
from csf.search.problems.decisions import ScoreDecision, decision_of
from csf.search.problems.results import SearchRecord
from csf.search.problems.two_classes import TwoClasses
from csf.search.selection import Race, SettingRace, races
from csf.search.study import Study
from csf.search.training import Evaluator, FoldResult, HeldOutPredictions
from csf.strategies import ImbalanceRatio
from csf.thresholding.curve import sweep_several
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Samples
    from csf.data.folds import ClassShares, Task
    from csf.data.responses import Response
    from csf.metrics.base import Metric
    from csf.metrics.constraints import Constraint
    from csf.metrics.trials import OutcomeFields
    from csf.search.config import SearchConfig, SearchEffort
    from csf.search.plan import Plan


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
