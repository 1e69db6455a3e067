"""What ``CostSearch(base)`` costs beside what people run now: processor seconds, and F1 on the rows that were left out.

``python -m tests.benchmarks plain_price`` prints one table, a line for each data set and base, and says which ratios
are above what is promised. Three quarters of the rows are trained on (stratified, seed 0), with one thread; dense
features are standardised, counts of words become tf-idf, both before the clock starts. Seconds are medians of
``--runs`` runs, which are made in turns; F1 is times 100.

- ``fit``: the base by itself.
- ``tuned``: scikit-learn's ``TunedThresholdClassifierCV(base, scoring="f1")``: five folds, one threshold.
- ``grid``: the same around a ``GridSearchCV`` over the seven values of C with which the search begins, run once, and
  left out where it takes minutes, and for bases without a C that the search tries.
- ``csf``: ``CostSearch(base)``, with the number of its trials.
- ``two jobs``: how many times faster it is with ``n_jobs=2``, for linear models: seconds on the wall, the median ratio
  of ``--runs`` pairs of runs, which takes two processors that nobody else uses.

Forests, nearest neighbours, calibrated SVMs and L1 penalties are trained from nothing each time: on ``few`` alone
unless sets are named.
On ``large``, 300 000 rows with a tenth of positives and as many to judge on, LightGBM and a forest of large leaves.

The set ``million`` is drawn: 10**6 rows of 30 standard normal features in float32, two overlapping classes; ``few`` is
2000 rows with few positives; ``wide`` and ``wider`` are 13 086 x 216 and 38 938 x 410, a quarter of them numbers of
which some are correlated, the others categories as columns of 0 and 1.
"""

import argparse
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from csf import CostSearch
from csf.search.config import MULTIPLES
from notebooks.experiments.datasets import load_set
from tests.benchmarks.data import data_folder, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["bases", "broken", "load", "main", "measure", "methods", "promised", "two_jobs", "wide"]

SETS = ("bank", "adult", "mammography", "pageblocks", "news20", "million", "few", "wide", "wider", "large")
# Where the grid takes no minutes.
GRIDS = ("bank", "adult", "mammography", "pageblocks")
BOOSTED = ("bank", "mammography", "pageblocks", "large")
# Few positives, where linear models compare leave-one-out scores.
FEW = ("mammography", "pageblocks")
# Bases that no trainer starts from earlier solutions.
DEAR = ("forest", "large forest", "neighbours", "calibrated", "L1 saga", "L1 liblinear")
ON_LARGE = ("LightGBM", "large forest")
# Rows, features and the share of positives.
DRAWN = {"wide": (13_086, 216, 0.06), "wider": (38_938, 410, 0.07)}
# Without what is known only after the call.
FOLDER = {"bank": "imbalanced"}


