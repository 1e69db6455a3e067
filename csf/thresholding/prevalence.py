"""Another share of positives: the value of thresholds there, and estimates of the share where labels are missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2, norm
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from csf._common.messages import warn
from csf._common.sklearn import clone, num_samples, safe_indexing, trained
from csf._common.typing import Array, BoolArray, Estimator, RandomState_, Samples
from csf._common.validation import check_class_totals, check_count, check_fraction, check_number, check_weights, floats
from csf.data.responses import class_scores
from csf.evaluate.draws import Units
from csf.evaluate.entry_means import class_shares, mean_of_entries, select, weights_of_units
from csf.thresholding.curve import ThresholdCurve, check_probabilities
from csf.thresholding.linear_rule import Sigmoid

if TYPE_CHECKING:
    from csf.evaluate.stores import HeldOutEntries

# Closest distance of an estimate to 0 and 1.
_EDGE = 1e-12
# Smallest share of a class to which probabilities are moved, in parts of the learnt one.
_LEAST_SHARE = 0.01
# Steps towards the likeliest shares of classes, the change that ends them, and the condition of means of classes beyond
# which these are not told apart.
_MOST_STEPS, _STEP, _INSEPARABLE = 10_000, 1e-8, 1e4
# Probabilities that calibrated ones would be this rarely are not calibrated.
_ODD = 0.01


@dataclass(frozen=True, eq=False)
class KnownSamples:
    """Samples with labels, which entries of them go together, and their scores or probabilities.

    Samples without weight are left out.
    """

    entries: Units
    scores: Array

    @classmethod
    def of(cls, entries: HeldOutEntries | Units, scores: Array) -> Self:
        """Collect the entries that have weight, with their scores."""
        counted = entries.weights_in(entries.copies) > 0.0
        return cls(select(entries, counted), scores[counted])

    @property
    def weight(self) -> Array:
        """Weight of each entry, in units."""
        return weights_of_units(self.entries)

    def shares(self, n_classes: int) -> Array:
        """Compute the share of each class, by weight."""
        return class_shares(self.entries, self.entries.truth, n_classes)

    def scored_by(self, scores: Array) -> KnownSamples:
        """Return the samples with other scores."""
        return replace(self, scores=scores)

    def sigmoid(self) -> Sigmoid:
        """Fit the map from scores to probabilities of the positive class."""
        return Sigmoid().fit(self.scores, self.entries.is_pos, self.weight)

    def of_class(self, code: int) -> KnownSamples:
        """Select the samples of a class."""
        rows = self.entries.truth == code
        return KnownSamples(select(self.entries, rows), self.scores[rows])

    def mean(self) -> tuple[Array, Array]:
        """Compute the mean of the scores, and the covariance of its error."""
        return mean_of_entries(self.entries, self.scores.reshape(len(self.scores), -1))

    def mean_product(self) -> Array:
        """Compute the mean products of scores."""
        scores = self.scores.reshape(len(self.scores), -1)
        return scores.T @ (self.weight[:, None] * scores) / self.weight.sum()


class Prevalence(float):
    """Share of positives with a confidence interval.

    Attributes
    ----------
    interval : tuple of float
        Where the true share lies with the probability ``confidence``.
    confidence : float
        That probability.

    Examples
    --------
    >>> share = Prevalence(0.2, (0.15, 0.26), 0.9)
    >>> share.interval, 1 - share
    ((0.15, 0.26), 0.8)
    """

    interval: tuple[float, float]
    confidence: float

    def __new__(cls, value: float, interval: tuple[float, float], confidence: float) -> Prevalence:
        """Create the share with its interval."""
        self = super().__new__(cls, value)
        self.interval, self.confidence = interval, confidence
        return self

    def __getnewargs__(self) -> tuple[object, ...]:
        return float(self), self.interval, self.confidence


def curve_at_prevalence(curve: ThresholdCurve, pos: float) -> ThresholdCurve:
    """Move a curve to another share of positives; the rates within the classes do not change.

    Parameters
    ----------
    curve : ThresholdCurve
        Thresholds and their errors.
    pos : float
        Share of positives, in (0, 1).

    Returns
    -------
    ThresholdCurve
        Curve that a sweep of the same scores with the classes weighted accordingly would give.

    Examples
    --------
    >>> from csf.thresholding import threshold_curve
    >>> curve = threshold_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.best("f1").threshold, curve_at_prevalence(curve, 0.1).best("f1").threshold
    (0.225, 0.6)
    """
    pos = check_fraction(pos, "pos")
    fn, fp = curve.fn * (pos / curve.pos), curve.fp * ((1.0 - pos) / (1.0 - curve.pos))
    return ThresholdCurve(curve.lowest_score, np.minimum(fn, pos), np.minimum(fp, 1.0 - pos), pos)


def estimate_prevalence(
    y_score: ArrayLike,
    pos: float,
    *,
    known: tuple[ArrayLike, ArrayLike] | KnownSamples | None = None,
    confidence: float = 0.9,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> Prevalence:
    r"""Estimate the share of positives in samples without labels by expectation maximisation, with an interval.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Probabilities of the positive class for the new samples, by a classifier that is calibrated where the share of
        positives is ``pos``. Scores that are no probabilities, or were trained with costs and not corrected for it
        (``CostSearch.predict_proba`` is), give a wrong answer without ``known``.
    pos : float
        Share of positives in the data that the classifier was trained on, in (0, 1).
    known : tuple of array-like, default=None
        Labels (0 and 1) and out-of-fold probabilities of samples that have labels, such as
        ``(y == 1, cross_val_predict(model, X, y, method="predict_proba")[:, 1])``. What the classifier says of either
        class is then read off these samples, right or not, and counted as the estimate that it is. ``None`` takes the
        probabilities as true. With many features a model of all samples is surer than those of the folds, and the
        estimate too high: there `fold_probabilities` gives both, ``known`` and ``y_score``.
    confidence : float, default=0.9
        How often the interval shall hold the share.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights >= 0 of the new samples.
    tol : float, default=1e-8
        The estimate has converged when a step changes it by less than this.
    max_iter : int, default=10000
        Largest number of steps.

    Returns
    -------
    Prevalence
        The share, a float in [0, 1], with the attribute ``interval``. Without ``known`` it is that of the largest
        likelihood, and the interval shows how far off so few new samples may be, not how far off the classifier is.

    Raises
    ------
    ValueError
        If the scores are no probabilities, or there is none, or ``known`` has one class only.

    Warns
    -----
    UserWarning
        If the probabilities of the known samples are not calibrated.

    Notes
    -----
    Only the share of the classes may differ from the training data, not what samples of one class look like. Then the
    likelihood of a share q is :math:`\prod_i (q\,p_i/P + (1-q)(1-p_i)/(1-P))` and concave in q; each step replaces q
    by the mean of the probabilities that Bayes' rule gives with q [1]_.

    With ``known`` the mean of these probabilities over the new samples is a mixture of the means over the known
    positives and over the known negatives, whether they are calibrated or not: the share is where it lies between the
    two. The interval holds all shares at which the difference is no larger than its standard error allows, that of all
    three means. In eight settings of 400 draws each, 90 % intervals held the share in 84 to 94 % of the cases
    (``python -m tests.benchmarks prevalence``).

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori
       probabilities: a simple procedure", Neural Computation 14, 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=5000) + 2.0 * (rng.random(5000) < 0.4)  # 40 % positives
    >>> proba = 1 / (1 + np.exp(2.0 - 2.0 * x) * 9)  # right where there are 10 %
    >>> share = estimate_prevalence(proba, 0.1)
    >>> share, share.interval
    (0.398, (0.383, 0.414))
    """
    pos = check_fraction(pos, "pos")
    check_class_totals(pos, 1.0 - pos, "pos")
    check_number(tol, "tol", positive=True)
    check_count(max_iter, "max_iter")
    z = float(norm.ppf(0.5 + 0.5 * check_fraction(confidence, "confidence")))
    proba = check_probabilities(y_score, "y_score")
    weight = check_weights(sample_weight, proba.size, y_score=y_score)
    share = _likeliest(proba, pos, weight, tol, max_iter)
    weight = np.full(proba.size, 1.0 / proba.size) if weight is None else weight / weight.sum()
    if known is None:
        return Prevalence(share, _interval_of_new(proba, pos, share, weight, z), confidence)
    samples = known if isinstance(known, KnownSamples) else _known(known)
    new, old = (_posterior(values, pos, share) for values in (proba, samples.scores))
    moved = samples.scored_by(old)
    value, interval = _between(new, moved.of_class(1), moved.of_class(0), weight, z)
    return Prevalence(value, interval, confidence)


def estimate_class_shares(y_proba: Array, known: KnownSamples, confidence: float = 0.9) -> list[Prevalence]:
    """Estimate the shares of several classes in samples without labels, with an interval for each.

    Parameters
    ----------
    y_proba : ndarray of shape (n_samples, n_classes)
        Probabilities of the new samples.
    known : KnownSamples
        Samples with codes of classes and out-of-fold probabilities, (n_entries, n_classes); their shares of the
        classes are those that the probabilities are for.
    confidence : float, default=0.9
        How often each interval shall hold its share.

    Returns
    -------
    list of Prevalence
        The shares, which sum to 1, in the order of the classes.

    Notes
    -----
    As `estimate_prevalence` with ``known``: probabilities are moved to the likeliest shares, and their mean over the
    new samples is a mixture of their means over the known samples of each class, with the shares as weights. Intervals
    follow from the errors of all these means (delta method).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, shares):
    ...     codes = rng.choice(3, n, p=shares)
    ...     odds = np.exp(2.0 * rng.normal(size=(n, 3)) + 4.0 * np.eye(3)[codes]) * [0.6, 0.3, 0.1]
    ...     return codes, odds / odds.sum(axis=1, keepdims=True)
    >>> (codes, proba), (_, new) = draw(3000, [0.6, 0.3, 0.1]), draw(3000, [0.3, 0.3, 0.4])
    >>> known = KnownSamples(Units(codes, None, np.arange(3000), np.ones(3000, dtype=int)), proba)
    >>> estimate_class_shares(new, known)[2].interval
    (0.396, 0.441)
    """
    z = float(norm.ppf(0.5 + 0.5 * check_fraction(confidence, "confidence")))
    n_classes = y_proba.shape[1]
    shares = known.shares(n_classes)
    likely = shares.copy()
    for _ in range(_MOST_STEPS):
        # Whatever they are moved to, means of the known samples say how much; nothing is told of a class without any.
        last, likely = likely, np.maximum(_at_shares(y_proba, likely / shares).mean(axis=0), _LEAST_SHARE * shares)
        if np.abs(likely - last).max() < _STEP:
            break
    moved = known.scored_by(_at_shares(known.scores, likely / shares))
    by_class = [moved.of_class(code) for code in range(n_classes)]
    known_means, errors = zip(*(of_class.mean() for of_class in by_class))
    means = np.stack(known_means, axis=1)
    new = _at_shares(y_proba, likely / shares).mean(axis=0)
    if np.linalg.cond(means) > _INSEPARABLE:  # the classifier does not tell the classes apart for sure
        return [Prevalence(float(share), (0.0, 1.0), confidence) for share in likely]
    value = np.linalg.solve(means, new)
    weights = np.clip(value, 0.0, 1.0)
    # The variance of new samples is that of the mixture of the known ones.
    squares = sum(weight * of_class.mean_product() for weight, of_class in zip(weights, by_class))
    spread = (squares - np.outer(new, new)) / len(y_proba)
    spread += sum(weight**2 * of_mean for weight, of_mean in zip(weights, errors))
    inverse = np.linalg.inv(means)
    error = z * np.sqrt(np.maximum(np.diagonal(inverse @ spread @ inverse.T), 0.0))
    ends = np.clip(np.stack([value - error, value + error], axis=1), 0.0, 1.0)
    weights /= weights.sum()
    return [Prevalence(float(share), (low, high), confidence) for share, (low, high) in zip(weights, ends.tolist())]


def _at_shares(proba: Array, factors: Array) -> Array:
    """Multiply the odds of classes and scale the probabilities to sum 1."""
    weighted = proba * factors
    return weighted / np.maximum(weighted.sum(axis=1, keepdims=True), _EDGE)


def fold_probabilities(
    estimator: Estimator, X: Samples, y: ArrayLike, X_new: Samples, *, cv: Any = 5, random_state: RandomState_ = None
) -> tuple[tuple[BoolArray, Array], Array]:
    """Predict the probabilities of known and new samples by the same fold models, for `estimate_prevalence`.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        What is trained on each fold.
    X : array-like of shape (n_samples, n_features)
        Samples with labels.
    y : array-like of shape (n_samples,)
        Their labels, 0 and 1.
    X_new : array-like of shape (n_new, n_features)
        Samples without labels.
    cv : int or splitter, default=5
        Folds.
    random_state : int, RandomState or None, default=None
        Decides which fold's model scores which new sample.

    Returns
    -------
    known : tuple of ndarray
        Which of the known samples are positive, and their out-of-fold probabilities.
    y_score : ndarray of shape (n_new,)
        Probabilities of the new samples, each by the model of one fold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y, y_new = rng.random(800) < 0.1, rng.random(2000) < 0.3
    >>> X, X_new = (rng.normal(size=(t.size, 10)) + 0.6 * t[:, None] for t in (y, y_new))
    >>> known, y_score = fold_probabilities(LogisticRegression(), X, y, X_new, random_state=0)
    >>> bool(abs(estimate_prevalence(y_score, y.mean(), known=known) - 0.3) < 0.05)
    True
    """
    is_pos = floats(y, "y", X=X) > 0.0
    out_of_fold, new = np.zeros(is_pos.size), np.zeros(num_samples(X_new))
    splitter: Any = check_cv(cv, is_pos, classifier=True)
    folds = list(splitter.split(np.zeros(is_pos.size), is_pos))
    model_of = check_random_state(random_state).randint(len(folds), size=new.size)
    for number, (train, test) in enumerate(folds):
        model = trained(clone(estimator), safe_indexing(X, train), is_pos[train])
        rows = np.flatnonzero(model_of == number)
        out_of_fold[test] = class_scores(model, safe_indexing(X, test), ("predict_proba",))[:, 1]
        new[rows] = class_scores(model, safe_indexing(X_new, rows), ("predict_proba",))[:, 1]
    return (is_pos, out_of_fold), new


def _known(known: tuple[ArrayLike, ArrayLike]) -> KnownSamples:
    """Return the known samples with their probabilities; warn where these are not calibrated."""
    if not isinstance(known, (tuple, list)) or len(known) != 2:
        raise ValueError(f"known must be a pair of labels and probabilities, got {type(known).__name__}")
    y = floats(known[0], "labels of known", **{"probabilities of known": known[1]})
    known_proba = check_probabilities(known[1], "probabilities of known")
    if y.shape != known_proba.shape or not np.isin(y, (0.0, 1.0)).all():
        raise ValueError(
            f"known must hold a label, 0 or 1, for each of {known_proba.size} probabilities; write y == positive"
        )
    is_pos = y > 0.0
    if min(is_pos.sum(), (~is_pos).sum()) < 2:
        raise ValueError(
            f"known must hold two samples of each class at least, got {is_pos.sum()} positives of {y.size}"
        )
    _warn_of_calibration(is_pos, known_proba)
    units = Units(is_pos, None, np.arange(is_pos.size), np.ones(is_pos.size, dtype=np.int64))
    return KnownSamples(units, known_proba)


def _posterior(proba: Array, pos: float, share: float) -> Array:
    """Move probabilities to another share of positives, by Bayes' rule."""
    up = share / pos * proba
    return up / (up + (1.0 - share) / (1.0 - pos) * (1.0 - proba))


