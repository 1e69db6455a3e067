"""A fitted classifier, which of its scores is meant, and the threshold on that score: one object that predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from csf._common.typing import Array, BoolArray, Costs, Estimator, Label, Samples
from csf._common.validation import check_class_weights, check_labels
from csf.data.costs import problem_probabilities
from csf.data.responses import (
    above,
    class_scores,
    margin,
    moved_scores,
    natural_threshold,
    null_column,
    respond,
    response_method,
)
from csf.thresholding.multiclass_sweep import sweep_several

if TYPE_CHECKING:
    from csf.thresholding._calibration import Calibrator
    from csf.thresholding.curve import ThresholdCurve

__all__ = ["ThresholdRule"]


@dataclass(frozen=True, eq=False)
class ThresholdRule:
    """Predicts with a fitted classifier and a threshold on one of its scores.

    A threshold has no meaning without the score that it was chosen on: a margin of 0.3 is no probability of 0.3. So the
    two are kept together, wherever the search ran and wherever the classifier goes.

    Parameters
    ----------
    estimator : estimator
        Fitted classifier.
    known : ndarray of shape (n_classes,)
        Its classes, ascending.
    names : ndarray of shape (n_classes,)
        What the user calls them.
    null : label
        The user's name of the class of nothing to find, the negative one of two.
    method : str or None
        Method of the estimator that gives the score, ``"decision_function"`` or ``"predict_proba"``; ``None`` for one
        without scores.
    threshold : float or None
        Something is found where the score is at least this; the natural threshold where it is not ``tuned``.
    tuned : bool
        Whether the threshold decides, or the classifier itself.
    costs : tuple of float
        Costs ``(c_fn, c_fp)`` of its training, which are taken out of its probabilities.
    one_vs_rest : bool
        Whether these are costs of each problem of a OneVsRestClassifier by itself.
    calibrator : Calibrator, default=None
        What makes the score with the threshold of the classifier's own.
    """

    estimator: Estimator
    known: Array
    names: Array
    null: Label
    method: str | None
    threshold: float | None
    tuned: bool = True
    costs: Costs = (1.0, 1.0)
    one_vs_rest: bool = False
    calibrator: Calibrator | None = None

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        *,
        known: Array,
        names: Array,
        null: Label,
        threshold: float | None,
        method: str | None = None,
        **more: Any,
    ) -> ThresholdRule:
        """Rule of an estimator; its first score and the natural threshold of that where none is given."""
        method = response_method(estimator) if method is None else method
        if threshold is None and method is not None:
            threshold = natural_threshold(estimator, (method,))
        return cls(estimator, known, names, null, method, threshold, **more)

    @property
    def cut(self) -> float:
        """Threshold of the rule ``score >= cut`` that decides as this one does."""
        if self.threshold is None:
            raise TypeError(f"{type(self.estimator).__name__} has no scores; export best_estimator_ itself")
        return self.threshold if self.tuned else above(self.threshold)

    @property
    def known_null(self) -> Label:
        """What the estimator calls the class of nothing to find."""
        return self.known[self.names.tolist().index(self.null)]

    def scored(self, X: Samples) -> tuple[Array, Array]:
        """What would be found in each sample, in the user's labels, and the score that the threshold is for."""
        methods = () if self.method is None else (self.method,)
        answer = respond(self.estimator, X, self.known_null, tune=True, methods=methods)
        assert answer.score is not None, "they were asked for"
        score = answer.score if self.calibrator is None else self.calibrator.predict(answer.score)
        return self._named(answer.found), score

    def _named(self, found: Any) -> Array:
        return self.names[np.searchsorted(self.known, found)]

    def predict(self, X: Samples) -> Array:
        """The user's labels."""
        if self.tuned:
            found, score = self.scored(X)
            decided: BoolArray = score >= self.threshold
        else:
            answer = respond(self.estimator, X, self.known_null, tune=False)
            found, decided = self._named(answer.found), answer.decided
        return np.where(decided, found, self.null).astype(self.names.dtype, copy=False)

    def score_samples(self, X: Samples) -> Array:
        """The score that the threshold is for."""
        return self.scored(X)[1]

    def decision_function(self, X: Samples) -> Array:
        """Distance of the score from the threshold, or the scores of several classes with that of the null class moved.

        Both say what `predict` does: above 0 where the second of the sorted labels is predicted, or the largest one.
        """
        if self.names.shape[0] == 2:
            return margin(self.score_samples(X), self.cut, np.sort(self.names)[0] == self.null)
        assert self.method is not None, "several classes have scores"
        scores, column = class_scores(self.estimator, X, (self.method,)), null_column(self.estimator, self.known_null)
        return self._ordered(moved_scores(scores, column, self.cut, probabilities=self.method == "predict_proba"))

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the sorted labels, with the costs taken out again."""
        c_fn, c_fp = self.costs
        if self.one_vs_rest and c_fn != c_fp:
            proba = problem_probabilities(self.estimator, X, (c_fn, c_fp))
        else:
            proba = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
            proba = proba / np.where(self.known == self.known_null, c_fp, c_fn)
        total = proba.sum(axis=1, keepdims=True)
        return self._ordered(np.divide(proba, total, out=proba, where=total > 0.0))

    def _ordered(self, columns: Array) -> Array:
        """Columns in the order of the sorted labels."""
        return columns[:, np.argsort(self.names)]

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """All thresholds of the score on labelled samples."""
        labels, classes = check_labels(y)
        if not np.isin(classes, self.names).all():
            raise ValueError(f"y holds the labels {classes.tolist()}, the search knows {np.sort(self.names).tolist()}")
        (found, score), is_pos = self.scored(X), labels != self.null
        weight = check_class_weights(sample_weight, is_pos)
        return sweep_several(is_pos, is_pos & (labels != found), score, weight)
