"""Bisection on the level of a linear-fractional metric, with thresholds on probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from csf._common.typing import Array, Estimator, Label, RandomState_
from csf._common.validation import check_number
from csf.metrics import LinearFractional, get_metric
from csf.thresholding._pooled import ProbabilityThresholdClassifier
from csf.thresholding.curve import Cut
from csf.thresholding.oracle import cost_threshold

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import ThresholdCurve


__all__ = ["Bisection", "BisectionPlugIn", "bisection"]


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
