"""Scores and decisions of fitted classifiers."""

import numpy as np

__all__ = ["decides_positive", "natural_threshold", "positive_score", "response_method"]


def response_method(estimator):
    """Method that gives the scores of a classifier.

    Parameters
    ----------
    estimator : estimator
        Classifier, fitted or not.

    Returns
    -------
    str or None
        ``"decision_function"`` where there is one (its scores do not saturate), else ``"predict_proba"``, else
        ``None``.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> response_method(LinearSVC())
    'decision_function'
    """
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            return method
    return None


def natural_threshold(estimator):
    """Score above which a classifier predicts its second class by itself: 0 for decisions, 0.5 for probabilities."""
    return 0.5 if response_method(estimator) == "predict_proba" else 0.0


def positive_score(estimator, X, pos_label):
    """Scores that grow with the belief in the positive class.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier of two classes.
    X : array-like of shape (n_samples, n_features)
        Samples.
    pos_label : label
        Positive class, one of ``estimator.classes_``.

    Returns
    -------
    ndarray of shape (n_samples,)
        float64 scores.

    Raises
    ------
    ValueError
        If the classifier has no scores of two classes, or a score is NaN.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> bool(positive_score(model, [[1.0]], "yes")[0] == -positive_score(model, [[1.0]], "no")[0])
    True
    """
    method = response_method(estimator)
    name = type(estimator).__name__
    if method is None:
        raise ValueError(f"{name} has neither decision_function nor predict_proba, so there is no score to cut")
    classes = list(estimator.classes_)
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(f"{name} was fitted on classes {classes}, expected two with {pos_label!r} among them")
    score = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    if method == "predict_proba":
        score = score[:, classes.index(pos_label)]
    elif score.ndim != 1:
        raise ValueError(f"{name}.decision_function must return shape (n_samples,), got {score.shape}")
    elif classes.index(pos_label) == 0:
        score = -score
    if np.isnan(score).any():
        raise ValueError(f"{name} predicted NaN for {int(np.isnan(score).sum())} of {score.shape[0]} samples")
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
        raise ValueError(f"{type(estimator).__name__} predicted NaN for {int(np.isnan(predicted).sum())} samples")
    return predicted == pos_label
