"""Thresholds by segment: what they gain within a limit of a gap, how often certified gaps are false, and their time.

``python -m tests.benchmarks segments``: Adult by sex, with a recall or selection gap of at most 0.05. A logistic
regression is searched on 6000 rows and judged on 24 000 others, in 24 draws. Beside it, on the same rows: the best
single threshold within the limit on out-of-fold probabilities, the same without a limit, and fairlearn's
ThresholdOptimizer, whose decisions are random and which has no F1, with each objective, and exact parity or ``tol``.
Its rows are left out, with a note, where it is not installed.

``python -m tests.benchmarks segments --certificates N``: how often a gap of at most 0.1 that is certified with a
confidence of 0.9 is false, in N draws of four populations with known scores, and how often one is signed.

``python -m tests.benchmarks segments --time``: seconds of a solve on 10^6 rows, with a sort of the scores as the unit.
"""

import argparse
import time
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import csf
from csf import CostSearch
from csf.metrics import get_constraint, get_metric
from csf.thresholding.segments import SegmentCurves
from tests.benchmarks.data import load_binary
from tests.benchmarks.tables import print_table

__all__ = ["POPULATIONS", "adult", "certified", "seconds"]

# Column of Adult that is 1 for women, in the order of the LIBSVM file.
FEMALE, CHOSEN_ON, JUDGED_ON, LIMIT = 71, 6000, 24_000, 0.05
QUANTITIES = {"recall": "true_positive_rate_parity", "selection_rate": "demographic_parity"}


# ---------------------------------------------------------------- Adult


def f1_and_gap(y, chance, segment, rate):
    """F1 and gap of decisions, or of the chances of a positive one."""
    found = (chance * y).sum()
    counted = (lambda rows: rows & (y == 1)) if rate == "recall" else (lambda rows: rows)
    rates = [chance[counted(segment == each)].mean() for each in np.unique(segment)]
    return 2.0 * found / (chance.sum() + y.sum()), max(rates) - min(rates)


def single_threshold(y, score, segment, rate, limit):
    """The threshold of best F1 whose gap is within a limit on these rows."""
    order = np.argsort(-score, kind="stable")
    hits = np.cumsum(y[order])
    f1 = 2.0 * hits / (np.arange(1, y.size + 1) + y.sum())
    rates = []
    for each in np.unique(segment):
        counted = (segment == each) & ((y == 1) | (rate != "recall"))
        rates.append(np.cumsum(counted[order]) / counted.sum())
    allowed = np.ptp(rates, axis=0) <= limit
    return score[order][np.argmax(np.where(allowed, f1, -1.0))]


def fairlearn_rows(X, y, segment, X_new, y_new, segment_new, rate):
    """F1 and gap of fairlearn's classifiers, by objective and tolerance; none where it is not installed."""
    try:
        from fairlearn.postprocessing import ThresholdOptimizer
    except ImportError:
        return {}
    rows = {}
    for objective in ("accuracy_score", "balanced_accuracy_score"):
        for tol in (None, LIMIT):
            made = ThresholdOptimizer(
                estimator=LogisticRegression(max_iter=1000),
                constraints=QUANTITIES[rate],
                objective=objective,
                predict_method="predict_proba",
                tol=tol,
            ).fit(X, y, sensitive_features=segment)
            chance = made._pmf_predict(X_new, sensitive_features=segment_new)[:, 1]
            rows[f"fairlearn, {objective}, tol={tol}"] = f1_and_gap(y_new, chance, segment_new, rate)
    return rows


def adult(rate, n_draws):
    """Rows of the table of a rate: F1 and gap on judged rows of each method."""
    X, y = load_binary("adult")
    X = X.toarray()
    women, found = X[:, FEMALE] > 0.0, {}
    for draw in range(n_draws):
        rows = np.random.default_rng(draw).permutation(y.size)[: CHOSEN_ON + JUDGED_ON]
        own, new = rows[:CHOSEN_ON], rows[CHOSEN_ON:]
        model = LogisticRegression(max_iter=1000)
        search = CostSearch(model, constraint=f"{rate} gap <= {LIMIT} by sex").fit(X[own], y[own], by=women[own])
        folds = StratifiedKFold(5, shuffle=True, random_state=draw)
        score = cross_val_predict(model, X[own], y[own], cv=folds, method="predict_proba")[:, 1]
        proba = model.fit(X[own], y[own]).predict_proba(X[new])[:, 1]
        methods = {
            "csf, by segment": search.predict(X[new], by=women[new]),
            "one threshold within the limit": proba >= single_threshold(y[own], score, women[own], rate, LIMIT),
            "one threshold, no limit": proba >= single_threshold(y[own], score, women[own], rate, 1.0),
        }
        for name, decided in methods.items():
            found.setdefault(name, []).append(f1_and_gap(y[new], decided * 1.0, women[new], rate))
        random = fairlearn_rows(X[own], y[own], women[own], X[new], y[new], women[new], rate)
        for name, values in random.items():
            found.setdefault(name, []).append(values)
    own = np.array(found["csf, by segment"])[:, 0]
    for name, values in found.items():
        f1, gap = np.array(values).T
        gain = 100.0 * (own - f1)
        error = gain.std(ddof=1) / np.sqrt(n_draws) if n_draws > 1 else np.nan
        yield {
            "limit": f"{rate} gap <= {LIMIT}",
            "method": name,
            "F1": f"{100 * f1.mean():.1f}",
            "csf gains": f"{gain.mean():+.1f} ± {error:.1f}",
            "gap": f"{100 * gap.mean():.1f}",
            "over the limit": f"{np.mean(gap > LIMIT):.0%}",
        }


