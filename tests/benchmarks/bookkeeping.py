"""Time that a search thinks between two trainings: proposals, bounds, and a round of ask and tell.

``python -m tests.benchmarks.bookkeeping`` prints one table. Each trial knows a hull of about 150 error profiles, as the
threshold curve of some thousand samples leaves. The last trial is new each time, as it is in a search.
"""

import time
from dataclasses import replace

import numpy as np

from csf import ErrorProfile, Study, Trial
from csf.bounds import BOUNDS
from csf.metrics import Constrained, LinearFractional, get_constraint, get_metric
from csf.metrics.profile import Hull
from csf.metrics.trials import outcome
from csf.strategies import STRATEGIES, get_strategy
from tests.benchmarks.tables import print_table

__all__ = ["history", "rows"]

POS = 0.1
METRICS = (
    get_metric("f1"),
    get_metric("gmean"),
    Constrained(get_metric("recall"), get_constraint("precision >= 0.8")),
)


def history(metric, n_trials, *, n_vertices=150, seed=0):
    """Trials of models with ever different trade-offs, at levels that fill the range evenly."""
    rng = np.random.default_rng(seed)
    lo, hi = metric.range(POS)
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    trials = []
    for number in range(n_trials):
        t = metric.clip_level(lo + (hi - lo) * ((0.5 + golden * number) % 1.0), pos=POS)
        c_fn, c_fp = metric.cost_weights(t, pos=POS)
        hull = _trade_off(rng, n_vertices)
        fn, fp = hull.points[np.argmin(hull.points @ [c_fn, c_fp])]
        fields = outcome(metric, ErrorProfile(fn=fn, fp=fp, pos=POS), hull=hull)
        trials.append(Trial(number=number, t=t, costs=(c_fn, c_fp), state="complete", **fields))
    return trials


def _trade_off(rng, n_vertices):
    fnr, bend = np.linspace(0.0, 1.0, n_vertices), rng.uniform(0.3, 0.35)
    return Hull(np.column_stack([POS * fnr, (1.0 - POS) * (1.0 - fnr**bend) ** (1.0 / bend)]))


def _milliseconds(work, trials, n_runs):
    """Median time of ``work`` on a history whose last trial is new in each run."""
    rng, times = np.random.default_rng(1), []
    work(trials[:-1])
    for _ in range(n_runs):
        newest = replace(trials[-1], hull=_trade_off(rng, 150))
        start = time.perf_counter()
        work([*trials[:-1], newest])
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times))


def _round(metric, trials):
    """One round of a study that watches its gap: what a search pays for each trial."""
    study = Study(metric, "cone", pos=POS, n_trials=len(trials) + 1, tol=0.0)
    study.trials = trials
    trial = study.ask()
    if trial is not None:
        study.record(trial, **outcome(metric, trials[0].profile, hull=trials[0].hull))


def rows(sizes=(19, 1000), *, n_runs=20):
    """Times of one proposal, one bound, and one round of ask and tell."""
    for metric in METRICS:
        options = {"metric": metric, "pos": POS}
        levels = isinstance(metric, LinearFractional)
        work = {"ask and tell": lambda trials, metric=metric: _round(metric, trials)}
        for name in STRATEGIES:
            if levels or name not in ("bisection", "dinkelbach"):
                strategy = get_strategy(name)
                work[f"strategy {name}"] = lambda trials, s=strategy, o=options: s.propose(trials, **o)
        for name, bound in BOUNDS.items():
            if levels or name == "support":
                work[f"bound {name}"] = lambda trials, b=bound, m=metric: b(trials, m, pos=POS).best_possible()
        for size in sizes:
            trials = history(metric, size)
            for name, call in work.items():
                yield {
                    "metric": metric.name,
                    "work": name,
                    "n_trials": size,
                    "milliseconds": _milliseconds(call, trials, n_runs),
                }


def main():
    """Print the table."""
    table = {}
    for row in rows():
        table.setdefault((row["metric"], row["work"]), []).append(row["milliseconds"])
    names = ("ms at 19 trials", "ms at 1000 trials")
    print_table(
        {"metric": metric, "work": work} | {name: f"{time:.2f}" for name, time in zip(names, times)}
        for (metric, work), times in table.items()
    )


if __name__ == "__main__":
    main()
