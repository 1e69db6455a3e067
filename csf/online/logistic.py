"""Online logistic regression with averaged weights: the learner of posteriors behind thresholds."""

import math
import numbers

import numpy as np
from numba import njit
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from csf.online.base import NUMBERS, LinearOnlineClassifier, check_positive
from csf.responses import margin

__all__ = ["OnlineLogistic"]

AVERAGING = ("none", "uniform", "poly", "suffix")
NONE, UNIFORM, POLY, SUFFIX = range(4)

# Places in the vector of scalars. Weights: last w = A v, averaged w = P v + Q u.
A, P, Q, SQUARED_NORM, MIXED = range(5)
_SMALL = 1e-100
_LEAST_PROBA = 1e-12


@njit(cache=True, nogil=True)
def _sigmoid(z):
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


@njit(cache=True, nogil=True)
def _share(t, averaging, gain):
    """Share rho_t of the newest weights in the average."""
    if averaging == UNIFORM:
        return 1.0 / t
    if averaging == POLY:
        return (1.0 + gain) / (t + gain)
    if averaging == SUFFIX:
        start = 1
        while 2 * start <= t:
            start *= 2
        return 1.0 / (t - start + 1)
    return 1.0


@njit(cache=True, nogil=True)
def _plan(s, v, u, vx, ux, xx, is_pos, t, options):
    """One step but for the arrays: posterior before it, and the multiples of x that v and u gain.

    With ``v + dx`` for v, the old average ``P v + Q u`` reads ``P (v + dx) + Q (u - (P d / Q) x)``.
    """
    eta0, alpha, radius, averaging, gain = options
    proba = min(max(_sigmoid(s[P] * vx + s[Q] * ux), _LEAST_PROBA), 1.0 - _LEAST_PROBA)
    wx = s[A] * vx
    eta = eta0 / math.sqrt(t) if alpha == 0.0 else eta0 / (1.0 + eta0 * alpha * t)
    shrink, step = 1.0 - eta * alpha, eta * ((1.0 if is_pos else 0.0) - _sigmoid(wx))
    s[A] *= shrink
    d = step / s[A]
    if radius < np.inf:
        s[SQUARED_NORM] = shrink * shrink * s[SQUARED_NORM] + 2.0 * shrink * step * wx + step * step * xx
        if s[SQUARED_NORM] > radius * radius:
            s[A] *= radius / math.sqrt(s[SQUARED_NORM])
            s[SQUARED_NORM] = radius * radius
    rho = _share(t, int(averaging), gain)
    if rho == 1.0:
        if s[MIXED]:
            u[:] = 0.0
        s[P], s[Q], s[MIXED] = s[A], 1.0, 0.0
        return proba, d, 0.0
    back = -s[P] * d / s[Q]
    s[P] = (1.0 - rho) * s[P] + rho * s[A]
    s[Q] *= 1.0 - rho
    s[MIXED] = 1.0
    return proba, d, back


@njit(cache=True, nogil=True)
def _tidy(s, v, u, t, radius):
    """Keep the scalars away from underflow and the norm free of drift."""
    if s[A] < _SMALL:
        v *= s[A]
        s[P] /= s[A]
        s[A] = 1.0
    if s[Q] < _SMALL:
        u *= s[Q]
        s[Q] = 1.0
    if radius < np.inf and t % max(1000, v.shape[0]) == 0:
        s[SQUARED_NORM] = s[A] * s[A] * np.dot(v, v)


@njit(cache=True, nogil=True)
def _count(counts, proba, threshold, is_pos):
    """Add one prediction to the counts of true and false positives, false and true negatives."""
    if proba >= threshold:
        counts[0 if is_pos else 1] += 1
    else:
        counts[2 if is_pos else 3] += 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dense_dots(x, v, u):
    vx, ux = 0.0, 0.0
    for j in range(x.shape[0]):
        vx += x[j] * v[j]
        ux += x[j] * u[j]
    return vx, ux


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _square(x):
    total = 0.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * x[j]
    return total


@njit(cache=True, nogil=True)
def logistic_dense(X, y, x_scale, constant, v, u, s, t, options, counts, proba):
    """Learn dense rows; ``v`` and ``u`` have one more entry for the constant feature where ``constant > 0``."""
    radius, n_features = options[2], X.shape[1]
    for i in range(X.shape[0]):
        x = X[i]
        vx, ux = _dense_dots(x, v, u)
        vx, ux = vx * x_scale, ux * x_scale
        xx = _square(x) * x_scale * x_scale if radius < np.inf else 0.0
        if constant > 0.0:
            vx, ux, xx = vx + v[-1] * constant, ux + u[-1] * constant, xx + constant * constant
        t += 1
        is_pos = y[i] > 0.0
        proba[i], d, back = _plan(s, v, u, vx, ux, xx, is_pos, t, options)
        _count(counts, proba[i], 0.5, is_pos)
        dx, back_x = d * x_scale, back * x_scale
        for j in range(n_features):
            v[j] += dx * x[j]
        if back != 0.0:
            for j in range(n_features):
                u[j] += back_x * x[j]
        if constant > 0.0:
            v[-1] += d * constant
            u[-1] += back * constant
        _tidy(s, v, u, t, radius)


