"""What `csf.tune_threshold` signs on all rows, what a search signs by cross-fitting, and limits on wrong alerts.

``python -m tests.benchmarks signing --draws N`` prints four tables, or those that ``--tables`` names.

``given``: scores of normal classes. A threshold is false where the rate on the population violates the demand.
``cross-fit``: searches with ``calibration="cross-fit"``; the rate is that of the final model on 20 000 other rows, or
on the rest of a real set. Some bases overfit, and some give few different scores.
``alerts``: mean share of wrong alerts over batches with ``wrong_at_most=``, and the recall.
``bands``: how often some bound of `csf.certify` is false, see `tests.benchmarks.certificates`.
"""

import argparse
import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import norm
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import csf
from csf.metrics import get_constraint, get_metric
from tests.benchmarks.certificates import bands
from tests.benchmarks.data import load_binary
from tests.benchmarks.tables import print_table

__all__ = ["CROSS_FITTED", "GIVEN", "Drawn", "alerts", "cross_fitted", "given"]

CONFIDENCE = 0.9
# Rows, share of positives, distance of the classes, demand, metric.
GIVEN = [
    (400, 0.1, 1.8, "recall >= 0.8", "specificity"),
    (1000, 0.1, 1.8, "recall >= 0.9", "specificity"),
    (1000, 0.1, 1.8, "precision >= 0.6", "recall"),
    (800, 0.1, 1.8, "precision >= 0.5", "recall"),
    (3000, 0.1, 1.8, "precision >= 0.6", "recall"),
    (10_000, 0.01, 2.5, "precision >= 0.6", "recall"),
    (1000, 0.2, 2.0, "fpr <= 0.05", "recall"),
    (500, 0.2, 2.0, "f1 >= 0.6", "precision"),
    (500, 0.2, 2.0, "f2 >= 0.6", "precision"),
    (500, 0.2, 2.0, "recall >= 0.7, precision >= 0.4", "f1"),
]
N_TEST = 20_000


def limit(n_draws, share=1.0 - CONFIDENCE):
    """The most that chance explains: two standard errors above what is promised."""
    return share + 2.0 * np.sqrt(share * (1.0 - share) / n_draws)


def given(n_draws):
    """Rows about scores that are given."""
    for n_rows, pos, distance, text, metric in GIVEN:
        rng, demand, aim, told = np.random.default_rng(7), get_constraint(text), get_metric(metric), []
        for _ in range(n_draws):
            y = rng.random(n_rows) < pos
            score = rng.normal(distance * y)
            decision = csf.tune_threshold(y, score, metric, constraint=text, confidence=CONFIDENCE)
            found_pos, found_neg = norm.sf(decision.threshold - distance), norm.sf(decision.threshold)
            fn, fp = pos * (1.0 - found_pos), (1.0 - pos) * found_neg
            signed = decision.certificate.holds
            told.append(
                (signed, signed and demand.violation(fn, fp, pos=pos) > 0.0, signed * aim.value(fn, fp, pos=pos))
            )
        signed, false, value = np.mean(told, axis=0)
        yield {
            "rows": n_rows,
            "positives": f"{pos:.0%}",
            "demand": text,
            "signed": f"{signed:.0%}",
            "metric": metric,
            "its value, 0 unsigned": f"{value:.3f}",
            "violated": f"{false:.1%}",
            f"at most {limit(n_draws):.1%}": false <= limit(n_draws),
        }


@dataclass(frozen=True)
class Drawn:
    """Rows of a population, a base, and what is asked of it."""

    name: str
    base: object
    n_rows: int = 600
    pos: float = 0.1
    demand: str = "recall >= 0.8"
    metric: str = "specificity"
    width: int = 4
    distance: float = 1.8
    # Of logarithmic sizes of the features: heavy tails.
    tails: float = 0.0
    real: str = ""
    options: dict = field(default_factory=dict)

    def draw(self, rng):
        """Rows to search on, and those that tell the truth."""
        if self.real:
            X, y = load_binary(self.real)
            order = rng.permutation(y.size)
            return X[order], y[order] > 0
        y = rng.random(self.n_rows + N_TEST) < self.pos
        X = rng.normal(size=(y.size, self.width)) * np.exp(self.tails * rng.normal(size=(y.size, 1)))
        X[:, :4] += 0.5 * self.distance * y[:, None]
        return X, y

    def told(self, rng, calibration="cross-fit"):
        """Whether a threshold was signed, whether it is false, and the value of the metric."""
        X, y = self.draw(rng)
        n, options = self.n_rows, {"param_grid": None, "n_trials": 1, "cv": 5, "threshold": "tune"} | self.options
        options |= {"constraint": self.demand, "confidence": CONFIDENCE, "calibration": calibration}
        search = csf.CostSearch(
            self.base, self.metric, random_state=np.random.RandomState(rng.integers(2**31)), **options
        )
        signed = search.fit(X[:n], y[:n]).guarantee_.holds
        predicted, truth = search.predict(X[n:]), y[n:]
        fn, fp, pos = (truth & ~predicted).mean(), (~truth & predicted).mean(), truth.mean()
        value = get_metric(self.metric).value(fn, fp, pos=pos)
        return signed, signed and get_constraint(self.demand).violation(fn, fp, pos=pos) > 0.0, signed * value


