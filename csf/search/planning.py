"""From options and data to the plan of a search, its run, and its result; calibration samples."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from csf._common.messages import did_you_mean
from csf._common.sklearn import clone, last_name, last_step, open_callback_context, safe_indexing, slice_params
from csf._common.typing import Estimator, IntArray, Params
from csf.data.costs import WEIGHTINGS, CostChannel, check_class_weight, no_weights
from csf.data.folds import FoldShares, check_training_parts, enough_splits, group_folds, make_folds, resolve_splits
from csf.data.responses import keeps_samples
from csf.evaluate import MAX_BYTES
from csf.metrics import get_constraint, get_metric
from csf.metrics.registry import constraint_of_truth, for_classes
from csf.metrics.row_costs import row_costs
from csf.search.config import BY_PREDICTION, CROSS_FIT, Model, effort_of, numbered, shared_effort, split_seed
from csf.search.loop import Checkpoint, Forecast, SearchLoop
from csf.search.plan import OUT_OF_BAG, Finished, MemoryPlan, OutOfBagSetup, TrainingSetup
from csf.search.shortlist import LISTED, shortlist
from csf.strategies import get_strategy
from csf.trainers import Prepared, seeded
from csf.trainers.base import unset_seeds
from csf.trainers.boosters import check_early_stopping
from csf.trainers.out_of_bag import is_bagged, unfit_bags

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.search.config import SearchConfig
    from csf.search.loop import Deadline
    from csf.search.plan import Plan
    from csf.search.problems.base import Problem
    from csf.search.study import History
    from csf.thresholding.rule import ThresholdClassifier


def plan_in_memory(
    search: ThresholdClassifier,
    config: SearchConfig,
    problem: Problem,
    task: Task,
    prepared: Prepared,
    max_bytes: int = MAX_BYTES,
) -> MemoryPlan:
    """Plan a search of rows in memory for a classifier.

    ``task`` has all arguments of the base's ``fit`` and of the splitter, which the classifier tells apart; ``prepared``
    are data of other searches on the same samples and splits.
    """
    fit_params, split_params = search._route(task.fit_params)
    plan = _planned(config, problem, replace(task, fit_params=fit_params), split_params, prepared, max_bytes)
    plan = problem.extended(config, plan)
    listed = shortlist(config, problem, plan)
    if listed is None:
        return plan
    return replace(plan, studies=list(listed.studies), notes=[*plan.notes, LISTED], listed=listed)


def _planned(
    config: SearchConfig, problem: Problem, task: Task, split_params: Params, prepared: Prepared, max_bytes: int
) -> MemoryPlan:
    """Plan the trainings that all kinds of problem have."""
    # One generator for the base and then the splits: the order of the two decides what a seed means.
    random_state = None if config.random_state is None else check_random_state(config.random_state)
    for model in config.models if problem.searches_costs else ():
        check_class_weight(model.base)
    # Arguments of fit may stop boosters early, or keep the steps of a pipeline together.
    n_samples = None if task.fit_params else task.n_samples
    models = planned_models(config, problem, seeded_models(config.models, random_state), n_samples)
    bases = [with_setting(model.base, setting) for model in models for setting in model.settings]
    if task.pairwise and (config.averages_folds or config.confidence is not None):
        raise ValueError(
            "refit='folds' and confidence= train on a part of the samples, but a precomputed kernel of new samples has "
            "a column for each of them; use refit=True without confidence"
        )
    for base in bases:
        check_early_stopping(base, task.fit_params)
    why = no_out_of_bag(config, problem, models, bases, task)
    if config.asks_out_of_bag:
        config = replace(config, cv=None)
    if why is None:
        everything = np.arange(task.n_samples)
        splits: list[tuple[IntArray, IntArray]] = [(everything, everything)]
        models = [model._replace(effort=model.effort._replace(ladder_size=1, only_equal=_ALIKE)) for model in models]
    else:
        splits = _splits(config, problem, models, task, split_params, random_state)
    folds = make_folds(task, splits)
    check_training_parts(folds)
    shares = FoldShares(folds, on_train=config.bound_on == "train")
    studies = problem.studies(config, shares, [model.effort for model in models for _ in model.settings])
    channel_of = partial(_channel_of, config, weighted=task.weight is not None)
    make = OutOfBagSetup if why is None else TrainingSetup
    setup = make(channel_of, config.normalize, config.engine, prepared)
    settings = [setting for model in models for setting in model.named_settings]
    notes = [OUT_OF_BAG if why is None else why] if why != "" else []
    return MemoryPlan(
        models=models,
        settings=settings,
        bases=bases,
        studies=studies,
        notes=notes,
        task=task,
        splits=splits,
        setup=setup,
        max_bytes=max_bytes,
    )


def _splits(
    config: SearchConfig,
    problem: Problem,
    models: Sequence[Model],
    task: Task,
    split_params: Params,
    random_state: np.random.RandomState | None,
) -> list[tuple[IntArray, IntArray]]:
    """Choose the splits of a search."""
    y = task.strata
    cv = problem.cv(config, y, shared_effort([model.effort for model in models]), random_state=random_state)
    if task.groups is not None and (config.cv is None or isinstance(config.cv, Real)):
        cv = group_folds(cv, y, task.groups, random_state=split_seed(random_state))
    splits = resolve_splits(cv, task.X, y, random_state=split_seed(random_state), split_params=split_params)
    if config.may_hold_out_less:
        share = shared_effort([model.effort for model in models]).enough
        splits = enough_splits(splits, task.codes, problem.stakes(task), task.groups, share=share)
    return splits


# Why costs are equal with out-of-bag scores.
_ALIKE = "bags drawn by weights leave few out-of-bag scores of heavy samples; cv=5 allows other costs"


def no_out_of_bag(
    config: SearchConfig, problem: Problem, models: Sequence[Model], bases: Sequence[Estimator], task: Task
) -> str | None:
    """Say why folds take the place of out-of-bag scores, "" where nobody expects these; ``None`` where they do not.

    They are what ``cv=None`` does for bases that are bagged, where costs are equal anyway.
    """
    bagged = [is_bagged(base) for base in bases]
    if config.asks_out_of_bag and not all(bagged):
        base = bases[bagged.index(False)]
        name, last = last_name(base), last_step(base)[1]
        if last is not base and is_bagged(last):
            raise ValueError(
                f"cv='oob' takes the out-of-bag scores of a base by itself, and {name} is the last step of a pipeline, "
                f"whose other steps would learn from the rows that are out of a bag too. Give {name} alone and X as "
                "those steps make it, or leave cv out, or give a number of folds"
            )
        raise ValueError(
            f"cv='oob' takes out-of-bag scores, and {name} has none, as it is no bagged base such as "
            "RandomForestClassifier; leave cv out, or give a number of folds"
        )
    if not (config.asks_out_of_bag or config.cv is None) or not all(bagged) or not problem.searches_costs:
        return ""
    one_ladder = isinstance(config.strategy, str) and config.strategy == "ladder"
    equal = one_ladder and all(model.effort.ladder_size == 1 for model in models)
    refused = {
        "several models are compared": len(models) > 1,
        "other costs are searched": not (equal or config.asks_out_of_bag),
        "samples belong to groups": task.groups is not None,
        "samples have weights": task.weight is not None and np.ptp(task.weight) > 0.0,
        "fit has further arguments": bool(task.fit_params),
        "refit='folds' averages models of folds": config.averages_folds,
        "bound_on='train' reads training parts": config.bound_on == "train",
    }
    unfit = [why for base in bases if (why := unfit_bags(base, task.n_samples)) is not None]
    if unfit and not config.asks_out_of_bag:
        return ""
    whys = [*(why for why, holds in refused.items() if holds), *unfit]
    return f"folds took the place of out-of-bag scores: {whys[0]}" if whys else None


def planned_models(
    config: SearchConfig, problem: Problem, models: Sequence[Model], n_samples: int | None
) -> list[Model]:
    """Plan the settings that are searched for each model; ``n_samples`` as for `settings_of`."""
    planned: list[Model] = []
    for model in models:
        settings = problem.settings(config, model, n_samples)
        effort = effort_of(model.base, config.engine, model.param_grid, settings)
        if not _channel_of(config, model.base).carries_costs:
            why = f"{no_weights(model.base)}, so that other costs cannot reach it"
            effort = effort._replace(ladder_size=1, only_equal=why)
            # Where there is one model, its predictions may be the price.
            if len(models) == 1 and effort.repeats > 1 and keeps_samples(model.base):
                effort = effort._replace(**BY_PREDICTION)
        planned.append(model._replace(settings=settings, effort=effort))
    return numbered(planned)


def _channel_of(config: SearchConfig, base: Estimator, *, weighted: bool = False) -> CostChannel:
    """Find the channel of costs for a base, or none; raise a ValueError if the user's weights cannot reach it."""
    return WEIGHTINGS[config.weighting](base, sample_weight_name=config.sample_weight_name, weighted=weighted)


