"""Projected ascent on weighted rewards with averaged weights, and the rules of its steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import issparse

from csf._common.compiled import column_of, njit, parts, row_at, stacked
from csf._common.typing import Array, BoolArray, Costs, Estimator, FloatArray, IntArray, Samples
from csf.online._gaussian import (
    Belief,
    BeliefSteps,
    Pricing,
    RecentScores,
    believe,
    bins_of,
    bins_of_scores,
    next_due,
    posterior_at,
)
from csf.online.base import SteppingLearner, StepRule, linear_scores, rows

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.metrics.profile import ErrorProfile

# ---------------------------------------------------------------- compiled loops
# SPADE moves the prices of the two classes at each step, STAMP keeps them for a stage. The last weights are
# ``w = A v`` and their average is ``P v + Q u``, with scalars A, P and Q. So projections and averages cost nothing per
# feature, and a step costs as much as its row has entries.


# Kernels know metrics and rewards by their places here. ``FIXED``: prices stay as they are.
MIN, HMEAN, QMEAN, GMEAN, FIXED = range(5)
REWARDS = ("hinge", "logistic")
HINGE, LOGISTIC = range(2)

# Places in the vector of scalars: weights, steps, prices (duals), examples met and rewards averaged of each class.
A, P, Q, SQUARED_NORM, N_STEPS, ALPHA, BETA, MET_POS, MET_NEG, N_POS, N_NEG, MEAN_POS, MEAN_NEG = range(13)
# Places in a tally.
TP, FP, FN, TN, REWARD_POS, REWARD_NEG = range(6)

# Where scalars are moved into the arrays: P v and Q u cancel up to P / A, and Q must not vanish.
SHRUNK, FADED = 1e-3, 1e-100
_POS_FLOOR = 1e-3
_LN2 = math.log(2.0)


class Options(NamedTuple):
    """Parameters in the form of the kernels."""

    measure: int
    reward: int
    eta0: float
    radius: float
    pos: float  # 0: the share so far
    dual_eta0: float = 0.0
    balanced: bool = False
    closed: bool = False
    memory: float = 1.0
    eps: float = 0.0  # 0: the schedule t ** (-1 / 4)
    gain: float = 0.0  # 0: uniform averages


class AscentSteps(StepRule):
    """Base of published steps: projected ascent on rewards at the costs of the two classes, with averaged weights."""

    def __init__(self, learner: Estimator, n_features: int) -> None:
        self.v, self.u = np.zeros((2, n_features + 1))
        self.scalars = initial_scalars()

    @property
    def prices(self) -> Costs:
        """Costs of positives and of negatives."""
        return float(self.scalars[ALPHA]), float(self.scalars[BETA])

    @prices.setter
    def prices(self, prices: Costs) -> None:
        self.scalars[[ALPHA, BETA]] = prices

    def ascend(self, learner: Estimator, X: Samples, y: FloatArray, uniform: FloatArray, options: Options) -> None:
        """Learn rows in order."""
        state = (self.v, self.u, self.scalars, uniform, options)
        ascend(parts(X), y, learner.x_scale_, learner._constant(), *state)

    def weights(self) -> tuple[Array, Array]:
        """Return the average of all steps, and the last weights."""
        s = self.scalars
        return s[P] * self.v + s[Q] * self.u, s[A] * self.v

    def restart(self, w: Array) -> None:
        """Continue from these weights with a new average."""
        self.v, self.u = w.copy(), np.zeros_like(w)
        self.scalars[[A, P, Q, SQUARED_NORM, N_STEPS]] = 1.0, 1.0, 1.0, w @ w, 0.0

    def n_updates(self, n_seen: int) -> int:
        """Count the steps made: fewer than examples where some are left out."""
        return int(self.scalars[N_STEPS])


def initial_scalars() -> Array:
    """Return the scalars of weights that are all 0, before the first step."""
    scalars = np.zeros(MEAN_NEG + 1)
    scalars[[A, P, Q]] = 1.0
    scalars[[ALPHA, BETA]] = 0.5
    return scalars


# ---------------------------------------------------------------- rewards, steps, averages


@njit(cache=True, nogil=True, error_model="numpy")
def _reward(margin, kind):
    """Compute the reward of a margin, and its slope."""
    if kind == HINGE:
        return (margin, 1.0) if margin < 1.0 else (1.0, 0.0)
    if margin >= 0.0:
        e = math.exp(-margin)
        return 1.0 - math.log1p(e) / _LN2, e / ((1.0 + e) * _LN2)
    e = math.exp(margin)
    return 1.0 - (math.log1p(e) - margin) / _LN2, 1.0 / ((1.0 + e) * _LN2)


@njit(cache=True, nogil=True, error_model="numpy")
def move(s, wx, xx, step, shrink, radius, share) -> tuple[float, float]:
    """Shrink w, add ``step`` times x, project, average. Return the multiples of x that v and u gain.

    ``share`` is that of the new weights in the average. With ``v + d x`` for v, the old average ``P v + Q u`` reads
    ``P (v + d x) + Q (u - (P d / Q) x)``.
    """
    s[N_STEPS] += 1.0
    if step != 0.0 or shrink != 1.0:
        s[SQUARED_NORM] = shrink * shrink * s[SQUARED_NORM] + 2.0 * shrink * step * wx + step * step * xx
    s[A] *= shrink
    d = step / s[A]
    if s[SQUARED_NORM] > radius * radius:
        s[A] *= radius / math.sqrt(s[SQUARED_NORM])
        s[SQUARED_NORM] = radius * radius
    if share == 1.0:
        s[P], s[Q] = s[A], 1.0
        return d, 0.0
    back = -s[P] * d / s[Q]
    s[P] += share * (s[A] - s[P])
    s[Q] -= share * s[Q]
    return d, back


@njit(cache=True, nogil=True, error_model="numpy")
def tidy(s, v, u) -> None:
    """Move scalars into the arrays before digits are lost, and keep the norm free of drift."""
    if s[A] < SHRUNK or s[Q] < FADED:
        for j in range(v.shape[0]):
            u[j] = s[P] * v[j] + s[Q] * u[j]
            v[j] *= s[A]
        s[A], s[P], s[Q] = 1.0, 0.0, 1.0
    if s[N_STEPS] % max(1000, v.shape[0]) == 0.0:
        s[SQUARED_NORM] = s[A] * s[A] * square(v)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(row, v):
    values, total = row[0], 0.0
    for k in range(values.shape[0]):
        total += values[k] * v[column_of(row, k)]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def square(x) -> float:
    """Compute the squared length."""
    total = 0.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * x[j]
    return total


@njit(cache=True, nogil=True)
def add_to_both(row, v, d, u, back) -> None:
    """Add multiples of a row to v and u."""
    values = row[0]
    for k in range(values.shape[0]):
        j = column_of(row, k)
        v[j] += d * values[k]
        u[j] += back * values[k]


# ---------------------------------------------------------------- duals


@njit(cache=True, nogil=True, error_model="numpy")
def _project_hmean(a, b):
    c, d = min(max(a, 0.0), 2.0), min(max(b, 0.0), 2.0)
    if math.sqrt(c) + math.sqrt(d) >= math.sqrt(2.0):
        return c, d
    # Below the curve (2 z^2, 2 (1 - z)^2) the slope of the squared distance rises with z from - to +.
    lo, hi = 0.0, 1.0
    z = 0.5
    for _ in range(100):
        slope = 4.0 * z**3 - 6.0 * z**2 + (6.0 - a - b) * z + b - 2.0
        if slope < 0.0:
            lo = z
        else:
            hi = z
        new = z - slope / (12.0 * z**2 - 12.0 * z + 6.0 - a - b)
        if not lo < new < hi:
            new = 0.5 * (lo + hi)
        if abs(new - z) <= 1e-15:
            break
        z = new
    return 2.0 * new * new, 2.0 * (1.0 - new) ** 2


@njit(cache=True, nogil=True, error_model="numpy")
def _project_gmean(a, b, eps):
    root = math.sqrt(eps)
    lo, hi = 0.5 * root, 0.5 / root
    c, d = min(max(a, lo), hi), min(max(b, lo), hi)
    if c * d >= 0.25:
        return c, d
    # Below the hyperbola (z, 1 / (4 z)) the slope of the squared distance has one sign change, from - to +.
    z = c
    for _ in range(200):
        slope = ((16.0 * z - 16.0 * a) * z * z + 4.0 * b) * z - 1.0
        if slope < 0.0:
            lo = z
        else:
            hi = z
        steep = (64.0 * z - 48.0 * a) * z * z + 4.0 * b
        new = z - slope / steep if steep != 0.0 else lo
        if not lo < new < hi:
            new = 0.5 * (lo + hi)
        if abs(new - z) <= 1e-15 * z:
            break
        z = new
    return new, 0.25 / new


@njit(cache=True, nogil=True, error_model="numpy")
def dual_projection(measure, a, b, eps):
    """Find the nearest point of the dual region of a metric."""
    if measure == MIN:
        c = min(max(0.5 * (a - b + 1.0), 0.0), 1.0)
        return c, 1.0 - c
    if measure == QMEAN:
        c, d = max(a, 0.0), max(b, 0.0)
        length = math.sqrt(2.0 * (c * c + d * d))
        return (c, d) if length <= 1.0 else (c / length, d / length)
    if measure == HMEAN:
        return _project_hmean(a, b)
    return _project_gmean(a, b, eps)


@njit(cache=True, nogil=True, error_model="numpy")
def _tangent_gmean(p, n, eps):
    root = math.sqrt(eps)
    lo, hi = 0.5 * root, 0.5 / root
    if p < 0.0 and n < 0.0:
        return hi, hi
    if p == 0.0 and n == 0.0:
        return 0.5, 0.5
    if p > 0.0:
        a = 0.5 * math.sqrt(max(n, 0.0)) / math.sqrt(p)
    else:
        a = lo if p == 0.0 and n <= 0.0 else hi
    a = min(max(a, lo), hi)
    return a, 0.25 / a


@njit(cache=True, nogil=True, error_model="numpy")
def _tangent_hmean(p, n):
    if p <= 0.0 and n <= 0.0:
        if p == 0.0 and n == 0.0:
            return 0.5, 0.5
        return 2.0 if p < 0.0 else 0.0, 2.0 if n < 0.0 else 0.0
    share = max(n, 0.0) / (max(p, 0.0) + max(n, 0.0))
    return 2.0 * share * share, 2.0 * (1.0 - share) ** 2


@njit(cache=True, nogil=True, error_model="numpy")
def dual_tangent(measure, p, n, eps):
    """Find the best duals for averages of rewards, as `csf.metrics.Concave.dual` does."""
    if measure == MIN:
        a = 0.5 if p == n else (1.0 if p < n else 0.0)
        return a, 1.0 - a
    if measure == QMEAN:
        fnr, fpr = max(1.0 - p, 0.0), max(1.0 - n, 0.0)
        length = math.sqrt(2.0 * (fnr * fnr + fpr * fpr))
        if length == 0.0:
            corner = 0.5 if p == 1.0 and n == 1.0 else 0.0
            return corner, corner
        return fnr / length, fpr / length
    if measure == HMEAN:
        return _tangent_hmean(p, n)
    return _tangent_gmean(p, n, eps)


# ---------------------------------------------------------------- loops


@njit(cache=True, nogil=True, error_model="numpy")
def _count_class(s, is_pos, pos):
    """Count an example. Return the share of positives that weighs it: as given, or estimated where that is 0."""
    s[MET_POS if is_pos else MET_NEG] += 1.0
    if pos > 0.0:
        return pos
    share = (s[MET_POS] + 0.5) / (s[MET_POS] + s[MET_NEG] + 1.0)
    return min(max(share, _POS_FLOOR), 1.0 - _POS_FLOOR)


@njit(cache=True, nogil=True, error_model="numpy")
def _is_left_out(is_pos, pos, uniform):
    """Check whether to skip an example of the larger class, so that both classes come equally often."""
    class_share = pos if is_pos else 1.0 - pos
    return uniform * class_share >= 1.0 - class_share


@njit(cache=True, nogil=True, error_model="numpy")
def _update_dual(s, reward, is_pos, class_share, rate, options):
    """Make one step of the duals after a reward of a class with share ``class_share``."""
    eps = options.eps
    if options.measure == GMEAN and eps == 0.0:
        eps = 1.0 / math.sqrt(math.sqrt(s[N_STEPS] + 1.0))
        reward += eps
    mean, count = (MEAN_POS, N_POS) if is_pos else (MEAN_NEG, N_NEG)
    s[count] += 1.0
    if options.closed:
        s[mean] += max(1.0 / s[count], 1.0 - options.memory) * (reward - s[mean])
    if s[N_POS] == 0.0 or s[N_NEG] == 0.0:
        return
    if options.closed:
        s[ALPHA], s[BETA] = dual_tangent(options.measure, s[MEAN_POS], s[MEAN_NEG], eps)
        return
    slope = 1.0 if options.measure == QMEAN else 0.0
    a, b = s[ALPHA] + rate * slope, s[BETA] + rate * slope
    if is_pos:
        a -= rate * reward / class_share
    else:
        b -= rate * reward / class_share
    s[ALPHA], s[BETA] = dual_projection(options.measure, a, b, eps)


@njit(cache=True, nogil=True, error_model="numpy")
def _priced_step(s, wx, is_pos, pos, options):
    """Compute the length of the primal step along x, and update the duals. Both use the weights and duals before."""
    class_share = pos if is_pos else 1.0 - pos
    rate = min(pos, 1.0 - pos) / math.sqrt(s[N_STEPS] + 1.0)
    reward, slope = _reward(wx if is_pos else -wx, options.reward)
    price = s[ALPHA] if is_pos else -s[BETA]
    if options.measure != FIXED:
        _update_dual(s, reward, is_pos, class_share, rate * options.dual_eta0, options)
    return rate * options.eta0 * price / class_share * slope


@njit(cache=True, nogil=True, error_model="numpy")
def ascend(rows, y, x_scale, constant, v, u, s, uniform, options):
    """Learn rows in order.

    ``v`` and ``u`` have a last entry for the constant feature, which is 0 where there is none. ``uniform`` has a
    random number for each row with balanced sampling, else it is empty.
    """
    last = v.shape[0] - 1
    for i in range(y.shape[0]):
        row, is_pos = row_at(rows, i), y[i] > 0.0
        pos = _count_class(s, is_pos, options.pos)
        if options.balanced:
            if _is_left_out(is_pos, pos, uniform[i]):
                continue
            pos = 0.5
        wx = s[A] * (_dot(row, v) * x_scale + v[last] * constant)
        step = _priced_step(s, wx, is_pos, pos, options)
        xx = square(row[0]) * x_scale * x_scale + constant * constant if step != 0.0 else 0.0
        share = (1.0 + options.gain) / (s[N_STEPS] + 1.0 + options.gain)
        d, back = move(s, wx, xx, step, 1.0, options.radius, share)
        if step != 0.0:
            add_to_both(row, v, d * x_scale, u, back * x_scale)
            v[last] += d * constant
            u[last] += back * constant
        tidy(s, v, u)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_error(counts, wx, is_pos, reward):
    if is_pos:
        counts[TP if wx > 0.0 else FN] += 1.0
        counts[REWARD_POS] += _reward(wx, reward)[0]
    else:
        counts[FP if wx > 0.0 else TN] += 1.0
        counts[REWARD_NEG] += _reward(-wx, reward)[0]


@njit(cache=True, nogil=True, error_model="numpy")
def tally(rows, y, x_scale, constant, w, reward, counts):
    """Add rows to the counts of right and wrong predictions by weights w and to the sums of rewards."""
    last = w.shape[0] - 1
    for i in range(y.shape[0]):
        _count_error(counts, _dot(row_at(rows, i), w) * x_scale + w[last] * constant, y[i] > 0.0, reward)


# ---------------------------------------------------------------- the first rows of a stream


# Rows that are kept, at most; and rows, all and a feature, from which on weights are not fitted to them.
_MOST, _LEAST, _LEAST_EACH = 4096, 100, 8
# How many times as many rows there must be as at the last time.
_MORE = 1.25


class EarlyRows:
    """Rows up to a number, and their labels."""

    def __init__(self, belief: Belief, window: int | None = None) -> None:
        self.least = max(_LEAST, _LEAST_EACH * belief.n_features)
        self.most = int(min(_MOST, window or _MOST, belief.window))
        self.wanted = belief.full and self.least <= self.most
        self.n, self.next = 0, self.least
        self.rows, self.is_pos = [], []

    def keep(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep rows up to the largest number."""
        n_new = min(is_pos.size, self.most - self.n)
        if self.wanted and n_new > 0:
            new = rows(X, 0, n_new)
            self.rows.append(new.copy() if new is X or not issparse(new) else new)
            self.is_pos.append(is_pos[:n_new])
            self.n += n_new

    def again(self, belief: Belief, n_seen: int) -> tuple[IntArray, BoolArray] | None:
        """Score the rows so far by the present weights. Return the bins of their posteriors, and their labels.

        None where no scoring is due; after the last of them all are dropped.
        """
        if n_seen > self.most:
            self.wanted, self.rows, self.is_pos = False, [], []
        if not self.wanted or n_seen < self.next:
            return None
        self.next = math.ceil(_MORE * n_seen)
        self.rows, self.is_pos = [stacked(self.rows)], [np.concatenate(self.is_pos)]
        X, w = self.rows[0], belief.weights()[0]
        # products of sparse rows do not depend on how many there are, those of dense rows might by a bit
        X = X if issparse(X) else X[:n_seen]
        scores = linear_scores(X, w[:-1], w[-1] * belief.constant)[:n_seen]
        return bins_of_scores(scores), self.is_pos[0][:n_seen]


