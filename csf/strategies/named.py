"""The strategies that come with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from csf._common.typing import Array, BoolArray, Values
from csf._common.validation import check_bool, check_count, check_number
from csf.bounds import ConeBound, SupportLineBound, known_profiles
from csf.bounds.cone import UnreachableCone, error_span, highest_levels
from csf.bounds.support_line import check_eps
from csf.metrics import LinearFractional, Metric
from csf.metrics.base import require_levels
from csf.metrics.constraints import Constraint
from csf.metrics.trials import Trial
from csf.strategies.base import (
    SAME,
    Proposal,
    Strategy,
    balanced_level,
    level_of_costs,
    tried_levels,
)

# The way out for strategies that read the value of a metric as a level.
_WITHOUT_LEVELS = "Use 'cone', 'support', 'grid' or 'imbalance_ratio'"

# ---------------------------------------------------------------- costs that do not depend on results


@dataclass(frozen=True)
class Grid(Strategy):
    """Strategy of levels in the middles of ``size`` equal parts of the range, from low to high.

    Parameters
    ----------
    size : int, default=None
        Number of levels; ``None`` takes the number of trials of the search.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Grid(size=5).propose([], metric=FBeta(), pos=0.1)
    0.1
    """

    size: int | None = None

    batch_size = None

    def __post_init__(self) -> None:
        if self.size is not None:
            check_count(self.size, "size")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the first level of the grid that was not tried, see `Strategy.propose`."""
        size = 10 if self.size is None else self.size
        lo, hi = metric.range(pos)
        levels = lo + (np.arange(size) + 0.5) * (hi - lo) / size
        tried = np.array([-np.inf, *tried_levels(trials), np.inf])
        above = np.searchsorted(tried, levels)
        free = np.minimum(levels - tried[above - 1], tried[above] - levels) > SAME * (hi - lo)
        return float(levels[np.argmax(free)]) if free.any() else None

    def most_trials(self, n_trials: int) -> int:
        """Count one trial for each level, see `Strategy.most_trials`."""
        return n_trials if self.size is None else min(n_trials, self.size)

    def with_budget(self, n_trials: int) -> Strategy:
        """Return a grid of ``n_trials`` levels unless its size was given, see `Strategy.with_budget`."""
        return self if self.size is not None else replace(self, size=n_trials)


# Classes of nearly the same size leave no ratio to climb to; the top is then this far from equal costs.
_LEAST_TOP = 3.0
# Ratios of costs closer than this (relative) are the same step.
_SAME = 1e-9


