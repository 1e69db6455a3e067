"""Learners of posteriors: online logistic regression, and models of the library river."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.compiled import column_of, njit, parts, row_at
from csf._common.sklearn import one_of, option, with_parameters
from csf._common.typing import Array, Estimator, FloatArray, Samples
from csf._common.validation import check_number, check_positive
from csf.data.responses import margin
from csf.online._ascent import A, P, Q, add_to_both, initial_scalars, move, square, tidy
from csf.online._gaussian import Belief, BeliefSteps, sigmoid
from csf.online.base import (
    NUMBERS,
    EmittedPredictions,
    OnlineClassifier,
    SteppingLearner,
    StepRule,
    count_predictions,
)

# ---------------------------------------------------------------- online logistic regression


AVERAGING = ("none", "uniform", "poly", "suffix")

_LEAST_PROBA = 1e-12


def _schedule(t: int, n_rows: int, learner: OnlineLogistic) -> tuple[FloatArray, FloatArray]:
    """Compute step sizes, and shares of the newest weights in the average, for the examples after the first ``t``."""
    now, eta0, alpha = np.arange(t + 1.0, t + n_rows + 1.0), float(learner.eta0), float(learner.alpha)
    eta = eta0 / np.sqrt(now) if alpha == 0.0 else eta0 / (1.0 + eta0 * alpha * now)
    if learner.averaging == "none":
        return eta, np.ones(n_rows)
    if learner.averaging == "suffix":  # since the last power of two
        return eta, 1.0 / (now + 1.0 - 2.0 ** (np.frexp(now)[1] - 1))
    more = float(learner.gain) if learner.averaging == "poly" else 0.0
    return eta, (1.0 + more) / (now + more)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dots(row, v, u):
    values, vx, ux = row[0], 0.0, 0.0
    for k in range(values.shape[0]):
        j = column_of(row, k)
        vx += values[k] * v[j]
        ux += values[k] * u[j]
    return vx, ux


@njit(cache=True, nogil=True, error_model="numpy")
def logistic(rows, y, x_scale, constant, v, u, s, eta, share, alpha, radius, proba) -> None:
    """Write the posterior of each row, then learn it.

    ``v`` and ``u`` have a last entry for the constant feature, which is 0 where there is none; ``s`` are the scalars of
    `csf.online._ascent`. There are a step size and a share of the average for each row.
    """
    last, xx = v.shape[0] - 1, 0.0
    for i in range(y.shape[0]):
        row, target = row_at(rows, i), 1.0 if y[i] > 0.0 else 0.0
        vx, ux = _dots(row, v, u)
        vx, ux = vx * x_scale + v[last] * constant, ux * x_scale + u[last] * constant
        proba[i] = sigmoid(s[P] * vx + s[Q] * ux)
        if radius < np.inf:
            xx = square(row[0]) * x_scale * x_scale + constant * constant
        # an average that begins anew forgets u, which is 0 already where nothing was averaged
        if share[i] == 1.0 and (s[P] != s[A] or s[Q] != 1.0):
            u[:] = 0.0
        wx = s[A] * vx
        d, back = move(s, wx, xx, eta[i] * (target - sigmoid(wx)), 1.0 - alpha * eta[i], radius, share[i])
        add_to_both(row, v, d * x_scale, u, back * x_scale)
        v[last] += d * constant
        u[last] += back * constant
        tidy(s, v, u)


class GradientSteps(StepRule):
    """Steps of a global size, with averaged weights."""

    def __init__(self, learner: OnlineLogistic, n_features: int) -> None:
        self.v, self.u = np.zeros((2, n_features + 1))
        self.scalars = initial_scalars()

    def learn(self, learner: OnlineLogistic, X: Samples, y: FloatArray) -> FloatArray:
        """Predict the posterior of each row, then learn it."""
        proba, radius = np.empty(y.size), math.inf if learner.radius is None else float(learner.radius)
        state = (learner.x_scale_, learner._constant(), self.v, self.u, self.scalars)
        steps = _schedule(learner.n_seen_, y.size, learner)
        logistic(parts(X), y, *state, *steps, float(learner.alpha), radius, proba)
        return proba

    def weights(self) -> tuple[Array, Array]:
        """Return the average, and the last weights."""
        s = self.scalars
        return s[P] * self.v + s[Q] * self.u, s[A] * self.v


@with_parameters
class OnlineLogistic(EmittedPredictions, SteppingLearner):
    r"""Logistic regression with one step per example.

    Parameters
    ----------
    eta0 : float, default=16.0
        For ``step="paper"``: first step size, positive; ``eta0 / sqrt(t)`` at example t, or
        ``eta0 / (1 + eta0 * alpha * t)`` with a positive ``alpha``. Rows have length at most 1.
    step : {"adaptive", "paper"}, default="adaptive"
        ``"adaptive"`` keeps a Gaussian belief about the weights, which decides how far each example moves them: nothing
        is to be tuned, and the unit of a feature does not matter. ``"paper"`` takes gradient steps of a global size.
    prior : float, default=1.0
        For ``step="adaptive"``: precision of the belief at first, positive; that of a weight of a feature whose largest
        value is 1. It regularises like ``C = 1 / prior`` of scikit-learn's LogisticRegression.
    window : int, default=None
        For ``step="adaptive"``: examples to look back upon, about; older ones are forgotten. ``None`` forgets none.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    intercept_scaling : float, default=1.0
        For ``step="paper"``: value of the constant feature behind the intercept, positive.
    passes : int, default=1
        Passes over the samples in `fit`. With ``step="adaptive"`` each counts as new examples.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.
    alpha : float, default=0.0
        For ``step="paper"``: strength of the squared regulariser, not negative.
    radius : float, default=None
        For ``step="paper"``: largest length of the weights, positive; ``None`` sets no limit.
    averaging : {"poly", "uniform", "suffix", "none"}, default="poly"
        For ``step="paper"``: weights to predict with. ``"poly"``: averages in which late steps count more;
        ``"uniform"``: all steps alike; ``"suffix"``: the steps since the last power of two; ``"none"``: the last step.
    gain : float, default=3.0
        For ``step="paper"``: how much more late steps count in ``"poly"``: the newest has the share
        ``(1 + gain) / (t + gain)``; not negative, 0 is ``"uniform"``.

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

    With ``step="adaptive"``, weights :math:`w` of features in units of their largest value so far are believed to be
    :math:`N(m, S)`. An example :math:`(x, b)` moves m to the most probable weights given that belief, along
    :math:`S x`, and adds its curvature :math:`p (1 - p) x x^T` to the precision :math:`S^{-1}`. With at most 512
    features S is a full matrix: one pass then comes close to the batch solution, whatever the correlations. Beyond it
    is diagonal. After the first 1000 examples (8 a feature if that is more) gradients are gathered until they weigh 2 %
    of the information so far, and S follows in steps of that size: a step costs as much as its row has entries. In
    float64 the same examples give the same weights in chunks of any size.

    References
    ----------
    .. [1] S. Ross, P. Mineiro, J. Langford, "Normalized Online Learning", UAI 2013.
    .. [2] D. J. Spiegelhalter, S. L. Lauritzen, "Sequential updating of conditional probabilities on directed graphical
       structures", Networks 20, 1990.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, flip_y=0.2, random_state=0)
    >>> model = OnlineLogistic().partial_fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    >>> model.score(X, y)
    0.886
    """

    eta0: float = option(check=check_positive, default=16.0, kw_only=False)
    alpha: float = option(check=check_number, default=0.0)
    radius: float | None = option(check=check_positive, default=None)
    averaging: Literal["poly", "uniform", "suffix", "none"] = option(check=one_of(*AVERAGING), default="poly")
    gain: float = option(check=check_number, default=3.0)

    threshold_: float = field(init=False)

    _rules: ClassVar = {"adaptive": BeliefSteps, "paper": GradientSteps}
    _of_paper = ("eta0", "alpha", "radius", "averaging", "gain")
    # Probability 1/2 is positive.
    _cut = 0.0

    @property
    def _belief(self) -> Belief | None:
        """Belief about the weights, where the steps follow one."""
        return getattr(self._rule, "belief", None)

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of both classes, none below 1e-12.

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

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.threshold_ = 0.5
        self._counts = np.zeros(4, dtype=np.int64)

    def _step(self, X: Samples, y: FloatArray) -> FloatArray:
        proba = super()._step(X, y)
        count_predictions(proba >= self.threshold_, y > 0.0, self._counts)
        return proba.clip(_LEAST_PROBA, 1.0 - _LEAST_PROBA)

    def _predict_then_learn(self, X: Samples, y: FloatArray) -> FloatArray:
        """Predict the probability of the positive class in each checked row, then learn it."""
        return np.concatenate(self._learn(X, y))


# ---------------------------------------------------------------- models of river


@with_parameters
class RiverClassifier(OnlineClassifier):
    """Binary classifier of river with scikit-learn's interface, to be a learner of `OFO` or `FOFO`.

    It needs the extra ``csf-search[river]``. Models see each row as a dict from column numbers to values; sparse rows
    leave out what is not stored. All of it is Python, one example after the other.

    Parameters
    ----------
    model : river classifier, default=None
        Model or pipeline with ``learn_one`` and ``predict_proba_one``; it is copied, never changed. ``None`` is
        ``river.linear_model.LogisticRegression()``.
    passes : int, default=1
        Passes over the samples in `fit`.
    shuffle : bool, default=True
        Whether `fit` takes the samples in a new random order in each pass.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}. The model sees True for it, False for the other.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels.
    pos_label_ : label
        The positive class.
    model_ : river classifier
        The model, trained.
    threshold_ : float
        Positive is predicted where its probability is at least 0.5.
    n_seen_ : int
        Examples learnt from.
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] J. Montiel et al., "River: machine learning for streaming data in Python", JMLR 22, 2021.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from csf.online import OFO
    >>> X, y = make_classification(2000, weights=[0.9], random_state=0)
    >>> OFO(posterior=RiverClassifier()).partial_fit(X, y).online_value_
    0.914
    """

    model: Estimator = field(default=None, kw_only=False)

    model_: Estimator = field(init=False)
    threshold_: float = field(init=False)

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of both classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities in the order of ``classes_``.
        """
        positive = self._posteriors(X)
        columns = [1.0 - positive, positive]
        return np.column_stack(columns if self.pos_label_ == self.classes_[1] else columns[::-1])

    def decision_function(self, X: Samples) -> Array:
        """Compute the probability minus 0.5; above 0 exactly where ``predict`` gives ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores; their sign is turned where the positive class is ``classes_[0]``.
        """
        return margin(self._posteriors(X), self.threshold_, self.pos_label_ == self.classes_[1])

    def _posteriors(self, X: Samples) -> FloatArray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **NUMBERS)
        return np.array([self._posterior(row) for row in _dicts(X)])

    def _posterior(self, row: dict[int, float]) -> float:
        """Predict the probability of True; 1/2 where the model gives none."""
        proba = self.model_.predict_proba_one(row)
        return float(proba.get(True, 1.0 - proba[False] if False in proba else 0.5))

    def _check_parameters(self) -> None:
        for method in ("learn_one", "predict_proba_one"):
            if self.model is not None and not hasattr(self.model, method):
                raise TypeError(f"model must be a classifier of river with {method}, got {self.model!r}")

    def _start(self, n_features: int) -> None:
        self.threshold_ = 0.5
        self.model_ = _default_model() if self.model is None else copy.deepcopy(self.model)

    def _step(self, X: Samples, y: FloatArray) -> FloatArray:
        proba = np.empty(y.size)
        for i, (row, positive) in enumerate(zip(_dicts(X), (y > 0.0).tolist())):
            proba[i] = self._posterior(row)
            self.model_.learn_one(row, positive)
        return proba

    def _predict_then_learn(self, X: Samples, y: FloatArray) -> FloatArray:
        """Predict the probability of the positive class in each checked row, then learn it."""
        return np.concatenate(self._learn(X, y))


def _dicts(X: Samples) -> Iterator[dict[int, float]]:
    """Yield rows as dicts, one after the other."""
    if not issparse(X):
        for row in X:
            yield dict(enumerate(row.tolist()))
        return
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        yield dict(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist()))


def _default_model() -> Estimator:
    try:
        from river.linear_model import LogisticRegression
    except ImportError as error:
        raise ImportError("RiverClassifier without a model needs river: pip install 'csf-search[river]'") from error
    return LogisticRegression()
