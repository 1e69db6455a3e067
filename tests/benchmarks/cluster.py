"""Cost search on a Dask cluster of two small workers, on generated Parquet that does not fit into their memory.

``python -m tests.benchmarks cluster`` prints one line for each number of rows: seconds of the workers' processors and
bytes that the client received for each pass over the data, the most memory that the client and a worker held, and what
was found. The cluster is one of processes of this machine that listen on the loopback address alone. Each line is
measured in a process of its own.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from tests.benchmarks.data import ROOT
from tests.benchmarks.tables import print_table

__all__ = ["cluster_rows", "main", "write_parquet"]

N_FEATURES, ROWS_A_FILE = 20, 250_000


def write_parquet(folder, n_rows, *, seed=0):
    """Write files of float32 features f0, ..., a label with 5 % positives and nothing else."""
    import pyarrow as pa
    from pyarrow import parquet

    Path(folder).mkdir(parents=True)
    direction = np.random.default_rng(seed).normal(size=N_FEATURES).astype(np.float32)
    for k, start in enumerate(range(0, n_rows, ROWS_A_FILE)):
        rng = np.random.default_rng([seed, k])
        X = rng.standard_normal((min(ROWS_A_FILE, n_rows - start), N_FEATURES), dtype=np.float32)
        score = X @ direction / np.linalg.norm(direction) + 0.7 * rng.standard_normal(X.shape[0], dtype=np.float32)
        columns = {f"f{j}": X[:, j] for j in range(N_FEATURES)} | {"label": (score > 2.0).astype(np.int8)}
        parquet.write_table(pa.table(columns), Path(folder) / f"part-{k:05d}.parquet")


def cluster_rows(sizes, *, limit="700MB", n_trials=1, cv=0.25, folder=None):
    """One line for each number of rows."""
    for size in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as where:
            data = Path(where) / "data"
            write_parquet(data, size)
            code = f"from tests.benchmarks.cluster import _main; _main({str(data)!r}, {limit!r}, {n_trials}, {cv})"
            options = {"capture_output": True, "text": True, "cwd": ROOT}
            done = subprocess.run([sys.executable, "-c", code], check=False, **options)
            if done.returncode:
                raise SystemExit(done.stderr[-4000:])
            yield {"rows": size, **json.loads(done.stdout.splitlines()[-1])}
            shutil.rmtree(data)


def _main(data, limit, n_trials, cv):
    """Print one measurement, in this process."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster
    from sklearn.svm import LinearSVC

    from csf.dask import DaskCostSearch

    warnings.simplefilter("ignore")
    local = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": limit, "host": "127.0.0.1"}
    # Without an address of its own the HTTP server would listen on all interfaces.
    with LocalCluster(**local, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client:
        frame = dd.read_parquet(data)
        passes = _Passes(client)
        before, start = _worker_seconds(client), time.perf_counter()
        with passes:
            options = {"strategy": "grid", "param_grid": None, "threshold": "tune", "normalize": "none"}
            search = DaskCostSearch(LinearSVC(), n_trials=n_trials, cv=cv, error_score="raise", **options)
            search.fit(frame[[f"f{j}" for j in range(N_FEATURES)]], frame["label"])
        seconds, spent = time.perf_counter() - start, _worker_seconds(client) - before
        steps = client.run_on_scheduler(_kinds_of_tasks)
        peak = max(client.run(_peak).values())
    size = sum(path.stat().st_size for path in Path(data).iterdir())
    row = {
        "data, MB": frame.shape[1] * 4 * len(frame) / 2**20 if size else 0.0,
        "workers' limit, MB": 2 * int("".join(filter(str.isdigit, limit))),
        "passes": passes.count,
        "CPU s / pass": spent / passes.count,
        "wall s / pass": seconds / passes.count,
        "received kB / pass": passes.received / passes.count / 1000,
        "client peak, MB": _peak() / 2**20,
        "worker peak, MB": peak / 2**20,
        "shuffles": sum("shuffle" in name for name in steps),
        "passes over scores": max(found.n_passes for found in search.counted_cuts_),
        "listed": max(found.n_listed for found in search.counted_cuts_),
        "F1": search.best_score_,
        "gap": float(np.nanmax(search.cv_results_["duality_gap"])),
    }
    print(json.dumps(row))


class _Passes:
    """Counts passes over all rows, and the bytes of their results as the client gets them; not those over a sample."""

    def __init__(self, client):
        self.client, self.count, self.received = client, 0, 0

    def __enter__(self):
        from distributed.protocol import serialize
        from distributed.utils import nbytes

        from csf.dask.collections import DaskData

        self._own = DaskData.reduced, DaskData.sampled
        reduced, sampled = self._own

        def counted(data, of_part, of_results):
            result = reduced(data, of_part, of_results)
            if data.thinned is None:
                self.count += 1
                self.received += sum(map(nbytes, serialize(result)[1]))
            return result

        def drawn(data, of_part):
            self.count += 1
            return sampled(data, of_part)

        DaskData.reduced, DaskData.sampled = counted, drawn
        return self

    def __exit__(self, *error):
        from csf.dask.collections import DaskData

        DaskData.reduced, DaskData.sampled = self._own


def _worker_seconds(client):
    return sum(client.run(_seconds).values())


def _seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _kinds_of_tasks(dask_scheduler):
    return list(dask_scheduler.task_prefixes)


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 4_000_000, 20_000_000])
    parser.add_argument("--limit", default="700MB", help="memory limit of each of two workers")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--cv", type=float, default=0.25, help="share to hold out, or number of folds from 2 on")
    parser.add_argument("--folder", help="where the data are written for a while")
    options = parser.parse_args(arguments)
    cv = int(options.cv) if options.cv > 1 else options.cv
    table = cluster_rows(options.rows, limit=options.limit, n_trials=options.trials, cv=cv, folder=options.folder)
    print_table(table)


if __name__ == "__main__":
    main()
