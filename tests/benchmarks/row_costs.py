"""What deciding each row by its own costs saves, beside thresholds that are the same for all rows.

``python -m tests.benchmarks row_costs``: three real sets with the costs of the literature, five folds, twice. Savings
are in per cent: 1 minus the cost as a share of that of the better answer to all rows. The rivals are the threshold 1/2,
the one of F1, the one of least cost by scikit-learn's `TunedThresholdClassifierCV`, the rule of Elkan on the
probabilities of the base as they are, and the learners `CSLogitClassifier` and `CSBoostClassifier` of the package
empulse, where it is installed. ``--refits N`` draws samples of 4000 rows instead, and asks how often the interval of
the search holds the savings on the rest.
"""

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from csf import CostSearch
from csf.metrics import RowCosts
from csf.metrics.row_costs import CostTable
from tests.benchmarks.data import data_folder
from tests.benchmarks.tables import print_table

__all__ = ["SETS", "load", "methods"]

SETS = ("bank", "telco", "credit")
NAMES = ("fn_cost", "fp_cost", "tp_cost", "tn_cost")
ROWS_OF_A_REFIT = 4000
# Rows of one set are in the order of time: folds that are not shuffled would cost the rivals much.
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def load(name):
    """Samples, targets and costs of a set."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("no data sets: set the environment variable CSF_DATA to their folder")
    frame = pd.read_csv(folder / "row_costs" / f"{name}.csv.gz")
    costs = {f"{each}_cost": frame.pop(f"c_{each}").to_numpy() for each in ("fn", "fp", "tp", "tn")}
    return frame.drop(columns="target"), frame["target"].to_numpy(), costs


def base_of(kind):
    """Pipeline of a base."""
    if kind == "lightgbm":
        from lightgbm import LGBMClassifier

        last = LGBMClassifier(verbose=-1, n_jobs=1)
    else:
        last = LogisticRegression(max_iter=1000)
    return make_pipeline(prepared(), last)


def prepared():
    """Numbers scaled, texts as columns of 0 and 1."""
    numbers, texts = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    return make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts)
    )


def savings(costs, y, answers):
    """Share of the cost of the better answer to all rows that is saved."""
    return RowCosts().value_of(CostTable(*(costs[name] for name in NAMES)), y > 0, np.asarray(answers) > 0, None)


def neg_cost(y, answers, fn_cost, fp_cost, tp_cost, tn_cost):
    """Scorer of scikit-learn: what is not paid."""
    return -np.where(y > 0, np.where(answers > 0, tp_cost, fn_cost), np.where(answers > 0, fp_cost, tn_cost)).mean()


def half(base, X, y, costs):
    """The base as it is."""
    return _predict(clone(base).fit(X, y))


def elkan(base, X, y, costs):
    """The rule of Elkan on the probabilities of the base."""
    model = clone(base).fit(X, y)
    return lambda X, costs: elkan_of(model.predict_proba(X)[:, 1], costs)


def f1(base, X, y, costs):
    """The threshold of F1."""
    return _predict(TunedThresholdClassifierCV(base, scoring="f1", cv=FOLDS).fit(X, y))


def _predict(model):
    return lambda X, costs: model.predict(X)


def one_threshold(base, X, y, costs):
    """The threshold of least cost."""
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(neg_cost).set_score_request(**dict.fromkeys(NAMES, True))
        return _predict(TunedThresholdClassifierCV(base, scoring=scorer, cv=FOLDS).fit(X, y, **costs))


def by_row(base, X, y, costs):
    """The search of csf."""
    search = CostSearch(base, metric="savings").fit(X, y, **costs)
    return lambda X, costs: search.predict(X, **costs)


def empulse(base, X, y, costs):
    """The learner of the package empulse that corresponds to the base."""
    from empulse.models import CSBoostClassifier, CSLogitClassifier

    model = (CSLogitClassifier if isinstance(base[-1], LogisticRegression) else CSBoostClassifier)()
    before = clone(base[0]).fit(X)
    model.fit(before.transform(X), y, **costs)
    return lambda X, costs: model.predict_proba(before.transform(X))[:, 1] >= 0.5


def elkan_of(p, costs):
    """Decisions of probabilities by the costs of each row."""
    fn, fp, tp, tn = (costs[name] for name in NAMES)
    return p * (fn - tp) >= (1.0 - p) * (fp - tn)


def methods():
    """What is compared."""
    found = {"threshold 1/2": half, "F1": f1, "one threshold": one_threshold, "Elkan, raw p": elkan, "csf": by_row}
    return found | ({"empulse": empulse} if find_spec("empulse") else {})


def compared(name, kind, only, repeats, seed=0):
    """Mean savings and median processor time of each method on the folds of a set."""
    X, y, costs = load(name)
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=seed).split(X, y)
    saved, seconds = {each: [] for each in only}, {each: [] for each in only}
    for train, test in splits:
        there, here = ({key: each[at] for key, each in costs.items()} for at in (train, test))
        for each in only:
            start = time.process_time()
            decide = methods()[each](base_of(kind), X.iloc[train], y[train], there)
            seconds[each].append(time.process_time() - start)
            saved[each].append(savings(here, y[test], decide(X.iloc[test], here)))
    row = {"set": name, "base": kind} | {each: f"{100 * np.mean(values):.1f}" for each, values in saved.items()}
    return row | {f"{each}, s": f"{np.median(values):.2f}" for each, values in seconds.items()}


def refits(name, kind, n_refits):
    """How often the intervals hold the savings on the rows that were not drawn."""
    X, y, costs = load(name)
    splitter = StratifiedShuffleSplit(n_refits, train_size=ROWS_OF_A_REFIT, random_state=0)
    held, off, wide = [], [], []
    for train, test in splitter.split(X, y):
        there, here = ({key: each[at] for key, each in costs.items()} for at in (train, test))
        search = CostSearch(base_of(kind), metric="savings").fit(X.iloc[train], y[train], **there)
        true = savings(here, y[test], search.predict(X.iloc[test], **here))
        low, high = search.score_interval_
        held.append(low <= true <= high)
        off.append(search.corrected_score_ - true)
        wide.append(high - low)
    return {
        "set": name,
        "base": kind,
        "refits": n_refits,
        "interval holds": f"{np.mean(held):.1%}",
        "width": f"{100 * np.mean(wide):.1f}",
        "corrected - true": f"{100 * np.mean(off):+.2f} ± {100 * np.std(off) / np.sqrt(n_refits):.2f}",
    }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="sets (all)")
    parser.add_argument("--bases", nargs="+", choices=("logistic", "lightgbm"), default=("logistic", "lightgbm"))
    parser.add_argument("--methods", nargs="+", default=list(methods()), help="what is compared (all)")
    parser.add_argument("--repeats", type=int, default=2, help="repeats of five folds (2)")
    parser.add_argument("--refits", type=int, default=0, help="refits that intervals are judged by")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = [(name, kind) for name in options.sets for kind in options.bases]
    if options.refits:
        print_table(refits(name, kind, options.refits) for name, kind in pairs)
        return
    print_table(compared(name, kind, options.methods, options.repeats) for name, kind in pairs)


if __name__ == "__main__":
    main()
