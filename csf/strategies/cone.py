"""CONE: look where the metric could still be highest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from csf._common.typing import Array, BoolArray
from csf._common.validation import check_count
from csf.bounds import ConeBound
from csf.bounds.base import check_eps
from csf.bounds.cone import Cone as UnreachableCone
from csf.bounds.cone import error_span
from csf.bounds.envelope import highest_levels
from csf.metrics import LinearFractional
from csf.strategies.base import Strategy, tried_levels
from csf.strategies.corners import corner_promise

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.trials import Trial


__all__ = ["Cone"]


@dataclass(frozen=True)
class Cone(Strategy):
    """Informed refinement of a grid by unreachable cones.

    Each trial leaves a cone of values that no other level can reach. The strategy finds the level at which the
    envelope of all cones is highest (the middle of the widest range, where there are several) and proposes the
    midpoint of the two tried levels around it.

    Parameters
    ----------
    depth : int, default=None
        Levels are multiples of ``2**-depth`` of the range; the strategy ends after ``2**depth - 1`` of them.
        ``None`` refines until intervals are a billionth wide.
    eps : float, callable or "evidence", default=0.0
        Excess of the trained models, see `csf.bounds.Bound`; the paper uses 0.
    batch_size : int, default=1
        Proposals at once. A proposal that is not yet answered gets a provisional cone at the height of the envelope.

    Notes
    -----
    For metrics without levels (G-mean and its kind, metrics of your own) there are no cones. There the interval
    between two tried levels is worth what the metric is where their support lines meet, see
    `csf.bounds.SupportLineBound`; everything else is the same.

    The strategy does not stop by itself when the envelope falls below the best value: give ``tol`` to the search
    for that. With the usual ``eps=0`` the envelope is not a proven bound, and stopping there costs good models.

    References
    ----------
    .. [1] K. Bascol et al., "From Cost-Sensitive Classification to Tight F-measure Bounds", AISTATS 2019.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Cone().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    depth: int | None = None
    eps: float | str | Callable[..., float] = 0.0
    batch_size: int = 1  # pyright: ignore[reportIncompatibleVariableOverride] - nothing writes to a frozen object

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_count(self.depth, "depth")
        check_count(self.batch_size, "batch_size")
        check_eps(self.eps)

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | None:
        """Midpoint of the tried levels around the most promising one, see `Strategy.propose`."""
        trials = [trial for trial in trials if trial.t is not None]
        lo, hi = metric.range(pos)
        tried = np.array(sorted(set(tried_levels(trials))), dtype=float)
        edges = np.concatenate([[lo], tried, [hi]])
        smallest = (hi - lo) * (1e-9 if self.depth is None else 2.0**-self.depth)
        middles = 0.5 * (edges[:-1] + edges[1:])
        # Levels next to the ends of the range are clipped before training: there is nothing new beyond the margin.
        margin = metric.clip_level(lo, pos=pos) - lo
        is_open = (np.diff(edges) > 1.5 * smallest) & (middles > lo + margin) & (middles < hi - margin)
        if not is_open.any():
            return None
        if isinstance(metric, LinearFractional):
            at = self._highest_interval(trials, edges, metric, pos, is_open)
        else:
            promise = np.where(is_open, corner_promise(trials, edges, metric, pos), -np.inf)
            # Promises that differ by rounding only are equal: the G-mean turns an error of 1e-16 into one of 1e-8.
            highest = promise >= promise.max() - 1e-6 * (hi - lo)
            at = int(np.argmax(np.where(highest, np.diff(edges), -1.0)))
        return float(middles[at])

    def _highest_interval(
        self, trials: Sequence[Trial], edges: Array, metric: LinearFractional, pos: float, is_open: BoolArray
    ) -> int:
        """Index of the interval around the middle of the widest range of levels with the highest envelope."""
        lo, tried, hi = edges[0], edges[1:-1], edges[-1]
        cones = ConeBound(trials, metric, pos=pos, eps=self.eps).cones
        pending = [(trial.number, trial.t) for trial in trials if trial.state == "pending" and trial.t is not None]
        for _, t in sorted(pending):
            cones = _with_pending(cones, t, metric, pos)
        # One apex a level: the lowest of those told at it, which is written last, and one that bounds nothing where
        # none was told.
        falling = np.argsort(cones.value, kind="stable")[::-1]
        apexes = np.full((3, tried.size), [[np.inf], [0.0], [0.0]])
        apexes[:, np.searchsorted(tried, cones.t[falling])] = np.array(cones[1:])[:, falling]
        _, ranges = highest_levels(UnreachableCone(tried, *apexes), lo, hi, is_open=is_open)
        start, end = max(_join(ranges.tolist()), key=lambda ends: ends[1] - ends[0])
        middle = 0.5 * (start + end)
        # The middle of a joined range may lie in a closed interval or on a tried level: take the nearest open one.
        away = np.maximum(np.maximum(edges[:-1] - middle, middle - edges[1:]), 0.0)
        nearest = is_open & (away <= away[is_open].min())
        return int(np.argmax(np.where(nearest, np.diff(edges), -1.0)))


def _with_pending(cones: UnreachableCone, t: float, metric: LinearFractional, pos: float) -> UnreachableCone:
    """Cones and a provisional one at level t: as high as the envelope there, with slopes of a profile so good."""
    lo, hi = metric.range(pos)
    height = cones.value + np.where(t < cones.t, cones.slope_left, cones.slope_right) * np.abs(t - cones.t)
    value = float(np.clip(height.min(initial=hi), lo, hi))
    # Of the profiles with this value, the one whose errors share the missing part evenly.
    low, high = 0.0, 1.0
    for _ in range(50):
        share = 0.5 * (low + high)
        better = metric.value(share * pos, share * (1.0 - pos), pos=pos) >= value
        low, high = (share, high) if better else (low, share)
    fn, fp = low * pos, low * (1.0 - pos)
    lowest, highest = error_span(metric, fn, fp, pos=pos)
    c = metric.coefficients(pos)
    scale, own = 1.0 / metric.denominator(fn, fp, pos=pos), c.d_fn * fn + c.d_fp * fp
    new = (t, value, scale * (highest[0] - own), scale * (own - lowest[0]))
    return UnreachableCone(*(np.append(part, x) for part, x in zip(cones, new)))


def _join(ranges: list[list[float]]) -> list[list[float]]:
    """Ranges that touch, joined."""
    joined = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined
