"""Plan of a search: what is trained, on which folds, and how, and what runs it in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from csf._common.sklearn import last_name
from csf._common.typing import Array, Estimator, IntArray, Params
from csf.data.costs import CostChannel
from csf.data.folds import Fold, first_repeat, make_folds
from csf.evaluate import MAX_BYTES
from csf.search.config import WORDS, Model, RaceStep, steps_of_models
from csf.search.fold_mean import average_folds
from csf.search.workers import LocalTrainer, threads_for
from csf.trainers import Prepared, make_trainers
from csf.trainers.base import with_methods
from csf.trainers.out_of_bag import OutOfBagTrainer

if TYPE_CHECKING:
    from csf.data.folds import Task
    from csf.evaluate.stores import Store
    from csf.search.config import SearchConfig
    from csf.search.problems.results import SearchResult
    from csf.search.selection import SettingRace, Shortlist
    from csf.search.study import History
    from csf.search.training import BatchTrainer, SearchedProblem
    from csf.thresholding.base import DecisionRule
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


class Finished(NamedTuple):
    """Result of a search with the rule that predicts, and the model trained on all rows as its engine holds it."""

    result: SearchResult
    rule: DecisionRule | None
    model: object = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(ABC):
    """Plan of a search, wherever its data are: models, settings and studies, and what trains them."""

    models: list[Model]
    settings: list[Params]
    bases: list[Estimator]
    studies: list[Any]
    # What was done in place of what was asked for, or is usual.
    notes: Sequence[str] = ()

    # Whether a search that takes long says so: the ways out are those of data in memory.
    forecasts: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_splits(self) -> int:
        """Number of folds."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def content(self) -> tuple[object, ...]:
        """What identifies the rows and their folds in a checkpoint."""

    @property
    def names(self) -> list[str]:
        """Names of several models."""
        return [str(model.name) for model in self.models] if len(self.models) > 1 else []

    @property
    def n_first(self) -> int:
        """Number of the first folds that hold out each row once, where there are more; 0 without."""
        return 0

    @property
    def steps(self) -> list[RaceStep]:
        """For each setting what has to be known before it is tried."""
        return steps_of_models(self.models)

    @property
    def unsearched(self) -> list[str]:
        """Notes on models whose parameters nobody named and `settings_of` does not know."""
        unknown = [model for model in self.models if model.settings == [{}] and model.param_grid in WORDS]
        named = [(model.param_grid, last_name(model.base)) for model in unknown]
        return [f"param_grid={grid!r} knows no parameter of {name} to search" for grid, name in named]

    @property
    def weighable(self) -> list[Model]:
        """Models that can be trained with weights of rows."""
        return self.models

    @abstractmethod
    def with_powers(self, problem: Any, more: Sequence[tuple[int, float]], studies: Sequence[History]) -> Self:
        """Add trainings of some settings with rows weighted by powers of what they cost."""

    def _repeated(self, settings: Sequence[int], studies: Sequence[History]) -> Params:
        """Return the fields of a plan in which some settings are trained again, with other weights."""
        return {
            "settings": self.settings + [self.settings[setting] for setting in settings],
            "bases": self.bases + [self.bases[setting] for setting in settings],
            "studies": [*self.studies, *studies],
        }

    @abstractmethod
    def trainer(self, config: SearchConfig, problem: SearchedProblem) -> BatchTrainer:
        """Create what trains and judges the trials."""

    def race(self, store: Store | None) -> SettingRace | None:
        """Return the race that was run while the search was planned; ``None`` for the one of its kind of problem."""
        return None

    @abstractmethod
    def finish(self, problem: SearchedProblem, result: SearchResult, starts: Sequence[object]) -> Finished:
        """Train the winner on all rows, which may start from the ``starts``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryPlan(Plan):
    """Plan of a search of rows in memory."""

    task: Task
    splits: list[tuple[IntArray, IntArray]]
    setup: TrainingSetup
    # Whether models are trained on the splits; those that were fitted before are only judged there.
    trained: bool = True
    # Weights of the trainings of each setting, where they are not those of the task.
    weights: list[Array | None] | None = None
    # Trials that were chosen without folds.
    listed: Shortlist | None = None
    # Largest size of all held-out scores.
    max_bytes: int = MAX_BYTES

    forecasts: ClassVar[bool] = True

    @property
    def n_splits(self) -> int:
        """Number of splits that models are trained on."""
        return len(self.splits) if self.trained else 0

    @cached_property
    def folds(self) -> list[Fold]:
        """Folds of the splits, which keep the slices of the samples that trainings share."""
        return make_folds(self.task, self.splits)

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return self.task.n_samples

    @property
    def n_first(self) -> int:
        """Number of the first folds that hold out each sample once, where there are more."""
        count = first_repeat(self.splits)
        return count if count < len(self.splits) else 0

    @property
    def content(self) -> tuple[object, ...]:
        """What identifies the samples and their splits in a checkpoint."""
        return self.task.X, self.task.codes, self.task.weight, self.splits, self.task.fit_params

    @property
    def weighable(self) -> list[Model]:
        """Models whose trainings take a weight for each sample."""
        return [model for model in self.models if self.setup.channel_of(self.bases[model.first]).carries_samples]

    def with_powers(self, problem: Any, more: Sequence[tuple[int, float]], studies: Sequence[History]) -> Self:
        """Add trainings of some settings with samples weighted by powers of what they cost."""
        weights = [self.task.weight] * len(self.bases) + [problem.weight(self.task, power) for _, power in more]
        return replace(self, weights=weights, **self._repeated([setting for setting, _ in more], studies))

    def trainer(self, config: SearchConfig, problem: SearchedProblem) -> LocalTrainer:
        """Create what trains on the folds."""
        return LocalTrainer(
            problem.judge(config),
            self.trainers(),
            self.folds,
            on_train=config.bound_on == "train",
            n_jobs=config.n_jobs,
            max_bytes=self.max_bytes,
        )

    def race(self, store: Store | None) -> SettingRace | None:
        """Return the race without folds, if there was one."""
        return None if self.listed is None else self.listed.begun(store)

    def finish(self, problem: SearchedProblem, result: SearchResult, starts: Sequence[object]) -> Finished:
        """Average the models of the folds, or train the winner on all samples."""
        if result.config.averages_folds:
            # Nothing is read off earlier trainings here, so each is of the winner's own parameters.
            fresh = replace(self.setup, prepared=Prepared())
            trainers = fresh.trainers(self.bases[result.trials[result.index].setting], self.folds)
            return Finished(*average_folds(trainers, self.folds, problem, result))
        # The last training is the largest: what the folds keep is let go before it, and made again for who asks for it.
        vars(self).pop("folds", None)
        trainer = self.final_trainer(result.winner.setting)
        with threads_for([trainer], result.config.n_jobs) or nullcontext():
            return Finished(result, problem.rule(result, trainer, trainer.fit(result.winner.costs)))

    def trainers(self) -> list[list[Trainer]]:
        """Create the trainers of all settings, one for each fold; settings that are over take those of the first."""
        rows: list[list[Trainer]] = []
        for setting, (base, study) in enumerate(zip(self.bases, self.studies)):
            is_over = setting > 0 and study.trials and not study.pending
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
