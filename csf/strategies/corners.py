"""Where support lines of neighbouring levels meet: the promise of an interval, for every metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array
from csf.bounds import SupportLineBound, known_profiles

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.trials import Trial


__all__ = ["corner_promise"]


def corner_promise(trials: Sequence[Trial], edges: Array, metric: Metric, pos: float) -> Array:
    """Metric value at the profile where the support lines of each interval's two ends meet."""
    chain = SupportLineBound(trials, metric, pos=pos).chain_
    # The cheapest corner of the chain for costs between two levels is where their lines meet.
    corners = _cheapest(chain, 0.5 * (edges[:-1] + edges[1:]), metric, pos)
    promise = np.asarray(metric.value(corners[:, 0], corners[:, 1], pos=pos), dtype=float)
    known, constraint = known_profiles(trials), metric.constraint
    if constraint is None or known is None:
        return promise
    # Models that predict one class everywhere are known without training.
    touched = _cheapest(known.points, edges[1:-1], metric, pos)
    touched = np.concatenate([[(0.0, 1.0 - pos)], touched, [(pos, 0.0)]])
    return _allowed_promise(promise, corners, touched, metric, pos)


def _cheapest(points: Array, levels: Array, metric: Metric, pos: float) -> Array:
    """For each level, the point with the smallest error weighted by its costs."""
    costs = np.array([metric.cost_weights(t, pos=pos) for t in levels]).reshape(-1, 2)
    return points[(costs @ points.T).argmin(axis=1)]


def _allowed_promise(promise: Array, corners: Array, touched: Array, metric: Metric, pos: float) -> Array:
    """Promise under a constraint: from a corner, possible profiles reach to the known ones at both ends."""
    planes = [part.half_plane(pos=pos) for part in metric.constraint.parts]
    excess, beyond = (np.max([at @ normal - rhs for normal, rhs in planes], axis=0) for at in (corners, touched))
    violation = metric.constraint.violation(corners[:, 0], corners[:, 1], pos=pos)
    nearby = metric.range(pos)[0] - violation
    for end, allowed in ((touched[:-1], beyond[:-1]), (touched[1:], beyond[1:])):
        crosses = (excess > 0) & (allowed <= 0)
        share = np.where(crosses, excess, 0.0) / np.where(crosses, excess - allowed, 1.0)
        fn, fp = (corners + share[:, None] * (end - corners)).T
        nearby = np.where(crosses, np.maximum(nearby, metric.value(fn, fp, pos=pos)), nearby)
    return np.where(excess <= 0, promise, nearby)
