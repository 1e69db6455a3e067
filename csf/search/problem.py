"""The kinds of problem that a search solves, and what a search is going to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, train_test_split
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from csf._common.messages import did_you_mean, warn
from csf._common.sklearn import clone, last_name, named_models, safe_indexing, slice_params
from csf._common.typing import Array, Costs, Estimator, IntArray
from csf._common.validation import check_class_weights, check_labels, check_weights
from csf.data.costs import WEIGHTINGS, CostChannel, check_class_weight, takes_weights
from csf.data.folds import Fold, bound_share, first_repeat, group_folds, make_folds, resolve_splits
from csf.data.labels import places_of, read_classes, read_labels
from csf.data.responses import PROBABILITIES_FIRST, respond, response_method
from csf.evaluate import MAX_BYTES, ScoreStore, seed_of
from csf.evaluate.choices import decisions
from csf.metrics import get_confusion_metric, get_constraint, get_metric
from csf.metrics.profile import ErrorProfile
from csf.metrics.registry import for_classes
from csf.metrics.row_costs import row_costs
from csf.metrics.trials import Trial
from csf.search.config import (
    AUTO,
    BEYOND,
    CLASS_MULTIPLES,
    FAST,
    MODEL,
    MULTIPLES,
    Model,
    chooser_of,
    class_splits,
    cv_of,
    effort_of,
    settings_of,
    shared_effort,
    split_seed,
    steps_of_models,
    strategy_of,
)
from csf.search.loop import Checkpoint
from csf.search.outcome import ClassOutcome, Outcome, SearchOutcome, conclude, conclude_classes, curve_of, reason_of
from csf.search.selection import Race, races, stable_choice
from csf.search.study import ClassStudy, Study
from csf.search.training import ClassJudge, FoldResult, ThresholdJudge, warn_of_one_side
from csf.strategies import EqualCostsFirst, ImbalanceRatio, Ladder, get_strategy
from csf.thresholding.certificates import Scored, certify
from csf.thresholding.linear_rule import RuleOfClasses, aligned_scores
from csf.thresholding.rule import ThresholdRule
from csf.trainers import Prepared, make_trainers, seeded
from csf.trainers.base import unset_seeds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from csf.data.folds import Task
    from csf.data.labels import Labels
    from csf.metrics.base import Metric
    from csf.metrics.confusion import ConfusionMetric
    from csf.search.config import SearchConfig, SearchEffort
    from csf.search.training import Judge
    from csf.strategies import Strategy
    from csf.trainers.base import Trainer, Training

# ---------------------------------------------------------------- studies as a search begins them


# A demand that the trivial answer does not keep, for each of them.
_WAYS_OUT = {"positive": "precision >= 0.8", "negative": "recall >= 0.8"}


def make_studies(config: SearchConfig, efforts: Sequence[SearchEffort], *, pos: float) -> list[Study]:
    """One study for each setting, which has an effort, without trials."""
    warn_of_trivial(config.aim, pos)
    options = {"pos": pos, "n_trials": config.n_trials, "tol": config.tol, "bound": config.bound}
    return [Study(config.aim, _begun(config, strategy_of(config.strategy, effort)), **options) for effort in efforts]


def _begun(config: SearchConfig, strategy: Strategy) -> Strategy:
    """The strategy, begun with equal costs where the gain rule compares with these; a ladder begins with them."""
    begins_equal = config.min_gain is None or isinstance(strategy, Ladder)
    return strategy if begins_equal else EqualCostsFirst(strategy)


def warn_of_trivial(metric: Metric, pos: float) -> None:
    """Tell where a search has nothing to find: the same answer to every sample is best."""
    answer = metric.trivial_answer(pos=pos)
    if answer is not None:
        warn(
            f"{metric.name} is largest when every sample is predicted {answer}, so a search for it would find just "
            f"that. Add a constraint that such predictions violate, such as constraint={_WAYS_OUT[answer]!r}, or "
            "maximise a metric that counts both errors, such as 'f1'"
        )


# ---------------------------------------------------------------- the plan


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """How bases are trained: all settings on the folds, and the winner once more on everything."""

    channel_of: Callable[[Estimator], CostChannel]
    normalize: str
    engine: str
    prepared: Prepared

    def trainers(self, base: Estimator, folds: list[Fold]) -> list[Trainer]:
        """Trainers of one base, one for each fold."""
        channel = self.channel_of(base)
        return make_trainers(base, folds, channel, self.normalize, self.prepared, engine=self.engine)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a search is going to do."""

    task: Task
    models: list[Model]
    settings: list[dict[str, Any]]
    bases: list[Estimator]
    splits: list[tuple[IntArray, IntArray]]
    folds: list[Fold]
    studies: list[Any]
    setup: TrainingSetup
    # Weights of the trainings of each setting, where they are not those of the task.
    weights: list[Array | None] | None = None

    def trainers(self) -> list[list[Trainer]]:
        """Trainers of all settings, one for each fold."""
        return [self.setup.trainers(base, self._folds(setting)) for setting, base in enumerate(self.bases)]

    def _folds(self, setting: int) -> list[Fold]:
        """Folds with the weights of the trainings of a setting."""
        task = self._task(setting)
        return self.folds if task is self.task else [fold.on(task) for fold in self.folds]

    def _task(self, setting: int) -> Task:
        """The task with the weights of the trainings of a setting."""
        weight = self.task.weight if self.weights is None else self.weights[setting]
        return self.task if weight is self.task.weight else replace(self.task, weight=weight)

    def final_trainer(self, setting: int, *, judged: bool = True) -> Trainer:
        """Trains a base on everything, and predicts what it has learnt from, where that is to be judged."""
        everything = np.arange(self.task.n_samples)
        folds = make_folds(self._task(setting), [(everything, everything if judged else everything[:1])])
        (trainer,) = self.setup.trainers(self.bases[setting], folds)
        return trainer

    def searched(self, config: SearchConfig, store: Any, stopped: str | None) -> Outcome:
        """What a search did; ``stopped`` says why it ended where that is not what the studies say."""
        return Outcome(
            config=config,
            studies=self.studies,
            settings=self.settings,
            n_splits=len(self.splits),
            store=store,
            stop_reason=stopped or "; ".join([reason_of(self.studies), *self._unsearched]),
        )

    @property
    def _unsearched(self) -> list[str]:
        """What to say of models whose parameters nobody named and `settings_of` does not know."""
        plain = [each.base for each in self.models if each.param_grid == AUTO and each.settings == [{}]]
        return [f"param_grid='auto' knows no parameter of {last_name(base)} to search" for base in plain]


