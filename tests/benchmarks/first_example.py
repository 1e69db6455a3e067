"""Whether the first example of the README is a fluke: the same on other splits of its data.

``python -m tests.benchmarks first_example`` prints F1 x 100 on held-out rows of the classifier itself, with a tuned
threshold, with C (by average precision, seven values) and threshold tuned, and of `CostSearch`; the gains of the latter
with their standard errors, how often its interval holds its F1, and processor seconds. ``--fresh 5`` prints instead how
long the search takes in fresh processes without compiled code on disk, and how long when it is repeated there.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.search.config import MULTIPLES
from tests.benchmarks.tables import print_table

__all__ = ["drawn", "fresh", "main", "measured", "methods"]

# Seconds of the first fit in a process, and of the second one.
_TWICE = """
import time
from tests.benchmarks.first_example import drawn, methods
X, _, y, _ = drawn(8)
methods()["classifier"].fit(X, y)
for _ in range(2):
    start = time.perf_counter()
    methods()["csf"].fit(X, y)
    print(time.perf_counter() - start)
"""


def drawn(seed):
    """Data of the example, split with another seed: rows to train on, held-out rows, and their labels."""
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    y = progression > 260
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)


def methods():
    """What is compared."""
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    grid = GridSearchCV(plain, {"logisticregression__C": MULTIPLES}, scoring="average_precision")
    return {
        "classifier": plain,
        "tuned": TunedThresholdClassifierCV(plain, scoring="f1"),
        "C and tuned": TunedThresholdClassifierCV(grid, scoring="f1"),
        "csf": CostSearch(plain),
    }


def measured(seed):
    """F1 x 100 and seconds of each method, and whether the interval of the search holds its F1."""
    X, X_new, y, y_new = drawn(seed)
    found = []
    for model in methods().values():
        start = time.process_time()
        predicted = model.fit(X, y).predict(X_new)
        found.append((100 * f1_score(y_new, predicted), time.process_time() - start))
    low, high = model.score_interval_
    return found, low <= found[-1][0] / 100 <= high


def fresh(n_runs):
    """Rows of the first and the second fit in fresh processes, each with an empty folder of compiled code."""
    seconds = []
    for _ in range(n_runs):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"NUMBA_CACHE_DIR": folder}
            done = subprocess.run(
                [sys.executable, "-c", _TWICE], env=environment, capture_output=True, text=True, check=True
            )
        seconds.append([float(line) for line in done.stdout.split()])
    (first, later), ratios = np.median(seconds, axis=0), [one / two for one, two in seconds]
    yield {
        "first fit": f"{first:.2f} s",
        "later": f"{later:.2f} s",
        "ratio": f"{np.median(ratios):.2f}",
        "runs": n_runs,
    }


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of splits of the data (20)")
    parser.add_argument("--fresh", type=int, help="number of fresh processes to measure the first fit in")
    options = parser.parse_args(argv)
    if options.fresh:
        print_table(fresh(options.fresh))
        return
    seeds = range(options.seeds)
    found, held = zip(*map(measured, seeds))
    f1, seconds = np.moveaxis(np.array(found), -1, 0)
    gains = f1[:, [-1]] - f1
    rows = [
        {
            "": name,
            "F1": f"{one.mean():.1f}",
            "gain of csf": f"{gain.mean():+.1f} ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}",
            "won : lost": f"{(gain > 0).sum()} : {(gain < 0).sum()}",
            "seconds": f"{time.mean():.2f}",
        }
        for name, one, gain, time in zip(methods(), f1.T, gains.T, seconds.T)
    ]
    print_table(rows)
    print(f"The interval holds the F1 on held-out rows in {sum(held)} of {len(held)} splits.")


if __name__ == "__main__":
    main()