def bases():
    """Classifiers by name; LightGBM where it is installed."""
    found = {
        "logistic": LogisticRegression(),
        "LinearSVC": LinearSVC(),
        "forest": RandomForestClassifier(random_state=0),
        "large forest": RandomForestClassifier(20, min_samples_leaf=20, random_state=0),
        "neighbours": KNeighborsClassifier(15),
        "calibrated": CalibratedClassifierCV(LinearSVC()),
        "L1 saga": LogisticRegression(l1_ratio=1.0, solver="saga", random_state=0),
        "L1 liblinear": LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    return found | {"LightGBM": LGBMClassifier(verbose=-1, n_jobs=1, random_state=0)}


def load(name):
    """Prepared training and test samples and their targets."""
    if name == "million":
        return _drawn()
    if name == "large":
        X, y = _large()
        return X[: len(X) // 2], X[len(X) // 2 :], y[: len(y) // 2], y[len(y) // 2 :]
    if name == "few" or name in DRAWN:
        X, y = _few() if name == "few" else wide(*DRAWN[name])
        return _prepared(X, y, StandardScaler())
    if name in FOLDER:
        data = load_set(data_folder() / FOLDER[name], name)
        X, y = data.transformer().fit_transform(data.X), np.asarray(data.y).astype(int)
    else:
        X, y = load_binary(name)
    return _prepared(X, y, TfidfTransformer() if name == "news20" else StandardScaler(with_mean=not sparse.issparse(X)))


def _prepared(X, y, prepare):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    return prepare.fit_transform(X_train), prepare.transform(X_test), y_train, y_test


def _drawn(n=1_000_000, d=30):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((n + n // 3, d), dtype=np.float32), rng.standard_normal(d, dtype=np.float32)
    y = (X @ w + 3.0 * rng.standard_normal(len(X)) > 8.0).astype(int)
    return X[:n], X[n:], y[:n], y[n:]


def _few():
    return make_classification(2000, 20, n_informative=6, weights=[0.93], flip_y=0.05, random_state=0)


def _large(n=600_000):
    options = {"n_informative": 8, "n_clusters_per_class": 6, "class_sep": 0.7, "flip_y": 0.02}
    return make_classification(n, 15, weights=[0.9], random_state=0, **options)


def wide(n, d, share):
    """Numbers, some of them correlated, and categories as columns of 0 and 1."""
    n_numbers, rng = d // 4, np.random.default_rng(0)
    kinds = {"n_informative": n_numbers // 4, "n_redundant": n_numbers // 4, "n_clusters_per_class": 4}
    X, y = make_classification(n, n_numbers, **kinds, weights=[1.0 - share], class_sep=0.6, random_state=0)
    blocks, left = [X], d - n_numbers
    while left:
        size = min(left, int(rng.integers(2, 30)))
        noisy = X[:, rng.integers(n_numbers)] + 2.0 * rng.normal(size=n)
        shares = 0.5 * rng.dirichlet(np.full(size, 2.0)) + 0.5 / size
        blocks.append(np.eye(size)[np.searchsorted(np.quantile(noisy, np.cumsum(shares)[:-1]), noisy)])
        left -= size
    return np.hstack(blocks), y


def methods(base, name):
    """What is fitted, by the name of its column."""
    found = {"fit": base, "tuned": TunedThresholdClassifierCV(base, scoring="f1")}
    if type(base) in (LogisticRegression, LinearSVC) and not getattr(base, "l1_ratio", 0) and name in GRIDS:
        grid = GridSearchCV(base, {"C": [base.C * multiple for multiple in MULTIPLES]}, scoring="f1")
        found["grid"] = TunedThresholdClassifierCV(grid, scoring="f1")
    return found | {"csf": CostSearch(base, random_state=0)}


def measure(models, X_train, X_test, y_train, y_test, *, n_runs=3):
    """Processor seconds of all runs and F1 x 100 of each model."""
    seconds = {name: [] for name in models}
    for run in range(n_runs):
        for name, model in models.items():
            if run and name == "grid":
                continue
            start = time.process_time()
            model.fit(X_train, y_train)
            seconds[name].append(time.process_time() - start)
    f1 = {name: 100 * f1_score(y_test, model.predict(X_test)) for name, model in models.items()}
    return seconds, f1


def two_jobs(base, X, y, *, n_runs):
    """How many times faster the search is with two jobs."""
    ratios = []
    for _ in range(n_runs):
        times = [time.perf_counter()]
        for n_jobs in (1, 2):
            CostSearch(base, random_state=0, n_jobs=n_jobs).fit(X, y)
            times.append(time.perf_counter())
        one, two = np.diff(times)
        ratios.append(one / two)
    return round(float(np.median(ratios)), 2)


def promised(name, base):
    """What the search may cost at most, in units of ``tuned``."""
    if name == "large":
        return 0.55
    if name in FEW and base not in DEAR:
        return 0.8 if base == "LightGBM" else 0.35
    if base == "LightGBM":
        return 2.0
    if base == "forest":
        # Trained once: its scores are out-of-bag.
        return 0.25
    if base in DEAR:
        return 1.5
    return {"news20": 3.0, "million": 1.0, "few": 1.5, "wide": 1.5, "wider": 1.5}.get(name, 0.6)


def is_measured(name, label, named):
    """Whether a set has a line for a base; sets that were ``named`` are those of all bases."""
    if name == "large" or label == "large forest":
        return name == "large" and label in ON_LARGE
    return name in BOOSTED if label == "LightGBM" else label not in DEAR or name in (*named, "few")


def rows(names, labels, *, n_runs, named=()):
    """Lines of the table."""
    for name in names:
        data = load(name)
        for label in labels:
            if not is_measured(name, label, named):
                continue
            models = methods(bases()[label], name)
            seconds, f1 = measure(models, *data, n_runs=n_runs)
            cost = {method: float(np.median(values)) for method, values in seconds.items()}
            row = {"data": f"{name}, {data[0].shape[0]} × {data[0].shape[1]}", "base": label}
            for method in ("fit", "tuned", "grid", "csf"):
                row[method] = f"{cost[method]:.2f} s, {f1[method]:.1f}" if method in models else "-"
            yield row | {
                "trials": models["csf"].n_trials_,
                "csf / tuned": round(cost["csf"] / cost["tuned"], 2),
                "at most": promised(name, label),
                "two jobs": "-"
                if label in ("LightGBM", *DEAR)
                else two_jobs(bases()[label], *data[::2], n_runs=n_runs),
            }


def broken(found):
    """Lines that cost more than promised."""
    return [row for row in found if row["csf / tuned"] > row["at most"]]


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks plain_price",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS, help="data sets (all)")
    parser.add_argument("--bases", nargs="*", default=list(bases()), choices=list(bases()), help="classifiers (all)")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the median counts (3)")
    options = parser.parse_args(arguments)
    found = []

    def kept(lines):
        for row in lines:
            found.append(row)
            yield row

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Compiles.
        for base in bases().values():
            CostSearch(base).fit(np.arange(40.0)[:, None] % 7, np.arange(40) % 2)
        print_table(
            kept(
                rows(
                    options.sets, options.bases, n_runs=options.runs, named=() if options.sets is SETS else options.sets
                )
            )
        )
    for row in broken(found):
        print(f"{row['data']}, {row['base']}: {row['csf / tuned']} times tuned, at most {row['at most']} is promised")
    print(f"{len(found) - len(broken(found))} of {len(found)} lines cost at most what is promised")


if __name__ == "__main__":
    main()
