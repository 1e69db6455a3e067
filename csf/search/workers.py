"""Places where folds are trained: this process, threads, processes, or a Dask cluster."""

from __future__ import annotations

import pickle
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs, wrap_non_picklable_objects
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from csf._common.messages import warn
from csf._common.threads import Threads
from csf._common.typing import Keywords
from csf.data.folds import pool_held_out
from csf.evaluate import MAX_BYTES
from csf.metrics.trials import first_line
from csf.search.training import BatchTrainer, FailedEverywhere, FoldPart, FoldResult, FoldTask, TrainedTrial, Work

if TYPE_CHECKING:
    from distributed import Client, Future

    from csf._common.typing import IntArray
    from csf.data.folds import Fold
    from csf.metrics.trials import Trial
    from csf.search.training import Evaluator
    from csf.trainers.base import Trainer

# ---------------------------------------------------------------- Dask workers


# So many times in a row the data are sent again without a single training coming back.
_SENDINGS = 20
# Seconds without news before the user is told that no worker is at work; those that were killed are back sooner.
QUIET = 15
WAITS = "The search waits for them; Ctrl-C ends it with the trials that are finished"
# Times that the scheduler is asked again for its workers.
_ASKED = 10


def working(client: Client) -> dict[str, bool]:
    """Map the addresses of Dask workers to whether each runs or accepts tasks; empty without a scheduler."""
    info: Mapping[str, Any] = {"workers": {}}
    for _ in range(_ASKED if client.status == "running" else 0):
        with suppress(OSError):
            info = client.scheduler_info(n_workers=-1)
        # A timer of the client replaces the answer by one that counts the workers and lists none.
        if len(info["workers"]) >= info.get("n_workers", 0):
            break
    # A worker whose memory is nearly full is paused: it finishes the task that it has, and takes no other.
    return {
        address: worker["status"] == "running" or worker.get("metrics", {}).get("executing", 0) > 0
        for address, worker in info["workers"].items()
    }


def idle_reason(workers: dict[str, bool]) -> str | None:
    """Explain why no worker of a cluster runs tasks; return ``None`` where some do."""
    if any(workers.values()):
        return None
    if not workers:
        return "the Dask cluster has no workers left, or none yet: start workers"
    return (
        f"all workers of the Dask cluster are paused ({', '.join(workers)}), as their memory is nearly full: give them "
        "more (memory_limit=), or smaller partitions"
    )


