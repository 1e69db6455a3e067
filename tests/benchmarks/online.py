"""What the online learners learn in one pass, their throughput, compile time and memory.

``python -m tests.benchmarks.online`` prints the tables. All learners see the same examples in one pass, in chunks.
They are timed in turns, each against the runs of scikit-learn's SGDClassifier (chunks of 1000), of river's logistic
regression (``learn_one``) and of Vowpal Wabbit of the same turn; medians of the turns are reported. River takes dicts,
Vowpal Wabbit lines of text: their rates count learning alone, or together with making these from the same arrays.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

import csf.online
from tests.benchmarks.data import ROOT, data_folder, load_binary
from tests.benchmarks.one_pass import _lines, change_rows, learning_rows, unit_rows
from tests.benchmarks.tables import print_table

__all__ = ["compile_rows", "dense_stream", "learners", "memory_row", "throughput_rows"]

# Learners whose throughput is promised, by name; those that this version has are measured.
NAMES = ("OnlineLogistic", "OFO", "FOFO", "OMCSL", "SPADE", "STAMP")
SGD_CHUNK = 1000
N_FEW = 5000


def learners():
    """New learners by name, in their default form."""
    return {name: getattr(csf.online, name)() for name in NAMES if hasattr(csf.online, name)}


def dense_stream(n=100_000, n_features=50, *, seed=0):
    """Standard normal features, and labels of which about a tenth is positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_features))
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(n) > 2.2).astype(int)
    return X, y


def _streams():
    """Data by name: Adult in a random order where it is there, and the dense stream."""
    streams = {}
    try:
        X, y = load_binary("adult")
        order = np.random.default_rng(0).permutation(y.size)
        streams["adult, CSR 48842 x 123"] = (X[order], y[order])
    except FileNotFoundError:
        pass
    return streams | {"normal, dense 100000 x 50": dense_stream()}


def _chunks(X, y, size):
    return [(X[start : start + size], y[start : start + size]) for start in range(0, y.size, size)]


def _rate(learner, chunks):
    """Examples a second of one pass."""
    start = time.perf_counter()
    for X, y in chunks:
        learner.partial_fit(X, y, classes=[0, 1])
    return sum(y.size for _, y in chunks) / (time.perf_counter() - start)


def _dicts(X):
    """Rows as river wants them."""
    if not sparse.issparse(X):
        return [dict(enumerate(row)) for row in X.tolist()]
    indices, data, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return [dict(zip(indices[start:stop], data[start:stop])) for start, stop in pairwise(ends)]


def _river_rates(X, y):
    """Examples a second of river's logistic regression, without and with dicts; NaN where river is not installed."""
    try:
        from river.linear_model import LogisticRegression
    except ImportError:
        return float("nan"), float("nan")
    model, labels = LogisticRegression(), (y == 1).tolist()
    start = time.perf_counter()
    rows = _dicts(X)
    made = time.perf_counter()
    for row, label in zip(rows, labels):
        model.learn_one(row, label)
    end = time.perf_counter()
    return y.size / (end - made), y.size / (end - start)


