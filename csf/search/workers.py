"""Where trainings run, and how what they need gets there once."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from csf.search.cluster import Cluster
from csf.search.outcomes import FoldResult, run_fold

if TYPE_CHECKING:
    from csf.samples.folds import Fold
    from csf.trainers.base import Trainer


__all__ = ["Workers"]


class Workers:
    """Trains on folds: one after the other, in threads, in processes or on a cluster, as joblib is set.

    Threads share all data. Processes of one machine map large arrays from memory; smaller ones travel with each task.
    The workers of a Dask cluster are sent all trainers once, see `csf.search.cluster.Cluster`.

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

    A training that kills its worker process has failed. The trainings that ran beside it cannot be told from it, so all
    of them are trained again, one at a time: the one that kills its worker then too is the one. Only where trainings
    have no process of their own, the whole program dies with them.
    """

    def __init__(self, trainers: list[list[Trainer]], folds: list[Fold], n_jobs: int | None) -> None:
        labels = [fold.labels for fold in folds]
        rows = [list(zip(row, labels, strict=True)) for row in trainers]
        count, backend = effective_n_jobs(n_jobs), get_active_backend()[0]
        if getattr(backend, "client", None) is not None:
            self._place = Cluster(rows, backend)
        elif count == 1:
            self._place = _Here(rows)
        else:
            threads = all(trainer.releases_gil for row in trainers for trainer in row)
            self._place = _Pool(rows, n_jobs, count, prefer="threads" if threads else None)

    def __enter__(self) -> Self:
        self._place.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._place.__exit__(*error)

    def run(self, tasks: list[tuple[Any, ...]], *, raise_errors: bool, **options: Any) -> Iterator[Any]:
        """Train on folds.

        Parameters
        ----------
        tasks : list of tuple of (int, int, tuple of float, sequence)
            Setting, fold, costs and states to start from.
        raise_errors : bool
            Whether the first failure, in the order of the tasks, is raised or recorded.
        **options : object
            Passed on to `csf.search.outcomes.run_fold`.

        Yields
        ------
        FoldResult
            The results in the order of the tasks.
        """
        come = {}
        with closing(self._place.results(tasks, options)) as results:
            for number in range(len(tasks)):
                while number not in come:
                    at, result = next(results)
                    come[at] = result
                result = come.pop(number)
                if raise_errors:
                    result.raise_error()
                yield result


class _Here:
    """Trains in this thread."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def results(self, tasks: Any, options: Namespace) -> Any:
        """Number and result of each task, as they come."""
        for number, (setting, fold, *task) in enumerate(tasks):
            yield number, run_fold(*self._rows[setting][fold], *task, **options)


class _Pool:
    """Trains in threads or processes of this machine, or wherever another backend of joblib does."""

    def __init__(self, rows: Any, n_jobs: int | None, count: Any, *, prefer: Any) -> None:
        self._rows = rows
        # joblib hands out twice as many tasks as there are workers.
        self._in_flight = 2 * count
        self._parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", prefer=prefer)

    def __enter__(self) -> Self:
        self._parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._parallel.__exit__(*error)

    def results(self, tasks: Any, options: Namespace) -> Any:
        """Number and result of each task, as they come."""
        left = dict(enumerate(tasks))
        while left:
            with suppress(BrokenProcessPool):
                yield from self._some(left, list(left), options)
            for number in list(left)[: self._in_flight]:
                yield from self._one(left, number, options)

    def _some(self, left, numbers, options):
        """Results of some of the tasks that are left."""
        tasks = ((number, *left[number]) for number in numbers)
        with _closing(
            self._parallel(
                delayed(_numbered)(number, *self._rows[setting][fold], *task, **options)
                for number, setting, fold, *task in tasks
            )
        ) as results:
            for number, result in results:
                del left[number]
                yield number, result

    def _one(self, left, number, options):
        """Result of a task that has the pool for itself: if the pool breaks, it is to blame."""
        try:
            yield from self._some(left, [number], options)
        except BrokenProcessPool as error:
            del left[number]
            yield number, FoldResult.failed(error.with_traceback(None))


@contextmanager
def _closing(results):
    """Close a generator of joblib in the end, without its advice about tasks that nobody waits for any more."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*adjusting the input task iterator")
            results.close()


def _numbered(number, *task, **options):
    return number, run_fold(*task, **options)
