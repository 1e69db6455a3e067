"""Cones in the (level, metric) plane that no model trained at another level can enter."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from csf._common.compiled import njit
from csf._common.typing import Array, BoolArray, Values
from csf.bounds.support_line import Bound, profile_of
from csf.metrics.base import require_levels

if TYPE_CHECKING:
    import shapely
    from shapely.geometry.base import BaseGeometry

    from csf.metrics.base import LinearFractional
    from csf.metrics.trials import Trial


@njit(cache=True, nogil=True, error_model="numpy")
def _lower_to_highest(apexes, is_open, start, end):
    """Descend to the highest point of the envelope in open intervals. Return its height.

    ``apexes`` holds the rows t, value, slope to the left and slope to the right, by t; the first and the last apex are
    the ends of the range and have the value inf. Interval k lies between the apexes k and k + 1; ``start`` and ``end``
    receive what the lines leave of it at the final height, and are crossed where they leave nothing.
    """
    t, value, left, right = apexes[0], apexes[1], apexes[2], apexes[3]
    n_intervals = start.shape[0]
    lo, hi = t[0], t[n_intervals]
    height, step = hi, 1e-15 * max(abs(hi), hi - lo)
    from_left, from_right = np.empty(n_intervals, dtype=np.int64), np.empty(n_intervals, dtype=np.int64)
    while True:
        _leave(t, value, right, height, start, from_left)
        _leave(-t[::-1], value[::-1], left[::-1], height, end[::-1], from_right[::-1])
        fits, lower = False, -np.inf
        for k in range(n_intervals):
            end[k] = -end[k]
            if is_open[k]:
                fits |= start[k] <= end[k]
                i, j = from_left[k], n_intervals - from_right[k]
                lower = max(lower, _crossing(t[j] - t[i], value[i], right[i], value[j], left[j], height))
        if fits:
            return height
        if not lower < height:  # rounding alone keeps the two lines of the best interval from crossing
            lower, step = height - step, 2.0 * step
        height = lower


@njit(cache=True, nogil=True, error_model="numpy")
def _leave(t, value, slope, height, reached, line):
    """Write the running maximum of the levels where lines rise to ``height``, and the line that attains it first."""
    running, attained_by = -np.inf, 0
    for k in range(reached.shape[0]):
        need = height - value[k]
        level = t[k] + need / slope[k] if need > 0.0 else t[k]
        if level > running:
            running, attained_by = level, k
        reached[k], line[k] = running, attained_by


@njit(cache=True, nogil=True, error_model="numpy")
def _crossing(distance, v_i, s_i, v_j, s_j, height):
    """Compute the height where a rising line meets a falling one; a line above it at its apex acts as a wall."""
    if v_j >= height:
        return v_i + s_i * distance
    if v_i >= height:
        return v_j + s_j * distance
    if s_i + s_j > 0.0:
        return v_i + s_i / (s_i + s_j) * (v_j - v_i + s_j * distance)
    return min(v_i, v_j)


@njit(cache=True, nogil=True, error_model="numpy")
def _extreme_errors(value, fn, fp, pos, n_fn, n_fp, d_fn, d_fp, lowest, highest):
    """Write the extremes of ``d·e`` over the profiles of the box with at least the value of each given one.

    They are the part of the box on one side of the level line through the given profile. A linear function is extreme
    at its corners: (0, 0) and the profile itself, and where the line meets the sides of the box or the box ends below
    it.
    """
    neg = 1.0 - pos
    for k in range(value.shape[0]):
        a_fn, a_fp = value[k] * d_fn - n_fn, value[k] * d_fp - n_fp
        rhs = a_fn * fn[k] + a_fp * fp[k]
        error = d_fn * fn[k] + d_fp * fp[k]
        low, high = min(0.0, error), max(0.0, error)
        for x in (0.0, pos):
            largest = _largest(rhs - a_fn * x, a_fp)
            if largest >= 0.0:
                span = d_fn * x + d_fp * min(largest, neg)
                low, high = min(low, span), max(high, span)
        for y in (0.0, neg):
            largest = _largest(rhs - a_fp * y, a_fn)
            if largest >= 0.0:
                span = d_fn * min(largest, pos) + d_fp * y
                low, high = min(low, span), max(high, span)
        lowest[k], highest[k] = low, high


@njit(cache=True, nogil=True, error_model="numpy")
def _largest(rest, cost):
    """Return the largest error with a cost within ``rest``: negative if there is none, infinite if errors are free."""
    if cost > 0.0:
        return rest / cost
    return np.inf if rest >= 0.0 else -np.inf


def highest_levels(
    cones: tuple[Values, Values, Values, Values], lo: float, hi: float, *, is_open: BoolArray | None = None
) -> tuple[float, Array]:
    """Find the highest value under all cones, and where it is attained between neighbouring apexes.

    Parameters
    ----------
    cones : Cone of ndarrays of shape (n_cones,)
        Apexes ``(t, value)`` and slopes >= 0 away from them. An apex of value ``inf`` bounds nothing and only
        divides an interval.
    lo, hi : float
        Range of the levels and of the metric.
    is_open : ndarray of bool, shape (n_cones + 1,), default=None
        Which intervals between sorted apexes (and the ends) to look at; ``None`` means all.

    Returns
    -------
    height : float
        Largest value of the envelope, at most ``hi``; ``-inf`` where all intervals are closed.
    ranges : ndarray of shape (n_ranges, 2)
        Maximising ranges of levels, one for each interval that attains ``height``.

    Notes
    -----
    Between two neighbouring apexes the envelope is the minimum of rising lines (apexes to the left) and falling
    lines (apexes to the right). At a height h the first leave the levels right of a running maximum of crossings,
    the second those left of a running minimum: O(n) for all intervals together. Newton's method on h, from above,
    replaces h by the crossing of the two lines that block each interval, and ends at the exact maximum.
    """
    order = np.argsort(cones[0], kind="stable")
    apexes = np.empty((4, order.size + 2))
    apexes[:, 1:-1] = np.array(cones)[:, order]
    apexes[:, [0, -1]] = [[lo, hi], [np.inf, np.inf], [0.0, 0.0], [0.0, 0.0]]  # the ends of the range bound nothing
    is_open = np.ones(order.size + 1, dtype=bool) if is_open is None else is_open
    if not is_open.any():
        return -np.inf, np.empty((0, 2))
    start, end = np.empty(is_open.size), np.empty(is_open.size)
    height = _lower_to_highest(apexes, is_open, start, end)
    fits = is_open & (start <= end)
    return height, np.column_stack([start[fits], end[fits]])


class UnreachableCone(NamedTuple):
    """One unreachable cone: everything above ``value`` at ``t``, opening with the two slopes.

    ``slope_left`` and ``slope_right`` are metric units per unit of t, both >= 0, away from the apex. Several cones are
    one `UnreachableCone` of arrays.
    """

    t: Values
    value: Values
    slope_left: Values
    slope_right: Values


def error_span(metric: LinearFractional, fn: Values, fp: Values, *, pos: float) -> tuple[Array, Array]:
    """Compute the smallest and largest ``d·e`` over the profiles of the box that are better than given ones."""
    shares = np.broadcast_arrays(np.asarray(fn, dtype=float), np.asarray(fp, dtype=float))
    fn, fp = (np.ascontiguousarray(share) for share in shares)  # of one dimension at least
    c = metric.coefficients(pos)
    value = np.asarray(metric.value(fn, fp, pos=pos), dtype=float)
    lowest, highest = np.empty_like(value), np.empty_like(value)
    share, n_fn, n_fp, d_fn, d_fp = (float(weight) for weight in (pos, c.n_fn, c.n_fp, c.d_fn, c.d_fp))
    _extreme_errors(value, fn, fp, share, n_fn, n_fp, d_fn, d_fp, lowest, highest)
    return lowest, highest


class _LineBound(Bound):
    """Bound made of one V-shaped line per trial: value and slopes at its level."""

    metric: LinearFractional

    def _counted(self, trials: list[Trial]) -> list[Trial]:
        way = (
            "Use the support-line bound (bound='support') and the strategies 'cone' or 'support', which serve every "
            "metric"
        )
        require_levels(self.metric, type(self).__name__, way)
        return [trial for trial in trials if trial.t is not None]

    def _prepare(self) -> None:
        self.cones = self._cones()

    @abstractmethod
    def _lines(self, t: Array, fn: Array, fp: Array, value: Array, excess: Array) -> UnreachableCone:
        """Build the cones of trials at the levels ``t``, with these profiles, values and excesses."""

    def _cones(self) -> UnreachableCone:
        """Build the cones of all trials, as a `UnreachableCone` of arrays."""
        t = np.array([trial.t for trial in self.trials], dtype=float)
        profiles = [profile_of(trial) for trial in self.trials]
        fn = np.array([profile.fn for profile in profiles], dtype=float)
        fp = np.array([profile.fp for profile in profiles], dtype=float)
        value = np.asarray(self.metric.value(fn, fp, pos=self.pos), dtype=float)
        if not t.size:
            return UnreachableCone(t, value, t.copy(), t.copy())
        with np.errstate(over="ignore"):  # of an enormous excess: a cone far above the range
            return self._lines(t, fn, fp, value, self._level_excess(t))

    def _level_excess(self, t: Array) -> Array:
        """Convert the trials' excess to units of their levels' costs; the training costs may be scaled."""
        c = self.metric.coefficients(self.pos)
        costs = np.array([trial.costs for trial in self.trials])
        return self.excess() * (t * (c.d_fn + c.d_fp) - c.n_fn - c.n_fp) / costs.sum(axis=1)

    def _scale(self, fn: Array, fp: Array) -> Array:
        """Compute units of the metric per unit of weighted error; finite where a profile's denominator vanishes."""
        c = self.metric.coefficients(self.pos)
        size = abs(c.d0) + abs(c.d_fn) * self.pos + abs(c.d_fp) * (1.0 - self.pos)
        return 1.0 / np.maximum(self.metric.denominator(fn, fp, pos=self.pos), 1e-15 * size)

    def upper_bound(self, levels: ArrayLike) -> Array:
        """Return the lowest of all cones at each level, see `Bound.upper_bound`."""
        levels = self._levels(levels)
        away = np.subtract.outer(levels, self.cones.t)
        with np.errstate(over="ignore"):  # far above the range in any case
            height = self.cones.value + np.where(away < 0, -self.cones.slope_left, self.cones.slope_right) * away
        return np.minimum(height.min(axis=-1, initial=self.hi), self.hi)

    def best_possible(self) -> float:
        """Return the highest point of the envelope, see `Bound.best_possible`."""
        return highest_levels(self.cones, self.lo, self.hi)[0]

    def polygons(self) -> list[shapely.Polygon]:
        """Return the unreachable cone of each trial, clipped to the range of the metric.

        Returns
        -------
        list of shapely.Polygon
            One polygon a trial, in order of their numbers.
        """
        import shapely

        return [shapely.Polygon(self._outline(*cone)) for cone in zip(*self.cones)]

    def _outline(self, t: float, value: float, left: float, right: float) -> list[tuple[float, float]]:
        """Return the corners of the area above a V-shaped line in the metric's range; none if it starts above."""
        if not value < self.hi:
            return []
        levels = [t]
        # Left and right: where the line leaves by the side or the top and, from below, where it enters.
        for end, side, slope in ((self.lo, -1.0, left), (self.hi, 1.0, right)):
            top = value + slope * abs(end - t)
            levels.append(t + side * (self.hi - value) / slope if top > self.hi else end)
            if value < self.lo < top:
                levels.append(t + side * (self.lo - value) / slope)
        levels = np.unique(levels)
        heights = np.clip(value + np.where(levels < t, left, right) * np.abs(levels - t), self.lo, self.hi)
        return [*zip(levels, heights), (levels[-1], self.hi), (levels[0], self.hi)]

    def region(self) -> BaseGeometry:
        """Return the union of the unreachable cones, see `Bound.region`."""
        import shapely

        return shapely.union_all(self.polygons())