def _vowpal_rates(X, y):
    """Examples a second of Vowpal Wabbit, without and with lines of text; NaN where it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return float("nan"), float("nan")
    model, labels = Workspace("--loss_function logistic --quiet"), np.where(y == 1, 1, -1).tolist()
    start = time.perf_counter()
    lines = [f"{label} |{row}" for label, row in zip(labels, _lines(X), strict=True)]
    made = time.perf_counter()
    for line in lines:
        model.learn(line)
    end = time.perf_counter()
    return y.size / (end - made), y.size / (end - start)


def throughput_rows(*, chunk_sizes=(1000, 10_000), n_turns=7, streams=None):
    """Throughput of all learners, beside SGDClassifier, river and Vowpal Wabbit."""
    # Ratios of rates: ``to_river`` without making dicts, ``to_vowpal`` without lines of text; ``..._from_arrays`` with.
    for data, (X, y) in (_streams() if streams is None else streams).items():
        chunks = {size: _chunks(X, y, size) for size in {SGD_CHUNK, *chunk_sizes}}
        turns = [_turn(X, y, chunks, chunk_sizes) for _ in range(n_turns + 1)][1:]  # the first one compiles
        for key in ((name, size) for name in learners() for size in chunk_sizes):
            yield {"name": key[0], "data": data, "chunk": key[1], **_medians(turns, [turn[key] for turn in turns])}
        for name, chunk in (("SGD", SGD_CHUNK), ("river", 1), ("Vowpal Wabbit", 1)):
            of_rival = _medians(turns, [np.ravel(turn[name])[-1] for turn in turns])
            yield {"name": name, "data": data, "chunk": chunk, **of_rival}


def _medians(turns, rates):
    """Medians over turns of a rate and its ratios to rivals of the same turn."""
    columns = ("examples_per_second", "to_sgd", "to_river", "to_river_from_arrays")
    columns += ("to_vowpal", "to_vowpal_from_arrays")
    values = [
        [rate, rate / turn["SGD"], *(rate / turn["river"]), *(rate / turn["Vowpal Wabbit"])]
        for turn, rate in zip(turns, rates, strict=True)
    ]
    return dict(zip(columns, np.median(values, axis=0).tolist()))


def _turn(X, y, chunks, chunk_sizes):
    """Rates of all, one after the other."""
    sgd = _rate(SGDClassifier(loss="log_loss", random_state=0), chunks[SGD_CHUNK])
    few = X[:N_FEW], y[:N_FEW]
    turn = {"SGD": sgd, "river": np.array(_river_rates(*few)), "Vowpal Wabbit": np.array(_vowpal_rates(*few))}
    for size in chunk_sizes:
        turn |= {(name, size): _rate(learner, chunks[size]) for name, learner in learners().items()}
    return turn


_FIRST_CALL = """
import sys, time
import numpy as np
from scipy import sparse
from tests.benchmarks.online import dense_stream, learners
X, y = dense_stream(2000, 5)
X = sparse.csr_array(X) if sys.argv[2] == "CSR" else X
learner = learners()[sys.argv[1]]
start = time.perf_counter()
learner.partial_fit(X, y)
print(time.perf_counter() - start)
"""


def compile_rows(kinds=("CSR", "dense")):
    """Seconds of the first call in a new process, with nothing compiled and with what the process before has cached."""
    for name in learners():
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                environment = os.environ | {"NUMBA_CACHE_DIR": folder}
                command = [sys.executable, "-c", _FIRST_CALL, name, kind]
                options = {"env": environment, "cwd": ROOT, "capture_output": True, "text": True, "check": True}
                first, second = (float(subprocess.run(command, **options).stdout) for _ in range(2))
            yield {"name": name, "data": kind, "compile_seconds": first, "cached_seconds": second}


def memory_row(name, *, gigabytes=5.0, n_features=50, chunk=10_000):
    """Growth of the process's memory while a learner sees far more data than fit into it."""
    # Of the largest resident size so far: call it in a new process, where nothing larger has been.
    rng, learner = np.random.default_rng(0), learners()[name]
    n_chunks = max(20, int(gigabytes * 1e9 / (8 * n_features * chunk)))
    early = None
    for number in range(n_chunks):
        X = rng.random((chunk, n_features))
        y = (X[:, 0] + X[:, 1] + 0.5 * rng.random(chunk) > 1.9).astype(int)
        learner.partial_fit(X, y, classes=[0, 1])
        if number == n_chunks // 20:
            early = _largest_megabytes()
    return {
        "name": name,
        "gigabytes": n_chunks * chunk * n_features * 8 / 1e9,
        "examples": learner.n_seen_,
        "megabytes_after_5_percent": early,
        "megabytes_grown": _largest_megabytes() - early,
    }


def _largest_megabytes():
    """Largest resident size of this process so far."""
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def cell(value):
    """Text of a value: three digits, and whole numbers from 1000 on."""
    return (f"{value:.3g}" if value < 1000 else f"{value:.0f}") if isinstance(value, float) else str(value)


def main():
    """Print the tables."""
    if data_folder() is not None:
        print("## What one pass teaches\n")
        print_table(learning_rows(), cell)
        print("## Units of features\n")
        print_table(unit_rows(), cell)
    print("## After a change of prevalence from 10 % to 1 %\n")
    print_table(change_rows(), cell)
    print("## Throughput\n")
    print_table(throughput_rows(), cell)
    print("## First call\n")
    print_table(compile_rows(), cell)
    print("## Memory\n")
    print_table((memory_row(name) for name in learners()), cell)


if __name__ == "__main__":
    main()