# ---------------------------------------------------------------- steps without tuning


# Ratios of prices, at most.
_FAR = 1e4


class LookBack:
    """Recent scores, with a schedule to look at them again; early rows get the scores that the present weights give.

    Without a belief there are no weights to score early rows with.
    """

    def __init__(self, belief: Belief | None, window: int | None) -> None:
        self.window, self.recent, self.due = window, RecentScores(window), next_due(0)
        self.early = None if belief is None else EarlyRows(belief, window)

    def keep(self, X: Samples, is_pos: BoolArray) -> None:
        """Keep rows of a chunk that is about to be learnt, while they are early."""
        if self.early is not None:
            self.early.keep(X, is_pos)

    def pieces(self, n_rows: int, n_seen: int) -> Iterator[slice]:
        """Yield the parts of the next rows, each up to where a look is due."""
        start = 0
        while start < n_rows:
            stop = min(n_rows, self.due - n_seen)
            yield slice(start, stop)
            start = stop

    def add(self, bins: IntArray, is_pos: BoolArray, n_seen: int) -> bool:
        """Count examples, ``n_seen`` with all before them. Return whether a look is due."""
        self.recent.add(bins, is_pos)
        if n_seen < self.due:
            return False
        self.due = next_due(n_seen, self.window)
        return True

    def again(self, belief: Belief | None, n_seen: int) -> tuple[IntArray, BoolArray] | None:
        """Replace the counts by early rows scored with the present weights. Return their bins and labels, or None."""
        again = None if self.early is None or belief is None else self.early.again(belief, n_seen)
        if again is not None:
            self.recent.replace(*again)
        return again


