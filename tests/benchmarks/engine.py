"""Searches with linear models against single trainings of scikit-learn: time, certificates, memory.

``python -m tests.benchmarks`` prints one table with a line for each data set and base, and a small one for memory (what
both grow with is the topic ``scale``). Times are processor times with one thread, so that other load on the machine
counts little; what is compared runs in turns, and medians of the ratios of these pairs are reported, with the number of
pairs where the time for five was not given (``--seconds``); "-" stands where it would not do for one.

- ``cold ms``: one ``fit`` of the base on all samples.
- ``19 trials``: a search with the cone strategy on all samples without cross-validation and without the last
  training, divided by ``cold``; ``of 19 cold``: divided by 19 fits with the same class weights.
- ``13 C x 19``: the same search for 13 values of C from 1/64 to 64 at once, divided by ``cold``.
- ``5 folds``: a search with 19 trials and 5 folds, divided by ``GridSearchCV`` over the same 19 class weights and
  folds with the same metric; ``F1``, ``own cut`` and ``F1 grid`` are those of the pooled held-out predictions: of
  the search, of its best model without the tuned threshold, and of the best one of the grid.
- ``gap`` and ``base's gap``: largest duality gap of the 19 trainings, as a share of the objective; that of LinearSVC
  is half the squared gradient at its coefficients, as only the squared hinge loss allows.
- ``off`` and ``base off``: largest distance of the 19 objectives from a bound of a much tighter solution, as a share.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from csf.data.costs import CostChannel
from csf.data.folds import Fold, Task
from csf.solvers import Hinge, HingeDescent, Logistic, Rows, SquaredHinge
from csf.solvers.base import DIRECT
from csf.trainers import make_trainers
from csf.trainers.base import WarmStarts
from tests.benchmarks.bases import LINEAR, paper_search
from tests.benchmarks.data import data_folder, load_binary
from tests.benchmarks.memory import memory_rows
from tests.benchmarks.tables import print_table

__all__ = ["bound_near", "main", "objective_of", "paired", "problems", "ratio", "rows"]

SETS = ("news20", "news20 l2", "adult", "dense", "mammography")
PARTS = ("main", "memory")
N_TRIALS = 19
GRID = tuple(2.0**k for k in range(-6, 7))


def problems(names=SETS, *, shrink=1):
    """Data sets of the table."""
    # News20 as word counts or divided by the lengths of its rows, class 1 against the rest. Sets whose files
    # are missing are left out with a note.
    for name in names:
        if name == "dense":
            options = {"n_informative": 20, "weights": [0.9], "flip_y": 0.05, "random_state": 0}
            yield name, *make_classification(20_000 // shrink, 50, **options)
            continue
        try:
            X, y = load_binary(name.split()[0])
        except FileNotFoundError:
            print(f"{name}: left out, no data in {data_folder()} (environment variable CSF_DATA)")
            continue
        yield name, normalize(X) if name.endswith("l2") else X, y


def seconds_of(work):
    """Processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def paired(*works, n_runs=5, budget=np.inf, expected=0.0):
    """Processor times of functions that run in turns."""
    # Each is called once before; no turn begins after ``budget`` seconds, nor where one takes more than twice as many.
    times, spent = [], budget if expected > 2.0 * budget else 0.0
    while len(times) < n_runs and spent < budget:
        times.append([seconds_of(work) for work in works])
        spent += sum(times[-1])
    return np.array(times)


def ratio(times, n_runs=5, digits=".2f"):
    """Median of the ratios of the first column to the second, with the number of pairs where it is another one."""
    if not len(times):
        return "-"
    text = format(float(np.median(times[:, 0] / times[:, 1])), digits)
    return text if len(times) >= n_runs else f"{text} ({len(times)})"


def rows(sets, bases=tuple(LINEAR), *, n_trials=N_TRIALS, n_runs=5, budget=30.0, grid=GRID):
    """Lines of the main table."""
    for name, X, y in sets:
        for label in bases:
            base, everything = LINEAR[label], np.arange(y.size)
            options = {"n_trials": n_trials, "cv": [(everything, everything)], "refit": False}
            search, cold = paper_search(base, **options), clone(base)
            costs = [trial.costs for trial in search.fit(X, y).trials_]
            many = [clone(base).set_params(class_weight={0: c_fp, 1: c_fn}) for c_fn, c_fp in costs]
            cold.fit(X, y)
            times = paired(lambda: search.fit(X, y), lambda: cold.fit(X, y), n_runs=n_runs)  # noqa: B023
            once = float(np.median(times[:, 1]))
            limits = {"n_runs": n_runs, "budget": budget}
            repeated = paired(
                lambda: search.fit(X, y),  # noqa: B023
                lambda: [model.fit(X, y) for model in many],  # noqa: B023
                expected=n_trials * once,
                **limits,
            )
            wide = paper_search(base, param_grid={"C": grid}, **options)
            expected = len(grid) * float(np.median(times[:, 0]))
            wide = paired(lambda: wide.fit(X, y), lambda: cold.fit(X, y), expected=expected, **limits)  # noqa: B023
            yield {
                "data": name,
                "base": label,
                "cold ms": f"{1e3 * np.median(times[:, 1]):.3g}",
                f"{n_trials} trials": ratio(times, n_runs),
                f"of {n_trials} cold": ratio(repeated, n_runs),
                f"{len(grid)} C x {n_trials}": ratio(wide, n_runs, ".1f"),
                **_cross_validation(base, X, y, costs, once, limits),
                **_accuracy(label, base, X, y, costs),
            }