def _likeliest(proba: Array, pos: float, weight: Array | None, tol: float, max_iter: int) -> float:
    share = pos
    for _ in range(max_iter):
        last, share = share, float(np.average(_posterior(proba, pos, share), weights=weight))
        share = min(max(share, _EDGE), 1.0 - _EDGE)
        if abs(share - last) < tol:
            break
    return share


def _interval_of_new(proba: Array, pos: float, share: float, weight: Array, z: float) -> tuple[float, float]:
    """Find the shares at which chance explains the slope of the likelihood."""
    as_pos, as_neg = proba / pos, (1.0 - proba) / (1.0 - pos)

    def excess(q: float, side: float) -> float:
        slope = (as_pos - as_neg) / (q * as_pos + (1.0 - q) * as_neg)
        return side * float(weight @ slope) - z * float(np.sqrt(weight**2 @ slope**2))

    def end(edge: float, side: float) -> float:
        if excess(edge, side) <= 0.0:
            return float(round(edge))
        # At the end of the range even the likeliest share may be more than chance leaves room for.
        if excess(share, side) > 0.0:
            return share
        root: Any = brentq(excess, edge, share, args=(side,), xtol=1e-9)
        return float(root)

    return end(_EDGE, 1.0), end(1.0 - _EDGE, -1.0)


