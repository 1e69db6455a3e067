"""How often what ``confidence=`` signs is false: searches of simulated data whose true rates are known by formula.

``python -m tests.benchmarks certificates --draws N``: for each problem the share of N draws in which a threshold was
signed that violates the constraint (at most 10 % plus two standard errors are promised), how often one was signed, what
it finds, and how often the best threshold of the held-out scores of the same search violates the constraint.

The last rows show what the promise is not: where no threshold reaches the level all that is signed is false, and who
tries seeds until one signs has a false one more often than was promised.

``python -m tests.benchmarks certificates --layouts --draws N``: for given scores whether equal rows, rows of
lognormal weights, equal groups, and groups of unequal size are signed alike. Weighted rows are as many as have the same
effective size, ``sum(w)**2 / sum(w**2)``, and so are the groups of unequal size, with the same number of rows.

``python -m tests.benchmarks certificates --bands --draws N``: the share of N samples of scores in which some bound of
`csf.certify` is false, and the rates at the thresholds where demands are certain.
"""

import argparse
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import norm
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

import csf
from csf import CostSearch
from csf.metrics import Constrained, Constraint, MeanCost, Rate, get_constraint, get_metric
from csf.thresholding.certificates import certify
from csf.thresholding.exact_tests import ScoredSamples
from tests.benchmarks.tables import print_table

__all__ = ["KEPT", "PROBLEMS", "QUICK", "LinearSVC", "Problem", "replace"]

CONFIDENCE = 0.9
WIDTH = 4
# What makes a search quick; the plain call has 42 candidates and stable thresholds.
QUICK = {"param_grid": None, "strategy": "ladder", "n_trials": 2, "cv": 3, "threshold": "tune"}
# Cells of features that are rounded to whole numbers.
CELLS = np.arange(-7, 11)


class FalseDiscoveryRate(Rate):
    """Share of false alarms among those found: a rate that csf does not come with."""

    ones, zeros = ("fp",), ("tp",)


@dataclass(frozen=True)
class Problem:
    """Normal classes that lie apart along the diagonal, what is asked of them, and how samples are weighted."""

    name: str
    n_samples: int
    pos: float
    constraint: object
    metric: str = "recall"
    distance: float = 2.0
    # "one", "20 : 1", "easy 20 : 1", "lognormal", "lognormal along the score"
    weights: str = "one"
    rounded: bool = False
    # Share of positives that are labelled negative: no threshold has a precision above 1 minus it.
    flipped: float = 0.0
    prefit: bool = False
    options: dict = field(default_factory=lambda: QUICK)
    # Seeds that are tried until one signs.
    seeds: int = 1

    @property
    def demand(self):
        """The constraint as an object."""
        return get_constraint(self.constraint)

    def draw(self, rng):
        """Samples, labels and weights."""
        if self.weights.endswith("20 : 1"):
            # What was subsampled: the population has 20 times as many of the negatives that were left out.
            return self._subsampled(rng)
        y = rng.random(self.n_samples) < self.pos
        X = self._features(rng, y)
        weight = None
        if self.weights == "lognormal":
            weight = np.exp(rng.normal(size=y.size))
        elif self.weights == "lognormal along the score":
            weight = np.exp(X.sum(axis=1) / np.sqrt(WIDTH))
        return X, y & (rng.random(y.size) >= self.flipped), weight

    def _features(self, rng, y):
        X = rng.normal(size=(y.size, WIDTH)) + self.distance / np.sqrt(WIDTH) * y[:, None]
        return np.round(X[:, :2]) if self.rounded else X

    def _subsampled(self, rng):
        y = rng.random(20 * self.n_samples) < self.pos
        X = self._features(rng, y)
        # All negatives, or those that are easily told.
        many = ~y if self.weights == "20 : 1" else ~y & (X.sum(axis=1) / np.sqrt(WIDTH) < 1.0)
        kept = np.flatnonzero(~many | (rng.random(y.size) < 0.05))[: self.n_samples]
        return X[kept], y[kept], np.where(many[kept], 20.0, 1.0)

    def truth(self, search, threshold):
        """Errors (fn, fp) and share of positives on the population of a classifier, by formula."""
        found_neg, found_pos = self._found(search.best_estimator_, threshold)
        pos = self.pos
        if self.weights == "lognormal along the score":
            # Mean weights of the two normal classes, but for a factor.
            pos = pos * np.exp(self.distance) / (pos * np.exp(self.distance) + 1.0 - pos)
        fn, fp = pos * (1.0 - found_pos), (1.0 - pos) * found_neg
        flipped = self.flipped * pos
        return fn * (1.0 - self.flipped), fp + flipped * found_pos, pos - flipped

    def _found(self, model, threshold):
        """Shares of the two classes that a linear model finds."""
        w, b = model.coef_.ravel(), model.intercept_.item()
        if self.rounded:
            edges = np.concatenate([[-np.inf], CELLS[:-1] + 0.5, [np.inf]])
            # Decided by the model itself: scores of samples lie on the thresholds.
            cells = np.stack(np.meshgrid(CELLS, CELLS, indexing="ij"), axis=-1).reshape(-1, 2)
            found = model.decision_function(cells) >= threshold
            means = 0.0, self.distance / np.sqrt(WIDTH)
            chances = [np.diff(norm.cdf(edges - mean)) for mean in means]
            return tuple(float(np.outer(one, one).ravel() @ found) for one in chances)
        # Weights that grow as exp(u x) along a direction of length 1 move a normal class by 1 along it.
        tilt = w.sum() / np.sqrt(WIDTH) if self.weights == "lognormal along the score" else 0.0
        shift = self.distance / np.sqrt(WIDTH) * w.sum()
        return tuple(norm.sf((threshold - b - tilt - place) / np.linalg.norm(w)) for place in (0.0, shift))

    def search(self, rng):
        """A search that signed, or the last one that did not."""
        X, y, weight = self.draw(rng)
        base, options = LinearSVC(), self.options
        if self.prefit:
            known = self.draw(rng)
            base = FrozenEstimator(base.fit(*known[:2], sample_weight=known[2]))
            options = {"cv": "prefit", "threshold": "tune"}
        for seed in range(self.seeds):
            search = CostSearch(
                base,
                self.metric,
                constraint=self.demand,
                confidence=CONFIDENCE,
                random_state=np.random.RandomState(rng.integers(2**31) if seed == 0 else seed),
                **options,
            )
            if search.fit(X, y, sample_weight=weight).guarantee_.holds:
                break
        return search

    def told(self, seed):
        """Whether a false threshold was signed, whether one was, its value; whether the point estimate is false."""
        search = self.search(np.random.default_rng([seed, self.n_samples]))
        (fn, fp, pos), signed = self.truth(search, search.best_threshold_), search.guarantee_.holds
        false = self.demand.violation(fn, fp, pos=pos) > 0.0
        metric = get_metric(self.metric)
        best = search.held_out_curve().best(metric, self.demand).threshold
        fn_best, fp_best, pos = self.truth(search, best)
        missed = self.demand.violation(fn_best, fp_best, pos=pos) > 0.0
        return signed and false, signed, metric.value(fn, fp, pos=pos) if signed else np.nan, missed


