"""How time and memory of a search grow with samples, features, stored values, trials and folds.

``python -m tests.benchmarks scale`` prints one table; ``--figure FILE`` draws it, straight lines where time or memory
grow with a power of what is varied. A cone search with a linear SVM (squared hinge), of which one thing at a time is
varied. Each line is measured in a process of its own: processor time with one thread, and the largest resident memory
during ``fit`` beyond what was resident before it, as a share of the data. Samples are drawn, float32, a tenth of them
positive; beyond a million they come from a file that is mapped into memory, whose pages count as data.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import LinearSVC

from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import ROOT, drawn_rows, size_of
from tests.benchmarks.memory import clear_peak, resident
from tests.benchmarks.tables import print_table

__all__ = ["draw_scale", "main", "scale_rows"]

VARIED = {
    "samples": ("n", (10_000, 100_000, 1_000_000, 10_000_000)),
    "features": ("d", (10, 30, 100, 300)),
    "values in a row": ("stored", (10, 30, 100)),
    "trials": ("n_trials", (5, 10, 20, 40)),
    "folds": ("folds", (2, 5, 10)),
}
_USUAL = {"n": 100_000, "d": 30, "stored": 0, "n_trials": 10, "folds": 5}
# Columns of sparse data.
_COLUMNS = 50_000
# Samples beyond which they are mapped from a file, and that are drawn at a time.
_MAPPED, _CHUNK = 1_000_000, 250_000


def scale_rows(varied=tuple(VARIED), *, shrink=1):
    """Time and memory of searches."""
    for what in varied:
        name, values = VARIED[what]
        for value in values:
            case = _USUAL | {name: value}
            case["n"] //= shrink
            code = f"from tests.benchmarks.scale import _measure; _measure({case!r}, {_COLUMNS // shrink})"
            options = {"capture_output": True, "text": True, "check": True, "cwd": ROOT}
            done = subprocess.run([sys.executable, "-c", code], **options)
            yield {"varied": what, "value": case[name], **json.loads(done.stdout.splitlines()[-1])}


def _measure(case, columns):
    """Print one measurement, in this process."""
    warnings.simplefilter("ignore")
    search = paper_search(LinearSVC(), n_trials=case["n_trials"], cv=case["folds"])
    with tempfile.TemporaryDirectory() as folder:
        search.fit(*_samples(2000, case["d"], case["stored"], columns, folder))  # compiles
        X, y = _samples(case["n"], case["d"], case["stored"], columns, folder)
        if isinstance(X, np.memmap):
            X = np.load(X.filename, mmap_mode="r")  # no page of it is resident before the search
        size = size_of(X)
        clear_peak()
        before, start = resident("VmRSS"), time.process_time()
        search.fit(X, y)
        seconds, beside = time.process_time() - start, resident("VmHWM") - before
    # The search has read all pages of the file.
    beside -= size if isinstance(X, np.memmap) else 0
    print(json.dumps({"MB": size / 2**20, "seconds": seconds, "beside / data": beside / size}))


def _samples(n, d, stored, columns, folder):
    rng = np.random.default_rng(0)
    if stored:
        X = drawn_rows(rng, n, columns, stored, np.float32)
        score = X @ rng.standard_normal(columns, dtype=np.float32)
    else:
        X, direction = _dense(n, d, rng, folder), rng.standard_normal(d, dtype=np.float32)
        score = np.concatenate([X[k : k + _CHUNK] @ direction for k in range(0, n, _CHUNK)])
    score += score.std() * rng.standard_normal(n, dtype=np.float32)
    return X, (score > np.quantile(score, 0.9)).astype(int)


def _dense(n, d, rng, folder):
    if n <= _MAPPED:
        return rng.standard_normal((n, d), dtype=np.float32)
    path = Path(folder) / "X.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    for k in range(0, n, _CHUNK):
        X[k : k + _CHUNK] = rng.standard_normal((min(_CHUNK, n - k), d), dtype=np.float32)
    X.flush()
    return np.load(path, mmap_mode="r")


def draw_scale(rows, path):
    """Draw the table: seconds and memory against what is varied, both axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for what in dict.fromkeys(row["varied"] for row in rows):
        own = [row for row in rows if row["varied"] == what]
        multiple = [row["value"] / own[0]["value"] for row in own]
        left.plot(multiple, [row["seconds"] for row in own], "o-", label=f"{what}, from {own[0]['value']:,}")
        right.plot(multiple, [row["MB"] * row["beside / data"] for row in own], "o-", label=what)
    for axes, text in ((left, "seconds of processor time"), (right, "MB of memory beside the data")):
        axes.set(xscale="log", yscale="log", xlabel="multiple of the smallest value", ylabel=text)
        axes.grid(alpha=0.3)
    left.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks scale", description=__doc__.splitlines()[0])
    parser.add_argument("--varied", default=",".join(VARIED), help=f"of {', '.join(VARIED)}")
    parser.add_argument("--figure", help="picture to draw")
    parser.add_argument("--quick", action="store_true", help="small data: a look at whether it works")
    options = parser.parse_args(arguments)
    rows = []

    def noted():
        for row in scale_rows(options.varied.split(","), shrink=100 if options.quick else 1):
            rows.append(row)
            yield row

    print_table(noted())
    if options.figure:
        draw_scale(rows, options.figure)


if __name__ == "__main__":
    main()
