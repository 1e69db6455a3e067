"""Scores and decisions of fitted classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from csf._common.typing import Array, BoolArray, Estimator, IntArray, Label, Samples
from csf._sklearn import num_samples

__all__ = [
    "DECISION_FIRST",
    "NATURAL_THRESHOLDS",
    "Response",
    "class_scores",
    "compare",
    "margin",
    "moved_scores",
    "natural_threshold",
    "null_column",
    "positive_score",
    "respond",
    "response_method",
]

# Decisions do not saturate, probabilities do: the finer score comes first.
DECISION_FIRST = ("decision_function", "predict_proba")
# Score of each method above which a classifier predicts its second class by itself.
NATURAL_THRESHOLDS = {"decision_function": 0.0, "predict_proba": 0.5}


def response_method(estimator: Estimator, methods: Sequence[str] = DECISION_FIRST) -> str | None:
    """Method that gives the scores of a classifier.

    Parameters
    ----------
    estimator : estimator
        Classifier, fitted or not.
    methods : sequence of str, default=("decision_function", "predict_proba")
        Methods that may give the score, in order of preference.

    Returns
    -------
    str or None
        The first of the methods that the classifier has.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> response_method(LinearSVC())
    'decision_function'
    """
    return next((method for method in methods if hasattr(estimator, method)), None)


def natural_threshold(estimator: Estimator, methods: Sequence[str] = DECISION_FIRST) -> float:
    """Score above which a classifier predicts its second class by itself: 0 for decisions, 0.5 for probabilities."""
    return NATURAL_THRESHOLDS.get(response_method(estimator, methods) or "", 0.0)


def positive_score(
    estimator: Estimator, X: Samples, pos_label: Label, methods: Sequence[str] = DECISION_FIRST
) -> Array:
    """Scores that grow with the belief in the positive class.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier of two classes.
    X : array-like of shape (n_samples, n_features)
        Samples.
    pos_label : label
        Positive class, one of ``estimator.classes_``.
    methods : sequence of str, default=("decision_function", "predict_proba")
        Methods that may give the score, in order of preference.

    Returns
    -------
    ndarray of shape (n_samples,)
        float64 scores.

    Raises
    ------
    TypeError
        If the classifier has none of the methods.
    ValueError
        If it has not learnt two classes, there is not one score for each sample, or one is NaN.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> bool(positive_score(model, [[1.0]], "yes")[0] == -positive_score(model, [[1.0]], "no")[0])
    True
    """
    method, name = response_method(estimator, methods), type(estimator).__name__
    if method is None:
        raise TypeError(
            f"{name} has no {' and no '.join(methods)}, so there is no score to cut; use a base that has it, or, for "
            "probabilities, a calibration"
        )
    classes = list(estimator.classes_)
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(
            f"{name} has learnt the classes {np.asarray(classes).tolist()}, but both classes are needed, with "
            f"pos_label={pos_label!r}; check that every training part has both, or stratify cv"
        )
    column = classes.index(pos_label)
    score, n_samples = np.asarray(getattr(estimator, method)(X), dtype=np.float64), num_samples(X)
    if score.shape not in ((n_samples,), (n_samples, 2)):
        raise ValueError(
            f"{name}.{method} must return shape (n_samples,) or (n_samples, 2), got {score.shape} for {n_samples} "
            "samples"
        )
    if score.ndim == 2:
        score = score[:, column]
    elif column == 0:
        score = -score
    score = np.ascontiguousarray(score)
    if np.isnan(score).any():
        raise ValueError(f"{name} gave NaN scores for {int(np.isnan(score).sum())} of {score.shape[0]} samples")
    return score


def class_scores(estimator: Estimator, X: Samples, methods: Sequence[str] = DECISION_FIRST) -> Array:
    """Scores of all classes.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier of three or more classes.
    X : array-like of shape (n_samples, n_features)
        Samples.
    methods : sequence of str, default=("decision_function", "predict_proba")
        Methods that may give the scores, in order of preference.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        float64 scores in the order of ``estimator.classes_``.

    Raises
    ------
    TypeError
        If the classifier has none of the methods.
    ValueError
        If there is not one score for each sample and class, or a score is NaN.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [0.2], [1.0], [1.2], [3.0], [3.2]], list("ooaabb"))
    >>> str(model.classes_[class_scores(model, [[1.1]])[0].argmax()])
    'a'
    """
    method, name = response_method(estimator, methods), type(estimator).__name__
    if method is None:
        raise TypeError(
            f"{name} has no {' and no '.join(methods)}, so there is no score to cut; use a base that has it"
        )
    scores, n_samples = np.asarray(getattr(estimator, method)(X), dtype=np.float64), num_samples(X)
    n_classes = len(estimator.classes_)
    if scores.shape != (n_samples, n_classes):
        raise ValueError(
            f"{name}.{method} must return one score for each of its {n_classes} classes, got shape {scores.shape} for "
            f"{n_samples} samples; for sklearn.svm.SVC use decision_function_shape='ovr'"
        )
    missing = np.isnan(scores).any(axis=1)
    if missing.any():
        raise ValueError(f"{name} gave NaN scores for {int(missing.sum())} of {scores.shape[0]} samples")
    return scores


class Response(NamedTuple):
    """What a classifier says about samples in which there may be nothing to find.

    Parameters
    ----------
    decided : ndarray of bool, shape (n_samples,)
        Where it finds something by its own decision.
    score : ndarray of shape (n_samples,), default=None
        How much it believes that there is something; ``None`` where scores were not asked for.
    found : label or ndarray of shape (n_samples,), default=1
        What it finds there, wherever the score is cut.
    """

    decided: BoolArray
    score: Array | None = None
    found: Any = 1


def respond(
    estimator: Estimator, X: Samples, null: Label, *, tune: bool, methods: Sequence[str] = DECISION_FIRST
) -> Response:
    """Ask a classifier what it finds.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier of two or more classes.
    X : array-like of shape (n_samples, n_features)
        Samples.
    null : label
        Class of ``estimator.classes_`` that means nothing to find: the negative one of two.
    tune : bool
        Whether scores are wanted; then the natural cut of the score is the classifier's own decision.
    methods : sequence of str, default=("decision_function", "predict_proba")
        Methods that may give the score, in order of preference.

    Returns
    -------
    Response
        With two classes the score is that of the other class, with more see `compare`.

    Raises
    ------
    TypeError
        If scores are wanted and the classifier has none.
    ValueError
        If it has not learnt the null class and another one, there is not one answer for each sample, or one is NaN.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [0.2], [1.0], [1.2], [3.0], [3.2]], list("ooaabb"))
    >>> respond(model, [[0.0], [3.0]], "o", tune=True).found
    array(['a', 'b'], dtype='<U1')
    """
    if not tune:
        predicted, name, n_samples = np.asarray(estimator.predict(X)), type(estimator).__name__, num_samples(X)
        if predicted.shape != (n_samples,):
            raise ValueError(
                f"{name}.predict must return shape ({n_samples},), one label a sample, got {predicted.shape}"
            )
        if predicted.dtype.kind == "f" and np.isnan(predicted).any():
            missing = int(np.isnan(predicted).sum())
            raise ValueError(f"{name} predicted NaN for {missing} of {predicted.shape[0]} samples")
        return Response(predicted != null, found=predicted)
    classes = np.asarray(estimator.classes_)
    others = classes[classes != null]
    if others.size == 1:
        score, found = positive_score(estimator, X, others[0], methods), others[0]
    else:
        probabilities = response_method(estimator, methods) == "predict_proba"
        score, at = compare(
            class_scores(estimator, X, methods), null_column(estimator, null), probabilities=probabilities
        )
        found = classes[at]
    return Response(score > natural_threshold(estimator, methods), score, found)


def null_column(estimator: Estimator, null: Label) -> int:
    """Place of the null class among the classes of a fitted classifier; a ValueError where it is not one of them."""
    classes = np.asarray(estimator.classes_).tolist()
    if null not in classes:
        raise ValueError(
            f"{type(estimator).__name__} has learnt the classes {classes} without {null!r}, which means nothing to "
            "find; check that every training part has it, or stratify cv"
        )
    return classes.index(null)


def compare(scores: Array, column: int, *, probabilities: bool) -> tuple[Array, IntArray]:
    """Best class but one, and how it compares with that one.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores of all classes.
    column : int
        Column of the null class.
    probabilities : bool
        Whether the scores are probabilities.

    Returns
    -------
    score : ndarray of shape (n_samples,)
        Score f of the best other class compared with that g of the null class: ``f - g``, so that a cut of it is an
        offset on g; or ``f / (f + g)`` for probabilities, so that a cut multiplies the odds.
    best : ndarray of int, shape (n_samples,)
        Column of the best other class; of equal ones the first.

    Raises
    ------
    ValueError
        If both scores of a sample are infinite and alike.

    Examples
    --------
    >>> compare(np.array([[0.5, 0.2, 0.3]]), 0, probabilities=True)
    (array([0.375]), array([2]))
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


