"""Topics of ``honesty`` on monitors: alarms where labels come late, and intervals that are looked at often."""

from functools import cache

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from csf import CostSearch
from csf.metrics import Constraint, MeanCost, get_metric
from csf.monitoring.bets import log_capital, log_limit
from tests.benchmarks.monitor import CHANGE, WATCHED, WEEKS, by_monitor, draw

# Which labels are late, as (tp, fn, fp, tn).
LATE = {"positives": (0, 1), "missed positives": (1,), "true alerts": (0,)}
PER_WEEK = 1400
# Small batches, of a day, whose positives have labels so many days later.
PER_DAY, DAYS = 20, 60
# Samples of each look.
LOOKS = np.repeat([50, 200, 800], 10)
MOST = 100.0


@cache
def fitted():
    """Return a search whose monitors are used; its model is not."""
    X, y = make_classification(400, weights=[0.8], random_state=0)
    return CostSearch(LogisticRegression(), n_trials=1, param_grid=None, cv=2).fit(X, y)


def as_they_come(counts, cells, weeks):
    """Counts of each week if these cells get their labels so many weeks late, and all is counted at once."""
    arrived = counts.copy()
    arrived[:, :, cells] = 0
    arrived[:, weeks:, cells] = counts[:, :-weeks, cells]
    return arrived


def days(watched, rng, n_streams):
    """Counts of a year of days."""
    return np.concatenate([draw(watched, rng, n_streams, PER_DAY) for _ in range(7)], axis=1)


def first_whole_first(counts):
    """Batches in the order in which all of their labels are there."""
    whole = np.arange(counts.shape[1]) + DAYS * counts[:, :, :2].any(axis=2)
    return np.take_along_axis(counts, np.argsort(whole, axis=1, kind="stable")[:, :, None], axis=1)


def watched_with_ids(watched, counts, cells, weeks):
    """Week of the first alarm of one stream, by the class: labels of these cells come so many weeks late."""
    demand = Constraint(watched.metric, watched.side, watched.level)
    monitor, rng = fitted().monitor(demand, audit=watched.audit), np.random.default_rng(0)
    waiting = [([], []) for _ in range(WEEKS + weeks)]
    for week in range(WEEKS + weeks):
        if week < WEEKS:
            cell = rng.permutation(np.repeat(np.arange(4), counts[week]))
            rows, late = 100_000 * week + np.arange(cell.size), np.isin(cell, cells)
            monitor.expect(np.isin(cell, [0, 2]).astype(int), rows=rows)
            for each, when in ((~late, week), (late, week + weeks)):
                waiting[when][0].extend((cell[each] < 2).astype(int))
                waiting[when][1].extend(rows[each])
        labels, rows = waiting[week]
        if monitor.update(labels, rows=rows):
            return week + 1.0
    return np.inf


def late(n_draws):
    """Rows of the topic: n streams of a year, and one of them in each row by the class itself."""
    for name in ("f1", "precision", "recall", "mean cost"):
        watched = WATCHED[name]
        rng = np.random.default_rng(11)
        same, fallen = (draw(watched, rng, n_draws, PER_WEEK, drop, CHANGE) for drop in (0.0, 0.1))
        whole, delays = by_monitor(watched, same), by_monitor(watched, fallen)
        after = np.median(delays[delays > CHANGE] - CHANGE)
        for kind, cells in LATE.items():
            for weeks in (2, 4, 8):
                week = watched_with_ids(watched, fallen[0], cells, weeks)
                assert delays[0] <= week <= delays[0] + weeks
                assert np.isfinite(watched_with_ids(watched, same[0], cells, weeks)) == np.isfinite(whole[0])
                yield {
                    "metric": name,
                    "late": kind,
                    "weeks": weeks,
                    "streams": n_draws,
                    "alarms, counted at once": _share(by_monitor(watched, as_they_come(same, cells, weeks))),
                    "by cohorts": _share(whole),
                    "-10 points, timely": f"{after:.0f} weeks",
                    "by cohorts, late": f"{after + weeks:.0f} weeks",
                }
        daily = days(watched, rng, n_draws)
        yield {
            "metric": name,
            "late": f"positives, {PER_DAY} rows a day",
            "weeks": f"{DAYS} days",
            "streams": n_draws,
            "by cohorts": _share(by_monitor(watched, daily)),
            "first whole first": _share(by_monitor(watched, first_whole_first(daily))),
        }


