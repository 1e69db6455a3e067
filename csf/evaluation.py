"""Splits, trainings on them, and what the pooled held-out predictions say."""

import time
import traceback
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from csf._validation import safe_indexing, slice_params
from csf.hull import Hull
from csf.profiles import ErrorProfile
from csf.responses import decides_positive, natural_threshold, positive_score
from csf.thresholding import sweep
from csf.trials import known_hull, outcome

__all__ = [
    "Fold",
    "FoldResult",
    "bound_share",
    "evaluate",
    "make_folds",
    "pooled_outcome",
    "predict",
    "run_fold",
]


class Fold(NamedTuple):
    """Slices of one split; made once, shared by all trials."""

    X_train: object
    y_train: np.ndarray
    weight_train: np.ndarray | None
    fit_params: dict
    X_test: object
    y_test: np.ndarray
    weight_test: np.ndarray | None

    @property
    def training_part(self):
        """``(X, y, sample_weight, fit_params)`` to train on."""
        return self[:4]


@dataclass(frozen=True)
class FoldResult:
    """What one training on one fold gave.

    Parameters
    ----------
    decided : ndarray of bool, shape (n_test,)
        The model's own decision on the held-out samples.
    score : ndarray of shape (n_test,), default=None
        Scores of the held-out samples, where thresholds are tuned.
    train_outcome : tuple of (ErrorProfile, Hull), default=None
        Own decision and known profiles on the training samples, where bounds read those.
    fit_time, score_time : float
        Seconds.
    error : str, default=None
        Traceback of a failure; then nothing else is set.
    """

    decided: np.ndarray | None = None
    score: np.ndarray | None = None
    train_outcome: tuple | None = None
    fit_time: float = 0.0
    score_time: float = 0.0
    error: str | None = None


def make_folds(X, y, sample_weight, splits, fit_params=None):
    """Slices of the data for each split.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Targets, 1 for the positive class and 0 for the other.
    sample_weight : ndarray of shape (n_samples,) or None
        The user's weights.
    splits : list of tuple of ndarray
        Train and test indices.
    fit_params : dict, default=None
        Arguments of the base's ``fit``; those with one entry a sample are sliced too.

    Returns
    -------
    list of Fold
        In the order of the splits.
    """

    def part(values, at):
        return None if values is None else values[at]

    return [
        Fold(
            safe_indexing(X, train),
            y[train],
            part(sample_weight, train),
            slice_params(fit_params or {}, train, y.shape[0]),
            safe_indexing(X, test),
            y[test],
            part(sample_weight, test),
        )
        for train, test in splits
    ]


def run_fold(trainer, fold, costs, *, tune, on_train, raise_errors):
    """Train on one fold and predict its held-out samples.

    Parameters
    ----------
    trainer : GenericTrainer or alike
        Holds the base and the training part of the fold.
    fold : Fold
        The held-out part.
    costs : tuple of float
        ``(c_fn, c_fp)``.
    tune : bool
        Whether scores are needed, or the base's own predictions.
    on_train : bool
        Whether bounds read the training part.
    raise_errors : bool
        Whether an error of the base is raised or recorded.

    Returns
    -------
    FoldResult
        Predictions, or the error.
    """
    try:
        start = time.perf_counter()
        model = trainer.fit(costs)
        fitted = time.perf_counter()
        decided, score = predict(model, fold.X_test, 1, tune=tune)
        train_outcome = None
        if on_train:
            train_decided, train_score = predict(model, fold.X_train, 1, tune=tune)
            is_pos, weight = fold.y_train == 1, fold.weight_train
            profile = ErrorProfile.from_masks(is_pos, train_decided, sample_weight=weight)
            curve = sweep(is_pos, train_score, weight) if tune else None
            train_outcome = profile, known_hull(profile, curve)
        return FoldResult(decided, score, train_outcome, fitted - start, time.perf_counter() - fitted)
    except Exception:
        if raise_errors:
            raise
        return FoldResult(error=traceback.format_exc())


