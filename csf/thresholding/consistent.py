"""Thresholds on probabilities by the methods of the papers: bisection and Frank-Wolfe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from csf._common.messages import warn
from csf._common.typing import Array
from csf._common.validation import check_count, check_number
from csf.metrics import LinearFractional, get_metric
from csf.metrics.base import require_levels
from csf.metrics.concave import Concave, concave_of
from csf.metrics.profile import ErrorProfile
from csf.thresholding.curve import Cut, cost_threshold

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.thresholding.curve import Cut, ThresholdCurve

# ---------------------------------------------------------------- bisection


@dataclass(frozen=True)
class BisectionResult:
    """Result of `bisection`.

    Parameters
    ----------
    cut : Cut
        The best threshold met, with its value and error profile.
    upper : float
        Level that no threshold exceeds by the oracle: with expected counts no threshold has a larger value.
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


def bisection(curve: ThresholdCurve, metric: str | LinearFractional, *, tol: float = 1e-09) -> BisectionResult:
    r"""Find the threshold on probabilities for a linear-fractional metric by bisection on its level.

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
    BisectionResult
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
    ratio = check_linear_fractional(metric)
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
    return BisectionResult(best, max(upper, best.value), levels, thresholds, values)


def check_linear_fractional(metric: str | Metric) -> LinearFractional:
    way = "Use PlugInClassifier, which takes any metric, or FrankWolfePlugIn for one that is concave in the rates"
    return require_levels(get_metric(metric), "bisection", way)


# ---------------------------------------------------------------- Frank-Wolfe


# Rates at which gradients are taken: at a rate of 0 some have none.
_SMALLEST_RATE = 1e-6


@dataclass(frozen=True)
class Mixture:
    """Classifier that draws its threshold at random; result of `frank_wolfe`.

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
        """Compute the probability that a score is predicted positive.

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
    r"""Find a mixture of thresholds on probabilities for a metric that is concave in the two rates.

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
        mixtures = [_towards(concave, weights, rates, threshold, target)]
        if len(sides) == 2:
            first, second = sides.values()
            mixtures.append(_towards(concave, {first: 1.0}, _rates(rules[first]), second, _rates(rules[second])))
        mixed = max(mixtures, key=lambda mixture: concave.link(*mixture[1]))
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
    """Find the best mixture of a mixture and a rule. Return the weights of its thresholds, and its rates."""
    step = _line_search(metric, rates, target - rates)
    mixed = {kept: (1.0 - step) * weight for kept, weight in weights.items() if step < 1.0}
    if step > 0.0:
        mixed[threshold] = mixed.get(threshold, 0.0) + step
    return mixed, rates + step * (target - rates)


def check_tangents(metric: str | Metric) -> Concave:
    """Return the metric; raise a TypeError that names an alternative where Frank-Wolfe does not support it."""
    known = get_metric(metric)
    concave = concave_of(known)
    if concave is None or not concave.differentiable:
        kind = "it is not concave in them" if concave is None else "it has no tangent where it is largest"
        raise TypeError(
            "Frank-Wolfe needs a metric that is concave and differentiable in the two rates, such as 'gmean', 'hmean' "
            f"or 'qmean'; {known.name!r} will not do: {kind}. Use PlugInClassifier, which takes any metric"
        )
    return concave


def _rates(profile: ErrorProfile) -> Array:
    return np.array([profile.tpr, profile.tnr])


def _line_search(metric: Concave, rates: Array, direction: Array) -> float:
    """Find the share of the way in [0, 1] at which the metric, concave along it, is largest."""

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
    """Build the result from all rules met and the weights of those in the mixture."""
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
