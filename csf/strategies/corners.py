"""Where support lines of neighbouring levels meet: the promise of an interval, for every metric."""

import numpy as np

from csf.bounds import SupportLineBound

__all__ = ["corner_promise"]


def corner_promise(trials, edges, metric, pos):
    """Metric value at the profile where the support lines of each interval's two ends meet.

    Parameters
    ----------
    trials : sequence of Trial
        The history.
    edges : ndarray of shape (n_intervals + 1,)
        Sorted levels: the ends of the range and everything tried.
    metric : Metric
        What is maximised. Where a constraint is violated, the promise is below the metric's range by the violation.
    pos : float
        Share of positives.

    Returns
    -------
    ndarray of shape (n_intervals,)
        Value that no model between two neighbouring levels exceeds by much.
    """
    chain = SupportLineBound(trials, metric, pos=pos).chain_
    middles = 0.5 * (edges[:-1] + edges[1:])
    c_fn, c_fp = np.array([metric.cost_weights(t, pos=pos) for t in middles]).T
    # The cheapest corner of the chain for costs between two levels is where their lines meet.
    corner = (np.multiply.outer(c_fn, chain[:, 0]) + np.multiply.outer(c_fp, chain[:, 1])).argmin(axis=1)
    fn, fp = chain[corner].T
    promise = np.asarray(metric.value(fn, fp, pos=pos), dtype=float)
    constraint = getattr(metric, "constraint", None)
    if constraint is None:
        return promise
    violation = constraint.violation(fn, fp, pos=pos)
    return np.where(violation == 0, promise, metric.range(pos)[0] - violation)
