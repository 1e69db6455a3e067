"""Training of trials over an engine, and their evaluation by counted or collected held-out scores."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from math import log
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from csf._common.typing import Array, Costs
from csf.data.folds import Task, make_folds, pool_held_out
from csf.distributed.counts import CountedCut, MemoryScores, PartScores, Scored, counted_cut, own_decision
from csf.evaluate import MAX_BYTES, ScoreRow, ScoreStore
from csf.evaluate.choices import decisions
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import known_hull, outcome
from csf.search.training import BatchTrainer, FoldResult, HeldOutPredictions, TrainedTrial, Work
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.distributed.engine import Engine, Job
    from csf.evaluate.stores import Store
    from csf.metrics.base import Metric
    from csf.metrics.trials import CompleteFields, Trial
    from csf.search.training import Evaluator

# Describes the training of a setting at some costs, outside a fold or on all rows, from the states of others.
JobMaker: TypeAlias = "Callable[[int, Costs, int | None, Sequence[object]], Job]"


# ---------------------------------------------------------------- evaluation of a trial


class SampledStore(ScoreStore):
    """Held-out scores of a sample of rows, with the values of trials on the sample and not on all rows."""

    is_sample = True

    def __init__(self, entries: PartScores, metric: Metric, n_rows: int) -> None:
        super().__init__(entries.is_pos, entries.weight)
        self.metric, self.share = metric, entries.is_pos.size / n_rows

    def put(self, row: ScoreRow) -> None:
        """Add the scores of a trial with its value on these rows."""
        profile = ErrorProfile.from_masks(self.is_pos, decisions(row), sample_weight=self.weight)
        super().put(replace(row, value=self.metric.of(profile)))


class ScoreJudge(ABC):
    """Judge of trials by their held-out scores; ``store`` keeps those that are collected."""

    store: Store | None

    @abstractmethod
    def judged(self, scored: Scored, trial: Trial) -> tuple[CompleteFields, HeldOutPredictions | None]:
        """Compute the fields of a trial; also return the scores where they are collected."""


class CountingJudge(ScoreJudge):
    """Judge of one threshold by counts of all rows; winner and threshold are chosen as in memory by collected scores.

    ``counted`` gets the results of counting for each complete trial, in their order. Where the entries are those of a
    sample of ``n_rows``, the store holds the scores of these, and trials are evaluated by counts.
    """

    def __init__(
        self,
        metric: Metric,
        entries: PartScores | None,
        counted: list[CountedCut],
        *,
        tune: bool,
        n_folds: int,
        n_rows: int | None,
    ) -> None:
        self.metric, self.tune, self.counted = metric, tune, counted
        self._entries, self._sampled, self._n_folds = entries, n_rows is not None, n_folds
        self.store = None
        if entries is not None:
            whole = ScoreStore(entries.is_pos, entries.weight)
            self.store = whole if n_rows is None else SampledStore(entries, metric, n_rows)

    def judged(self, scored: Scored, trial: Trial) -> tuple[CompleteFields, HeldOutPredictions | None]:
        """Compute the fields of a trial by counting its scores."""
        score = None if self._entries is None else scored.collected()
        if self._entries is not None and score is not None and not self._sampled:
            scored = MemoryScores([self._entries._replace(score=score)], self._n_folds, scored.own_cut)
        counted: CountedCut = counted_cut(scored, self.metric) if self.tune else own_decision(scored)
        self.counted.append(counted)
        hull = known_hull(counted.own, counted.curve)
        folds = [None if profile is None else self.metric.of(profile) for profile in counted.fold_profiles]
        fields: CompleteFields = {
            **outcome(self.metric, counted.own, hull=hull, cut=counted.cut),
            "fold_scores": tuple(folds),
        }
        return fields, None if score is None else HeldOutPredictions(score, score >= scored.own_cut)


class CollectingJudge(ScoreJudge):
    """Judge of trials as in memory, by the collected scores of all rows in folds or of a sample of them."""

    def __init__(self, evaluator: Evaluator, entries: PartScores, n_folds: int) -> None:
        assert entries.fold is not None, "rows of a search are in folds"
        self._evaluator, self._tests = evaluator, [np.flatnonzero(entries.fold == fold) for fold in range(n_folds)]
        task = Task(None, entries.is_pos.astype(np.int64), entries.weight)
        self._folds = make_folds(task, [(test[:0], test) for test in self._tests])
        truth, weight, samples = pool_held_out(self._folds)
        self.store = evaluator.store(truth, weight, samples=samples, max_bytes=MAX_BYTES)

    def judged(self, scored: Scored, trial: Trial) -> tuple[CompleteFields, HeldOutPredictions | None]:
        """Compute the fields of a trial from all its scores."""
        score = scored.collected()
        assert score is not None, "the engine gives the entries"
        if np.isnan(score).any():
            raise ValueError("the base gave NaN scores")
        results = [self._result(score[test], scored.method) for test in self._tests]
        return self._evaluator.judge(self._folds, results, trial)

    @staticmethod
    def _result(score: Array, method: str) -> FoldResult:
        """Build the result of one fold; of several classes the largest score decides."""
        return FoldResult(decided=score.argmax(axis=1) if score.ndim > 1 else None, score=score, method=method)


# ---------------------------------------------------------------- batches of trials


class _Family(NamedTuple):
    """Family of the trainings of one setting, which start from each other, the nearest costs first."""

    family: str

    def position(self, costs: Costs) -> tuple[float, ...]:
        return tuple(map(log, costs))


class EngineTrainer(BatchTrainer):
    """Trainer on the data of an engine, whose trials a judge evaluates; ``job`` describes a training of a setting."""

    def __init__(self, engine: Engine, judge: ScoreJudge, job: JobMaker, *, n_settings: int, n_folds: int) -> None:
        self.engine, self.judge, self.job, self.store = engine, judge, job, judge.store
        self.startables = [[_Family(str(setting))] * n_folds for setting in range(n_settings)]

    def batches(self, asked: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Group the trials into batches that the engine trains in the same passes, with one trial of each setting."""
        # Trials of a setting start from each other: a search that goes on in the middle of a batch must find the same.
        size, batches = max(self.engine.most_jobs(self.n_folds) // self.n_folds, 1), []
        for setting, trial in asked:
            open_ = (batch for batch in batches if len(batch) < size and setting not in dict(batch))
            batch = next(open_, None)
            if batch is None:
                batches.append(batch := [])
            batch.append((setting, trial))
        return batches

    def train(self, batch: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """Train a batch, see `BatchTrainer.train`."""
        start = time.perf_counter()
        pairs = [(work, fold) for work in batch for fold in range(self.n_folds)]
        jobs = [self.job(work.setting, work.trial.costs, fold, work.starts[fold]) for work, fold in pairs]
        trained = self.engine.train(jobs)
        seconds = (time.perf_counter() - start) / len(batch)
        for number, work in enumerate(batch):
            folds = trained[number * self.n_folds : (number + 1) * self.n_folds]
            yield self._judged(folds, work.trial, seconds, raise_errors=raise_errors)

    def _judged(
        self, trained: Sequence[Training | Exception], trial: Trial, seconds: float, *, raise_errors: bool
    ) -> TrainedTrial:
        """Judge the trainings of one trial together."""
        times, start = [seconds / self.n_folds] * self.n_folds, time.perf_counter()
        errors = [training for training in trained if isinstance(training, Exception)]
        if errors:
            return self._failed(errors[0], times, raise_errors)
        trainings = [training for training in trained if not isinstance(training, Exception)]
        try:
            scored = self.engine.scores([training.model for training in trainings])
            fields, predictions = self.judge.judged(scored, trial)
        except Exception as error:  # scores that are none, or rows that the models refuse
            if (cause := self.engine.cause(error)) is None:
                raise
            return self._failed(cause, times, raise_errors)
        gaps = [training.gap for training in trainings if training.gap is not None]
        fields["duality_gap"] = max(gaps) if len(gaps) == len(trainings) else None
        fields["fit_time"], fields["score_time"] = seconds, time.perf_counter() - start
        return TrainedTrial(fields, [training.state for training in trainings], times, predictions)

    def _failed(self, error: Exception, times: list[float], raise_errors: bool) -> TrainedTrial:
        if raise_errors:
            raise error
        text = "".join(traceback.format_exception(error))
        return TrainedTrial({"error": text, "fit_time": sum(times), "score_time": 0.0}, [None] * len(times), times)
