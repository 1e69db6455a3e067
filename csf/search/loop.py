"""The loop of a search: ask, train on all folds, tell; in parallel, with checkpoints and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from csf._common.warn import warn
from csf._sklearn import NoCallbackContext
from csf.resampling import MAX_BYTES, ScoreStore
from csf.search.batches import next_batch
from csf.search.checkpoint import Checkpoint
from csf.search.deadline import Deadline
from csf.search.failures import Failures
from csf.search.gain_rule import Choice, GainRule
from csf.search.memory import Memory
from csf.search.outcomes import FoldResult, keep_scores, pooled_lost, pooled_outcome
from csf.search.progress import Progress
from csf.search.score_file import ScoreFile
from csf.search.stable_choice import StableChoice, stable_choice
from csf.search.tasks import FoldTask
from csf.search.workers import Workers
from csf.trials import CompleteFields, FailedFields, Trial

if TYPE_CHECKING:
    from csf.samples.folds import Fold
    from csf.study.study import Study
    from csf.trainers.base import Trainer

__all__ = ["SearchLoop", "Winner"]


class Winner(NamedTuple):
    """The trial that is chosen, and what was asked for besides.

    Parameters
    ----------
    trial : Trial or None
        The trial; ``None`` for the best one.
    cut : StableChoice, default=None
        Its stable cut.
    gain : Choice, default=None
        What the gain rule says.
    """

    trial: Trial | None = None
    cut: StableChoice | None = None
    gain: Choice | None = None


class _Untold(NamedTuple):
    """A finished trial on its way into its study, what later ones start from, and the store of scores."""

    setting: int
    number: int
    fields: CompleteFields | FailedFields
    results: list[FoldResult]


@dataclass
class SearchLoop:
    """Trains the trials of several studies until all are over.

    Parameters
    ----------
    studies : list of Study
        One for each setting of the base's parameters.
    trainers : list of list of Trainer
        One for each study and fold.
    folds : list of Fold
        The folds.
    tune : bool
        Whether thresholds are tuned.
    on_train : bool
        Whether bounds read the training parts.
    raise_errors : bool
        Whether an error of the base ends the search.
    n_jobs : int or None
        Number of workers; the result does not depend on it.
    checkpoint : Checkpoint, default=None
        Where finished trials are kept.
    callbacks : list of callable, default=[]
        ``callback(study, trial)`` after each trial; a true result ends the search.
    context : object
        scikit-learn's callback context of the search.
    verbose : int, default=0
        1 shows a progress bar.
    min_gain : float, default=None
        Standard errors by which a trial has to beat those with equal costs beyond luck, see
        `csf.search.gain_rule.GainRule`; ``None`` takes the best trial as it is.
    stable : float, default=None
        Margin of `csf.search.stable_choice`, where winner and cut are to be chosen by that.
    deadline : Deadline, default=None
        When it has to be over.
    max_bytes : int, default=33554432
        Largest size of the held-out scores that are kept.

    Attributes
    ----------
    held_out : ScoreStore
        Held-out scores of the trials.
    """

    studies: list[Study]
    trainers: list[list[Trainer]]
    folds: list[Fold]
    tune: bool
    on_train: bool
    raise_errors: bool
    n_jobs: int | None = None
    checkpoint: Checkpoint | None = None
    callbacks: list[Callable[[Study, Trial], Any]] = field(default_factory=list)
    context: Any = field(default_factory=NoCallbackContext)
    verbose: int = 0
    min_gain: float | None = None
    stable: float | None = None
    deadline: Deadline | None = None
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        self._memory = Memory(self.trainers)
        self._failures = Failures()
        self._untold: _Untold | None = None
        y, samples = (np.concatenate(parts) for parts in zip(*((fold.y_test, fold.test) for fold in self.folds)))
        weights = [fold.weight_test for fold in self.folds if fold.weight_test is not None]
        weight = np.concatenate(weights) if weights else None
        self.held_out = ScoreStore(y > 0, weight, samples=samples, max_bytes=self.max_bytes)
        self._score_file = ScoreFile(self.held_out)

    def run(self) -> str | None:
        """Run all studies to their ends.

        Returns
        -------
        str or None
            Why the search ended before its studies did; ``None`` if it did not.
        """
        total = sum(study.n_trials for study in self.studies)
        done = sum(trial.state != "pending" for study in self.studies for trial in study.trials)
        progress = Progress(total=total, done=done, shown=bool(self.verbose))
        resumed = False
        try:
            with progress, Workers(self.trainers, self.folds, self.n_jobs) as workers:
                self._resume(workers)
                resumed = True
                if self.deadline is not None:
                    self.deadline.begin()
                while batch := self._next_batch():
                    for wave in self._waves(batch):
                        if reason := self._run_wave(wave, workers, progress):
                            return reason
        except KeyboardInterrupt:
            # Ctrl-C asks for what there is, not for an error: hours of trials must not be lost.
            if self._untold is not None:
                self._record(self._untold)
            # Before that, the file knows more than this search does.
            if resumed:
                self._save()
            if not self._n_complete():
                raise
            warn("the search was interrupted; it goes on with the trials that were finished")
            return "interrupted"
        finally:
            # Nobody will tell their results any more; strategies and results would wait for them.
            for study in self.studies:
                study.forget_pending()
        self._failures.warn_of_more(self._n_complete())
        return None

    def choose(self) -> Winner:
        """Winner by the gain rule, and by what is stable.

        Returns
        -------
        Winner
            Nothing is set in it without a complete trial.
        """
        if not self._n_complete():
            return Winner()
        metric = self.studies[0].metric
        gain = None if self.min_gain is None else GainRule(self.min_gain).choose(self.held_out, metric)
        key = None if gain is None else gain.key
        cut = None
        if self.stable is not None:
            cut = stable_choice(self.held_out, metric, among=key, margin=self.stable)
        key = key if cut is None else cut.key
        return Winner(None if key is None else self._trial(*key), cut, gain)

    def _resume(self, workers: Workers) -> None:
        """Get back what an earlier run knew besides its trials: training starts from the same solutions then."""
        kept = None if self.checkpoint is None else self.checkpoint.kept
        if kept is None:
            return
        # Solutions or scores too large for the file: the trainings that gave them are repeated in their order, so that
        # each starts from what it started from, and the trials to come are those of a search without the pause.
        scores_known = self._score_file.restore(kept["scores"])
        for setting, number in self._memory.restore(kept["memory"], scores_known=scores_known):
            trial = self._trial(setting, number)
            results = list(workers.run(self._tasks([(setting, trial)], on_train=False), raise_errors=False))
            self._memory.add(setting, trial, results)
            if trial.state == "complete" and not scores_known:
                self._keep(setting, trial, results)

    def _save(self) -> None:
        if self.checkpoint is not None:
            kept = {"memory": self._memory.to_record(), "scores": self._score_file.to_record()}
            self.checkpoint.save(self.studies, kept)

    def _trial(self, setting: int, number: int) -> Trial:
        return next(trial for trial in self.studies[setting].trials if trial.number == number)

    def _next_batch(self) -> list[tuple[int, Trial]]:
        """See `next_batch`; kept before it is trained."""
        batch = next_batch(self.studies)
        if batch:
            # A search that is killed while it trains them has to train the same ones.
            self._save()
        return batch

    def _waves(self, batch: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Trials that are trained at once: first those one by one that can start from the ones before them."""
        # A start from the trial before saves more than a second worker does, and the folds of one trial run together.
        alone = [[item] for item in batch if self.trainers[item[0]][0].family is not None]
        rest = [item for item in batch if self.trainers[item[0]][0].family is None]
        return [*alone, rest] if rest else alone

    def _tasks(self, batch: list[tuple[int, Trial]], *, on_train: bool) -> list[FoldTask]:
        return [
            FoldTask(
                setting=setting,
                fold=fold,
                costs=trial.costs,
                starts=self._memory.starts(setting, fold, trial.costs),
                tune=self.tune,
                on_train=on_train,
            )
            for setting, trial in batch
            for fold in range(len(self.folds))
        ]

    def _run_wave(self, batch: list[tuple[int, Trial]], workers: Workers, progress: Progress) -> str | None:
        """Train a wave and tell its results; why the search ends, if it does."""
        tasks = self._tasks(batch, on_train=self.on_train)
        # Closed at once where the search ends, so that no worker goes on with what nobody waits for.
        with closing(workers.run(tasks, raise_errors=self.raise_errors)) as results:
            return self._settle(batch, results, progress)

    def _settle(self, batch: list[tuple[int, Trial]], results: Iterator[FoldResult], progress: Progress) -> str | None:
        """Tell the results of a wave, trial by trial; why the search ends, if it does."""
        for setting, trial in batch:
            task = self.context.subcontext(task_name=f"trial-{setting}-{trial.number}")
            task.begin()
            folds = [next(results) for _ in self.folds]
            trial = self._tell(setting, trial, folds)
            stop = task.end()
            # Before callbacks, which may raise anything.
            self._save()
            progress.step(self._best)
            for callback in self.callbacks:
                stop |= bool(callback(self.studies[setting], trial))
            if stop:
                return "a callback ended the search"
            if self.deadline is not None and self.deadline.passes([result.fit_time for result in folds]):
                return f"the time limit of {self.deadline.seconds:g} s was reached"
        return None

    def _tell(self, setting: int, trial: Trial, results: list[FoldResult]) -> Trial:
        fields = pooled_outcome(self.studies[setting].metric, self.folds, results, tune=self.tune)
        # Kept until it is recorded: Ctrl-C may come at any point from here on.
        self._untold = _Untold(setting, trial.number, fields, results)
        if "error" in fields:
            self._failures.add(trial, fields["error"])
        return self._record(self._untold)

    def _record(self, untold: _Untold) -> Trial:
        """Record a trial with all that it says, even where Ctrl-C comes in between and this is called again."""
        setting, number, fields, results = untold
        if self._trial(setting, number).state == "pending":
            if "error" in fields:
                self.studies[setting].fail(number, setting=setting, **fields)
            else:
                self.studies[setting].record(number, setting=setting, **fields)
        trial = self._trial(setting, number)
        self._memory.add(setting, trial, results)
        if trial.state == "complete":
            self._keep(setting, trial, results)
        self._untold = None
        return trial

    def _keep(self, setting: int, trial: Trial, results: list[FoldResult]) -> None:
        keep_scores(self.held_out, (setting, trial.number), trial, results, pooled_lost(results))

    def _n_complete(self) -> int:
        return sum(trial.state == "complete" for study in self.studies for trial in study.trials)

    def _best(self) -> str:
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""
