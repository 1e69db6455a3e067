"""Several models in one search: F1 and processor time beside a search of each model by itself.

``python -m tests.benchmarks models`` prints a line for each search: mean F1 (x 100) over families of the imbalanced
sets (one set each, that with the most positives; at least 30 positives, at most 8000 rows), what the search of several
models gains over it, and what searches expect of new data (``corrected_score_``) minus their test value, both with a
95 % interval (Student's t over families), processor seconds of all fits, and those of the several models over the
dearest single one. Outer folds are stratified and shuffled; logistic regression has standardised features. These sets
chose the defaults. ``--out`` keeps what is done, and what it has is not measured again.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from csf import CostSearch
from notebooks.experiments.statistics import paired_difference
from tests.benchmarks.boosting import MOST, family, sets
from tests.benchmarks.tables import print_table

__all__ = ["METHODS", "largest_of_families", "main", "measure", "search_of", "summary"]

SEVERAL = "several"
METHODS = ("logistic", "forest", "lightgbm", SEVERAL)


def models():
    """The models by name."""
    from lightgbm import LGBMClassifier

    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "forest": RandomForestClassifier(random_state=0, n_jobs=1),
        "lightgbm": LGBMClassifier(verbose=-1, n_jobs=1, random_state=0),
    }


def search_of(method):
    """Unfitted search of one model or of all."""
    return CostSearch(models() if method == SEVERAL else models()[method], random_state=0)


def largest_of_families(found):
    """Of each family the set with the most positives, small ones first."""
    best = {}
    for name, X, y in found:
        if y.size < MOST and (family(name) not in best or y.sum() > best[family(name)][2].sum()):
            best[family(name)] = name, X, y
    return sorted(best.values(), key=lambda row: row[2].size)


def measure(method, X, y, train, test):
    """F1, what the search expected, and processor seconds of one outer fold."""
    search, start = search_of(method), time.process_time()
    search.fit(X[train], y[train])
    seconds = time.process_time() - start
    row = {"f1": float(f1_score(y[test], search.predict(X[test]), zero_division=0.0)), "seconds": seconds}
    return row | {"corrected": float(search.corrected_score_), "winner": search.best_params_.get("model", method)}


def summary(cells):
    """Lines of the table, of the folds that all methods have."""
    keys = {method: {(c["set"], c["seed"], c["fold"]) for c in cells if c["method"] == method} for method in METHODS}
    if not set.intersection(*keys.values()):
        return
    common = set.intersection(*keys.values())
    rows = [cell for cell in cells if (cell["set"], cell["seed"], cell["fold"]) in common]
    families = sorted({cell["set"] for cell in rows})

    def means(method, what):
        own = [cell for cell in rows if cell["method"] == method]
        return np.array([np.mean([what(cell) for cell in own if cell["set"] == name]) for name in families])

    f1 = {method: 100 * means(method, lambda cell: cell["f1"]) for method in METHODS}
    spent = {method: sum(cell["seconds"] for cell in rows if cell["method"] == method) for method in METHODS}
    dearest = max(spent[method] for method in METHODS if method != SEVERAL)
    for method in METHODS:
        gain = paired_difference(f1[SEVERAL].tolist(), f1[method].tolist(), method="t")
        expected = 100 * means(method, lambda cell: cell["corrected"])
        excess = paired_difference(expected.tolist(), f1[method].tolist(), method="t")
        yield {
            "models": method,
            "families": len(families),
            "fits": sum(cell["method"] == method for cell in rows),
            "F1": round(float(f1[method].mean()), 2),
            "several - it": "-" if method == SEVERAL else f"{gain.mean:+.2f} [{gain.low:+.2f}, {gain.high:+.2f}]",
            "corrected - test": f"{excess.mean:+.2f} [{excess.low:+.2f}, {excess.high:+.2f}]",
            "seconds": round(spent[method], 1),
            "of the dearest": round(spent[method] / dearest, 2),
        }


def main(arguments=None):
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS, help="searches (all)")
    parser.add_argument("--sets", nargs="*", help="names of sets (one of each family)")
    parser.add_argument("--splits", type=int, default=5, help="outer folds (5)")
    parser.add_argument("--seeds", type=int, default=1, help="how often they are drawn (1)")
    parser.add_argument("--out", type=Path, help="file of figures; what it has is not measured again")
    parser.add_argument("--seconds", type=float, default=np.inf, help="processor time after which nothing is begun")
    options = parser.parse_args(arguments)
    cells = json.loads(options.out.read_text()) if options.out and options.out.exists() else []
    done = {(cell["method"], cell["set"], cell["seed"], cell["fold"]) for cell in cells}
    warnings.simplefilter("ignore")
    start = time.process_time()
    for seed in range(options.seeds):
        for name, X, y in largest_of_families(sets()):
            if options.sets and name not in options.sets:
                continue
            folds = StratifiedKFold(options.splits, shuffle=True, random_state=seed).split(X, y)
            for fold, (train, test) in enumerate(folds):
                for method in options.methods:
                    if (method, name, seed, fold) in done or time.process_time() - start > options.seconds:
                        continue
                    with threadpool_limits(1):
                        cell = measure(method, X, y, train, test)
                    cells.append({"method": method, "set": name, "seed": seed, "fold": fold} | cell)
                    if options.out:
                        options.out.write_text(json.dumps(cells))
    print_table(summary(cells))


if __name__ == "__main__":
    main()
