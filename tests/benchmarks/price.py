"""What a whole search costs, in units of one cold fit of its base: ten cone trials, five folds, the last training.

``python -m tests.benchmarks price`` prints one table. Search and fit run in turns, in processor time with one thread;
the median of the ratios is reported, with the number of pairs where the time for all was not given (``--seconds``).

- ``cold ms``: one ``fit`` of the base on all samples.
- ``search / cold``: ``CostSearch(base).fit``, 51 trainings and all that is between them.
- ``gap``: largest duality gap of the 50 trainings on folds, certified, as a share of the objective.
- ``off`` and ``base off``: how far a training of the search and the base's own fit end above a tight lower bound of
  the objective on all samples with equal costs, as a share.

The drawn sets are two overlapping classes, a tenth of the samples positive: ``dense`` standard normal float32, 10**6 x
30; ``sparse`` 10**5 x 50 000 with 60 values in rows of length 1, whose columns are equally frequent. On these the
logistic fit of scikit-learn ends far from its optimum, after five steps, and is a small unit.
"""

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from csf.data.costs import CostChannel
from csf.data.folds import Fold, Task
from csf.solvers import Rows
from csf.trainers import make_trainers
from tests.benchmarks.bases import LINEAR, paper_search
from tests.benchmarks.data import drawn_rows
from tests.benchmarks.engine import bound_near, objective_of, paired, problems, ratio
from tests.benchmarks.tables import print_table

__all__ = ["main", "rows", "sets"]

SETS = ("adult", "mammography", "news20", "dense", "sparse")
# Cold fits that take minutes.
LEFT_OUT = {("dense", "hinge")}


def sets(names=SETS, *, shrink=1):
    """Data sets of the table."""
    for name in names:
        if name in ("dense", "sparse"):
            yield name, *_drawn(name, shrink)
        else:
            yield from problems((name,))


def _drawn(name, shrink):
    rng = np.random.default_rng(0)
    if name == "dense":
        n, d = 1_000_000 // shrink, 30
        X, dtype = rng.standard_normal((n, d), dtype=np.float32), np.float32
    else:
        n, d, stored, dtype = 100_000 // shrink, 50_000 // shrink, 60, np.float64
        X = normalize(drawn_rows(rng, n, d, stored))
    score = X @ rng.standard_normal(d).astype(dtype)
    score += score.std() * rng.standard_normal(n, dtype=dtype)
    return X, (score > np.quantile(score, 0.9)).astype(int)


def rows(given, bases=tuple(LINEAR), *, n_runs=5, budget=60.0):
    """Lines of the table."""
    for name, X, y in given:
        for label in bases:
            if (name, label) in LEFT_OUT:
                continue
            base, cold = LINEAR[label], clone(LINEAR[label])
            search = paper_search(base, n_trials=10, cv=5)
            few = np.random.default_rng(0).permutation(y.size)[:2000]
            search.fit(X[few], y[few])  # compiles
            times = paired(lambda: search.fit(X, y), lambda: cold.fit(X, y), n_runs=n_runs, budget=budget)  # noqa: B023
            yield {
                "data": name,
                "base": label,
                "cold ms": f"{1e3 * np.median(times[:, 1]):.3g}",
                "search / cold": ratio(times, n_runs),
                "gap": f"{max(trial.duality_gap for trial in search.trials_):.0e}",
                **_distances(label, X, y, cold),
            }


def _distances(label, X, y, cold):
    """How far a training of the search and the base's own fit are above a tight bound."""
    everything, channel = np.arange(y.size), CostChannel("sample_weight", "sample_weight")
    (trainer,) = make_trainers(LINEAR[label], [Fold(Task(X, y), everything, everything)], channel)
    training = trainer.fit((1.0, 1.0))
    parts = Rows(X), np.where(y == 1, 1.0, -1.0), np.ones(y.size)
    found = training.model.objective
    bound = max(bound_near(label, *parts, training.model), found * (1.0 - training.gap))
    theirs = objective_of(label, *parts, np.append(cold.coef_, cold.intercept_).astype(np.float64))
    return {"off": f"{found / bound - 1.0:.0e}", "base off": f"{theirs / bound - 1.0:.0e}"}


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks price", description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=",".join(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--base", default=",".join(LINEAR), help=f"of {', '.join(LINEAR)}")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs, of which the median is reported")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each line")
    options = parser.parse_args(arguments)
    given = sets(options.data.split(","))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print_table(rows(given, options.base.split(","), n_runs=options.runs, budget=options.seconds))


if __name__ == "__main__":
    main()
