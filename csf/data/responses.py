"""Responses of fitted classifiers: features, scores, decisions; and binary classifiers by the sign of a score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from csf._common.dtypes import is_float
from csf._common.sklearn import DocLinkMixin, clone, last_step, num_samples, trained
from csf._common.typing import Array, BoolArray, Estimator, IntArray, Keywords, Label, Samples, Values
from csf._common.validation import check_weights, label_array
from csf.data.labels import Labels, learnt_classes


@dataclass(frozen=True, eq=False)
class Features:
    """Number and names of features, in the manner of scikit-learn.

    Parameters
    ----------
    number : int, default=None
        How many there are; ``None`` where an estimator does not tell.
    names : ndarray of str, default=None
        Their names, where the samples came with some.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> Features.of(LinearSVC().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])).number
    2
    """

    number: int | None = None
    names: Array | None = None

    @classmethod
    def of(cls, estimator: Estimator) -> Self:
        """Read the features that a fitted estimator has seen."""
        return cls(getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None))

    def put_on(self, estimator: Estimator) -> None:
        """Set the features on another estimator; unknown attributes stay as they are."""
        if self.number is not None:
            estimator.n_features_in_ = self.number
        if self.names is not None:
            estimator.feature_names_in_ = self.names


# Decisions do not saturate, probabilities do: the finer score comes first.
DECISION_FIRST = ("decision_function", "predict_proba")
# Where classes are compared with each other, probabilities say more.
PROBABILITIES_FIRST = ("predict_proba", "decision_function")
# Score of each method above which a classifier predicts its second class by itself.
NATURAL_THRESHOLDS = {"decision_function": 0.0, "predict_proba": 0.5}


def response_method(estimator: Estimator, methods: Sequence[str] = DECISION_FIRST) -> str | None:
    """Choose the method that gives the scores of a classifier."""
    return next((method for method in methods if hasattr(estimator, method)), None)


def method_once_fitted(base: Estimator, methods: Sequence[str] = DECISION_FIRST) -> str | None:
    """Choose the method that gives the scores of a base once it is fitted: some have none of them before."""
    method, later = response_method(base, methods), response_method(type(last_step(base)[1]), methods)
    if method is not None or later is None:
        return method
    try:
        return response_method(_fitted_to_few(base)[0], methods)
    except Exception:  # it needs other samples; its first training says what it has
        return later


def _fitted_to_few(base: Estimator) -> tuple[Estimator, Array]:
    """Train the last step of a base on a few rows of two classes; return it and the rows."""
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]
    return trained(clone(last_step(base)[1]), X, y), X


# Packages of learners in context, whose predictions read all training samples.
_IN_CONTEXT = ("tabpfn", "tabicl")


def keeps_samples(base: Estimator) -> bool:
    """Check whether a trained base holds its samples, which every prediction reads: training it takes less time."""
    if type(last_step(base)[1]).__module__.partition(".")[0] in _IN_CONTEXT:
        return True
    try:
        model, X = _fitted_to_few(base)
    except Exception:  # it needs other samples; most bases do not keep them
        return False
    values = [value for part in (model, *vars(model).values()) for value in getattr(part, "__dict__", {}).values()]
    return any(np.shape(value) == X.shape for value in values if isinstance(value, np.ndarray))


def natural_threshold(estimator: Estimator, methods: Sequence[str] = DECISION_FIRST) -> float:
    """Return the score above which a classifier predicts its second class: 0 for decisions, 0.5 for probabilities."""
    return NATURAL_THRESHOLDS.get(response_method(estimator, methods) or "", 0.0)


def positive_score(
    estimator: Estimator, X: Samples, pos_label: Label, methods: Sequence[str] = DECISION_FIRST
) -> Array:
    """Compute scores that increase with the evidence for the positive class."""
    classes = learnt_classes(estimator).tolist()
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(
            f"{type(estimator).__name__} has learnt the classes {classes}, but both classes are needed, with "
            f"pos_label={pos_label!r}; check that every training part has both, or stratify cv"
        )
    scores = _scores(estimator, X, methods)
    if scores.ndim == 1:  # no table of millions of samples is made that nobody reads
        return scores if np.asarray(estimator.classes_).tolist()[1] == pos_label else -scores
    return np.ascontiguousarray(_in_order(scores, estimator)[:, classes.index(pos_label)])


def class_scores(estimator: Estimator, X: Samples, methods: Sequence[str] = DECISION_FIRST) -> Array:
    """Compute the scores of all classes that a classifier has learnt, in the order of `learnt_classes`."""
    scores = _scores(estimator, X, methods)
    return _in_order(np.column_stack([-scores, scores]) if scores.ndim == 1 else scores, estimator)


def _in_order(scores: Array, estimator: Estimator) -> Array:
    """Sort the columns of scores as the classes that a classifier has learnt."""
    listed = np.asarray(estimator.classes_)
    return scores if (learnt_classes(estimator) == listed).all() else scores[:, np.argsort(listed)]


def _scores(estimator: Estimator, X: Samples, methods: Sequence[str]) -> Array:
    """Compute the scores of all classes as they are listed; one for each sample where two classes have one decision."""
    method, name = response_method(estimator, methods), estimator.__class__.__name__
    if method is None:
        raise TypeError(
            f"{name} has no {' and no '.join(methods)}, so there is no score to put a threshold on; "
            "use a base that has it, or, for probabilities, a calibration"
        )
    listed = np.asarray(estimator.classes_)
    scores, n_samples = np.asarray(getattr(estimator, method)(X), dtype=np.float64), num_samples(X)
    # A training part may lack the other classes.
    is_one = listed.size == 2 and scores.shape == (n_samples,)
    if is_one and method == "predict_proba":
        scores = np.column_stack([1.0 - scores, scores])
    if not is_one and scores.shape != (n_samples, listed.size):
        raise ValueError(
            f"{name}.{method} must return one score for each of its {listed.size} classes, got shape {scores.shape} "
            f"for {n_samples} samples and classes_ {listed.tolist()}; for sklearn.svm.SVC use "
            "decision_function_shape='ovr'"
        )
    missing = np.isnan(scores)
    if missing.any():
        n_missing = int(missing.reshape(n_samples, -1).any(axis=1).sum())
        raise ValueError(f"{name} gave NaN scores for {n_missing} of {n_samples} samples")
    if method == "predict_proba":
        _check_probabilities(scores, name)
    return scores


def _check_probabilities(proba: Array, name: str) -> None:
    """Raise a ValueError for rows that are no probabilities, even rounded to one digit, nor zeros for no class."""
    total, slack = proba.sum(axis=1), 0.05 * proba.shape[1] + 1e-6
    # Nearly all are right, which numbers of the whole table say faster than row by row.
    within = proba.min(initial=0.0) >= -1e-6 and proba.max(initial=1.0) <= 1.0 + 1e-6
    if within and np.abs(total - 1.0).max(initial=0.0) <= slack:
        return
    wrong = (np.abs(proba - 0.5) > 0.5 + 1e-6).any(axis=1)
    wrong |= (np.abs(total - 1.0) > slack) & (total != 0.0)
    if wrong.any():
        raise ValueError(
            f"{name}.predict_proba must give probabilities in [0, 1] whose sum is 1 in each row, got "
            f"{proba[wrong][0].tolist()}, and no probabilities in {int(wrong.sum())} of {wrong.size} rows. Choose an "
            "objective that gives them (of XGBoost 'binary:logistic'), scale them, or make them of these scores by "
            "sklearn.calibration.CalibratedClassifierCV"
        )


class Response(NamedTuple):
    """Response of a classifier to samples: its decisions, scores, and the classes that it predicts."""

    # Where it finds something by its own decision; of classes that are all alike, the codes of its decision.
    decided: Array
    # How much it believes that there is something, or in each class; None where scores were not asked for.
    score: Array | None = None
    # What it finds there, wherever the score is cut; of classes that are all alike, the codes once more.
    found: Label = 1
    # Method that gave the score.
    method: str | None = "decision_function"
    # Of several classes beside a null class, what `class_gaps` says.
    class_gaps: Array | None = None


def respond(
    estimator: Estimator,
    X: Samples,
    null: Label,
    *,
    tune: bool,
    methods: Sequence[str] = DECISION_FIRST,
    labels: Labels | None = None,
) -> Response:
    """Predict with a classifier whose null class is ``null``; for several classes see `compare`.

    With ``labels`` the response also has the gaps between several classes other than the null class.
    """
    if not tune:
        predicted = _predicted(estimator, X)
        return Response(predicted != null, found=predicted)
    classes = learnt_classes(estimator)
    others, scores = classes[classes != null], None
    if others.size == 1:
        score, answer = positive_score(estimator, X, others[0], methods), others[0]
    else:
        scores = class_scores(estimator, X, methods)
        probabilities = response_method(estimator, methods) == "predict_proba"
        score, best = compare(scores, null_column(estimator, null), probabilities=probabilities)
        answer = classes[best]
    gaps = None
    if labels is not None and labels.classes.size > 2:
        codes = labels.learnt_by(estimator).codes
        compared = score[:, None] if scores is None else scores[:, classes != null]
        gaps = class_gaps(compared, codes[codes > 0], labels.classes.size)
    decided = score > natural_threshold(estimator, methods)
    return Response(decided, score, answer, response_method(estimator, methods), gaps)


def _predicted(estimator: Estimator, X: Samples) -> Array:
    predicted, name, n_samples = np.asarray(estimator.predict(X)), type(estimator).__name__, num_samples(X)
    if predicted.shape != (n_samples,):
        raise ValueError(f"{name}.predict must return shape ({n_samples},), one label a sample, got {predicted.shape}")
    if is_float(predicted) and np.isnan(predicted).any():
        missing = int(np.isnan(predicted).sum())
        raise ValueError(f"{name} predicted NaN for {missing} of {predicted.shape[0]} samples")
    return predicted


def respond_classes(
    estimator: Estimator,
    X: Samples,
    n_classes: int,
    *,
    tune: bool,
    labels: Labels | None = None,
    methods: Sequence[str] = PROBABILITIES_FIRST,
) -> Response:
    """Predict the class of each sample, without a null class; the answers are codes of the classifier's labels."""
    learnt = (Labels(np.arange(n_classes), None) if labels is None else labels).learnt_by(estimator)
    if not tune:
        predicted = learnt.encode(_predicted(estimator, X))
        return Response(predicted, found=predicted)
    scores = class_scores(estimator, X, methods)
    probabilities = response_method(estimator, methods) == "predict_proba"
    if probabilities and not (scores.max(axis=1) > 0.0).all():
        empty = int(np.count_nonzero(scores.max(axis=1) <= 0.0))
        raise ValueError(
            f"{type(estimator).__name__}.predict_proba gave no class a probability above 0 for {empty} of "
            f"{scores.shape[0]} samples"
        )
    return answer_of_classes(scores, learnt.codes, n_classes, probabilities=probabilities)


