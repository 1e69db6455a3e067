"""Plan of a search: what is trained, on which folds, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.sklearn import last_name
from csf._common.typing import Array, Estimator, IntArray, Params
from csf.data.costs import CostChannel
from csf.data.folds import Fold, make_folds
from csf.search.config import WORDS, Model
from csf.trainers import Prepared, make_trainers
from csf.trainers.base import with_methods
from csf.trainers.out_of_bag import OutOfBagTrainer

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.trainers.base import Trainer


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """Training setup: bases are trained with all settings on the folds, and with the winner's on all samples."""

    channel_of: Callable[[Estimator], CostChannel]
    normalize: str
    engine: str
    prepared: Prepared
    # Methods of the base that may give the scores; empty for those that the kind of problem prefers.
    methods: Sequence[str] = ()

    def trainers(self, base: Estimator, folds: list[Fold]) -> list[Trainer]:
        """Create the trainers of one base, one for each fold."""
        channel = self.channel_of(base)
        made = make_trainers(base, folds, channel, self.normalize, self.prepared, engine=self.engine)
        return with_methods(made, base, folds, self.methods)


# What a search says of out-of-bag scores.
OUT_OF_BAG = "out-of-bag scores took the place of folds"


@dataclass(frozen=True, eq=False)
class OutOfBagSetup(TrainingSetup):
    """Training setup of bagged bases, whose out-of-bag scores take the place of those of folds."""

    kept: dict[Any, Any] = field(default_factory=dict)

    def trainers(self, base: Estimator, folds: list[Fold]) -> list[Trainer]:
        """Create the trainer of one base on all samples."""
        return [OutOfBagTrainer(base, fold, self.channel_of(base), self.normalize, self.kept) for fold in folds]


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a search: models, settings, folds and studies."""

    task: Task
    models: list[Model]
    settings: list[Params]
    bases: list[Estimator]
    splits: list[tuple[IntArray, IntArray]]
    folds: list[Fold]
    studies: list[Any]
    setup: TrainingSetup
    # What was done in place of what was asked for, or is usual.
    notes: Sequence[str] = ()
    # Weights of the trainings of each setting, where they are not those of the task.
    weights: list[Array | None] | None = None

    def trainers(self) -> list[list[Trainer]]:
        """Create the trainers of all settings, one for each fold; settings that are over take those of the first."""
        rows: list[list[Trainer]] = []
        for setting, (base, study) in enumerate(zip(self.bases, self.studies)):
            is_over = setting > 0 and study.trials and all(trial.state != "pending" for trial in study.trials)
            rows.append(rows[0] if is_over else self.setup.trainers(base, self._folds(setting)))
        return rows

    def _folds(self, setting: int) -> list[Fold]:
        """Create the folds with the training weights of a setting."""
        task = self._task(setting)
        return self.folds if task is self.task else [fold.on(task) for fold in self.folds]

    def _task(self, setting: int) -> Task:
        """Create the task with the training weights of a setting."""
        weight = self.task.weight if self.weights is None else self.weights[setting]
        return self.task if weight is self.task.weight else replace(self.task, weight=weight)

    def final_trainer(self, setting: int) -> Trainer:
        """Create the trainer on all samples."""
        everything = np.arange(self.task.n_samples)
        folds = make_folds(self._task(setting), [(everything, everything[:1])])
        (trainer,) = self.setup.trainers(self.bases[setting], folds)
        return trainer

    @property
    def unsearched(self) -> list[str]:
        """Notes on models whose parameters nobody named and `settings_of` does not know."""
        named = [(each.param_grid, last_name(each.base)) for each in self.models if each.settings == [{}]]
        return [f"param_grid={grid!r} knows no parameter of {name} to search" for grid, name in named if grid in WORDS]
