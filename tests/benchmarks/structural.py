"""Structural losses on real data: when the stochastic learners reach the test value of the cutting plane.

``python -m tests.benchmarks.structural`` prints two Markdown tables. Splits are stratified, 70 % for training, seeds 0,
1, ...; dense features are standardised on the training part, rows of counts scaled to length 1. C of the cutting plane
and the radius of the others are chosen on 30 % of the training part (of equals the least: it is the fastest). Times
are those of the processor, from the call of ``fit`` to the step in question, checks of the data included, thresholds
not; fits alternate and the median over repetitions counts.
"""

import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from csf.structural import CuttingPlane, OnePassMiniBatch, ProjectedSubgradient, TwoPassMiniBatch, get_loss
from tests.benchmarks.data import BINARY_SETS, load_arrays, load_binary
from tests.benchmarks.tables import print_table

__all__ = ["load_set", "reach_rows", "trace_rows"]

SETS = ("mammography", "wine", "abalone12", "pageblocks", "letter:1", "letter:26", "letter:8", "news20:1", "news20:6")
# Values of C and of the radius to choose from.
GRIDS = [1e2, 1e3, 1e4, 1e5, 1e6, 1e7], [30.0, 100.0, 300.0, 1000.0, 3000.0]
# Test values this far below that of the cutting plane count as reached.
SLACK = 0.005
# Times of the trace, relative to that of the cutting plane.
SHARES = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0)


class Timed:
    """Mixin of learners: when each step ended, and the weights there, for the steps of a geometric sequence."""

    times = None

    def fit_timed(self, X, y, *, keep):
        """Fit and return the seconds of all steps, and the kept steps with their weights."""
        self.times, self.kept, self.keep, self.paused = [], [], keep, 0.0
        self.start = time.process_time()
        self.fit(X, y)
        return np.array(self.times), self.kept

    def note(self, weights):
        """End of a step; ``weights`` is a function."""
        if self.times is None:
            return
        now = time.process_time()
        self.times.append(now - self.start - self.paused)
        if self.keep and len(self.times) >= 1.04 * (self.kept[-1][0] + 1 if self.kept else 0):
            self.kept.append((len(self.times) - 1, weights().copy()))
            self.paused += time.process_time() - now


class TimedOnePass(Timed, OnePassMiniBatch):
    """1PMB that is timed."""

    def _descend(self, parts, shares=None):
        moved = super()._descend(parts, shares)
        self.note(self._w.average)
        return moved


class TimedTwoPass(Timed, TwoPassMiniBatch):
    """2PMB that is timed."""

    def _descend(self, parts, shares=None):
        moved = super()._descend(parts, shares)
        self.note(self._w.average)
        return moved


class TimedCuttingPlane(Timed, CuttingPlane):
    """Cutting plane that is timed; zero weights, which rank nothing, give way to those of the model."""

    def _watch(self, objective, best, last):
        self.note(lambda: best if best.any() else last)


class TimedSubgradient(Timed, ProjectedSubgradient):
    """Subgradient descent that is timed."""

    def _watch(self, objective, best, last):
        self.note(lambda: best)


def load_set(name):
    """Features and targets 0 and 1 of a set of `load_binary`, or of one class of another, as in ``"letter:1"``."""
    if name in BINARY_SETS:
        return load_binary(name)
    stem, label = name.split(":")
    X, arrays = load_arrays(stem)
    return X, (arrays["y"] == int(label)).astype(int)


