"""Whether the numbers that a search gives are true: simulations with known truth, and real sets.

``python -m tests.benchmarks honesty TOPIC --draws N`` with one of the topics

- ``score``: bias of the best and the corrected score, and coverage of the 90 % interval, on simulated scores;
- ``refits``: whether 90 % intervals cover the value of the model that ``fit`` returns, on 16 populations that are known
  or huge, and the bias of both scores; ``--results FILE`` keeps each draw and goes on from there;
- ``folds``: the same on 4 populations of which the default folds are fewer than five;
- ``halves``: mean difference of both to the value on the other half of real sets, for the plain call;
- ``cost``: the time that the correction takes, on Adult;
- ``constraints``: how often ``confidence=0.9`` and the point estimate violate a constraint, and what that costs, on
  simulated scores;
- ``splits``: the same on real sets of 10 000 samples and more;
- ``intervals``: how often ``csf.metric_interval`` covers the F1 of 20 populations, and where ten rows at a time go
  together;
- ``corners``: how often ``csf.metric_interval`` and ``csf.metric_difference`` cover each metric where 1 to 5 of 50
  positives are found, or nearly all, without weights and with weights of .5, 1 and 1.5;
- ``coverage``: how often intervals cover where few rows are dear, groups are of unequal size or weights vary, and the
  bias of corrected values there;
- ``decisions``: bias and coverage of the values of plain decisions, capacities and reviews in seven populations;
- ``few_groups``: how often intervals cover where 15 to 25 groups have positives;
- ``late``: alarms of monitors without a change where labels of one class come late, and delays after a change;
- ``sequences``: how often intervals of monitors miss the value at any of 30 looks;
- ``kinds``: alarms of monitors of classes, costs of rows and labels, without a change and after one;
- ``promises``: ``late``, ``sequences``, ``kinds``, ``coverage`` and the layouts of ``certificates``, few draws each;
- ``bound``: how often ``upper_bound_`` covers the best value of a dense grid of levels, and by how much it is above;
- ``plain_bound``: the same for the plain call.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from csf import CostSearch, ErrorProfile, metric_difference, metric_interval
from csf.evaluate import ScoreStore, assess
from csf.metrics import METRICS, Constrained, FBeta, get_constraint, get_metric
from csf.thresholding import sweep
from csf.thresholding.certificates import certify
from csf.thresholding.exact_tests import ScoredSamples
from notebooks.experiments.choices import family
from tests.benchmarks.bases import paper_search
from tests.benchmarks.certificates import layouts
from tests.benchmarks.coverage import coverage, few_groups
from tests.benchmarks.data import all_sets, load_binary
from tests.benchmarks.decisions import decisions
from tests.benchmarks.refits import LARGE, refits
from tests.benchmarks.tables import print_table
from tests.benchmarks.watching import late, sequences
from tests.benchmarks.watching_kinds import kinds

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
# What is maximised under a constraint on a rate, and its side.
SIDES = {
    "precision": ("recall", ">="),
    "recall": ("specificity", ">="),
    "fpr": ("recall", "<="),
    "predicted_positive_rate": ("recall", "<="),
}


def _found(t, pos, d):
    return pos * norm.sf(t - d) + (1.0 - pos) * norm.sf(t)


def _f1(t, pos, d):
    return 2.0 * pos * norm.sf(t - d) / (pos + _found(t, pos, d))


def simulated(seed, n_samples, pos, distances, shared=0.5, equal_costs=()):
    """Store of trials whose scores are normal within both classes and correlated."""
    rng = np.random.default_rng([seed, n_samples, len(distances)])
    is_pos = np.arange(n_samples) < max(rng.binomial(n_samples, pos), 2)
    common, store = rng.normal(size=n_samples), ScoreStore(is_pos)
    for number, distance in enumerate(distances):
        score = np.sqrt(shared) * common + np.sqrt(1.0 - shared) * rng.normal(size=n_samples) + distance * is_pos
        best = sweep(is_pos, score).best("f1")
        store.add(
            (0, number), score=score, threshold=best.threshold, value=best.value, equal_costs=number in equal_costs
        )
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
    """Rows of the topic: the plain call on one half of each set, judged on the other."""
    told = {}
    for name, X, y in all_sets(20_000):
        # What chance adds is small where samples are many, and searches of them take their time.
        for seed in range(n_draws if y.size <= 3000 else n_draws // 5 + 1):
            parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            search = CostSearch(LinearSVC(), random_state=seed).fit(parts[0], parts[2])
            test, (low, high) = search.score(parts[1], parts[3]), search.score_interval_
            row = search.best_score_ - test, search.corrected_score_ - test, low <= test <= high
            told.setdefault(name, []).append(row)
        yield _row_of_halves(name, told[name])
    means = [np.mean(rows, axis=0) for rows in told.values()]
    families = {}
    for name, mean in zip(told, means):
        families.setdefault(family(name), []).append(mean)
    yield _row_of_halves(f"mean of {len(means)} sets", means)
    yield _row_of_halves(f"mean of {len(families)} families", [np.mean(rows, axis=0) for rows in families.values()])


def _row_of_halves(name, told):
    best, corrected, inside = np.mean(told, axis=0)
    error = np.std(told, axis=0) / np.sqrt(len(told))
    return {
        "set": name,
        "draws": len(told),
        "best - test": f"{100 * best:+.2f} ± {100 * error[0]:.2f}",
        "corrected - test": f"{100 * corrected:+.2f} ± {100 * error[1]:.2f}",
        "test inside": f"{inside:.0%}",
    }


def cost(n_draws):
    """Rows of the topic: seconds of processor time."""
    X, y = load_binary("adult")
    for name, make in {"10 trials": paper_search, "plain call": CostSearch}.items():
        times = []
        for _ in range(n_draws + 1):
            start = time.process_time()
            search = make(LinearSVC()).fit(X, y)
            fitted = time.process_time()
            assert search.corrected_score_ < search.score_interval_[1]
            assert search.threshold_interval_[0] <= search.best_threshold_
            times.append((fitted - start, time.process_time() - fitted))
        # The first one compiles.
        search_time, correction = np.median(times[1:], axis=0)
        yield {
            "search": name,
            "seconds": f"{search_time:.2f}",
            "correction": f"{correction:.2f}",
            "share": f"{correction / search_time:.0%}",
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
                found = certify(ScoredSamples(is_pos, given), aim, 0.9)
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


def splits(n_draws):
    """Rows of the topic: constraints on real sets, searched on 2000 samples and judged on all others."""
    large = [(name, X, y) for name, X, y in all_sets(40_000) if y.size >= 10_000]
    for rate in SIDES:
        told = []
        for _, X, y in large:
            level = _reachable(X, y, rate)
            metric, side = (
                ("specificity", ">=") if rate == "recall" else ("recall", ">=" if rate == "precision" else "<=")
            )
            for seed in range(n_draws):
                parts = train_test_split(X, y, train_size=2000, stratify=y, random_state=seed)
                told.append(_split(parts, metric, get_constraint(f"{rate} {side} {level:.3g}")))
        broken, passed, value, point, point_value = np.nanmean(told, axis=0)
        yield {
            "constraint": rate,
            "sets": len(large),
            "splits": len(told),
            "violated": f"{broken:.1%} ± {np.sqrt(0.09 / len(told)):.1%}",
            "passed": f"{passed:.0%}",
            "value": f"{value:.3f}",
            "point estimate violated": f"{point:.0%}",
            "its value": f"{point_value:.3f}",
        }


def _reachable(X, y, rate):
    """Rate at the cut of the best F1 of a model of 2000 samples: neither easy nor out of reach."""
    parts = train_test_split(X, y, train_size=2000, stratify=y, random_state=10_000)
    score = LinearSVC().fit(parts[0], parts[2]).decision_function(parts[1])
    best = sweep(parts[3] > 0, score).best("f1")
    return get_constraint(f"{rate} {'<=' if rate in ('fpr', 'predicted_positive_rate') else '>='} 0.5").quantity.of(
        best.profile
    )


def _split(parts, metric, constraint):
    """Whether the classifier with confidence misses the constraint and has passed, and its value; then the other's."""
    row = []
    for confidence in (0.9, None):
        options = {"constraint": constraint, "n_trials": 3, "random_state": 0, "confidence": confidence}
        search = paper_search(LinearSVC(), metric, **options).fit(parts[0], parts[2])
        profile = ErrorProfile.from_masks(parts[3] > 0, search.predict(parts[1]) > 0)
        broken = constraint.violation(profile.fn, profile.fp, pos=profile.pos) > 0
        passed = search.feasible_
        value = get_metric(metric).of(profile)
        row += [broken and passed, passed, value if passed else np.nan] if confidence else [broken, value]
    return row


