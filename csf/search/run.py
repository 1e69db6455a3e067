"""One run of a search in memory: its trainings, its result, and the training of the winner on all samples."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from csf._common.sklearn import open_callback_context
from csf.evaluate import MAX_BYTES
from csf.search.config import AUTO
from csf.search.loop import Forecast, SearchLoop
from csf.search.planning import make_plan, open_checkpoint
from csf.search.workers import LocalTrainer, threads_for

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.search.config import SearchConfig
    from csf.search.loop import Deadline
    from csf.search.plan import Plan
    from csf.search.problems.base import Problem
    from csf.thresholding.rule import ThresholdClassifier
    from csf.trainers import Prepared


def run_search(
    search: ThresholdClassifier,
    config: SearchConfig,
    problem: Problem,
    task: Task,
    prepared: Prepared,
    deadline: Deadline | None = None,
    max_bytes: int = MAX_BYTES,
) -> tuple[Any, Any, float]:
    """Run a search for a classifier; return its result, the rule of the winner, and the seconds of the last training.

    ``task`` has all arguments of the base's ``fit`` and of the splitter, which the classifier tells apart.
    """
    fit_params, split_params = search._route(task.fit_params)
    plan = make_plan(config, problem, replace(task, fit_params=fit_params), split_params, prepared)
    plan = problem.extended(config, plan)
    context = open_callback_context(search, max_subtasks=None)
    # Who asked for a bar or a limit knows how long it takes, and a search without costs has no options to shorten it.
    quiet = config.verbose or deadline is not None or not problem.searches_costs
    trainer = LocalTrainer(
        problem.judge(config),
        plan.trainers(),
        plan.folds,
        on_train=config.bound_on == "train",
        n_jobs=config.n_jobs,
        max_bytes=max_bytes,
    )
    data = plan.task.X, plan.task.codes, plan.task.weight, plan.splits, plan.task.fit_params
    loop = SearchLoop(
        plan.studies,
        trainer,
        raise_errors=config.error_score == "raise",
        checkpoint=open_checkpoint(config, plan.bases, (*data, *problem.content), plan.studies),
        callbacks=list(config.callbacks or ()),
        context=context,
        verbose=config.verbose,
        deadline=deadline,
        # Trials of several models take their own times each.
        forecast=None if quiet or len(plan.models) > 1 else Forecast(),
        # Multiples of its own C decide nothing about whether a base can be trained.
        n_settings=len(plan.models) if config.param_grid == AUTO else None,
        race=problem.race(config, plan, trainer.store),
    )
    stopped = loop.run()
    with threads_for([each for row in trainer.startables for each in row], config.n_jobs) or nullcontext():
        found = problem.conclude(config, plan, loop.store, stopped)
    if config.averages_folds:
        del loop, trainer
        result = _averaged(plan, problem, found)
        context.end()
        return result
    # The last training is the largest: what the folds and their trainers hold is let go before it.
    plan = replace(plan, folds=[])
    del loop, trainer
    rule, seconds = _refitted(plan, problem, found) if config.refit else (None, 0.0)
    context.end()
    return found, rule, seconds


def _averaged(plan: Plan, problem: Problem, found: Any) -> tuple[Any, Any, float]:
    """Return result and rule of the mean of the models of all folds, and the seconds that their trainings took."""
    start = time.perf_counter()
    found, rule = problem.mean_of_folds(plan, found)
    return found, rule, time.perf_counter() - start


def _refitted(plan: Plan, problem: Problem, found: Any) -> tuple[Any, float]:
    """Train the winner on all samples; return the rule that predicts with it, and the seconds that took."""
    start = time.perf_counter()
    trainer = plan.final_trainer(found.winner.setting, judged=problem.reads_training)
    with threads_for([trainer], found.config.n_jobs) or nullcontext():
        rule = problem.rule(found, trainer, trainer.fit(found.winner.costs))
    return rule, time.perf_counter() - start