def moved_scores(scores: Array, column: int, threshold: float, *, probabilities: bool) -> Array:
    """Scores of all classes, that of the null class moved so that the largest one is what a threshold decides.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        Scores of all classes.
    column : int
        Column of the null class.
    threshold : float
        Cut of the score of `compare`; may be infinite.
    probabilities : bool
        Whether the scores are probabilities.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        The null class scores less than the best other one where something is found, and more elsewhere. The other
        scores are as they were.

    Examples
    --------
    >>> moved_scores(np.array([[2.0, 1.0, 0.5], [3.0, 1.0, 0.5]]), 0, -1.5, probabilities=False)
    array([[0.5, 1. , 0.5],
           [1.5, 1. , 0.5]])
    """
    score, best = compare(scores, column, probabilities=probabilities)
    something = scores[np.arange(best.size), best]
    nothing, decided = something - margin(score, threshold, True), score >= threshold
    below, above = np.nextafter(something, -np.inf), np.nextafter(something, np.inf)
    moved = scores.copy()
    moved[:, column] = np.where(decided, np.minimum(nothing, below), np.maximum(nothing, above))
    return moved


def margin(score: Array, threshold: float, positive_is_last: bool) -> Array:
    """Decision function of the rule ``score >= threshold``.

    Parameters
    ----------
    score : ndarray of shape (n_samples,)
        Scores of the positive class.
    threshold : float
        Cut; infinite thresholds keep the order of the scores.
    positive_is_last : bool
        Whether the positive class is the second of ``classes_``.

    Returns
    -------
    ndarray of shape (n_samples,)
        Above 0 exactly where the second class is predicted.

    Examples
    --------
    >>> margin(np.array([0.1, 0.3, 0.5]), 0.3, True) > 0
    array([False,  True,  True])
    """
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
