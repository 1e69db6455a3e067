"""Trainer over an engine whose trials a judge of problems in memory evaluates, by collected held-out scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from csf.data.folds import Task, make_folds, pool_held_out
from csf.distributed.engine import EngineTrainer
from csf.evaluate import MAX_BYTES

if TYPE_CHECKING:
    from csf._common.typing import Array
    from csf.distributed.counts import PartScores
    from csf.metrics.trials import Trial
    from csf.search.training import Evaluator, FoldResult, HeldOutPredictions


class JudgedTrainer(EngineTrainer):
    """Trainer whose trials are judged as in memory, by the scores of all rows in folds or of a sample of them."""

    def __init__(self, judge: Evaluator, *given: Any, **options: Any) -> None:
        self.judge = judge
        super().__init__(*given, **options)

    @abstractmethod
    def _result(self, score: Array, method: str) -> FoldResult:
        """Build the result of one fold from its held-out scores."""

    def _store(self, entries: PartScores) -> Any:
        assert entries.fold is not None, "rows of a search are in folds"
        self._at = [np.flatnonzero(entries.fold == fold) for fold in range(self.n_folds)]
        task = Task(None, entries.is_pos.astype(np.int64), entries.weight)
        self._folds = make_folds(task, [(at[:0], at) for at in self._at])
        truth, weight, samples = pool_held_out(self._folds)
        return self.judge.store(truth, weight, samples=samples, max_bytes=MAX_BYTES)

    def _fields(self, models: list[object], trial: Trial) -> tuple[Any, HeldOutPredictions | None]:
        scored = self.engine.scores(models)
        score = scored.collected()
        if np.isnan(score).any():
            raise ValueError("the base gave NaN scores")
        results = [self._result(score[at], scored.method) for at in self._at]
        return self.judge.judge(self._folds, results, trial)
