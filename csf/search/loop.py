"""The loop of every search: ask, train a wave, tell, save; in memory, on Dask and on Spark alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from csf._common.messages import warn
from csf._common.sklearn import NoCallbackContext
from csf.search.checkpoint import Checkpoint, Memory
from csf.search.progress import Deadline, Failures, Progress, nothing_worked
from csf.search.training import TrainedTrial, WaveTrainer, Work

if TYPE_CHECKING:
    from csf.evaluate import ScoreStore
    from csf.evaluate.trials import Trial
    from csf.search.progress import Forecast
    from csf.search.selection import Race
    from csf.search.study import History

__all__ = ["SearchLoop"]


class _Unrecorded(NamedTuple):
    """A finished trial on its way into its study, what later ones start from, and the store of scores."""

    setting: int
    number: int
    trained: TrainedTrial


@dataclass
class SearchLoop:
    """Trains the trials of several studies until all are over.

    Parameters
    ----------
    studies : list of History
        One for each setting.
    trainer : WaveTrainer
        Where trials are trained.
    raise_errors : bool
        Whether a failing training ends the search; else its trial is left out.
    checkpoint : Checkpoint, default=None
        File that keeps the trials, already restored.
    callbacks : sequence of callable
        ``callback(study, trial)`` after each trial; a true result ends the search.
    context : callback context
        Of scikit-learn's callbacks.
    verbose : int, default=0
        1 shows a progress bar.
    deadline : Deadline, default=None
        When it has to be over.
    forecast : Forecast, default=None
        Says what the rest takes, where that is long.
    n_settings : int, default=None
        Settings that may differ in whether the base can be trained at all; ``None`` for one a study.
    race : Race, default=None
        Decides which studies go on; ``None`` for all of them.
    """

    studies: Sequence[History]
    trainer: WaveTrainer
    raise_errors: bool = False
    checkpoint: Checkpoint | None = None
    callbacks: Sequence[Callable[[Any, Any], Any]] = ()
    context: Any = field(default_factory=NoCallbackContext)
    verbose: int = 0
    deadline: Deadline | None = None
    forecast: Forecast | None = None
    n_settings: int | None = None
    race: Race | None = None

    def __post_init__(self) -> None:
        self._memory = Memory(self.trainer.startables)
        self._failures = Failures(self.n_settings or len(self.studies))
        self._unrecorded: _Unrecorded | None = None

    @property
    def store(self) -> ScoreStore | None:
        """Held-out scores of the trials."""
        return self.trainer.store

    def run(self) -> str | None:
        """Run all studies to their ends; why the search ended where that is not what the studies say."""
        progress = Progress(total=self._most_trials(), done=self._n_finished(), shown=bool(self.verbose))
        resumed = False
        try:
            with progress, self.trainer:
                self._resume()
                resumed = True
                if self.deadline is not None:
                    self.deadline.begin()
                while batch := self._next_batch():
                    progress.expect(self._most_trials())
                    for wave in self.trainer.waves(batch):
                        if reason := self._run_wave(wave, progress):
                            return reason
                progress.finish()
        except KeyboardInterrupt:
            # Ctrl-C asks for what there is, not for an error: hours of trials must not be lost.
            if self._unrecorded is not None:
                self._record(self._unrecorded)
            # Before all is resumed, the file knows more than this search does.
            if resumed:
                self._save()
            if not self._n_complete() or not self._is_whole():
                raise
            warn("the search was interrupted; it goes on with the trials that were finished")
            return "interrupted"
        finally:
            # Nobody will tell their results any more; strategies and results would wait for them.
            for study in self.studies:
                study.forget_pending()
        self._failures.warn_of_more(self._n_complete())
        return None

    def _resume(self) -> None:
        """Get back what an earlier run knew besides its trials: training starts from the same solutions then."""
        if self.checkpoint is None:
            return
        # Solutions or scores too large for the file: the trainings that gave them are repeated in their order, so that
        # each starts from what it started from, and the trials to come are those of a search without the pause.
        again, scores_known = self.checkpoint.resume(self.studies, self._memory, self.store)
        for setting, number in again:
            trial = self._trial(setting, number)
            (trained,) = self.trainer.train([self.work(setting, trial, len(trial.fold_scores))], raise_errors=False)
            self._memory.add(setting, trial, trained.states)
            if trial.state == "complete" and not scores_known:
                self._keep(setting, trial, trained)

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(self.studies, self._memory, self.store)

    def _trial(self, setting: int, number: int) -> Trial:
        return next(trial for trial in self.studies[setting].trials if trial.number == number)

    def _next_batch(self) -> list[tuple[int, Trial]]:
        """Settings and trials to train now: those left pending by an earlier run, then new ones."""
        numbered = list(enumerate(self.studies))
        batch = [(setting, trial) for setting, study in numbered for trial in study.trials if trial.state == "pending"]
        if not batch:
            try:
                everyone = ((setting, trial) for setting, study in numbered for trial in study.ask_batch())
                batch = list(everyone) if self.race is None else self.race.ask()
            except BaseException:
                # Ctrl-C, or a strategy's error: a part of a batch would be trained first when the search goes on, and
                # what is asked for after it would know its results.
                for study in self.studies:
                    study.forget_pending()
                raise
        if batch:
            # A search that is killed while it trains them has to train the same ones.
            self._save()
        return batch

    def work(self, setting: int, trial: Trial, n_folds: int = 0) -> Work:
        """A trial with what its trainings may start from, its own solutions where it was trained.

        It is trained on the first ``n_folds``; 0 means all.
        """
        folds = range(n_folds or self.trainer.n_folds)
        return Work(setting, trial, [self._memory.starts(setting, fold, trial.costs) for fold in folds])

    def _run_wave(self, wave: list[tuple[int, Trial]], progress: Progress) -> str | None:
        """Train a wave and tell its results; why the search ends, if it does."""
        n_folds = (lambda *trial: 0) if self.race is None else self.race.n_folds
        work = [self.work(*each, n_folds(*each)) for each in wave]
        # Closed at once where the search ends, so that no worker goes on with what nobody waits for.
        with closing(self.trainer.train(work, raise_errors=self.raise_errors)) as results:
            return self._settle(wave, results, progress)

    def _settle(self, wave: list[tuple[int, Trial]], results: Iterator[TrainedTrial], progress: Progress) -> str | None:
        """Tell the results of a wave, trial by trial; why the search ends, if it does."""
        for setting, trial in wave:
            task = self.context.subcontext(task_name=f"trial-{setting}-{trial.number}")
            task.begin()
            trained = next(results)
            trial = self._tell(setting, trial, trained)
            stop = task.end()
            # Before callbacks, which may raise anything.
            self._save()
            if trained.failed is not None and self._failures.leave_no_hope and not self._n_complete():
                told = [each for study in self.studies for each in study.trials if each.state != "pending"]
                raise nothing_worked(told, ended=True) from trained.failed.error
            progress.step(self._best)
            if self.forecast is not None:
                left, starts = self._most_trials() - self._n_finished(), self.trainer.startables[setting][0].family
                self.forecast.add_trial(trained.fit_times, left=left, is_like_first=starts is None)
            for callback in self.callbacks:
                stop |= bool(callback(self.studies[setting], trial))
            if stop:
                return "a callback ended the search"
            if self.deadline is not None and self.deadline.passes(trained.fit_times):
                return f"the time limit of {self.deadline.seconds:.3g} s leaves no time for another trial and the refit"
        return None

    def _tell(self, setting: int, trial: Trial, trained: TrainedTrial) -> Trial:
        # Kept until it is recorded: Ctrl-C may come at any point from here on.
        self._unrecorded = _Unrecorded(setting, trial.number, trained)
        if "error" in trained.fields:
            everywhere = trained.failed is not None
            self._failures.add(trial, trained.fields["error"], setting=setting, everywhere=everywhere)
        return self._record(self._unrecorded)

    def _record(self, unrecorded: _Unrecorded) -> Trial:
        """Record a trial with all that it says, even where Ctrl-C comes in between and this is called again."""
        setting, number, trained = unrecorded
        fields = trained.fields
        if 0 < len(self._trial(setting, number).fold_scores) < len(trained.fit_times):
            # Its first folds were told before.
            self.studies[setting].reopen(number)
            if self.store is not None:
                self.store.discard((setting, number))
        if self._trial(setting, number).state == "pending":
            if "error" in fields:
                self.studies[setting].fail(number, setting=setting, **fields)
            else:
                self.studies[setting].record(number, setting=setting, **fields)
        trial = self._trial(setting, number)
        self._memory.add(setting, trial, trained.states)
        if trial.state == "complete":
            self._keep(setting, trial, trained)
        self._unrecorded = None
        return trial

    def _keep(self, setting: int, trial: Trial, trained: TrainedTrial) -> None:
        if self.store is not None and trained.predictions is not None:
            self.store.add_trial((setting, trial.number), trial, *trained.predictions)

    def _most_trials(self) -> int:
        return sum(len(study.trials) if study.dropped else study.most_trials for study in self.studies)

    def _n_finished(self) -> int:
        return sum(trial.state != "pending" for study in self.studies for trial in study.trials)

    def _n_complete(self) -> int:
        return sum(trial.state == "complete" for study in self.studies for trial in study.trials)

    def _is_whole(self) -> bool:
        """Whether the store has all complete trials: half of a search is none to go on with."""
        return self.store is None or len(self.store) + self.store.n_dropped >= self._n_complete()

    def _best(self) -> str:
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""
