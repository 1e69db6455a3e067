"""OMCSL: several online learners with different class costs, and a choice among them that follows their F-measure."""

import math

import numpy as np
from numba import njit
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from csf._validation import check_count
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online.base import LinearOnlineClassifier, check_positive
from csf.online.emitted import EmittedPredictions, value_of_counts

__all__ = ["OMCSL"]

LOSSES = ("logistic", "hinge")

# Rows of the state, one column an expert. Weights: last w = A v, averaged w = P v + Q u. Counts: all so far, up to
# the last power of two of examples, up to the one before that.
A, P, Q, SQUARED_NORM, VALUE, TP, FP, TP_NEW, FP_NEW, TP_OLD, FP_OLD = range(11)
# Positives at the same three times.
POS, POS_NEW, POS_OLD = range(3)
# Where scalars are moved into the arrays: P v and Q u cancel up to P / A, and Q must not vanish.
_SHRUNK, _FADED = 1e-3, 1e-100


@njit(cache=True, nogil=True, error_model="numpy")
def _choose(values, rate, uniform):
    """Expert k with probability proportional to exp(rate * values[k])."""
    highest, total = values[0], 0.0
    for value in values:
        highest = max(highest, value)
    for value in values:
        total += math.exp(rate * (value - highest))
    left = uniform * total
    for k in range(values.shape[0]):
        left -= math.exp(rate * (values[k] - highest))
        if left < 0.0:
            return k
    return values.shape[0] - 1


@njit(cache=True, nogil=True, error_model="numpy")
def _slope(margin, hinge):
    """Minus the derivative of the loss."""
    if hinge:
        return 1.0 if margin < 1.0 else 0.0
    if margin >= 0.0:
        e = math.exp(-margin)
        return e / (1.0 + e)
    return 1.0 / (1.0 + math.exp(margin))


@njit(cache=True, nogil=True, error_model="numpy")
def _judge(state, pos, z, is_pos, t, squared_beta, jaccard):
    """Count the predictions of all experts for example t and bring their values up to date."""
    pos[POS] += 1.0 if is_pos else 0.0
    for k in range(z.shape[0]):
        if z[k] > 0.0:
            state[TP if is_pos else FP, k] += 1.0
        below = squared_beta * pos[POS] + state[TP, k] + state[FP, k]
        value = (1.0 + squared_beta) * state[TP, k] / below if below > 0.0 else 0.0
        state[VALUE, k] = value / (2.0 - value) if jaccard else value
    if t & (t - 1) == 0:
        for k in range(z.shape[0]):
            state[TP_OLD, k], state[FP_OLD, k] = state[TP_NEW, k], state[FP_NEW, k]
            state[TP_NEW, k], state[FP_NEW, k] = state[TP, k], state[FP, k]
        pos[POS_OLD], pos[POS_NEW] = pos[POS_NEW], pos[POS]


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(state, z, xx, y, t, costs, eta0, radius, hinge, d, back):
    """Scalars of all experts after one step; writes the multiples of x that v and u gain."""
    for k in range(z.shape[0]):
        gain = eta0 / math.sqrt(t) * costs[k] * _slope(y * z[k], hinge) * y
        d[k] = gain / state[A, k]
        squared = state[SQUARED_NORM, k] + 2.0 * gain * z[k] + gain * gain * xx
        if squared > radius * radius:
            state[A, k] *= radius / math.sqrt(squared)
            squared = radius * radius
        state[SQUARED_NORM, k] = squared
        if t == 1:
            state[P, k], back[k] = state[A, k], 0.0
        else:
            back[k] = -state[P, k] * d[k] / state[Q, k]
            state[P, k] += (state[A, k] - state[P, k]) / t
            state[Q, k] *= 1.0 - 1.0 / t


@njit(cache=True, nogil=True, error_model="numpy")
def _tidy(state, V, U, t):
    """Move scalars into the arrays before digits are lost, and keep the norms free of drift."""
    for k in range(V.shape[1]):
        if state[A, k] < _SHRUNK or state[Q, k] < _FADED:
            for j in range(V.shape[0]):
                U[j, k] = state[P, k] * V[j, k] + state[Q, k] * U[j, k]
                V[j, k] *= state[A, k]
            state[A, k], state[P, k], state[Q, k] = 1.0, 0.0, 1.0
    if t % max(1000, V.shape[0]) == 0:
        for k in range(V.shape[1]):
            square = 0.0
            for j in range(V.shape[0]):
                square += V[j, k] * V[j, k]
            state[SQUARED_NORM, k] = state[A, k] * state[A, k] * square