def _cross_validation(base, X, y, costs, once, limits):
    """A search with five folds and GridSearchCV over the same class weights: time and pooled F1."""
    folds = list(StratifiedKFold(5).split(X, y))
    search = paper_search(base, n_trials=len(costs), cv=folds).fit(X, y)
    ours = {"F1": f"{search.best_score_:.4f}", "own cut": f"{max(t.value for t in search.trials_):.4f}"}
    expected = (4 * len(costs) + 1) * once
    weights = [{0: c_fp, 1: c_fn} for c_fn, c_fp in costs]
    rival = GridSearchCV(base, {"class_weight": weights}, cv=folds, scoring="f1")
    times = paired(lambda: search.fit(X, y), lambda: rival.fit(X, y), expected=expected, **limits)
    if not len(times):
        return {"5 folds": "-", **ours, "F1 grid": "-"}
    pooled = f1_score(y, cross_val_predict(clone(base).set_params(**rival.best_params_), X, y, cv=folds))
    return {"5 folds": ratio(times, limits["n_runs"]), **ours, "F1 grid": f"{pooled:.4f}"}


def _accuracy(label, base, X, y, costs):
    """Largest gaps and distances from tight bounds of our trainings and of the base's own."""
    everything = np.arange(y.size)
    data = Task(X, y)
    channel = CostChannel("sample_weight", "sample_weight")
    (trainer,) = make_trainers(base, [Fold(data, everything, everything)], channel)
    sign, view = np.where(y == 1, 1.0, -1.0), Rows(X)
    worst, starts = dict.fromkeys(("gap", "base's gap", "off", "base off"), 0.0), WarmStarts()
    for pair in costs:
        training = trainer.fit(pair, starts.nearest("", trainer.position(pair)))
        starts.add("", trainer.position(pair), training.state)
        weight, own = np.where(y == 1, *pair), clone(base).fit(X, y, sample_weight=np.where(y == 1, *pair))
        theirs = np.append(own.coef_, own.intercept_)
        bound = max(
            bound_near(label, view, sign, weight, training.model), training.model.objective * (1 - training.gap)
        )
        gaps = {"gap": training.gap, "off": training.model.objective / bound - 1.0}
        gaps["base off"] = objective_of(label, view, sign, weight, theirs) / bound - 1.0
        gaps["base's gap"] = _gradient_gap(view, sign, weight, theirs) if label == "squared hinge" else np.nan
        worst = {key: max(worst[key], value) if value == value else value for key, value in gaps.items()}
    return {key: "-" if value != value else f"{value:.0e}" for key, value in worst.items()}


def bound_near(label, view, sign, weight, near):
    """Lower bound of the objective from a solution that is solved on from a near one."""
    if label == "logistic":
        found = Logistic(view, sign).solve(weight, tol=1e-10, starts=[near])
    elif label == "squared hinge":
        found = SquaredHinge(view, sign).solve(weight, tol=1e-7, starts=[near], max_iter=20_000)
    elif view.n_coefficients <= DIRECT:
        found = Hinge(view, sign).solve(weight, tol=1e-8, starts=[near])
    else:
        found = HingeDescent(view, sign).solve(weight, tol=1e-6, starts=[near], max_iter=5000)
    return found.objective - found.gap


def objective_of(label, view, sign, weight, w):
    """Objective of coefficients."""
    margins = sign * view.scores(w)
    if label == "logistic":
        return 0.5 * w[:-1] @ w[:-1] + weight @ np.logaddexp(0.0, -margins)
    return 0.5 * w @ w + weight @ np.maximum(1.0 - margins, 0.0) ** (2 if label == "squared hinge" else 1)


def _gradient_gap(view, sign, weight, w):
    """Half the squared gradient of the squared hinge objective, as a share of it."""
    slack = np.maximum(1.0 - sign * view.scores(w), 0.0)
    slope = w - view.combine(2.0 * weight * slack * sign)
    return 0.5 * slope @ slope / (0.5 * w @ w + weight @ slack**2)


def main(arguments=None):
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks engine", description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--data", default=",".join(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--base", default=",".join(LINEAR), help=f"of {', '.join(LINEAR)}")
    parser.add_argument("--runs", type=int, default=5, help="pairs of runs, of which the median is reported")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each comparison of many trainings")
    parser.add_argument("--quick", action="store_true", help="few runs, small data: a look at whether it works")
    options = parser.parse_args(arguments)
    parts, names, bases = (given.split(",") for given in (options.parts, options.data, options.base))
    n_runs, budget, shrink = (1, 1.0, 10) if options.quick else (options.runs, options.seconds, 1)
    if options.quick:
        names = [name for name in names if name in ("dense", "mammography")]
    tables = {
        "main": lambda: rows(problems(names, shrink=shrink), bases, n_runs=n_runs, budget=budget),
        "memory": lambda: memory_rows(megabytes=200 / shrink),
    }
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            print_table(tables[part]())


if __name__ == "__main__":
    main()
