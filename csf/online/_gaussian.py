"""Compiled loops of a Gaussian belief about the weights of a logistic model, and counts of recent scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf._common.compiled import column_of, njit, parts, row_at
from csf._common.typing import Array, BoolArray, FloatArray, IntArray, Samples
from csf.metrics.profile import ErrorProfile
from csf.online.base import SteppingLearner, StepRule

if TYPE_CHECKING:
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- recent scores
# Posteriors that a learner emitted before it saw the label are kept as counts in bins of equal log-odds. Late examples
# count more. The counts tell how often the positive class came at each score, whatever the learner believed.


# Bins of log-odds, and the largest log-odds: those of 1e-12.
_N_BINS, _LARGEST = 1024, 27.631
_WIDTH = 2.0 * _LARGEST / _N_BINS
# How much more late examples count: weights grow like t ** gain.
_GAIN = 1.0
_HEAVY = 1e100
_BELOW_ONE = 1.0 - np.finfo(np.float64).epsneg
# Place of weight and number of examples.
WEIGHT, SEEN = range(2)


def next_due(n_seen: int, window: int | None = None) -> int:
    """Return the number of examples after which results of the counts are computed again: an eighth more."""
    return n_seen + 1 + min(n_seen, window or n_seen) // 8


class RecentScores:
    """Counts by class and bin."""

    def __init__(self, window: int | None = None) -> None:
        self.window = float(window or np.inf)
        # negatives, positives
        self.counts = np.zeros((2, _N_BINS))
        self.scalars = np.array([1.0, 0.0])

    def add(self, bins: IntArray, is_pos: BoolArray) -> None:
        """Count posteriors by their bins, in order, with their labels."""
        count_scores(bins, is_pos, self.counts, self.scalars, self.window)

    def replace(self, bins: IntArray, is_pos: BoolArray) -> None:
        """Replace all counts by those of these posteriors."""
        self.counts[:], self.scalars[:] = 0.0, (1.0, 0.0)
        self.add(bins, is_pos)

    def has_both_classes(self) -> bool:
        """Check whether both classes have come."""
        return bool(self.counts.any(axis=1).all())

    def shares(self) -> FloatArray:
        """Compute the share of positives by bin, which rises with the score; 0 until both classes have come."""
        return pooled_shares(self.counts) if self.has_both_classes() else np.zeros(_N_BINS)

    def best(self, metric: Metric) -> tuple[float, ErrorProfile, int] | None:
        """Find the best threshold for a metric."""
        places, fp, tp = sums_above(self.counts)
        if fp[0] == 0.0 or tp[0] == 0.0:
            return None
        total = tp[0] + fp[0]
        pos = tp[0] / total
        values = metric.value((tp[0] - tp) / total, fp / total, pos=pos)
        k = places.size - 1 - int(np.argmax(values[::-1]))
        return float(values[k]), ErrorProfile((tp[0] - tp[k]) / total, fp[k] / total, pos), int(places[k])


def posterior_at(place: int) -> float:
    """Return the posterior at the lower edge of a bin: 0 for the lowest, the last number below 1 beyond the highest."""
    if place == 0:
        return 0.0
    return _BELOW_ONE if place == _N_BINS else 1.0 / (1.0 + math.exp(_LARGEST - place * _WIDTH))


def bins_of_scores(scores: FloatArray) -> IntArray:
    """Find the bin of each score, which is that of the posterior with these log-odds."""
    return ((scores.clip(-_LARGEST, _LARGEST) + _LARGEST) / _WIDTH).astype(np.int64).clip(0, _N_BINS - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def bins_of(proba):
    """Find the bin of each posterior."""
    bins = np.empty(proba.shape[0], dtype=np.int64)
    for i in range(proba.shape[0]):
        p = min(max(proba[i], 1e-12), 1.0 - 1e-12)
        bins[i] = min(max(int((math.log(p / (1.0 - p)) + _LARGEST) / _WIDTH), 0), _N_BINS - 1)
    return bins


@njit(cache=True, nogil=True, error_model="numpy")
def count_scores(bins, is_pos, counts, s, window):
    """Count bins in order: row 0 is of negatives, row 1 of positives."""
    weight, seen, least = s[WEIGHT], s[SEEN], 1.0 / window
    for i in range(bins.shape[0]):
        seen += 1.0
        counts[1 if is_pos[i] else 0, bins[i]] += weight
        weight *= 1.0 + max(_GAIN / seen, least)
        if weight > _HEAVY:
            counts /= weight
            weight = 1.0
    s[WEIGHT], s[SEEN] = weight, seen


@njit(cache=True, nogil=True, error_model="numpy")
def sums_above(counts):
    """Find the bins with counts, and the place above all; sum the negatives and positives at or above each of them."""
    n, size = counts.shape[1], 0
    for b in range(n):
        size += counts[0, b] + counts[1, b] != 0.0
    places, fp, tp = np.empty(size + 1, dtype=np.int64), np.zeros(size + 1), np.zeros(size + 1)
    places[size] = n
    for b in range(n - 1, -1, -1):
        if counts[0, b] + counts[1, b] != 0.0:
            size -= 1
            places[size], fp[size], tp[size] = b, fp[size + 1] + counts[0, b], tp[size + 1] + counts[1, b]
    return places, fp, tp


@njit(cache=True, nogil=True, error_model="numpy")
def pooled_shares(counts):
    """Compute the share of positives by bin, made to rise with the score (pool adjacent violators)."""
    n = counts.shape[1]
    share, pos, total, first = np.zeros(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    size = 0
    for b in range(n):
        pos[size], total[size], first[size] = counts[1, b], counts[0, b] + counts[1, b], b
        size += 1
        while size > 1 and pos[size - 2] * total[size - 1] >= pos[size - 1] * total[size - 2]:
            pos[size - 2] += pos[size - 1]
            total[size - 2] += total[size - 1]
            size -= 1
    for k in range(size):
        stop = first[k + 1] if k + 1 < size else n
        share[first[k] : stop] = pos[k] / total[k] if total[k] > 0.0 else 0.0
    return share


# ---------------------------------------------------------------- a Gaussian belief
# Weights, covariance and gradient are those of features divided by the largest value met so far, with the same prior
# for each.


# Precision of the prior of the intercept.
INTERCEPT = 0.1
# A value counts as larger than those before where it is so by this factor; beyond the other the feature begins anew.
_GROWN, _NEW = 1.1, 1e6
_LEAST_VALUE = 1e-300
# Examples, and examples a weight, that are never gathered.
_ALONE, _ALONE_EACH = 1000, 8
# Surprise (of gradients), a part of the information so far, and steps of the covariance in it, a weight.
_BLOCK, _STEPS_EACH = 0.04, 4.0
# pi / 8: how a wide belief draws probabilities to one half.
_MODERATION = 0.3926990816987241

# Places in the vector of scalars: information, curvature and surprise gathered, factor of the covariance to come.
INFORMATION, CURVATURE, SURPRISE, WIDER = range(4)
# Columns of the table of many weights; TOUCHED is the number of the example that needed the weight last.
MEAN, VARIANCE, UNIT, TOUCHED = range(4)


# ---------------------------------------------------------------- one example


@njit(cache=True, nogil=True, error_model="numpy")
def sigmoid(z) -> float:
    """Compute the probability of log-odds."""
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@njit(cache=True, nogil=True, error_model="numpy")
def _settle(score, spread, target):
    """Find the most probable score: the root z of ``z = score + reach * (target - sigmoid(z))``."""
    z = score + spread * (target - sigmoid(score))
    lo, hi = min(score, z), max(score, z)
    if spread > 4.0:
        z = 0.5 * (lo + hi)
    last = np.inf
    for _ in range(100):
        p = sigmoid(z)
        excess = z - score - spread * (target - p)
        if excess > 0.0:
            hi = z
        else:
            lo = z
        new = z - excess / (1.0 + spread * p * (1.0 - p))
        # steps that do not become half as long may go round in circles
        if not lo <= new <= hi or abs(new - z) > 0.5 * last:
            new = 0.5 * (lo + hi)
        last = abs(new - z)
        if last <= 1e-12 * (1.0 + abs(new)):
            return new
        z = new
    return z


@njit(cache=True, nogil=True, error_model="numpy")
def _times(spread, x, out):
    """Write ``spread @ x`` (symmetric) and return ``x @ spread @ x``."""
    n = x.shape[0]
    out[:] = 0.0
    for j in range(n):
        if x[j] != 0.0:
            for k in range(n):
                out[k] += x[j] * spread[j, k]
    total = 0.0
    for j in range(n):
        total += x[j] * out[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _narrow(spread, along, factor):
    """Subtract ``factor * along along'``."""
    n = along.shape[0]
    for j in range(n):
        c = factor * along[j]
        if c != 0.0:
            for k in range(n):
                spread[j, k] -= c * along[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _widen(spread, s, prior):
    """Apply the forgetting factor; no weight becomes less certain than it was at first.

    Rounding leaves the two halves of the matrix apart; that would grow with the factor, so they are made equal.
    """
    if s[WIDER] == 1.0:
        return
    n = spread.shape[0]
    for j in range(n):
        for k in range(j + 1):
            spread[j, k] = spread[k, j] = 0.5 * s[WIDER] * (spread[j, k] + spread[k, j])
    for j in range(n):
        most = 1.0 / (prior if j < n - 1 else INTERCEPT)
        if spread[j, j] > most:
            factor = math.sqrt(most / spread[j, j])
            for k in range(n):
                spread[j, k] *= factor
                spread[k, j] *= factor
    s[WIDER] = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _enlarge(mean, spread, gradient, scale, j, value, prior):
    """Make ``value`` the unit of feature j: rescale the belief, and restore the prior in the new unit."""
    n = mean.shape[0]
    growth = value / scale[j] if scale[j] > 0.0 else np.inf
    scale[j] = value
    if growth > _NEW:
        mean[j] = gradient[j] = 0.0
        for k in range(n):
            spread[j, k] = spread[k, j] = 0.0
        spread[j, j] = 1.0 / prior
        return
    mean[j] *= growth
    gradient[j] /= growth
    for k in range(n):
        spread[j, k] *= growth
        spread[k, j] *= growth
    more = prior * (1.0 - 1.0 / (growth * growth))
    factor = more / (1.0 + more * spread[j, j])
    along = spread[j].copy()
    pull = factor * mean[j]
    for k in range(n):
        mean[k] -= pull * along[k]
    _narrow(spread, along, factor)


@njit(cache=True, nogil=True, error_model="numpy")
def _move(mean, spread, gradient, s, prior, along):
    """Make a step along the gathered gradient."""
    _widen(spread, s, prior)
    _times(spread, gradient, along)
    for j in range(mean.shape[0]):
        mean[j] += along[j]
    gradient[:] = 0.0
    s[SURPRISE] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _learn_alone(x, score, is_pos, mean, spread, gradient, s, options, along):
    """Make the exact step for one example. Return the factor of its log-odds that moderates them."""
    prior, _, cost_pos, cost_neg, offset = options
    if s[SURPRISE] > 0.0:
        _move(mean, spread, gradient, s, prior, along)
        score = 0.0
        for j in range(mean.shape[0]):
            score += x[j] * mean[j]
    _widen(spread, s, prior)
    variance = _times(spread, x, along)
    cost, target = (cost_pos, 1.0) if is_pos else (cost_neg, 0.0)
    p = sigmoid(_settle(score + offset, cost * variance, target))
    step, curvature = cost * (target - p), cost * p * (1.0 - p)
    for j in range(mean.shape[0]):
        mean[j] += step * along[j]
    _narrow(spread, along, curvature / (1.0 + curvature * variance))
    s[INFORMATION] += curvature
    return 1.0 / math.sqrt(1.0 + _MODERATION * variance)


@njit(cache=True, nogil=True, error_model="numpy")
def _gathers(score, proba, is_pos, is_early, s, options):
    """Decide whether to gather an example, and compute the length of its gradient."""
    _, window, cost_pos, cost_neg, offset = options
    if window < np.inf:
        s[INFORMATION] *= 1.0 - 1.0 / window
        s[WIDER] *= 1.0 / (1.0 - 1.0 / window)
    p = proba if offset == 0.0 else sigmoid(score + offset)
    step = cost_pos * (1.0 - p) if is_pos else -cost_neg * p
    if is_early or abs(step) > _BLOCK * s[INFORMATION]:
        return False, step
    curvature = (cost_pos if is_pos else cost_neg) * p * (1.0 - p)
    s[INFORMATION] += curvature
    s[CURVATURE] += curvature
    s[SURPRISE] += abs(step)
    return True, step


@njit(cache=True, nogil=True, error_model="numpy")
def _use_gathered(x, mean, spread, gradient, s, options, along):
    """Make the steps of covariance and mean where they are due."""
    if s[CURVATURE] * _STEPS_EACH * x.shape[0] > s[INFORMATION]:
        _widen(spread, s, options[0])
        variance = _times(spread, x, along)
        _narrow(spread, along, s[CURVATURE] / (1.0 + s[CURVATURE] * variance))
        s[CURVATURE] = 0.0
    if s[SURPRISE] > _BLOCK * s[INFORMATION]:
        _move(mean, spread, gradient, s, options[0], along)


# ---------------------------------------------------------------- loops


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _scaled_dense(values, inverse, mean, x):
    score, n_larger = 0.0, 0
    for j in range(values.shape[0]):
        value = values[j] * inverse[j]
        x[j] = value
        score += value * mean[j]
        n_larger += abs(value) > _GROWN
    return score, n_larger


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled(row, inverse, mean, x):
    """Write the row in units of its features. Return its score, and how many values exceed their unit."""
    if len(row) == 1:  # in an order that suits the processor
        return _scaled_dense(row[0], inverse, mean, x)
    values, score, n_larger = row[0], 0.0, 0
    for k in range(values.shape[0]):
        j = column_of(row, k)
        value = values[k] * inverse[j]
        x[j] = value
        score += value * mean[j]
        n_larger += abs(value) > _GROWN
    return score, n_larger


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_dense(gradient, step, x):
    for j in range(x.shape[0]):
        gradient[j] += step * x[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _add(gradient, step, x, row):
    """Add a multiple of the scaled row."""
    if len(row) == 1:
        _add_dense(gradient, step, x)
        return
    for k in range(row[0].shape[0]):
        j = column_of(row, k)
        gradient[j] += step * x[j]
    gradient[-1] += step * x[-1]


@njit(cache=True, nogil=True, error_model="numpy")
def _forget(x, row):
    """Reset a scaled sparse row to zeros; a dense one is overwritten by the next."""
    if len(row) == 2:
        for k in range(row[0].shape[0]):
            x[column_of(row, k)] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _inverse(scale):
    """Invert the units; any value exceeds a unit that is not known yet."""
    out = np.empty(scale.shape[0])
    for j in range(scale.shape[0]):
        out[j] = 1.0 / scale[j] if scale[j] > 0.0 else 1.0 / _LEAST_VALUE
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def full(rows, y, mean, spread, gradient, scale, s, t, options, proba):
    """Write the posterior of each row, then learn it, with a full covariance.

    The last weight is that of the constant feature. ``options`` are prior, window, and the pricing.
    """
    n, last = mean.shape[0], mean.shape[0] - 1
    inverse, x, along = _inverse(scale), np.zeros(n), np.empty(n)
    x[last] = 1.0 if scale[last] > 0.0 else 0.0
    for i in range(y.shape[0]):
        row, is_pos = row_at(rows, i), y[i] > 0.0
        score, n_larger = _scaled(row, inverse, mean, x)
        if n_larger > 0:
            for k in range(row[0].shape[0]):
                j = np.int64(column_of(row, k))
                if abs(x[j]) > _GROWN:
                    _widen(spread, s, options[0])
                    _enlarge(mean, spread, gradient, scale, j, abs(np.float64(row[0][k])), options[0])
                    inverse[j] = 1.0 / scale[j]
            score, _ = _scaled(row, inverse, mean, x)
        score += mean[last] * x[last]
        proba[i] = sigmoid(score)
        # which examples are moderated must not depend on their labels
        is_early = t + i < max(_ALONE, _ALONE_EACH * n)
        gathers, step = _gathers(score, proba[i], is_pos, is_early, s, options)
        if gathers:
            _add(gradient, step, x, row)
            _use_gathered(x, mean, spread, gradient, s, options, along)
        else:
            factor = _learn_alone(x, score, is_pos, mean, spread, gradient, s, options, along)
            proba[i] = sigmoid(factor * score) if is_early else proba[i]
        _forget(x, row)


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh(weight, value, now, options):
    """Bring one weight of a table up to date: its unit, and its variance for the examples since it was last needed.

    The unit goes half-way, in logarithms, to a value that exceeds it: between the usual values and the largest one. The
    mean keeps its number: a weight learnt from small values would outweigh all at the next large one.
    """
    prior, window = options[0], options[1]
    if value > _GROWN * weight[UNIT]:
        if value > _NEW * weight[UNIT]:
            weight[UNIT], weight[MEAN], weight[VARIANCE] = value, 0.0, 1.0 / prior
        else:
            squared_growth = value / weight[UNIT]
            weight[UNIT] *= math.sqrt(squared_growth)
            variance = weight[VARIANCE] * squared_growth
            weight[VARIANCE] = variance / (1.0 + prior * (1.0 - 1.0 / squared_growth) * variance)
    if window < np.inf:
        wider = weight[VARIANCE] * math.exp((now - weight[TOUCHED]) / window)
        weight[VARIANCE], weight[TOUCHED] = min(wider, 1.0 / prior), now


@njit(cache=True, nogil=True, error_model="numpy")
def diagonal(data, indices, indptr, y, table, t, options, proba):
    """Write the posterior of each CSR row, then learn it, with one variance a weight."""
    _, window, cost_pos, cost_neg, offset = options
    intercept = table[table.shape[0] - 1]
    constant = intercept[UNIT] > 0.0
    for i in range(indptr.shape[0] - 1):
        now, score, spread = float(t + i + 1), 0.0, 0.0
        if constant:
            _refresh(intercept, 0.0, now, (INTERCEPT, window))
            score, spread = intercept[MEAN], intercept[VARIANCE]
        for e in range(indptr[i], indptr[i + 1]):
            weight, value = table[np.uint64(indices[e])], np.float64(data[e])
            if abs(value) > _LEAST_VALUE:
                _refresh(weight, abs(value), now, options)
                x = value / weight[UNIT]
                score += x * weight[MEAN]
                spread += x * x * weight[VARIANCE]
        proba[i] = sigmoid(score)
        cost, target = (cost_pos, 1.0) if y[i] > 0.0 else (cost_neg, 0.0)
        p = sigmoid(_settle(score + offset, cost * spread, target))
        step, curvature = cost * (target - p), cost * p * (1.0 - p)
        for e in range(indptr[i], indptr[i + 1]):
            weight, value = table[np.uint64(indices[e])], np.float64(data[e])
            if abs(value) > _LEAST_VALUE:
                x = value / weight[UNIT]
                weight[MEAN] += step * weight[VARIANCE] * x
                weight[VARIANCE] /= 1.0 + curvature * x * x * weight[VARIANCE]
        if constant:
            intercept[MEAN] += step * intercept[VARIANCE]
            intercept[VARIANCE] /= 1.0 + curvature * intercept[VARIANCE]


# ---------------------------------------------------------------- steps without tuning
# Each example narrows the belief by what it tells (its curvature) and moves the mean to the most probable weights, so
# that no step is too long however wide the belief or heavy the example. With few features the belief has a full
# covariance; with many, one variance each. Weights, covariance and gradient are those of features divided by the
# largest value met so far, with the same prior for each: the unit of a feature does not matter.
#
# With a full covariance, examples that say little are gathered: their gradients are added up until they weigh 2 % of
# what is known, and their curvatures until a step of the covariance is worth its cost. So a long stream costs a few
# operations a feature and example.


# Features with a full covariance, at most.
MOST_CORRELATED = 512


class Pricing(NamedTuple):
    """Weights of the two classes in the loss. The model is that of equal weights: their log-ratio is an offset."""

    pos: float = 1.0
    neg: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, pos: float, neg: float) -> Pricing:
        """Compute the weights of two positive class costs.

        Their ratio is the fourth root of that of the costs, their product 1; the threshold does the rest. Weights in
        full proportion follow a few examples of the rare class: they cost up to 5 points of average precision.
        """
        ratio = math.sqrt(math.sqrt(pos / neg))
        return cls(math.sqrt(ratio), 1.0 / math.sqrt(ratio), math.log(ratio))


class Belief:
    """State of the learner; ``prior`` is the precision of the prior of each weight, that of the constant apart."""

    def __init__(self, n_features: int, *, prior: float, constant: float, window: int | None = None) -> None:
        n, self.n_features = n_features + 1, n_features
        self.prior, self.constant, self.window = float(prior), float(constant), float(window or np.inf)
        self.full = n_features <= MOST_CORRELATED
        variance = 1.0 / np.append(np.full(n_features, self.prior), INTERCEPT)
        if self.full:
            self.mean, self.gradient, self.scale = np.zeros((3, n))
            self.spread, self.scalars = np.diag(variance), np.array([0.0, 0.0, 0.0, 1.0])
            self.scale[-1] = constant
        else:
            # what a step needs of a weight lies side by side
            self.table = np.zeros((n, 4))
            self.table[:, VARIANCE], self.table[-1, UNIT] = variance, constant

    def weights(self) -> tuple[Array, Array]:
        """Return the weights that predict, with what has been gathered, and those of the last step."""
        if not self.full:
            last = self.table[:, MEAN] / np.where(self.table[:, UNIT] > 0.0, self.table[:, UNIT], np.inf)
            return last, last
        scale = np.where(self.scale > 0.0, self.scale, np.inf)
        latest = self.mean + self.scalars[WIDER] * (self.spread @ self.gradient)
        return latest / scale, self.mean / scale


def believe(
    belief: Belief, X: Samples, y: FloatArray, t: int, pricing: Pricing, proba: FloatArray, start: int = 0
) -> None:
    """Write the posterior of each row from ``start`` on, as many as ``proba`` holds, then learn it.

    ``t`` rows came before these.
    """
    b, options, part = belief, (belief.prior, belief.window, *pricing), slice(start, start + proba.size)
    values, *places = parts(X)
    # sparse rows are read where they are: slices of sparse matrices are slow
    sparse = (values, places[0], places[1][start : part.stop + 1]) if places else None
    if b.full:
        rows = (values[part],) if sparse is None else sparse
        full(rows, y[part], b.mean, b.spread, b.gradient, b.scale, b.scalars, t, options, proba)
        return
    if sparse is None:
        columns = np.tile(np.arange(X.shape[1], dtype=np.int32), proba.size)
        sparse = values[part].ravel(), columns, np.arange(proba.size + 1) * X.shape[1]
    diagonal(*sparse, y[part], b.table, t, options, proba)


class BeliefSteps(StepRule):
    """Steps without tuning, of rows as they are."""

    scales_rows = False

    def __init__(self, learner: SteppingLearner, n_features: int) -> None:
        constant = learner._constant()
        self.belief = Belief(n_features, prior=learner.prior, constant=constant, window=learner.window)

    def learn(self, learner: SteppingLearner, X: Samples, y: FloatArray) -> FloatArray:
        """Predict the posterior of each row, then learn it."""
        proba = np.empty(y.size)
        believe(self.belief, X, y, learner.n_seen_, Pricing(), proba)
        return proba

    def weights(self) -> tuple[Array, Array]:
        """Return the weights that predict, with what has been gathered, and those of the last step."""
        return self.belief.weights()