def predict(model, X, pos_label, *, tune):
    """Own decision, and the scores where thresholds are tuned (then the natural cut is the own decision)."""
    if not tune:
        return decides_positive(model, X, pos_label), None
    score = positive_score(model, X, pos_label)
    return score > natural_threshold(model), score


def pooled_outcome(metric, folds, results, *, tune):
    """Fields of a trial from the pooled held-out predictions of all folds.

    Parameters
    ----------
    metric : Metric
        What is maximised.
    folds : list of Fold
        The folds.
    results : list of FoldResult
        What each fold gave, in the same order.
    tune : bool
        Whether the threshold is tuned on the pooled scores.

    Returns
    -------
    dict
        Fields of a complete or failed `Trial`.
    """
    times = {
        "fit_time": sum(result.fit_time for result in results),
        "score_time": sum(result.score_time for result in results),
    }
    errors = [result.error for result in results if result.error is not None]
    if errors:
        return {"error": errors[0], **times}
    fields = evaluate(
        metric,
        np.concatenate([fold.y_test for fold in folds]) == 1,
        np.concatenate([result.decided for result in results]),
        np.concatenate([result.score for result in results]) if tune else None,
        None if folds[0].weight_test is None else np.concatenate([fold.weight_test for fold in folds]),
    )
    fields["fold_scores"] = tuple(
        _fold_score(metric, fold, result, fields["threshold"]) for fold, result in zip(folds, results)
    )
    if results[0].train_outcome is not None:
        fields |= _train_fields(metric, folds, results)
    return fields | times


def evaluate(metric, is_pos, decided, score, weight):
    """Fields of a trial from decisions and scores (or ``None``) on one data set."""
    profile = ErrorProfile.from_masks(is_pos, decided, sample_weight=weight)
    curve = None if score is None else sweep(is_pos, score, weight)
    cut = None if curve is None else curve.best(metric, metric.constraint)
    return outcome(metric, profile, hull=known_hull(profile, curve), cut=cut)


def _fold_score(metric, fold, result, threshold):
    """Metric of one fold at the pooled threshold; ``None`` where the fold lacks a class."""
    is_pos = fold.y_test == 1
    counted = is_pos if fold.weight_test is None else is_pos[fold.weight_test > 0]
    if counted.all() or not counted.any():
        return None
    predicted = result.decided if threshold is None else result.score >= threshold
    return metric.of(ErrorProfile.from_masks(is_pos, predicted, sample_weight=fold.weight_test))


def _train_fields(metric, folds, results):
    """What the bounds read where they read the training parts: the mean over folds."""
    sizes = np.array([f.y_train.size if f.weight_train is None else f.weight_train.sum() for f in folds], dtype=float)
    shares = sizes / sizes.sum()
    profiles, hulls = zip(*(result.train_outcome for result in results))
    profile = ErrorProfile(
        *(float(np.dot(shares, [getattr(p, name) for p in profiles])) for name in ("fn", "fp", "pos"))
    )
    fields = outcome(metric, profile, hull=Hull.mean(hulls, shares))
    return {name: fields[name] for name in ("profile", "value", "attained", "hull")}


def bound_share(folds, *, on_train):
    """Share of positives in the data that the bounds read: all held-out parts, or the training parts."""
    parts = [(f.y_train, f.weight_train) if on_train else (f.y_test, f.weight_test) for f in folds]
    total = float(sum(y.size if weight is None else weight.sum() for y, weight in parts))
    positive = float(sum(y.sum() if weight is None else weight[y == 1].sum() for y, weight in parts))
    if not 0.0 < positive < total:
        raise ValueError(
            f"the {'training' if on_train else 'held-out'} parts of cv hold a weight of {positive:g} in the positive "
            f"class of {total:g} in all; both classes are needed. Use a stratified splitter"
        )
    return positive / total