# ---------------------------------------------------------------- certificates


# Shares of segments, shares of positives in them, and how far the scores of positives are above the others.
POPULATIONS = {
    "two segments": ((0.4, 0.6), (0.15, 0.35), (1.0, 1.6)),
    "three segments": ((0.3, 0.3, 0.4), (0.15, 0.25, 0.4), (1.0, 1.4, 1.7)),
}
TOLERANCE, TRUTH = 0.1, 400_000


def sample(name, n_samples, rng):
    """Truth, scores and segments of a population."""
    shares, positives, shift = (np.array(each) for each in POPULATIONS[name])
    segment = rng.choice(shares.size, n_samples, p=shares)
    y = rng.random(n_samples) < positives[segment]
    return y, rng.normal(size=n_samples) + shift[segment] * y + 0.4 * segment, segment


def certified(name, rate, n_searches, n_samples=8000):
    """A row: how often a certificate is signed, and false, among all searches."""
    y, score, segment = sample(name, TRUTH, np.random.default_rng(99))
    signed, false, f1 = 0, 0, []
    for seed in range(n_searches):
        labels, given, by = sample(name, n_samples, np.random.default_rng(1000 + seed))
        options = {"constraint": f"{rate} gap <= {TOLERANCE} by segment", "confidence": 0.9, "random_state": seed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decision = csf.tune_threshold(labels, given, "f1", by=by, **options)
        if decision.certificate.holds:
            cuts = np.array([decision.thresholds[each] for each in range(len(decision.thresholds))])
            value, gap = f1_and_gap(y, (score >= cuts[segment]) * 1.0, segment, rate)
            signed, false = signed + 1, false + (gap > TOLERANCE)
            f1.append(value)
    return {
        "population": name,
        "certified": f"{rate} gap <= {TOLERANCE}",
        "searches": n_searches,
        "signed": f"{signed / n_searches:.0%}",
        "false": f"{false / n_searches:.1%}",
        "at most": f"{0.1 + 2 * np.sqrt(0.09 / n_searches):.1%}",
        "F1 where signed": f"{100 * np.mean(f1):.1f}" if f1 else "-",
    }


# ---------------------------------------------------------------- time


def seconds(rate, n_segments, n_samples=1_000_000, repeats=5):
    """A row: processor time of a solve, in sorts of the scores."""
    rng = np.random.default_rng(0)
    segment = rng.integers(0, n_segments, n_samples)
    y = rng.random(n_samples) < np.array([0.1, 0.25, 0.4])[segment]
    score = rng.normal(size=n_samples) + np.array([0.7, 1.5, 1.0])[segment] * y + 0.3 * segment
    constraint, metric = get_constraint(f"{rate} gap <= 0.05 by segment"), get_metric("f1")
    steps = {
        "solve": lambda: SegmentCurves.of(y, score, segment, n_segments, None).best(metric, constraint),
        "sort": lambda: np.sort(score),
        "argsort": lambda: np.argsort(score),
    }
    steps["solve"]()
    took = dict.fromkeys(steps, np.inf)
    for _ in range(repeats):
        for name, step in steps.items():
            start = time.process_time()
            step()
            took[name] = min(took[name], time.process_time() - start)
    return {
        "limit": str(constraint),
        "segments": n_segments,
        "solve, s": f"{took['solve']:.3f}",
        "in sorts": f"{took['solve'] / took['sort']:.1f}",
        "in argsorts": f"{took['solve'] / took['argsort']:.1f}",
    }


def main():
    """Print the tables that the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--certificates", type=int, metavar="N", help="searches of each population")
    parser.add_argument("--time", action="store_true", help="time of a solve")
    parser.add_argument("--draws", type=int, default=24, help="draws of Adult")
    options = parser.parse_args()
    if options.time:
        print_table(seconds(rate, n) for rate in ("recall", "selection_rate", "fpr", "precision") for n in (2, 3))
    elif options.certificates:
        print_table(certified(name, rate, options.certificates) for name in POPULATIONS for rate in QUANTITIES)
    else:
        for rate in QUANTITIES:
            print_table(adult(rate, options.draws))
        if find_spec("fairlearn") is None:
            print("fairlearn is not installed, and its rows are left out")


if __name__ == "__main__":
    main()
