"""Demands on a class, and with costs of rows: what they cost beside a careful rival, and how often they are kept.

``python -m tests.benchmarks demands``: the sets of several classes, with a recall of the rarest class of at least 0.8
on held-out samples. The rival has the same C values and repeated folds: the largest threshold on the out-of-fold
probability of that class with the recall, argmax among the others below it, and the C with the best out-of-fold
macro-F1. Then the sets with costs of rows, with a recall of at least 0.8 or at most 5 % predicted positive at least
cost; the rival is the best single threshold on out-of-fold probabilities that keeps it. Five folds, four times; the
difference has its 90 % interval over the splits. These sets chose the defaults, but none for demands.

``python -m tests.benchmarks demands --certificates N``: how often what is certified with a confidence of 0.9 is false,
in N searches of each of six populations with a model of known scores, and how often one is signed; beside it a fixed
sequence of exact binomial tests of thresholds on the probability of the class, written by hand.

``python -m tests.benchmarks demands --reviews N``: how far ``review_.value`` is from the value on 20 000 new rows, and
how often its 90 % interval holds that, in N fits of 300 rows of each of six kinds of review.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.special import softmax
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

from csf import CostSearch
from csf.metrics import Column, CostMatrix, Review, RowCosts, get_constraint
from csf.metrics.demands import demands_on
from csf.metrics.profile import ErrorProfile
from csf.search.config import CLASS_MULTIPLES, FAST, SLOW, class_splits
from csf.thresholding.linear_rule import confusion_of
from tests.benchmarks.row_costs import base_of
from tests.benchmarks.row_costs import load as load_costs
from tests.benchmarks.several_classes import bases, sets
from tests.benchmarks.tables import print_table

__all__ = ["POPULATIONS", "certified", "of_classes"]

RECALL, CONFIDENCE, TRUTH = 0.8, 0.9, 200_000


def difference(values):
    """Mean and 90 % interval of paired differences over splits."""
    values = np.asarray(values, dtype=float)
    return f"{100 * values.mean():+.1f} ± {165 * values.std(ddof=1) / np.sqrt(values.size):.1f}"


# ---------------------------------------------------------------- several classes


def out_of_fold(make, setting, X, y, splits):
    """Pooled probabilities and classes of what the splits hold out."""
    proba, truth = [], []
    for train, test in splits:
        model = clone(make()).set_params(**setting).fit(X[train], y[train])
        part = np.zeros((test.size, y.max() + 1))
        part[:, model.classes_] = model.predict_proba(X[test])
        proba.append(part)
        truth.append(y[test])
    return np.concatenate(proba), np.concatenate(truth)


def answers_of(proba, code, threshold):
    """The class where its probability reaches the threshold, else the likeliest of the others."""
    others = proba.copy()
    others[:, code] = -1.0
    return np.where(proba[:, code] >= threshold, code, others.argmax(axis=1))


def rival_of_classes(make, is_linear, X, y, code):
    """Predictor with the largest threshold that keeps the recall, at the best C."""
    best = None
    splits = class_splits(y, FAST if is_linear else SLOW, random_state=None)
    for setting in [{"logisticregression__C": C} for C in CLASS_MULTIPLES] if is_linear else [{}]:
        proba, truth = out_of_fold(make, setting, X, y, splits)
        own = np.sort(proba[truth == code, code])[::-1]
        threshold = own[int(np.ceil(RECALL * own.size)) - 1]
        value = f1_score(truth, answers_of(proba, code, threshold), average="macro")
        if best is None or value > best[0]:
            best = value, setting, threshold
    _, setting, threshold = best
    model = make().set_params(**setting).fit(X, y)
    return lambda new: answers_of(model.predict_proba(new), code, threshold)


def of_classes(name, X, y, kind, repeats):
    """A row: both methods on the splits of a set."""
    make, is_linear = bases()[kind]
    code, rows, seconds = int(np.bincount(y).argmin()), [], np.zeros(2)
    for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(X, y):
        start = time.process_time()
        search = CostSearch(make(), "f1_macro", constraint=f"recall[{code}] >= {RECALL}").fit(X[train], y[train])
        middle = time.process_time()
        other = rival_of_classes(make, is_linear, X[train], y[train], code)
        seconds += [middle - start, time.process_time() - middle]
        for predicted in (search.predict(X[test]), other(X[test])):
            rare = y[test] == code
            rows.append([f1_score(y[test], predicted, average="macro"), (predicted[rare] == code).mean()])
    values = np.array(rows).reshape(-1, 2, 2)
    kept = (values[..., 1] >= RECALL - 1e-9).mean(axis=0)
    return {
        "set": name,
        "base": kind,
        "macro-F1 csf": f"{100 * values[:, 0, 0].mean():.1f}",
        "rival": f"{100 * values[:, 1, 0].mean():.1f}",
        "difference": difference(values[:, 0, 0] - values[:, 1, 0]),
        "recall csf": f"{values[:, 0, 1].mean():.3f}",
        "recall rival": f"{values[:, 1, 1].mean():.3f}",
        "kept csf": f"{kept[0]:.0%}",
        "kept rival": f"{kept[1]:.0%}",
        "time": f"{seconds[0] / seconds[1]:.2f}",
    }


# ---------------------------------------------------------------- costs of rows


def rival_of_costs(kind, X, y, costs, constraint):
    """Predictor with the single threshold of least cost that keeps a constraint on out-of-fold probabilities."""
    splits = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(X, y)
    score = np.zeros(y.size)
    for train, test in splits:
        score[test] = base_of(kind).fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]
    order = np.argsort(-score, kind="stable")
    act = np.where(y > 0, costs["tp_cost"] - costs["fn_cost"], costs["fp_cost"] - costs["tn_cost"])
    paid = np.append(0.0, np.cumsum(act[order]))
    tp, n = np.append(0, np.cumsum(y[order] > 0)), np.arange(y.size + 1)
    pos = (y > 0).mean()
    missing = constraint.violation((tp[-1] - tp) / y.size, (n - tp) / y.size, pos=pos)
    ends = np.append(np.append(True, np.diff(score[order]) != 0.0), True)
    at = int(np.argmin(np.where((missing <= 0.0) & ends, paid, np.inf)))
    threshold = score[order[at - 1]] if at else np.inf
    model = base_of(kind).fit(X, y)
    return lambda new: (model.predict_proba(new)[:, 1] >= threshold).astype(int)


def of_costs(name, kind, text, repeats):
    """A row: both methods on the splits of a set with costs."""
    X, y, costs = load_costs(name)
    constraint, rows = get_constraint(text), []
    for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(X, y):
        there, here = ({key: each[at] for key, each in costs.items()} for at in (train, test))
        search = CostSearch(base_of(kind), "savings", constraint=text).fit(X.iloc[train], y[train], **there)
        other = rival_of_costs(kind, X.iloc[train], y[train], there, constraint)
        for predicted in (search.predict(X.iloc[test], **here), other(X.iloc[test])):
            errors = ErrorProfile.from_masks(y[test] > 0, predicted > 0)
            value = RowCosts().score(y[test], predicted, **here)
            rows.append([value, constraint.rate.of(errors), constraint.violation(errors.fn, errors.fp, pos=errors.pos)])
    values = np.array(rows).reshape(-1, 2, 3)
    kept = (values[..., 2] <= 0.0).mean(axis=0)
    return {
        "set": name,
        "base": kind,
        "constraint": text,
        "savings csf": f"{100 * values[:, 0, 0].mean():.1f}",
        "rival": f"{100 * values[:, 1, 0].mean():.1f}",
        "difference": difference(values[:, 0, 0] - values[:, 1, 0]),
        "rate csf": f"{values[:, 0, 1].mean():.3f}",
        "rate rival": f"{values[:, 1, 1].mean():.3f}",
        "kept csf": f"{kept[0]:.0%}",
        "kept rival": f"{kept[1]:.0%}",
    }


# ---------------------------------------------------------------- certificates


class Known(ClassifierMixin, BaseEstimator):
    """Classifier whose log-odds are columns of the samples."""

    def __init__(self, n_classes):
        self.n_classes = n_classes

    def fit(self, X, y):
        """Know the classes."""
        self.classes_ = np.arange(self.n_classes)
        return self

    def predict_proba(self, X):
        """Softmax of the columns."""
        return softmax(np.asarray(X)[:, : self.n_classes], axis=1)

    def predict(self, X):
        """Likeliest class."""
        return self.predict_proba(X).argmax(axis=1)


def drawn(n, shares, apart, rng):
    """Classes, and log-odds that are surer than they should be; the last column is an amount."""
    y = rng.choice(len(shares), n, p=shares)
    X = rng.normal(size=(n, len(shares))) + apart * np.eye(len(shares))[y]
    return np.column_stack([1.5 * apart * X + np.log(shares), np.exp(rng.normal(size=n))]), y


THREE = (0.75, 0.22, 0.03)
POPULATIONS = {
    "class of 3 %": (THREE, 2.0, "f1_macro", "recall[2] >= 0.85"),
    "precision": (THREE, 2.5, "f1_macro", "precision[1] >= 0.93"),
    "two demands": (THREE, 2.5, "f1_macro", "recall[2] >= 0.75, precision[1] >= 0.85"),
    "few alerts": (THREE, 2.0, "mcc", "predicted_rate[2] <= 0.03"),
    "costs, recall": ((0.9, 0.1), 1.5, RowCosts(fn=Column(2), fp=0.3), "recall >= 0.85"),
    "costs, two demands": ((0.9, 0.1), 2.0, RowCosts(fn=Column(2), fp=0.3), "precision >= 0.6, recall >= 0.7"),
}


def keeps(search, X, y, text):
    """Whether decisions about a population keep the constraint."""
    predicted, constraint = search.predict(X), get_constraint(text)
    if search.classes_.size == 2:
        errors = ErrorProfile.from_masks(y > 0, predicted > 0)
        return not constraint.violation(errors.fn, errors.fp, pos=errors.pos)
    confusion = confusion_of(y, predicted, search.classes_.size)
    return all(not demand.missing(confusion) for demand in demands_on(constraint, range(search.classes_.size)))


def by_hand(proba, y, level, code, calibrated):
    """Whether thresholds on the probability of a class, from a cautious one on, have an exact test that passes."""
    own = proba[:, code]
    # The most cautious of the thresholds that the other rows suggest: if it fails nothing is signed.
    cut = np.quantile(own[~calibrated & (y == code)], 0.01)
    hits = own[calibrated & (y == code)] >= cut
    return binom.sf(hits.sum() - 1, hits.size, level) <= 1.0 - CONFIDENCE


def certified(name, n_draws, n_samples=1500):
    """A row: shares of searches with a certificate, and with a false one."""
    shares, apart, metric, text = POPULATIONS[name]
    X_all, y_all = drawn(TRUTH, shares, apart, np.random.default_rng(0))
    base, signed, false, values, power = Known(len(shares)).fit(None, None), 0, 0, [], 0
    for seed in range(1, n_draws + 1):
        rng = np.random.default_rng(seed)
        X, y = drawn(n_samples, shares, apart, rng)
        options = {"constraint": text, "confidence": CONFIDENCE, "random_state": seed, "cv": "prefit"}
        search = CostSearch(base, metric, **options).fit(X, y)
        if search.guarantee_.holds:
            signed += 1
            false += not keeps(search, X_all, y_all, text)
            values.append(search.best_score_)
        if text.startswith("recall") and "," not in text:
            level, code = get_constraint(text).level, len(shares) - 1
            power += by_hand(
                base.predict_proba(X), y, level, code, rng.random(y.size) < search.result_.config.held_back
            )
    return {
        "population": name,
        "constraint": text,
        "searches": n_draws,
        "signed": f"{signed / n_draws:.0%}",
        "by hand": f"{power / n_draws:.0%}" if power else "",
        "false": f"{false / n_draws:.1%}",
        "allowed": f"{1 - CONFIDENCE + 2 * np.sqrt(0.09 / n_draws):.1%}",
        "value": f"{np.mean(values):.3f}" if values else "",
    }


# ---------------------------------------------------------------- reviews


MATRIX = CostMatrix([[0, 2, 5], [1, 0, 3], [8, 4, 0]])
CASES = {
    "three classes, at most 15 % wrong": ("f1_macro", GaussianNB(), 3, Review(wrong=0.15)),
    "three classes, a cost": ("f1_macro", GaussianNB(), 3, Review(cost=0.4)),
    "three classes, a cost matrix": (
        CostMatrix([[0, 2, 5], [1, 0, 3], [8, 4, 0]]),
        LogisticRegression(),
        3,
        Review(0.5),
    ),
    "two classes, at most 15 % wrong": ("f1", GaussianNB(), 2, Review(wrong=0.15)),
    "two classes, a cost": ("f1", GaussianNB(), 2, Review(cost=0.4)),
    "two classes, a cost matrix": (CostMatrix([[0, 1], [4, 0]]), LogisticRegression(), 2, Review(cost=0.3)),
}


def sample(n, seed, n_classes):
    """Three normal classes, or the first against the others."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.25, 0.15])
    X = rng.normal(size=(n, 3)) + 1.3 * np.eye(3)[y]
    return X, (y if n_classes == 3 else (y > 0).astype(int))


