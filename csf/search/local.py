"""Waves of trials trained on folds in memory."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from csf.resampling import MAX_BYTES, ScoreStore
from csf.search.fold_training import FoldResult, FoldTask
from csf.search.pooling import pooled, pooled_outcome
from csf.search.waves import FailedEverywhere, Said, TrainedTrial, WaveTrainer, Work
from csf.search.workers import Workers
from csf.trials import first_line

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.samples.folds import Fold
    from csf.trainers.base import Trainer
    from csf.trials import Trial

__all__ = ["LocalTrainer"]


class LocalTrainer(WaveTrainer):
    """Trains on folds in memory, by the workers that joblib is set to.

    ``tune`` says whether thresholds are tuned, ``on_train`` whether bounds read the training parts.
    """

    def __init__(
        self,
        metric: Metric,
        trainers: list[list[Trainer]],
        folds: list[Fold],
        *,
        tune: bool,
        on_train: bool = False,
        n_jobs: int | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.metric, self.startables, self.folds = metric, trainers, folds
        self.tune, self.on_train, self.n_jobs = tune, on_train, n_jobs
        y, samples = (np.concatenate(parts) for parts in zip(*((fold.y_test, fold.test) for fold in folds)))
        weights = [fold.weight_test for fold in folds if fold.weight_test is not None]
        weight = np.concatenate(weights) if weights else None
        self.store = ScoreStore(y > 0, weight, samples=samples, max_bytes=max_bytes)

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
            for _ in wave:
                yield self._judged(results)

    def _tasks(self, work: Work) -> list[FoldTask]:
        return [
            FoldTask(work.setting, fold, work.trial.costs, starts, tune=self.tune, on_train=self.on_train)
            for fold, starts in enumerate(work.starts)
        ]

    def _judged(self, results: Iterator[FoldResult]) -> TrainedTrial:
        """What the trainings of one trial say together."""
        folds = [next(results) for _ in self.folds]
        fields = pooled_outcome(self.metric, self.folds, folds, tune=self.tune)
        states, times = [each.state for each in folds], [each.fit_time for each in folds]
        if "error" in fields:
            return TrainedTrial(fields, states, times, failed=_everywhere(folds))
        score = pooled([each.score for each in folds]) if self.tune else None
        decided, lost = pooled([each.decided for each in folds]), pooled([each.lost for each in folds])
        return TrainedTrial(fields, states, times, Said(score, decided, lost))


def _everywhere(folds: list[FoldResult]) -> FailedEverywhere | None:
    """The error of all folds, which is one where their messages differ in numbers alone; ``None`` where some differ."""
    kinds = {None if each.error is None else re.sub(r"\d+", "0", first_line(each.error)) for each in folds}
    cause = folds[0].cause
    return None if None in kinds or len(kinds) > 1 else FailedEverywhere(None if cause is None else cause.error)
