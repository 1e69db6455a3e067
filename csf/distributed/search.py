"""The search over an engine."""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from csf._common.messages import warn
from csf._common.typing import Costs, Estimator
from csf.distributed.counts import CountedCut, MemoryScores, PartScores, Scored, counted_cut, own_decision
from csf.distributed.engine import Engine, FoldTotals, Job
from csf.evaluate import ScoreRow, ScoreStore
from csf.evaluate.choices import decisions
from csf.evaluate.trials import known_hull, outcome
from csf.metrics.profile import ErrorProfile
from csf.search.config import FAST, SLOW, Model, Pace, SearchConfig, Step, chooser_of, steps_of
from csf.search.loop import Deadline, SearchLoop
from csf.search.outcome import Outcome, SearchOutcome, conclude, reason_of
from csf.search.problem import make_studies, open_checkpoint
from csf.search.selection import Race, races
from csf.search.training import HeldOutPredictions, TrainedTrial, WaveTrainer, Work
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.evaluate.trials import CompleteFields, Trial
    from csf.metrics.base import Metric
    from csf.search.study import Study

# ---------------------------------------------------------------- batches of trials


class _Family(NamedTuple):
    """Trainings of one setting start from each other, from the nearest costs first."""

    family: str

    def position(self, costs: Costs) -> tuple[float, ...]:
        return tuple(map(log, costs))


class SampledStore(ScoreStore):
    """Held-out scores of a sample of rows, with the values that trials attain there and not on all rows."""

    sampled = True

    def __init__(self, entries: PartScores, metric: Metric) -> None:
        super().__init__(entries.is_pos, entries.weight)
        self.metric = metric

    def put(self, row: ScoreRow) -> None:
        """Keep a row with its value on these rows."""
        profile = ErrorProfile.from_masks(self.is_pos, decisions(row), sample_weight=self.weight)
        super().put(replace(row, value=self.metric.of(profile)))


class EngineTrainer(WaveTrainer):
    """Trains on the data of an engine.

    ``counted`` has what the counts of each complete trial give, in their order. Held-out scores are collected where the
    engine says that they are few enough for that: one pass then, and winner and threshold are chosen as in memory.
    Where it collects those of a ``sample``, the store holds these, and trials are judged by counts.
    """

    def __init__(
        self,
        engine: Engine,
        bases: list[Estimator],
        metric: Metric,
        totals: FoldTotals,
        *,
        sampled: bool = False,
        tune: bool = True,
        normalize: str = "none",
    ) -> None:
        self.engine, self.bases, self.metric, self.totals = engine, bases, metric, totals
        self.sampled, self.tune, self.normalize = sampled, tune, normalize
        self.startables = [[_Family(str(setting))] * totals.n_folds for setting in range(len(bases))]
        self.counted: list[CountedCut] = []
        self.entries = engine.entries()
        self.store = None if self.entries is None else self._store(self.entries)

    def _store(self, entries: PartScores) -> ScoreStore:
        return SampledStore(entries, self.metric) if self.sampled else ScoreStore(entries.is_pos, entries.weight)

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
            fields, predictions = self._fields([training.model for training in trainings])
        except ValueError as error:  # scores that are none
            return self._failed(error, times, raise_errors)
        gaps = [training.gap for training in trainings if training.gap is not None]
        fields["duality_gap"] = max(gaps) if len(gaps) == len(trainings) else None
        fields["fit_time"], fields["score_time"] = seconds, time.perf_counter() - start
        return TrainedTrial(fields, [training.state for training in trainings], times, predictions)

    def _fields(self, models: list[Any]) -> tuple[CompleteFields, HeldOutPredictions | None]:
        """Fields of a trial from the counts of its held-out scores, and these scores where they are collected."""
        scored: Scored = self.engine.scores(models)
        score = None if self.entries is None else scored.collected()
        if self.entries is not None and not self.sampled:
            scored = MemoryScores([self.entries._replace(score=score)], self.n_folds, scored.own_cut)
        found = counted_cut(scored, self.metric) if self.tune else own_decision(scored)
        self.counted.append(found)
        hull = known_hull(found.own, found.curve)
        folds = [None if profile is None else self.metric.of(profile) for profile in found.fold_profiles]
        fields: CompleteFields = {
            **outcome(self.metric, found.own, hull=hull, cut=found.cut),
            "fold_scores": tuple(folds),
        }
        return fields, None if score is None else HeldOutPredictions(score, score >= scored.own_cut)

    def _failed(self, error: Exception, times: list[float], raise_errors: bool) -> TrainedTrial:
        if raise_errors:
            raise error
        text = "".join(traceback.format_exception(error))
        return TrainedTrial({"error": text, "fit_time": sum(times), "score_time": 0.0}, [None] * len(times), times)


# ---------------------------------------------------------------- the search