class ConeBound(_LineBound):
    r"""Asymmetric cones of Bascol et al. and their lower envelope.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order.
    metric : LinearFractional
        The metric.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of the trained models, see `Bound`.

    Notes
    -----
    The apex is the metric of the trial (plus ``eps`` over the denominator); the slopes are

    .. math:: \Phi_e\,(\max_R d \cdot e'' - d \cdot e), \qquad \Phi_e\,(d \cdot e - \min_R d \cdot e'')

    to the left and to the right, where R holds the better profiles. The envelope guides a search well, but its value
    at one level is **not** a proven bound for models trained there: the published proof uses an identity that holds
    only on the diagonal, where the level equals the metric. Its highest point does bound the best model, less sharply
    than `DiagonalBound`.

    References
    ----------
    .. [1] K. Bascol et al., "From Cost-Sensitive Classification to Tight F-measure Bounds", AISTATS 2019.

    Examples
    --------
    >>> from csf import ErrorProfile, Trial
    >>> from csf.metrics import FBeta
    >>> trial = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="complete",
    ...               profile=ErrorProfile(fn=0.1, fp=0.1, pos=0.3))
    >>> bound = ConeBound([trial], FBeta(), pos=0.3)
    >>> bound.upper_bound([0.2, 0.5, 0.8])
    array([0.817, 0.667, 0.742])
    """

    proven_at_levels = False

    def _lines(self, t: Array, fn: Array, fp: Array, value: Array, excess: Array) -> UnreachableCone:
        c = self.metric.coefficients(self.pos)
        scale = self._scale(fn, fp)
        error = c.d_fn * fn + c.d_fp * fp
        lowest, highest = error_span(self.metric, fn, fp, pos=self.pos)
        return UnreachableCone(t, value + scale * excess, scale * (highest - error), scale * (error - lowest))


