"""What acting on a share of the rows gains: by expected gain, and by probability.

``python -m tests.benchmarks capacity``: bank and credit with the costs of the literature, five folds. Numbers are per
cent of what a perfect choice of all rows would gain beside the answer "negative" to all, on held-out rows, where at
most 1, 3, 5, 10 and 20 % of these are acted on: the largest expected gains (`predict` with ``at_most``), and the rows
with the largest probabilities, all of them or those that pay alone. ``expected`` is what `at_capacity` said before.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from csf import CostSearch
from tests.benchmarks.row_costs import base_of, load
from tests.benchmarks.tables import print_table

__all__ = ["SHARES", "captured"]

SHARES = (0.01, 0.03, 0.05, 0.1, 0.2)


def captured(costs, y, acted):
    """Share of what a perfect choice of all rows would gain."""
    gain = np.where(y > 0, costs["fn_cost"] - costs["tp_cost"], costs["tn_cost"] - costs["fp_cost"])
    return gain[acted].sum() / np.maximum(gain, 0.0).sum()


def compared(name, kind, n_splits):
    """A row for each share: means over the folds of what each way to choose captures."""
    X, y, costs = load(name)
    found = {share: [] for share in SHARES}
    for train, test in StratifiedKFold(n_splits, shuffle=True, random_state=0).split(X, y):
        there, here = ({key: each[at] for key, each in costs.items()} for at in (train, test))
        search = CostSearch(base_of(kind), metric="savings").fit(X.iloc[train], y[train], **there)
        new, p = X.iloc[test], search.predict_proba(X.iloc[test], **here)[:, 1]
        pays = search.predict(new, **here) > 0
        for share in SHARES:
            k = int(share * test.size)
            likely = [np.argsort(-each, kind="stable")[:k] for each in (p, np.where(pays, p, -1.0))]
            own = np.flatnonzero(search.predict(new, at_most=share, **here) > 0)
            chosen = [own, likely[0], likely[1][pays[likely[1]]]]
            values = [captured(here, y[test], each) for each in chosen]
            found[share].append([*values, search.at_capacity(share).captured])
    names = ("by expected gain", "by probability", "by probability, those that pay", "expected")
    for share, rows in found.items():
        means = np.mean(rows, axis=0)
        told = {each: f"{100 * mean:.1f}" for each, mean in zip(names, means)}
        yield {"set": name, "base": kind, "at most": f"{share:.0%}"} | told


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=("bank", "credit"), help="sets (bank credit)")
    parser.add_argument("--bases", nargs="+", choices=("logistic", "lightgbm"), default=("logistic", "lightgbm"))
    parser.add_argument("--splits", type=int, default=5, help="folds (5)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = [(name, kind) for name in options.sets for kind in options.bases]
    print_table(row for name, kind in pairs for row in compared(name, kind, options.splits))


if __name__ == "__main__":
    main()
