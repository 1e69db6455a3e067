"""Where trainings run, and how what they need gets there once."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from csf._common.threads import Threads
from csf.search.dask_workers import Cluster
from csf.search.fold_training import FoldResult, FoldTask, Part

if TYPE_CHECKING:
    from csf.data.folds import Fold
    from csf.trainers.base import Trainer


__all__ = ["Workers", "threads_for"]


class Workers:
    """Trains on folds: one after the other, in threads, in processes or on a cluster, as joblib is set.

    Threads share all data. Processes of one machine map large arrays from memory; smaller ones travel with each task.
    The workers of a Dask cluster are sent all trainers once, see `csf.search.dask_workers.Cluster`.

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
        parts = [[Part(*pair) for pair in zip(row, judged, strict=True)] for row in trainers]
        threads = threads_for([trainer for row in trainers for trainer in row], n_jobs)
        backend, count = get_active_backend()[0], effective_n_jobs(n_jobs)  # pyright: ignore[reportArgumentType] (None is fine)
        self._place: _Place
        if getattr(backend, "client", None) is not None:
            self._place = Cluster(parts, backend)
        elif count == 1:
            self._place = _Here(parts, threads or nullcontext())
        elif threads is not None:
            self._place = _Threads(parts, threads)
        else:
            self._place = _Pool(parts, n_jobs, count)

    def __enter__(self) -> Self:
        self._place.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
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
                    at, result = next(results)
                    come[at] = result
                result = come.pop(number)
                if raise_errors:
                    result.raise_error()
                yield result


def threads_for(trainers: Sequence[Trainer], n_jobs: int | None) -> Threads | None:
    """Threads for compiled solvers, which share the samples; ``None`` where they, or joblib, ask for another place."""
    if not all(trainer.releases_gil for trainer in trainers):
        return None
    count = effective_n_jobs(n_jobs)  # pyright: ignore[reportArgumentType] (None is fine)
    fits = count == 1 or getattr(get_active_backend(prefer="threads")[0], "uses_threads", False)
    return Threads(count) if fits else None


class _Place(Protocol):
    """Where trainings run."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> None: ...

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Number and result of each task, as they come."""
        ...


class _Here:
    """Trains in this thread."""

    def __init__(self, parts: list[list[Part]], around: AbstractContextManager[Any]) -> None:
        self._parts, self._around = parts, around

    def __enter__(self) -> Self:
        self._around.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._around.__exit__(*error)

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Number and result of each task, as they come."""
        for number, task in enumerate(tasks):
            yield number, task.run(self._parts[task.setting][task.fold])


class _Threads:
    """Trains compiled solvers in threads, which help each other: the last training of a wave has them all."""

    def __init__(self, parts: list[list[Part]], threads: Threads) -> None:
        self._parts, self._threads = parts, threads

    def __enter__(self) -> Self:
        self._threads.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._threads.__exit__(*error)

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Number and result of each task, in their order."""
        given = [(task, self._parts[task.setting][task.fold]) for task in tasks]
        for task, part in given:
            with suppress(Exception):  # the trainings raise it again, and each says so by itself
                part.trainer.prepare(task.starts)
        config = get_config()
        results = [self._threads.submit(_configured, config, *each) for each in given]
        try:
            for number, result in enumerate(results):
                yield number, result.result()
        finally:
            for result in results:
                result.cancel()


class _Pool:
    """Trains in threads or processes of this machine, or wherever another backend of joblib does."""

    def __init__(self, parts: list[list[Part]], n_jobs: int | None, count: int) -> None:
        self._parts = parts
        # joblib hands out twice as many tasks as there are workers.
        self._in_flight = 2 * count
        self._parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")

    def __enter__(self) -> Self:
        self._parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._parallel.__exit__(*error)

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Number and result of each task, as they come."""
        left = dict(enumerate(tasks))
        while left:
            with suppress(BrokenProcessPool):
                yield from self._some(left, list(left))
            # The pool broke. Only those that were on their way can have done it: one of them at a time, the guilty one
            # is found; then the others go on together.
            for number in list(left)[: self._in_flight]:
                yield from self._one(left, number)

    def _some(self, left: dict[int, FoldTask], numbers: list[int]) -> Iterator[tuple[int, FoldResult]]:
        """Results of some of the tasks that are left."""
        tasks = ((number, left[number]) for number in numbers)
        with _closing(
            self._parallel(
                delayed(_numbered)(number, task, self._parts[task.setting][task.fold]) for number, task in tasks
            )
        ) as results:
            for number, result in results:
                del left[number]
                yield number, result

    def _one(self, left: dict[int, FoldTask], number: int) -> Iterator[tuple[int, FoldResult]]:
        """Result of a task that has the pool for itself: if the pool breaks, it is to blame."""
        try:
            yield from self._some(left, [number])
        except BrokenProcessPool as error:
            del left[number]
            yield number, FoldResult.failed(error.with_traceback(None))


@contextmanager
def _closing(results: Any) -> Iterator[Any]:
    """Close a generator of joblib in the end, without its advice about tasks that nobody waits for any more."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*adjusting the input task iterator")
            results.close()


def _configured(config: dict[str, Any], task: FoldTask, part: Part) -> FoldResult:
    """Result under the caller's settings of scikit-learn, which each thread has for itself."""
    with config_context(**config):
        return task.run(part)


def _numbered(number: int, task: FoldTask, part: Part) -> tuple[int, FoldResult]:
    return number, task.run(part)
