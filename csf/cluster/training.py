"""Waves of trials trained by an engine, and judged by counts of scores that stay where they are."""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator, Sequence
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from csf._common.typing import Costs, Estimator
from csf.cluster.cut import CountedCut, counted_cut, own_decision
from csf.cluster.engine import Engine, FoldTotals, Job
from csf.cluster.scored import MemoryScores
from csf.resampling import ScoreStore
from csf.search.waves import Said, TrainedTrial, WaveTrainer, Work
from csf.trainers.base import Training
from csf.trials import known_hull, outcome

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.trials import CompleteFields, Trial

__all__ = ["EngineTrainer"]


class _Family(NamedTuple):
    """Trainings of one setting start from each other, from the nearest costs first."""

    family: str

    def position(self, costs: Costs) -> tuple[float, ...]:
        return tuple(map(log, costs))


class EngineTrainer(WaveTrainer):
    """Trains on the data of an engine.

    ``counted`` has what the counts of each complete trial give, in their order. Held-out scores are collected where the
    engine says that they are few enough for that: one pass then, and winner and threshold are chosen as in memory.
    """

    def __init__(
        self,
        engine: Engine,
        bases: list[Estimator],
        metric: Metric,
        totals: FoldTotals,
        *,
        tune: bool = True,
        normalize: str = "none",
    ) -> None:
        self.engine, self.bases, self.metric, self.totals = engine, bases, metric, totals
        self.tune, self.normalize = tune, normalize
        self.startables = [[_Family(str(setting))] * totals.n_folds for setting in range(len(bases))]
        self.counted: list[CountedCut] = []
        self.entries = engine.entries()
        self.store = None if self.entries is None else ScoreStore(self.entries.is_pos, self.entries.weight)

    def waves(self, batch: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """As many trials at once as the engine trains in the same passes, but one of each setting."""
        # Trials of a setting start from each other: a search that goes on in the middle of a wave must find the same.
        size, waves = max(self.engine.most_jobs(self.n_folds) // self.n_folds, 1), []
        for setting, trial in batch:
            open_ = (wave for wave in waves if len(wave) < size and setting not in dict(wave))
            wave = next(open_, None)
            if wave is None:
                waves.append(wave := [])
            wave.append((setting, trial))
        return waves

    def train(self, wave: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """See `WaveTrainer.train`."""
        start = time.perf_counter()
        jobs = [self._job(work, fold) for work in wave for fold in range(self.n_folds)]
        trained = self.engine.train(jobs)
        seconds = (time.perf_counter() - start) / len(wave)
        for number in range(len(wave)):
            folds = trained[number * self.n_folds : (number + 1) * self.n_folds]
            yield self._judged(folds, seconds, raise_errors=raise_errors)

    def train_on_everything(self, setting: int, costs: Costs, starts: Sequence[Any]) -> Training:
        """Train at the costs of a trial on all rows, from the states of a fold."""
        (training,) = self.engine.train([Job(self.bases[setting], None, self._scaled(costs, None), starts)])
        if isinstance(training, Exception):
            raise training
        return training

    def _job(self, work: Work, fold: int) -> Job:
        costs = self._scaled(work.trial.costs, fold)
        return Job(self.bases[work.setting], fold, costs, work.starts[fold])

    def _scaled(self, costs: Costs, fold: int | None) -> Costs:
        """Costs with the mean weight of the training taken out, where that is wanted."""
        if self.normalize == "none":
            return costs
        c_fn, c_fp = costs
        negatives, positives = self.totals.trained_on(fold).tolist()
        scale = (negatives + positives) / (c_fp * negatives + c_fn * positives)
        return scale * c_fn, scale * c_fp

    def _judged(self, trained: Sequence[Training | Exception], seconds: float, *, raise_errors: bool) -> TrainedTrial:
        """What the trainings of one trial say together."""
        times, start = [seconds / self.n_folds] * self.n_folds, time.perf_counter()
        errors = [each for each in trained if isinstance(each, Exception)]
        if errors:
            return self._failed(errors[0], times, raise_errors)
        trainings = [each for each in trained if not isinstance(each, Exception)]
        try:
            fields, said = self._said([training.model for training in trainings])
        except ValueError as error:  # scores that are none
            return self._failed(error, times, raise_errors)
        gaps = [training.gap for training in trainings if training.gap is not None]
        fields["duality_gap"] = max(gaps) if len(gaps) == len(trainings) else None
        fields["fit_time"], fields["score_time"] = seconds, time.perf_counter() - start
        return TrainedTrial(fields, [training.state for training in trainings], times, said)

    def _said(self, models: list[Any]) -> tuple[CompleteFields, Said | None]:
        """Fields of a trial from the counts of its held-out scores, and these scores where they are collected."""
        scored = self.engine.scores(models)
        score = None
        if self.entries is not None:
            score = scored.collected()
            scored = MemoryScores([self.entries._replace(score=score)], self.n_folds, scored.own_cut)
        found = counted_cut(scored, self.metric) if self.tune else own_decision(scored)
        self.counted.append(found)
        hull = known_hull(found.own, found.curve)
        folds = [None if profile is None else self.metric.of(profile) for profile in found.fold_profiles]
        fields: CompleteFields = {
            **outcome(self.metric, found.own, hull=hull, cut=found.cut),
            "fold_scores": tuple(folds),
        }
        return fields, None if score is None else Said(score, score >= scored.own_cut)

    def _failed(self, error: Exception, times: list[float], raise_errors: bool) -> TrainedTrial:
        if raise_errors:
            raise error
        text = "".join(traceback.format_exception(error))
        return TrainedTrial({"error": text, "fit_time": sum(times), "score_time": 0.0}, [None] * len(times), times)
