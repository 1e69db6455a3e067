"""Monotone maps from scores to probabilities, fitted on out-of-fold scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from csf._common.typing import Array, BoolArray, IntArray
from csf._common.validation import check_choice

__all__ = ["Calibrator", "ClassCalibrator", "fit_calibrator", "fit_class_calibrator"]

CALIBRATIONS = (None, "sigmoid", "isotonic")


class Calibrator(Protocol):
    """A fitted map from scores to probabilities."""

    def predict(self, score: Array, /) -> Array:
        """Probabilities of scores."""
        ...


class _Sigmoid:
    """Platt's sigmoid: logistic regression on the score alone, with targets moved off 0 and 1."""

    def fit(self, score: Array, is_pos: BoolArray, sample_weight: Array | None) -> Self:
        weight = np.ones(score.shape[0]) if sample_weight is None else sample_weight
        n_pos, n_neg = weight[is_pos].sum(), weight[~is_pos].sum()
        target = np.where(is_pos, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
        self.shift_ = np.average(score, weights=weight)
        self.scale_ = np.sqrt(np.average((score - self.shift_) ** 2, weights=weight)) or 1.0
        # A target between 0 and 1 is a positive and a negative sample that share the weight.
        self.model_ = LogisticRegression(C=np.inf, max_iter=1000).fit(
            np.tile(self._column(score), (2, 1)),
            np.repeat([1, 0], score.shape[0]),
            np.concatenate((weight * target, weight * (1.0 - target))),
        )
        return self

    def predict(self, score: Array) -> Array:
        return self.model_.predict_proba(self._column(score))[:, 1]

    @property
    def slope_(self) -> float:
        """Growth of the log-odds with the score."""
        return float(self.model_.coef_[0, 0] / self.scale_)

    def _column(self, score: Array) -> Array:
        return ((score - self.shift_) / self.scale_)[:, np.newaxis]


def fit_calibrator(
    calibration: str | None, score: Array, is_pos: BoolArray, sample_weight: Array | None
) -> Calibrator | None:
    """Fitted object whose ``predict`` turns scores into probabilities, or ``None`` for no calibration.

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
        return _Sigmoid().fit(score, is_pos, sample_weight)
    return IsotonicRegression(out_of_bounds="clip").fit(score, is_pos.astype(float), sample_weight)


class ClassCalibrator:
    """Sigmoids of the scores of several classes, one of each class against the rest, scaled to sum 1."""

    def __init__(self, calibrators: Sequence[Calibrator]) -> None:
        self.calibrators = tuple(calibrators)

    def predict(self, scores: Array) -> Array:
        """Probabilities of rows of scores; equal ones where no class has any."""
        proba = np.column_stack([one.predict(column) for one, column in zip(self.calibrators, scores.T)])
        total = proba.sum(axis=1, keepdims=True)
        return np.divide(proba, total, out=np.full_like(proba, 1.0 / proba.shape[1]), where=total > 0.0)


def fit_class_calibrator(scores: Array, codes: IntArray, weight: Array | None) -> ClassCalibrator:
    """Map from scores (n, K), of samples that the model has not been fitted to, to probabilities of the classes."""
    columns = enumerate(scores.T)
    return ClassCalibrator([_fitted("sigmoid", column, codes == code, weight) for code, column in columns])
