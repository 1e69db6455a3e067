"""The kinds of problem that a search solves: what is trained, how it is judged, who wins, and what predicts then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.validation import check_class_weights, check_labels, check_weights
from csf.data.folds import Fold, bound_share
from csf.data.labels import read_classes, read_labels
from csf.data.responses import PROBABILITIES_FIRST, response_method
from csf.metrics import get_confusion_metric
from csf.resampling import MAX_BYTES
from csf.search.class_judge import ClassJudge
from csf.search.class_outcome import ClassOutcome, conclude_classes
from csf.search.defaults import (
    BEYOND,
    CLASS_MULTIPLES,
    FAST,
    MULTIPLES,
    class_splits,
    cv_of,
    margin_of,
    settings_of,
    steps_of,
)
from csf.search.fold_training import FoldResult
from csf.search.outcome import SearchOutcome, conclude
from csf.search.pooling import ThresholdJudge, warn_of_one_side
from csf.search.prefit import judge_prefit
from csf.search.race import Race, races
from csf.search.studies import make_studies
from csf.study.classes import ClassStudy
from csf.thresholding.class_rule import RuleOfClasses, aligned_scores, codes_of
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf._common.typing import Array, Estimator, IntArray
    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.metrics.confusion import ConfusionMetric
    from csf.search.config import SearchConfig
    from csf.search.defaults import Pace
    from csf.search.local import Judge
    from csf.trainers.base import Trainer, Training

__all__ = ["ClassProblem", "Problem", "ThresholdProblem", "read_problem", "serves_classes"]

_REFUSED = {
    "constraint": "rates of errors are those of two classes",
    "confidence": "it is about constraints",
    "min_gain": "the base's own decision with equal weights is kept unless others gain enough over it",
    "tol": "there is no upper bound for several classes",
}


class Planned(Protocol):
    """What is read of a plan."""

    @property
    def studies(self) -> list[Any]: ...

    @property
    def settings(self) -> list[dict[str, Any]]: ...

    @property
    def splits(self) -> list[tuple[IntArray, IntArray]]: ...

    @property
    def pace(self) -> Pace: ...


@dataclass(frozen=True, eq=False)
class ThresholdProblem:
    """Two classes, or several beside one that means nothing to find: their score has a threshold."""

    labels: Labels

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """The user's weights, checked."""
        return check_class_weights(sample_weight, codes > 0)

    def settings(self, config: SearchConfig, base: Estimator, n_samples: int | None) -> list[dict[str, Any]]:
        """Settings of the base's parameters, see `settings_of`."""
        multiples = [*MULTIPLES, *BEYOND] if self._races(config) else MULTIPLES
        return settings_of(config.param_grid, base, config.engine, multiples=multiples, n_samples=n_samples)

    def cv(self, config: SearchConfig, y: Array, pace: Pace, *, random_state: Any) -> Any:
        """Splitter, or the splits."""
        return cv_of(config.cv, y, pace, random_state=random_state)

    def studies(self, config: SearchConfig, folds: list[Fold], n_settings: int, pace: Pace) -> list[Any]:
        """One study for each setting, without trials."""
        pos = bound_share(folds, on_train=config.bound_on == "train")
        return make_studies(config, n_settings, pos=pos, pace=pace)

    def _races(self, config: SearchConfig) -> bool:
        """See `races`."""
        return races(config)

    def race(self, config: SearchConfig, plan: Planned, store: Any) -> Race | None:
        """What decides which settings are trained at further costs; ``None`` for all of them."""
        if not self._races(config) or len(plan.studies) == 1:
            return None
        return Race(plan.studies, steps_of(config.param_grid, plan.settings, plan.pace), store, config.aim)

    def judge(self, config: SearchConfig) -> Judge:
        """What says what trainings come to."""
        return ThresholdJudge(config.aim, tune=config.tunes)

    def prefit(self, config: SearchConfig, task: Task) -> tuple[SearchOutcome, ThresholdRule]:
        """Outcome for a base that is fitted already, and what predicts."""
        found, known, names = judge_prefit(config, task)
        return found, self._rule(found, config.base, known, names)

    def conclude(self, config: SearchConfig, plan: Planned, store: Any, stopped: str | None) -> SearchOutcome:
        """Outcome of a search that is over."""
        rules = {"margin": margin_of(config.threshold, plan.pace), "own": plan.pace.own}
        return conclude(config, plan.studies, plan.settings, len(plan.splits), store, stopped=stopped, **rules)

    def rule(self, found: SearchOutcome, trainer: Trainer, training: Training) -> ThresholdRule:
        """What predicts with the winner, trained on everything."""
        estimator = trainer.estimator(training)
        known = np.asarray(getattr(estimator, "classes_", np.arange(self.labels.classes.size)))
        answer = trainer.predict(training, "train", tune=found.config.tunes)
        warn_of_one_side(found.metric, replace(found.winner, threshold=found.threshold, score=found.score), answer)
        return self._rule(found, estimator, known, self.labels.decode(known))

    def rule_of_mean(self, found: SearchOutcome, mean: Estimator) -> ThresholdRule:
        """What predicts with the mean of the models of all folds."""
        return self._rule(found, mean, mean.classes_, self.labels.decode(mean.classes_))

    def _rule(self, found: SearchOutcome, estimator: Estimator, known: Array, names: Array) -> ThresholdRule:
        config = found.config
        return ThresholdRule.of(
            estimator,
            known=known,
            names=names,
            null=self.labels.null,
            threshold=found.threshold,
            tuned=config.tunes,
            costs=found.winner.costs,
            one_vs_rest=config.weighting == "one-vs-rest",
        )


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Three and more classes that are all alike: the largest of their scores decides, as it is or moved by a rule."""

    labels: Labels
    metric: ConfusionMetric

    @classmethod
    def of(cls, config: SearchConfig, labels: Labels) -> Self:
        """The problem of some labels; a ValueError for what is known of two classes alone."""
        try:
            metric = get_confusion_metric(config.metric)
        except ValueError as error:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass with "
                f"{labels.classes.size} classes: {error}"
            ) from None
        for name, why in _REFUSED.items():
            if getattr(config, name) is not None:
                raise ValueError(
                    f"{name}={getattr(config, name)!r} is not for several classes: {why}. Leave it out, or say with "
                    "null_class= which class means nothing to find"
                )
        if config.weighting != "class":
            raise ValueError(
                f"weighting={config.weighting!r} is for c_fn and c_fp beside a null class; several classes have a "
                "weight each. Leave it out"
            )
        if config.bound_on != "validation":
            raise ValueError(f"bound_on={config.bound_on!r}: there is no upper bound for several classes; leave it out")
        return cls(labels, metric)

    @property
    def _n_classes(self) -> int:
        return self.labels.classes.size

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """The user's weights, checked."""
        weight = check_weights(sample_weight, codes.shape[0])
        totals = np.bincount(codes, weight, self._n_classes)
        if not (totals > 0.0).all():
            empty = self.labels.classes[totals <= 0.0].tolist()
            raise ValueError(f"sample_weight is zero for every sample of the classes {empty}; drop them, or weigh some")
        return weight

    def settings(self, config: SearchConfig, base: Estimator, n_samples: int | None) -> list[dict[str, Any]]:
        """Settings of the base's parameters; of boosters none."""
        return settings_of(config.param_grid, base, config.engine, multiples=CLASS_MULTIPLES)

    def cv(self, config: SearchConfig, y: Array, pace: Pace, *, random_state: Any) -> Any:
        """Splitter, or the splits."""
        return class_splits(y, pace, random_state=random_state) if config.cv is None else config.cv

    def studies(self, config: SearchConfig, folds: list[Fold], n_settings: int, pace: Pace) -> list[Any]:
        """One study for each setting, without trials."""
        task = folds[0].task
        totals = np.bincount(task.codes, task.weight, self._n_classes)
        shares = totals / totals.sum()
        return [
            ClassStudy(self.metric, config.strategy, shares=shares, n_trials=config.n_trials) for _ in range(n_settings)
        ]

    def race(self, config: SearchConfig, plan: Planned, store: Any) -> None:
        """All settings are trained with all weights: their rules are chosen with them."""

    def judge(self, config: SearchConfig) -> Judge:
        """What says what trainings come to."""
        margins = response_method(config.base, PROBABILITIES_FIRST) == "decision_function"
        return ClassJudge(self.metric, self._n_classes, margins=margins, tune=config.tunes)

    def prefit(self, config: SearchConfig, task: Task) -> tuple[ClassOutcome, RuleOfClasses]:
        """Outcome for a base that is fitted already, and what predicts."""
        base = config.base
        check_is_fitted(base)
        codes = codes_of(np.asarray(base.classes_), self.labels.classes)
        self.labels.check_codes(base.classes_)
        scores = aligned_scores(base, task.X, codes, self._n_classes, PROBABILITIES_FIRST)
        everything, judge = np.arange(task.n_samples), self.judge(config)
        store = judge.store(task.codes, task.weight, samples=everything, max_bytes=MAX_BYTES)
        (study,) = self.studies(replace(config, n_trials=1), [Fold(task, everything, everything)], 1, FAST)
        (trial,) = study.ask_batch()
        result = FoldResult(decided=scores.argmax(axis=1), score=scores)
        fields, said = judge.judge([Fold(task, everything, everything)], [result], trial.costs)
        assert said is not None, "nothing was trained that could fail"
        store.hear((0, trial.number), study.record(trial, **fields), *said)
        stopped = "the base was fitted before: only its decision was tuned"
        found = conclude_classes(config, [study], [{}], 0, store, stopped=stopped)
        return found, found.rule_with(base, self.labels)

    def conclude(self, config: SearchConfig, plan: Planned, store: Any, stopped: str | None) -> ClassOutcome:
        """Outcome of a search that is over."""
        return conclude_classes(config, plan.studies, plan.settings, len(plan.splits), store, stopped=stopped)

    def rule(self, found: ClassOutcome, trainer: Trainer, training: Training) -> RuleOfClasses:
        """What predicts with the winner, trained on everything."""
        return found.rule_with(trainer.estimator(training), self.labels)


Problem: TypeAlias = ThresholdProblem | ClassProblem


def read_problem(config: SearchConfig, y: ArrayLike) -> tuple[Problem, IntArray]:
    """The kind of problem that a target poses, and its codes."""
    if config.null_class is None and config.pos_label is None and check_labels(y)[1].size > 2:
        labels, codes = read_classes(y)
        config.refuse_mean_of_folds(f"y has {labels.classes.size}")
        return ClassProblem.of(config, labels), codes
    labels, codes = read_labels(y, pos_label=config.pos_label, null_class=config.null_class)
    if labels.classes.size > 2:
        config.refuse_mean_of_folds(f"y has {labels.classes.size}")
    return ThresholdProblem(labels), codes


def serves_classes(metric: Any) -> bool:
    """Whether a metric has a meaning for several classes that are all alike."""
    try:
        return bool(get_confusion_metric(metric))
    except (TypeError, ValueError):
        return False