def make_plan(
    config: SearchConfig, problem: Problem, task: Task, split_params: dict[str, Any], prepared: Prepared
) -> Plan:
    """Plan of a search in memory; ``prepared`` is what other searches on the same samples and splits prepared."""
    # One generator for the base and then the splits: the order of the two decides what a seed means.
    random_state = None if config.random_state is None else check_random_state(config.random_state)
    for model in config.models:
        check_class_weight(model.base)
    # Arguments of fit may stop boosters early, or keep the steps of a pipeline together.
    n_samples = None if task.fit_params else task.n_samples
    models = planned_models(config, problem, seeded_models(config.models, random_state), n_samples)
    bases = [with_setting(each.base, setting) for each in models for setting in each.settings]
    y = task.strata
    cv = problem.cv(config, y, shared_effort([each.effort for each in models]), random_state=random_state)
    if task.groups is not None and (config.cv is None or isinstance(config.cv, Real)):
        cv = group_folds(cv, y, task.groups, random_state=split_seed(random_state))
    splits = resolve_splits(cv, task.X, y, random_state=split_seed(random_state), split_params=split_params)
    folds = make_folds(task, splits)
    studies = problem.studies(config, folds, [each.effort for each in models for _ in each.settings])
    channel_of = partial(_channel_of, config, weighted=task.weight is not None)
    setup = TrainingSetup(channel_of, config.normalize, config.engine, prepared)
    settings = [setting for each in models for setting in each.named_settings]
    return Plan(task, models, settings, bases, splits, folds, studies, setup)


