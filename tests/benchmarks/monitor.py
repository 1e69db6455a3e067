"""How often a monitor sounds an alarm while the level holds, and how soon after it is lost.

``python -m tests.benchmarks monitor --streams N``: for each metric and size the share of N streams of 52 weekly batches
on the boundary in which there ever was an alarm (at most 5 % plus two standard errors are promised), and the median
number of weeks until an alarm where the metric falls by 5 or 10 points in week 13. Beside it the tests that one would
write: a binomial test each week, one of everything so far, and one with Bonferroni's correction; and csf with
``weeks=52``. ``--widths`` prints how often the interval of a share ever misses it at 60 looks, its width, and the rows
that it takes for the width that Jeffreys' mixture alone has.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import binom

from csf.metrics import MeanCost, Precision, Recall, get_metric
from csf.metrics.base import CELLS
from csf.metrics.constraints import gains_of, share_of
from csf.monitoring.bets import log_capital_of, log_opened, of_share
from csf.monitoring.horizon import log_limits
from csf.monitoring.monitor import _MORE_STAKES, _STAKES
from tests.benchmarks.tables import print_table

WEEKS, CHANGE, ALPHA, POS = 52, 13, 0.05, 0.05
SIZES = (400, 1400, 5600)


@dataclass(frozen=True)
class Watched:
    """A metric at its level, the audit, and the chances of (tp, fn, fp) where it is so much below the level."""

    name: str
    metric: object
    side: str
    level: float
    chances: object
    audit: float = 1.0


def _alike(level):
    """Precision and recall are the same, and so is F1."""
    return lambda drop: (POS * (level - drop), POS * (1 - level + drop), POS * (1 - level + drop))


def _recall(drop):
    return POS * (0.6 - drop), POS * (0.4 + drop), 0.03


def _precision(drop):
    return 0.05 * (0.6 - drop), 0.02, 0.05 * (0.4 + drop)


def _cost(drop):
    """A false negative costs 5: 0.02 of these and 0.03 false positives cost 0.13; a drop of 5 points is 5 % of it."""
    fn, fp = 0.02 * (1 + 4 * drop), 0.03 * (1 + 4 * drop)
    return POS - fn, fn, fp


WATCHED = {
    each.name: each
    for each in (
        Watched("f1", get_metric("f1"), ">=", 0.6, _alike(0.6)),
        Watched("precision", Precision(), ">=", 0.6, _precision),
        Watched("recall", Recall(), ">=", 0.6, _recall),
        Watched("recall, audit of 20 %", Recall(), ">=", 0.6, _recall, 0.2),
        Watched("f1, audit of 20 %", get_metric("f1"), ">=", 0.6, _alike(0.6), 0.2),
        Watched("mean cost", MeanCost(5.0, 1.0), "<=", 0.13, _cost),
    )
}


def draw(watched, rng, n_streams, per_week, drop=0.0, change=0):
    """Labelled counts of tp, fn, fp, tn in each week."""
    counts = np.zeros((n_streams, WEEKS, 4), dtype=np.int64)
    for week in range(WEEKS):
        chances = watched.chances(drop if week >= change else 0.0)
        counts[:, week] = rng.multinomial(per_week, [*chances, 1 - sum(chances)], size=n_streams)[:, [0, 1, 2, 3]]
    for cell in (1, 3):  # those that were not predicted positive
        counts[..., cell] = rng.binomial(counts[..., cell], watched.audit)
    return counts


def evidence(watched, counts):
    """Logarithm of the capital after each week, as `csf.monitoring.Monitor` has it, of all streams at once."""
    gains = gains_of(watched.metric.terms(), watched.side, watched.level)
    gains = gains * np.where([False, True, False, True], 1.0 / watched.audit, 1.0)
    stakes = _STAKES if share_of(watched.metric) is not None and watched.audit == 1.0 else _MORE_STAKES
    growth = counts @ np.log1p(-np.outer(gains, stakes) / gains.max())
    seen = np.pad((counts @ (gains != 0.0)).cumsum(axis=1), ((0, 0), (1, 0)))
    mixed, result = np.full((len(counts), stakes.size), -1e9), np.zeros(counts.shape[:2])
    for week in range(counts.shape[1]):
        opened = np.array([log_opened(*each) for each in seen[:, week : week + 2].tolist()])
        mixed = np.logaddexp(mixed, opened[:, None]) + growth[:, week]
        result[:, week] = log_capital_of(mixed, seen[:, week + 1])
    return result


def first(alarm):
    """Week of the first alarm, from 1 on; infinite without one."""
    return np.where(alarm.any(axis=1), alarm.argmax(axis=1) + 1.0, np.inf)


def by_monitor(watched, counts):
    """Alarms of csf."""
    return first(evidence(watched, counts) >= -np.log(ALPHA))


def by_weeks(watched, counts):
    """Alarms of csf with a horizon; by the limits of the mean counts, where a monitor takes those of its own stream."""
    share, gains = share_of(watched.metric), gains_of(watched.metric.terms(), watched.side, watched.level)
    growth = np.log1p(-np.outer([gains[gains > 0.0].max(), gains.min()], _STAKES) / gains.max())
    each = (counts @ (gains != 0.0)).mean(axis=0).round().astype(int).tolist()
    limits = log_limits(each, share.share(watched.level), growth, ALPHA, WEEKS)
    return first(evidence(watched, counts) >= limits)


def _tails(watched, counts):
    share = share_of(watched.metric)
    ones, trials = share.counts(**dict(zip(CELLS, np.moveaxis(counts, -1, 0))))
    return binom.cdf(ones, trials, share.share(watched.level))


RIVALS = {
    "weekly test at 5 %": lambda watched, counts: first(_tails(watched, counts) <= ALPHA),
    "all so far, each week": lambda watched, counts: first(_tails(watched, counts.cumsum(axis=1)) <= ALPHA),
    "weekly, Bonferroni": lambda watched, counts: first(_tails(watched, counts) <= ALPHA / WEEKS),
}


def delays(method, watched, streams, per_week, drop, rng):
    """Share that is found, and median weeks after the change, of the streams without an alarm before."""
    week = method(watched, draw(watched, rng, streams, per_week, drop, CHANGE))
    after = week[week > CHANGE] - CHANGE
    return np.isfinite(after).mean(), float(np.median(np.minimum(after, WEEKS)))


def _width_of_jeffreys(ones, trials):
    """Width of the interval of a mixture that knows no level."""
    shares = np.linspace(1e-4, 1.0 - 1e-4, 20_001)
    mixture = betaln(ones + 0.5, trials - ones + 0.5) - betaln(0.5, 0.5)
    return np.ptp(shares[mixture - xlogy(ones, shares) - xlog1py(trials - ones, -shares) < -np.log(ALPHA)])


def widths(streams):
    """Rows of the table of intervals: F1 at and near the level of .6, which is a share of 3 / 7."""
    for f1 in (0.6, 0.62, 0.65, 0.7, 0.5):
        share, looks = f1 / (2.0 - f1), np.full(60, 50)
        ones = np.random.default_rng(3).binomial(looks, share, (streams, looks.size)).cumsum(axis=1)
        inside = [
            all(low <= share <= high for low, high in map(_interval, one, looks.cumsum())) for one in ones.tolist()
        ]
        row = {"F1": f1, "level": 0.6, "streams": streams, "ever missed": f"{1.0 - np.mean(inside):.1%}"}
        for n in (200, 1000, 4000):
            before, sizes = _width_of_jeffreys(share * n, n), np.linspace(0.5 * n, 1.2 * n, 141)
            now = np.array([np.ptp(_interval(share * size, size)) for size in sizes])
            row[f"rows of {n}"] = f"{1.0 - sizes[np.argmax(now <= before)] / n:.0%} fewer"
        yield row


def _interval(ones, trials):
    return of_share(ones, trials, ALPHA, 0.6 / 1.4)


def rows(names, streams, sizes):
    """Rows of the table."""
    limit = ALPHA + 2 * np.sqrt(ALPHA * (1 - ALPHA) / streams)
    for name in names:
        watched = WATCHED[name]
        exact = share_of(watched.metric) is not None and watched.audit == 1.0
        rivals = {f"csf, weeks={WEEKS}": by_weeks, **RIVALS} if exact else {}
        for per_week in sizes:
            for method, run in {"csf": by_monitor, **rivals}.items():
                rng = np.random.default_rng([per_week, 7])
                false = np.isfinite(run(watched, draw(watched, rng, streams, per_week))).mean()
                row = {"metric": name, "a week": per_week, "test": method, "false alarms": f"{false:.1%}"}
                row[f"at most {limit:.1%}"] = "yes" if false <= limit else "no"
                for drop in (0.05, 0.10):
                    found, weeks = delays(run, watched, streams, per_week, drop, rng)
                    row[f"-{100 * drop:.0f} points"] = f"{found:.0%}, {weeks:.0f} weeks"
                yield row


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=4000, help="streams of each row (4000)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="samples a week (400 1400 5600)")
    parser.add_argument("--only", nargs="+", choices=WATCHED, default=list(WATCHED), help="metrics (all)")
    parser.add_argument("--widths", action="store_true", help="intervals in place of alarms")
    options = parser.parse_args()
    print_table(widths(options.streams) if options.widths else rows(options.only, options.streams, options.sizes))


if __name__ == "__main__":
    main()
