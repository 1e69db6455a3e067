"""The loop of a search: ask, train on all folds, tell; in parallel, with checkpoints and callbacks."""

import warnings
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import FitFailedWarning
from tqdm import tqdm

from csf._validation import NoCallbackContext
from csf.checkpoint import Checkpoint
from csf.evaluation import decisions, pooled_outcome
from csf.selection import GainRule
from csf.trainers.starts import Starts
from csf.trials import best_trial, first_line
from csf.workers import Workers

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
        Standard errors by which a trial has to beat those with equal costs, see `csf.selection.GainRule`; ``None``
        takes the best trial as it is.
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

    def __post_init__(self):
        self._starts = [Starts() for _ in self.folds]
        self._failures = Counter()
        self._rule = None
        if self.min_gain is not None:
            y, samples = (np.concatenate(parts) for parts in zip(*((fold.y_test, fold.test) for fold in self.folds)))
            weight = [fold.weight_test for fold in self.folds]
            weight = None if weight[0] is None else np.concatenate(weight)
            self._rule = GainRule(self.studies[0].metric, y > 0, weight, samples=samples, min_gain=self.min_gain)

    def run(self):
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
                self._recall(workers)
                while batch := self._next_batch():
                    for wave in self._waves(batch):
                        if self._run_wave(wave, workers, bar):
                            return "a callback ended the search"
        except KeyboardInterrupt:
            if not self._n_complete():
                raise
            warnings.warn(
                "the search was interrupted; it goes on with the trials that were finished", UserWarning, stacklevel=5
            )
            return "interrupted"
        finally:
            for study in self.studies:
                study.forget_pending()
        self._warn_of_more_failures()
        return None

    def choose(self):
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
        return choice._replace(key=next(trial for trial in self.studies[number].trials if trial.number == at))

    def _recall(self, workers):
        """Decisions of the two trials of an earlier run that the rule needs: a checkpoint does not hold them."""
        if self._rule is None:
            return
        known = [t for study in self.studies for t in study.trials if t.state == "complete"]
        for trial in {best_trial(known), best_trial([t for t in known if t.c_fn == t.c_fp])} - {None}:
            tasks = [(trial.setting, fold, trial.costs, ()) for fold in range(len(self.folds))]
            options = {"tune": self.tune, "on_train": False, "raise_errors": True}
            self._note(trial, list(workers.run(tasks, **options)), trial.setting)

    def _note(self, trial, results, number):
        """Tell the rule what a complete trial decides."""
        if self._rule is not None:
            decided = decisions(results, trial.threshold)
            self._rule.add((number, trial.number), decided, neutral=trial.c_fn == trial.c_fp)

    def _next_batch(self):
        """Trials to train now: those left pending by an earlier run, then new ones."""
        batch = []
        for number, study in enumerate(self.studies):
            left = [trial for trial in study.trials if trial.state == "pending"]
            batch += [(number, trial) for trial in (left or study.ask_batch())]
        if batch and self.checkpoint is not None:
            self.checkpoint.save(self.studies)
        return batch

    def _waves(self, batch):
        """Trials that are trained at once: one by one where each can start from those before it."""
        alone = all(trainers[0].family is not None for trainers in self.trainers)
        return [[item] for item in batch] if alone else [batch]

    def _run_wave(self, batch, workers, bar):
        tasks = [
            (number, fold, trial.costs, self._nearest(trainer, starts, trial.costs))
            for number, trial in batch
            for fold, (trainer, starts) in enumerate(zip(self.trainers[number], self._starts))
        ]
        options = {"tune": self.tune, "on_train": self.on_train, "raise_errors": self.raise_errors}
        with closing(workers.run(tasks, **options)) as results:
            return self._settle(batch, results, bar)

    def _settle(self, batch, results, bar):
        """Tell the results of a wave, trial by trial; whether a callback ends the search."""
        stop = False
        for number, trial in batch:
            task = self.context.subcontext(task_name=f"trial-{number}-{trial.number}")
            task.begin()
            trial = self._tell(self.studies[number], trial, [next(results) for _ in self.folds], number)
            stop |= task.end()
            if self.checkpoint is not None:
                self.checkpoint.save(self.studies)
            if self.verbose:
                bar.set_postfix_str(self._best(), refresh=False)
            bar.update()
            for callback in self.callbacks:
                stop |= bool(callback(self.studies[number], trial))
            if stop:
                break
        return stop

    @staticmethod
    def _nearest(trainer, starts, costs):
        return () if trainer.family is None else starts.nearest(trainer.family, trainer.position(costs))

    def _tell(self, study, trial, results, number):
        for trainer, starts, result in zip(self.trainers[number], self._starts, results):
            if result.state is not None:
                starts.add(trainer.family, trainer.position(trial.costs), result.state)
        fields = pooled_outcome(study.metric, self.folds, results, tune=self.tune)
        if "profile" in fields:
            trial = study.record(trial, setting=number, **fields)
            self._note(trial, results, number)
            return trial
        cause = first_line(fields["error"])
        self._failures[cause] += 1
        if self._failures[cause] == 1:
            warnings.warn(
                f"trial {trial.number} (t={trial.t}, costs {trial.costs}) failed and is left out; its error is in "
                f"trials_: {cause}",
                FitFailedWarning,
                stacklevel=8,
            )
        return study.fail(trial, setting=number, **fields)

    def _warn_of_more_failures(self):
        """Tell at the end how many trials failed like the first ones, where others did not."""
        more, done = self._failures.total() - len(self._failures), self._n_complete()
        if more and done:
            warnings.warn(
                f"{self._failures.total()} trials failed and are left out, {done} are complete. Causes: "
                + "; ".join(f"{cause} ({times} times)" for cause, times in self._failures.most_common()),
                FitFailedWarning,
                stacklevel=5,
            )

    def _n_complete(self):
        return sum(trial.state == "complete" for study in self.studies for trial in study.trials)

    def _best(self):
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""