def planned_models(
    config: SearchConfig, problem: Problem, models: Sequence[Model], n_samples: int | None
) -> list[Model]:
    """The models with what is searched of each; ``n_samples`` as for `settings_of`."""
    found: list[Model] = []
    for model in models:
        settings = problem.settings(config, model, n_samples)
        effort = effort_of(model.base, config.engine, model.param_grid, settings)
        if _channel_of(config, model.base).kind == "none":
            why = f"{last_name(model.base)} takes no weights, so that other costs cannot reach it"
            effort = effort._replace(ladder_size=1, only_equal=why)
        first = sum(len(each.settings) for each in found)
        found.append(model._replace(settings=settings, first=first, effort=effort))
    return found


def _channel_of(config: SearchConfig, base: Estimator, *, weighted: bool = False) -> CostChannel:
    """How costs reach a base; not at all where it takes no weights, a ValueError where the user gave some."""
    if config.weighting == "class" and config.sample_weight_name is None and not takes_weights(base):
        if weighted:
            raise ValueError(
                f"{last_name(base)} takes no weights, so the given sample_weight cannot reach it. Drop sample_weight, "
                "or use a base whose fit has it"
            )
        return CostChannel("none", "")
    options = {"sample_weight_name": config.sample_weight_name, "weighted": weighted}
    return WEIGHTINGS[config.weighting](base, **options)


def seeded_models(models: list[Model], random_state: np.random.RandomState | None) -> list[Model]:
    """The models with their seeds, which do not depend on the order of the models.

    Each reads its seeds from the same place; the one with the most of them says where the seed of splits is read.
    """
    if random_state is None:
        return models
    state, found = random_state.get_state(), []
    for model in sorted(models, key=lambda model: len(unset_seeds(model.base))):
        random_state.set_state(state)
        found.append(model._replace(base=seeded(model.base, random_state)))
    return sorted(found, key=lambda model: model.name or "")


def with_setting(base: Estimator, setting: dict[str, Any]) -> Estimator:
    """Unfitted base with one setting of ``param_grid``; a ValueError with the names it has where it lacks one."""
    own = clone(base)
    try:
        # A frozen base takes none, and returns nothing.
        own.set_params(**clone(setting, safe=False))
        return own
    except ValueError as error:
        known = own.get_params(deep=True)
        name = next((name for name in setting if name not in known), None)
        if name is None:
            raise
        inner = next((other for other in known if other.endswith(f"__{name.rpartition('__')[2]}")), None)
        hint = did_you_mean(name, known) if inner is None else f". Did you mean {inner!r}?"
        raise ValueError(
            f"param_grid: Invalid parameter {name!r} for {type(base).__name__}; it has {', '.join(known)}{hint}"
        ) from error


def open_checkpoint(
    config: SearchConfig, bases: list[Estimator], data: tuple[Any, ...], studies: Sequence[Any]
) -> Checkpoint | None:
    """The file of a search, with the trials in it given to the studies; ``None`` where none is kept.

    ``data`` identifies the samples, their splits and what else trainings are given.
    """
    if config.checkpoint is None:
        return None
    # All that decides the trials, and nothing that does not: n_jobs, or how many trials there are to be.
    content = (
        *(*bases, *data),
        *(
            row_costs(config.metric) or get_metric(config.metric),
            get_constraint(config.constraint),
            get_strategy(config.strategy),
        ),
        *(config.threshold, config.normalize, config.bound_on, config.engine, config.weighting),
        *(config.sample_weight_name, config.min_gain is None),
    )
    checkpoint = Checkpoint(config.checkpoint, content)
    checkpoint.restore(list(studies))
    return checkpoint


# ---------------------------------------------------------------- fitted bases


def is_prefit(config: SearchConfig) -> bool:
    """Whether bases are to be taken as they are: frozen ones, or any with ``cv="prefit"``."""
    frozen = {isinstance(model.base, FrozenEstimator) for model in config.models}
    given = isinstance(config.cv, str) and config.cv == "prefit"
    if len(frozen) > 1 and not given:
        raise ValueError(
            "base mixes fitted models (FrozenEstimator) with unfitted ones. Comparing them on samples that some "
            "have seen would be unfair; give models of one kind, or fit the others and use cv='prefit'"
        )
    return given or frozen == {True}


