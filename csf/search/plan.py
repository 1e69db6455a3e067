"""What a search is going to do: everything that its arguments and the data decide before the first training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from csf._common.typing import Estimator, IntArray
from csf.costs.one_vs_rest import WEIGHTINGS
from csf.costs.weights import check_class_weight
from csf.metrics import get_constraint, get_metric
from csf.samples.folds import Fold, bound_share, make_folds
from csf.samples.splits import resolve_splits
from csf.search.arguments import with_setting
from csf.search.checkpoint import Checkpoint
from csf.search.defaults import cv_of, has_fast_solver, margin_of, settings_of, strategy_of
from csf.strategies import NeutralFirst, get_strategy
from csf.study import Study
from csf.trainers import make_trainers, seeded

if TYPE_CHECKING:
    from csf.costs.channel import CostChannel
    from csf.metrics.base import Metric
    from csf.samples.task import Task
    from csf.trainers.base import Trainer
    from csf.trainers.prepared import Prepared

__all__ = ["Plan", "TrainingSetup", "make_plan", "open_checkpoint"]


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """How bases are trained: all settings on the folds, and the winner once more on everything.

    Parameters
    ----------
    channel : CostChannel
        How costs reach the base.
    normalize : {"none", "mean"}
        See `csf.costs.weights.cost_sample_weight`.
    engine : {"auto", "generic"}
        See `csf.trainers.make_trainers`.
    prepared : Prepared
        What all of them share.
    """

    channel: CostChannel
    normalize: str
    engine: str
    prepared: Prepared

    def trainers(self, base: Estimator, folds: list[Fold]) -> list[Trainer]:
        """Trainers of one base, one for each fold."""
        return make_trainers(base, folds, self.channel, self.normalize, self.prepared, engine=self.engine)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a search is going to do.

    Parameters
    ----------
    task : Task
        The data, with the arguments that reach the base's ``fit``.
    metric : Metric
        What is maximised, under the constraint.
    settings : list of dict
        Parameters of the base to choose from.
    bases : list of estimator
        The base with each of them.
    splits : list of tuple of ndarray
        Train and test indices.
    folds : list of Fold
        Their folds.
    pos : float
        Share of positives in the data that the bounds read.
    studies : list of Study
        One for each setting, without trials.
    setup : TrainingSetup
        How the bases are trained.
    margin : float
        See `csf.search.defaults.margin_of`.
    """

    task: Task
    metric: Metric
    settings: list[dict[str, Any]]
    bases: list[Estimator]
    splits: list[tuple[IntArray, IntArray]]
    folds: list[Fold]
    pos: float
    studies: list[Study]
    setup: TrainingSetup
    margin: float

    def final_trainer(self, setting: int) -> Trainer:
        """Trains a base on everything, and predicts what it has learnt from."""
        everything = np.arange(self.task.n_samples)
        (trainer,) = self.setup.trainers(self.bases[setting], [Fold(self.task, everything, everything)])
        return trainer


def make_plan(search: Estimator, metric: Metric, task: Task, split_params: dict[str, Any], prepared: Prepared) -> Plan:
    """Plan of a search.

    Parameters
    ----------
    search : CostSearch
        The search, whose own arguments were checked.
    metric : Metric
        What is maximised, under the constraint.
    task : Task
        The data.
    split_params : dict
        Arguments of the splitter.
    prepared : Prepared
        What other searches on the same samples and splits prepared.

    Returns
    -------
    Plan
        The plan.

    Raises
    ------
    ValueError, TypeError
        If costs cannot reach the base, or an argument does not suit the data.
    """
    # One generator for the base and then the splits: the order of the two decides what a seed means.
    random_state = None if search.random_state is None else check_random_state(search.random_state)
    base = seeded(search.base, random_state)
    labels = task.user_labels
    check_class_weight(base, labels.classes.size)
    settings = settings_of(search.param_grid, base, search.engine)
    bases = [with_setting(base, setting) for setting in settings]
    # Splitters stratify by the user's labels, as they do everywhere else.
    y = labels.decode(task.codes)
    fast = has_fast_solver(base, search.engine)
    cv = cv_of(search.cv, y, fast=fast, random_state=random_state)
    splits = resolve_splits(cv, task.X, y, random_state=random_state, split_params=split_params)
    folds = make_folds(task, splits)
    pos = bound_share(folds, on_train=search.bound_on == "train")
    # The gain rule compares with equal costs, so these have to be among the trials.
    strategy = strategy_of(search.strategy, fast=fast)
    strategy = strategy if search.min_gain is None else NeutralFirst(strategy)
    studies = [
        Study(metric, strategy, pos=pos, n_trials=search.n_trials, tol=search.tol, bound=search.bound) for _ in settings
    ]
    channel = WEIGHTINGS[search.weighting](
        base, sample_weight_name=search.sample_weight_name, weighted=task.weight is not None
    )
    setup = TrainingSetup(channel, search.normalize, search.engine, prepared)
    return Plan(task, metric, settings, bases, splits, folds, pos, studies, setup, margin_of(fast=fast))


def open_checkpoint(search: Estimator, plan: Plan) -> Checkpoint | None:
    """The file of a search, with the trials in it told to the studies; ``None`` where none is kept."""
    if search.checkpoint is None:
        return None
    task = plan.task
    # All that decides the trials, and nothing that does not: n_jobs, or how many trials there are to be.
    content = (
        *(plan.bases, task.X, task.codes, task.weight, plan.splits, task.fit_params),
        *(get_metric(search.metric), get_constraint(search.constraint), get_strategy(search.strategy)),
        *(search.threshold, search.normalize, search.bound_on, search.engine, search.weighting),
        *(search.sample_weight_name, search.min_gain is None),
    )
    checkpoint = Checkpoint(search.checkpoint, content)
    checkpoint.restore(plan.studies)
    return checkpoint