@dataclass(frozen=True)
class Ladder(Strategy):
    """Ratios ``c_fn : c_fp`` in equal steps of their logarithm, from 1 to the one that balances the classes.

    Equal costs come first, then the other ratios in an order in which each one is far from those before it, so that a
    search that is ended early has seen the whole range. The ratios do not depend on the metric: with a tuned threshold,
    costs act through the direction of the model, and for that their ratio is what counts. F-beta, Jaccard and the
    G-mean have their best levels between these two ends.

    Parameters
    ----------
    size : int, default=6
        Number of ratios, equal costs and balancing ones among them.
    race : bool, default=True
        Whether settings of ``param_grid`` that are behind with equal costs drop out of a `csf.CostSearch`, see there;
        ``False`` trains all of them at all ratios.

    Notes
    -----
    The top is at least 3 (at most 1/3 where positives are the majority). Costs add up to 2.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Ladder().propose([], metric=FBeta(), pos=0.2)
    Proposal(t=None, c_fn=1.0, c_fp=1.0)
    >>> [round(step, 1) for step in _order(6)]
    [0.0, 1.0, 0.6, 0.8, 0.4, 0.2]
    """

    size: int = 6
    race: bool = True

    def __post_init__(self) -> None:
        check_count(self.size, "size")
        check_bool(self.race, "race")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the first ratio that was not tried, see `Strategy.propose`."""
        tried = [math.log(trial.c_fn / trial.c_fp) for trial in trials if trial.c_fn > 0 and trial.c_fp > 0]
        for step in _order(self.size):
            ratio = _top(pos) * step
            if all(abs(ratio - other) > _SAME * max(1.0, abs(ratio)) for other in tried):
                c_fp = 2.0 / (1.0 + math.exp(ratio))
                costs = 2.0 - c_fp, c_fp
                return Proposal(level_of_costs(metric, *costs, pos=pos), *costs)
        return None

    def most_trials(self, n_trials: int) -> int:
        """Count one trial for each ratio, see `Strategy.most_trials`."""
        return min(n_trials, self.size)

    def only_equal(self, *, pos: float) -> str:
        """Explain it by the size, see `Strategy.only_equal`."""
        return "its only ratio is that of equal costs; strategy=Ladder(3) tries others"


@dataclass(frozen=True)
class OnlyEqualCosts(Ladder):
    """Strategy of equal costs alone; ``why`` explains why there are no others."""

    size: int = 1
    why: str = ""

    def only_equal(self, *, pos: float) -> str:
        """Return the explanation that the strategy was made with, see `Strategy.only_equal`."""
        return self.why

    @property
    def name(self) -> str:
        """Short name, ``"equal_costs"``."""
        return "equal_costs"


def _top(pos: float) -> float:
    """Compute the logarithm of the largest ratio."""
    balance = math.log1p(-pos) - math.log(pos)
    return math.copysign(max(abs(balance), math.log(_LEAST_TOP)), balance)


def _order(size: int) -> list[float]:
    """Order shares from 0 to 1: both ends, then always the one farthest from those before (the higher of equals)."""
    steps = [place / max(size - 1, 1) for place in range(size)]
    order = steps[:1]
    left = steps[1:]
    while left:
        step = max(left, key=lambda place: (round(min(abs(place - other) for other in order), 9), place))
        order.append(step)
        left.remove(step)
    return order


@dataclass(frozen=True)
class ImbalanceRatio(Strategy):
    """One trial in which each class costs the share of the other one: ``c_fn = 1 - pos``, ``c_fp = pos``.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> ImbalanceRatio().propose([], metric=FBeta(), pos=0.1)
    Proposal(t=0.2, c_fn=0.9, c_fp=0.1)
    """

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the balanced costs, once, see `Strategy.propose`."""
        if trials:
            return None
        return Proposal(balanced_level(metric, pos=pos), 1.0 - pos, pos)

    def most_trials(self, n_trials: int) -> int:
        """Count a single trial, see `Strategy.most_trials`."""
        return 1

    @property
    def name(self) -> str:
        """Short name, ``"imbalance_ratio"``."""
        return "imbalance_ratio"


# ---------------------------------------------------------------- from level to level