class FittedBase(NamedTuple):
    """A fitted base, its classes, the user's names of them, and whether it was trained on codes."""

    base: Estimator
    known: Array
    names: Array
    coded: bool

    @classmethod
    def of(cls, base: Estimator, labels: Labels) -> Self:
        """A base that knows the user's labels, or codes where these can be of one order alone."""
        check_is_fitted(base)
        known = np.asarray(getattr(base, "classes_", labels.classes))
        if known.tolist() != list(range(labels.classes.size)) or known.tolist() == labels.classes.tolist():
            return cls(base, known, known, coded=False)  # the base may have other names besides
        labels.check_codes(known)
        return cls(base, known, labels.decode(known), coded=True)


def judge_fitted(
    config: SearchConfig, task: Task, judge: Judge, studies: Sequence[Any], results: Sequence[FoldResult], stopped: str
) -> Outcome:
    """What a search did that trained nothing: the pending trial of each study is judged on all samples."""
    everything = np.arange(task.n_samples)
    fold = Fold(task, everything, everything)
    store = judge.store(task.codes, task.weight, samples=everything, max_bytes=MAX_BYTES)
    store.draw_together(task.groups)
    for at, (study, result) in enumerate(zip(studies, results, strict=True)):
        (trial,) = study.trials
        fields, predictions = judge.judge([fold], [result], trial)
        assert predictions is not None, "nothing was trained that could fail"
        trial = study.record(trial, setting=at, **fields | {"fold_scores": ()})
        store.add_trial((at, trial.number), trial, *predictions)
    settings = [{} if model.name is None else {MODEL: model.name} for model in config.models]
    return Outcome(
        config=config, studies=list(studies), settings=settings, n_splits=0, store=store, stop_reason=stopped
    )


def _warn_of_one_unit(store: ScoreStore) -> None:
    """Warn where no part of the samples can choose a threshold that another one judges."""
    unit = "group" if store.has_groups else "sample"
    for name, among in (("positives", store.is_pos), ("negatives", ~store.is_pos)):
        if np.unique(store.samples[among]).size == 1:
            warn(
                f"the {name} are those of one {unit}: what to expect on new data cannot be estimated, and "
                f"corrected_score_ and score_interval_ are NaN. Give {name} of several {unit}s"
            )


# ---------------------------------------------------------------- samples for certificates


def calibration_split(config: SearchConfig, task: Task) -> tuple[Task, Task]:
    """Samples to search on, and samples to calibrate on; stratified, and groups as a whole."""
    every, share, groups = np.arange(task.n_samples), config.calibration, task.groups
    try:
        seed = split_seed(config.random_state)
        if groups is None:
            parts = train_test_split(every, test_size=share, stratify=task.codes, random_state=seed)
        else:
            splitter = StratifiedGroupKFold(max(round(1.0 / share), 2), shuffle=True, random_state=seed)
            parts = next(splitter.split(every, task.codes, groups))
    except ValueError as error:
        raise ValueError(f"calibration={share!r} of {task.n_samples} samples cannot be held out: {error}") from error
    searched, calibrated = (_part(task, np.sort(part)) for part in parts)
    return searched, calibrated if groups is None else _one_of_each_group(calibrated, seed_of(config.random_state))


def _one_of_each_group(task: Task, seed: int) -> Task:
    """A random sample of each group with the weight of all of it: these are independent, as tests need them."""
    assert task.groups is not None, "asked for where there are some"
    weight = np.ones(task.n_samples) if task.weight is None else task.weight
    # The first of exponential times at these rates is a sample with the probability of its weight.
    time = np.random.default_rng([seed, 3]).exponential(size=weight.size) / np.maximum(weight, np.finfo(float).tiny)
    order = np.lexsort([time, task.groups])
    groups, first = np.unique(task.groups[order], return_index=True)
    total = np.bincount(task.groups, weight)[groups]
    return replace(_part(task, order[first]), weight=total / total.mean(), groups=None)


def _part(task: Task, at: IntArray) -> Task:
    return replace(
        task,
        X=safe_indexing(task.X, at),
        codes=task.codes[at],
        weight=None if task.weight is None else task.weight[at],
        fit_params=slice_params(dict(task.fit_params), at, task.n_samples),
        labels=task.user_labels,
        groups=None if task.groups is None else task.groups[at],
    )


