"""Loop of every search, in memory, on Dask and on Spark alike, and its progress reports."""

from __future__ import annotations

import base64
import logging
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import FitFailedWarning

from csf._common.files import read_record, write_record
from csf._common.identity import fingerprint
from csf._common.messages import warn
from csf._common.sklearn import NoCallbackContext
from csf._common.typing import Costs, Json, Keywords, Params, PathLike
from csf.metrics.trials import Trial, first_line, nothing_worked
from csf.search.training import BatchTrainer, TrainedTrial, Work
from csf.solvers import HingeSolution, Solution
from csf.trainers.base import Known, WarmStarts

if TYPE_CHECKING:
    from csf.evaluate import TrialKey
    from csf.evaluate.stores import Store, TrialRow
    from csf.search.selection import SettingRace
    from csf.search.study import History
    from csf.search.training import Startable


# ---------------------------------------------------------------- time limit


# The last training sees everything and starts from nothing: its time is that of a fold's first training by this much.
LAST = 1.5


@dataclass
class Deadline:
    """Deadline of a search: it passes when there is no time left for another trial.

    Parameters
    ----------
    seconds : float
        Time from now on.
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.

    Examples
    --------
    >>> times = iter([0.0, 2.0, 4.0, 9.0])
    >>> deadline = Deadline(10.0, clock=lambda: next(times))
    >>> deadline.passes([1.0, 1.0]), deadline.passes([0.5, 0.5]), deadline.passes([0.5, 0.5])
    (False, False, True)
    """

    seconds: float
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    _start: float = field(init=False, repr=False)
    _last: float = field(init=False, repr=False)
    _training: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._start = self._last = self.clock()

    @classmethod
    def of(cls, time_limit: float | None) -> Self | None:
        """Return the deadline of a search that begins now; ``None`` without a limit."""
        return None if time_limit is None else cls(time_limit)

    def begin(self) -> None:
        """Start the clock of the trials; what was done before does not count towards their time."""
        self._last = self.clock()

    def passes(self, fold_seconds: list[float]) -> bool:
        """Check whether another trial like the last one, and the last training, would end too late.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of its folds.

        Returns
        -------
        bool
            Whether the search has to stop.
        """
        now = self.clock()
        trial, self._last = now - self._last, now
        self._training = max([self._training, *fold_seconds])
        return now + trial + LAST * self._training > self._start + self.seconds


# ---------------------------------------------------------------- forecast


# Seconds of a rest that nobody has to be told of.
_SHORT = 30.0
_LOGGER = logging.getLogger("csf")


