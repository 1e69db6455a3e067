"""Linear rules of the probabilities of several classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, Samples
from csf._common.validation import check_choice, check_weights, label_array
from csf.data.labels import learnt_classes, places_of
from csf.data.responses import DECISION_FIRST, PROBABILITIES_FIRST, answer_of_classes, class_scores, response_method
from csf.metrics.confusion import warn_of_absent
from csf.metrics.demands import ClassDemand
from csf.metrics.registry import get_confusion_metric
from csf.thresholding._kernels import decide_affine, decide_matrix
from csf.thresholding.alerts import NO_LIMITS, AlertLimits, allowed_alerts, largest_of
from csf.thresholding.base import DecisionRule, ScoredElsewhere
from csf.thresholding.batch import best_answers, lift_of, limits_of

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric
    from csf.metrics.registry import MetricLike

# ---------------------------------------------------------------- calibration


CALIBRATIONS = (None, "sigmoid", "isotonic")


class Calibrator(Protocol):
    """Fitted map from scores to probabilities."""

    def predict(self, score: Array, /) -> Array:
        """Predict the probabilities of scores."""
        ...


@dataclass
class Sigmoid:
    """Platt's sigmoid: logistic regression on the score alone, with targets moved off 0 and 1.

    Parameters
    ----------
    slope_, intercept_ : float, default=1.0 and 0.0
        Log-odds are ``slope_ * score + intercept_``, which `fit` sets to others.
    """

    slope_: float = 1.0
    intercept_: float = 0.0

    def fit(self, score: Array, is_pos: BoolArray, sample_weight: Array | None) -> Self:
        weight = np.ones(score.shape[0]) if sample_weight is None else sample_weight
        n_pos, n_neg = weight[is_pos].sum(), weight[~is_pos].sum()
        target = np.where(is_pos, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
        shift = np.average(score, weights=weight)
        scale = np.sqrt(np.average((score - shift) ** 2, weights=weight)) or 1.0
        # A target between 0 and 1 is a positive and a negative sample that share the weight.
        model = LogisticRegression(C=np.inf, max_iter=1000).fit(
            np.tile(((score - shift) / scale)[:, np.newaxis], (2, 1)),
            np.repeat([1, 0], score.shape[0]),
            np.concatenate((weight * target, weight * (1.0 - target))),
        )
        self.slope_ = float(model.coef_[0, 0] / scale)
        self.intercept_ = float(model.intercept_[0] - self.slope_ * shift)
        return self

    def predict(self, score: Array) -> Array:
        return expit(self.slope_ * score + self.intercept_)


def fit_calibrator(
    calibration: str | None, score: Array, is_pos: BoolArray, sample_weight: Array | None
) -> Calibrator | None:
    """Fit the object whose ``predict`` turns scores into probabilities; return ``None`` for no calibration.

    Parameters
    ----------
    calibration : {None, "sigmoid", "isotonic"}
        Kind of map.
    score : ndarray of shape (n_samples,)
        Scores of samples that the model has not been fitted to.
    is_pos : ndarray of bool, shape (n_samples,)
        Truth.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights >= 0.

    Returns
    -------
    object or None
        The fitted map.

    Raises
    ------
    ValueError
        If the kind is unknown or a score is infinite.

    Examples
    --------
    >>> score = np.array([-2.0, -1.0, 0.5, 1.0])
    >>> fit_calibrator("isotonic", score, np.array([False, True, False, True]), None).predict(score)
    array([0. , 0.5, 0.5, 1. ])
    """
    check_choice(calibration, "calibration", CALIBRATIONS)
    if calibration is None:
        return None
    return _fitted(calibration, score, is_pos, sample_weight)


def _fitted(calibration: str, score: Array, is_pos: BoolArray, sample_weight: Array | None) -> Calibrator:
    if not np.isfinite(score).all():
        raise ValueError(f"calibration={calibration!r} needs finite scores; the base gave infinite ones")
    if calibration == "sigmoid":
        return Sigmoid().fit(score, is_pos, sample_weight)
    return IsotonicRegression(out_of_bounds="clip").fit(score, is_pos.astype(float), sample_weight)


@dataclass
class ClassCalibrator:
    """Sigmoids of the scores of several classes, one of each class against the rest, scaled to sum 1."""

    calibrators: Sequence[Calibrator]

    def predict(self, scores: Array) -> Array:
        """Predict the probabilities of rows of scores; equal ones where every sigmoid is 0."""
        proba = np.column_stack([one.predict(column) for one, column in zip(self.calibrators, scores.T)])
        total = proba.sum(axis=1, keepdims=True)
        return np.divide(proba, total, out=np.full_like(proba, 1.0 / proba.shape[1]), where=total > 0.0)


def fit_class_calibrator(scores: Array, codes: IntArray, weight: Array | None) -> ClassCalibrator:
    """Fit a map from scores (n, K), of samples that the model has not been fitted to, to class probabilities."""
    columns = enumerate(scores.T)
    return ClassCalibrator([_fitted("sigmoid", column, codes == code, weight) for code, column in columns])


# ---------------------------------------------------------------- linear rules


_STEPS = 40
# Share of a new gradient in the rule: full steps jump between rules that are each best for the other's decisions.
_STEP = 0.3


@dataclass(frozen=True, eq=False)
class ClassProbabilityRule:
    """Rule that decides for the class with the largest linear score of the class probabilities.

    Parameters
    ----------
    slopes, offsets : ndarray of shape (n_classes,)
        Class k has the score ``slopes[k] * p[k] - offsets[k]``.
    matrix : ndarray of shape (n_classes, n_classes), default=None
        Where it is given, the scores are ``p @ matrix`` instead: entry (j, k) is what it is worth to decide for k
        where j is true. Slopes are then 1 and offsets 0.
    kind : {"affine", "argmax"}, default="affine"
        ``"argmax"`` stands for a classifier's own decision.

    Notes
    -----
    A differentiable metric of the confusion matrix has, but for ties, a best rule of this form: its matrix is the
    gradient of the metric at the confusion matrix of the rule itself [1]_. For most metrics that gradient is a diagonal
    less one row for all, which gives slopes and offsets.

    References
    ----------
    .. [1] H. Narasimhan, H. Ramaswamy, S. Tavker, D. Khurana, P. Netrapalli, S. Agarwal, "Consistent multiclass
       algorithms for complex metrics and constraints", JMLR 25, 2024.

    Examples
    --------
    >>> rule = ClassProbabilityRule(np.array([1.0, 1.0, 4.0]), np.array([0.0, 0.1, 0.0]))
    >>> rule.scores(np.array([[0.4, 0.45, 0.15]]))
    array([[0.4 , 0.35, 0.6 ]])
    >>> rule.decide(np.array([[0.4, 0.45, 0.15], [0.6, 0.3, 0.1]]))
    array([2, 0])
    """

    slopes: Array
    offsets: Array
    matrix: Array | None = None
    kind: str = "affine"

    @classmethod
    def argmax(cls, n_classes: int) -> ClassProbabilityRule:
        """Return the rule of the largest probability.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        ClassProbabilityRule
            Slopes 1 and offsets 0.
        """
        return cls(np.ones(n_classes), np.zeros(n_classes), kind="argmax")

    @property
    def is_argmax(self) -> bool:
        """True where the base's own decision is kept."""
        return self.kind == "argmax"

    def scores(self, proba: Array) -> Array:
        """Compute the scores of all classes.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The largest one of a row is what is decided.
        """
        if self.matrix is None:
            return proba * self.slopes - self.offsets
        # Class by class: a product of matrices rounds a row differently among other rows.
        scores = proba[:, :1] * self.matrix[0]
        for column in range(1, self.matrix.shape[0]):
            scores += proba[:, column : column + 1] * self.matrix[column]
        return scores

    @property
    def worth(self) -> Array:
        """Worth of deciding for a class (columns) where another one is true (rows), as ``matrix`` has it."""
        return np.diag(self.slopes) - self.offsets if self.matrix is None else self.matrix

    def with_demands(self, multipliers: Array, demands: Sequence[ClassDemand]) -> ClassProbabilityRule:
        """Add to what decisions are worth what they add to demands.

        Parameters
        ----------
        multipliers : ndarray of shape (n_demands,)
            Worth of a unit of each demand, >= 0.
        demands : sequence of ClassDemand
            The demands.

        Returns
        -------
        ClassProbabilityRule
            The rule, with slopes and offsets where the sum has such a form.
        """
        parts = [demand.affine for demand in demands]
        if self.matrix is None and None not in parts:
            slopes, offsets = (np.tensordot(multipliers, np.array(values), 1) for values in zip(*parts))
            return replace(self, slopes=self.slopes + slopes, offsets=self.offsets + offsets)
        matrix = self.worth + sum(multiplier * demand.gains for multiplier, demand in zip(multipliers, demands))
        return ClassProbabilityRule(np.ones(len(matrix)), np.zeros(len(matrix)), matrix)

    def decide(self, proba: Array) -> IntArray:
        """Choose the class of each sample.

        Parameters
        ----------
        proba : ndarray of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        ndarray of int, shape (n_samples,)
            Codes; the lowest one of equal scores.
        """
        return self.scores(proba).argmax(axis=1)