def answer_of_classes(scores: Array, codes: IntArray, n_classes: int, *, probabilities: bool) -> Response:
    """Build the response from scores of the learnt classes; the other classes score lower than all of these."""
    if codes.size < n_classes:
        lowest = np.zeros(scores.shape[0]) if probabilities else scores.min(axis=1) - 1.0
        learnt, scores = scores, np.repeat(lowest[:, None], n_classes, axis=1)
        scores[:, codes] = learnt
    best = scores.argmax(axis=1)
    return Response(best, scores, best)


def null_column(estimator: Estimator, null: Label) -> int:
    """Find the null class among `learnt_classes` of a classifier; raise a ValueError where it is missing."""
    classes = learnt_classes(estimator).tolist()
    if null not in classes:
        raise ValueError(
            f"{type(estimator).__name__} has learnt the classes {classes} without {null!r}, which means nothing to "
            "find; check that every training part has it, or stratify cv"
        )
    return classes.index(null)


def lost_samples(truth: Array, named: Values, null: Label = 0) -> BoolArray:
    """Mark samples with another class than the null class whose positive prediction would name a wrong one."""
    return (truth != null) & (truth != named)


def compare(scores: Array, column: int, *, probabilities: bool) -> tuple[Array, IntArray]:
    """Find the best class outside a column, and compare it with that column, given its score and column.

    Score f compared with g is f - g, so that a threshold on it is an offset on g; for probabilities it is f / (f + g),
    so that a threshold multiplies the odds. Among equal classes the first is best.
    """
    nothing, rest = scores[:, column], scores.copy()
    rest[:, column] = -np.inf
    best = rest.argmax(axis=1)
    something = rest[np.arange(best.size), best]
    if probabilities:
        total = something + nothing
        return np.divide(something, total, out=np.full(best.size, 0.5), where=total > 0), best
    with np.errstate(over="ignore", invalid="ignore"):
        score = something - nothing
    if np.isnan(score).any():
        raise ValueError(f"scores of {int(np.isnan(score).sum())} samples are infinite for the null class and another")
    return score, best


