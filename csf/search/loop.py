"""The loop of a search: ask, train on all folds, tell; in parallel, with checkpoints and callbacks."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.exceptions import FitFailedWarning
from tqdm import tqdm

from csf._common.warn import warn
from csf._sklearn import NoCallbackContext
from csf.search.checkpoint import Checkpoint
from csf.search.gain_rule import GainRule
from csf.search.memory import Memory
from csf.search.outcomes import decisions, pooled_outcome
from csf.search.workers import Workers
from csf.trials import first_line

if TYPE_CHECKING:
    from csf.search.gain_rule import Choice


__all__ = ["Runner"]


@dataclass
class Runner:
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
        Standard errors by which a trial has to beat those with equal costs, see
        `csf.search.gain_rule.GainRule`; ``None`` takes the best trial as it is.
    """

    studies: list
    trainers: list
    folds: list
    tune: bool
    on_train: bool
    raise_errors: bool
    n_jobs: int | None = None
    checkpoint: Checkpoint | None = None
    callbacks: list = field(default_factory=list)
    context: object = field(default_factory=NoCallbackContext)
    verbose: int = 0
    min_gain: float | None = None

    def __post_init__(self) -> None:
        self._memory = Memory(self.trainers)
        self._failures = Counter()
        self._rule = self._untold = None
        if self.min_gain is not None:
            y, samples = (np.concatenate(parts) for parts in zip(*((fold.y_test, fold.test) for fold in self.folds)))
            weight = [fold.weight_test for fold in self.folds]
            weight = None if weight[0] is None else np.concatenate(weight)
            self._rule = GainRule(self.studies[0].metric, y > 0, weight, samples=samples, min_gain=self.min_gain)
            if self.checkpoint is not None and self.checkpoint.kept is not None:
                self._rule.restore(self.checkpoint.kept["rule"])

    def run(self) -> str | None:
        """Run all studies to their ends.

        Returns
        -------
        str or None
            Why the search ended before its studies did; ``None`` if it did not.
        """
        total = sum(study.n_trials for study in self.studies)
        done = sum(trial.state != "pending" for study in self.studies for trial in study.trials)
        bar = tqdm(total=total, initial=done, disable=not self.verbose, desc="csf", unit="trial")
        try:
            with bar, Workers(self.trainers, self.folds, self.n_jobs) as workers:
                self._resume(workers)
                while batch := self._next_batch():
                    for wave in self._waves(batch):
                        if self._run_wave(wave, workers, bar):
                            return "a callback ended the search"
        except KeyboardInterrupt:
            if self._untold is not None:
                self._record()
                self._save()
            if not self._n_complete():
                raise
            warn("the search was interrupted; it goes on with the trials that were finished")
            return "interrupted"
        finally:
            for study in self.studies:
                study.forget_pending()
        self._warn_of_more_failures()
        return None

    def choose(self) -> Choice | None:
        """Winner by the gain rule.

        Returns
        -------
        Choice or None
            Its ``key`` is the trial; ``None`` without a rule, or without a complete trial.
        """
        if self._rule is None or not self._n_complete():
            return None
        choice = self._rule.choose()
        number, at = choice.key
        return choice._replace(key=self._trial(number, at))

    def _resume(self, workers):
        """Get back what an earlier run knew besides its trials: training starts from the same solutions then."""
        kept = None if self.checkpoint is None else self.checkpoint.kept
        if kept is None:
            return
        for setting, number in self._memory.restore(kept["memory"]):
            trial = self._trial(setting, number)
            tasks = self._tasks([(setting, trial)])
            results = workers.run(tasks, tune=self.tune, on_train=False, raise_errors=False)
            self._memory.add(setting, trial, list(results))

    def _save(self):
        if self.checkpoint is not None:
            rule = None if self._rule is None else self._rule.to_record()
            self.checkpoint.save(self.studies, {"memory": self._memory.to_record(), "rule": rule})

    def _trial(self, setting, number):
        return next(trial for trial in self.studies[setting].trials if trial.number == number)

    def _note(self, trial, results, number):
        """Tell the rule what a complete trial decides."""
        if self._rule is not None:
            decided = decisions(results, trial.threshold)
            self._rule.add((number, trial.number), decided, neutral=trial.c_fn == trial.c_fp)

    def _next_batch(self):
        """Trials to train now: those left pending by an earlier run, then new ones."""
        studies = list(enumerate(self.studies))
        left = [(number, trial) for number, study in studies for trial in study.trials if trial.state == "pending"]
        batch = left or [(number, trial) for number, study in studies for trial in study.ask_batch()]
        if batch:
            self._save()
        return batch

    def _waves(self, batch):
        """Trials that are trained at once: first those one by one that can start from the ones before them."""
        alone = [[item] for item in batch if self.trainers[item[0]][0].family is not None]
        rest = [item for item in batch if self.trainers[item[0]][0].family is None]
        return [*alone, rest] if rest else alone

    def _tasks(self, batch):
        return [
            (number, fold, trial.costs, self._memory.starts(number, fold, trial.costs))
            for number, trial in batch
            for fold in range(len(self.folds))
        ]

    def _run_wave(self, batch, workers, bar):
        options = {"tune": self.tune, "on_train": self.on_train, "raise_errors": self.raise_errors}
        with closing(workers.run(self._tasks(batch), **options)) as results:
            return self._settle(batch, results, bar)

    def _settle(self, batch, results, bar):
        """Tell the results of a wave, trial by trial; whether a callback ends the search."""
        stop = False
        for number, trial in batch:
            task = self.context.subcontext(task_name=f"trial-{number}-{trial.number}")
            task.begin()
            trial = self._tell(self.studies[number], trial, [next(results) for _ in self.folds], number)
            stop |= task.end()
            self._save()
            if self.verbose:
                bar.set_postfix_str(self._best(), refresh=False)
            bar.update()
            for callback in self.callbacks:
                stop |= bool(callback(self.studies[number], trial))
            if stop:
                break
        return stop

    def _tell(self, study, trial, results, number):
        self._memory.add(number, trial, results)
        fields = pooled_outcome(study.metric, self.folds, results, tune=self.tune)
        if "profile" in fields:
            self._untold = number, trial, fields, results
            return self._record()
        cause = first_line(fields["error"])
        self._failures[cause] += 1
        if self._failures[cause] == 1:
            warn(
                f"trial {trial.number} (t={trial.t}, costs {trial.costs}) failed and is left out; its error is in "
                f"trials_: {cause}",
                FitFailedWarning,
            )
        return study.fail(trial, setting=number, **fields)

    def _record(self):
        """Record a trial with what it decides: both, even where Ctrl-C comes between them and this is called again."""
        number, trial, fields, results = self._untold
        if self._trial(number, trial.number).state == "pending":
            self.studies[number].record(trial, setting=number, **fields)
        trial = self._trial(number, trial.number)
        self._note(trial, results, number)
        self._untold = None
        return trial

    def _warn_of_more_failures(self):
        """Tell at the end how many trials failed like the first ones, where others did not."""
        more, done = self._failures.total() - len(self._failures), self._n_complete()
        if more and done:
            warn(
                f"{self._failures.total()} trials failed and are left out, {done} are complete. Causes: "
                + "; ".join(f"{cause} ({times} times)" for cause, times in self._failures.most_common()),
                FitFailedWarning,
            )

    def _n_complete(self):
        return sum(trial.state == "complete" for study in self.studies for trial in study.trials)

    def _best(self):
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""
