"""How close a planned audit comes to a metric on all rows, beside random rows, and how often its interval holds.

``python -m tests.benchmarks audits --draws N``: for four public sets, a third of the rows (1500 at most) trains the
search, and N audits with 300 labels each estimate a metric on the rest. "of random" is the root mean squared error over
that of random rows.
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch, audit
from csf.metrics.registry import get_quantity
from tests.benchmarks.data import load_arrays
from tests.benchmarks.tables import print_table

# Files, and the labels of the positive class; ``None`` for those that the file names.
SETS = {"mammography": None, "imbalanced/bank": None, "adult": None, "abalone": [12]}
LABELS = 300


def judged(name):
    """Labels, probabilities and predictions of the rows that no search has seen."""
    X, arrays = load_arrays(name)
    X = X.toarray() if hasattr(X, "toarray") else X
    y = np.isin(arrays["y"], arrays["positive"] if SETS[name] is None else SETS[name])
    size = min(1500, len(y) // 3)
    X, new, y, truth = train_test_split(X, y, train_size=size, stratify=y, random_state=0)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    search = CostSearch(model, "f1", n_trials=1, param_grid=None, random_state=0).fit(X, y)
    return truth, search._calibrated().predict(search.score_samples(new)), search.predict(new)


def rows(names, metrics, n_draws):
    """Rows of the table."""
    for name in names:
        truth, proba, found = judged(name)
        for metric in metrics:
            quantity = get_quantity(metric)
            value, inside, width, error, blind = quantity.score(truth, found), [], [], [], []
            for seed in range(n_draws):
                plan = audit(proba, found, LABELS, metric, random_state=seed)
                estimate, low, high = plan.interval(truth[plan.rows])
                at = np.random.default_rng(seed).choice(truth.size, LABELS, replace=False)
                inside.append(low <= value <= high)
                width.append(high - low)
                error.append(estimate - value)
                blind.append(quantity.score(truth[at], found[at]) - value)
            roots = [100.0 * np.sqrt(np.nanmean(np.square(each))) for each in (error, blind)]
            yield {
                "set": name,
                "metric": metric,
                "rows": truth.size,
                "value": f"{value:.3f}",
                "random": f"{roots[1]:.1f}",
                "planned": f"{roots[0]:.1f}",
                "of random": f"{roots[0] / roots[1]:.2f}",
                "covers": f"{np.mean(inside):.1%}",
                "mean width": f"{np.mean(width):.3f}",
                "expected width": f"{plan.expected_width:.3f}",
            }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400, help="audits of each row (400)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--metrics", nargs="+", default=["f1", "recall", "precision"])
    options = parser.parse_args()
    print_table(rows(options.sets, options.metrics, options.draws))


if __name__ == "__main__":
    main()