@dataclass(frozen=True)
class Bisection(Strategy):
    """Strategy that halves the range of levels by the sign test of fractional programming.

    For an exact learner the model trained at t has a value of at least t exactly when some model has.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval, in units of the metric.

    References
    ----------
    .. [1] H. Narasimhan et al., "Consistent multiclass algorithms for complex performance measures", ICML 2015.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Bisection().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the middle of the remaining interval, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width = hi - lo
        # Levels that count as the same one cannot be distinguished by another training, whatever the tolerance.
        while hi - lo > max(self.tol, SAME * width):
            middle = 0.5 * (lo + hi)
            trained = metric.clip_level(middle, pos=pos)
            here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
            if not here:
                return middle
            # A failed training shows no model of this value.
            attained = any(t.value is not None and t.value >= middle for t in here)
            lo, hi = (middle, hi) if attained else (lo, middle)
        return None

    def check_metric(self, metric: Metric) -> None:
        """Raise a TypeError for a metric without levels, see `Strategy.check_metric`."""
        require_levels(metric, f"strategy {self.name!r}", _WITHOUT_LEVELS)


@dataclass(frozen=True)
class Dinkelbach(Strategy):
    """Strategy that trains at the best value so far; with an exact learner it rises until it is its own level.

    Parameters
    ----------
    tol : float, default=1e-4
        The strategy ends when the best value is this close to a tried level, in units of the metric.

    Notes
    -----
    It starts at the level that balances the classes (the middle of the range where there is none). With an exact
    learner it is Newton's method and takes a few trainings; with a real one it may stop early, at a level whose model
    is no better than its level indicates.

    References
    ----------
    .. [1] W. Dinkelbach, "On nonlinear fractional programming", Management Science 13, 1967.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Dinkelbach().propose([], metric=FBeta(), pos=0.1)
    0.2
    """

    tol: float = 1e-4

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Propose the best value so far, unless it was tried, see `Strategy.propose`."""
        values = [trial.value for trial in trials if trial.value is not None]
        tried = tried_levels(trials)
        if not values:
            balanced = balanced_level(metric, pos=pos)
            lo, hi = metric.range(pos)
            starts = ([] if balanced is None else [balanced]) + [0.5 * (lo + hi)]
            return next((t for t in starts if not self._close(t, tried)), None)
        t = metric.clip_level(max(values), pos=pos)
        return None if self._close(t, tried) else t

    def _close(self, t: float, tried: list[float]) -> bool:
        return any(abs(t - other) <= self.tol for other in tried)

    def check_metric(self, metric: Metric) -> None:
        """Raise a TypeError where the best value is not a level, see `Strategy.check_metric`."""
        require_levels(metric, f"strategy {self.name!r}", _WITHOUT_LEVELS)


# Share of an interval up to its inner level on the right: one of two inner levels serves the smaller interval again.
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class GoldenSection(Strategy):
    """Strategy that narrows down the level of the largest value, for values that rise with the level, then fall.

    With an exact learner, linear-fractional metrics and the G-mean and its kind are such functions of the level. Each
    training takes away 38 % of the levels left; all that is compared are values, so it serves every metric.

    Parameters
    ----------
    tol : float, default=1e-3
        Width of the last interval of levels, as a share of the range.

    Notes
    -----
    Of two equal values of a linear-fractional metric the levels themselves show where the best one lies: above both
    where the values are. For other metrics the one at the lower level counts as better then. A failed training counts
    as the worst. A real learner is noisy: an interval that is given up does not come back. `Cone` and `Support` are
    safer then.

    References
    ----------
    .. [1] J. Kiefer, "Sequential minimax search for a maximum", Proceedings of the American Mathematical Society 4,
       1953.

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> GoldenSection().propose([], metric=FBeta(), pos=0.1)
    0.382
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | None:
        """Propose the inner level of the remaining interval that was not tried, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        width, tells = hi - lo, metric.has_levels
        while hi - lo > max(self.tol, 4.0 * SAME) * width:
            left, right = hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo)
            values = []
            for level in (left, right):
                trained = metric.clip_level(level, pos=pos)
                here = [t for t in trials if t.t is not None and abs(t.t - trained) <= SAME * width]
                if not here:
                    return level
                values.append(max((t.attained for t in here if t.attained is not None), default=-math.inf))
            rises = values[1] > values[0] or (tells and values[0] == values[1] > right)
            lo, hi = (left, hi) if rises else (lo, right)
        return None

    @property
    def name(self) -> str:
        """Short name, ``"golden_section"``."""
        return "golden_section"


# ---------------------------------------------------------------- where the trials promise most


def corner_promise(trials: Sequence[Trial], edges: Array, metric: Metric, pos: float) -> Array:
    """Compute the metric at the profile where the support lines of each interval's two ends meet."""
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
    return _allowed_promise(promise, corners, touched, constraint, metric, pos)


def _cheapest(points: Array, levels: Array, metric: Metric, pos: float) -> Array:
    """Find the point with the smallest weighted error at the costs of each level."""
    costs = np.array([metric.cost_weights(t, pos=pos) for t in levels]).reshape(-1, 2)
    return points[(costs @ points.T).argmin(axis=1)]