def class_gaps(scores: Array, codes: IntArray, n_classes: int) -> Array:
    """Compute by how much each class scores below the best one, where neither is the null class.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_learnt)
        Scores of the learnt classes other than the null class.
    codes : ndarray of int, shape (n_learnt,)
        Codes of these classes, the null class has 0.
    n_classes : int
        Number of all classes.

    Returns
    -------
    ndarray of float32, shape (n_samples, n_classes - 1)
        A column for each code from 1 on: 0 for the best class, and infinity for a class that was not learnt.
    """
    gaps, best = np.full((len(scores), n_classes - 1), np.inf, dtype=np.float32), scores.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        gaps[:, codes - 1] = np.where(scores == best, 0.0, best - scores)
    return gaps


def moved_scores(scores: Array, column: int, threshold: float, *, probabilities: bool) -> Array:
    """Shift the score of the null class so that the largest score is the class that the threshold decides for."""
    score, best = compare(scores, column, probabilities=probabilities)
    something = scores[np.arange(best.size), best]
    nothing, decided = something - margin(score, threshold, True), score >= threshold
    below, above = np.nextafter(something, -np.inf), np.nextafter(something, np.inf)
    shifted = scores.copy()
    shifted[:, column] = np.where(decided, np.minimum(nothing, below), np.maximum(nothing, above))
    return shifted


