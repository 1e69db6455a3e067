"""Rule of several labels per sample: each label has its own rule, or all share a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.multiclass import OneVsRestClassifier

from csf._common.sklearn import clone
from csf._common.typing import Label
from csf._common.validation import check_weights
from csf.data.costs import assembled
from csf.data.labels import read_codes
from csf.evaluate.label_means import LabelledSamples
from csf.metrics.averages import Averaged
from csf.metrics.registry import get_label_metric
from csf.thresholding.alerts import NO_LIMITS, AlertLimits, of_positive
from csf.thresholding.base import DecisionRule
from csf.thresholding.batch import places_limited
from csf.thresholding.curve import ValuedCurve, sweep
from csf.thresholding.rule import ThresholdRule

if TYPE_CHECKING:
    from csf._common.typing import Array, BoolArray, Estimator, Samples
    from csf.thresholding.curve import ThresholdCurve


@dataclass(frozen=True, eq=False)
class MultilabelRule(DecisionRule):
    """Rules of all labels; ``threshold`` is one that they share, or has one for each."""

    rules: tuple[ThresholdRule, ...]
    threshold: Any
    names: Sequence[Label] = ()
    # A mean over samples.
    aim: Averaged | None = None

    in_words = f"each label by its own rule, on a column of the scores of its own estimator: {ThresholdRule.in_words}"
    review_in_words = ThresholdRule.review_in_words

    @property
    def more_than_threshold(self) -> str:
        """Several labels."""
        return f"{len(self.rules)} labels a sample"

    @property
    def score_names(self) -> Sequence[Label]:
        """Labels."""
        return self.label_names

    def on_scores(self) -> Self:
        """Return the rule for samples with the scores of each label's estimator, of probabilities that of class 1."""
        rules = tuple(rule.on_scores(column) for column, rule in enumerate(self.by_label))
        return replace(self, rules=rules, threshold=tuple(rule.threshold for rule in rules), aim=None)

    @classmethod
    def of(
        cls, estimators: list[Estimator], *, threshold: float | None, aim: Averaged | None = None, **options: Any
    ) -> Self:
        """Create the rule of estimators that share a threshold; see `ThresholdRule.of`."""
        rules = tuple(ThresholdRule.of(estimator, threshold=threshold, **options) for estimator in estimators)
        return cls(rules, rules[0].threshold, aim=aim)

    @property
    def label_names(self) -> Sequence[Label]:
        """Names of the labels, or their places."""
        return self.names or range(len(self.rules))

    @property
    def estimator(self) -> OneVsRestClassifier:
        """Estimators of all labels, in a classifier of scikit-learn for several labels."""
        estimators = [rule.estimator for rule in self.rules]
        return assembled(OneVsRestClassifier(clone(estimators[0])), np.eye(len(estimators), dtype=np.int64), estimators)

    @property
    def by_label(self) -> list[ThresholdRule]:
        """Rule of each label, with its threshold."""
        thresholds = np.broadcast_to(np.asarray(self.threshold, dtype=object), len(self.rules))
        return [replace(rule, threshold=threshold) for rule, threshold in zip(self.rules, thresholds)]

    def predict(self, X: Samples) -> Array:
        """Predict 1 where a sample has a label, else 0."""
        return np.column_stack([rule.predict(X) for rule in self.by_label]).astype(np.int64, copy=False)

    def predict_within(self, X: Samples, at_most: object = None, wrong: AlertLimits = NO_LIMITS) -> Array:
        """Predict with limits by label."""
        limits = {} if at_most is None else places_limited(at_most, self.label_names, "label")
        columns = [
            rule.predict_within(X, limits.get(label), of_positive(wrong, label))
            if label in limits or label in wrong
            else rule.predict(X)
            for label, rule in enumerate(self.by_label)
        ]
        return np.column_stack(columns).astype(np.int64, copy=False)

    def value(self, metric: Any, y: ArrayLike, predicted: Array, sample_weight: ArrayLike | None) -> float:
        """Compute a metric of predicted labels."""
        truth = read_codes(y, self.label_names)
        return get_label_metric(metric).of(truth, predicted, check_weights(sample_weight, truth.shape[0]))

    def score_samples(self, X: Samples) -> Array:
        """Compute the scores that the thresholds are for."""
        return np.column_stack([rule.score_samples(X) for rule in self.rules])

    def decision_function(self, X: Samples) -> Array:
        """Compute the distances of the scores from their thresholds, positive where a label is predicted."""
        return np.column_stack([rule.decision_function(X) for rule in self.by_label])

    def predict_proba(self, X: Samples) -> Array:
        """Predict the probabilities of the labels, with the costs taken out again."""
        return np.column_stack([rule.predict_proba(X)[:, 1] for rule in self.rules])

    def curve(self, X: Samples, y: ArrayLike, sample_weight: ArrayLike | None = None) -> ThresholdCurve:
        """Evaluate all thresholds that labels share, on all pairs of a sample and a label."""
        if np.ndim(self.threshold):
            raise ValueError("each label has a threshold of its own; ask searches_[k].threshold_curve for that of one")
        truth = read_codes(y, self.label_names)
        weight = check_weights(sample_weight, truth.shape[0])
        weight = None if weight is None else np.repeat(weight, truth.shape[1])
        pairs = truth.ravel() > 0, self.score_samples(X).ravel(), weight
        curve = sweep(*pairs)
        return curve if self.aim is None else with_means(curve, *pairs, n_labels=len(self.rules), aim=self.aim)


def with_means(
    pairs: ThresholdCurve, truth: BoolArray, score: Array, weight: Array | None, *, n_labels: int, aim: Averaged
) -> ValuedCurve:
    """Add the mean F-beta over samples at each threshold to the curve of pairs of a sample and a label."""
    ordered, values = LabelledSamples(truth, n_labels, aim).cumulated(score, weight)
    place = np.searchsorted(-ordered, -pairs.lowest_score, side="right")
    return ValuedCurve(pairs.lowest_score, pairs.fn, pairs.fp, pairs.pos, values[place], pairs)
