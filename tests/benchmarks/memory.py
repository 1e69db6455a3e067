"""Memory that a search with a linear model needs beside its data.

``python -m tests.benchmarks memory`` prints one table. Each line is measured in a process of its own, by the largest
resident memory during ``fit`` beyond what was resident before it, which includes what compiled code allocates. It
holds a part that grows with the number of samples alone: indices of the folds, signs, weights, scores, and where
solvers start from dual variables those of earlier trials.
"""

import argparse
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from tests.benchmarks.bases import LINEAR, paper_search
from tests.benchmarks.data import ROOT, drawn_rows, size_of
from tests.benchmarks.tables import print_table

__all__ = ["clear_peak", "main", "memory_rows", "resident"]

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory_rows(kinds=("dense", "CSR"), bases=tuple(LINEAR), *, megabytes=200, n_trials=5, width=200):
    """Peak memory of searches with five folds."""
    # CSR has as many values in each row, of ten times as many columns.
    for kind in kinds:
        for base in bases:
            arguments = f"{kind!r}, {base!r}, {megabytes}, {n_trials}, {width}"
            code = f"from tests.benchmarks.memory import _measure; _measure({arguments})"
            options = {"capture_output": True, "text": True, "check": True, "cwd": ROOT}
            done = subprocess.run([sys.executable, "-c", code], **options)
            yield {"layout": kind, "base": base, **json.loads(done.stdout.splitlines()[-1])}


def _measure(kind, base, megabytes, n_trials, width):
    """Print one measurement, in this process."""
    warnings.simplefilter("ignore")
    search = paper_search(LINEAR[base], n_trials=n_trials, cv=5)
    search.fit(*_drawn(kind, 300, width))  # compiles
    X, y = _drawn(kind, int(megabytes * 2**20 / ((8 if kind == "dense" else 12) * width)), width)
    size = size_of(X)
    clear_peak()
    before = resident("VmRSS")
    search.fit(X, y)
    beside = resident("VmHWM") - before
    row = {"MB": size / 2**20, "samples": y.size, "peak / data": 1.0 + beside / size, "beside, bytes": beside / y.size}
    print(json.dumps(row))


def clear_peak():
    """Let the largest resident memory start anew."""
    _CLEAR.write_text("5")


def resident(name):
    """Memory that the operating system reports."""
    return 1024 * int(re.search(rf"{name}:\s+(\d+) kB", _STATUS.read_text()).group(1))


def _drawn(kind, n, width):
    rng = np.random.default_rng(0)
    if kind == "dense":
        X = rng.random((n, width))
        score = X[:, 0] + rng.random(n)
    else:
        X = drawn_rows(rng, n, 10 * width, width)
        score = X @ rng.standard_normal(10 * width)
        score += score.std() * rng.standard_normal(n)
    return X, (score > np.quantile(score, 0.85)).astype(int)


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks memory", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=200.0)
    options = parser.parse_args(arguments)
    print_table(memory_rows(megabytes=options.megabytes))


if __name__ == "__main__":
    main()