@dataclass
class EngineSearch:
    """A cost search on the data of an engine.

    Parameters
    ----------
    engine : Engine
        Where the data are.
    bases : list of estimator
        Unfitted bases, one for each setting.
    settings : list of dict
        Parameters in which they differ. They race as in memory where held-out scores are collected, and on a sample of
        the rows where the engine has one: those that are behind there are left out.
    config : SearchConfig
        What the search is asked for, as `csf.CostSearch` describes it; folds are those of the engine.
    fast : bool, default=False
        Whether trainings cost little: the ladder is longer then, and costs need no margin over equal ones.

    Attributes
    ----------
    totals : FoldTotals
        What the folds weigh.
    studies : list of Study
        One for each setting.
    trainer : EngineTrainer
        Where trials were trained; ``trainer.counted`` says how each threshold was found.
    """

    engine: Engine
    bases: list[Estimator]
    settings: list[dict[str, Any]]
    config: SearchConfig
    fast: bool = False
    totals: FoldTotals = field(init=False)
    studies: list[Study] = field(init=False)
    trainer: EngineTrainer = field(init=False)
    _loop: SearchLoop = field(init=False, repr=False)

    def run(self) -> SearchOutcome:
        """Search.

        Returns
        -------
        SearchOutcome
            What was found; the winner is not trained on everything yet.

        Raises
        ------
        ValueError, TypeError
            If a fold lacks a class, or every trial failed.
        """
        config = self.config
        deadline = None if config.time_limit is None else Deadline(config.time_limit)
        self.totals = self.engine.totals()
        self.totals.check()
        steps, sample = steps_of(config.param_grid, self.settings, self._pace), self.engine.sample()
        behind = []
        if sample is not None and races(config) and len(steps) > 1:
            steps, behind = self._raced(sample, steps)
        options = {"sampled": sample is not None, "tune": config.tunes, "normalize": config.normalize}
        self.trainer = EngineTrainer(self.engine, self.bases, config.aim, self.totals, **options)
        race = self._race(steps)
        self._warn_of_counts()
        self._loop = loop = SearchLoop(
            self.studies,
            self.trainer,
            raise_errors=config.error_score == "raise",
            checkpoint=open_checkpoint(config, self.bases, (self.engine.identity, self.totals.weight), self.studies),
            callbacks=list(config.callbacks or ()),
            verbose=config.verbose,
            deadline=deadline,
            race=race,
        )
        stopped = loop.run()
        searched = Outcome(
            config=config,
            studies=self.studies,
            settings=self.settings,
            n_splits=self.totals.n_folds,
            store=loop.store,
            stop_reason="; ".join([stopped or reason_of(self.studies), *behind]),
        )
        chooser = chooser_of(config, [Model(None, None, None, pace=self._pace)])
        if sample is not None:
            chooser = replace(chooser, margin=None)
        return conclude(searched, chooser, self.trainer.counted)

    @property
    def _pace(self) -> Pace:
        return FAST if self.fast else SLOW

    def _raced(self, sample: Engine, steps: list[Step]) -> tuple[list[Step], list[str]]:
        """Leave the settings that equal costs on a sample leave in doubt; their steps, and what is said of others."""
        # What is known in the end is the same whether this is repeated or not.
        alone = {"n_trials": 1, "checkpoint": None, "callbacks": None, "verbose": 0, "tol": None, "min_gain": None}
        config = replace(self.config, **alone)
        totals = sample.totals()
        trainer = EngineTrainer(sample, self.bases, config.aim, totals, normalize=config.normalize)
        studies = make_studies(config, [self._pace] * len(steps), pos=totals.pos)
        assert trainer.store is not None, "a sample collects its scores"
        race = Race(studies, steps, trainer.store, config.aim)
        if SearchLoop(studies, trainer, raise_errors=config.error_score == "raise", race=race).run():
            raise KeyboardInterrupt
        left = race.left()
        self.bases, self.settings = [self.bases[at] for at in left], [self.settings[at] for at in left]
        tried = sum(bool(study.trials) for study in studies)
        message = f"a sample of {totals.rows.sum()} rows left {len(left)} of {tried} settings in the race"
        return [Step() for _ in left], [message] if len(left) < tried else []

    def _race(self, steps: list[Step]) -> Race | None:
        """Make the studies, and what decides which of them go on: where held-out scores are at hand, as in memory."""
        store = self.trainer.store if races(self.config) else None
        if store is None:
            # What a race alone goes on to.
            n_settings = sum(not step.beyond for step in steps)
            self.bases, self.settings = self.bases[:n_settings], self.settings[:n_settings]
        self.studies = make_studies(self.config, [self._pace] * len(self.settings), pos=self.totals.pos)
        return None if store is None or len(steps) == 1 else Race(self.studies, steps, store, self.config.aim)

    def _warn_of_counts(self) -> None:
        """What was asked for and cannot be had of counts."""
        config = self.config
        ignored = ["threshold='stable' chooses as 'tune' does"] if config.threshold == "stable" else []
        ignored += [] if config.min_gain is None else [f"min_gain={config.min_gain:g} is ignored"]
        if ignored and self.trainer.store is None:
            warn(
                f"the folds hold {int(self.totals.rows[:-1].sum())} rows, too many for their scores to be collected: "
                f"{' and '.join(ignored)}, and there are no corrected scores and no margin of the bound. Of so many "
                "rows chance decides little; threshold='tune'"
                + (" without min_gain asks for just that" if config.min_gain is not None else " asks for just that")
            )

    def train_on_everything(self, found: SearchOutcome) -> Training:
        """Train the winner of an outcome on all rows."""
        winner = found.winner
        # One fold's solution is as near as another's.
        starts = self._loop.work(winner.setting, winner).starts
        return self.trainer.train_on_everything(winner.setting, winner.costs, starts[0])
