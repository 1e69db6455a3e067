"""Topic ``kinds`` of ``honesty``: alarms of monitors of classes, costs of rows and labels, and how soon they come."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from csf import CostSearch
from csf.metrics import Column, CostMatrix, RowCosts
from csf.metrics.registry import get_label_metric
from csf.monitoring import Monitor
from tests.benchmarks.monitor import ALPHA, CHANGE, WEEKS

PER_WEEK, POOL, FALLS = 1400, 40_000, 5
# Shares of the predictions that belong to another row after the change.
MIXED = (0.25, 0.5)
LOOKS = (1, 2, 4, 8, 16, 32, 52)
CLASSES = np.array(["calm", "spam", "urgent"])
QUICK = {"n_trials": 1, "param_grid": None, "cv": 3, "random_state": 0}


@dataclass
class Stream:
    """A monitor at the value of a pool of rows, from which streams are drawn."""

    make: Any
    y: np.ndarray
    pred: np.ndarray
    X: np.ndarray | None = None

    def weeks(self, rng, mixed=0.0, change=0):
        """Yield the monitor after each week."""
        monitor = self.make()
        for week in range(WEEKS):
            rows = rng.integers(0, len(self.y), PER_WEEK)
            given = {} if self.X is None else {"X": self.X[rows]}
            other = (rng.random(PER_WEEK) < mixed) & (week >= change)
            monitor.update(self.y[rows], self.pred[np.where(other, rng.permutation(rows), rows)], **given)
            yield monitor

    def first_alarm(self, rng, *change):
        """Week of the first alarm, from 1 on; infinite without one."""
        return next((week for week, monitor in enumerate(self.weeks(rng, *change), 1) if monitor.alarm), np.inf)

    def misses(self, rng):
        """Whether an interval ever misses the value of the pool, which is the level."""
        looks = [monitor for week, monitor in enumerate(self.weeks(rng), 1) if week in LOOKS and _misses(monitor)]
        return bool(looks)


def _classes():
    """A class of 3 %, one of 12 %, and the others."""
    rng = np.random.default_rng(0)
    y = rng.choice(3, 2 * POOL, p=[0.85, 0.12, 0.03])
    X = rng.normal(size=(y.size, 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.5]])[y]
    return X, CLASSES[y]


def _labels():
    """Three labels that depend on each other, of 3, 10 and 30 %."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(2 * POOL, 1)), rng.normal(size=(2 * POOL, 3))
    Y = (0.7 * common + 0.71 * own > [1.88, 1.28, 0.52]).astype(int)
    return rng.normal(size=(2 * POOL, 3)) + 1.8 * Y, Y


def _payments():
    """Frauds of 5 %, whose amounts are lognormal."""
    rng = np.random.default_rng(0)
    y = (rng.random(2 * POOL) < 0.05).astype(int)
    return np.column_stack([rng.normal(size=(y.size, 2)) + y[:, None], rng.lognormal(3.0, 1.0, y.size)]), y


def _search(data, metric):
    X, y = data
    n = 4000
    search = CostSearch(LogisticRegression(), metric, **QUICK).fit(X[:n], y[:n])
    return search, X[POOL:], y[POOL:], search.predict(X[POOL:])


@cache
def streams():
    """Streams by the name of what is watched."""
    search, _, y, pred = _search(_classes(), "f1_macro")
    right, positive, found = ((each == "urgent") for each in (np.where(pred == y, y, ""), y, pred))
    levels = {"recall": right.sum() / positive.sum(), "precision": right.sum() / found.sum()}
    levels["f1"] = 2.0 * right.sum() / (positive.sum() + found.sum())
    made = {
        f"{name}[urgent], 3 % of rows": Stream(partial(search.monitor, f"{name}[urgent] >= {level}"), y, pred)
        for name, level in levels.items()
    }
    costs = CostMatrix([[0, 1, 2], [5, 0, 1], [20, 3, 0]])
    paid = np.array(costs.costs)[np.searchsorted(CLASSES, y), np.searchsorted(CLASSES, pred)].mean()
    made["mean cost by a matrix"] = Stream(partial(at, search, costs, "<=", paid), y, pred)
    search, X, y, pred = _search(_payments(), RowCosts(fn=Column(2), fp=10.0))
    level = search.row_costs_.score(y, pred, X)
    made["savings, lognormal amounts"] = Stream(
        partial(at, search, search.row_costs_, ">=", level, max_cost=700.0), y, pred, X
    )
    search, _, Y, pred = _search(_labels(), "f1_macro")
    demands = ", ".join(f"f1[{k}] >= {f1_score(Y[:, k], pred[:, k])}" for k in range(3))
    made["f1 of three labels, one alarm level"] = Stream(partial(search.monitor, demands), Y, pred)
    for average in ("micro", "samples"):
        search, _, Y, pred = _search(_labels(), f"f1_{average}")
        aim = get_label_metric(f"f1_{average}")
        made[aim.name] = Stream(partial(at, search, aim, ">=", aim.of(Y, pred)), Y, pred)
    return made


def at(search, metric, side, level, **options):
    """Monitor of a metric at this level."""
    return Monitor(search, metric, side, level, alpha=ALPHA, audit=1.0, path=None, **options)


def _misses(monitor):
    """Whether the level is outside of the interval of any monitor, where alarms do not choose its start."""
    monitors = getattr(monitor, "monitors", {"": monitor}).values()
    return any(not each.alarm and not each.interval[0] <= each.level <= each.interval[1] for each in monitors)


def kinds(n_draws):
    """Rows of the topic: n streams of a year without a change, and a fifth as many with each fall."""
    for name, stream in streams().items():
        false = np.mean([np.isfinite(stream.first_alarm(np.random.default_rng([seed, 0]))) for seed in range(n_draws)])
        row, seeds = {"watched": name, "streams": n_draws}, range(-(-n_draws // FALLS))
        row["alarms without a change"] = f"{false:.1%}"
        row["interval ever missed"] = f"{np.mean([stream.misses(np.random.default_rng([k, 2])) for k in seeds]):.1%}"
        for mixed in MIXED:
            weeks = [stream.first_alarm(np.random.default_rng([k, 1]), mixed, CHANGE) - CHANGE for k in seeds]
            after = np.array([week for week in weeks if week > 0])
            row[f"{mixed:.0%} mixed up"] = f"{np.isfinite(after).mean():.0%}, {np.median(after):.0f} weeks"
        yield row