def margin(score: Array, threshold: float, positive_is_last: bool) -> Array:
    """Compute the decision function of ``score >= threshold``: above 0 exactly where it predicts the second class."""
    if np.isfinite(threshold):
        with np.errstate(over="ignore"):
            distance = score - threshold
    else:
        largest = np.finfo(np.float64).max
        distance = np.clip(score, -largest, largest)
        distance = distance / (1.0 + np.abs(distance)) - np.sign(threshold)
    if not positive_is_last:
        distance = -distance
    # A score at the threshold is positive, but no distance away from it.
    last = (score >= threshold) == positive_is_last
    return np.where(last, np.maximum(distance, np.finfo(np.float64).tiny), np.minimum(distance, 0.0))


# Values closer than this (relative to the larger of 1 and the best value) are ties that rounding tore apart.
TIE = 8 * np.finfo(np.float64).eps


def midpoint(upper: Array | float, lower: Array | float) -> Array:
    """Compute thresholds between neighbouring scores; the upper score where rounding leaves no number between them."""
    # Infinite scores have no middle: what comes out is NaN, and the upper one is taken.
    with np.errstate(invalid="ignore", over="ignore"):
        middle = 0.5 * np.asarray(upper) + 0.5 * np.asarray(lower)
    return np.where((lower < middle) & (middle <= upper), middle, upper)