def counts_of(codes: IntArray, decided: IntArray, n_classes: int, weight: Array | None = None) -> Array:
    """Sum the weights of the entries of each true class (rows) by decided class (columns)."""
    counts = np.bincount(codes * n_classes + decided, weights=weight, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def confusion_of(codes: IntArray, decided: IntArray, n_classes: int, weight: Array | None = None) -> Array:
    """Compute the confusion matrix of decisions: shares of the weight, rows true and columns decided."""
    counts = counts_of(codes, decided, n_classes, weight)
    total = counts.sum()
    if not total > 0.0:
        raise ValueError("a confusion matrix needs an entry that weighs something; got none")
    return counts / total


def tune_rule(
    proba: Array, codes: IntArray, metric: ConfusionMetric, *, weight: Array | None = None
) -> ClassProbabilityRule:
    """Tune a linear rule of probabilities to maximise a metric of the confusion matrix, as far as the search finds it.

    From the largest probability, and from the largest one in units of its class's share, the rule follows the gradient
    of the metric at the confusion matrix of its own decisions, with damping; the best rule on the way is kept. Where
    that misses constraints of the metric, their multipliers are searched.
    """
    tally = Tally(proba, codes, weight)
    rule = _unconstrained(tally, metric)
    if not metric.demands:
        return rule
    tally.decide(rule)
    return within_constraints(tally, metric, rule) if metric.missing(tally.confusion()) else rule


def _unconstrained(tally: Tally, metric: ConfusionMetric) -> ClassProbabilityRule:
    """Tune a rule without regard to constraints, see `tune_rule`."""
    n_classes = tally.n_classes
    fixed = _fixed_gradient(metric, tally.shares)
    if fixed is not None:
        return fixed
    inverse = np.divide(1.0, tally.shares, out=np.zeros(n_classes), where=tally.shares > 0.0)
    best, best_value = ClassProbabilityRule(np.ones(n_classes), np.zeros(n_classes)), -np.inf
    for slopes in (best.slopes, inverse):
        rule = ClassProbabilityRule(slopes, np.zeros(n_classes))
        for step in range(_STEPS + 1):
            if not tally.decide(rule) and step > 0:
                break
            confusion = tally.confusion()
            value = metric.value(confusion)
            if value > best_value:
                best, best_value = rule, value
            gradient = _gradient(metric, confusion)
            rule = _between(_in_units(slopes, gradient) if step == 0 else rule, gradient)
    return best


def cross_fitted(
    proba: Array, codes: IntArray, metric: ConfusionMetric, groups: IntArray, *, weight: Array | None = None
) -> IntArray:
    """Decide each group of entries by the rule that is tuned on all the others."""
    tally = Tally(proba, codes, weight)
    for group in np.unique(groups):
        held = groups == group
        others = np.where(held, 0.0, 1.0 if weight is None else weight)
        tally.decide(tune_rule(proba, codes, metric, weight=others), held)
    return tally.decided


class Tally:
    """Entries, and the decisions of a rule about those with positive weight."""

    def __init__(self, proba: Array, codes: IntArray, weight: Array | None) -> None:
        self._proba, self._codes, self._weight = np.ascontiguousarray(proba), codes, weight
        self._counts = np.ones(codes.shape[0], dtype=bool) if weight is None else weight > 0.0
        self.decided = np.zeros(codes.shape[0], dtype=np.int64)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._proba.shape[1]

    @property
    def shares(self) -> Array:
        """Share of each class in the weight."""
        return self.confusion().sum(axis=1)

    def decide(self, rule: ClassProbabilityRule, counts: BoolArray | None = None) -> int:
        """Apply a rule. Return the number of decisions that changed."""
        counts = self._counts if counts is None else counts
        if rule.matrix is None:
            return decide_affine(self._proba, rule.slopes, rule.offsets, counts, self.decided)
        return decide_matrix(self._proba, rule.matrix, counts, self.decided)

    def confusion(self) -> Array:
        """Compute the confusion matrix of the decisions."""
        return confusion_of(self._codes, self.decided, self._proba.shape[1], self._weight)


# Rounds in which the rule follows the gradient under constraints, and those without progress after which it stops.
_ROUNDS, _PATIENCE = 12, 2
# Sweeps over the multipliers of several constraints, the largest multiplier in units of the rule, and the precision.
_SWEEPS, _LARGEST, _PRECISION = 6, 1e6, 1e-4
# Shares of the way to the strictest levels, for which multipliers are worth something where those of the levels
# themselves miss them: probabilities that are too sure reach no precision of 0.8 by answers of which they promise so.
STRICTER_AIMS = (0.0, 0.5, 0.9, 1.0)


def within_constraints(tally: Tally, metric: ConfusionMetric, rule: ClassProbabilityRule) -> ClassProbabilityRule:
    """Tune a rule under constraints, from the best rule without them.

    A constraint is a sum over samples that may not be negative, and linear in the confusion matrix: a multiplier times
    what a decision adds to it is added to the gradient of the metric (Lagrange), and the smallest multipliers that keep
    the constraints are taken. The rule that misses least is kept, and of these the one with the best value.
    """
    # With prices by HiGHS, of answers that keep the constraints on average by probabilities, macro F1 is 0.01 to 0.11
    # lower (300 to 10 000 rows, 3 and 6 classes), and it takes 3 to 90 times as long.
    tally.decide(rule)
    confusion = tally.confusion()
    start = _gradient(metric, confusion)
    best, best_rank = rule, (float(metric.missing(confusion)), -float(metric.value(confusion)))
    for share in STRICTER_AIMS:
        aim, multipliers, since = start, np.zeros(len(metric.demands)), 0
        for _ in range(_ROUNDS):
            tried, multipliers = _with_least_multipliers(tally, metric, share, aim, multipliers)
            confusion = tally.confusion()
            rank = (float(metric.missing(confusion)), -float(metric.value(confusion)))
            best, best_rank, since = (tried, rank, 0) if rank < best_rank else (best, best_rank, since + 1)
            if since == _PATIENCE:
                break
            aim = _between(aim, _gradient(metric, confusion))
        if not best_rank[0]:
            break
    return best


def _with_least_multipliers(
    tally: Tally, metric: ConfusionMetric, share: float, aim: ClassProbabilityRule, start: Array
) -> tuple[ClassProbabilityRule, Array]:
    """Find the smallest multipliers with which a rule keeps the constraints, one after the other, and decide by it.

    Multipliers are those of levels that are stricter by a share of the way.
    """
    size, kept = np.ptp(aim.worth) or 1.0, metric.demands
    demands = tuple(demand.tightened(share) for demand in kept)
    units = [size / np.ptp(demand.gains) for demand in demands]
    multipliers = np.zeros(len(demands)) if len(demands) == 1 else start.copy()

    def decided(place: int, multiplier: float) -> ClassProbabilityRule:
        multipliers[place] = multiplier
        rule = aim.with_demands(multipliers, demands)
        tally.decide(rule)
        return rule

    def keeps(place: int, multiplier: float) -> bool:
        decided(place, multiplier)
        return not kept[place].missing(tally.confusion())

    for _ in range(1 if len(demands) == 1 else _SWEEPS):
        before = multipliers.copy()
        for place, unit in enumerate(units):
            least = _least(partial(keeps, place), start[place] or unit, _LARGEST * unit)
            rule = decided(place, least)
        if np.array_equal(before, multipliers):
            break
    return rule, multipliers


def _least(keeps: Callable[[float], bool], guess: float, largest: float) -> float:
    """Find the smallest multiplier that keeps a constraint, 0 or up to the largest one, by bisection."""
    if keeps(0.0):
        return 0.0
    low, high = 0.0, min(guess, largest)
    while not keeps(high):
        if high >= largest:
            return largest
        low, high = high, min(2.0 * high, largest)
    while high - low > _PRECISION * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    # Beyond the least one by more than the digits of single precision, in which held-out scores are kept.
    return high


def _gradient(metric: ConfusionMetric, confusion: Array) -> ClassProbabilityRule:
    """Return the best rule for the linearised metric."""
    n_classes, affine = confusion.shape[0], metric.affine(confusion)
    if affine is not None:
        return ClassProbabilityRule(*affine)
    return ClassProbabilityRule(np.ones(n_classes), np.zeros(n_classes), metric.gradient(confusion))


def _in_units(slopes: Array, gradient: ClassProbabilityRule) -> ClassProbabilityRule:
    """Convert a rule of slopes alone to the form and size of a gradient: a metric may be in any unit."""
    size = np.abs(gradient.slopes).max() if gradient.matrix is None else np.ptp(gradient.matrix)
    slopes = slopes * (size / slopes.max())
    if gradient.matrix is None:
        return ClassProbabilityRule(slopes, np.zeros(slopes.shape[0]))
    return ClassProbabilityRule(gradient.slopes, gradient.offsets, np.diag(slopes))


def _between(rule: ClassProbabilityRule, other: ClassProbabilityRule) -> ClassProbabilityRule:
    """Move a rule a step towards another one of the same form."""
    keep = 1.0 - _STEP
    matrix = None
    if rule.matrix is not None and other.matrix is not None:
        matrix = keep * rule.matrix + _STEP * other.matrix
    return ClassProbabilityRule(
        keep * rule.slopes + _STEP * other.slopes, keep * rule.offsets + _STEP * other.offsets, matrix
    )


def _fixed_gradient(metric: ConfusionMetric, shares: Array) -> ClassProbabilityRule | None:
    """Return the best rule of a metric that is linear in the decisions; ``None`` for others.

    Its gradient is the same at confusion matrices with different recalls of the classes.
    """
    n_classes = shares.shape[0]
    recalls = np.arange(1.0, n_classes + 1.0) / (n_classes + 1.0)
    first, second = (_gradient(metric, _spread(shares, right)) for right in (recalls, recalls[::-1]))
    difference = np.abs(_numbers(first) - _numbers(second)).max()
    return first if difference <= 1e-7 * np.abs(_numbers(first)).max() else None


def _numbers(rule: ClassProbabilityRule) -> Array:
    return np.concatenate([rule.slopes, rule.offsets]) if rule.matrix is None else rule.matrix


def _spread(shares: Array, recalls: Array) -> Array:
    """Build the confusion matrix of given recalls, with errors spread over the other classes."""
    confusion = np.repeat((shares * (1.0 - recalls) / (shares.shape[0] - 1))[:, np.newaxis], shares.shape[0], axis=1)
    np.fill_diagonal(confusion, shares * recalls)
    return confusion


class RuleRows(NamedTuple):
    """Rows as a rule sees them: scores, of which the largest decides, probabilities, and the worth of decisions."""

    scores: Array
    proba: Array
    # Worth of deciding for a class (columns) where another one is true; None where the base decides by itself.
    worth: Array | None = None

    @property
    def codes(self) -> IntArray:
        """Classes that the rule decides for."""
        return self.scores.argmax(axis=1)


# ---------------------------------------------------------------- a fitted classifier with a linear rule


def aligned_scores(estimator: Estimator, X: Samples, classes: Array, methods: Sequence[str]) -> Array:
    """Compute the scores of the user's labels in their order, of an estimator that knows them or their places."""
    scores, probabilities = class_scores(estimator, X, methods), response_method(estimator, methods) == "predict_proba"
    columns = places_of(learnt_classes(estimator), classes)
    answer = answer_of_classes(scores, columns, classes.size, probabilities=probabilities)
    assert answer.score is not None, "it is made of scores"
    return answer.score


# How far the sum of probabilities in single precision is from 1.
_SUM = 1e-6


def without_weights(proba: Array, class_weights: Array | None) -> Array:
    """Undo the class weights of a training in its probabilities."""
    if class_weights is None:
        return proba
    proba = proba / (class_weights / class_weights[0])
    total = proba.sum(axis=1, keepdims=True)
    if not np.ptp(class_weights):
        # Rounding of a sum of 1 would tell equal probabilities apart by those of the other classes.
        total[np.abs(total - 1.0) < _SUM] = 1.0
    return np.divide(proba, total, out=proba, where=total > 0.0)


@dataclass(frozen=True, eq=False)
class MulticlassRule(DecisionRule):
    """Rule of one of several classes without a null class: a fitted classifier and a rule of its probabilities.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    classes : ndarray of shape (n_classes,)
        The user's labels, in the order of codes.
    known : ndarray of shape (n_known,)
        The estimator's own classes, ascending: labels, or codes where some are no labels. It may lack some.
    rule : ClassProbabilityRule
        What decides.
    class_weights : ndarray of shape (n_classes,), default=None
        Weights of its training, which are taken out of its probabilities.
    calibrator : ClassCalibrator, default=None
        What makes probabilities of decision scores.
    own : bool, default=False
        Whether the rule is the estimator's own decision, which reads its scores as they are.
    precision : {"float64", "float32"}, default="float64"
        Precision of the held-out scores that the rule was tuned on, in which it reads others.
    """

    estimator: Estimator
    classes: Array
    known: Array
    rule: ClassProbabilityRule
    class_weights: Array | None = None
    calibrator: ClassCalibrator | None = None
    own: bool = False
    precision: str = "float64"

    threshold = None
    in_words = (
        "estimator.classes_ = the classes whose scores the method reads gives, in this order; classes = those of the "
        "numbers here. Where own: the class with the largest score, of equal ones the first of classes. Else s = the "
        "scores, rounded to precision; p = 1 / (1 + exp(-(slope_ * s + intercept_))) by the calibrators of calibrator, "
        "divided by its sum, or s where there is none; p = p / class_weights, divided by its sum, where there are any; "
        "the class with the largest of p @ matrix, or where there is none of slopes * p - offsets, of equal ones the "
        "first. A class without scores has the probability 0, or as a score the smallest one less 1"
    )
    review_in_words = (
        "k = the class of the rule; a review instead where cost + extra_cost + error * sum(p @ `prices`) / (number of "
        "classes less 1) is less than p @ `prices` of k, or p of k is below its least"
    )

    @property
    def more_than_threshold(self) -> str:
        """Several classes."""
        return f"{self.classes.size} classes"

    @property
    def _listed(self) -> Array:
        """Labels in the order of the estimator's columns."""
        listed = np.searchsorted(self.known, np.asarray(self.estimator.classes_))
        return self.classes[places_of(self.known, self.classes)[listed]]

    @property
    def score_names(self) -> Sequence[Label]:
        """Classes in the order of the estimator's columns."""
        return self._listed.tolist()

    def on_scores(self) -> Self:
        """Return the rule for samples that are the estimator's scores."""
        reads = response_method(self.estimator, DECISION_FIRST if self.calibrator else PROBABILITIES_FIRST)
        source = ScoredElsewhere.of(self.estimator, reads, self._listed)
        return replace(self, estimator=source, known=np.sort(self._listed))

    def predict(self, X: Samples) -> Array:
        """Predict the user's labels."""
        if self.own and response_method(self.estimator) is None:
            places = np.searchsorted(self.known, self.estimator.predict(X))
            return self.classes[places_of(self.known, self.classes)[places]]
        return self.classes[self.decision_function(X).argmax(axis=1)]

    def rows(self, X: Samples) -> RuleRows:
        """Score samples, with their probabilities."""
        return RuleRows(self.decision_function(X), self.probabilities(X), None if self.own else self.rule.worth)

    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict with limits by class; rows beyond them get the class with the next largest score."""
        scores = self.decision_function(X)
        limits = limits_of({} if at_most is None else at_most, self.classes.tolist(), len(scores))
        if wrong:
            # A class with a limit goes to all rows that pass, whatever the scores of the others.
            limited = list(wrong)
            allowed = allowed_alerts(wrong, self.probabilities(X), largest_of(scores, limited), limits)
            lifted = np.isin(np.arange(scores.shape[1]), limited) * lift_of(scores)
            scores = np.where(allowed, scores + lifted, -np.inf)
        return self.classes[best_answers(scores, limits, X)]

    def decision_function(self, X: Samples) -> Array:
        """Compute the scores of the classes: the largest one is predicted, the first of equal ones."""
        return self.rule.scores(self._scores(X, PROBABILITIES_FIRST) if self.own else self.probabilities(X))

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the classes, with the class weights undone."""
        return replace(self, precision="float64").probabilities(X)

    def probabilities(self, X: Samples) -> Array:
        """Compute the probabilities that the rule reads, in the precision of those that it was tuned on."""
        scores = self._scores(X, DECISION_FIRST if self.calibrator else ("predict_proba",))
        scores = np.ascontiguousarray(scores, dtype=self.precision).astype(np.float64)
        return without_weights(self.calibrator.predict(scores) if self.calibrator else scores, self.class_weights)

    def value(self, metric: MetricLike, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Compute a metric of predicted labels."""
        metric, confusion = get_confusion_metric(metric), self.confusion(y, predicted, sample_weight)
        warn_of_absent(metric, confusion.sum(axis=1), confusion.sum(axis=0))
        return float(metric.value(confusion))

    def confusion(self, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None = None) -> Array:
        """Compute the confusion matrix of predictions: shares of the weight, rows true and columns predicted."""
        labels, weight = label_array(y, "y").reshape(-1), check_weights(sample_weight, predicted.shape[0])
        strange = labels[~np.isin(labels, self.classes)]
        if strange.size:
            raise ValueError(
                f"y holds {strange.tolist()[0]!r}, which is none of the fitted classes {self.classes.tolist()}"
            )
        codes, decided = (np.searchsorted(self.classes, given) for given in (labels, predicted))
        return confusion_of(codes, decided, self.classes.shape[0], weight)

    def _scores(self, X: Samples, methods: Sequence[str]) -> Array:
        return aligned_scores(self.estimator, X, self.classes, methods)