@njit(cache=True, nogil=True, error_model="numpy")
def _emit(state, z, is_pos, t, gamma, uniform, counts):
    """Prediction of an expert drawn by the values so far, counted."""
    k = _choose(state[VALUE], gamma if gamma > 0.0 else math.sqrt(t), uniform)
    counts[(0 if is_pos else 1) if z[k] > 0.0 else (2 if is_pos else 3)] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def omcsl_dense(X, y, x_scale, constant, V, U, state, pos, t, costs, options, uniform, counts):
    """Predict and learn dense rows with all experts.

    ``V`` and ``U`` have one column an expert, and a last row for the constant feature; ``costs`` has one row for
    negatives and one for positives. A ``gamma`` of 0 stands for the square root of t.
    """
    eta0, radius, gamma, hinge, squared_beta, jaccard, averages = options
    last, n_experts = V.shape[0] - 1, V.shape[1]
    z, d, back = np.empty(n_experts), np.empty(n_experts), np.empty(n_experts)
    for i in range(X.shape[0]):
        x, is_pos, xx = X[i], y[i] > 0.0, 0.0
        z[:] = 0.0
        for j in range(last):
            xx += np.float64(x[j]) * x[j]
            for k in range(n_experts):
                z[k] += x[j] * V[j, k]
        for k in range(n_experts):
            z[k] = state[A, k] * (x_scale * z[k] + constant * V[last, k])
        t += 1
        _emit(state, z, is_pos, t, gamma, uniform[i], counts)
        _judge(state, pos, z, is_pos, t, squared_beta, jaccard)
        xx = xx * x_scale * x_scale + constant * constant
        _advance(state, z, xx, y[i], t, costs[int(is_pos)], eta0, radius, hinge, d, back)
        for j in range(last):
            for k in range(n_experts):
                V[j, k] += x_scale * x[j] * d[k]
            if averages:
                for k in range(n_experts):
                    U[j, k] += x_scale * x[j] * back[k]
        for k in range(n_experts):
            V[last, k] += constant * d[k]
            U[last, k] += constant * back[k]
        _tidy(state, V, U, t)


@njit(cache=True, nogil=True, error_model="numpy")
def omcsl_csr(data, indices, indptr, y, x_scale, constant, V, U, state, pos, t, costs, options, uniform, counts):
    """`omcsl_dense` for the rows of a CSR matrix."""
    eta0, radius, gamma, hinge, squared_beta, jaccard, averages = options
    last, n_experts = V.shape[0] - 1, V.shape[1]
    z, d, back = np.empty(n_experts), np.empty(n_experts), np.empty(n_experts)
    for i in range(indptr.shape[0] - 1):
        entries, is_pos, xx = range(indptr[i], indptr[i + 1]), y[i] > 0.0, 0.0
        z[:] = 0.0
        for e in entries:
            xx += np.float64(data[e]) * data[e]
            for k in range(n_experts):
                z[k] += data[e] * V[indices[e], k]
        for k in range(n_experts):
            z[k] = state[A, k] * (x_scale * z[k] + constant * V[last, k])
        t += 1
        _emit(state, z, is_pos, t, gamma, uniform[i], counts)
        _judge(state, pos, z, is_pos, t, squared_beta, jaccard)
        xx = xx * x_scale * x_scale + constant * constant
        _advance(state, z, xx, y[i], t, costs[int(is_pos)], eta0, radius, hinge, d, back)
        for e in entries:
            for k in range(n_experts):
                V[indices[e], k] += x_scale * data[e] * d[k]
            if averages:
                for k in range(n_experts):
                    U[indices[e], k] += x_scale * data[e] * back[k]
        for k in range(n_experts):
            V[last, k] += constant * d[k]
            U[last, k] += constant * back[k]
        _tidy(state, V, U, t)