class Forecast:
    """Forecast of the remaining time, logged once when a trial shows that the rest takes long.

    It is logged, and no warning, because it is no fault, and programs that turn warnings into errors go on. Python
    shows the line on stderr where logging is not set up.

    Parameters
    ----------
    clock : callable, default=time.monotonic
        Says what time it is, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last = clock, clock()
        self._n_trials, self._is_logged = 0, False

    def add_trial(self, fold_seconds: list[float], *, left: int, is_like_first: bool) -> None:
        """Log the largest number of seconds that the rest takes, if it is large.

        Parameters
        ----------
        fold_seconds : list of float
            Training times of the folds of the trial that has just ended.
        left : int
            Trials that are left at most.
        is_like_first : bool
            Whether later trials take as long as the first one, not starting from earlier solutions.
        """
        now = self._clock()
        trial, self._last = now - self._last, now
        self._n_trials += 1
        rest = left * trial + LAST * max(fold_seconds, default=0.0)
        if not self._is_logged and rest > _SHORT and (is_like_first or self._n_trials > 1):
            self._is_logged = True
            trials = f"{left} trials like the last one of {trial:.0f} s, and " if left else ""
            _LOGGER.warning(
                "the search takes %.0f s more at most: %sthe last training; time_limit= ends it in time, n_jobs= "
                "shares it among processors, a smaller n_trials= shortens it, and verbose=1 shows its progress",
                *(rest, trials),
            )


# ---------------------------------------------------------------- progress bar


class Progress:
    """Progress bar, or nothing.

    Parameters
    ----------
    total, done : int
        Number of trials, and of those that are finished.
    shown : bool
        Whether there is a bar.
    """

    def __init__(self, *, total: int, done: int, shown: bool) -> None:
        self._bar: Any = None
        if shown:
            # Few look at bars, and everyone would wait for the import.
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, desc="csf", unit="trial")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def expect(self, total: int) -> None:
        """Set the number of trials that are known so far to be possible."""
        if self._bar is not None:
            self._bar.total = total

    def step(self, note: Callable[[], str]) -> None:
        """Count one more trial; the note is only computed where it is shown."""
        if self._bar is not None:
            self._bar.set_postfix_str(note(), refresh=False)
            self._bar.update()

    def finish(self) -> None:
        """Complete the bar, although a strategy or a tolerance may have ended some studies early."""
        if self._bar is not None:
            self._bar.total = self._bar.n


# ---------------------------------------------------------------- failed trials


class Failures:
    """Counts of failed trials by their causes.

    ``n_settings`` is the number of settings that may decide whether the base can be trained; settings that a search
    adds itself do not count.

    Examples
    --------
    >>> import warnings
    >>> from csf import Study
    >>> failures, study = Failures(), Study(pos=0.2)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     for _ in range(3):
    ...         failures.add(study.ask(), "ValueError: no")
    ...     failures.warn_of_more(n_complete=2)
    >>> len(told), str(told[1].message)
    (2, '3 trials failed and were left out; 2 are complete. Causes: ValueError: no (3 times)')
    """

    def __init__(self, n_settings: int = 1) -> None:
        self._times: Counter[str] = Counter()
        self._n_settings = n_settings
        self._hopeless: set[int] = set()

    @property
    def leave_no_hope(self) -> bool:
        """True where no setting can be trained, so that more trials would be a waste of time."""
        return len(self._hopeless) >= self._n_settings

    def add(self, trial: Trial, error: str, *, setting: int = 0, everywhere: bool = False) -> None:
        """Count a failed trial, and warn of it unless others failed in the same way.

        Parameters
        ----------
        trial : Trial
            The trial.
        error : str
            What went wrong; its first line distinguishes causes.
        setting : int, default=0
            Whose trial it is.
        everywhere : bool, default=False
            Whether it went wrong on every fold in the same way.
        """
        # Unequal costs can be what a base cannot take. Equal ones ask no more of it than to be trained at all.
        if everywhere and len(set(trial.costs)) == 1:
            self._hopeless.add(setting)
        cause = first_line(error)
        self._times[cause] += 1
        if self._times[cause] == 1:
            warn(
                f"trial {trial.number} (t={trial.t}, costs {trial.costs}) failed and is left out; its error is in "
                f"trials_: {cause}",
                FitFailedWarning,
            )

    def warn_of_more(self, n_complete: int) -> None:
        """Warn at the end how many trials failed in the same way as the first ones, unless all did.

        Parameters
        ----------
        n_complete : int
            Number of trials that did not fail.
        """
        if n_complete and self._times.total() > len(self._times):
            causes = "; ".join(f"{cause} ({times} times)" for cause, times in self._times.most_common())
            warn(
                f"{self._times.total()} trials failed and were left out; {n_complete} are complete. Causes: {causes}",
                FitFailedWarning,
            )


# ---------------------------------------------------------------- the loop


class _Unrecorded(NamedTuple):
    """Finished trial that is not yet recorded in its study, the earlier solutions and the store of scores."""

    setting: int
    number: int
    trained: TrainedTrial


@dataclass
class SearchLoop:
    """Loop that trains the trials of several studies until all are over.

    Parameters
    ----------
    studies : list of History
        One for each setting.
    trainer : BatchTrainer
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
    race : SettingRace, default=None
        Decides which studies go on; ``None`` for all of them.
    """

    studies: Sequence[History]
    trainer: BatchTrainer
    raise_errors: bool = False
    checkpoint: Checkpoint | None = None
    callbacks: Sequence[Callable[..., object]] = ()
    context: Any = field(default_factory=NoCallbackContext)
    verbose: int = 0
    deadline: Deadline | None = None
    forecast: Forecast | None = None
    n_settings: int | None = None
    race: SettingRace | None = None

    def __post_init__(self) -> None:
        self._solutions = EarlierSolutions(self.trainer.startables)
        self._failures = Failures(self.n_settings or len(self.studies))
        self._unrecorded: _Unrecorded | None = None

    @property
    def store(self) -> Store | None:
        """Store of the held-out scores of the trials."""
        return self.trainer.store

    def run(self) -> str | None:
        """Run all studies to their ends; return why the search ended where the studies do not say so."""
        progress = Progress(total=self._most_trials(), done=self._n_finished(), shown=bool(self.verbose))
        resumed = False
        try:
            with progress, self.trainer:
                self._resume()
                resumed = True
                if self.deadline is not None:
                    self.deadline.begin()
                while asked := self._next_trials():
                    progress.expect(self._most_trials())
                    for batch in self.trainer.batches(asked):
                        if reason := self._run_batch(batch, progress):
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
            warn("the search was interrupted; it continues with the finished trials")
            return "interrupted"
        finally:
            # Nobody will tell their results any more; strategies and results would wait for them.
            for study in self.studies:
                study.forget_pending()
        self._failures.warn_of_more(self._n_complete())
        return None

    def _resume(self) -> None:
        """Restore the state of an earlier run besides its trials: training then starts from the same solutions."""
        if self.checkpoint is None:
            return
        # Solutions or scores too large for the file: the trainings that gave them are repeated in their order, so that
        # each starts from what it started from, and the trials to come are those of a search without the pause.
        again, scores_known = self.checkpoint.resume(self.studies, self._solutions, self.store)
        for setting, number in again:
            trial = self._trial(setting, number)
            (trained,) = self.trainer.train([self.work(setting, trial, len(trial.fold_scores))], raise_errors=False)
            self._solutions.add(setting, trial, trained.states)
            if trial.state == "complete" and not scores_known:
                self._keep(setting, trial, trained)

    def _save(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.save(self.studies, self._solutions, self.store)

    def _trial(self, setting: int, number: int) -> Trial:
        return next(trial for trial in self.studies[setting].trials if trial.number == number)

    def _next_trials(self) -> list[tuple[int, Trial]]:
        """List the settings and trials to train now: those left pending by an earlier run, then new ones."""
        numbered = list(enumerate(self.studies))
        asked = [(setting, trial) for setting, study in numbered for trial in study.pending]
        if not asked:
            try:
                everyone = ((setting, trial) for setting, study in numbered for trial in study.ask_batch())
                asked = list(everyone) if self.race is None else self.race.ask()
            except BaseException:
                # Ctrl-C, or a strategy's error: a part of it would be trained first when the search goes on, and
                # what is asked for after it would know its results.
                for study in self.studies:
                    study.forget_pending()
                raise
        if asked:
            # A search that is killed while it trains them has to train the same ones.
            self._save()
        return asked

    def work(self, setting: int, trial: Trial, n_folds: int = 0) -> Work:
        """Build the work of a trial: the states that training may start from, its own solutions if it was trained.

        It is trained on the first ``n_folds``; 0 means all.
        """
        folds = range(n_folds or self.trainer.n_folds)
        return Work(setting, trial, [self._solutions.starts(setting, fold, trial.costs) for fold in folds])

    def _run_batch(self, batch: list[tuple[int, Trial]], progress: Progress) -> str | None:
        """Train a batch and report its results; return why the search ends, if it does."""
        n_folds = (lambda *trial: 0) if self.race is None else self.race.n_folds
        work = [self.work(*asked, n_folds(*asked)) for asked in batch]
        # Closed at once where the search ends, so that no worker goes on with what nobody waits for.
        with closing(self.trainer.train(work, raise_errors=self.raise_errors)) as results:
            return self._settle(batch, results, progress)

    def _settle(
        self, batch: list[tuple[int, Trial]], results: Iterator[TrainedTrial], progress: Progress
    ) -> str | None:
        """Report the results of a batch, trial by trial; return why the search ends, if it does."""
        for setting, trial in batch:
            task = self.context.subcontext(task_name=f"trial-{setting}-{trial.number}")
            task.begin()
            trained = next(results)
            trial = self._tell(setting, trial, trained)
            stop = task.end()
            # Before callbacks, which may raise anything.
            self._save()
            if trained.failed is not None and self._failures.leave_no_hope and not self._n_complete():
                finished = [other for study in self.studies for other in study.trials if other.state != "pending"]
                raise nothing_worked(finished, ended=True) from trained.failed.error
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
        """Record a trial and all its results; a second call after Ctrl-C completes the first."""
        setting, number, trained = unrecorded
        fields = trained.fields
        if 0 < len(self._trial(setting, number).fold_scores) < len(trained.fit_times):
            # Its first folds were recorded before.
            self.studies[setting].reopen(number)
            if self.store is not None:
                self.store.discard((setting, number))
        if self._trial(setting, number).state == "pending":
            if "error" in fields:
                self.studies[setting].fail(number, setting=setting, **fields)
            else:
                self.studies[setting].record(number, setting=setting, **fields)
        trial = self._trial(setting, number)
        self._solutions.add(setting, trial, trained.states)
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
        """Check whether the store has all complete trials: a search cannot go on with half of them."""
        return self.store is None or len(self.store) + self.store.n_dropped >= self._n_complete()

    def _best(self) -> str:
        scores = [study.best_score for study in self.studies if study.best_score is not None]
        return f"best {max(scores):.4f}" if scores else ""


# ---------------------------------------------------------------- states as JSON


_SOLUTIONS = {kind.__name__: kind for kind in (HingeSolution, Solution)}


def encode(state: Any) -> Json:
    """Encode a state in plain JSON types.

    Parameters
    ----------
    state : object
        Arrays, numbers, texts, solutions of `csf.solvers`, and tuples and lists of these.

    Returns
    -------
    object
        For JSON; arrays are packed.

    Raises
    ------
    TypeError
        If the state holds something else.

    Examples
    --------
    >>> decode(encode((np.arange(3), "a", None)))
    (array([0, 1, 2]), 'a', None)
    """
    if state is None or type(state) in (bool, int, float, str):
        return state
    if isinstance(state, tuple | list):
        return [type(state).__name__, *map(encode, state)]
    if isinstance(state, np.ndarray) and not state.dtype.hasobject:
        packed = zlib.compress(np.ascontiguousarray(state).tobytes(), 1)
        return ["array", state.dtype.str, list(state.shape), base64.b64encode(packed).decode("ascii")]
    if isinstance(state, np.generic):
        return ["number", encode(np.asarray(state))]
    name = type(state).__name__
    if _SOLUTIONS.get(name) is type(state):
        return [name, *(encode(getattr(state, field.name)) for field in fields(_SOLUTIONS[name]))]
    raise TypeError(f"a state that holds a {name} cannot be kept in a file")


def decode(record: Any) -> Any:
    """Decode a state that `encode` returned.

    Parameters
    ----------
    record : object
        As `encode` returns it.

    Returns
    -------
    object
        The state.

    Raises
    ------
    ValueError
        If the record is none.
    """
    if not isinstance(record, list):
        return record
    try:
        kind, *parts = record
        if kind == "array":
            dtype, shape, packed = parts
            return np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=dtype).reshape(shape).copy()
        if kind == "number":
            return decode(parts[0])[()]
        parts = [decode(part) for part in parts]
        return {"tuple": tuple, "list": list}[kind](parts) if kind not in _SOLUTIONS else _SOLUTIONS[kind](*parts)
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise ValueError(f"this is not the record of a state: {error!r}") from error


# ---------------------------------------------------------------- earlier solutions


# Characters of all states in a file; larger ones are not written but computed once more.
_LARGEST_STATES = 1 << 26


class EarlierSolutions:
    """States of earlier trainings on all folds; ``startables`` has a row per setting, with an entry per fold."""

    def __init__(self, startables: Sequence[Sequence[Startable]]) -> None:
        self.startables = startables
        # Trials in their order, and the states of each fold: one attribute, so that Ctrl-C leaves both or neither.
        self._known: tuple[list[list[int]], list[WarmStarts]] = [], [WarmStarts() for _ in startables[0]]
        # Large states take long to describe: what was described for the file before is kept, by the id of its entry,
        # together with the entry, so that the id stays its own.
        self._texts: dict[int, tuple[Known, Json]] = {}

    @property
    def order(self) -> list[list[int]]:
        """Setting and number of all trials, in the order in which they were finished."""
        return self._known[0]

    @property
    def _starts(self) -> list[WarmStarts]:
        return self._known[1]

    def starts(self, setting: int, fold: int, costs: Costs) -> Sequence[object]:
        """List the states for a training to start from, the nearest first."""
        trainer = self.startables[setting][fold]
        return () if trainer.family is None else self._starts[fold].nearest(trainer.family, trainer.position(costs))

    def add(self, setting: int, trial: Trial, states: Sequence[object]) -> None:
        """Add the states of a trial, one per fold and each once; those of its further folds may come later."""
        again = [setting, trial.number] in self.order
        copies = [starts.copy() for starts in self._starts]
        for trainer, starts, state in zip(self.startables[setting], copies, states):
            if state is not None and trainer.family is not None:
                family, position = trainer.family, trainer.position(trial.costs)
                if not (again and any(entry.family == family and entry.position == position for entry in starts.known)):
                    starts.add(family, position, state)
        self._known = self.order if again else [*self.order, [setting, trial.number]], copies

    def to_record(self) -> Params:
        """Encode all states for a file.

        Returns
        -------
        dict
            All trials in the order in which they were answered, and the states: ``None`` where these cannot be written
            or are too large.
        """
        texts: dict[int, tuple[Known, Json]] = {}
        for fold, starts in enumerate(self._starts):
            families = [row[fold].family for row in self.startables]
            for entry in starts.known:
                if id(entry) in self._texts:
                    texts[id(entry)] = self._texts[id(entry)]
                    continue
                try:
                    record = [families.index(entry.family), list(entry.position), encode(entry.state)]
                    texts[id(entry)] = entry, record
                except TypeError:
                    return {"order": self.order, "states": None}
        self._texts = texts
        size = sum(map(_length, (text for _, text in texts.values())))
        states = [[texts[id(entry)][1] for entry in starts.known] for starts in self._starts]
        return {"order": self.order, "states": states if size <= _LARGEST_STATES else None}

    def restore(self, record: Keywords, *, scores_known: bool) -> list[list[int]]:
        """Restore the states of a file.

        Return setting and number of the trials that have to be trained again, in this order, because their states or
        held-out scores are missing.
        """
        order = record["order"]
        if record["states"] is None or not scores_known:
            return order
        for fold, (starts, entries) in enumerate(zip(self._starts, record["states"], strict=True)):
            for setting, position, state in entries:
                starts.add(self.startables[setting][fold].family, tuple(position), decode(state))
        self._known = order, self._starts
        return []


def _length(text: object) -> int:
    """Estimate the number of characters of an encoded state."""
    if isinstance(text, str):
        return len(text)
    return sum(map(_length, text)) if isinstance(text, list) else 8


# ---------------------------------------------------------------- held-out scores


# Bytes of all scores in a file; of more, the trainings that gave them are repeated.
_LARGEST = 1 << 24


def scores_to_record(store: Store, texts: dict[TrialKey, list[Json]]) -> list[Json] | None:
    """Encode a store: its rows and the number of dropped ones; return ``None`` where they are too large.

    ``texts`` caches the rows that are already encoded.
    """
    rows = list(store)
    if sum(array.nbytes for row in rows for array in row.arrays if array is not None) > _LARGEST:
        return None
    described = {row.key: texts.get(row.key) or _text(row) for row in rows}
    texts.clear()
    texts.update(described)
    return [store.n_dropped, list(described.values())]


def restore_scores(store: Store, record: list[Any] | None, trials: Mapping[TrialKey, Trial]) -> bool:
    """Restore a store from a file, as it was with these trials; return whether the file holds scores."""
    if record is None:
        return False
    n_dropped, rows = record
    for (setting, number), *parts in rows:
        store.add_trial((setting, number), trials[setting, number], *map(decode, parts))
    store.n_dropped = n_dropped
    return True


def _text(row: TrialRow) -> list[Json]:
    """Encode the parts of a row that its trial does not contain."""
    return [list(row.key), *map(encode, row.arrays)]


# ---------------------------------------------------------------- the file


FORMAT = "csf-checkpoint"
VERSION = 4


class Checkpoint:
    """File that holds the trials of all studies of one search, their states and their held-out scores.

    Parameters
    ----------
    path : path-like
        The file; it need not exist.
    content : tuple
        Everything that decides the results: base, metric, strategy, data, splits. A hash of it is kept in the file,
        see `csf._common.identity`.
    """

    def __init__(self, path: PathLike, content: tuple[object, ...]) -> None:
        self.path = os.fsdecode(path)
        self.fingerprint = fingerprint(content)
        # What the file keeps besides trials.
        self.kept: Keywords | None = None
        # Whether the file is the one of this search, as far as this search knows.
        self._is_own = False
        self._texts: dict[TrialKey, list[Json]] = {}

    def restore(self, studies: Sequence[History]) -> None:
        """Restore the studies' trials from the file, if there is one.

        Parameters
        ----------
        studies : list of History
            Fresh studies, one for each setting of the base.

        Raises
        ------
        ValueError
            If the file is damaged or belongs to another search; it is left as it is.
        """
        if not os.path.exists(self.path):
            return
        content = self._read()
        with self._reading():
            records_of = zip(studies, content["studies"], strict=True)
            pairs = [(study, [Trial.from_dict(record) for record in records]) for study, records in records_of]
            kept = content["kept"]
        self.kept = kept
        for study, trials in pairs:
            study.trials = trials

    def _read(self) -> Keywords:
        content = read_record(self.path, FORMAT, VERSION)
        if content.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"{self.path} belongs to another search: the data, splits, base, metric, strategy or settings differ. "
                "It was left as it is; give another checkpoint path, or remove it to start again"
            )
        self._is_own = True
        return content

    def resume(
        self, studies: Sequence[History], solutions: EarlierSolutions, store: Store | None
    ) -> tuple[list[list[int]], bool]:
        """Restore the state of an earlier run besides its trials.

        Return setting and number of the trials that have to be trained again, in this order, and whether the store (if
        there is one) has their scores.
        """
        if self.kept is None:
            return [], True
        trials = {(setting, trial.number): trial for setting, study in enumerate(studies) for trial in study.trials}
        with self._reading():
            scores_known = store is None or restore_scores(store, self.kept["scores"], trials)
            return solutions.restore(self.kept["memory"], scores_known=scores_known), scores_known

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Convert any error about the content of the file into one kind of ValueError."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ValueError(f"{self.path} is damaged ({error!r}); it was left as it is") from error

    def save(
        self, studies: Sequence[History], solutions: EarlierSolutions | None = None, store: Store | None = None
    ) -> None:
        """Write the trials of all studies, their states and scores; a later search trains pending trials first."""
        histories = [[trial.to_dict() for trial in study.trials] for study in studies]
        scores = None if store is None else scores_to_record(store, self._texts)
        kept = None if solutions is None else {"memory": solutions.to_record(), "scores": scores}
        if not self._is_own and os.path.exists(self.path):  # another search began to write it meanwhile
            self._read()
        content = {"fingerprint": self.fingerprint, "studies": histories, "kept": kept}
        write_record(self.path, FORMAT, VERSION, content)
        self._is_own = True
