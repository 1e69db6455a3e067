"""Whether the numbers that a search gives are true: simulations with known truth, and real sets.

``python -m tests.benchmarks honesty TOPIC --draws N`` with one of the topics

- ``score``: bias of the best and the corrected score, and coverage of the 90 % interval, on simulated scores;
- ``halves``: mean difference of both to the value on the other half of real sets, and the time that they take;
- ``constraints``: how often ``confidence=0.9`` and the point estimate violate a constraint, and what that costs;
- ``gain``: how often equal costs are kept where no trial is better;
- ``ceiling``: how often ``upper_bound_`` covers the best value of a dense grid of levels, and by how much it is above.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import LinearSVC

from csf.metrics import Constrained, FBeta, get_constraint, get_metric
from csf.resampling import ScoreStore, assess
from csf.search.gain_rule import GainRule
from csf.search.guarantee import certify
from csf.thresholding import sweep
from tests.benchmarks.bases import paper_search
from tests.benchmarks.data import BINARY_SETS, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["TOPICS"]

BASES = {
    "LinearSVC": LinearSVC(),
    "hinge": LinearSVC(loss="hinge", max_iter=20_000),
    "logistic": LogisticRegression(max_iter=1000),
}
# How far positives lie above negatives, in standard deviations, for each trial.
TRIALS = {"1": [1.5], "11 equal": [1.5] * 11, "5 unequal": [1.0, 1.2, 1.4, 1.6, 1.5]}
# Metric, constraint, distance of the classes, true rate at a threshold.
DEMANDS = [
    ("recall", "precision >= 0.7", 2.5, lambda t, pos, d: pos * norm.sf(t - d) / _found(t, pos, d)),
    ("recall", "fpr <= 0.05", 2.0, lambda t, pos, d: norm.sf(t)),
    ("recall", "predicted_positive_rate <= 0.15", 2.0, lambda t, pos, d: _found(t, pos, d)),
    ("specificity", "recall >= 0.8", 2.0, lambda t, pos, d: norm.sf(t - d)),
]


def _found(t, pos, d):
    return pos * norm.sf(t - d) + (1.0 - pos) * norm.sf(t)


def _f1(t, pos, d):
    return 2.0 * pos * norm.sf(t - d) / (pos + _found(t, pos, d))


def simulated(seed, n_samples, pos, distances, shared=0.5, neutral=()):
    """Store of trials whose scores are normal within both classes and correlated."""
    rng = np.random.default_rng([seed, n_samples, len(distances)])
    is_pos = np.arange(n_samples) < max(rng.binomial(n_samples, pos), 2)
    common, store = rng.normal(size=n_samples), ScoreStore(is_pos)
    for number, distance in enumerate(distances):
        score = np.sqrt(shared) * common + np.sqrt(1.0 - shared) * rng.normal(size=n_samples) + distance * is_pos
        best = sweep(is_pos, score).best("f1")
        store.add((0, number), score=score, threshold=best.threshold, value=best.value, neutral=number in neutral)
    return store


def score(n_draws):
    """Rows of the topic."""
    for n_samples, pos in [(200, 0.02), (200, 0.1), (200, 0.4), (2000, 0.02), (2000, 0.2), (20_000, 0.1)]:
        for name, distances in TRIALS.items():
            told = []
            for seed in range(n_draws if n_samples <= 2000 else n_draws // 4 + 1):
                store = simulated(seed, n_samples, pos, distances)
                row = min(store, key=lambda row: row.rank)
                truth = _f1(row.threshold, pos, distances[row.key[1]])
                found = assess(store, FBeta(), row.key)
                low, high = found.score_interval
                told.append((row.value - truth, found.corrected_score - truth, low <= truth <= high))
            best, corrected, inside = np.nanmean(told, axis=0)
            errors = np.nanstd(told, axis=0) / np.sqrt(len(told))
            yield {
                "samples": n_samples,
                "positives": f"{pos:.0%}",
                "trials": name,
                "best - truth": f"{100 * best:+.2f} ± {100 * errors[0]:.2f}",
                "corrected - truth": f"{100 * corrected:+.2f} ± {100 * errors[1]:.2f}",
                "coverage": f"{inside:.1%}",
            }


def halves(n_draws):
    """Rows of the topic."""
    for name in BINARY_SETS:
        X, y = load_binary(name)
        told, times = [], []
        for seed in range(n_draws):
            parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            start = time.process_time()
            search = paper_search(LinearSVC(), param_grid={"C": [0.1, 1.0, 10.0]}).fit(parts[0], parts[2])
            fitted = time.process_time()
            corrected, (low, high) = search.corrected_score_, search.score_interval_
            times.append((time.process_time() - fitted) / (fitted - start))
            test = search.score(parts[1], parts[3])
            told.append((search.best_score_ - test, corrected - test, low <= test <= high))
        best, corrected, inside = np.mean(told, axis=0)
        error = np.std(told, axis=0) / np.sqrt(len(told))
        yield {
            "set": name,
            "best - test": f"{100 * best:+.2f} ± {100 * error[0]:.2f}",
            "corrected - test": f"{100 * corrected:+.2f} ± {100 * error[1]:.2f}",
            "test inside": f"{inside:.0%}",
            "time / search": f"{np.median(times):.0%}",
        }


def constraints(n_draws):
    """Rows of the topic."""
    for n_samples, pos in [(1000, 0.1), (5000, 0.1), (2000, 0.3)]:
        for metric, constraint, distance, rate in DEMANDS:
            aim, told = Constrained(get_metric(metric), get_constraint(constraint)), []
            sign = 1.0 if aim.constraint.side == ">=" else -1.0
            for seed in range(n_draws):
                rng = np.random.default_rng([seed, n_samples])
                is_pos = rng.random(n_samples) < pos
                given = rng.normal(size=n_samples) + distance * is_pos
                at = int(0.7 * n_samples)
                none = np.zeros(n_samples - at, dtype=bool)
                found = certify(sweep(is_pos[:at], given[:at]), aim, 0.9, is_pos[at:], none, given[at:])
                point = sweep(is_pos, given).best(aim, aim.constraint).threshold
                broken = [sign * (rate(t, pos, distance) - aim.constraint.level) < 0 for t in (found.threshold, point)]
                own = [norm.sf(t - distance) if metric == "recall" else norm.cdf(t) for t in (found.threshold, point)]
                told.append(
                    (found.holds and broken[0], found.holds, own[0] if found.holds else np.nan, *broken[1:], own[1])
                )
            broken, passed, value, point, point_value = np.nanmean(told, axis=0)
            yield {
                "samples": n_samples,
                "positives": f"{pos:.0%}",
                "metric": metric,
                "constraint": constraint,
                "violated": f"{broken:.1%} ± {np.sqrt(0.09 / n_draws):.1%}",
                "passed": f"{passed:.0%}",
                "value": f"{value:.3f}",
                "point estimate violated": f"{point:.0%}",
                "its value": f"{point_value:.3f}",
            }


def gain(n_draws):
    """Rows of the topic."""
    for n_samples, pos, shared in [(300, 0.1, 0.8), (1000, 0.2, 0.5), (1000, 0.05, 0.95)]:
        for n_others in (1, 11, 66):
            stores = (simulated(seed, n_samples, pos, [1.5] * (1 + n_others), shared, (0,)) for seed in range(n_draws))
            kept = [GainRule().choose(store, "f1").key == (0, 0) for store in stores]
            yield {
                "samples": n_samples,
                "positives": f"{pos:.0%}",
                "correlation": shared,
                "other trials": n_others,
                "equal costs kept": f"{np.mean(kept):.0%}",
            }


def ceiling(n_draws):
    """Rows of the topic: ``n_draws`` levels of the dense grid."""
    for metric in ("f1", "f2", "jaccard", "gmean"):
        for base_name, base in BASES.items():
            told = {(strategy, k): [] for strategy in ("cone", "support", "grid") for k in (4, 7, 10)}
            for name in BINARY_SETS:
                X, y = load_binary(name)
                X, y = minmax_scale(X.toarray() if hasattr(X, "toarray") else X)[:12_000], y[:12_000]
                dense = paper_search(base, metric, "grid", n_trials=n_draws, refit=False).fit(X, y)
                best = max(trial.attained for trial in dense.trials_ if trial.attained is not None)
                for strategy, k in told:
                    search = paper_search(base, metric, strategy, n_trials=k, refit=False).fit(X, y)
                    told[strategy, k].append((search.upper_bound_ - best, search.bound_margin_))
            for (strategy, k), found in told.items():
                above, margin = np.array(found).T
                yield {
                    "metric": metric,
                    "base": base_name,
                    "strategy": strategy,
                    "trials": k,
                    "covers": f"{np.mean(above >= -1e-9):.0%}",
                    "mean slack": f"{above.mean():+.4f}",
                    "without margin": f"{np.mean(above - margin >= -1e-9):.0%}",
                    "worst miss": f"{max(-above.min(), 0.0):.3f}",
                }


TOPICS = {topic.__name__: topic for topic in (score, halves, constraints, gain, ceiling)}


def main():
    """Print the table of a topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", choices=TOPICS)
    parser.add_argument("--draws", type=int, default=100, help="simulations, splits or levels (100)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_table(TOPICS[options.topic](options.draws))


if __name__ == "__main__":
    main()