class AimedSteps(BeliefSteps):
    """Belief, with a threshold and class costs that follow the best value of the metric among recent examples."""

    prices: Costs

    def __init__(self, learner: AimedLearner, n_features: int) -> None:
        super().__init__(learner, n_features)
        self.look = LookBack(self.belief, learner.window)
        self.place: int | None = None
        self.pricing = Pricing()

    @property
    def threshold(self) -> float:
        """Log-odds from which on the positive class is predicted; 0 until both classes have come."""
        if self.place is None:
            return 0.0
        posterior = max(posterior_at(self.place), np.finfo(float).tiny)
        return float(np.log(posterior) - np.log1p(-posterior))

    @property
    def cut(self) -> float:
        """Smallest score predicted positive: the threshold itself."""
        return self.threshold

    def meet(self, learner: AimedLearner, X: Samples, y: FloatArray) -> None:
        """Keep early rows."""
        self.look.keep(X, y > 0.0)

    def learn(self, learner: AimedLearner, X: Samples, y: FloatArray) -> None:
        """Predict rows, then learn them, and update the threshold and costs where that is due."""
        for part in self.look.pieces(y.size, learner.n_seen_):
            proba, n_seen = np.empty(part.stop - part.start), learner.n_seen_ + part.stop
            believe(self.belief, X, y, learner.n_seen_ + part.start, self.pricing, proba, part.start)
            if self.look.add(bins_of(proba), y[part] > 0.0, n_seen):
                self._move_aim(learner, n_seen)

    def _move_aim(self, learner: AimedLearner, n_seen: int) -> None:
        self.look.again(self.belief, n_seen)
        best = self.look.recent.best(learner._check_metric())
        if best is not None:
            value, profile, self.place = best
            prices = learner._prices(value, profile)
            self.pricing = Pricing.of(*np.clip(prices, max(prices) / _FAR, None))


class AimedLearner(SteppingLearner):
    """Base class of STAMP and SPADE, which aim at a metric by its costs at the present value."""

    @property
    def threshold_(self) -> float:
        """Score from which on the positive class is predicted."""
        return self._rule.threshold

    @property
    def _cut(self) -> float:
        return self._rule.cut

    def _check_parameters(self) -> None:
        self._check_metric()
        super()._check_parameters()

    @abstractmethod
    def _check_metric(self) -> Metric:
        """Return the metric; raise where these steps do not support it."""

    @abstractmethod
    def _prices(self, value: float, profile: ErrorProfile) -> Costs:
        """Compute the costs of a false negative and a false positive, from the best threshold's value and profile."""