class _Place(ABC):
    """Place where the trainings of some parts run, within a context that lasts from one call to the next."""

    def __init__(self, parts: list[list[FoldPart]], around: AbstractContextManager[object]) -> None:
        self._parts, self._around = parts, around

    def __enter__(self) -> Self:
        self._around.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._around.__exit__(*error)

    def _part(self, task: FoldTask) -> FoldPart:
        return self._parts[task.setting][task.fold]

    @abstractmethod
    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Yield the number and result of each task, in order of completion."""


class Cluster(_Place):
    """Training on the workers of a Dask cluster.

    They receive all trainers once, in one message in which shared data are shared. The scheduler keeps the message: it
    sends it again where it is lost with a worker, as it does with trainings, and waits where no worker is left.

    Parameters
    ----------
    parts : list of list of FoldPart
        One row for each setting, one entry for each fold.
    backend : joblib.parallel.ParallelBackendBase
        joblib's active backend, ``parallel_config(backend="dask")``.

    Notes
    -----
    Tasks go to Dask's client and not through joblib, which trains in its own process, without the data, whenever the
    cluster has a single core left.
    """

    def __init__(self, parts: list[list[FoldPart]], backend: Any) -> None:
        super().__init__(parts, nullcontext())
        self._backend, self._client = backend, backend.client
        self._sent: Future | None = None
        self._sendings = 0

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Yield the number and result of each task, in order of completion."""
        home = _Home(get_config(), list(warnings.filters))
        # In a task of the cluster, waiting must not keep a worker from its work.
        with self._backend.retrieval_context():
            suspects = []
            for number, result, killed in self._some(dict(enumerate(tasks)), home):
                if killed:
                    suspects.append(number)
                else:
                    yield number, result
            # Dask blames all tasks of a worker that died. One that is alone has no other to blame.
            for number in suspects:
                yield from (answer[:2] for answer in self._some({number: tasks[number]}, home))

    def _some(self, tasks: dict[int, FoldTask], home: _Home) -> Iterator[tuple[int, FoldResult, bool]]:
        """Yield number and result of each task as it completes, and whether it is blamed for the death of workers."""
        from distributed import CancelledError, KilledWorker

        running: dict[Future, int] = {}
        finished: SimpleQueue[Future] = SimpleQueue()
        try:
            for number, task in tasks.items():
                running[self._submit(task, home, finished)] = number
            while running:
                future = self._next(finished)
                number = running.pop(future)
                try:
                    result, killed = future.result(), False
                except (CancelledError, KilledWorker) as error:
                    if getattr(error, "task", None) != future.key:  # not its own fault, e.g. the cluster was restarted
                        again = self._submit(tasks[number], home, finished, lost=error)
                        running[again] = number
                        continue
                    result, killed = FoldResult.failed(error.with_traceback(None)), True
                self._sendings = 0
                yield number, result, killed
        finally:
            self._client.cancel(list(running))

    def _submit(self, task: FoldTask, home: _Home, finished: SimpleQueue[Future], lost: Exception | None = None) -> Any:
        """Submit a task to the cluster, after the data where these are missing."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            options = self._backend.submit_kwargs
            if self._sent is None or self._sent.status in ("cancelled", "error", "lost"):
                self._check_patience(lost)
                content = pickle.dumps(wrap_non_picklable_objects(_Parts(self._parts), keep_wrapper=False), protocol=5)
                self._sent = self._client.submit(pickle.loads, content, pure=False, **options)
            future = self._client.submit(_run_task, self._sent, task, home, pure=False, **options)
        future.add_done_callback(finished.put)
        return future

    def _check_patience(self, lost: Exception | None) -> None:
        if self._sendings == _SENDINGS:
            raise RuntimeError(
                f"the Dask cluster lost the data {_SENDINGS} times in a row, and no training came back; see the logs "
                "of its workers: they may lack memory"
            ) from lost
        self._sendings += 1

    def _next(self, finished: SimpleQueue[Future]) -> Future:
        """Return the next future that is done; warn once where no worker runs tasks."""
        is_warned = False
        while True:
            try:
                return finished.get(timeout=QUIET)
            except Empty:
                if not is_warned and (reason := idle_reason(working(self._client))):
                    is_warned = True
                    warn(f"{reason}. {WAITS}", UserWarning)


class _Parts:
    """All trainers with their folds, in an object because Dask would look into a list."""

    def __init__(self, rows: list[list[FoldPart]]) -> None:
        self.rows = rows


@dataclass(frozen=True, eq=False)
class _Home:
    """Settings of scikit-learn and warnings where the search runs.

    Parameters
    ----------
    config : dict
        scikit-learn's configuration.
    filters : list of tuple
        The filters of warnings, the first one first.
    """

    config: Keywords
    filters: list[tuple]


def _run_task(parts: _Parts, task: FoldTask, home: _Home) -> FoldResult:
    """Train in a worker that holds all parts, with the settings of the search's process."""
    with config_context(**home.config), warnings.catch_warnings():
        warnings.resetwarnings()
        for action, message, category, module, line in home.filters:
            texts = [getattr(text, "pattern", text) or "" for text in (message, module)]
            warnings.filterwarnings(action, texts[0], category, texts[1], line, append=True)
        return task.run(parts.rows[task.setting][task.fold])


# ---------------------------------------------------------------- threads and processes


