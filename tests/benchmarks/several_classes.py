"""Several classes: macro-F1 of the plain call beside argmax and beside exact ascent on the offsets of log p.

The rival tunes with the same folds and the same C: out-of-fold probabilities of each setting, exact coordinate ascent
on the offsets of their logarithms, the setting with the best out-of-fold value. Sets of ``data/multiclass`` and the
ones with several classes beside it, classes with fewer than ten rows left out, at most 4000 rows; ``letter-longtail``
is a subsample in which class after class keeps a smaller share. Five outer folds, twice. These sets chose the defaults.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf._common.files import read_arrays
from csf.search.config import CLASS_MULTIPLES, FAST, SLOW, class_splits
from tests.benchmarks.data import data_folder
from tests.benchmarks.tables import print_table

BESIDE = ("pageblocks", "wine", "abalone", "letter")
MOST, FEWEST = 4000, 10


def bases():
    """Classifiers by name: makers of one, and the prefix of its C."""
    found = {"logistic": (lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), True)}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    options = {"n_estimators": 100, "num_leaves": 7, "verbose": -1, "n_jobs": 1}
    return found | {"lightgbm": (lambda: LGBMClassifier(**options), False)}


def load(path, rng):
    """Samples and codes of a set, of at most so many rows."""
    X, arrays = read_arrays(path)
    classes, counts = np.unique(arrays["y"], return_counts=True)
    kept = np.isin(arrays["y"], classes[counts >= FEWEST])
    X, y = np.asarray(X[kept], dtype=float), np.unique(arrays["y"][kept], return_inverse=True)[1]
    at = rng.permutation(y.size)
    return X[at], y[at]


def longtail(X, y):
    """A subsample in which each class keeps a smaller share than the one before it."""
    n_classes = y.max() + 1
    most = np.bincount(y).min()
    wanted = np.geomspace(most, 25, n_classes).astype(int)
    at = np.concatenate([np.flatnonzero(y == k)[:n] for k, n in enumerate(wanted)])
    return X[at], y[at]


def sets(names=None):
    """Name, samples and codes of all sets."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("no data sets: set the environment variable CSF_DATA to their folder")
    paths = [*sorted((folder / "multiclass").glob("*.npz")), *(folder / f"{name}.npz" for name in BESIDE)]
    for path in paths:
        X, y = load(path, np.random.default_rng(0))
        if path.stem == "letter" and (not names or "letter-longtail" in names):
            yield "letter-longtail", *longtail(X, y)
        if not names or path.stem in names:
            yield path.stem, X[:MOST], y[:MOST]


def best_offset(scores, truth, code):
    """Offset of the score of one class with the largest macro F1, by an exact sweep."""
    n_classes = scores.shape[1]
    others = np.where(np.arange(n_classes) == code, -np.inf, scores)
    margins, before = others.max(axis=1) - scores[:, code], others.argmax(axis=1)
    order = np.argsort(margins, kind="stable")
    # What each entry that goes over changes: decisions for each class, and the right ones among them.
    moves = np.zeros((2, truth.size + 1, n_classes))
    moves[0, 0], moves[1, 0] = (np.bincount(each, minlength=n_classes) for each in (before, before[before == truth]))
    each, true, left = np.arange(1, truth.size + 1), truth[order], before[order]
    np.add.at(moves[0], (each, left), -1)
    moves[0, 1:, code] += 1
    np.add.at(moves[1], (each, left), -(left == true).astype(float))
    moves[1, 1:, code] += true == code
    predicted, right = moves.cumsum(axis=1)
    values = (2 * right / np.maximum(predicted + np.bincount(truth, minlength=n_classes), 1)).mean(axis=1)
    ordered = margins[order]
    values[1:-1][ordered[1:] == ordered[:-1]] = -np.inf
    at = int(values.argmax())
    ends = np.concatenate([[ordered[0] - 1], ordered, [ordered[-1] + 1]])
    return (ends[at] + ends[at + 1]) / 2


def ascend(scores, truth):
    """Offsets of all classes by exact sweeps of one after the other, until a round gains nothing in macro F1."""

    def value(offsets):
        return f1_score(truth, (scores + offsets).argmax(axis=1), average="macro")

    offsets = np.zeros(scores.shape[1])
    best, before = value(offsets), -1.0
    while best > before:
        before = best
        for code in range(offsets.size):
            trial = offsets.copy()
            trial[code] = 0.0
            trial[code] = best_offset(scores + trial, truth, code)
            if (found := value(trial)) > best:
                offsets, best = trial, found
    return offsets


