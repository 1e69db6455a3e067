"""Scores and decisions of fitted classifiers."""

import numpy as np

__all__ = ["DECISION_FIRST", "decides_positive", "margin", "natural_threshold", "positive_score", "response_method"]

# Decisions do not saturate, probabilities do: the finer score comes first.
DECISION_FIRST = ("decision_function", "predict_proba")


def response_method(estimator, methods=DECISION_FIRST):
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


def natural_threshold(estimator):
    """Score above which a classifier predicts its second class by itself: 0 for decisions, 0.5 for probabilities."""
    return 0.5 if response_method(estimator) == "predict_proba" else 0.0


def positive_score(estimator, X, pos_label, methods=DECISION_FIRST):
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
        If it has not learnt two classes, or a score is NaN.

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
    score = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    if score.ndim == 2 and score.shape[1] == 2:
        score = score[:, column]
    elif column == 0:
        score = -score
    score = np.ascontiguousarray(score)
    if score.ndim != 1:
        raise ValueError(f"{name}.{method} must return shape (n_samples,) or (n_samples, 2), got {score.shape}")
    if np.isnan(score).any():
        raise ValueError(f"{name} gave NaN scores for {int(np.isnan(score).sum())} of {score.shape[0]} samples")
    return score


def decides_positive(estimator, X, pos_label):
    """Which samples a classifier predicts positive by its own decision.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    X : array-like of shape (n_samples, n_features)
        Samples.
    pos_label : label
        Positive class.

    Returns
    -------
    ndarray of bool, shape (n_samples,)
        ``True`` where ``estimator.predict`` gives ``pos_label``.

    Raises
    ------
    ValueError
        If a prediction is NaN.
    """
    predicted = np.asarray(estimator.predict(X))
    if predicted.dtype.kind == "f" and np.isnan(predicted).any():
        name, missing = type(estimator).__name__, int(np.isnan(predicted).sum())
        raise ValueError(f"{name} predicted NaN for {missing} of {predicted.shape[0]} samples")
    return predicted == pos_label


def margin(score, threshold, positive_is_last):
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
