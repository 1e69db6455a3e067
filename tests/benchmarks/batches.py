"""Share of wrong alerts of ``predict(X, wrong_at_most=0.2)`` in batches whose share of positives has moved.

``python -m tests.benchmarks batches --seeds N``: about 3500 labelled rows of each set, and batches of 500 other rows
with a third of the share of positives, the same and threefold. Beside it stands the threshold with the best recall at a
precision of 0.8. ``mean`` is the mean over batches of the share of wrong alerts, 0 without alerts, ``all`` the share of
wrong ones among all alerts. The last rows are means over the sets with rare positives, ± a standard error.
"""

import argparse
import warnings

import numpy as np
from lightgbm import LGBMClassifier

from csf import CostSearch
from notebooks.experiments.datasets import load_set
from tests.benchmarks.data import data_folder
from tests.benchmarks.tables import print_table

__all__ = ["FACTORS", "RARE", "Measured", "load", "rows"]

# At most 15 % of their rows are positive. Of the others the promise is kept with room, as it is smaller by the share
# of negatives, and at a cost in recall.
RARE = ("mammography", "pageblocks", "letter:1", "imbalanced/hypothyroid", "imbalanced/segment0", "imbalanced/bank")
FREQUENT = ("adult", "imbalanced/ada")
FACTORS = {"a third": 1.0 / 3.0, "the same": 1.0, "threefold": 3.0}
SHARE, N_LABELLED, N_BATCH = 0.2, 3500, 500


class Measured:
    """Alerts, wrong ones, and positives in batches."""

    def __init__(self):
        self.batches = []

    def add(self, found, truth):
        """Add a batch."""
        self.batches.append((found.sum(), (found & ~truth).sum(), truth.sum()))

    @property
    def numbers(self):
        """Mean share of wrong alerts, that of all alerts, and the recall."""
        alerts, wrong, positives = np.array(self.batches, dtype=float).T
        means = wrong / np.maximum(alerts, 1.0)
        return np.array([means.mean(), wrong.sum() / max(alerts.sum(), 1.0), (alerts - wrong).sum() / positives.sum()])


def load(name):
    """Features and target of a set."""
    folder, _, file = name.rpartition("/")
    data = load_set(data_folder() / folder, file)
    return data.transformer().fit_transform(data.X), np.asarray(data.y).astype(int)


def measure(X, y, n_seeds, n_batches):
    """Measurements of both ways for each share of positives."""
    found = {(way, factor): Measured() for factor in FACTORS for way in ("threshold", "batch")}
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, 7])
        at = rng.permutation(y.size)
        known, rest = np.split(at, [min(N_LABELLED, 2 * y.size // 3)])
        base = LGBMClassifier(n_estimators=50, n_jobs=1, verbose=-1)
        options = {"constraint": "precision >= 0.8", "param_grid": None, "n_trials": 1, "random_state": seed}
        search = CostSearch(base, "recall", **options).fit(X[known], y[known])
        positives, negatives = rest[y[rest] == 1], rest[y[rest] == 0]
        above = np.zeros(y.size, dtype=bool)
        above[rest] = search.predict(X[rest]) == 1
        for factor, times in FACTORS.items():
            for _ in range(n_batches):
                n_pos = rng.binomial(N_BATCH, min(times * y.mean(), 0.6))
                rows = np.append(rng.choice(positives, n_pos), rng.choice(negatives, N_BATCH - n_pos))
                truth = y[rows] == 1
                found["threshold", factor].add(above[rows], truth)
                found["batch", factor].add(search.predict(X[rows], wrong_at_most=SHARE) == 1, truth)
    return found


def rows(names, n_seeds, n_batches):
    """Rows of the table."""
    rare = {}
    for name in names:
        found = measure(*load(name), n_seeds, n_batches)
        for factor in FACTORS:
            threshold, batch = (found[way, factor].numbers for way in ("threshold", "batch"))
            if name in RARE:
                rare.setdefault(factor, []).append((*threshold, *batch, batch[2] - threshold[2]))
            yield _row(name, factor, [f"{number:.3f}" for number in (*threshold, *batch, batch[2] - threshold[2])])
    for factor, numbers in rare.items():
        means, errors = np.mean(numbers, axis=0), np.std(numbers, axis=0, ddof=1) / np.sqrt(len(numbers))
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors)]
        yield _row(f"{len(numbers)} sets", factor, cells)


def _row(name, factor, numbers):
    heads = [f"{way}: {what}" for way in ("threshold", "batch") for what in ("wrong, mean", "wrong, all", "recall")]
    return {"set": name, "share of positives": factor} | dict(zip((*heads, "gain of recall"), numbers))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set (5)")
    parser.add_argument("--batches", type=int, default=20, help="batches of each split and share (20)")
    parser.add_argument("--only", nargs="+", choices=RARE + FREQUENT, default=RARE + FREQUENT, help="sets (all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(rows(options.only, options.seeds, options.batches))


if __name__ == "__main__":
    main()