def above(threshold: float) -> float:
    """Return the threshold at which ``score >= threshold`` decides as ``score > threshold`` does.

    A classifier's default decision is negative for a score at its natural threshold; a tuned threshold includes it.
    """
    return float(np.nextafter(threshold, np.inf))


def linear_scores(X: Samples, coef: Array, intercept: float) -> Array:
    """Compute the linear scores of checked samples."""
    with np.errstate(over="ignore", invalid="ignore"):
        score = np.asarray(X @ coef).ravel() + intercept
    if np.isnan(score).any():
        raise ValueError(
            f"X holds features so large that {int(np.isnan(score).sum())} of {score.shape[0]} scores are no numbers; "
            "scale them as those that were learnt from"
        )
    return score


class TwoClassRule(DocLinkMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of binary classifiers by the sign of a score.

    Subclasses set ``classes_`` and ``pos_label_`` in ``fit`` and write ``decision_function``.
    """

    classes_: Array
    pos_label_: Label

    @abstractmethod
    def decision_function(self, X: Samples) -> Array:
        """Compute the score of each sample, above 0 exactly where ``predict`` gives ``classes_[1]``."""

    def score(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy, as all classifiers of scikit-learn do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0.

        Returns
        -------
        float
            Share of right predictions.
        """
        return super().score(X, label_array(y, "y"), check_weights(sample_weight, num_samples(X), X=X, y=y))

    def predict(self, X: Samples) -> Array:
        """Predict the class of each sample."""
        score = self.decision_function(X)
        return self.classes_[(score > 0.0).astype(int)]

    def _orientation(self) -> float:
        """Return 1 where scores of the positive class are those of ``classes_[1]``, else -1."""
        return 1.0 if self.pos_label_ == self.classes_[1] else -1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(TwoClassRule):
    """Base of linear classifiers of two classes.

    Subclasses have ``coef_`` of shape (1, n_features) and ``intercept_`` of shape (1,) of the score for
    ``classes_[1]``, stored or as properties.
    """

    coef_: Array
    intercept_: Array

    # How samples are checked before they are scored.
    _sample_checks: ClassVar[Keywords] = {"accept_sparse": "csr", "dtype": np.float64}
    # Least score of the positive class of a prediction of it; None where a score of 0 belongs to ``classes_[0]``.
    _cut: float | None = None

    def decision_function(self, X: Samples) -> Array:
        """Compute the signed score of each sample, above 0 exactly where ``predict`` gives ``classes_[1]``."""
        check_is_fitted(self)
        score, cut = self._scores(validate_data(self, X, reset=False, **self._sample_checks)), self._cut
        if cut is None:
            return score
        sign = self._orientation()
        return margin(sign * score, cut, sign > 0)

    def _scores(self, X: Samples) -> Array:
        """Compute the linear scores of checked samples."""
        return linear_scores(X, self.coef_[0], self.intercept_[0])


# ---------------------------------------------------------------- log-odds


# No log-odds are larger, and no sum of them: infinite ones have no differences.
LARGEST_LOG_ODDS = 1e6


def log_odds(score: Array, method: str | None) -> Array:
    """Convert probabilities to finite log-odds; return other scores unchanged."""
    score = np.asarray(score, dtype=np.float64)
    if method != "predict_proba":
        return score
    return np.clip(logit(np.clip(score, 0.0, 1.0)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def gives_log_odds(base: Estimator) -> bool:
    """Check whether the scores of a base are probabilities, or a decision function that is their logit.

    A decision function beside probabilities may be their logit (logistic regression, boosting) or not (SVC):
    the last step, trained on a few rows, shows it.
    """
    if method_once_fitted(base) != "decision_function":
        return True
    try:
        model, X = _fitted_to_few(base)
        return bool(np.allclose(expit(model.decision_function(X)), model.predict_proba(X)[:, 1], atol=1e-6))
    except Exception:  # it has no probabilities, or needs other samples; a calibration of margins serves log-odds too
        return False