def reviewed(name, n_fits, n_samples=300):
    """A row: how far the value of reviews is from that on new rows, and how often the interval holds it."""
    metric, base, n_classes, review = CASES[name]
    X_new, truth = sample(20_000, 10**6, n_classes)
    off, held = [], []
    for seed in range(n_fits):
        X, y = sample(n_samples, seed, n_classes)
        options = {"n_trials": 2, "cv": 3, "param_grid": None, "random_state": 0}
        search = CostSearch(base, metric, review=review, **options).fit(X, y)
        answers = search.predict_with_review(X_new)
        final = np.where(answers == "review", truth, answers).astype(int)
        value = search.decision_rule_.value(metric, truth, final, None)
        off.append(search.review_.value - value)
        held.append(search.review_.interval[0] <= value <= search.review_.interval[1])
    return {
        "reviews": name,
        "fits": n_fits,
        "bias": f"{np.mean(off):+.4f} ± {np.std(off) / np.sqrt(n_fits):.4f}",
        "interval holds": f"{np.mean(held):.0%}",
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--certificates", type=int, metavar="N", help="searches of each population")
    parser.add_argument("--reviews", type=int, metavar="N", help="fits of each kind of review")
    parser.add_argument("--repeats", type=int, default=4, help="times five folds")
    parser.add_argument("--base", nargs="+", default=["logistic"], help="logistic, lightgbm")
    parser.add_argument("--only", choices=("classes", "costs"), help="sets of one kind")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.certificates:
        print_table(certified(name, arguments.certificates) for name in POPULATIONS)
    elif arguments.reviews:
        print_table(reviewed(name, arguments.reviews) for name in CASES)
    else:
        for kind in arguments.base:
            if arguments.only != "costs":
                print_table(of_classes(name, X, y, kind, arguments.repeats) for name, X, y in sets())
            if arguments.only != "classes":
                texts = (f"recall >= {RECALL}", "predicted_rate <= 0.05")
                rows = [(name, kind, text) for name in ("bank", "telco", "credit") for text in texts]
                print_table(of_costs(*row, arguments.repeats) for row in rows)