def _split(X, y, seed):
    """Training and test part, scaled."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    if sparse.issparse(X):
        X = sparse.csr_array(normalize(X))
        return X[train], y[train], X[test], y[test]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def _choose(learner, name, grid, X, y, seed):
    """Parameter of the best value on a part of the training set; of equals the least."""
    fit, held = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    values = []
    for value in grid:
        learner.set_params(**{name: value}).fit(X[fit], y[fit])
        values.append(_values(learner.loss, [(0, _final(learner))], X[held], y[held])[0])
    return learner.set_params(**{name: grid[int(np.argmax(values))]})


def _values(loss, kept, X, y):
    """Performance of weights on a test set; the intercept does not matter."""
    return np.array([get_loss(loss).performance(X @ w[: X.shape[1]], y == 1) for _, w in kept])


def _curves(loss, X, y, seed, n_repeats, grids):
    """Seconds and test values along each learner, and the cutting plane."""
    A, a, B, b = _split(X, y, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zero weights may be the minimum: the tables show it
        learners = {
            "CP": _choose(TimedCuttingPlane(loss), "C", grids[0], A, a, seed),
            "1PMB": _choose(TimedOnePass(loss, random_state=seed), "radius", grids[1], A, a, seed),
            "2PMB": _choose(TimedTwoPass(loss, random_state=seed), "radius", grids[1], A, a, seed),
            "PSG": _choose(TimedSubgradient(loss), "radius", grids[1], A, a, seed),
        }
        times, curves = {name: [] for name in learners}, {}
        for repeat in range(n_repeats + 1):
            for name, learner in learners.items():
                seconds, kept = learner.fit_timed(A, a, keep=repeat == 0)
                if repeat == 0:  # which also compiles
                    curves[name] = np.array([step for step, _ in kept]), _values(loss, kept, B, b)
                    times[name].append([])
                else:
                    times[name].append(seconds)
    for name, (steps, values) in curves.items():
        seconds = np.median(times[name][1:], axis=0)
        last = len(seconds) - 1
        if steps[-1] != last:
            seconds = np.append(seconds[steps], seconds[last])
            values = np.append(values, _values(loss, [(last, _final(learners[name]))], B, b))
        else:
            seconds = seconds[steps]
        curves[name] = seconds, values
    return curves, learners["CP"]


def _final(learner):
    """Weights at the end; of zero weights those of the model."""
    return learner.coef_[0] if learner.coef_.any() else learner.coef_last_[0]


def _reached(curve, target):
    """Seconds until the value is reached, and until it is reached for good."""
    seconds, values = curve
    good = values >= target
    first = seconds[int(np.argmax(good))] if good.any() else np.inf
    below = np.flatnonzero(~good)
    start = below[-1] + 1 if below.size else 0
    return first, seconds[start] if start < len(seconds) else np.inf


def reach_rows(names=SETS, losses=("pauc", "prbep"), *, n_splits=5, n_repeats=5, grids=GRIDS, curves=None):
    """When the learners reach the final test value of the cutting plane, less half a point."""
    # Values are means in percent, times medians over splits in ms; "first" and "kept" divide the time of the cutting
    # plane by that until the value is reached, at all and for good.
    for loss in losses:
        for name in names:
            X, y = load_set(name)
            runs = [_curves(loss, X, y, seed, n_repeats, grids) for seed in range(n_splits)]
            if curves is not None:
                curves[loss, name] = [run[0] for run in runs]
            zero = sum(not model.coef_.any() for _, model in runs)
            row = {
                "loss": loss,
                "set": name,
                "C": f"{np.median([model.C for _, model in runs]):g}",
                "CP planes": int(np.median([model.n_iter_ for _, model in runs])),
                "CP value": f"{100 * np.mean([run['CP'][1][-1] for run, _ in runs]):.1f}",
                "CP ms": f"{1e3 * np.median([run['CP'][0][-1] for run, _ in runs]):.1f}",
                "w = 0": f"{zero}/{n_splits}",
            }
            for learner in ("CP", "1PMB", "2PMB", "PSG"):
                ratios = []
                for run, _ in runs:
                    seconds, values = run["CP"]
                    ratios.append([seconds[-1] / t for t in _reached(run[learner], values[-1] - SLACK)])
                first, kept = np.median(ratios, axis=0)
                if learner != "CP":
                    row[f"{learner} value"] = f"{100 * np.mean([run[learner][1][-1] for run, _ in runs]):.1f}"
                    row[f"{learner} ms"] = f"{1e3 * np.median([run[learner][0][-1] for run, _ in runs]):.1f}"
                row[f"{learner} first"], row[f"{learner} kept"] = f"{first:.1f}", f"{kept:.1f}"
            yield row


def trace_rows(curves, shares=SHARES):
    """Test values against time."""
    for (loss, name), runs in curves.items():
        for learner in ("CP", "1PMB", "2PMB", "PSG"):
            row = {"loss": loss, "set": name, "learner": learner}
            for share in shares:
                values = []
                for run in runs:
                    seconds, value = run[learner]
                    at = int(np.searchsorted(seconds, share * run["CP"][0][-1] * (1 + 1e-9), "right")) - 1
                    values.append(value[at] if at >= 0 else np.nan)
                row[f"{share:g}"] = "-" if np.isnan(values).any() else f"{100 * np.mean(values):.1f}"
            yield row


if __name__ == "__main__":
    found = {}
    print("\n## Time of the cutting plane divided by that to reach its value\n")
    print_table(reach_rows(tuple(sys.argv[1:]) or SETS, curves=found))
    print("## Test value at shares of the cutting plane's time\n")
    print_table(trace_rows(found))