class DiagonalBound(ConeBound):
    """Intersection of the cones of `ConeBound` with the diagonal: a sound bound on the optimum.

    An optimal model with value s is optimal for the level s itself, and there the cones do hold. So no model is
    better than the largest s that lies in no cone as the point (s, s).

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order.
    metric : LinearFractional
        The metric.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of the trained models, see `Bound`.

    Examples
    --------
    >>> from csf import ErrorProfile, Trial
    >>> from csf.metrics import FBeta
    >>> trial = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="complete",
    ...               profile=ErrorProfile(fn=0.1, fp=0.1, pos=0.3))
    >>> DiagonalBound([trial], FBeta(), pos=0.3).best_possible()
    0.722
    """

    proven_at_levels = True

    def upper_bound(self, levels: ArrayLike) -> Array:
        """Return the bound on the optimum, the same at each level; see `Bound.upper_bound`."""
        return np.full(self._levels(levels).shape, self.best_possible())

    def best_possible(self) -> float:
        """Find the largest s in the metric's range with s below every cone at s, see `Bound.best_possible`."""
        t, value, left, right = self.cones
        # A cone holds everything on the diagonal above its lower crossing: to the right it rises by less than the
        # diagonal, because no profile has a negative denominator.
        with np.errstate(divide="ignore", invalid="ignore"):
            rising = np.where(right < 1.0, (value - right * t) / (1.0 - right), np.inf)
        enters = np.where(value < t, (value + left * t) / (1.0 + left), rising)
        # Where a denominator can vanish the cone rises like the diagonal itself, and only rounding is left of their
        # crossing; it never lies below the apex, which is a value that was attained.
        return float(max(np.maximum(enters, value).min(initial=self.hi), self.lo))

    def region(self) -> BaseGeometry:
        """Return everything above the bound, see `Bound.region`."""
        import shapely

        best = self.best_possible()
        return shapely.box(self.lo, best, self.hi, self.hi) if best < self.hi else shapely.Polygon()