@njit(cache=True, nogil=True)
def logistic_csr(data, indices, indptr, y, x_scale, constant, v, u, s, t, options, counts, proba):
    """`logistic_dense` for the rows of a CSR matrix; a step costs as much as its row has entries."""
    radius = options[2]
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        vx, ux, xx = 0.0, 0.0, 0.0
        for k in range(start, stop):
            j = indices[k]
            vx += data[k] * v[j]
            ux += data[k] * u[j]
        if radius < np.inf:
            xx = _square(data[start:stop]) * x_scale * x_scale
        vx, ux = vx * x_scale, ux * x_scale
        if constant > 0.0:
            vx, ux, xx = vx + v[-1] * constant, ux + u[-1] * constant, xx + constant * constant
        t += 1
        is_pos = y[i] > 0.0
        proba[i], d, back = _plan(s, v, u, vx, ux, xx, is_pos, t, options)
        _count(counts, proba[i], 0.5, is_pos)
        dx, back_x = d * x_scale, back * x_scale
        for k in range(start, stop):
            j = indices[k]
            v[j] += dx * data[k]
            u[j] += back_x * data[k]
        if constant > 0.0:
            v[-1] += d * constant
            u[-1] += back * constant
        _tidy(s, v, u, t, radius)


class OnlineLogistic(LinearOnlineClassifier):
    r"""Logistic regression, one gradient step an example, predicting with averaged weights.

    Parameters
    ----------
    eta0 : float, default=1.0
        First step size, positive; ``eta0 / sqrt(t)`` at example t, or ``eta0 / (1 + eta0 * alpha * t)`` with a
        positive ``alpha``. Rows have length at most 1.
    alpha : float, default=0.0
        Strength of the squared regulariser, not negative.
    radius : float, default=None
        Largest length of the weights, positive; ``None`` sets no limit.
    averaging : {"poly", "uniform", "suffix", "none"}, default="poly"
        Weights to predict with. ``"poly"``: averages in which late steps count more; ``"uniform"``: all steps alike;
        ``"suffix"``: the steps since the last power of two; ``"none"``: the last step.
    gain : float, default=3.0
        How much more late steps count in ``"poly"``: the newest has the share ``(1 + gain) / (t + gain)``; not
        negative, 0 is ``"uniform"``.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        Value of the constant feature behind the intercept, positive.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    threshold_ : float
        Positive is predicted where its probability is at least 0.5.
    n_seen_ : int
        Examples learnt from.
    n_updates_ : int
        Steps made: one for each example.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Classes are not weighted: that would spoil the probabilities.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = OnlineLogistic().partial_fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    >>> model.score(X, y)
    0.88
    """

    def __init__(
        self,
        eta0=1.0,
        *,
        alpha=0.0,
        radius=None,
        averaging="poly",
        gain=3.0,
        fit_intercept=True,
        intercept_scaling=1.0,
        passes=1,
        shuffle=True,
        pos_label=None,
        random_state=None,
    ):
        self.eta0 = eta0
        self.alpha = alpha
        self.radius = radius
        self.averaging = averaging
        self.gain = gain
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.passes = passes
        self.shuffle = shuffle
        self.pos_label = pos_label
        self.random_state = random_state

    @property
    def n_updates_(self):
        """Steps made: one for each example."""
        check_is_fitted(self)
        return self.n_seen_

    def decision_function(self, X):
        """Log-odds of ``classes_[1]``; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores.
        """
        sign = self._orientation()
        return margin(sign * super().decision_function(X), 0.0, sign > 0)

    def predict_proba(self, X):
        """Probabilities of both classes, none below 1e-12.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``.
        """
        check_is_fitted(self)
        score = self._scores(validate_data(self, X, reset=False, **NUMBERS))
        last = np.exp(-np.logaddexp(0.0, -score)).clip(_LEAST_PROBA, 1.0 - _LEAST_PROBA)
        return np.column_stack([1.0 - last, last])

    def _check_parameters(self):
        check_positive(self.eta0, "eta0")
        if self.radius is not None:
            check_positive(self.radius, "radius")
        for name in ("alpha", "gain"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise TypeError(f"{name} must be a number >= 0, got {value!r}")
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name} must be finite and >= 0, got {value!r}")
        if self.averaging not in AVERAGING:
            raise ValueError(f"averaging must be one of {AVERAGING}, got {self.averaging!r}")

    def _start(self, n_features):
        self.threshold_ = 0.5
        self._v = np.zeros(n_features + bool(self.fit_intercept))
        self._u = np.zeros_like(self._v)
        self._scalars = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
        self._counts = np.zeros(4, dtype=np.int64)

    def _step(self, X, y):
        proba = np.empty(y.size)
        constant = float(self.intercept_scaling) if self.fit_intercept else 0.0
        radius = math.inf if self.radius is None else float(self.radius)
        averaging = AVERAGING.index(self.averaging)
        options = (float(self.eta0), float(self.alpha), radius, averaging, float(self.gain))
        state = (self.x_scale_, constant, self._v, self._u, self._scalars, self.n_seen_, options, self._counts, proba)
        if issparse(X):
            logistic_csr(X.data, X.indices, X.indptr, y, *state)
        else:
            logistic_dense(X, y, *state)

    def _weights(self):
        a, p, q, *_ = self._scalars
        return p * self._v + q * self._u, a * self._v