def certified(found: SearchOutcome, rule: ThresholdRule, task: Task) -> SearchOutcome:
    """The outcome with the best threshold that samples which nothing was trained on stand for."""
    assert found.config.confidence is not None, "asked for where there is one"
    assert found.store is not None, "searches in memory keep their scores"
    row, metric = found.row, found.metric
    curve, store = curve_of(found.store, row), found.store
    assert row.score is not None, "a curve was made of it"
    (named, score), is_pos = rule.scored(task.X), task.codes > 0
    wrong = is_pos & (task.user_labels.decode(task.codes) != named)
    searched = Scored(store.is_pos, row.score, store.weight if task.weight is not None else None, row.lost)
    test = certify(searched, metric, found.config.confidence, Scored(is_pos, score, task.weight, wrong))
    if not test.holds:
        warn(str(test))
    return replace(
        found,
        guarantee=test,
        threshold=test.threshold,
        score=metric.of(curve.at(test.threshold)),
        feasible=test.holds,
        constraint_value=next(iter(test.rates.values())),
        # The corrected score is that of the threshold which was taken, not of the best one.
        decided=decisions(replace(row, threshold=test.threshold)),
    )


# ---------------------------------------------------------------- kinds of problem


_REFUSED = {
    "constraint": (None, "rates of errors are those of two classes"),
    "confidence": (None, "it is about constraints"),
    "min_gain": (None, "the base's own decision with equal weights is kept unless others gain enough over it"),
    "tol": (None, "there is no upper bound for several classes"),
    "weighting": (
        "class",
        "costs of each problem are c_fn and c_fp beside a null class",
    ),
    "bound_on": ("validation", "there is no upper bound for several classes"),
}