class OMCSL(EmittedPredictions, LinearOnlineClassifier):
    r"""Online multiple cost-sensitive learning: experts with different class costs, chosen by their F-measure.

    Parameters
    ----------
    metric : str or Metric, default="f1"
        ``"f1"``, ``"f<beta>"`` or ``"jaccard"``.
    n_experts : int, default=10
        Number K of experts. Expert j aims at level ``1 - j / (K + 1)`` of the metric, j = 1, ..., K.
    eta0 : float, default=16.0
        First step size, positive; ``eta0 / sqrt(t)`` at example t. Rows have length at most 1.
    gamma : float or "sqrt", default=20.0
        How strongly the choice prefers better experts, positive: expert k emits the prediction with probability
        proportional to ``exp(gamma * value)``, its value so far. ``"sqrt"``: the square root of t.
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

    def __init__(
        self,
        metric="f1",
        *,
        n_experts=10,
        eta0=16.0,
        gamma=20.0,
        loss="logistic",
        radius=100.0,
        average=False,
        fit_intercept=True,
        intercept_scaling=1.0,
        passes=1,
        shuffle=True,
        pos_label=None,
        random_state=None,
    ):
        self.metric = metric
        self.n_experts = n_experts
        self.eta0 = eta0
        self.gamma = gamma
        self.loss = loss
        self.radius = radius
        self.average = average
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    @property
    def online_value_(self):
        """Metric of the predictions emitted so far."""
        return value_of_counts(get_metric(self.metric), **self.online_counts_)

    @property
    def expert_values_(self):
        """Metric of the predictions that each expert has made so far, of shape (n_experts,)."""
        check_is_fitted(self)
        return self._state[VALUE].copy()

    @property
    def best_expert_(self):
        """Index of the expert of the final model."""
        check_is_fitted(self)
        tp = self._state[TP] - self._state[TP_OLD]
        predicted_pos = tp + self._state[FP] - self._state[FP_OLD]
        below = self._squared_beta() * (self._pos[POS] - self._pos[POS_OLD]) + predicted_pos
        return int(np.argmax(tp / np.maximum(below, 1e-300)))

    @property
    def n_updates_(self):
        """Steps of each expert: one for each example."""
        check_is_fitted(self)
        return self.n_seen_

    def _check_parameters(self):
        if not isinstance(get_metric(self.metric), FBeta | Jaccard):
            raise TypeError(
                f"OMCSL serves F-beta and Jaccard ('f1', 'f2', 'jaccard', ...), got metric={self.metric!r}. Use "
                "SPADE for means of the two rates"
            )
        check_count(self.n_experts, "n_experts")
        check_positive(self.eta0, "eta0")
        check_positive(self.radius, "radius")
        if self.gamma != "sqrt":
            check_positive(self.gamma, "gamma")
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {LOSSES}, got {self.loss!r}")
        if not isinstance(self.average, bool | np.bool_):
            raise TypeError(f"average must be True or False, got {self.average!r}")

    def _squared_beta(self):
        return float(getattr(get_metric(self.metric), "beta", 1.0)) ** 2

    def _start(self, n_features):
        k = self.n_experts
        self.threshold_ = 0.0
        self.levels_ = 1.0 - np.arange(1, k + 1) / (k + 1)
        self._V, self._U = np.zeros((n_features + 1, k)), np.zeros((n_features + 1, k))
        self._state = np.zeros((11, k))
        self._state[[A, P, Q]] = 1.0
        self._pos = np.zeros(3)
        self._counts = np.zeros(4, dtype=np.int64)

    def _costs(self):
        """Costs of a negative (first row) and a positive (second row) for each expert; they sum to 1."""
        metric = get_metric(self.metric)
        c_fn, c_fp = np.array([metric.cost_weights(level, pos=0.5) for level in self.levels_]).T
        return np.array([c_fp, c_fn]) / (c_fp + c_fn)

    def _step(self, X, y):
        gamma = 0.0 if self.gamma == "sqrt" else float(self.gamma)
        jaccard = isinstance(get_metric(self.metric), Jaccard)
        numbers_ = float(self.eta0), float(self.radius), gamma, self.loss == "hinge", self._squared_beta()
        options = (*numbers_, jaccard, bool(self.average))
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        state = (self.x_scale_, constant, self._V, self._U, self._state, self._pos, self.n_seen_, self._costs())
        rest = (options, self._rng.random(y.size), self._counts)
        if issparse(X):
            omcsl_csr(X.data, X.indices, X.indptr, y, *state, *rest)
        else:
            omcsl_dense(X, y, *state, *rest)

    def _weights(self):
        k = self.best_expert_
        a, p, q = self._state[:3, k]
        last = a * self._V[:, k]
        return (p * self._V[:, k] + q * self._U[:, k] if self.average else last), last

    def _numbers(self):
        return {"best_expert": self.best_expert_, **super()._numbers()}
