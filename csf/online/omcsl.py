"""OMCSL: several online learners with different class costs, and a choice among them that follows their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from csf._common.typing import Array, FloatArray, Label, RandomState_, Samples
from csf._common.validation import check_bool, check_choice, check_count, check_positive
from csf.metrics import FBeta, Jaccard, get_metric
from csf.online._experts import (
    AREA_PR,
    AREA_ROC,
    F_BETA,
    FP,
    FP_OLD,
    JACCARD,
    POS,
    POS_OLD,
    TP,
    TP_OLD,
    VALUE,
    A,
    P,
    Q,
    areas,
    omcsl,
)
from csf.online.base import LinearOnlineClassifier
from csf.online.emitted import EmittedPredictions, value_of_counts
from csf.online.rows import parts

if TYPE_CHECKING:
    from csf.metrics.base import Metric


__all__ = ["OMCSL"]

LOSSES = ("logistic", "hinge")
# Measures of rankings, by name.
RANKINGS = {"auroc": AREA_ROC, "auprc": AREA_PR}


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

    threshold_: float
    levels_: Array

    def __init__(
        self,
        metric: str | Metric = "f1",
        *,
        n_experts: int = 10,
        eta0: float = 16.0,
        gamma: float | str = 20.0,
        n_bins: int = 100,
        loss: Literal["logistic", "hinge"] = "logistic",
        radius: float = 100.0,
        average: bool = False,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        passes: int = 1,
        shuffle: bool = True,
        pos_label: Label = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.metric = metric
        self.n_experts = n_experts
        self.eta0 = eta0
        self.gamma = gamma
        self.n_bins = n_bins
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
        check_count(self.n_experts, "n_experts")
        check_count(self.n_bins, "n_bins", minimum=2)
        check_positive(self.eta0, "eta0")
        check_positive(self.radius, "radius")
        if self.gamma != "sqrt":
            check_positive(self.gamma, "gamma")
        check_choice(self.loss, "loss", LOSSES)
        check_bool(self.average, "average")

    def _ranks(self) -> bool:
        return isinstance(self.metric, str) and self.metric in RANKINGS

    def _aim(self) -> Metric:
        """Metric whose levels the experts aim at."""
        return FBeta() if self._ranks() else get_metric(self.metric)

    def _squared_beta(self) -> float:
        return float(getattr(self._aim(), "beta", 1.0)) ** 2

    def _areas(self, hist: FloatArray) -> FloatArray:
        """Value of each column of histograms of two classes."""
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
        """Costs of a negative (first row) and a positive (second row) for each expert; they sum to 1."""
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

    def _numbers(self) -> dict[str, Any]:
        return {"best_expert": self.best_expert_, **super()._numbers()}
