"""SPADE beside the tuned threshold of a logistic regression: value on new data and seconds.

``python -m tests.benchmarks.spade`` prints the table. Both learners take the same training part of each split; their
turns alternate. Seconds are medians of the time of `fit` in this process, compilation not counted.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit

from csf.metrics import get_metric
from csf.online import SPADE
from csf.plugin import PlugInClassifier
from tests.benchmarks.data import load_arrays, load_binary
from tests.benchmarks.online import cell
from tests.benchmarks.tables import print_table

__all__ = ["data_sets", "spade_rows"]


def data_sets():
    """Adult, Mammography and one letter of Letter against the rest, by name."""
    sets = {"adult": load_binary("adult"), "mammography": load_binary("mammography")}
    X, arrays = load_arrays("letter")
    letters = arrays["y"]
    first = np.unique(letters)[0]
    return sets | {f"letter, {first} against the rest": (X / X.max(axis=0), (letters == first).astype(int))}


def candidates(metric, options):
    """New learners by name: the plug-in rule, and SPADE with each set of options."""
    learners = {"plug-in": PlugInClassifier(LogisticRegression(max_iter=1000), metric=metric, random_state=0)}
    return learners | {
        f"SPADE({', '.join(f'{key}={value}' for key, value in given.items())})": SPADE(metric, random_state=0, **given)
        for given in options
    }


def spade_rows(*, metrics=("qmean", "min_rate"), options=({},), n_splits=5, sets=None):
    """Values and seconds of SPADE and the plug-in rule."""
    # ``to_plug_in`` is the mean difference over splits, ``error`` its standard error.
    for data, (X, y) in (data_sets() if sets is None else sets).items():
        splits = list(StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0).split(np.zeros(y.size), y))
        for name in metrics:
            metric, values, seconds = get_metric(name), {}, {}
            for learner in candidates(name, options).values():
                learner.fit(X[:500], np.arange(500) % 2)  # compiles
            for train, test in splits:
                for key, learner in candidates(name, options).items():
                    start = time.perf_counter()
                    learner.fit(X[train], y[train])
                    seconds.setdefault(key, []).append(time.perf_counter() - start)
                    values.setdefault(key, []).append(metric.score(y[test], learner.predict(X[test])))
            for key, reached in values.items():
                gap = np.subtract(reached, values["plug-in"])
                yield {
                    "data": data,
                    "metric": name,
                    "learner": key,
                    "value": float(np.mean(reached)),
                    "to_plug_in": float(gap.mean()),
                    "error": float(gap.std(ddof=1) / np.sqrt(gap.size)) if gap.size > 1 else float("nan"),
                    "seconds": float(np.median(seconds[key])),
                }


def main():
    """Print the table."""
    print_table(spade_rows(), cell)


if __name__ == "__main__":
    main()
