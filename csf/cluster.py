"""Trainings on a Dask cluster whose workers come and go."""

import warnings
from contextlib import suppress

from sklearn import config_context, get_config

from csf.evaluation import FoldResult, run_fold

__all__ = ["Cluster"]

# So many times in a row the data are sent again without a single training coming back.
_SENDINGS = 20
# Seconds without a worker before the user is told; those that were killed are back sooner.
_QUIET = 10


class Cluster:
    """Trains on the workers of a Dask cluster.

    They are sent all trainers once, in one message in which what trainers share is shared. Trainings are lost with
    their workers, and the trainers with the last worker that holds them: both are sent again. Where no worker is left
    the search waits for new ones, as Dask does.

    Parameters
    ----------
    rows : list of list of tuple of (Trainer, Fold)
        One row for each setting, one entry for each fold; folds need no more than labels.
    backend : joblib.parallel.ParallelBackendBase
        joblib's active backend, ``parallel_config(backend="dask")``.

    Notes
    -----
    Tasks go to Dask's client and not through joblib, which trains in its own process, without the data, whenever the
    cluster has a single core left.
    """

    def __init__(self, rows, backend):
        self._parts, self._backend, self._client = _Parts(rows), backend, backend.client
        self._sent = None
        self._sendings = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._sent = None

    def results(self, tasks, options):
        """Number and result of each task, as they come.

        Parameters
        ----------
        tasks : list of tuple of (int, int, tuple of float, sequence)
            Setting, fold, costs and states to start from.
        options : dict
            Passed on to `csf.evaluation.run_fold`.

        Yields
        ------
        tuple of (int, FoldResult)
            Place among the tasks, and the result.
        """
        how = options, get_config(), list(warnings.filters)
        # In a task of the cluster, waiting must not keep a worker from its work.
        with self._backend.retrieval_context():
            suspects = []
            for number, result, killed in self._some(dict(enumerate(tasks)), how):
                if killed:
                    suspects.append(number)
                else:
                    yield number, result
            # Dask blames all tasks of a worker that died. One that is alone has no other to blame.
            for number in suspects:
                yield from (answer[:2] for answer in self._some({number: tasks[number]}, how))

    def _some(self, tasks, how):
        """Number and result of each task, as they come, and whether it is blamed for the death of workers."""
        from distributed import CancelledError, KilledWorker, as_completed

        running = {self._submit(task, how): number for number, task in tasks.items()}
        finished = as_completed(list(running))
        try:
            for future in finished:
                number = running.pop(future)
                try:
                    result, killed = future.result(), False
                except KilledWorker as error:
                    result, killed = FoldResult.failed(error.with_traceback(None)), True
                except CancelledError as error:
                    again = self._submit(tasks[number], how, lost=error)
                    running[again] = number
                    finished.add(again)
                    continue
                self._sendings = 0
                yield number, result, killed
        finally:
            self._client.cancel(list(running))

    def _submit(self, task, how, lost=None):
        """Have the cluster train; with the data sent first, where they are not there."""
        if self._sent is None or self._sent.status != "finished":
            self._send(lost)
        with warnings.catch_warnings():
            # States of earlier trainings may be large. They travel with the task, so that Dask can send them again.
            warnings.filterwarnings("ignore", message="Sending large graph")
            return self._client.submit(_run_part, self._sent, *task, *how, pure=False, **self._backend.submit_kwargs)

    def _send(self, lost):
        """Give all workers the data; anew where workers vanish meanwhile."""
        while self._sendings < _SENDINGS:
            self._sendings += 1
            if not self._client.ncores():
                self._wait()
            try:
                (self._sent,) = self._client.scatter([self._parts], broadcast=True, hash=False)
            except (OSError, TimeoutError) as error:  # a worker left while it was sent to
                lost = error
            else:
                return
        raise RuntimeError(
            f"the Dask cluster lost the data {_SENDINGS} times in a row, and no training came back; see the logs of "
            "its workers: they may lack memory"
        ) from lost

    def _wait(self):
        """Wait for a worker."""
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=_QUIET)
            return
        warnings.warn(
            "the Dask cluster has no workers left: the search waits for new ones. Ctrl-C ends it with the trials that "
            "are finished",
            UserWarning,
            stacklevel=2,
        )
        self._client.wait_for_workers(1)


class _Parts:
    """All trainers with the labels of their folds. Dask would send the entries of a list one by one."""

    def __init__(self, rows):
        self.rows = rows


def _run_part(parts, setting, fold, costs, starts, options, config, filters):
    """Train on one of the parts, in a worker that holds all of them, as scikit-learn and warnings are set at home."""
    with config_context(**config), warnings.catch_warnings():
        warnings.resetwarnings()
        for action, message, category, module, line in filters:
            texts = [getattr(text, "pattern", text) or "" for text in (message, module)]
            warnings.filterwarnings(action, texts[0], category, texts[1], line, append=True)
        return run_fold(*parts.rows[setting][fold], costs, starts, **options)