# Rows of an equal group, mean rows of an unequal one (geometric), and the spread of logarithmic weights.
ROWS, MEAN_ROWS, SPREAD = 9, 5, 0.8
LAYOUTS = ("equal rows", "lognormal weights", "equal groups", "unequal groups")


@dataclass(frozen=True)
class Scores:
    """Normal scores of two classes, whose groups differ in the share of positives and in the score."""

    n_rows: int
    pos: float
    constraint: object
    metric: str = "precision"
    distance: float = 2.5

    def draw(self, rng, n_rows, layout):
        """Samples of a part."""
        n_rows = int(n_rows * np.exp(SPREAD**2)) if layout == "lognormal weights" else n_rows
        sizes = np.ones(n_rows, dtype=int)
        if layout == "equal groups":
            sizes = np.full(n_rows // ROWS, ROWS)
        elif layout == "unequal groups":
            sizes = rng.geometric(1.0 / MEAN_ROWS, n_rows // MEAN_ROWS)
        groups = np.repeat(np.arange(sizes.size), sizes)
        tilt = rng.normal(size=sizes.size)[groups]
        y = rng.random(groups.size) < 1.0 / (1.0 + np.exp(-np.log(self.pos / (1.0 - self.pos)) - 0.5 * tilt))
        score = rng.normal(size=groups.size) + self.distance * y + 0.3 * tilt
        weight = np.exp(SPREAD * rng.normal(size=y.size)) if layout == "lognormal weights" else None
        return ScoredSamples(y, score, weight, None, groups if layout.endswith("groups") else None)


SCORES = [
    Scores(1000, 0.2, "precision >= 0.7", "recall", 2.0),
    Scores(3000, 0.05, "precision >= 0.5", "recall"),
    Scores(9000, 0.05, "precision >= 0.5", "recall"),
    Scores(4000, 0.05, "recall >= 0.7", "specificity"),
    Scores(4000, 0.02, "fpr <= 0.03", "recall"),
    Scores(2000, 0.1, "f1 >= 0.5"),
    Scores(4000, 0.02, "f1 >= 0.4", distance=3.0),
    Scores(2000, 0.1, Constraint(MeanCost(5.0, 1.0), "<=", 0.25)),
]


def layouts(n_draws):
    """Rows of the table of layouts."""
    limit = 1.0 - CONFIDENCE + 2.0 * np.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / n_draws)
    for each in SCORES:
        aim, demand = (
            Constrained(get_metric(each.metric), get_constraint(each.constraint)),
            get_constraint(each.constraint),
        )
        many = each.draw(np.random.default_rng(99), 500_000, "equal rows")
        for layout in LAYOUTS:
            told = []
            for seed in range(n_draws):
                rng = np.random.default_rng([seed, 5])
                test = certify(each.draw(rng, each.n_rows, layout), aim, CONFIDENCE)
                found = many.predicted(test.threshold)
                fn, fp, pos = (many.is_pos & ~found).mean(), (~many.is_pos & found).mean(), many.is_pos.mean()
                false = test.holds and demand.violation(fn, fp, pos=pos) > 0.0
                told.append((test.holds, false, aim.metric.value(fn, fp, pos=pos) if test.holds else np.nan))
            signed, false, value = np.nanmean(told, axis=0)
            yield {
                "constraint": str(demand),
                "rows": each.n_rows,
                "positives": f"{each.pos:.0%}",
                "layout": layout,
                "signed": f"{signed:.0%}",
                "violated": f"{false:.1%}",
                f"at most {limit:.1%}": "yes" if false <= limit else "no",
                "metric": f"{value:.3f}",
            }


PLAIN = {"threshold": "stable"}
FDR = Constraint(FalseDiscoveryRate(), "<=", 0.3)
THREE = "precision >= 0.7, fpr <= 0.08, predicted_positive_rate <= 0.3"
ALONG = "lognormal along the score"
KEPT = [
    Problem("precision", 1000, 0.2, "precision >= 0.7"),
    Problem("recall", 1000, 0.2, "recall >= 0.8", "specificity"),
    Problem("fpr", 1000, 0.2, "fpr <= 0.05"),
    Problem("share found", 1000, 0.2, "predicted_positive_rate <= 0.2"),
    Problem("150 samples", 150, 0.3, "precision >= 0.7"),
    Problem("150 samples, recall", 150, 0.3, "recall >= 0.7", "precision"),
    Problem("150 samples, 42 candidates", 150, 0.3, "precision >= 0.7", options=PLAIN),
    Problem("42 candidates", 600, 0.2, "fpr <= 0.1", "f1", options=PLAIN),
    Problem("42 candidates, weak", 800, 0.3, "precision >= 0.5", distance=1.0, options=PLAIN),
    Problem("three constraints", 1500, 0.2, THREE, distance=2.5),
    Problem("a rate of one's own", 1000, 0.2, FDR),
    Problem("ties", 1000, 0.2, "precision >= 0.7", distance=3.0, rounded=True),
    Problem("ties, fpr", 1000, 0.2, "fpr <= 0.1", rounded=True),
    Problem("fitted before", 1000, 0.2, "precision >= 0.7", prefit=True),
    Problem("negatives 20 : 1", 2000, 0.1, "precision >= 0.6", distance=3.0, weights="20 : 1"),
    Problem("negatives 20 : 1, fpr", 1000, 0.1, "fpr <= 0.05", weights="20 : 1"),
    Problem("easy negatives 20 : 1", 2000, 0.1, "precision >= 0.5", distance=3.0, weights="easy 20 : 1"),
    Problem("easy negatives 20 : 1, fpr", 2000, 0.1, "fpr <= 0.1", distance=3.0, weights="easy 20 : 1"),
    Problem("lognormal weights", 2000, 0.3, "precision >= 0.6", distance=2.5, weights="lognormal"),
    Problem("lognormal weights, few found", 1200, 0.25, "precision >= 0.7", distance=2.5, weights="lognormal"),
    Problem("lognormal weights, fpr", 2000, 0.2, "fpr <= 0.2", weights="lognormal"),
    Problem("lognormal along the score", 3000, 0.05, "precision >= 0.7", distance=2.5, weights=ALONG),
    Problem("lognormal along the score, fpr", 1000, 0.2, "fpr <= 0.2", weights=ALONG),
    Problem("lognormal, 150 samples", 150, 0.6, "recall >= 0.3", "precision", weights="lognormal"),
    Problem("f1", 500, 0.2, "f1 >= 0.6", "precision"),
    Problem("f1, 150 samples", 150, 0.3, "f1 >= 0.6", "precision"),
    Problem("f1, 42 candidates", 600, 0.1, "f1 >= 0.4", "precision", options=PLAIN),
    Problem("f1, ties", 1000, 0.2, "f1 >= 0.6", "precision", distance=3.0, rounded=True),
    Problem("f1, negatives 20 : 1", 2000, 0.1, "f1 >= 0.5", "precision", distance=3.0, weights="20 : 1"),
    Problem("f1, lognormal weights", 2000, 0.3, "f1 >= 0.6", "precision", distance=2.5, weights="lognormal"),
    Problem("jaccard", 500, 0.2, "jaccard >= 0.4", "precision"),
    Problem("f2", 1000, 0.2, "f2 >= 0.6", "precision"),
    Problem("mean cost", 1000, 0.2, Constraint(MeanCost(3.0, 1.0), "<=", 0.35), "precision"),
    Problem("no threshold reaches it", 1000, 0.2, "precision >= 0.8", distance=3.0, flipped=0.21),
]
# What nobody is promised.
BROKEN = [
    Problem("10 seeds until one signs", 1000, 0.2, "precision >= 0.8", distance=3.0, flipped=0.21, seeds=10),
    Problem("10 seeds, in reach", 300, 0.2, "precision >= 0.7", distance=1.5, seeds=10),
]
PROBLEMS = {problem.name: problem for problem in KEPT + BROKEN}


# Samples, share of positives, distance of the classes, and whether scores are rounded to halves.
BANDS = [(400, 0.1, 2.0, False), (400, 0.03, 2.0, False), (1000, 0.1, 2.0, False), (1000, 0.1, 2.0, True),
         (3000, 0.1, 2.0, False), (3000, 0.03, 2.5, False)]  # fmt: skip


def bands(n_draws):
    """Rows about bounds that hold together."""
    rng = np.random.default_rng(1)
    for n_samples, pos, distance, rounded in BANDS:
        drawn = [_band(rng, n_samples, pos, distance, rounded) for _ in range(n_draws)]
        false, specificity, recall = np.mean(drawn, axis=0).tolist()
        yield {
            "samples": n_samples,
            "positives": f"{pos:.0%}",
            "scores": "rounded" if rounded else "continuous",
            "some bound is false": f"{false:.1%}",
            "specificity where recall >= 0.8": f"{specificity:.3f}",
            "recall where precision >= 0.5": f"{recall:.3f}",
        }


def _band(rng, n_samples, pos, distance, rounded):
    """Whether a bound of one sample is false, and the true rates where two demands are certain, 0 where none is."""
    is_pos = rng.random(n_samples) < pos
    is_pos[:1], is_pos[-1:] = True, False
    score = rng.normal(distance * is_pos)
    score = np.floor(2.0 * score) / 2.0 if rounded else score
    band = csf.certify(is_pos, score)

    def rates(cuts):
        recall, fpr = norm.sf(np.subtract(cuts, distance)), norm.sf(cuts)
        return recall, 1.0 - fpr, pos * recall / np.maximum(pos * recall + (1.0 - pos) * fpr, 1e-300)

    recall, specificity, precision = rates(np.ceil(2.0 * band.thresholds) / 2.0 if rounded else band.thresholds)
    truth = {
        "recall": recall,
        "specificity": specificity,
        "precision": precision,
        "gmean": np.sqrt(recall * specificity),
        "f1": 2.0 * pos * recall / (pos * recall + (1.0 - pos) * (1.0 - specificity) + pos),
    }
    false = any((band.worst(name) > value + 1e-9).any() for name, value in truth.items())
    by_recall, by_precision = band.best("specificity", "recall >= 0.8"), band.best("recall", "precision >= 0.5")
    return (
        false,
        rates(by_recall.threshold)[1] if by_recall.holds else 0.0,
        rates(by_precision.threshold)[0] if by_precision.holds else 0.0,
    )


def rows(problems, n_draws):
    """Rows of the table."""
    limit = 1.0 - CONFIDENCE + 2.0 * np.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / n_draws)
    for problem in problems:
        told = np.array([problem.told(seed) for seed in range(n_draws)], dtype=float)
        false, signed, point = told[:, 0].mean(), told[:, 1].mean(), told[:, 3].mean()
        yield {
            "problem": problem.name,
            "samples": problem.n_samples,
            "constraint": str(problem.demand),
            "weights": problem.weights,
            "violated": f"{false:.1%}",
            f"at most {limit:.1%}": "yes" if false <= limit else "no",
            "signed": f"{signed:.0%}",
            "false of the signed": f"{false / signed:.1%}" if signed else "-",
            "metric": f"{np.nanmean(told[:, 2]):.3f}" if signed else "-",
            "point estimate violated": f"{point:.0%}",
        }


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400, help="searches of each problem (400)")
    parser.add_argument("--layouts", action="store_true", help="compare weights and groups on simulated scores")
    parser.add_argument("--bands", action="store_true", help="bounds that hold at all thresholds together")
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="problems (all)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.bands:
        print_table(bands(options.draws))
        return
    print_table(
        layouts(options.draws) if options.layouts else rows([PROBLEMS[name] for name in options.only], options.draws)
    )


if __name__ == "__main__":
    main()