# Rows for each positive, and how far the log-odds of the rows of a group go together.
_ROWS, _TOGETHER = 8, 0.8


def population(rng, n_positives, f1, group):
    """Truth and decisions with as many false positives as false negatives, in groups whose errors go together."""
    tilt = np.repeat(_TOGETHER * rng.normal(size=_ROWS * n_positives // group), group) * (group > 1)
    y = rng.random(tilt.size) < 1.0 / (1.0 + (_ROWS - 1) * np.exp(-0.5 * tilt))
    right = 1.0 / (1.0 + np.exp(-(np.log(f1 / (1.0 - f1)) + tilt)))
    found = np.where(y, rng.random(tilt.size) < right, rng.random(tilt.size) < (1.0 - right) / (_ROWS - 1))
    return y, found, np.arange(tilt.size) // group


def intervals(n_draws):
    """Rows of the topic."""
    for group in (1, 10):
        for n_positives in (10, 20, 50, 100, 200):
            for f1 in (0.3, 0.6, 0.9, 0.98):
                y, found, _ = population(np.random.default_rng(0), 250_000, f1, group)
                truth, told = FBeta().score(y, found), []
                for seed in range(n_draws):
                    y, found, groups = population(np.random.default_rng([seed, group]), n_positives, f1, group)
                    if y.any():
                        low, high = metric_interval(y, found, groups=groups if group > 1 else None)
                        told.append((low <= truth <= high, high - low))
                held, width = np.mean(told, axis=0)
                together = {"positives": n_positives, "F1": f"{truth:.2f}", "rows of a group": group}
                yield {**together, "draws": len(told), "covers": f"{held:.1%}", "width": f"{width:.3f}"}


# Rates at which a method finds positives and 950 negatives, those of another one, and how much both have in common.
CORNERS = [((tpr, fp / 950), (tpr, fp / 950), 0.5) for tpr in (0.02, 0.06, 0.1) for fp in (1, 5, 50)]
CORNERS += [((0.98, 5 / 950), (0.98, 5 / 950), 0.5), ((0.6, 0.03), (0.6, 0.03), 0.9), ((0.8, 0.05), (0.5, 0.02), 0.6)]


def corners(n_draws):
    """Rows of the topic."""
    for name in METRICS:
        metric = get_metric(name)
        for weights in (None, (0.5, 1.0, 1.5)):
            told = np.array([_corner(metric, weights, n_draws, *corner) for corner in CORNERS])
            means, least = told.mean(axis=0), told.min(axis=0)
            yield {
                "metric": name,
                "weights": "none" if weights is None else "0.5 to 1.5",
                "draws": n_draws,
                "interval covers": f"{means[0]:.1%}",
                "at least": f"{least[0]:.1%}",
                "difference covers": f"{means[1]:.1%}",
                "and at least": f"{least[1]:.1%}",
            }


def _corner(metric, weights, n_draws, rates, others, common):
    """How often the interval and the difference cover the value of a method and its gain over another."""
    rng, held, pos = np.random.default_rng(0), [], 0.05
    truth, other = (metric.value((1 - tpr) * pos, fpr * (1 - pos), pos=pos) for tpr, fpr in (rates, others))
    for _ in range(n_draws):
        y, shared = rng.random(1000) < pos, rng.random(1000)
        chances = (np.where(rng.random(1000) < common, shared, rng.random(1000)) for _ in range(2))
        a, b = (chance < np.where(y, *each) for chance, each in zip(chances, (rates, others)))
        weight = None if weights is None else rng.choice(weights, 1000)
        low, high = metric_interval(y, a, metric, sample_weight=weight)
        gain = metric_difference(y, a, b, metric, sample_weight=weight)
        held.append((low <= truth <= high, gain.low <= truth - other <= gain.high))
    return np.mean(held, axis=0)


def bound(n_draws):
    """Rows of the topic: ``n_draws`` levels of the dense grid."""
    sets, kinds = all_sets(12_000), [(name, k) for name in ("cone", "support", "grid") for k in (4, 7, 10)]
    for metric in ("f1", "f2", "jaccard", "gmean"):
        for base_name, base in BASES.items():
            told = {kind: [] for kind in kinds}
            for _, X, y in sets:
                best = _best_of_sweep(paper_search(base, metric, "grid", n_trials=n_draws, refit=False).fit(X, y))
                for strategy, k in told:
                    search = paper_search(base, metric, strategy, n_trials=k, refit=False).fit(X, y)
                    told[strategy, k].append((search.upper_bound_ - best, search.bound_margin_))
            yield from (_row_of_bound(metric, base_name, *kind, found) for kind, found in told.items())


def plain_bound(n_draws):
    """Rows of the topic: the plain call, against ``n_draws`` levels for each of its seven values of C."""
    for metric in ("f1", "gmean"):
        for base_name in ("LinearSVC", "logistic"):
            told = []
            for _, X, y in all_sets(12_000):
                options = {"refit": False, "random_state": 0}
                search = CostSearch(BASES[base_name], metric, **options).fit(X, y)
                dense = CostSearch(BASES[base_name], metric, "grid", n_trials=n_draws, threshold="tune", **options)
                best = _best_of_sweep(dense.fit(X, y))
                told.append((search.upper_bound_ - best, search.bound_margin_))
            yield _row_of_bound(metric, base_name, "plain call", 42, told)


def _best_of_sweep(dense):
    return max(trial.attained for trial in dense.trials_ if trial.attained is not None)


def _row_of_bound(metric, base, strategy, k, told):
    above, margin = np.array(told).T
    return {
        "metric": metric,
        "base": base,
        "strategy": strategy,
        "trials": k,
        "sets": len(told),
        "covers": f"{np.mean(above >= -1e-9):.0%}",
        "mean slack": f"{above.mean():+.4f}",
        "without margin": f"{np.mean(above - margin >= -1e-9):.0%}",
        "worst miss": f"{max(-above.min(), 0.0):.3f}",
    }


def folds(n_draws, path=None):
    """Rows of the topic."""
    return refits(n_draws, path, LARGE)


_ALL = (
    score,
    refits,
    folds,
    halves,
    cost,
    constraints,
    splits,
    intervals,
    corners,
    coverage,
    decisions,
    few_groups,
    late,
    sequences,
    kinds,
    bound,
    plain_bound,
)
TOPICS = {topic.__name__: topic for topic in _ALL}
# What the guide promises, with as many draws as some minutes allow.
PROMISES = {late: 1000, sequences: 30, kinds: 100, coverage: 10, layouts: 10}


def main():
    """Print the table of a topic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", choices=[*TOPICS, "promises"])
    parser.add_argument("--draws", type=int, default=100, help="simulations, splits or levels (100)")
    parser.add_argument("--results", help="file of the draws of refits and folds, which goes on from it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.topic == "promises":
        for topic, n_draws in PROMISES.items():
            print_table(topic(n_draws))
        return
    more = {"path": options.results} if options.topic in ("refits", "folds") else {}
    print_table(TOPICS[options.topic](options.draws, **more))


if __name__ == "__main__":
    main()