def _allowed_promise(
    promise: Array, corners: Array, touched: Array, constraint: Constraint, metric: Metric, pos: float
) -> Array:
    """Limit the promise by a constraint: possible profiles reach from a corner to the known ones at both ends."""
    planes = [part.half_plane(pos=pos) for part in constraint.parts]
    excess, excess_touched = (
        np.max([points @ normal - rhs for normal, rhs in planes], axis=0) for points in (corners, touched)
    )
    violation = constraint.violation(corners[:, 0], corners[:, 1], pos=pos)
    nearby = metric.range(pos)[0] - violation
    for end, allowed in ((touched[:-1], excess_touched[:-1]), (touched[1:], excess_touched[1:])):
        crosses = (excess > 0) & (allowed <= 0)
        share = np.where(crosses, excess, 0.0) / np.where(crosses, excess - allowed, 1.0)
        fn, fp = (corners + share[:, None] * (end - corners)).T
        nearby = np.where(crosses, np.maximum(nearby, metric.value(fn, fp, pos=pos)), nearby)
    return np.where(excess <= 0, promise, nearby)


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
        """Propose the midpoint of the tried levels around the most promising one, see `Strategy.propose`."""
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
        if metric.has_levels:
            interval = self._highest_interval(trials, edges, metric, pos, is_open)  # pyright: ignore[reportArgumentType] (it has levels)
        else:
            promise = np.where(is_open, corner_promise(trials, edges, metric, pos), -np.inf)
            # Promises that differ by rounding only are equal: the G-mean turns an error of 1e-16 into one of 1e-8.
            highest = promise >= promise.max() - 1e-6 * (hi - lo)
            interval = int(np.argmax(np.where(highest, np.diff(edges), -1.0)))
        return float(middles[interval])

    def _highest_interval(
        self, trials: Sequence[Trial], edges: Array, metric: LinearFractional, pos: float, is_open: BoolArray
    ) -> int:
        """Find the interval around the middle of the widest range of levels with the highest envelope."""
        lo, tried, hi = edges[0], edges[1:-1], edges[-1]
        cones = ConeBound(trials, metric, pos=pos, eps=self.eps).cones
        pending = [(trial.number, trial.t) for trial in trials if trial.state == "pending" and trial.t is not None]
        for _, t in sorted(pending):
            cones = _with_pending(cones, t, metric, pos)
        # One apex a level: the lowest of the complete trials at it, which is written last, and one that bounds nothing
        # where none is complete.
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
    """Add a provisional cone at level t: as high as the envelope there, with slopes of a profile of that value."""
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
    scale, error = 1.0 / metric.denominator(fn, fp, pos=pos), c.d_fn * fn + c.d_fp * fp
    new = (t, value, scale * (highest[0] - error), scale * (error - lowest[0]))
    return UnreachableCone(*(np.append(part, x) for part, x in zip(cones, new)))


def _join(ranges: list[list[float]]) -> list[list[float]]:
    """Join ranges that touch."""
    joined = []
    for start, end in ranges:
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