def _share(weeks):
    return f"{np.isfinite(weeks).mean():.1%}"


def _of_cells(fn, fp):
    """Draw truth and predictions with these shares of errors, and 8 % right positives."""
    return lambda rng, n: rng.choice(4, n, p=[0.08, fn, fp, 0.92 - fn - fp])


def _costly(draw_costs):
    """Draw costs of rows, of which 10 % are above 0, up to the largest one."""
    return lambda rng, n: np.where(rng.random(n) < 0.1, np.minimum(draw_costs(rng, n), MOST), 0.0)


COSTS = {
    "uniform": lambda rng, n: rng.uniform(0.0, MOST, n),
    "lognormal 1.0": lambda rng, n: rng.lognormal(0.0, 1.0, n),
    "lognormal 1.5": lambda rng, n: rng.lognormal(0.0, 1.5, n),
}
F1, RECALL, COST = get_metric("f1"), WATCHED["recall"].metric, MeanCost(5.0)
SEQUENCES = {
    f"{name}, audit of {q:.0%}": (metric, ">=", {"audit": q}, None)
    for q in (0.05, 0.1, 0.2)
    for name, metric in {"f1": F1, "recall": RECALL}.items()
}
SEQUENCES |= {
    "f1": (F1, ">=", {}, None),
    "f2": (get_metric("f2"), ">=", {}, None),
    "f1, weights": (F1, ">=", {"max_weight": 10.0}, None),
}
SEQUENCES |= {"mean cost": (COST, "<=", {}, None)}
SEQUENCES |= {f"costs, {name}": (COST, "<=", {"max_cost": MOST}, draws) for name, draws in COSTS.items()}
SEQUENCES |= {f"costs, {name}, no max_cost": (COST, "<=", {}, draws) for name, draws in COSTS.items()}


def sequences(n_draws):
    """Rows of the topic: how often an interval misses the value at any of 30 looks, and its width at the end."""
    for name, (metric, side, options, costs) in SEQUENCES.items():
        cells = _of_cells(0.015, 0.015) if metric is COST else _of_cells(0.04, 0.04)
        truth = metric.value(0.015, 0.015, pos=0.095) if metric is COST else metric.value(0.04, 0.04, pos=0.12)
        if costs is not None:
            truth = _costly(costs)(np.random.default_rng(1), 20_000_000).mean()
        missed, widths, shown = 0, [], []
        for seed in range(n_draws):
            monitor, rng = fitted().monitor(Constraint(metric, side, 0.2), **options), np.random.default_rng([seed, 5])
            outside = False
            for n in LOOKS:
                cell = cells(rng, n)
                y, found = (cell < 2).astype(int), np.isin(cell, [0, 2]).astype(int)
                given = {"cost": _costly(costs)(rng, n)} if costs is not None else {}
                if "max_weight" in options:
                    given["sample_weight"] = rng.exponential(size=n).clip(max=10.0)
                labelled = (found > 0) | (rng.random(n) < options.get("audit", 1.0))
                monitor.update(y[labelled], found[labelled], **{key: value[labelled] for key, value in given.items()})
                outside |= _misses(monitor, truth)
            low, high = monitor.interval
            missed, widths = missed + outside, [*widths, high - low]
            shown.append(monitor.value)
        yield {
            "interval of": name,
            "streams": n_draws,
            "value": f"{truth:.4g}",
            "ever missed": f"{missed / n_draws:.1%}",
            "width at the end": f"{np.mean(widths):.3g}",
            "of standard errors": f"{np.mean(widths) / np.std(shown):.1f}",
        }


def _misses(monitor, truth):
    """Whether the interval misses the truth; where it is one of bets, by what is won against the truth alone."""
    if monitor._is_asymptotic or (monitor._share is not None and monitor.max_cost is None):
        low, high = monitor.interval
        return bool(truth < low or truth > high)
    sums, places = monitor._whole, monitor._samples.histogram.places
    return log_capital(truth, places, sums[-len(places) :]) > log_limit(sums[2], monitor.alpha)