@dataclass(frozen=True, eq=False)
class ThresholdProblem:
    """Two classes, or several beside one that means nothing to find: their score has a threshold."""

    labels: Labels

    def weights(self, sample_weight: ArrayLike | None, codes: IntArray) -> Array | None:
        """The user's weights, checked."""
        return check_class_weights(sample_weight, codes > 0)

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[dict[str, Any]]:
        """Settings of a model's parameters, see `settings_of`."""
        multiples = [*MULTIPLES, *BEYOND] if self._races(config) else MULTIPLES
        return settings_of(model.param_grid, model.base, config.engine, multiples=multiples, n_samples=n_samples)

    def cv(self, config: SearchConfig, y: Array, effort: SearchEffort, *, random_state: Any) -> Any:
        """Splitter, or the splits."""
        return cv_of(config.cv, y, effort, random_state=random_state)

    def studies(self, config: SearchConfig, folds: list[Fold], efforts: Sequence[SearchEffort]) -> list[Any]:
        """One study for each setting, which has an effort, without trials."""
        return make_studies(config, efforts, pos=bound_share(folds, on_train=config.bound_on == "train"))

    def _races(self, config: SearchConfig) -> bool:
        """See `races`."""
        return races(config)

    def race(self, config: SearchConfig, plan: Plan, store: Any) -> Race | None:
        """What decides which settings are trained at further costs; ``None`` for all of them."""
        if not self._races(config) or len(plan.studies) == 1:
            return None
        names = [str(each.name) for each in plan.models] if len(plan.models) > 1 else []
        # What bounds read of training parts is that of all folds.
        n_first = first_repeat(plan.splits) if names and config.bound_on == "validation" else 0
        steps, n_first = steps_of_models(plan.models), n_first if n_first < len(plan.splits) else 0
        return Race(plan.studies, steps, store, config.aim, names=names, n_first=n_first)

    def judge(self, config: SearchConfig) -> Judge:
        """What says what trainings come to."""
        return ThresholdJudge(config.aim, tune=config.tunes)

    def prefit(self, config: SearchConfig, task: Task) -> tuple[SearchOutcome, ThresholdRule]:
        """Outcome for a base that is fitted already, and what predicts."""
        metric, is_pos, labels = config.aim, task.codes > 0, task.user_labels
        pos = ErrorProfile.from_masks(is_pos, is_pos, sample_weight=task.weight).pos
        bases, studies, results = [FittedBase.of(model.base, labels) for model in config.models], [], []
        for base, _, _, coded in bases:
            answer = respond(base, task.X, 0 if coded else labels.null, tune=config.tunes)
            truth = task.codes if coded else labels.decode(task.codes)
            lost = is_pos & (truth != answer.found)
            results.append(FoldResult(decided=answer.decided, score=answer.score, lost=lost))
            studies.append(Study(metric, ImbalanceRatio(), pos=pos, n_trials=1, bound=config.bound))
            studies[-1].trials = [Trial(number=0, t=None, costs=(1.0, 1.0))]
        warn_of_trivial(metric, pos)
        stopped = "the base was fitted before: only its threshold was tuned"
        if len(bases) > 1:
            stopped = "the models were fitted before: only their thresholds were tuned, and the best of them was chosen"
        searched = judge_fitted(config, task, self.judge(config), studies, results, stopped)
        _warn_of_one_unit(searched.store)
        found = conclude(searched, chooser_of(config, [Model(None, None, None)]))
        return found, self._rule(found, *bases[found.winner.setting][:3])

    def conclude(self, config: SearchConfig, plan: Plan, store: Any, stopped: str | None) -> SearchOutcome:
        """Outcome of a search that is over."""
        return conclude(plan.searched(config, store, stopped), chooser_of(config, plan.models))

    def rule(self, found: SearchOutcome, trainer: Trainer, training: Training) -> ThresholdRule:
        """What predicts with the winner, trained on everything."""
        estimator = trainer.estimator(training)
        answer = trainer.predict(training, "train", tune=found.config.tunes)
        warn_of_one_side(found.metric, replace(found.winner, threshold=found.threshold, score=found.score), answer)
        return self._rule(found, estimator, *self.names_in(estimator))

    def rule_of_mean(self, found: SearchOutcome, mean: Estimator) -> ThresholdRule:
        """What predicts with the mean of the models of all folds."""
        return self._rule(found, mean, *self.names_in(mean))

    def names_in(self, estimator: Estimator) -> tuple[Array, Array]:
        """Classes that a trained base knows, and the user's names of them."""
        learnt = self.labels.learnt_by(estimator)
        return learnt.known, self.labels.decode(learnt.codes)

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
            metric = get_confusion_metric(for_classes(config.metric, labels.classes))
        except ValueError as error:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass with "
                f"{labels.classes.size} classes: {error}"
            ) from None
        config.refuse(_REFUSED, "several classes", ", or say with null_class= which class means nothing to find")
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
            raise ValueError(
                f"sample_weight is zero for every sample of the classes {empty}; remove these samples, or give at "
                "least one a positive weight"
            )
        return weight

    def settings(self, config: SearchConfig, model: Model, n_samples: int | None) -> list[dict[str, Any]]:
        """Settings of a model's parameters; of boosters none."""
        return settings_of(model.param_grid, model.base, config.engine, multiples=CLASS_MULTIPLES)

    def cv(self, config: SearchConfig, y: Array, effort: SearchEffort, *, random_state: Any) -> Any:
        """Splitter, or the splits."""
        return class_splits(y, effort, random_state=random_state) if config.cv is None else config.cv

    def studies(self, config: SearchConfig, folds: list[Fold], efforts: Sequence[SearchEffort]) -> list[Any]:
        """One study for each setting, which has an effort, without trials."""
        task = folds[0].task
        totals = np.bincount(task.codes, task.weight, self._n_classes)
        shares = totals / totals.sum()
        return [
            ClassStudy(self.metric, config.strategy, shares=shares, n_trials=config.n_trials, why=effort.only_equal)
            for effort in efforts
        ]

    def race(self, config: SearchConfig, plan: Plan, store: Any) -> None:
        """All settings are trained with all weights: their rules are chosen with them."""

    def judge(self, config: SearchConfig) -> Judge:
        """What says what trainings come to."""
        methods = {response_method(model.base, PROBABILITIES_FIRST) for model in config.models}
        if len(methods) > 1 and config.tunes:
            raise ValueError(
                "several models of several classes need the same kind of score, but only some of these have "
                "predict_proba. Wrap the others in CalibratedClassifierCV, or leave them out"
            )
        return ClassJudge(self.metric, self._n_classes, margins=methods == {"decision_function"}, tune=config.tunes)

    def prefit(self, config: SearchConfig, task: Task) -> tuple[ClassOutcome, RuleOfClasses]:
        """Outcome for a base that is fitted already, and what predicts."""
        base = config.base
        if named_models(base) is not None:
            raise ValueError(
                "csf cannot choose among several fitted models when y has several classes; give one of them, or "
                "unfitted models"
            )
        check_is_fitted(base)
        codes = places_of(np.asarray(base.classes_), self.labels.classes)
        self.labels.check_codes(base.classes_)
        scores = aligned_scores(base, task.X, codes, self._n_classes, PROBABILITIES_FIRST)
        everything = np.arange(task.n_samples)
        (study,) = self.studies(replace(config, n_trials=1), [Fold(task, everything, everything)], [FAST])
        study.ask_batch()
        result = FoldResult(decided=scores.argmax(axis=1), score=scores)
        stopped = "the base was fitted before: only its decision was tuned"
        found = conclude_classes(judge_fitted(config, task, self.judge(config), [study], [result], stopped))
        return found, found.rule_with(base, self.labels)

    def conclude(self, config: SearchConfig, plan: Plan, store: Any, stopped: str | None) -> ClassOutcome:
        """Outcome of a search that is over."""
        return conclude_classes(plan.searched(config, store, stopped))

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