@dataclass(frozen=True)
class Support(Strategy):
    """Strategy that alternates between the level of the best value and the largest unexplored gap.

    An exploiting trial aims at the best value attained so far (Dinkelbach's point; for metrics without levels at the
    gap whose support lines promise most), unless a trial is already there. An exploring trial halves the largest gap
    on the log-odds scale of the level, on which rare classes, that reward very small levels, get their share.

    Parameters
    ----------
    tol : float, default=1e-3
        What counts as an improvement or as a gap, in units of the metric.
    patience : int, default=3
        The strategy ends when the support-line bound is within ``tol`` of the best value **and** this many exploring
        trials in a row, and the exploiting ones between them, did not improve it by ``tol``. The bound alone is no
        reason to stop: it holds for profiles near those already seen.
    reach : float, default=0.01
        Explored levels stay this share of the range away from its ends, in [1e-9, 0.5).

    Examples
    --------
    >>> from csf.metrics import FBeta
    >>> Support().propose([], metric=FBeta(), pos=0.1)
    0.5
    """

    tol: float = 1e-3
    patience: int = 3
    reach: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.tol, "tol")
        check_count(self.patience, "patience")
        if not SAME <= check_number(self.reach, "reach", positive=True) < 0.5:
            raise ValueError(f"reach must be in [{SAME:g}, 0.5), got {self.reach!r}")

    def propose(self, trials: Sequence[Trial], *, metric: Metric, pos: float) -> float | Proposal | None:
        """Exploit and explore in turn, see `Strategy.propose`."""
        lo, hi = metric.range(pos)
        trials = sorted((trial for trial in trials if trial.t is not None), key=lambda trial: trial.number)
        levels = [trial.t for trial in trials if trial.t is not None]
        tried = np.clip([(t - lo) / (hi - lo) for t in levels], self.reach, 1.0 - self.reach)
        if self._is_done(trials, tried, metric, pos):
            return None
        share = None
        if len(trials) % 2:
            share = self._exploit(trials, tried, metric, pos)
        if share is None:
            share = self._explore(tried)
        return None if share is None else float(lo + share * (hi - lo))

    def _exploit(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> float | None:
        """Return the share of the range at the best value, or ``None`` where a trial is near already."""
        attained = [trial.attained for trial in trials if trial.attained is not None]
        if not attained:
            return None
        lo, hi = metric.range(pos)
        if metric.has_levels:
            share = float(np.clip((max(attained) - lo) / (hi - lo), self.reach, 1.0 - self.reach))
        else:
            edges = np.unique(np.concatenate([[self.reach], tried, [1.0 - self.reach]]))
            promise = corner_promise(trials, lo + edges * (hi - lo), metric, pos)
            interval = int(np.argmax(promise))
            share = float(_sigmoid(0.5 * (_logit(edges[interval]) + _logit(edges[interval + 1]))))
        is_close = np.abs(_logit(tried) - _logit(share)) < 0.25
        return None if is_close.any() else share

    def _explore(self, tried: Array) -> float | None:
        """Return the share of the range in the middle of the largest gap, the lower one of equal gaps."""
        edges = _logit(np.unique(np.concatenate([[self.reach], tried, [1.0 - self.reach]])))
        if not tried.size:
            return 0.5
        gaps = np.diff(edges)
        if gaps.max() < 1e-6:
            return None
        gap = int(np.argmax(gaps > gaps.max() - 1e-9))
        return float(_sigmoid(0.5 * (edges[gap] + edges[gap + 1])))

    def _is_done(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> bool:
        complete = [trial for trial in trials if trial.attained is not None]
        if len(complete) <= self.patience:
            return False
        best = np.maximum.accumulate([trial.attained for trial in complete if trial.attained is not None])
        if best[-1] - best[-1 - self.patience] >= self.tol:
            return False
        if SupportLineBound(complete, metric, pos=pos).best_possible() - best[-1] > self.tol:
            return False
        since = self._exploring_since(trials, tried, metric, pos)
        before = [trial.attained for trial in trials[:since] if trial.attained is not None]
        return bool(before) and best[-1] - max(before) < self.tol

    def _exploring_since(self, trials: Sequence[Trial], tried: Array, metric: Metric, pos: float) -> int:
        """Find the first of the last ``patience`` complete exploring trials; 0 where there are fewer."""
        left = self.patience
        for i in range(len(trials) - 1, -1, -1):
            # a trial explored unless what came before it asks for its level to exploit
            share = self._exploit(trials[:i], tried[:i], metric, pos) if i % 2 else None
            exploring = share is None or abs(share - tried[i]) > SAME
            left -= exploring and trials[i].attained is not None
            if left == 0:
                return i
        return 0


def _logit(share: Values) -> Values:
    return np.log(share) - np.log1p(-np.asarray(share))


def _sigmoid(x: Values) -> Values:
    return 1.0 / (1.0 + np.exp(-x))
