"""Plug-in classifiers of the papers: bisection and Frank-Wolfe on probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from csf._common.messages import warn
from csf._common.typing import Array, Estimator, Label, RandomState_, Samples
from csf._common.validation import check_count, check_number
from csf.metrics import LinearFractional, get_metric
from csf.metrics.concave import Concave
from csf.metrics.profile import ErrorProfile
from csf.thresholding.curve import Cut, cost_threshold
from csf.thresholding.plugin import ProbabilityThresholdClassifier

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import Cut, ThresholdCurve

__all__ = [
    "Bisection",
    "BisectionPlugIn",
    "FrankWolfePlugIn",
    "Mixture",
    "RandomizedFrankWolfePlugIn",
    "bisection",
    "check_tangents",
    "frank_wolfe",
]

# ---------------------------------------------------------------- bisection


@dataclass(frozen=True)
class Bisection:
    """Result of `bisection`.

    Parameters
    ----------
    cut : Cut
        The best threshold met, with its value and error profile.
    upper : float
        Level above which the oracle found nothing: with expected counts no threshold has a larger value.
    levels, thresholds, values : ndarray of shape (n_steps,)
        Level tried in each step, its threshold, and the value reached.

    Examples
    --------
    >>> from csf.thresholding import probability_curve
    >>> result = bisection(probability_curve([0.9, 0.6, 0.3, 0.2]), "f1", tol=0.1)
    >>> result.levels, result.values
    (array([0.  , 0.833]), array([0.667, 0.75 ]))
    """

    cut: Cut
    upper: float
    levels: Array
    thresholds: Array
    values: Array


def bisection(curve: ThresholdCurve, metric: str | LinearFractional, *, tol: float = 1e-09) -> Bisection:
    r"""Threshold on probabilities for a linear-fractional metric, by bisection on its level.

    A level v is reachable exactly when the rule that is cheapest for the class costs a(v) reaches it; that rule is
    a threshold on the probability.

    Parameters
    ----------
    curve : ThresholdCurve
        Thresholds on *probabilities*, see `probability_curve` and `threshold_curve`.
    metric : str or LinearFractional
        Such as ``"f1"`` or ``"jaccard"``.
    tol : float, default=1e-9
        Width of the final bracket, in units of the metric; positive.

    Returns
    -------
    Bisection
        The best threshold met and the steps.

    Raises
    ------
    TypeError
        If the metric is not linear-fractional.
    ValueError
        If ``tol`` is not positive.

    Notes
    -----
    With counts expected under the probabilities the result is within ``tol`` of the best of all thresholds. With
    counted labels the threshold of a level is only approximately the best one: the result may be below
    `ThresholdCurve.best` and ``upper`` below the best value.

    Each step takes the time of one binary search in the sorted scores.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from csf.thresholding import probability_curve
    >>> result = bisection(probability_curve([0.9, 0.6, 0.3, 0.2]), "f1")
    >>> result.cut.value, result.cut.threshold
    (0.75, 0.417)
    """
    ratio = _check_metric(metric)
    check_number(tol, "tol", positive=True)
    lower, upper = ratio.range(curve.pos)
    level, best, steps = lower, None, []
    while True:
        threshold = cost_threshold(*ratio.cost_weights(level, pos=curve.pos))
        profile = curve.at(threshold)
        value = ratio.of(profile)
        steps.append((level, threshold, value))
        if best is None or value > best.value:
            best = Cut(threshold, value, profile)
        if value < level:
            upper = level
        # A value that was reached is reachable, whether it passes the level or not.
        lower = max(lower, value)
        level = 0.5 * (lower + upper)
        if upper - lower <= tol or not lower < level < upper:
            break
    levels, thresholds, values = np.array(steps).T
    return Bisection(best, max(upper, best.value), levels, thresholds, values)


def _check_metric(metric: str | Metric) -> LinearFractional:
    found = get_metric(metric)
    if not isinstance(found, LinearFractional):
        raise TypeError(
            f"bisection needs a linear-fractional metric such as 'f1' or 'jaccard'; {found.name!r} is none. Use "
            "PlugInClassifier, which takes any metric, or FrankWolfePlugIn for one that is concave in the rates"
        )
    return found


class BisectionPlugIn(ProbabilityThresholdClassifier):
    """Classifier with the threshold that bisection finds for a linear-fractional metric.

    The threshold follows from probabilities and the metric's costs; labels are only counted. With good
    probabilities this is less noisy than the best threshold of `PlugInClassifier`, with bad ones it is worse.

    Parameters
    ----------
    base : estimator
        Classifier with ``predict_proba``; any score will do with ``calibration``.
    metric : str or LinearFractional, default="f1"
        What to maximise.
    tol : float, default=1e-9
        Width of the final bracket of levels, in units of the metric.
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
    bisection_ : Bisection
        The steps on the pooled out-of-fold probabilities.
    threshold_, threshold_std_, best_score_ : float
        As for `PlugInClassifier`.
    curve_, fold_curves_, fold_thresholds_, profile_, estimator_, calibrator_, classes_, pos_label_
        As for `PlugInClassifier`.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(1000, weights=[0.9], class_sep=0.7, random_state=0)
    >>> plugin = BisectionPlugIn(LogisticRegression(), metric="f1").fit(X, y)
    >>> plugin.threshold_, plugin.best_score_
    (0.372, 0.742)
    """

    metric: str | LinearFractional
    bisection_: Bisection

    def __init__(
        self,
        base: Estimator,
        metric: str | LinearFractional = "f1",
        *,
        tol: float = 1e-09,
        cv: Any = 5,
        calibration: Literal["sigmoid", "isotonic"] | None = None,
        pos_label: Label = None,
        n_jobs: int | None = None,
        random_state: RandomState_ = None,
    ) -> None:
        self.base = base
        self.metric = metric
        self.tol = tol
        self.cv = cv
        self.calibration = calibration
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        _check_metric(self.metric)

    def _choose(self, curve: ThresholdCurve) -> Cut:
        self.bisection_ = bisection(curve, self.metric, tol=self.tol)
        return self.bisection_.cut

    def _best_cut(self, curve: ThresholdCurve) -> Cut:
        return bisection(curve, self.metric, tol=self.tol).cut


# ---------------------------------------------------------------- Frank-Wolfe


# Rates at which gradients are taken: at a rate of 0 some have none.
_SMALLEST_RATE = 1e-6


@dataclass(frozen=True)
class Mixture:
    """A classifier that draws its threshold at random, and how it was found.

    Parameters
    ----------
    thresholds, weights : ndarray of shape (n_thresholds,)
        Thresholds, decreasing, and their probabilities, which sum to 1.
    value : float
        Metric of the expected error profile.
    profile : ErrorProfile
        Expected error profile.
    gap : float
        With expected counts, no mixture of thresholds is better by more than this. With counted labels it is no
        bound and may be slightly negative.
    best_single : Cut
        The best single threshold met.
    n_iter : int
        Number of thresholds computed after the first.

    Examples
    --------
    >>> mixture = Mixture(np.array([0.6, 0.2]), np.array([0.25, 0.75]), 0.0, None, 0.0, None, 1)
    >>> mixture.positive_probability(np.array([0.1, 0.3, 0.7]))
    array([0.  , 0.75, 1.  ])
    """

    thresholds: Array
    weights: Array
    value: float
    profile: ErrorProfile
    gap: float
    best_single: Cut
    n_iter: int

    def positive_probability(self, score: Array) -> Array:
        """Probability that a score is predicted positive.

        Parameters
        ----------
        score : ndarray of shape (n_samples,)
            Probabilities of the positive class.

        Returns
        -------
        ndarray of shape (n_samples,)
            Total weight of the thresholds that each score reaches.
        """
        reached = np.append(0.0, np.cumsum(self.weights[::-1]) / self.weights.sum())
        return reached[np.searchsorted(self.thresholds[::-1], score, side="right")]


def frank_wolfe(curve: ThresholdCurve, metric: str | Concave, *, max_iter: int = 100, tol: float = 1e-06) -> Mixture:
    r"""Mixture of thresholds on probabilities for a metric that is concave in the two rates.

    Each step replaces the metric by its tangent at the current rates, whose best rule is a threshold, and moves the
    mixture towards that rule, or to the best mixture of the latest rules on both sides where that is better.

    Parameters
    ----------
    curve : ThresholdCurve
        Thresholds on *probabilities*, see `probability_curve` and `threshold_curve`.
    metric : str or Concave
        Differentiable, such as ``"gmean"``, ``"hmean"`` or ``"qmean"``.
    max_iter : int, default=100
        Largest number of steps.
    tol : float, default=1e-6
        Gap at which to stop, in units of the metric; >= 0.

    Returns
    -------
    Mixture
        The mixture, its gap, and the best single threshold met.

    Raises
    ------
    TypeError
        If the metric is not concave in the rates, or has no tangent where it is largest.
    ValueError
        If ``max_iter`` or ``tol`` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the gap is above ``tol`` after ``max_iter`` steps.

    Notes
    -----
    The best mixture has two thresholds at most; the step along the edge between them is exact. The gap
    :math:`\Psi(x) + \nabla\Psi(x) \cdot (s - x) - \Psi(\text{mixture})`, with s the rates of the new rule and x those
    of the mixture moved off zero, bounds what is missing to the best mixture when counts are expected under the
    probabilities: the threshold is then exactly the best rule for the tangent.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, A. Saha, S. Agarwal, "Consistent multiclass algorithms for complex
       performance measures", ICML 2015.

    Examples
    --------
    >>> from csf.thresholding import probability_curve
    >>> mixture = frank_wolfe(probability_curve([0.9, 0.6, 0.3, 0.2]), "gmean")
    >>> mixture.value, mixture.gap, mixture.best_single.value
    (0.75, 0.0, 0.75)
    """
    concave = check_tangents(metric)
    check_count(max_iter, "max_iter")
    check_number(tol, "tol")
    threshold, upper, n_iter = curve.pos, np.inf, 0
    sides: dict[bool, float] = {}
    rules, weights = {threshold: curve.at(threshold)}, {threshold: 1.0}
    rates = _rates(rules[threshold])
    for n_iter in range(1, max_iter + 1):  # noqa: B007 - it is part of the result
        anchor = np.clip(rates, _SMALLEST_RATE, 1.0)
        tangent = np.array(concave.gradient(*anchor))
        threshold = cost_threshold(tangent[0] / curve.pos, tangent[1] / (1.0 - curve.pos))
        rules[threshold] = curve.at(threshold)
        target = _rates(rules[threshold])
        upper = min(upper, concave.link(*anchor) + tangent @ (target - anchor))
        if upper - concave.link(*rates) <= tol:
            break
        # the first rule stands for the side that it is left from
        sides.setdefault(bool(target[0] <= rates[0]), next(iter(weights)))
        sides[bool(target[0] > rates[0])] = threshold
        found = [_towards(concave, weights, rates, threshold, target)]
        if len(sides) == 2:
            first, second = sides.values()
            found.append(_towards(concave, {first: 1.0}, _rates(rules[first]), second, _rates(rules[second])))
        mixed = max(found, key=lambda mixture: concave.link(*mixture[1]))
        if not concave.link(*mixed[1]) > concave.link(*rates):
            break
        weights, rates = mixed
    else:
        warn(
            f"stopped after {max_iter} steps, gap {upper - concave.link(*rates):.2g} > tol={tol:g}; raise max_iter",
            ConvergenceWarning,
        )
    return _mixture(curve.pos, concave, rules, weights, upper, n_iter)


def _towards(
    metric: Concave, weights: dict[float, float], rates: Array, threshold: float, target: Array
) -> tuple[dict[float, float], Array]:
    """Best mixture of a mixture and a rule: weights of thresholds, and rates."""
    step = _line_search(metric, rates, target - rates)
    mixed = {kept: (1.0 - step) * weight for kept, weight in weights.items() if step < 1.0}
    if step > 0.0:
        mixed[threshold] = mixed.get(threshold, 0.0) + step
    return mixed, rates + step * (target - rates)


def check_tangents(metric: str | Metric) -> Concave:
    """The metric; a TypeError that says what to use instead where Frank-Wolfe cannot serve it."""
    found = get_metric(metric)
    if not (isinstance(found, Concave) and found.differentiable):
        kind = "it has no tangent where it is largest" if isinstance(found, Concave) else "it is not concave in them"
        raise TypeError(
            "Frank-Wolfe needs a metric that is concave and differentiable in the two rates, such as 'gmean', 'hmean' "
            f"or 'qmean'; {found.name!r} will not do: {kind}. Use PlugInClassifier, which takes any metric"
        )
    return found


def _rates(profile: ErrorProfile) -> Array:
    return np.array([profile.tpr, profile.tnr])


def _line_search(metric: Concave, rates: Array, direction: Array) -> float:
    """Share of the way in [0, 1] at which the metric, concave along it, is largest."""

    def slope(step: float) -> float:
        return float(np.dot(metric.gradient(*np.clip(rates + step * direction, _SMALLEST_RATE, 1.0)), direction))

    if slope(0.0) <= 0.0:
        return 0.0
    if slope(1.0) >= 0.0:
        return 1.0
    root: Any = brentq(slope, 0.0, 1.0)
    return root


def _mixture(
    pos: float,
    metric: Concave,
    rules: dict[float, ErrorProfile],
    weights: dict[float, float],
    upper: float,
    n_iter: int,
) -> Mixture:
    """Result from all rules met and the weights of those in the mixture."""
    total = sum(weights.values())
    thresholds = sorted(weights, reverse=True)
    shares = np.array([weights[threshold] / total for threshold in thresholds])
    fn, fp = (float(shares @ [getattr(rules[t], name) for t in thresholds]) for name in ("fn", "fp"))
    profile = ErrorProfile(fn=fn, fp=fp, pos=pos)
    value = metric.of(profile)
    values = {threshold: metric.of(rule) for threshold, rule in rules.items()}
    single = max(values, key=values.__getitem__)
    best_single = Cut(single, values[single], rules[single])
    return Mixture(np.array(thresholds), shares, value, profile, float(upper - value), best_single, n_iter)


# ---------------------------------------------------------------- plug-in classifiers of Frank-Wolfe


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
