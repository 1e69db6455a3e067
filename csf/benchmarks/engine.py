"""The price of a search over a linear model, in units of one fit by scikit-learn.

``python -m csf.benchmarks`` prints three tables: searches of 19 cone trials without cross-validation beside one and
beside 19 cold fits; searches with five folds beside ``GridSearchCV``; the price of 13 C x 19 levels. Ratios are
medians of paired runs. "gap" is the largest relative duality gap of the trials. Beside it stands how far
the objective of scikit-learn's own fit is above the best one known, which is what its gap is at least.
"""

import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from csf import CostSearch
from csf.benchmarks.data import data_folder, load_binary
from csf.linear import Hinge, HingeDescent, Logistic, Rows, SquaredHinge

__all__ = ["BASES", "data_sets", "grid_rows", "penalty_rows", "search_rows"]

BASES = {
    "squared hinge": LinearSVC(),
    "hinge": LinearSVC(loss="hinge"),
    "logistic": LogisticRegression(),
}


def data_sets():
    """Names, samples and targets of the benchmark.

    Yields
    ------
    tuple
        ``(name, X, y)``; sets of the data folder are left out where it is missing.
    """
    if data_folder() is not None:
        with np.load(data_folder() / "news20.npz", allow_pickle=False) as file:
            parts = (file["X_data"].astype(float), file["X_indices"], file["X_indptr"])
            X, y = sparse.csr_matrix(parts, shape=tuple(file["X_shape"])), (file["y"] == 1).astype(int)
        yield "News20, counts", X, y
        yield "News20, rows of length 1", normalize(X), y
        X, y = load_binary("adult")
        yield "Adult", sparse.csr_matrix(X), y
        yield "Mammography", *load_binary("mammography")
    X, y = make_classification(20_000, 50, n_informative=20, weights=[0.9], flip_y=0.05, random_state=0)
    yield "dense 20 000 x 50", X, y


def _timed(call):
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def _excess(name, model, X, y):
    """Distance of a fitted model's objective from the best known one, as a share of it."""
    sign, weight = np.where(y == 1, 1.0, -1.0), np.ones(y.size)
    rows = Rows(X)
    if name == "squared hinge":
        best = SquaredHinge(rows, sign).solve(weight, tol=1e-6).objective
    elif name == "hinge":
        solver = Hinge if rows.n_coefficients <= 512 else HingeDescent
        best = solver(rows, sign).solve(weight, tol=0.0, rtol=1e-6).objective
    else:
        best = Logistic(rows, sign).solve(weight, tol=1e-6).objective
    w = np.append(model.coef_.ravel(), model.intercept_)
    margins, penalised = sign * rows.scores(w), w[:-1] if name == "logistic" else w
    losses = {
        "squared hinge": np.maximum(1.0 - margins, 0.0) ** 2,
        "hinge": np.maximum(1.0 - margins, 0.0),
        "logistic": np.logaddexp(0.0, -margins),
    }
    return (0.5 * penalised @ penalised + losses[name].sum()) / best - 1.0


def search_rows(*, n_runs=5, sets=None):
    """Searches of 19 cone trials on all samples, without cross-validation, beside cold fits of the base.

    Parameters
    ----------
    n_runs : int, default=5
        Paired runs.
    sets : iterable of tuple, default=None
        As `data_sets`, the default, gives them.

    Yields
    ------
    dict
        One row for each data set and base.
    """
    for name, X, y in data_sets() if sets is None else sets:
        everything = np.arange(y.size)
        for label, base in BASES.items():
            search = CostSearch(base, n_trials=19, cv=[(everything, everything)], refit=False).fit(X, y)
            weights = [np.where(y == 1, *trial.costs) for trial in search.trials_]
            ratios = []
            for _ in range(n_runs):
                _, cold = _timed(lambda base=base, X=X, y=y: base.fit(X, y))
                ratios.append(_timed(lambda search=search, X=X, y=y: search.fit(X, y))[1] / cold)
            all_cold = sum(_timed(lambda w=w, base=base, X=X, y=y: base.fit(X, y, sample_weight=w))[1] for w in weights)
            again = _timed(lambda search=search, X=X, y=y: search.fit(X, y))[1]
            yield {
                "data": name,
                "base": label,
                "search / 1 fit": float(np.median(ratios)),
                "search / 19 fits": again / all_cold,
                "gap": float(search.cv_results_["duality_gap"].max()),
                "excess of scikit-learn": float(_excess(label, base.fit(X, y), X, y)),
            }


def grid_rows(*, sets=None, n_runs=3):
    """Searches with five folds beside ``GridSearchCV`` over the same 19 class weights.

    Parameters
    ----------
    sets : iterable of tuple, default=None
        As `data_sets`, the default, gives them.
    n_runs : int, default=3
        Runs of the search; the median counts.

    Yields
    ------
    dict
        One row for each data set.
    """
    for name, X, y in data_sets() if sets is None else sets:
        search = CostSearch(LinearSVC(), n_trials=19)
        seconds = float(np.median([_timed(lambda s=search, X=X, y=y: s.fit(X, y))[1] for _ in range(n_runs)]))
        weights = [{0: trial.c_fp, 1: trial.c_fn} for trial in search.trials_]
        grid = GridSearchCV(LinearSVC(), {"class_weight": weights}, scoring="f1", cv=5)
        slow = _timed(lambda grid=grid, X=X, y=y: grid.fit(X, y))[1]
        yield {
            "data": name,
            "grid / search": slow / seconds,
            "pooled F1": search.best_score_,
            "pooled F1, no threshold": max(trial.value for trial in search.trials_),
            "pooled F1, grid": f1_score(y, cross_val_predict(grid.best_estimator_, X, y, cv=5)),
        }


def penalty_rows(*, sets=None):
    """The price of 13 penalties with 19 levels each, on one hold-out part, in units of one cold fit.

    Parameters
    ----------
    sets : iterable of tuple, default=None
        As `data_sets`, the default, gives them.

    Yields
    ------
    dict
        One row for each data set.
    """
    grid = {"C": [2.0**k for k in range(-6, 7)]}
    for name, X, y in data_sets() if sets is None else sets:
        search = CostSearch(LinearSVC(), strategy="grid", n_trials=19, param_grid=grid, cv=0.3, random_state=0)
        cold = float(np.median([_timed(lambda X=X, y=y: LinearSVC().fit(X, y))[1] for _ in range(3)]))
        yield {
            "data": name,
            "13 x 19 models / 1 fit": _timed(lambda s=search, X=X, y=y: s.fit(X, y))[1] / cold,
            "gap": float(search.cv_results_["duality_gap"].max()),
        }


def _print(rows):
    rows = iter(rows)
    for number, row in enumerate(rows):
        if not number:
            print(f"\n| {' | '.join(row)} |\n|{'---|' * len(row)}")
        cells = (value if isinstance(value, str) else f"{value:.3g}" for value in row.values())
        print(f"| {' | '.join(cells)} |", flush=True)


def main():
    """Print the tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for rows in (search_rows(), grid_rows(), penalty_rows()):
            _print(rows)


if __name__ == "__main__":
    main()
