"""Whether the first example of the README is a fluke: the same on other splits of its data.

``python -m tests.benchmarks first_example`` prints F1 x 100 on held-out rows of the classifier itself, with a tuned
threshold, with C (by average precision, seven values) and threshold tuned, and of `CostSearch`; the gains of the latter
with their standard errors, how often its interval holds its F1, and processor seconds.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from csf import CostSearch
from csf.search.config import MULTIPLES
from tests.benchmarks.tables import print_table

__all__ = ["drawn", "main", "measured", "methods"]


def drawn(seed):
    """Data of the example, split with another seed: rows to train on, held-out rows, and their labels."""
    X, progression = load_diabetes(return_X_y=True, scaled=False)
    y = progression > 260
    return train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)


def methods():
    """What is compared."""
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    grid = GridSearchCV(plain, {"logisticregression__C": MULTIPLES}, scoring="average_precision")
    return {
        "classifier": plain,
        "tuned": TunedThresholdClassifierCV(plain, scoring="f1"),
        "C and tuned": TunedThresholdClassifierCV(grid, scoring="f1"),
        "csf": CostSearch(plain),
    }


def measured(seed):
    """F1 x 100 and seconds of each method, and whether the interval of the search holds its F1."""
    X, X_new, y, y_new = drawn(seed)
    found = []
    for model in methods().values():
        start = time.process_time()
        predicted = model.fit(X, y).predict(X_new)
        found.append((100 * f1_score(y_new, predicted), time.process_time() - start))
    low, high = model.score_interval_
    return found, low <= found[-1][0] / 100 <= high


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of splits of the data (20)")
    seeds = range(parser.parse_args(argv).seeds)
    found, held = zip(*map(measured, seeds))
    f1, seconds = np.moveaxis(np.array(found), -1, 0)
    gains = f1[:, [-1]] - f1
    rows = [
        {
            "": name,
            "F1": f"{one.mean():.1f}",
            "gain of csf": f"{gain.mean():+.1f} ± {gain.std(ddof=1) / len(gain) ** 0.5:.1f}",
            "won : lost": f"{(gain > 0).sum()} : {(gain < 0).sum()}",
            "seconds": f"{time.mean():.2f}",
        }
        for name, one, gain, time in zip(methods(), f1.T, gains.T, seconds.T)
    ]
    print_table(rows)
    print(f"The interval holds the F1 on held-out rows in {sum(held)} of {len(held)} splits.")


if __name__ == "__main__":
    main()
