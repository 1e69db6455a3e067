"""Where trainings run, and how what they need gets there once."""

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from csf.evaluation import run_fold

__all__ = ["Workers"]


class Workers:
    """Trains on folds: one after the other, in threads, in processes or on a cluster, as joblib is set.

    Threads share all data. Processes of one machine map large arrays from memory; smaller ones travel with each task.
    The workers of a Dask cluster are sent all trainers once, in one message in which what trainers share is shared.

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
    """

    def __init__(self, trainers, folds, n_jobs):
        labels = [fold.labels for fold in folds]
        self._parts = _Parts([list(zip(row, labels, strict=True)) for row in trainers])
        self._alone = effective_n_jobs(n_jobs) == 1
        threads = all(trainer.releases_gil for row in trainers for trainer in row)
        self._parallel = Parallel(n_jobs=n_jobs, return_as="generator", prefer="threads" if threads else None)
        cluster = None if self._alone else getattr(get_active_backend()[0], "client", None)
        self._sent = None if cluster is None else cluster.scatter([self._parts], broadcast=True, hash=False)[0]

    def __enter__(self):
        self._parallel.__enter__()
        return self

    def __exit__(self, *error):
        self._parallel.__exit__(*error)
        self._sent = None

    def run(self, tasks, **options):
        """Train on folds.

        Parameters
        ----------
        tasks : list of tuple of (int, int, tuple of float, sequence)
            Setting, fold, costs and states to start from.
        **options : object
            Passed on to `csf.evaluation.run_fold`.

        Returns
        -------
        generator of FoldResult
            The results in the order of the tasks.
        """
        if self._alone:
            return (run_fold(*self._parts.rows[setting][fold], *task, **options) for setting, fold, *task in tasks)
        if self._sent is None:
            return self._parallel(
                delayed(run_fold)(*self._parts.rows[setting][fold], *task, **options) for setting, fold, *task in tasks
            )
        return self._parallel(delayed(_run_part)(self._sent, *task, **options) for task in tasks)


class _Parts:
    """All trainers with the labels of their folds. Dask would send the entries of a list one by one."""

    def __init__(self, rows):
        self.rows = rows


def _run_part(parts, setting, fold, costs, starts, **options):
    """Train on one of the parts, in a worker that holds all of them."""
    return run_fold(*parts.rows[setting][fold], costs, starts, **options)