LOGISTIC, PRECISION = LogisticRegression(), {"demand": "precision >= 0.6", "metric": "recall", "n_rows": 1000}
CROSS_FITTED = [
    Drawn("logistic", LOGISTIC),
    Drawn("logistic, precision", LOGISTIC, **PRECISION),
    Drawn("logistic, 100 rows", LOGISTIC, 100, 0.3),
    Drawn("logistic, heavy tails", LOGISTIC, tails=0.8),
    Drawn("logistic without a penalty, 30 features", LogisticRegression(C=1e6, max_iter=2000), 300, width=30),
    Drawn("naive Bayes, 30 features", GaussianNB(), 300, width=30),
    Drawn("naive Bayes, 30 features, precision", GaussianNB(), width=30, **PRECISION),
    Drawn("quadratic discriminant, 15 features", QuadraticDiscriminantAnalysis(reg_param=0.01), width=15, pos=0.2),
    Drawn("neighbours", KNeighborsClassifier(15)),
    Drawn("tree", DecisionTreeClassifier(max_depth=5, random_state=0)),
    Drawn("forest", RandomForestClassifier(30, random_state=0), options={"cv": 5}),
    # What is left of a set has to tell the truth: 1000 rows of abalone leave so few that an exact test looks false too.
    Drawn("mammography", LOGISTIC, 1500, real="mammography"),
    Drawn("adult", LogisticRegression(max_iter=500), 600, real="adult"),
    Drawn("abalone", LOGISTIC, 400, real="abalone10"),
]


def cross_fitted(n_draws, calibration="cross-fit"):
    """Rows about searches that test on out-of-fold scores of all rows."""
    for each in CROSS_FITTED:
        told = [each.told(np.random.default_rng([seed, 3]), calibration) for seed in range(n_draws)]
        signed, false, value = np.mean(told, axis=0)
        yield {
            "search": each.name,
            "rows": each.n_rows,
            "demand": each.demand,
            "signed": f"{signed:.0%}",
            "metric, 0 unsigned": f"{value:.3f}",
            "violated": f"{false:.1%}",
            f"at most {limit(n_draws):.1%}": false <= limit(n_draws),
        }


# Labelled rows, share of positives, rows of a batch.
BATCHES = [(1000, 0.3, 200), (1000, 0.6, 200), (1000, 0.1, 200), (300, 0.3, 20), (300, 0.6, 20)]
# Few positives in many columns, in batches of 5.
OVERFITTING = [
    ("naive Bayes, 3 folds", GaussianNB(), {"cv": 3}),
    ("naive Bayes", GaussianNB(), {}),
    ("naive Bayes, 60 features, 3 folds", GaussianNB(), {"cv": 3}),
    ("logistic, 3 folds", LOGISTIC, {"cv": 3}),
    ("tree, 3 folds", DecisionTreeClassifier(max_depth=4, random_state=0), {"cv": 3}),
]
ALLOWED = 0.2


def alerts(n_draws):
    """Rows about limits on wrong alerts."""
    for n_rows, pos, size in BATCHES:
        told = []
        for seed in range(n_draws):
            rng = np.random.default_rng([seed, 11])
            y, new = rng.random(n_rows) < pos, rng.random((5, size)) < pos
            decision = csf.tune_threshold(y, rng.normal(2.0 * y))
            answers = [decision.predict(rng.normal(2.0 * each), wrong_at_most=ALLOWED) for each in new]
            told.append(_alerted(np.array(answers), new))
        yield _alert_row("given scores", n_rows, pos, size, told)
    for name, base, options in OVERFITTING:
        told, width = [], 60 if "60" in name else 30
        for seed in range(n_draws):
            rng = np.random.default_rng([seed, 13])
            y, new = np.arange(400) < 20, np.arange(1000) < 50
            X, more = (rng.normal(size=(each.size, width)) + 0.35 * each[:, None] for each in (y, new))
            search = csf.CostSearch(base, param_grid=None, n_trials=1, random_state=seed, **options).fit(X, y)
            batches = rng.permutation(1000).reshape(-1, 5)
            answers = [search.predict(more[batch], wrong_at_most=ALLOWED) for batch in batches]
            told.append(_alerted(np.array(answers), new[batches]))
        yield _alert_row(name, 400, 0.05, 5, told)


def _alerted(answers, truth):
    """Mean share of wrong alerts over batches, and the recall."""
    wrong = (answers & ~truth).sum(axis=1) / np.maximum(answers.sum(axis=1), 1)
    return wrong.mean(), (answers & truth).sum() / max(truth.sum(), 1)


def _alert_row(name, n_rows, pos, size, told):
    (wrong, recall), error = np.mean(told, axis=0), np.std(told, axis=0)[0] / np.sqrt(len(told))
    return {
        "scores": name,
        "rows": n_rows,
        "positives": f"{pos:.0%}",
        "batch": size,
        "wrong": f"{wrong:.3f} +- {error:.3f}",
        f"at most {ALLOWED}": wrong <= ALLOWED + 2.0 * error,
        "recall": f"{recall:.3f}",
    }


def main():
    """Print the tables."""
    tables = {"given": given, "cross-fit": cross_fitted, "alerts": alerts, "bands": bands}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400, help="draws of each line (400)")
    parser.add_argument("--tables", nargs="+", choices=tables, default=list(tables), help="tables (all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.tables:
        print_table(tables[name](options.draws))


if __name__ == "__main__":
    main()