def class_metric(metric: Any) -> ConfusionMetric | None:
    """The metric for several classes that are all alike; ``None`` where it has no meaning for them."""
    try:
        return get_confusion_metric(metric)
    except (TypeError, ValueError):
        return None


# ---------------------------------------------------------------- the mean of the models of all folds


def fold_mean(found: SearchOutcome, plan: Plan) -> tuple[SearchOutcome, VotingClassifier]:
    """The outcome with the threshold of the winner's mean over folds, and that mean.

    A held-out sample is scored by the models that have not seen it, one for each repeat of the folds: the mean of these
    takes the place of the winner's scores, so that threshold, value and what is computed from them are its own.
    """
    # Nothing is read off earlier trainings here, so each is of the winner's own parameters.
    trainers = replace(plan.setup, prepared=Prepared()).trainers(plan.bases[found.winner.setting], plan.folds)
    threads = all(trainer.releases_gil for trainer in trainers)
    trained: Any = Parallel(n_jobs=found.config.n_jobs, prefer="threads" if threads else None)(
        delayed(_trained)(trainer, fold, found.winner.costs) for trainer, fold in zip(trainers, plan.folds)
    )
    models, scores = zip(*trained)
    return _moved(found, np.concatenate(scores)), _mean_of(list(models))


def _trained(trainer: Trainer, fold: Fold, costs: Costs) -> tuple[Estimator, Array]:
    model = trainer.estimator(trainer.fit(costs))
    null = fold.labels.learnt_by(model).null
    score = respond(model, fold.X_test, null, tune=True, methods=("predict_proba",)).score
    assert score is not None, "it was asked for"
    return model, score


def _mean_of(models: list[Estimator]) -> VotingClassifier:
    """Fitted classifier of scikit-learn, which predicts where nothing else is installed than the models need."""
    mean = VotingClassifier([(f"fold{at}", model) for at, model in enumerate(models)], voting="soft")
    mean.estimators_, mean.le_ = models, LabelEncoder().fit(models[0].classes_)
    mean.classes_, mean.named_estimators_ = mean.le_.classes_, Bunch(**dict(mean.estimators))
    if hasattr(models[0], "feature_names_in_"):
        mean.feature_names_in_ = models[0].feature_names_in_
    return mean


def _moved(found: SearchOutcome, scores: Array) -> SearchOutcome:
    """The outcome whose winner has the mean of the scores of each sample."""
    store, metric = found.store, found.metric
    assert store is not None, "a search in memory has one"
    times = np.bincount(store.samples)
    mean = (np.bincount(store.samples, scores) / np.maximum(times, 1))[store.samples]
    row = replace(found.row, score=mean)
    best = curve_of(store, row).best(metric, metric.constraint)
    store.put(replace(row, threshold=best.threshold, value=best.value))
    threshold, profile = best.threshold, best.profile
    if found.config.threshold == "stable" and (cut := stable_choice(store, metric, among=found.key)) is not None:
        threshold, profile = cut.threshold, cut.profile
    value, constraint = metric.of(profile), metric.constraint
    store.put(replace(row, threshold=threshold, value=value))
    rate = None if constraint is None else constraint.quantity.of(profile)
    return replace(found, threshold=threshold, score=value, feasible=best.feasible, constraint_value=rate)
