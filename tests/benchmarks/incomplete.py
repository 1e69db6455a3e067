"""True F1 where labels miss positives: ``metric=Incomplete("f1", labelled=share)`` against the best F1 of the labels.

``python -m tests.benchmarks incomplete --draws N``: labels of positives are hidden at random in a training half of at
most 2000 rows, and the true F1 is that of all other rows. Beside the known share stand searches that take it for 50 %
too large and for 33 % too small. ``expected`` is what the search expects of the true F1 less what it is, ``held`` how
often its 90 % interval holds that. The last row is the mean gain over the sets, ± a standard error.
"""

import argparse
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.metrics import Incomplete
from tests.benchmarks.batches import load
from tests.benchmarks.tables import print_table

__all__ = ["SETS", "rows"]

SETS = (
    *("adult", "abalone10", "abalone12", "pageblocks", "wine", "mammography", "letter:1", "letter:5"),
    *("imbalanced/ada", "imbalanced/bank", "imbalanced/credit1", "imbalanced/segment0"),
)
MOST = 2000
# What the share is taken for, in parts of it.
WRONG = {"known": 1.0, "50 % too large": 1.5, "33 % too small": 2.0 / 3.0}


def measure(X, y, share, seed):
    """True F1 of each search, and what is expected of the one that knows the share: value and interval."""
    rng = np.random.default_rng([seed, round(100 * share)])
    at = rng.permutation(y.size)
    known, rest = np.split(at, [min(MOST, y.size // 2)])
    labels = y[known] * (rng.random(known.size) < share)
    base, options = (
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        {"param_grid": None, "cv": min(5, int(labels.sum())), "random_state": seed},
    )
    found = {"labels": CostSearch(base, "f1", **options).fit(X[known], labels)}
    for name, factor in WRONG.items():
        metric = Incomplete("f1", labelled=min(factor * share, 1.0))
        found[name] = CostSearch(base, metric, **options).fit(X[known], labels)
    values = {name: f1_score(y[rest], search.predict(X[rest])) for name, search in found.items()}
    return values, found["known"].corrected_score_, found["known"].score_interval_


def rows(names, shares, n_draws):
    """Rows of the table."""
    for share in shares:
        gains, off, held = {name: [] for name in WRONG}, [], []
        for name in names:
            X, y = load(name)
            drawn = [measure(X, y, share, seed) for seed in range(n_draws)]
            values = {way: np.mean([each[way] for each, _, _ in drawn]) for way in ("labels", *WRONG)}
            inside = [low <= each["known"] <= high for each, _, (low, high) in drawn]
            errors = [expected - each["known"] for each, expected, _ in drawn]
            for way in WRONG:
                gains[way].append(100.0 * (values[way] - values["labels"]))
            off, held = [*off, np.mean(errors)], [*held, *inside]
            shown = {way: f"{100.0 * value:.1f}" for way, value in values.items()}
            yield _row(name, share, shown, f"{100.0 * off[-1]:+.1f}", f"{np.mean(inside):.0%}")
        means = {
            way: f"{np.mean(each):+.1f} ± {np.std(each, ddof=1) / np.sqrt(len(each)):.1f}" if len(each) > 1 else "–"
            for way, each in gains.items()
        }
        yield _row("gain", share, {"labels": ""} | means, f"{100.0 * np.mean(off):+.1f}", f"{np.mean(held):.0%}")


def _row(name, share, values, expected, held):
    heads = {way: way if way == "labels" else f"share {way}" for way in values}
    cells = {f"true F1, {heads[way]}": value for way, value in values.items()}
    return {"set": name, "labelled": f"{share:.0%}"} | cells | {"expected": expected, "held": held}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3, help="draws of each set (3)")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.2, 0.5], help="shares labelled (0.2 0.5)")
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, help="sets (all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(rows(options.only, options.shares, options.draws))


if __name__ == "__main__":
    main()