def seeded_models(models: list[Model], random_state: np.random.RandomState | None) -> list[Model]:
    """Seed the models, independently of their order.

    Each model reads its seeds from the same position; the one with the most of them determines where the seed of splits
    is read.
    """
    if random_state is None:
        return models
    state, with_seeds = random_state.get_state(), []
    for model in sorted(models, key=lambda model: len(unset_seeds(model.base))):
        random_state.set_state(state)
        with_seeds.append(model._replace(base=seeded(model.base, random_state)))
    return sorted(with_seeds, key=lambda model: model.name or "")


def with_setting(base: Estimator, setting: Params) -> Estimator:
    """Clone a base with one setting of ``param_grid``; raise a ValueError with its parameters where it lacks one."""
    changed = clone(base)
    try:
        # A frozen base takes none, and returns nothing.
        changed.set_params(**clone(setting, safe=False))
        return changed
    except ValueError as error:
        known = changed.get_params(deep=True)
        name = next((name for name in setting if name not in known), None)
        if name is None:
            raise
        inner = next((other for other in known if other.endswith(f"__{name.rpartition('__')[2]}")), None)
        hint = did_you_mean(name, known) if inner is None else f". Did you mean {inner!r}?"
        raise ValueError(
            f"param_grid: Invalid parameter {name!r} for {type(base).__name__}; it has {', '.join(known)}{hint}"
        ) from error


