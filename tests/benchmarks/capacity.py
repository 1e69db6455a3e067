"""What acting on a share of the rows gains: by expected gain, and by probability.

``python -m tests.benchmarks capacity``: bank and credit with the costs of the literature, five folds. Numbers are per
cent of what a perfect choice of all rows would gain beside the answer "negative" to all, on held-out rows, where at
most 1, 3, 5, 10 and 20 % of these are acted on: the largest expected gains (`predict` with ``at_most``), and the rows
with the largest probabilities, all of them or those that pay alone. ``expected`` is what `at_capacity` said before.
``--reviews N`` draws N samples of 2000 rows from a population in place of that, with a third answer: how far the share
of reviewed rows is from the limit of 10 % on new rows, what reviews save there, and how often a certificate at 90 % is
false, that at most 5 % of the answers "negative" are wrong.
``--limits N`` draws N samples of a population whose scores are known, for three sizes: how far `at_capacity` is on
average from the value on 200 000 new rows, taken as one batch, the standard error of that for 40 samples, how often the
90 % interval holds it, and by how much less the metric is where the new rows come in batches of 100.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from csf import CostSearch, tune_threshold
from csf.metrics import Column, Review, RowCosts, get_metric
from tests.benchmarks.row_costs import base_of, load
from tests.benchmarks.tables import print_table

__all__ = ["SHARES", "captured", "limits"]

SHARES = (0.01, 0.03, 0.05, 0.1, 0.2)
COSTS = RowCosts(fn=Column(2), fp=1.0)


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


def population(n_rows, rng):
    """Rows of two features, their classes and amounts."""
    X = rng.normal(size=(n_rows, 2))
    y = rng.uniform(size=n_rows) < expit(1.5 * X[:, 0] + X[:, 1] + 0.5 * X[:, 0] * X[:, 1] - 2.0)
    return np.column_stack([X, np.exp(0.5 * rng.normal(size=n_rows) + 1.0)]), y.astype(int)


def reviews(metric, n_draws):
    """A row about three answers by a metric, over samples of the population."""
    new, truth = population(200_000, np.random.default_rng(0))
    kept, limit = {"param_grid": None, "n_trials": 1, "cv": 3}, 0.05
    share, saved, held, certified, false = [], [], [], 0, 0
    for seed in range(1, n_draws + 1):
        X, y = population(2000, np.random.default_rng(seed))
        search = CostSearch(LogisticRegression(), metric, review=Review(cost=0.2, at_most=0.1), **kept).fit(X, y)
        answers = search.predict_with_review(new)
        share.append((answers == "review").mean())
        found = np.where(answers == "review", truth, answers == 1)
        paid = 0.2 * share[-1] / min(truth @ new[:, 2], (truth == 0).sum()) * len(new) if metric == COSTS else 0.0
        score = COSTS.score if metric == COSTS else get_metric(metric).score
        more = {"X": new} if metric == COSTS else {}
        value = score(truth, found, **more) - paid
        saved.append(value - score(truth, search.predict(new), **more))
        held.append(search.review_.interval[0] <= value <= search.review_.interval[1])
        limited = Review(cost=0.2, wrong={"negative": limit})
        search = CostSearch(LogisticRegression(), metric, review=limited, confidence=0.9, **kept).fit(X, y)
        own = search.predict_with_review(new) == 0
        if search.review_.guarantees.get("0") is not None and search.review_.guarantees["0"].holds:
            certified += 1
            false += truth[own].mean() > limit
    return {
        "metric": metric if metric == "f1" else "savings",
        "samples": n_draws,
        "reviewed, limit 10 %": f"{100 * np.mean(share):.2f} ± {100 * np.std(share):.2f}",
        "most": f"{100 * np.max(share):.1f}",
        "gain of reviews": f"{np.mean(saved):+.3f}",
        "interval holds": f"{np.mean(held):.0%}",
        "certified": certified,
        "false": f"{false} ({false / n_draws:.1%})",
    }


class Limit(NamedTuple):
    """How well the value at a limit was known; ``error`` is the standard error of the bias in 40 samples."""

    share: float
    true: float
    bias: float
    error: float
    held: float
    lowest: float
    batches: float


def scores(n_rows, rng):
    """Scores that are the log-odds of the class, and the class; a quarter is positive."""
    z = 1.5 * rng.normal(size=n_rows) - 1.5
    return z, (rng.uniform(size=n_rows) < expit(z)).astype(int)


def limits(name, n_rows, n_draws, shares, n_new=200_000):
    """What `at_capacity` says on samples of so many rows, beside the truth, for each share."""
    metric, rng = get_metric(name), np.random.default_rng(0)
    z, truth = scores(n_new, np.random.default_rng(1))
    places = [np.argsort(np.argsort(-z.reshape(-1, size), axis=1), axis=1).ravel() for size in (n_new, 100)]
    told = {share: [] for share in shares}
    for _ in range(n_draws):
        X, y = scores(n_rows, rng)
        decision = tune_threshold(y, X, name)
        for share in shares:
            worth = decision.search.at_capacity(share)
            # The best places of one batch, and those of each hundred.
            chosen = [(z >= decision.threshold) & (at < share * size) for at, size in zip(places, (n_new, 100))]
            true, small = (metric.score(truth, each.astype(int)) for each in chosen)
            held = worth.interval[0] <= true <= worth.interval[1]
            told[share].append((true, worth.value - true, held, worth.interval[0], small - true))
    for share, rows in told.items():
        true, bias, held, _, batches = np.mean(rows, axis=0).tolist()
        errors, lows = np.array(rows)[:, 1], np.array(rows)[:, 3]
        yield Limit(share, true, bias, float(errors.std() / np.sqrt(40)), held, float(lows.min()), batches)


def limit_rows(name, n_draws):
    """A row of the table for each size and share."""
    for n_rows in (100, 300, 1000):
        for each in limits(name, n_rows, n_draws, (0.01, 0.03, 0.1)):
            yield {
                "rows": n_rows,
                "at most": f"{each.share:.0%}",
                name: f"{each.true:.3f}",
                "bias": f"{each.bias:+.4f}",
                "standard error of 40": f"{each.error:.4f}",
                "interval holds": f"{each.held:.0%}",
                "batches of 100": f"{each.batches:+.3f}",
            }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=("bank", "credit"), help="sets (bank credit)")
    parser.add_argument("--bases", nargs="+", choices=("logistic", "lightgbm"), default=("logistic", "lightgbm"))
    parser.add_argument("--splits", type=int, default=5, help="folds (5)")
    parser.add_argument("--reviews", type=int, default=0, metavar="N", help="samples that reviews are judged by")
    parser.add_argument("--limits", type=int, default=0, metavar="N", help="samples that limits are judged by")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.limits:
        print_table(limit_rows("f1", options.limits))
        return
    if options.reviews:
        print_table(reviews(metric, options.reviews) for metric in ("f1", COSTS))
        return
    pairs = [(name, kind) for name in options.sets for kind in options.bases]
    print_table(row for name, kind in pairs for row in compared(name, kind, options.splits))


if __name__ == "__main__":
    main()
