"""Trainings on a Dask cluster whose workers come and go."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Self

from joblib import wrap_non_picklable_objects
from sklearn import config_context, get_config

from csf._common.messages import warn
from csf.search.fold_training import FoldResult, FoldTask, Part

__all__ = ["Cluster"]

# So many times in a row the data are sent again without a single training coming back.
_SENDINGS = 20
# Seconds without news before the user is told that there is no worker; those that were killed are back sooner.
_QUIET = 15


class Cluster:
    """Trains on the workers of a Dask cluster.

    They are sent all trainers once, in one message in which what trainers share is shared. The scheduler keeps it: it
    sends it again where it was lost with a worker, as it does with trainings, and waits where no worker is left.

    Parameters
    ----------
    parts : list of list of Part
        One row for each setting, one entry for each fold.
    backend : joblib.parallel.ParallelBackendBase
        joblib's active backend, ``parallel_config(backend="dask")``.

    Notes
    -----
    Tasks go to Dask's client and not through joblib, which trains in its own process, without the data, whenever the
    cluster has a single core left.
    """

    def __init__(self, parts: list[list[Part]], backend: Any) -> None:
        self._parts, self._backend, self._client = parts, backend, backend.client
        self._sent: Any = None
        self._sendings = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._sent = None

    def results(self, tasks: list[FoldTask]) -> Generator[tuple[int, FoldResult], None, None]:
        """Number and result of each task, as they come.

        Parameters
        ----------
        tasks : list of FoldTask
            The trainings.

        Yields
        ------
        tuple of (int, FoldResult)
            Place among the tasks, and the result.
        """
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
        """Number and result of each task, as they come, and whether it is blamed for the death of workers."""
        from distributed import CancelledError, KilledWorker

        running: dict[Any, int] = {}
        finished: SimpleQueue[Any] = SimpleQueue()
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

    def _submit(self, task: FoldTask, home: _Home, finished: SimpleQueue[Any], lost: Exception | None = None) -> Any:
        """Have the cluster train; with the data sent first, where they are not there."""
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

    def _next(self, finished: SimpleQueue[Any]) -> Any:
        """Next future that is done; the user is told once where there is no worker to wait for."""
        told = False
        while True:
            try:
                return finished.get(timeout=_QUIET)
            except Empty:
                if not told and not self._client.ncores():
                    told = True
                    warn(
                        "the Dask cluster has no workers left: the search waits for new ones. Ctrl-C ends it with the "
                        "trials that are finished",
                        UserWarning,
                    )


class _Parts:
    """All trainers with their folds. Dask would look into a list."""

    def __init__(self, rows: list[list[Part]]) -> None:
        self.rows = rows


@dataclass(frozen=True, eq=False)
class _Home:
    """How scikit-learn and warnings are set where the search runs.

    Parameters
    ----------
    config : dict
        scikit-learn's configuration.
    filters : list of tuple
        The filters of warnings, the first one first.
    """

    config: dict[str, Any]
    filters: list[Any]


def _run_task(parts: _Parts, task: FoldTask, home: _Home) -> FoldResult:
    """Train in a worker that holds all parts, with what is set at home."""
    with config_context(**home.config), warnings.catch_warnings():
        warnings.resetwarnings()
        for action, message, category, module, line in home.filters:
            texts = [getattr(text, "pattern", text) or "" for text in (message, module)]
            warnings.filterwarnings(action, texts[0], category, texts[1], line, append=True)
        return task.run(parts.rows[task.setting][task.fold])
