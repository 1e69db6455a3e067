"""What one LightGBM Dataset for each fold saves: processor time of searches with both engines.

``python -m tests.benchmarks boosting`` prints one table. Both engines run one after the other in the same process, and
"same" says whether all held-out values and the scores of the final model agree to the last bit.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification

from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import BINARY_SETS, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["rows"]


def _data(name):
    if name != "made up":
        return load_binary(name)
    return make_classification(20_000, 30, weights=[0.95], flip_y=0.02, random_state=0)


def rows(names=("made up", *BINARY_SETS), *, n_estimators=60, n_trials=10, n_runs=1):
    """Processor seconds of searches over costs."""
    # "made up" has 20 000 rows and 30 features; of the runs of each engine, in turns, the shortest one counts.
    import lightgbm

    for name in names:
        X, y = _data(name)
        base = lightgbm.LGBMClassifier(n_estimators=n_estimators, n_jobs=1, verbose=-1)
        seconds, found = {"generic": [], "auto": []}, {}
        for engine in list(seconds) * n_runs:
            start = time.process_time()
            # A grid, so that the work is the same whatever the defaults of a search are.
            search = paper_search(base, strategy="grid", n_trials=n_trials, cv=5, engine=engine).fit(X, y)
            seconds[engine].append(time.process_time() - start)
            found[engine] = [trial.score for trial in search.trials_], search.predict_proba(X)
        slow, fast = min(seconds["generic"]), min(seconds["auto"])
        same = all(np.array_equal(*pair) for pair in zip(*found.values()))
        yield {"data": name, "rows": X.shape[0], "features": X.shape[1], "generic": slow, "kept": fast} | {
            "faster": slow / fast,
            "same": same,
        }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["made up", *BINARY_SETS], help="data sets (all)")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of boosting (60)")
    parser.add_argument("--runs", type=int, default=1, help="runs of each engine (1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(rows(options.sets, n_estimators=options.rounds, n_runs=options.runs))


if __name__ == "__main__":
    main()
