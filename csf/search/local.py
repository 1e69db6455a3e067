"""Waves of trials trained on folds in memory."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from csf.resampling import MAX_BYTES
from csf.search.fold_training import FoldResult, FoldTask
from csf.search.waves import FailedEverywhere, Said, TrainedTrial, WaveTrainer, Work
from csf.search.workers import Workers
from csf.trials import first_line

if TYPE_CHECKING:
    from csf._common.typing import Array, Costs, IntArray
    from csf.data.folds import Fold
    from csf.trainers.base import Trainer
    from csf.trials import Trial

__all__ = ["Judge", "LocalTrainer"]


class Judge(Protocol):
    """Says what the trainings of a trial on all folds come to; ``tune`` is whether it reads scores."""

    tune: bool

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> Any: ...

    def judge(self, folds: list[Fold], results: list[FoldResult], costs: Costs) -> tuple[Any, Said | None]: ...


class LocalTrainer(WaveTrainer):
    """Trains on folds in memory, by the workers that joblib is set to.

    ``judge`` says what trainings come to, ``tune`` whether it reads scores, ``on_train`` whether bounds read the
    training parts.
    """

    def __init__(
        self,
        judge: Judge,
        trainers: list[list[Trainer]],
        folds: list[Fold],
        *,
        on_train: bool = False,
        n_jobs: int | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.judge, self.startables, self.folds = judge, trainers, folds
        self.on_train, self.n_jobs = on_train, n_jobs
        y, samples = (np.concatenate(parts) for parts in zip(*((fold.y_test, fold.test) for fold in folds)))
        weights = [fold.weight_test for fold in folds if fold.weight_test is not None]
        weight = np.concatenate(weights) if weights else None
        self.store = judge.store(y, weight, samples=samples, max_bytes=max_bytes)

    def __enter__(self) -> Self:
        self._workers = Workers(self.startables, self.folds, self.n_jobs).__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._workers.__exit__(*error)

    def waves(self, batch: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """First those one by one that can start from the ones before them, then all others at once."""
        # A start from the trial before saves more than a second worker does, and the folds of one trial run together.
        alone = [[item] for item in batch if self.startables[item[0]][0].family is not None]
        rest = [item for item in batch if self.startables[item[0]][0].family is None]
        return [*alone, rest] if rest else alone

    def train(self, wave: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """See `WaveTrainer.train`."""
        tasks = [task for work in wave for task in self._tasks(work)]
        with closing(self._workers.run(tasks, raise_errors=raise_errors)) as results:
            for work in wave:
                yield self._judged(results, work.trial.costs)

    def _tasks(self, work: Work) -> list[FoldTask]:
        return [
            FoldTask(work.setting, fold, work.trial.costs, starts, tune=self.judge.tune, on_train=self.on_train)
            for fold, starts in enumerate(work.starts)
        ]

    def _judged(self, results: Iterator[FoldResult], costs: Costs) -> TrainedTrial:
        """What the trainings of one trial say together."""
        folds = [next(results) for _ in self.folds]
        fields, said = self.judge.judge(self.folds, folds, costs)
        failed = _everywhere(folds) if said is None else None
        return TrainedTrial(fields, [each.state for each in folds], [each.fit_time for each in folds], said, failed)


def _everywhere(folds: list[FoldResult]) -> FailedEverywhere | None:
    """The error of all folds, which is one where their messages differ in numbers alone; ``None`` where some differ."""
    kinds = {None if each.error is None else re.sub(r"\d+", "0", first_line(each.error)) for each in folds}
    cause = folds[0].cause
    return None if None in kinds or len(kinds) > 1 else FailedEverywhere(None if cause is None else cause.error)
