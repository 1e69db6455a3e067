"""What a search costs beside the trainings themselves: time outside the base, and memory.

``python -m tests.benchmarks.overhead`` prints one table. "outside" is the share of the wall time of ``fit`` that is
spent neither in the base's ``fit`` nor in its scoring. "peak" is the largest memory that ``fit`` allocates through
Python (training and test parts of all folds included), as a multiple of the data.
"""

import time
import tracemalloc
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import load_binary, size_of
from tests.benchmarks.tables import print_table

__all__ = ["rows"]

BASES = {"LinearSVC": LinearSVC(), "LogisticRegression": LogisticRegression(max_iter=1000)}


def rows(names=("adult", "mammography"), *, n_trials=19, n_runs=3):
    """Time outside the base and peak memory of searches."""
    for name in names:
        X, y = load_binary(name)
        for label, base in BASES.items():
            search = paper_search(base, n_trials=n_trials)
            walls, shares = [], []
            for _ in range(n_runs):
                start = time.perf_counter()
                search.fit(X, y)
                walls.append(time.perf_counter() - start)
                inside = sum(trial.fit_time + trial.score_time for trial in search.trials_) + search.refit_time_
                shares.append(1.0 - inside / walls[-1])
            tracemalloc.start()
            search.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            yield {
                "data": name,
                "base": label,
                "fits": 5 * len(search.trials_) + 1,
                "seconds": float(np.median(walls)),
                "outside": float(np.median(shares)),
                "peak": peak / size_of(X),
            }


def main():
    """Print the table."""
    warnings.simplefilter("ignore")
    print_table(
        {
            "data": row["data"],
            "base": row["base"],
            "base fits": row["fits"],
            "seconds": f"{row['seconds']:.1f}",
            "outside": f"{100 * row['outside']:.1f} %",
            "peak / data": f"{row['peak']:.1f}",
        }
        for row in rows()
    )


if __name__ == "__main__":
    main()
