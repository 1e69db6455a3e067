"""Fitted classifiers of several labels with their thresholds, as one object that predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.multiclass import OneVsRestClassifier

from csf._common.sklearn import clone
from csf._common.validation import check_weights
from csf.data.costs import assembled
from csf.data.labels import read_codes
from csf.thresholding.curve import sweep
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from csf._common.typing import Array, Estimator, Samples
    from csf.thresholding import ThresholdCurve

__all__ = ["LabelsRule"]


@dataclass(frozen=True, eq=False)
class LabelsRule:
    """The rule of each label; ``threshold`` is that of all of them, or has one for each."""

    rules: tuple[ThresholdRule, ...]
    threshold: Any

    @classmethod
    def of(cls, estimators: list[Estimator], *, threshold: float | None, **options: Any) -> Self:
        """Rule of estimators that share a threshold; see `ThresholdRule.of`."""
        rules = tuple(ThresholdRule.of(each, threshold=threshold, **options) for each in estimators)
        return cls(rules, rules[0].threshold)

    @property
    def estimator(self) -> OneVsRestClassifier:
        """The estimators in one of scikit-learn's classifiers of several labels."""
        estimators = [rule.estimator for rule in self.rules]
        return assembled(OneVsRestClassifier(clone(estimators[0])), np.eye(len(estimators), dtype=np.int64), estimators)

    @property
    def _each(self) -> list[ThresholdRule]:
        thresholds = np.broadcast_to(np.asarray(self.threshold, dtype=object), len(self.rules))
        return [replace(rule, threshold=threshold) for rule, threshold in zip(self.rules, thresholds)]

    def predict(self, X: Samples) -> Array:
        """1 where a sample has a label, else 0."""
        return np.column_stack([rule.predict(X) for rule in self._each]).astype(np.int64, copy=False)

    def score_samples(self, X: Samples) -> Array:
        """The scores that the thresholds are for."""
        return np.column_stack([rule.score_samples(X) for rule in self.rules])

    def decision_function(self, X: Samples) -> Array:
        """Distances of the scores from their thresholds, above 0 where a label is found."""
        return np.column_stack([rule.decision_function(X) for rule in self._each])

    def predict_proba(self, X: Samples) -> Array:
        """Probabilities of the labels, with the costs taken out again."""
        return np.column_stack([rule.predict_proba(X)[:, 1] for rule in self.rules])

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """All thresholds that labels share, judged on all pairs of a sample and a label."""
        if np.ndim(self.threshold):
            raise ValueError("each label has a threshold of its own; ask searches_[k].threshold_curve for that of one")
        truth = read_codes(y, len(self.rules))
        weight = check_weights(sample_weight, truth.shape[0])
        scores = self.score_samples(X)
        return sweep(truth.ravel() > 0, scores.ravel(), None if weight is None else np.repeat(weight, truth.shape[1]))