class Workers:
    """Trainer on folds: one after the other, in threads, in processes or on a cluster, as joblib is configured.

    Threads share all data. Processes of one machine map large arrays from memory; smaller ones are sent with each task.
    The workers of a Dask cluster receive all trainers once, see `csf.search.workers.Cluster`.

    Parameters
    ----------
    trainers : list of list of Trainer
        One for each setting and fold.
    folds : list of Fold
        The folds.
    n_jobs : int or None
        Number of workers; the results do not depend on it.

    Notes
    -----
    Use it in a ``with`` statement, which keeps the workers from one call of `run` to the next.

    A training that kills its worker process has failed. The trainings that ran beside it cannot be distinguished from
    it, so all of them are trained again, one at a time: the one that kills its worker then too is the one. Only where
    trainings have no process of their own, the whole program dies with them.
    """

    def __init__(self, trainers: list[list[Trainer]], folds: list[Fold], n_jobs: int | None) -> None:
        # A trainer has the samples that it needs; folds with samples would send them a second time.
        judged = [fold.without_samples for fold in folds]
        parts = [[FoldPart(*pair) for pair in zip(row, judged, strict=True)] for row in trainers]
        threads = threads_for([trainer for row in trainers for trainer in row], n_jobs)
        backend, count = get_active_backend()[0], effective_n_jobs(n_jobs)  # pyright: ignore[reportArgumentType] (None is fine)
        self._place: _Place
        if getattr(backend, "client", None) is not None:
            self._place = Cluster(parts, backend)
        elif count == 1:
            self._place = _Here(parts, threads or nullcontext())
        elif threads is not None:
            self._place = _ThreadWorkers(parts, threads)
        else:
            self._place = _Pool(parts, n_jobs, count)

    def __enter__(self) -> Self:
        self._place.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._place.__exit__(*error)

    def run(self, tasks: list[FoldTask], *, raise_errors: bool) -> Generator[FoldResult, None, None]:
        """Train on folds.

        Parameters
        ----------
        tasks : list of FoldTask
            The trainings.
        raise_errors : bool
            Whether the first failure, in the order of the tasks, is raised or recorded.

        Yields
        ------
        FoldResult
            The results in the order of the tasks.
        """
        # Workers finish in any order. Results wait for those before them: what a search does must not depend on which
        # worker was the faster one.
        come: dict[int, FoldResult] = {}
        with closing(self._place.results(tasks)) as results:
            for number in range(len(tasks)):
                while number not in come:
                    finished, result = next(results)
                    come[finished] = result
                result = come.pop(number)
                if raise_errors:
                    result.raise_error()
                yield result


def threads_for(trainers: Sequence[Trainer], n_jobs: int | None) -> Threads | None:
    """Create threads for compiled solvers, which share the samples; ``None`` where they, or joblib, run elsewhere."""
    if not all(trainer.releases_gil for trainer in trainers):
        return None
    count = effective_n_jobs(n_jobs)  # pyright: ignore[reportArgumentType] (None is fine)
    fits = count == 1 or getattr(get_active_backend(prefer="threads")[0], "uses_threads", False)
    return Threads(count) if fits else None


class _Here(_Place):
    """Training in this thread."""

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Yield the number and result of each task, in order of completion."""
        for number, task in enumerate(tasks):
            yield number, task.run(self._part(task))


class _ThreadWorkers(_Place):
    """Training of compiled solvers in threads, which help each other: the last training of a batch uses all of them."""

    _around: Threads

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Yield the number and result of each task, in their order."""
        given = [(task, self._part(task)) for task in tasks]
        for task, part in given:
            with suppress(Exception):  # the trainings raise it again, and each says so by itself
                part.trainer.prepare(task.starts)
        config = get_config()
        results = [self._around.submit(_configured, config, *pair) for pair in given]
        try:
            for number, result in enumerate(results):
                yield number, result.result()
        finally:
            for result in results:
                result.cancel()


class _Pool(_Place):
    """Training in threads or processes of this machine, or wherever another backend of joblib runs."""

    _around: Parallel

    def __init__(self, parts: list[list[FoldPart]], n_jobs: int | None, count: int) -> None:
        super().__init__(parts, Parallel(n_jobs=n_jobs, return_as="generator_unordered"))
        # joblib hands out twice as many tasks as there are workers.
        self._in_flight = 2 * count

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Yield the number and result of each task, in order of completion."""
        left = dict(enumerate(tasks))
        while left:
            with suppress(BrokenProcessPool):
                yield from self._some(left, list(left))
            # The pool broke. Only those that were on their way can have done it: one of them at a time, the guilty one
            # is found; then the others go on together.
            for number in list(left)[: self._in_flight]:
                yield from self._one(left, number)

    def _some(self, left: dict[int, FoldTask], numbers: list[int]) -> Iterator[tuple[int, FoldResult]]:
        """Yield the results of some of the remaining tasks."""
        tasks = ((number, left[number]) for number in numbers)
        with _closing(
            self._around(delayed(_numbered)(number, task, self._part(task)) for number, task in tasks)
        ) as results:
            for number, result in results:
                del left[number]
                yield number, result

    def _one(self, left: dict[int, FoldTask], number: int) -> Iterator[tuple[int, FoldResult]]:
        """Run a task that has the pool for itself: if the pool breaks, this task is the cause."""
        try:
            yield from self._some(left, [number])
        except BrokenProcessPool as error:
            del left[number]
            yield number, FoldResult.failed(error.with_traceback(None))


@contextmanager
def _closing(results: Any) -> Iterator[Any]:
    """Close a generator of joblib at the end, without its warning about tasks that are no longer needed."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*adjusting the input task iterator")
            results.close()


