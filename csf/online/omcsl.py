"""OMCSL: several online learners with different class costs, and a choice among them that follows their results."""

from __future__ import annotations

import math
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.compiled import column_of, njit, parts, row_at
from csf._common.sklearn import one_of, option, with_parameters
from csf._common.typing import Array, FloatArray, Params, Samples
from csf._common.validation import check_bool, check_count, check_positive
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online._ascent import FADED, SHRUNK
from csf.online._gaussian import sigmoid
from csf.online.base import EmittedPredictions, LinearOnlineClassifier, value_of_counts

if TYPE_CHECKING:
    from csf.metrics.base import Metric

# ---------------------------------------------------------------- compiled steps


# Rows of the state, one column an expert. Weights: last w = A v, averaged w = P v + Q u. Counts: all so far, up to
# the last power of two of examples, up to the one before that.
A, P, Q, SQUARED_NORM, VALUE, TP, FP, TP_NEW, FP_NEW, TP_OLD, FP_OLD = range(11)
# Positives at the same three times.
POS, POS_NEW, POS_OLD = range(3)
# Measures that judge experts; from AREA_ROC on by histograms of their scores.
F_BETA, JACCARD, AREA_ROC, AREA_PR = range(4)


@njit(cache=True, nogil=True, error_model="numpy")
def _weigh(values, rate, share):
    """Write exp(rate * values[k]), with the largest one as 1, and return their sum."""
    highest, total = values[0], 0.0
    for value in values:
        highest = max(highest, value)
    for k in range(values.shape[0]):
        share[k] = math.exp(rate * (values[k] - highest))
        total += share[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _choose(share, total, uniform):
    """Draw expert k with probability proportional to its share."""
    left = uniform * total
    for k in range(share.shape[0]):
        left -= share[k]
        if left < 0.0:
            return k
    return share.shape[0] - 1


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(margin, hinge):
    """Compute minus the derivative of the loss."""
    if hinge:
        return 1.0 if margin < 1.0 else 0.0
    return sigmoid(-margin)


@njit(cache=True, nogil=True, error_model="numpy")
def _bin_of(z, n_bins):
    """Find the place of a score among equal parts of its probability."""
    return min(int(sigmoid(z) * n_bins), n_bins - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def areas(of_pos, of_neg, precision, values) -> None:
    """Write areas under the ROC curve, or average precisions, of histograms with one column an expert.

    Scores in one bin are equal: they count one half, or get in together. 0 where a class is missing.
    """
    for k in range(values.shape[0]):
        tp, fp, total = 0.0, 0.0, 0.0
        for b in range(of_pos.shape[0] - 1, -1, -1):
            hits, misses = of_pos[b, k], of_neg[b, k]
            if precision:
                tp, fp = tp + hits, fp + misses
                if hits > 0.0:
                    total += hits * tp / (tp + fp)
            else:
                total += misses * (tp + 0.5 * hits)
                tp, fp = tp + hits, fp + misses
        pairs = tp if precision else tp * fp
        values[k] = total / pairs if min(tp, fp) > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _rank(state, hist, z, chosen, is_pos, precision):
    """Add the scores of an example to the histograms, the emitted one last, and bring the values up to date."""
    n_experts, row = z.shape[0], 0 if is_pos else 1
    for k in range(n_experts):
        b = _bin_of(z[k], hist.shape[2])
        hist[0, row, b, k] += 1.0
        if k == chosen:
            hist[0, row, b, n_experts] += 1.0
    areas(hist[0, 0], hist[0, 1], precision, state[VALUE])


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(state, pos, hist, z, chosen, is_pos, t, squared_beta, measure):
    """Count the predictions of all experts for example t and bring their values up to date, if that changes them.

    Return whether it does: labels leave values alone where a negative is predicted negative by all.
    """
    pos[POS] += 1.0 if is_pos else 0.0
    changed = is_pos or measure >= AREA_ROC
    for k in range(z.shape[0]):
        if z[k] > 0.0:
            state[TP if is_pos else FP, k] += 1.0
            changed = True
    for k in range(z.shape[0] if changed else 0):
        below = squared_beta * pos[POS] + state[TP, k] + state[FP, k]
        value = (1.0 + squared_beta) * state[TP, k] / below if below > 0.0 else 0.0
        state[VALUE, k] = value / (2.0 - value) if measure == JACCARD else value
    if measure >= AREA_ROC:
        _rank(state, hist, z, chosen, is_pos, measure == AREA_PR)
    if t & (t - 1) == 0:
        hist[2], hist[1] = hist[1], hist[0]
        for k in range(z.shape[0]):
            state[TP_OLD, k], state[FP_OLD, k] = state[TP_NEW, k], state[FP_NEW, k]
            state[TP_NEW, k], state[FP_NEW, k] = state[TP, k], state[FP, k]
        pos[POS_OLD], pos[POS_NEW] = pos[POS_NEW], pos[POS]
    return changed


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(state, z, xx, y, t, costs, eta0, radius, hinge, averages, d, back):
    """Update the scalars of all experts after one step; write the multiples of x that v and, with averages, u gain."""
    eta = eta0 / math.sqrt(t)
    for k in range(z.shape[0]):
        gain = eta * costs[k] * _slope(y * z[k], hinge) * y
        d[k] = gain / state[A, k]
        squared = state[SQUARED_NORM, k] + 2.0 * gain * z[k] + gain * gain * xx
        if squared > radius * radius:
            state[A, k] *= radius / math.sqrt(squared)
            squared = radius * radius
        state[SQUARED_NORM, k] = squared
        if not averages:
            continue
        if t == 1:
            state[P, k], back[k] = state[A, k], 0.0
        else:
            back[k] = -state[P, k] * d[k] / state[Q, k]
            state[P, k] += (state[A, k] - state[P, k]) / t
            state[Q, k] *= 1.0 - 1.0 / t


@njit(cache=True, nogil=True, error_model="numpy")
def _tidy(state, V, U, t):
    """Move scalars into the arrays before digits are lost, and keep the norms free of drift."""
    for k in range(state.shape[1]):
        if state[A, k] < SHRUNK or state[Q, k] < FADED:
            for j in range(V.shape[0]):
                U[j, k] = state[P, k] * V[j, k] + state[Q, k] * U[j, k]
                V[j, k] *= state[A, k]
            state[A, k], state[P, k], state[Q, k] = 1.0, 0.0, 1.0
    if t % max(1000, V.shape[0]) == 0:
        for k in range(state.shape[1]):
            square = 0.0
            for j in range(V.shape[0]):
                square += V[j, k] * V[j, k]
            state[SQUARED_NORM, k] = state[A, k] * state[A, k] * square


@njit(cache=True, nogil=True, error_model="numpy")
def _emit(z, is_pos, share, total, uniform, counts):
    """Draw an expert by the values so far, and count its prediction."""
    k = _choose(share, total, uniform)
    counts[(0 if is_pos else 1) if z[k] > 0.0 else (2 if is_pos else 3)] += 1
    return k


@njit(cache=True, nogil=True, error_model="numpy")
def _products(row, V, z):
    """Write the products of a row with the columns of V, summed in order. Return the square of the row."""
    x, j, xx = row[0], 0, 0.0
    n = x.shape[0]
    z[:] = 0.0
    if len(row) == 1:
        while j + 4 <= n:  # four at a time: the sums stay in registers
            u0, u1, u2, u3, v0, v1, v2, v3 = x[j], x[j + 1], x[j + 2], x[j + 3], V[j], V[j + 1], V[j + 2], V[j + 3]
            for k in range(z.shape[0]):
                z[k] = (((z[k] + u0 * v0[k]) + u1 * v1[k]) + u2 * v2[k]) + u3 * v3[k]
            j += 4
    while j < n:
        u, v = x[j], V[column_of(row, j)]
        for k in range(z.shape[0]):
            z[k] += u * v[k]
        j += 1
    for j in range(n):
        xx += np.float64(x[j]) * x[j]
    return xx


@njit(cache=True, nogil=True, error_model="numpy")
def _add_multiples(V, row, x_scale, d):
    """Add multiples of a row to the columns of V."""
    x = row[0]
    for j in range(x.shape[0]):
        c, v = x_scale * x[j], V[column_of(row, j)]
        for k in range(d.shape[0]):
            v[k] += c * d[k]


@njit(cache=True, nogil=True, error_model="numpy")
def omcsl(rows, y, x_scale, constant, V, U, state, pos, hist, t, costs, options, uniform, counts) -> None:
    """Predict and learn rows with all experts.

    ``V`` and ``U`` have one column an expert, then zeros up to a multiple of four columns, and a last row for the
    constant feature; ``costs`` has one row for negatives and one for positives. A ``gamma`` of 0 stands for the square
    root of t. ``hist`` counts scores by time (so far, and at the two powers of two before), class, bin and expert; its
    last column is what was emitted.
    """
    eta0, radius, gamma, hinge, squared_beta, measure, averages = options
    last, n_experts = V.shape[0] - 1, state.shape[1]
    padded, d, back = np.zeros(V.shape[1]), np.zeros(V.shape[1]), np.zeros(V.shape[1])
    z, share, total, changed = padded[:n_experts], np.empty(n_experts), 0.0, True
    for i in range(y.shape[0]):
        row, is_pos = row_at(rows, i), y[i] > 0.0
        xx = _products(row, V, padded)
        for k in range(n_experts):
            z[k] = state[A, k] * (x_scale * z[k] + constant * V[last, k])
        t += 1
        if changed or gamma == 0.0:
            total = _weigh(state[VALUE], gamma if gamma > 0.0 else math.sqrt(t), share)
        chosen = _emit(z, is_pos, share, total, uniform[i], counts)
        changed = _judge(state, pos, hist, z, chosen, is_pos, t, squared_beta, measure)
        xx = xx * x_scale * x_scale + constant * constant
        _advance(state, z, xx, y[i], t, costs[int(is_pos)], eta0, radius, hinge, averages, d, back)
        _add_multiples(V, row, x_scale, d)
        if averages:
            _add_multiples(U, row, x_scale, back)
        for k in range(n_experts):
            V[last, k] += constant * d[k]
            U[last, k] += constant * back[k]
        _tidy(state, V, U, t)


# ---------------------------------------------------------------- OMCSL


LOSSES = ("logistic", "hinge")
# Measures of rankings, by name.
RANKINGS = {"auroc": AREA_ROC, "auprc": AREA_PR}


def _check_gamma(gamma: object, name: str) -> None:
    """Check the growth of the weights of experts."""
    if gamma != "sqrt":
        check_positive(gamma, name)


@with_parameters
class OMCSL(EmittedPredictions, LinearOnlineClassifier):
    r"""Online multiple cost-sensitive learning: experts with different class costs, chosen by what they achieve.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        ``"f1"``, ``"f<beta>"`` or ``"jaccard"``; or, of scores, ``"auroc"``, the area under the ROC curve, and
        ``"auprc"``, the average precision.
    n_experts : int, default=10
        Number K of experts. Expert j aims at level ``1 - j / (K + 1)`` of the metric, j = 1, ..., K; for rankings, of
        the F-measure.
    eta0 : float, default=16.0
        First step size, positive; ``eta0 / sqrt(t)`` at example t. Rows have length at most 1; where most are far
        shorter than the longest, larger steps learn more: 64 to 256 for features divided by their largest value.
    gamma : float or "sqrt", default=20.0
        How strongly the choice prefers better experts, positive: expert k emits the prediction with probability
        proportional to ``exp(gamma * value)``, its value so far. ``"sqrt"``: the square root of t.
    n_bins : int, default=100
        For ``"auroc"`` and ``"auprc"``: bins of the histograms of probabilities by which experts are judged, at least
        2. Time and memory grow with it.
    loss : {"logistic", "hinge"}, default="logistic"
        Loss of the experts.
    radius : float, default=100.0
        Largest length of the weights of an expert, positive.
    average : bool, default=False
        Whether the final model has the average of the weights of all steps, in place of the last weights.
    fit_intercept : bool, default=True
        Whether to learn intercepts.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the emitted predictions and of the order in `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    threshold_ : float
        0: positive is predicted for positive scores.
    levels_ : ndarray of shape (n_experts,)
        Level of the metric that each expert aims at.
    n_seen_ : int
        Examples learnt from.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Each expert is judged by its predictions before the label is seen. The final model is that of the expert which
    was best lately: since the last power of two of examples but one, so over the last half to three quarters.

    For rankings an expert is judged by its scores, each as it was when the example was met, as probabilities in bins.
    The costs of the classes hardly change the order of scores, so that experts are nearly alike. Scores of different
    experts do not compare: what is emitted ranks worse than each of them, less so with a large ``gamma``.

    References
    ----------
    .. [1] Y. Yan, T. Yang, Y. Yang, J. Chen, "A Framework of Online Learning with Imbalanced Streaming Data",
       AAAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(20000, weights=[0.9], random_state=0)
    >>> model = OMCSL(random_state=0).partial_fit(X, y)
    >>> float(model.levels_[model.best_expert_]), model.online_value_
    (0.545, 0.578)
    """

    metric: str | Metric = field(default="f1", kw_only=False)
    n_experts: int = option(check=check_count, default=10)
    eta0: float = option(check=check_positive, default=16.0)
    gamma: float | str = option(check=_check_gamma, default=20.0)
    n_bins: int = option(check=partial(check_count, minimum=2), default=100)
    loss: Literal["logistic", "hinge"] = option(check=one_of(*LOSSES), default="logistic")
    radius: float = option(check=check_positive, default=100.0)
    average: bool = option(check=check_bool, default=False)

    threshold_: float = field(init=False)
    levels_: Array = field(init=False)

    @property
    def online_value_(self) -> float:
        """Metric of the predictions, or scores, emitted so far; 0 while that has no value."""
        check_is_fitted(self)
        if self._ranks():
            return float(self._areas(self._hist[0])[-1])
        return value_of_counts(get_metric(self.metric), **self.online_counts_)

    @property
    def expert_values_(self) -> Array:
        """Metric of the predictions that each expert has made so far, of shape (n_experts,)."""
        check_is_fitted(self)
        return self._state[VALUE].copy()

    @property
    def best_expert_(self) -> int:
        """Index of the expert of the final model."""
        check_is_fitted(self)
        if self._ranks():
            return int(np.argmax(self._areas(self._hist[0] - self._hist[2])[:-1]))
        tp = self._state[TP] - self._state[TP_OLD]
        predicted_pos = tp + self._state[FP] - self._state[FP_OLD]
        below = self._squared_beta() * (self._pos[POS] - self._pos[POS_OLD]) + predicted_pos
        return int(np.argmax(tp / np.maximum(below, 1e-300)))

    def _check_parameters(self) -> None:
        if not self._ranks() and not isinstance(get_metric(self.metric), FBeta | Jaccard):
            raise TypeError(
                "OMCSL serves F-beta and Jaccard ('f1', 'f2', 'jaccard', ...), 'auroc' and 'auprc', got "
                f"metric={self.metric!r}. Use SPADE for means of the two rates"
            )

    def _ranks(self) -> bool:
        return isinstance(self.metric, str) and self.metric in RANKINGS

    def _aim(self) -> Metric:
        """Return the metric whose levels the experts aim at."""
        return FBeta() if self._ranks() else get_metric(self.metric)

    def _squared_beta(self) -> float:
        return float(getattr(self._aim(), "beta", 1.0)) ** 2

    def _areas(self, hist: FloatArray) -> FloatArray:
        """Compute the value of each column of histograms of two classes."""
        values = np.empty(hist.shape[2])
        areas(hist[0], hist[1], self.metric == "auprc", values)
        return values

    def _start(self, n_features: int) -> None:
        k = self.n_experts
        self.threshold_ = 0.0
        self.levels_ = 1.0 - np.arange(1, k + 1) / (k + 1)
        width = -(-k // 4) * 4
        self._V, self._U = np.zeros((n_features + 1, width)), np.zeros((n_features + 1, width))
        self._state = np.zeros((11, k))
        self._state[[A, P, Q]] = 1.0
        self._pos = np.zeros(3)
        self._hist = np.zeros((3, 2, self.n_bins if self._ranks() else 0, k + 1))
        self._counts = np.zeros(4, dtype=np.int64)

    def _costs(self) -> FloatArray:
        """Compute the costs of a negative (first row) and a positive (second row) for each expert; they sum to 1."""
        metric = self._aim()
        c_fn, c_fp = np.array([metric.cost_weights(level, pos=0.5) for level in self.levels_]).T
        return np.array([c_fp, c_fn]) / (c_fp + c_fn)

    def _step(self, X: Samples, y: FloatArray) -> None:
        gamma = 0.0 if self.gamma == "sqrt" else float(self.gamma)
        labels = JACCARD if isinstance(self._aim(), Jaccard) else F_BETA
        measure = RANKINGS.get(self.metric, labels) if isinstance(self.metric, str) else labels
        numbers_ = float(self.eta0), float(self.radius), gamma, self.loss == "hinge", self._squared_beta()
        options = (*numbers_, measure, bool(self.average))
        state = (self.x_scale_, self._constant(), self._V, self._U, self._state, self._pos, self._hist)
        rest = (self.n_seen_, self._costs(), options, self._rng.random(y.size), self._counts)
        omcsl(parts(X), y, *state, *rest)

    def _weights(self) -> tuple[Array, Array]:
        k = self.best_expert_
        a, p, q = self._state[:3, k]
        last = a * self._V[:, k]
        return (p * self._V[:, k] + q * self._U[:, k] if self.average else last), last

    def _numbers(self) -> Params:
        return {"best_expert": self.best_expert_, **super()._numbers()}