class ParambathBound(_LineBound):
    """Symmetric cones of Parambath et al.: one slope for all profiles.

    Parameters
    ----------
    trials : sequence of Trial
        Trials in any order.
    metric : LinearFractional
        The metric.
    pos : float
        Share of positives, in (0, 1).
    eps : float, callable or "evidence", default="evidence"
        Excess of the trained models, see `Bound`.

    Notes
    -----
    The slope is ``4 M / min(d0 + d·e)`` for F-beta, with M the longest profile of the box; for other metrics it is
    scaled by the length of ``d``. As for `ConeBound`, only the best value is proven: the metric jumps where the
    cheapest profile changes, and no cone of finite slope follows a jump.

    References
    ----------
    .. [1] S. Parambath, N. Usunier, Y. Grandvalet, "Optimizing F-measures by cost-sensitive classification",
       NIPS 2014.

    Examples
    --------
    >>> from csf import ErrorProfile, Trial
    >>> from csf.metrics import FBeta
    >>> trial = Trial(number=0, t=0.5, costs=(1.5, 0.5), state="complete",
    ...               profile=ErrorProfile(fn=0.1, fp=0.1, pos=0.3))
    >>> ParambathBound([trial], FBeta(), pos=0.3).upper_bound([0.49, 0.5])
    array([0.768, 0.667])
    """

    proven_at_levels = False

    def _lines(self, t: Array, fn: Array, fp: Array, value: Array, excess: Array) -> UnreachableCone:
        c = self.metric.coefficients(self.pos)
        neg = 1.0 - self.pos
        corners = np.array([(x, y) for x in (0.0, self.pos) for y in (0.0, neg)])
        scale = self._scale(*corners.T).max()
        slope = 2.0 * np.sqrt(2.0) * np.hypot(c.d_fn, c.d_fp) * np.hypot(self.pos, neg) * scale
        return UnreachableCone(t, value + scale * excess, np.full_like(t, slope), np.full_like(t, slope))
