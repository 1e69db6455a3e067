"""What a search is going to do: everything that its arguments and the data decide before the first training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from csf._common.messages import did_you_mean
from csf._common.sklearn import clone
from csf._common.typing import Estimator, IntArray
from csf.data.costs import WEIGHTINGS, check_class_weight
from csf.data.folds import make_folds, resolve_splits
from csf.metrics import get_constraint, get_metric
from csf.search.checkpoint import Checkpoint
from csf.search.defaults import pace_of, split_seed
from csf.strategies import get_strategy
from csf.trainers import make_trainers, seeded

if TYPE_CHECKING:
    from csf.data.costs import CostChannel
    from csf.data.folds import Fold, Task
    from csf.search.config import SearchConfig
    from csf.search.defaults import Pace
    from csf.search.problem import Problem
    from csf.trainers.base import Trainer
    from csf.trainers.prepared import Prepared

__all__ = ["Plan", "TrainingSetup", "make_plan", "open_checkpoint", "with_setting"]


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """How bases are trained: all settings on the folds, and the winner once more on everything."""

    channel: CostChannel
    normalize: str
    engine: str
    prepared: Prepared

    def trainers(self, base: Estimator, folds: list[Fold]) -> list[Trainer]:
        """Trainers of one base, one for each fold."""
        return make_trainers(base, folds, self.channel, self.normalize, self.prepared, engine=self.engine)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a search is going to do."""

    task: Task
    settings: list[dict[str, Any]]
    bases: list[Estimator]
    splits: list[tuple[IntArray, IntArray]]
    folds: list[Fold]
    studies: list[Any]
    setup: TrainingSetup
    pace: Pace

    def final_trainer(self, setting: int) -> Trainer:
        """Trains a base on everything, and predicts what it has learnt from."""
        everything = np.arange(self.task.n_samples)
        (trainer,) = self.setup.trainers(self.bases[setting], make_folds(self.task, [(everything, everything)]))
        return trainer


def make_plan(
    config: SearchConfig, problem: Problem, task: Task, split_params: dict[str, Any], prepared: Prepared
) -> Plan:
    """Plan of a search in memory; ``prepared`` is what other searches on the same samples and splits prepared."""
    # One generator for the base and then the splits: the order of the two decides what a seed means.
    random_state = None if config.random_state is None else check_random_state(config.random_state)
    base = seeded(config.base, random_state)
    check_class_weight(base, task.user_labels.classes.size, alike=task.n_alike is not None)
    # Arguments of fit may stop boosters early, or keep the steps of a pipeline together.
    settings = problem.settings(config, base, None if task.fit_params else task.n_samples)
    bases = [with_setting(base, setting) for setting in settings]
    y = task.strata
    pace = pace_of(base, config.engine, config.param_grid, settings)
    cv = problem.cv(config, y, pace, random_state=random_state)
    splits = resolve_splits(cv, task.X, y, random_state=split_seed(random_state), split_params=split_params)
    folds = make_folds(task, splits)
    studies = problem.studies(config, folds, len(settings), pace)
    channel = WEIGHTINGS[config.weighting](
        base, sample_weight_name=config.sample_weight_name, weighted=task.weight is not None
    )
    setup = TrainingSetup(channel, config.normalize, config.engine, prepared)
    return Plan(task, settings, bases, splits, folds, studies, setup, pace)


def with_setting(base: Estimator, setting: dict[str, Any]) -> Estimator:
    """Unfitted base with one setting of ``param_grid``; a ValueError with the names it has where it lacks one."""
    own = clone(base)
    try:
        return own.set_params(**clone(setting, safe=False))
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
        *(get_metric(config.metric), get_constraint(config.constraint), get_strategy(config.strategy)),
        *(config.threshold, config.normalize, config.bound_on, config.engine, config.weighting),
        *(config.sample_weight_name, config.min_gain is None),
    )
    checkpoint = Checkpoint(config.checkpoint, content)
    checkpoint.restore(list(studies))
    return checkpoint
