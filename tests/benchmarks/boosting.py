"""Boosting: the plain call beside one exact threshold, and what one LightGBM Dataset for each fold saves.

``python -m tests.benchmarks boosting`` prints how much F1 (x 100) the plain call, which reads numbers of rounds off its
trainings, and the mean of the models of all folds gain over the base as it is with one exact pooled threshold of the
same folds; and processor time over that of scikit-learn's `TunedThresholdClassifierCV`. Means over families of sets
with 95 % intervals, outer stratified folds. These sets chose the defaults. ``--methods`` measures others beside the
plain call: ``costs`` is that with three ratios of costs on top. ``--out`` keeps what is done.

``python -m tests.benchmarks boosting --dataset`` prints processor time of searches with both engines, run one after the
other in the same process; "same" says whether all held-out values and the scores of the final model agree to the last
bit.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from csf import CostSearch
from csf._common.files import read_arrays
from csf.data.responses import respond
from csf.strategies import Ladder
from notebooks.experiments.statistics import paired_difference
from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import BINARY_SETS, data_folder, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["family", "gains", "rows"]

# Sets with fewer positives say nothing, and of larger ones a part is enough.
FEWEST, MOST = 30, 8000
ONE_FAMILY = {"cm": "software", "pc": "software"}
LEFT_OUT = ("iris0",)
# The rival is read off the plain call, whose first trial is the base as it is.
RIVAL, PLAIN = "exact", "plain"
METHODS = ("tuned", PLAIN, "folds", "costs")


def bases():
    """Bases by name; those of packages that are not installed are left out."""
    found = {"forest": RandomForestClassifier(random_state=0), "histograms": HistGradientBoostingClassifier()}
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    found = {"lightgbm": LGBMClassifier(n_jobs=1, verbose=-1)} | found
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return found
    return found | {"xgboost": XGBClassifier(n_jobs=1)}


def family(name):
    """First part of the name of a set, by which those of the same origin are grouped."""
    letters = "".join(letter for letter in name.partition("-")[0] if not letter.isdigit())
    return ONE_FAMILY.get(letters, letters)


def sets():
    """Name, samples and targets of the imbalanced sets, small ones first."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("no data sets: set the environment variable CSF_DATA to their folder")
    found = []
    for path in sorted((folder / "imbalanced").glob("*.npz")):
        X, arrays = read_arrays(path)
        y = np.isin(arrays["y"], arrays["positive"]).astype(int)
        at = np.random.default_rng(0).permutation(y.size)[:MOST]
        if path.stem not in LEFT_OUT and y[at].sum() >= FEWEST:
            found.append((path.stem, np.asarray(X[at], dtype=float), y[at]))
    return sorted(found, key=lambda row: row[2].size)


def methods(base):
    """What is compared: classifiers by name."""
    return {
        "tuned": TunedThresholdClassifierCV(base, scoring="f1"),
        PLAIN: CostSearch(base),
        "folds": CostSearch(base, refit="folds"),
        "costs": CostSearch(base, strategy=Ladder(3)),
    }


def measured(base, X, y, *, names, n_splits, seed):
    """Mean F1 and seconds of each of these methods on outer folds."""
    told = {}
    for train, test in StratifiedKFold(n_splits, shuffle=True, random_state=seed).split(X, y):
        for name in names:
            start = time.process_time()
            model = clone(methods(base)[name]).fit(X[train], y[train])
            seconds = time.process_time() - start
            answers = {name: model.predict(X[test])}
            if name == PLAIN:
                answers[RIVAL] = rival(base, model, X[train], y[train])(X[test])
            for which, answer in answers.items():
                told.setdefault(which, []).append((f1_score(y[test], answer, zero_division=0), seconds))
    return {name: np.mean(values, axis=0).tolist() for name, values in told.items()}


def rival(base, search, X, y):
    """What the base as it is answers at the best threshold of the held-out scores of a search."""
    model = clone(base).fit(X, y) if search.best_index_ else search.best_estimator_
    return lambda samples: respond(model, samples, 0, tune=True).score >= search.trials_[0].threshold


def gains(results):
    """Rows of the table from the results of runs, by ``base/set/seed``."""
    for base in dict.fromkeys(key.split("/")[0] for key in results):
        runs = {key: value for key, value in results.items() if key.startswith(f"{base}/")}
        for method in METHODS:
            has = {key: told for key, told in runs.items() if method in told}
            if has:
                yield {"base": base, "method": method} | _row(has, method)


def _row(runs, method):
    of_set, of_family = {}, {}
    for key, told in runs.items():
        of_set.setdefault(key.split("/")[1], []).append(100 * (told[method][0] - told[RIVAL][0]))
    for name, values in of_set.items():
        of_family.setdefault(family(name), []).append(np.mean(values))
    means = {name: float(np.mean(values)) for name, values in of_family.items()}
    gain = paired_difference(list(means.values()), np.zeros(len(means)), method="t")
    ratios = [told[method][1] / told["tuned"][1] for told in runs.values() if "tuned" in told]
    worst = min(means, key=means.get)
    return {
        "sets": len(of_set),
        "families": len(means),
        "runs": len(runs),
        "F1 x 100": gain.mean,
        "95 %": f"[{gain.low:+.2f}, {gain.high:+.2f}]",
        "worst": f"{worst} {means[worst]:+.1f}",
        "time / tuned": float(np.exp(np.mean(np.log(ratios)))) if ratios else np.nan,
        "largest": max(ratios, default=np.nan),
    }


def compare(names, chosen, *, n_seeds, n_splits, out, budget):
    """Results of all runs that fit into so many processor seconds; what ``out`` has is not measured again."""
    results = json.loads(out.read_text()) if out is not None and out.exists() else {}
    start = time.process_time()
    for seed in range(n_seeds):
        for set_name, X, y in sets():
            for name in names:
                told = results.setdefault(f"{name}/{set_name}/{seed}", {})
                new = [method for method in (PLAIN, *chosen) if method not in told]
                if not new or time.process_time() - start > budget:
                    continue
                told |= measured(bases()[name], X, y, names=new, n_splits=n_splits, seed=seed)
                if out is not None:
                    out.write_text(json.dumps(results))
    return {key: told for key, told in results.items() if told}


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
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bases", nargs="+", default=list(bases()), choices=list(bases()), help="bases (all)")
    text = "measured beside plain (tuned and folds)"
    parser.add_argument("--methods", nargs="*", default=["tuned", "folds"], choices=METHODS, help=text)
    parser.add_argument("--seeds", type=int, default=1, help="partitions into outer folds (1)")
    parser.add_argument("--splits", type=int, default=4, help="outer folds (4)")
    parser.add_argument("--out", type=Path, help="JSON file that keeps finished runs")
    parser.add_argument("--budget", type=float, default=np.inf, help="processor seconds after which no run begins")
    parser.add_argument("--dataset", action="store_true", help="what one LightGBM Dataset for each fold saves")
    parser.add_argument("--sets", nargs="+", default=["made up", *BINARY_SETS], help="data sets of that table (all)")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of boosting there (60)")
    parser.add_argument("--runs", type=int, default=1, help="runs of each engine there (1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.dataset:
        print_table(rows(options.sets, n_estimators=options.rounds, n_runs=options.runs))
        return
    how = {"n_seeds": options.seeds, "n_splits": options.splits, "out": options.out, "budget": options.budget}
    print_table(gains(compare(options.bases, options.methods, **how)))


if __name__ == "__main__":
    main()
