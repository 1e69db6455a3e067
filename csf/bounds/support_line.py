"""Upper bounds from trials: their base class, and the support-line bound in the plane of error profiles."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, Costs
from csf._common.validation import check_fraction, floats
from csf.metrics.base import Metric
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.trials import Trial

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry


# ---------------------------------------------------------------- what every bound offers


def complete_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Select the trials that carry a profile, by number."""
    return sorted((trial for trial in check_trials(trials) if trial.state == "complete"), key=lambda t: t.number)


def check_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Return a list of trials; raise a TypeError for anything else."""
    try:
        checked = list(trials)
    except TypeError:
        raise TypeError(f"trials must be a sequence of csf.Trial, got {trials!r}") from None
    for trial in checked:
        if not isinstance(trial, Trial):
            raise TypeError(f"trials must be a sequence of csf.Trial, got {trial!r} among them")
    return checked


def check_eps(eps: float | str | Callable[..., float]) -> None:
    """Check an excess of trained models over the cheapest ones."""
    is_number = isinstance(eps, numbers.Real) and not eps < 0 and eps < np.inf
    if not (is_number or (callable(eps) and not isinstance(eps, type)) or (isinstance(eps, str) and eps == "evidence")):
        raise ValueError(f"eps must be a number >= 0, a function of a trial or 'evidence', got {eps!r}")


def known_profiles(trials: Sequence[Trial]) -> Hull | None:
    """Compute the hull of every profile that a trained model attains; return ``None`` without one."""
    hulls = [trial.hull if trial.hull is not None else _own_hull(trial) for trial in complete_trials(trials)]
    return Hull.union(hulls) if hulls else None


def profile_of(trial: Trial) -> ErrorProfile:
    """Return the profile of a complete trial."""
    assert trial.profile is not None, f"trial {trial.number} is complete and has no profile"
    return trial.profile


def weighted_errors(trials: Sequence[Trial]) -> Array:
    """Compute the weighted error of each complete trial at its own costs."""
    profiles = [(trial, profile_of(trial)) for trial in trials]
    return np.array([trial.c_fn * profile.fn + trial.c_fp * profile.fp for trial, profile in profiles])


def _own_hull(trial: Trial) -> Hull:
    profile = profile_of(trial)
    return Hull([(profile.fn, profile.fp)])


class Bound(ABC):
    """Upper bound on the metric, from the trials so far.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order; only complete ones count.
    metric : Metric
        What the trials were trained for.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of each trained model over the cheapest model of its class, in units of the weighted error
        ``c_fn fn + c_fp fp``: a number, a function of a `Trial`, or ``"evidence"``, the excess over the cheapest
        profile known from all trials and all their thresholds.

    Attributes
    ----------
    proven_at_levels : bool
        Whether `upper_bound` is proven at every level. `best_possible` is proven for each bound of csf, both for an
        ``eps`` that is not too small.
    """

    proven_at_levels: bool = True

    def __init__(
        self,
        trials: Sequence[Trial],
        metric: Metric,
        *,
        pos: float,
        eps: float | str | Callable[..., float] = "evidence",
    ) -> None:
        if not isinstance(metric, Metric):
            raise TypeError(f"metric must be a csf.metrics.Metric object, got {metric!r}")
        check_eps(eps)
        self.metric, self.pos, self.eps = metric, check_fraction(pos, "pos"), eps
        self.trials = self._counted(complete_trials(trials))
        self.lo, self.hi = metric.range(pos)
        self._prepare()

    def _counted(self, trials: list[Trial]) -> list[Trial]:
        """Select the complete trials that the bound reads; raise a TypeError where it does not support the metric."""
        return trials

    def _prepare(self) -> None:  # noqa: B027 - most need nothing
        """Compute once what depends on the trials alone."""

    def excess(self) -> Array:
        """Compute the excess of each complete trial, in order of their numbers.

        Returns
        -------
        ndarray of shape (n_trials,)
            Weighted errors by which a better model may exist, >= 0.
        """
        if callable(self.eps):
            return np.array([float(self.eps(trial)) for trial in self.trials])
        if self.eps != "evidence":
            return np.full(len(self.trials), float(self.eps))
        if not self.trials:
            return np.empty(0)
        c_fn, c_fp = np.array([trial.costs for trial in self.trials]).T
        observed = weighted_errors(self.trials)
        known = known_profiles(self.trials)
        assert known is not None  # there is a trial
        return np.maximum(observed - known.cheapest(c_fn, c_fp), 0.0)

    @abstractmethod
    def upper_bound(self, levels: ArrayLike) -> Array:
        """Compute the largest metric value that a model trained at each level can have.

        Parameters
        ----------
        levels : array-like of shape (n_levels,)
            Levels t.

        Returns
        -------
        ndarray of shape (n_levels,)
            Values, at most the end of the metric's range.
        """

    def _levels(self, levels: ArrayLike) -> Array:
        """Convert levels to numbers."""
        checked = floats(levels, "levels")
        if not np.isfinite(checked).all():
            raise ValueError(f"levels must be finite, got {checked.tolist()}")
        return checked

    @abstractmethod
    def best_possible(self) -> float:
        """Compute the largest metric value that any model of the class can have.

        Returns
        -------
        float
            The bound on the optimum.
        """

    @abstractmethod
    def region(self) -> BaseGeometry:
        """Return the unreachable part of the (level, metric) plane.

        Returns
        -------
        shapely.Geometry
            A polygon, several, or an empty one.
        """


# ---------------------------------------------------------------- support lines


def support_chain(c_fn: Array, c_fp: Array, rhs: Array, *, pos: float) -> Array:
    """Compute the lower-left edge of the box bounded by support lines."""
    neg = 1.0 - pos
    upright = c_fp <= 1e-15 * (c_fn + c_fp)
    left = float(np.max(rhs[upright] / c_fn[upright], initial=0.0))
    slope = np.append(0.0, -c_fn[~upright] / c_fp[~upright])
    height = np.append(0.0, rhs[~upright] / c_fp[~upright])
    lines = _upper_envelope(slope, height)
    # Corners where neighbouring lines of the envelope meet, then the cuts at the sides of the box.
    (s, h) = lines.T
    x = (h[1:] - h[:-1]) / (s[:-1] - s[1:]) if s.size > 1 else np.empty(0)
    left = max(left, float(np.max((h - neg) / np.where(s < 0, -s, np.inf))))
    left = min(left, pos)
    inner = (x > left) & (x < pos)
    ends = np.array([left, pos])
    low, high = (np.multiply.outer(ends, s) + h).max(axis=1)
    # Of the two lines of a corner the flatter one tells its height with the smaller rounding error.
    y = np.clip(np.concatenate([[low], (s[1:] * x + h[1:])[inner], [high]]), 0.0, neg)
    x = np.concatenate([[left], x[inner], [pos]])
    last = np.flatnonzero(y <= y[-1])[0]
    return np.column_stack([x, y])[: last + 1]


def _upper_envelope(slope: Array, height: Array) -> Array:
    """Select the lines ``slope x + height`` that are highest somewhere, by increasing slope."""
    order = np.lexsort((-height, slope))
    kept = []
    for s, h in zip(slope[order].tolist(), height[order].tolist()):
        if kept and s == kept[-1][0]:
            continue
        while len(kept) > 1:
            (s0, h0), (s1, h1) = kept[-2], kept[-1]
            if (h0 - h) * (s1 - s0) > (h0 - h1) * (s - s0):
                break
            kept.pop()
        kept.append((s, h))
    return np.array(kept)


def clip_chain(chain: Array, normal: tuple[float, ...], rhs: float) -> Array:
    """Clip a chain to ``normal·e <= rhs``."""
    excess = chain @ np.asarray(normal, dtype=float) - rhs
    inside = excess <= 0
    if inside.all():
        return chain
    cross = inside[:-1] != inside[1:]
    crossings = np.flatnonzero(cross)
    share = excess[crossings] / (excess[crossings] - excess[crossings + 1])
    corners = chain[crossings] + share[:, None] * (chain[crossings + 1] - chain[crossings])
    points = np.concatenate([chain[inside], corners])
    return points[np.lexsort((-points[:, 1], points[:, 0]))]


def best_on_chain(chain: Array, value: Callable[[Array, Array], Array], *, tol: float = 1e-06) -> float:
    """Compute an upper bound on a metric that falls with both errors, over everything above and right of a chain.

    Parameters
    ----------
    chain : ndarray of shape (n_vertices, 2)
        Vertices by increasing fn and decreasing fp; at least one.
    value : callable
        ``value(fn, fp)``, vectorised, not increasing in either argument.
    tol : float, default=1e-6
        Largest surplus over the true maximum, in units of the metric.

    Returns
    -------
    float
        The maximum, or up to ``tol`` more; never less.

    Notes
    -----
    On a piece of the chain the metric is at most its value at the corner that takes the smaller error of both
    ends. Pieces that may still hold more than the best point so far are split into eight.
    """
    left, right = chain[:-1], chain[1:]
    best = upper = float(np.max(value(chain[:, 0], chain[:, 1])))
    if not left.size:
        return best
    share = np.linspace(0.0, 1.0, 9)[:, None]
    for _ in range(20):
        corners = value(left[:, 0], right[:, 1])
        promising = corners > best + tol
        # Pieces that are given up keep their say: the true maximum may lie on one of them.
        upper = max(upper, float(np.max(corners[~promising], initial=-np.inf)))
        if not promising.any():
            return max(best, upper)
        left, right = left[promising, None], right[promising, None]
        points = left + share * (right - left)
        best = max(best, float(np.max(value(points[..., 0], points[..., 1]))))
        left, right = points[:, :-1].reshape(-1, 2), points[:, 1:].reshape(-1, 2)
    return max(upper, float(value(left[:, 0], right[:, 1]).max()))


# A value this close to the worst one is what rounding leaves of a constraint that only the worst profile satisfies.
_NOTHING = 1e-9


class SupportLineBound(Bound):
    r"""Polygon of profiles above the support lines of all trials.

    A model trained with costs a that is within ``eps`` of the cheapest of its class shows that no profile of the class
    lies below the line :math:`\langle a, e \rangle = \langle a, e_i \rangle - \varepsilon_i`. All lines together leave
    a convex polygon; its best point bounds the metric, for every metric that falls with both errors.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order.
    metric : Metric
        Any metric; with a ``constraint`` attribute only profiles that satisfy it count.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of the trained models, see `Bound`. With ``"evidence"`` no observed profile is ever unreachable.

    Attributes
    ----------
    chain_ : ndarray of shape (n_vertices, 2)
        Lower-left edge of the polygon, vertices (fn, fp) by increasing fn.

    Notes
    -----
    With ``eps="evidence"`` the bound holds for a class in which, at each trained level, no profile is cheaper than the
    cheapest one **known so far**. It is not a proof about models that have not been trained.

    Examples
    --------
    >>> from csf import ErrorProfile, Trial
    >>> from csf.metrics import FBeta
    >>> trial = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="complete",
    ...               profile=ErrorProfile(fn=0.1, fp=0.1, pos=0.3))
    >>> SupportLineBound([trial], FBeta(), pos=0.3).best_possible()
    0.714
    """

    def _prepare(self) -> None:
        c_fn, c_fp = np.array([t.costs for t in self.trials]).reshape(-1, 2).T
        observed = weighted_errors(self.trials)
        lowest = np.maximum(observed - self.excess(), -(c_fn + c_fp))  # what lies below that forbids nothing either
        self.chain_ = support_chain(c_fn, c_fp, lowest, pos=self.pos)
        self._known = known_profiles(self.trials)

    def best_possible(self) -> float:
        """Compute the best value over the polygon, see `Bound.best_possible`."""
        best = self._best(self._allowed())
        if not isinstance(self.eps, str):
            return best
        # What was observed is possible: rounding must not say otherwise.
        return max([best, *(trial.attained for trial in self.trials if trial.attained is not None)])

    def upper_bound(self, levels: ArrayLike) -> Array:
        """Compute the best value over the slice of the polygon that a model trained at each level can reach.

        Parameters
        ----------
        levels : array-like of shape (n_levels,)
            Levels t.

        Returns
        -------
        ndarray of shape (n_levels,)
            A model trained at t costs at most as much as the cheapest known profile does at t.
        """
        levels = self._levels(levels)
        if self._known is None:
            return np.full(levels.shape, self.hi)
        slices, allowed = np.empty(levels.shape), self._allowed()
        for place, t in np.ndenumerate(levels):
            costs = self.metric.cost_weights(self.metric.clip_level(t, pos=self.pos), pos=self.pos)
            # A hair of slack, and the cheapest known profile itself: rounding must not lose what was seen.
            limit = self._known.cheapest(*costs) * (1.0 + 1e-12) + 1e-14 * sum(costs)
            slices[place] = max(self._best(clip_chain(allowed, costs, limit)), self._cheapest_known(costs))
        return slices

    def _cheapest_known(self, costs: Costs) -> float:
        """Return the value of the known profile that is cheapest for some costs, if the constraint allows it."""
        assert self._known is not None  # asked where something is known
        fn, fp = self._known.points[np.argmin(self._known.points @ costs)]
        constraint = self.metric.constraint
        if constraint is not None and constraint.violation(fn, fp, pos=self.pos) > 0:
            return self.lo
        return float(min(self.metric.value(fn, fp, pos=self.pos), self.hi))

    def region(self) -> BaseGeometry:
        """Return the unreachable part of the (level, metric) plane at 257 levels, see `Bound.region`."""
        import shapely

        levels = np.linspace(self.lo, self.hi, 257)
        bound = np.clip(self.upper_bound(levels), self.lo, self.hi)
        outline = [*zip(levels, bound), (self.hi, self.hi), (self.lo, self.hi)]
        return shapely.make_valid(shapely.Polygon(outline))

    def polygon(self) -> BaseGeometry:
        """Return the profiles that are still possible, in the (fn, fp) plane.

        Returns
        -------
        shapely.Polygon
            The box above all support lines.
        """
        import shapely

        neg = 1.0 - self.pos
        corners = [(self.pos, self.chain_[-1, 1]), (self.pos, neg), (self.chain_[0, 0], neg)]
        return shapely.make_valid(shapely.Polygon([*self.chain_.tolist(), *corners]))

    def _allowed(self) -> Array:
        """Compute the lower-left edge of the possible profiles that satisfy the constraint, if there is one."""
        constraint = self.metric.constraint
        if constraint is None:
            return self.chain_
        # A demand may forbid the whole chain and still leave profiles above or to the right of it.
        top, side = (self.chain_[0, 0], 1.0 - self.pos), (self.pos, self.chain_[-1, 1])
        chain = np.concatenate([[top], self.chain_, [side]])
        for part in constraint.parts:
            if chain.shape[0]:
                chain = clip_chain(chain, *part.half_plane(pos=self.pos))
        return chain

    def _best(self, chain: Array) -> float:
        if chain.shape[0] == 0:
            return self.lo
        if self.metric.has_levels:
            best = float(np.max(self.metric.value(chain[:, 0], chain[:, 1], pos=self.pos)))
        else:
            best = best_on_chain(chain, lambda fn, fp: self.metric.value(fn, fp, pos=self.pos))
        if self.metric.constraint is not None and best <= self.lo + _NOTHING:
            return self.lo
        return min(best, self.hi)
