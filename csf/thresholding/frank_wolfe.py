"""Classifiers with the thresholds that Frank-Wolfe finds for metrics that are concave in the two rates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils import check_random_state

from csf._common.typing import Array, Estimator, Label, RandomState_, Samples
from csf.metrics.concave import Concave
from csf.thresholding._pooled import ProbabilityThresholdClassifier
from csf.thresholding.mixture import Mixture, check_tangents, frank_wolfe

if TYPE_CHECKING:
    from csf.thresholding.curve import Cut, ThresholdCurve


__all__ = ["FrankWolfePlugIn", "Mixture", "RandomizedFrankWolfePlugIn", "frank_wolfe"]


class FrankWolfePlugIn(ProbabilityThresholdClassifier):
    """Classifier with the best single threshold that Frank-Wolfe meets for a metric concave in the two rates.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or Concave, default="gmean"
        What to maximise: concave in the two rates and differentiable.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Gap at which to stop, in units of the metric.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        As for `PlugInClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled out-of-fold scores.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float.

    Attributes
    ----------
    mixture_ : Mixture
        The mixture found on the pooled out-of-fold probabilities; its ``best_single`` is the rule used here.
    n_iter_ : int
        Number of thresholds that were computed for it.
    threshold_, threshold_std_, best_score_ : float
        As for `PlugInClassifier`.
    curve_, fold_curves_, fold_thresholds_, profile_, estimator_, calibrator_, classes_, pos_label_
        As for `PlugInClassifier`.

    See Also
    --------
    RandomizedFrankWolfePlugIn : The same search, predicting with the mixture.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = FrankWolfePlugIn(LogisticRegression(), metric="gmean").fit(X, y)
    >>> plugin.threshold_, plugin.best_score_
    (0.102, 0.866)
    """

    metric: str | Concave
    mixture_: Mixture
    n_iter_: int

    def __init__(
        self,
        base: Estimator,
        metric: str | Concave = "gmean",
        *,
        max_iter: int = 100,
        tol: float = 1e-06,
        cv: Any = 5,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
        pos_label: Label = None,
        n_jobs: int | None = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.base = base
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.calibration = calibration
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_tangents(self.metric)

    def _choose(self, curve: ThresholdCurve) -> Cut:
        self.mixture_ = frank_wolfe(curve, self.metric, max_iter=self.max_iter, tol=self.tol)
        self.n_iter_ = self.mixture_.n_iter
        return self.mixture_.best_single

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return frank_wolfe(curve, self.metric, max_iter=self.max_iter, tol=self.tol).best_single


class RandomizedFrankWolfePlugIn(FrankWolfePlugIn):
    """Classifier that draws one of the thresholds of a Frank-Wolfe mixture for every sample it predicts.

    Same parameters and attributes as `FrankWolfePlugIn`, except as said below. It has no ``decision_function``: no
    number decides the prediction.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or Concave, default="gmean"
        What to maximise: concave in the two rates and differentiable.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Gap at which to stop, in units of the metric.
    cv : int, float, splitter, iterable of splits, "prefit" or None, default=5
        As for `PlugInClassifier`.
    calibration : {None, "sigmoid", "isotonic"}, default=None
        Map from scores to probabilities, fitted on the pooled out-of-fold scores.
    pos_label : label, default=None
        Positive class; ``None`` means 1 for labels {0, 1} or {-1, 1}.
    n_jobs : int, default=None
        Number of folds fitted at the same time; ``None`` means 1, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of the hold-out when ``cv`` is a float, and of the draws: with an int every call of ``predict`` draws
        the same thresholds, in the order of the samples.

    Attributes
    ----------
    mixture_ : Mixture
        Thresholds and their probabilities.
    best_score_ : float
        Metric of the expected error profile of the mixture on the pooled out-of-fold probabilities.
    profile_ : ErrorProfile
        That expected error profile.
    threshold_ : float
        Best single threshold; not the rule of this class.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = RandomizedFrankWolfePlugIn(LogisticRegression(), metric="gmean", random_state=0).fit(X, y)
    >>> plugin.positive_probability(X[:4]), plugin.best_score_
    (array([0., 1., 1., 0.]), 0.866)
    """

    def _choose(self, curve: ThresholdCurve) -> Cut:
        cut = super()._choose(curve)
        return replace(cut, value=self.mixture_.value, profile=self.mixture_.profile)

    @property
    def decision_function(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - hides the inherited one
        """Not available: predictions are drawn."""
        raise AttributeError(
            f"{type(self).__name__} has no decision_function: its predictions are drawn; see positive_probability"
        )

    def positive_probability(self, X: Samples) -> Array:
        """Probability with which each sample is predicted positive.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Total weight of the thresholds that the sample's score reaches; not a probability of its class.
        """
        score = self.positive_score(X)
        return self.mixture_.positive_probability(score)

    def predict(self, X: Samples) -> Array:
        """Predict with a threshold drawn for each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        probability = self.positive_probability(X)
        draws = check_random_state(self.random_state).uniform(size=probability.shape[0])
        return self._labels(draws < probability)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
