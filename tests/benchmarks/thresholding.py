"""What a sweep over all thresholds costs, against one argsort and against scikit-learn's tuning of a threshold.

``python -m tests.benchmarks.thresholding`` prints one table. Times are the best of several runs that alternate with
the reference; memory is the peak that is allocated on top of the inputs, in float64 arrays of the length of the data.

- ``sweep``: `csf.thresholding.sweep`, against ``numpy.argsort`` of the same scores. Scores are normal, shifted by one
  for the 10 % positives; "tied" ones are rounded to two decimals (about a thousand values), of "crowded" ones
  every second lies within 1e-12 of 1, the worst case for a sort by leading bits. Weights are exponential.
- ``sweep, thresholds, hull``: the same with all thresholds and the lower-left hull.
- ``tune_threshold``: `csf.tune_threshold` with its interval.
- ``tuning``: given 20 000 scores and labels, the best threshold for F1. `csf.thresholding.threshold_curve` (checks
  included) and ``best`` try every cut; the reference is ``fit`` of a prefit ``TunedThresholdClassifierCV`` with 1000
  thresholds around a classifier that only hands the scores on, so neither side trains or predicts anything.
"""

import time
import tracemalloc
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import TunedThresholdClassifierCV

from csf import tune_threshold
from csf.thresholding import sweep, threshold_curve
from tests.benchmarks.tables import print_table

__all__ = ["rows"]


class _Scores(ClassifierMixin, BaseEstimator):
    """The one column of X as scores."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return X[:, 0]


def _samples(n, kind, seed=0):
    """Truth, scores and weights of ``n`` samples."""
    rng = np.random.default_rng(seed)
    is_pos = rng.random(n) < 0.1
    score = rng.standard_normal(n) + is_pos
    if "tied" in kind:
        score = score.round(2)
    if "crowded" in kind:
        score[::2] = 1.0 + rng.integers(0, 4096, n // 2 + n % 2) * 2.0**-52
    return is_pos, score, rng.exponential(size=n) if "weighted" in kind else None


def _alternate(ours, reference, n_runs):
    """Best time of each of two functions, run in turns."""
    best = [np.inf, np.inf]
    for _ in range(n_runs):
        for i, function in enumerate((ours, reference)):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def _peak(function, n):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * n)


def _row(what, kind, n, ours, reference, name, n_runs):
    ours()  # compiles
    seconds, other = _alternate(ours, reference, n_runs)
    row = {"what": what, "scores": kind, "n": n, "seconds": seconds, "reference": name, "reference seconds": other}
    return row | {"ratio": seconds / other, "memory": _peak(ours, n)}


def rows(sizes=(10**5, 10**6, 10**7), *, n_runs=7):
    """Times and memory."""
    table = []
    for n in sizes:
        for kind in ("plain", "tied", "weighted", "weighted, tied", "weighted, crowded"):
            data = _samples(n, kind)
            argsort = partial(np.argsort, data[1])
            table.append(_row("sweep", kind, n, partial(sweep, *data), argsort, "argsort", n_runs))
            if kind == "plain":
                ours = partial(_with_hull, *data)
                table.append(_row("sweep, thresholds, hull", kind, n, ours, argsort, "argsort", n_runs))
                ours = partial(_with_interval, *data)
                table.append(_row("tune_threshold", kind, n, ours, argsort, "argsort", min(n_runs, 3)))
    return [*table, *(_tuning_row(kind, n_runs) for kind in ("plain", "weighted"))]


def _with_hull(is_pos, score, weight):
    curve = sweep(is_pos, score, weight)
    return curve.thresholds, curve.lower_hull()


def _with_interval(is_pos, score, weight):
    return tune_threshold(is_pos, score, sample_weight=weight).interval


def _tuning_row(kind, n_runs, n=20_000):
    is_pos, score, weight = _samples(n, kind)
    X, y = score[:, np.newaxis], is_pos.astype(int)
    model = _Scores().fit(X, y)
    tuned = TunedThresholdClassifierCV(model, scoring="f1", thresholds=1000, cv="prefit", refit=False)
    return _row(
        "tuning",
        kind,
        n,
        lambda: threshold_curve(y, score, sample_weight=weight).best("f1"),
        lambda: tuned.fit(X, y),
        "TunedThresholdClassifierCV",
        min(n_runs, 3),
    )


def main():
    """Print the table."""
    print_table(
        {
            "what": row["what"],
            "scores": row["scores"],
            "n": f"{row['n']:.0e}",
            "ms": 1e3 * row["seconds"],
            "reference": row["reference"],
            "its ms": 1e3 * row["reference seconds"],
            "time / its time": f"{row['ratio']:.3g}",
            "memory (arrays of n)": f"{row['memory']:.2f}",
        }
        for row in rows()
    )


if __name__ == "__main__":
    main()
