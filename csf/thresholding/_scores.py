"""From a model and data to scores of the positive class, and from scores to decisions."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from csf._validation import num_samples, safe_indexing

__all__ = ["RESPONSE_METHODS", "check_numbers", "fold_scores", "margin", "positive_score", "weight_argument"]

RESPONSE_METHODS = ("predict_proba", "decision_function")


def weight_argument(base):
    """Name of the argument of the base's ``fit`` that takes sample weights, or ``None``."""
    prefix = ""
    while isinstance(base, Pipeline):
        name, base = base.steps[-1]
        prefix += f"{name}__"
    return f"{prefix}sample_weight" if has_fit_parameter(base, "sample_weight") else None


def fold_scores(model, X, y, train, test, fit_params, response_methods, pos_label):
    """Fit to one part, score another."""
    model.fit(
        safe_indexing(X, train),
        safe_indexing(y, train),
        **{name: _part(value, train, y.shape[0]) for name, value in fit_params.items()},
    )
    return positive_score(model, safe_indexing(X, test), response_methods, pos_label)


def _part(value, train, n_samples):
    """Rows of an argument that has one entry for each sample; anything else as it is."""
    try:
        per_sample = not isinstance(value, str) and num_samples(value) == n_samples
    except TypeError:
        return value
    return safe_indexing(value, train) if per_sample else value


def positive_score(model, X, response_methods, pos_label):
    """Score of the positive class as float64: a column of probabilities, or the decision function."""
    name = next((name for name in response_methods if hasattr(model, name)), None)
    if name is None:
        raise TypeError(
            f"{type(model).__name__} has no {' and no '.join(response_methods)}, so there is no score to cut; use a "
            "base that has it, or, for probabilities, calibration='sigmoid' or 'isotonic'"
        )
    classes = list(model.classes_)
    if len(classes) != 2 or pos_label not in classes:
        raise ValueError(
            f"{type(model).__name__} has learnt the classes {classes}, but both classes are needed, with "
            f"pos_label={pos_label!r}; check that every training fold has both, or stratify cv"
        )
    column = classes.index(pos_label)
    score = np.asarray(getattr(model, name)(X))
    if score.ndim == 2 and score.shape[1] == 2:
        score = score[:, column]
    elif column == 0:
        score = -score
    return np.ascontiguousarray(score, dtype=np.float64).reshape(-1)


def margin(score, threshold, positive_is_last):
    """Decision function of the rule ``score >= threshold``; of its opposite where the positive class comes first."""
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


def check_numbers(score, base):
    if np.isnan(score).any():
        raise ValueError(f"{type(base).__name__} gave NaN scores for {int(np.isnan(score).sum())} samples")