def _configured(config: Keywords, task: FoldTask, part: FoldPart) -> FoldResult:
    """Run a task with the caller's settings of scikit-learn, which are local to each thread."""
    with config_context(**config):
        return task.run(part)


def _numbered(number: int, task: FoldTask, part: FoldPart) -> tuple[int, FoldResult]:
    return number, task.run(part)


# ---------------------------------------------------------------- batches of trials


class LocalTrainer(BatchTrainer):
    """Trainer on folds in memory, with the workers that joblib is configured for.

    ``judge`` evaluates trainings, ``tune`` says whether it reads scores, ``on_train`` whether bounds use the training
    parts.
    """

    startables: list[list[Trainer]]

    def __init__(
        self,
        judge: Evaluator,
        trainers: list[list[Trainer]],
        folds: list[Fold],
        *,
        on_train: bool = False,
        n_jobs: int | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.judge, self.startables, self.folds = judge, trainers, folds
        self.on_train, self.n_jobs = on_train, n_jobs
        y, weight, samples = pool_held_out(folds)
        store, groups = judge.store(y, weight, samples=samples, max_bytes=max_bytes), folds[0].task.groups
        store.draw_together(None if groups is None else groups[samples])
        store.folds = np.repeat(np.arange(len(folds), dtype=np.int32), [fold.test.size for fold in folds])
        self.store = store
        # Of trials that were trained on the first folds alone, by setting and number.
        self._begun: dict[tuple[int, int], list[FoldResult]] = {}

    def __enter__(self) -> Self:
        self._workers = Workers(self.startables, self.folds, self.n_jobs).__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._workers.__exit__(*error)

    def threads(self) -> AbstractContextManager[object]:
        """Return the threads of the trainers."""
        return threads_for([trainer for row in self.startables for trainer in row], self.n_jobs) or nullcontext()

    def batches(self, asked: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Divide trials into batches: one by one those that can start from earlier ones, then all others at once."""
        # A start from the trial before saves more than a second worker does, and the folds of one trial run together.
        single = [[item] for item in asked if self.startables[item[0]][0].family is not None]
        rest = [item for item in asked if self.startables[item[0]][0].family is None]
        return [*single, rest] if rest else single

    def train(self, batch: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """Train a batch, see `BatchTrainer.train`."""
        tasks = [task for work in batch for task in self._tasks(work)]
        with closing(self._workers.run(tasks, raise_errors=raise_errors)) as results:
            for work in batch:
                yield self._judged(results, work)

    def _tasks(self, work: Work) -> list[FoldTask]:
        return [
            FoldTask(work.setting, fold, work.trial.costs, starts, tune=self.judge.tune, on_train=self.on_train)
            for fold, starts in enumerate(work.starts)
            if fold >= len(self._known(work))
        ]

    def _known(self, work: Work) -> list[FoldResult]:
        """Return the known results of the first folds."""
        return self._begun.get((work.setting, work.trial.number), [])

    def _judged(self, results: Iterator[FoldResult], work: Work) -> TrainedTrial:
        """Judge the trainings of one trial together."""
        known, count = self._known(work), len(work.starts)
        folds = [*known, *(next(results) for _ in range(count - len(known)))]
        self._begun[work.setting, work.trial.number] = folds if count < len(self.folds) else []
        fields, predictions = self.judge.judge(self.folds[:count], folds, work.trial)
        failed = _everywhere(folds) if predictions is None else None
        if predictions is not None and count < len(self.folds):
            predictions = predictions.take(_places([fold.test for fold in self.folds], count))
        states = [None if fold < len(known) else result.state for fold, result in enumerate(folds)]
        return TrainedTrial(fields, states, [result.fit_time for result in folds], predictions, failed)


def _places(tests: list[IntArray], count: int) -> IntArray:
    """Find for each held-out entry its place among those of the first folds, where each occurs once.

    The first prediction of an entry replaces later ones, so that all trials have the same entries.
    """
    first = np.concatenate(tests[:count])
    rows, start = np.unique(first, return_index=True)
    # Of several labels those of a row follow each other.
    size = first.size // rows.size
    return np.concatenate([start[np.searchsorted(rows, test)] + np.arange(test.size) % size for test in tests])


def _everywhere(folds: list[FoldResult]) -> FailedEverywhere | None:
    """Return the error of all folds if their messages differ only in numbers, else ``None``."""
    kinds = {None if result.error is None else re.sub(r"\d+", "0", first_line(result.error)) for result in folds}
    cause = folds[0].cause
    return None if None in kinds or len(kinds) > 1 else FailedEverywhere(None if cause is None else cause.error)