def _between(
    new: Array, ones: KnownSamples, zeros: KnownSamples, weight: Array, z: float
) -> tuple[float, tuple[float, float]]:
    """Locate the mean of new samples between those of two classes. Return the share and its interval."""
    ((m_one, by_one), (m_zero, by_zero)) = ((m.item(), z**2 * error.item()) for m, error in (ones.mean(), zeros.mean()))
    distance, off = m_one - m_zero, float(weight @ new) - m_zero
    # The variance of new samples is that of the mixture of the known ones: few positives may be missing among the new.
    by_new = z**2 * float(weight @ weight)
    squares = [samples.mean_product().item() for samples in (ones, zeros)]
    # (off - q apart)^2 <= z^2 variance(q), a quadratic in the share q.
    a = distance**2 * (1.0 + by_new) - by_one - by_zero
    b = -2.0 * off * distance + 2.0 * by_zero - by_new * (squares[0] - squares[1] - 2.0 * m_zero * distance)
    c = off**2 - by_zero - by_new * (squares[1] - m_zero**2)
    if a <= 0.0 or distance <= 0.0:  # the classifier does not tell the classes apart for sure
        return float(np.clip(off / distance if distance else 0.5, 0.0, 1.0)), (0.0, 1.0)
    root = np.sqrt(max(b * b - 4.0 * a * c, 0.0))
    low, high = np.clip([(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)], 0.0, 1.0).tolist()
    return float(np.clip(off / distance, 0.0, 1.0)), (low, high)


def _warn_of_calibration(is_pos: BoolArray, proba: Array) -> None:
    """Warn where known probabilities are not calibrated: too large overall, overconfident or underconfident."""
    inside = np.clip(proba, 1e-6, 1.0 - 1e-6)
    logit = np.log(inside / (1.0 - inside))
    directions = np.column_stack([np.ones(proba.size), logit - logit.mean()])
    slopes = directions * (is_pos - inside)[:, None]
    # Score test: the sums would be 0 but for chance.
    total, spread = slopes.sum(axis=0), (directions * (inside * (1.0 - inside))[:, None]).T @ directions
    statistic = float(total @ np.linalg.pinv(spread) @ total)
    if chi2.sf(statistic, 2) < _ODD:
        warn(
            f"the probabilities of the known samples are not calibrated: their mean is {proba.mean():.3g}, but "
            f"{is_pos.mean():.3g} of the samples are positive, or they are too extreme or not extreme enough. The "
            "estimated share is corrected for this; sklearn.calibration.CalibratedClassifierCV corrects the "
            "probabilities themselves"
        )
