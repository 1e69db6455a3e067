"""Test scores of the strategies against the strongest simple rival, on paired splits.

``python -m tests.benchmarks.strategies --splits 20`` prints the table of the README. The rival "threshold" is one
cross-validated score vector of the plain base and the exact best cut of it.
"""

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from csf import ErrorProfile, Study
from csf.metrics import get_metric
from csf.search.problems.binary import evaluate
from csf.strategies import Cone, Grid, ImbalanceRatio, Support
from notebooks.experiments.training_cache import BASES as EXPERIMENTS
from tests.benchmarks.data import BINARY_SETS, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["rows"]

# The linear ones of the experiments, and a boosting whose early stopping is that of scikit-learn.
BASES = {name: EXPERIMENTS[name].estimator for name in ("svc", "logistic")}
BASES["boosting"] = HistGradientBoostingClassifier(max_iter=60, random_state=0)
# strategy, largest number of trials, whether the threshold is tuned as well
METHODS = {
    "weights only": (Cone(), 19, False),
    "imbalance_ratio": (ImbalanceRatio(), 1, True),
    "grid 19": (Grid(), 19, True),
    "cone 10": (Cone(), 10, True),
    "cone 19": (Cone(), 19, True),
    "support 7": (Support(), 7, True),
}
RIVAL = "threshold"


class _Split:
    """One split of one data set; a training with the same costs is done once and serves all methods."""

    def __init__(self, base, metric, X, y, train, test):
        self.base, self.metric, self.X, self.is_pos = base, metric, X[train], y[train] == 1
        self.X_test, self.test_pos = X[test], y[test] == 1
        self.folds = list(StratifiedKFold(5).split(self.X, self.is_pos))
        self.done = {}

    def trained(self, costs):
        """Fields of the trial with and without a tuned threshold, and the test scores of the refitted model."""
        costs = tuple(round(cost, 12) for cost in costs)
        if costs not in self.done:
            weight = np.where(self.is_pos, *costs)
            score = np.empty(self.is_pos.size)
            for train, test in self.folds:
                model = self._fit(self.X[train], self.is_pos[train], weight[train])
                score[test] = model.decision_function(self.X[test])
            known = self.metric, self.is_pos, np.zeros(score.size, dtype=bool), score > 0
            tuned, own = evaluate(*known, score, None), evaluate(*known, None, None)
            final = self._fit(self.X, self.is_pos, weight).decision_function(self.X_test)
            self.done[costs] = {
                True: (tuned, self._test_score(final >= tuned["threshold"])),
                False: (own, self._test_score(final > 0)),
            }
        return self.done[costs]

    def _fit(self, X, y, weight):
        return clone(self.base).fit(X, y, sample_weight=weight)

    def _test_score(self, predicted):
        return self.metric.of(ErrorProfile.from_masks(self.test_pos, predicted))

    def search(self, strategy, n_trials, tune):
        """Test score of the winner and the number of trainings on the training part's folds."""
        study = Study(self.metric, strategy, pos=self.is_pos.mean(), n_trials=n_trials)
        while (trial := study.ask()) is not None:
            study.record(trial, **self.trained(trial.costs)[tune][0])
        return self.trained(study.best_trial.costs)[tune][1], len(study.trials)


def rows(names=tuple(BINARY_SETS), *, bases=("svc", "logistic"), metric="f1", n_splits=20, seed=0):
    """Mean test scores and paired differences."""
    metric = get_metric(metric)
    for name in names:
        X, y = load_binary(name)
        splits = list(StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=seed).split(X, y))
        for base in bases:
            scores = {method: [] for method in ("plain", RIVAL, *METHODS)}
            trials = {method: [1] for method in scores}
            for train, test in splits:
                split = _Split(BASES[base], metric, X, y, train, test)
                neutral = split.trained((1.0, 1.0))
                scores["plain"].append(neutral[False][1])
                scores[RIVAL].append(neutral[True][1])
                for method, (strategy, n_trials, tune) in METHODS.items():
                    score, n_done = split.search(strategy, n_trials, tune)
                    scores[method].append(score)
                    trials[method].append(n_done)
            for method, values in scores.items():
                gain = np.subtract(values, scores[RIVAL])
                error = gain.std(ddof=1) / np.sqrt(n_splits)
                n_trained = float(np.mean(trials[method][1:] or [1]))
                yield {
                    "data": name,
                    "base": base,
                    "method": method,
                    "mean": float(np.mean(values)),
                    "gain": float(gain.mean()),
                    "error": float(error),
                    "trainings": n_trained,
                    "values": values,
                }


def lines(table_rows):
    """Lines of the table: one for each data set and base, scores x 100, differences to the rival."""
    table = {}
    for row in table_rows:
        table[row["method"]] = row
        if row["method"] != list(METHODS)[-1]:
            continue
        apart = 100 * np.subtract(row["values"], table["cone 19"]["values"])
        yield (
            {"data": row["data"], "base": row["base"]}
            | {method: f"{100 * table[method]['mean']:.1f}" for method in ("plain", RIVAL)}
            | {method: f"{100 * table[method]['gain']:+.1f} ± {100 * table[method]['error']:.1f}" for method in METHODS}
            | {"support 7 − cone 19": f"{apart.mean():+.2f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.2f}"}
            | {"trainings": f"{row['trainings']:.1f}"}
        )


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=",".join(BINARY_SETS))
    parser.add_argument("--base", default="svc,logistic", help=f"of {', '.join(BASES)}")
    parser.add_argument("--metric", default="f1")
    parser.add_argument("--splits", type=int, default=20)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    names, bases = options.data.split(","), options.base.split(",")
    print_table(lines(rows(names, bases=bases, metric=options.metric, n_splits=options.splits)))


if __name__ == "__main__":
    main()