def rival(make, is_linear, X, y):
    """Predictor of the exact ascent at the C whose out-of-fold value is best."""
    best = None
    splits = class_splits(y, FAST if is_linear else SLOW, random_state=None)
    for C in CLASS_MULTIPLES if is_linear else (None,):
        base = make()
        if C is not None:
            base.set_params(logisticregression__C=C)
        proba, truth = [], []
        for train, test in splits:
            model = clone(base).fit(X[train], y[train])
            part = np.zeros((test.size, y.max() + 1))
            part[:, model.classes_] = model.predict_proba(X[test])
            proba.append(part)
            truth.append(y[test])
        logs, truth = np.log(np.maximum(np.concatenate(proba), 1e-12)), np.concatenate(truth)
        offsets = ascend(logs, truth)
        value = f1_score(truth, (logs + offsets).argmax(axis=1), average="macro")
        if best is None or value > best[0]:
            best = value, base, offsets
    value, base, offsets = best
    model = clone(base).fit(X, y)

    def predict(X):
        logs = np.log(np.maximum(model.predict_proba(X), 1e-12))
        return model.classes_[(logs + offsets[model.classes_]).argmax(axis=1)]

    return predict, value


def measure(name, base, make, is_linear, X, y, seed, fold, train, test):
    """One row of figures."""
    row = {"set": name, "base": base, "seed": seed, "fold": fold, "rarest": int(np.bincount(y).min())}
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    f1 = lambda predicted: 100 * f1_score(y_test, predicted, average="macro")  # noqa: E731
    row["argmax"] = f1(make().fit(X_train, y_train).predict(X_test))
    start = time.process_time()
    search = CostSearch(make(), "f1_macro", random_state=0).fit(X_train, y_train)
    row["seconds"] = time.process_time() - start
    predicted = search.predict(X_test)
    row["csf"], row["corrected"] = f1(predicted), 100 * search.corrected_score_
    row["low"], row["high"] = (100 * end for end in search.score_interval_)
    row["best"], row["kind"], row["t"] = (
        100 * search.best_score_,
        search.rule_.kind,
        search.trials_[search.best_index_].t,
    )
    # The test part has a noise of its own, which the interval does not speak of.
    rng, values = np.random.default_rng(0), []
    for _ in range(200):
        at = rng.integers(y_test.size, size=y_test.size)
        values.append(f1_score(y_test[at], predicted[at], average="macro", labels=np.unique(y)))
    row["test_error"] = 100 * float(np.std(values))
    predict, _ = rival(make, is_linear, X_train, y_train)
    row["rival"] = f1(predict(X_test))
    return row


def report(rows):
    """Tables: sets by base, then the means."""
    for base in dict.fromkeys(row["base"] for row in rows):
        names = list(dict.fromkeys(row["set"] for row in rows if row["base"] == base))
        table = [_of_set(name, [row for row in rows if (row["base"], row["set"]) == (base, name)]) for name in names]
        print(f"\n{base}\n")
        print_table(table)
        for column in ("gain", "argmax C", "to rival", "claim"):
            if column in table[0]:
                values = np.array([line[column] for line in table])
                error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
                print(f"{column}: {values.mean():+.2f} ± {error:.2f}, worst {values.min():+.2f}")
        covered = [line["covered"] for line in table]
        print(f"covered: {np.mean(covered):.2f}")


def _of_set(name, rows):
    mean = {
        key: float(np.mean([row[key] for row in rows])) for key in ("argmax", "csf", "rival", "corrected", "seconds")
    }
    wide = [(1.645 * row["test_error"]) for row in rows]
    covered = []
    for row, noise in zip(rows, wide):
        half = np.hypot((row["high"] - row["low"]) / 2, noise)
        covered.append(abs(row["csf"] - (row["high"] + row["low"]) / 2) <= half)
    return {
        "set": name,
        "rarest": rows[0]["rarest"],
        "argmax": round(mean["argmax"], 1),
        "csf": round(mean["csf"], 1),
        "rival": round(mean["rival"], 1),
        "gain": round(mean["csf"] - mean["argmax"], 2),
        "to rival": round(mean["csf"] - mean["rival"], 2),
        "claim": round(mean["corrected"] - mean["csf"], 2),
        "covered": round(float(np.mean(covered)), 2),
        "seconds": round(mean["seconds"], 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--bases", nargs="*", default=list(bases()), help="logistic, lightgbm")
    parser.add_argument("--repeats", type=int, default=2, help="how often five outer folds are drawn")
    parser.add_argument(
        "--out", type=Path, help="file of figures, which is added to: what it has is not measured again"
    )
    options = parser.parse_args()
    rows = json.loads(options.out.read_text()) if options.out and options.out.exists() else []
    done = {(row["set"], row["base"], row["seed"], row["fold"]) for row in rows}
    warnings.filterwarnings("ignore")
    for base in options.bases:
        make, is_linear = bases()[base]
        for name, X, y in sets(options.sets):
            for seed in range(options.repeats):
                folds = StratifiedKFold(5, shuffle=True, random_state=seed)
                for fold, (train, test) in enumerate(folds.split(X, y)):
                    if (name, base, seed, fold) not in done:
                        rows.append(measure(name, base, make, is_linear, X, y, seed, fold, train, test))
                        if options.out:
                            options.out.write_text(json.dumps(rows))
    report(rows)


if __name__ == "__main__":
    main()