def open_checkpoint(
    config: SearchConfig, bases: list[Estimator], data: tuple[object, ...], studies: Sequence[History]
) -> Checkpoint | None:
    """Open the checkpoint of a search and restore its trials in the studies; return ``None`` without a file.

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
        config.sample_weight_name,
    )
    checkpoint = Checkpoint(config.checkpoint, content)
    checkpoint.restore(list(studies))
    return checkpoint


class Outcome(NamedTuple):
    """Result of a search, the rule of the winner, the model trained on all rows, and the seconds that this took.

    ``model`` is what an engine trained, as it holds it; without a last training rule and model are ``None``.
    """

    # What kind of result, rule and model the caller knows.
    result: Any
    rule: Any
    seconds: float
    model: Any = None


def run_search(
    config: SearchConfig, problem: Problem, plan: Plan, *, search: object = None, deadline: Deadline | None = None
) -> Outcome:
    """Run a search, wherever its data are; ``search`` is the estimator whose callbacks are told of it."""
    context = open_callback_context(search, max_subtasks=None)
    trainer = plan.trainer(config, problem)
    # Who asked for a bar or a limit knows how long it takes, and a search without costs has no options to shorten it;
    # trials of several models take their own times each.
    quiet = config.verbose or deadline is not None or not problem.searches_costs or len(plan.models) > 1
    loop = SearchLoop(
        plan.studies,
        trainer,
        raise_errors=config.error_score == "raise",
        checkpoint=open_checkpoint(config, plan.bases, (*plan.content, *problem.content), plan.studies),
        callbacks=list(config.callbacks or ()),
        context=context,
        verbose=config.verbose,
        deadline=deadline,
        forecast=Forecast() if plan.forecasts and not quiet else None,
        # Multiples of its own C decide nothing about whether a base can be trained.
        n_settings=len(plan.models) if isinstance(config.param_grid, str) else None,
        race=plan.race(trainer.store) or problem.race(config, plan, trainer.store),
    )
    stopped = loop.run()
    with trainer.threads():
        result = problem.conclude(config, plan, loop.store, stopped)
    starts = loop.work(result.winner.setting, result.winner).starts[0] if config.refit else ()
    # The last training is the largest: the trainers of the folds are let go before it.
    del loop, trainer
    start = time.perf_counter()
    last = plan.finish(problem, result, starts) if config.refit else Finished(result, None)
    context.end()
    return Outcome(last.result, last.rule, time.perf_counter() - start if config.refit else 0.0, last.model)


def aimed(config: SearchConfig, problem: Problem) -> SearchConfig:
    """Return the options with metric and constraint as a problem reads them."""
    metric = for_classes(config.metric, problem.labels.by_code)
    constraint = constraint_of_truth(metric, problem.read_constraint(config.constraint))
    # Thresholds by segment are tuned after the search.
    return replace(config, metric=metric, constraint=constraint and constraint.on_all_rows)


def split_for_test(config: SearchConfig, task: Task, *, by_score: bool) -> tuple[Task, Task | None]:
    """Split the samples into those to search on and those held back for tests, none without ``confidence``.

    A threshold on one score, ``by_score``, needs none held back where the scores are given; nor with cross-fitting.
    """
    if config.confidence is None:
        return task, None
    all_rows = config.calibration == CROSS_FIT or (config.calibration is None and config.is_prefit)
    if all_rows and by_score and not config.limits_answers:
        return task, None
    return calibration_split(config, task)


def calibration_split(config: SearchConfig, task: Task) -> tuple[Task, Task]:
    """Split the samples into those to search on and those to calibrate on, stratified, with groups kept together.

    Samples of weight 0 are searched on and have no say in the split.
    """
    share, counted = config.held_back, np.ones(task.n_samples, bool) if task.weight is None else task.weight > 0.0
    every = np.arange(task.n_samples) if task.groups is None else task.groups
    units, first = np.unique(every[counted], return_index=True)
    strata = (task.codes if task.codes.ndim == 1 else task.strata)[counted][first]
    if task.groups is not None:
        # Groups with positives and without; one group without any is no stratum.
        strata = np.isin(units, every[counted & (task.codes.reshape(task.n_samples, -1) > 0).any(axis=1)])
        strata = None if (~strata).sum() == 1 else strata
    try:
        seed = split_seed(config.random_state)
        _, held_out = train_test_split(units, test_size=share, stratify=strata, random_state=seed)
    except ValueError as error:
        raise ValueError(f"calibration={share!r} of {task.n_samples} samples cannot be held out: {error}") from error
    calibrated = np.isin(every, held_out) & counted
    return _part(task, np.flatnonzero(~calibrated)), _part(task, np.flatnonzero(calibrated))


# Training samples that the final model predicts.
_FEW = 1000


def training_sample(task: Task) -> Task:
    """Draw at most a thousand samples, as many of each class where there are enough; weights make up for the shares."""
    if task.n_samples <= _FEW:
        return task
    strata = np.unique(task.strata, return_inverse=True)[1]
    counts, order = np.bincount(strata), np.random.default_rng(0).permutation(task.n_samples)
    # The place of each sample among those of its class: rounds of one of each class are filled until there are enough.
    by_class = order[np.argsort(strata[order], kind="stable")]
    place = np.empty(task.n_samples, dtype=np.int64)
    place[by_class] = np.arange(task.n_samples) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(order[np.argsort(place[order], kind="stable")[:_FEW]])
    stands_for = (counts / np.bincount(strata[rows], minlength=counts.size))[strata[rows]]
    part = _part(task, rows)
    return replace(part, weight=stands_for * (1.0 if part.weight is None else part.weight))


def _part(task: Task, rows: IntArray) -> Task:
    return replace(
        task,
        X=safe_indexing(task.X, rows),
        codes=task.codes[rows],
        weight=None if task.weight is None else task.weight[rows],
        fit_params=slice_params(dict(task.fit_params), rows, task.n_samples),
        labels=task.user_labels if task.codes.ndim == 1 else None,
        groups=None if task.groups is None else task.groups[rows],
    )
