"""What the pooled held-out scores of all classes say of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from csf.search.pooling import failed_fields, pooled, times_of
from csf.search.waves import Said
from csf.study.classes import judged_fields
from csf.thresholding.class_store import ClassStore
from csf.thresholding.linear_rule import confusion_of, cross_fitted, tune_rule

if TYPE_CHECKING:
    from csf._common.typing import Array, Costs, IntArray
    from csf.data.folds import Fold
    from csf.metrics.confusion import ConfusionMetric
    from csf.search.fold_training import FoldResult

__all__ = ["ClassJudge"]


class ClassJudge:
    """Judges trials of classes that are all alike; ``margins`` says that scores are no probabilities."""

    def __init__(self, metric: ConfusionMetric, n_classes: int, *, margins: bool, tune: bool) -> None:
        self.metric, self.n_classes, self.margins, self.tune = metric, n_classes, margins, tune

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> ClassStore:
        """Store of held-out scores."""
        self._store = ClassStore(
            truth, weight, n_classes=self.n_classes, margins=self.margins, samples=samples, max_bytes=max_bytes
        )
        return self._store

    def judge(self, folds: list[Fold], results: list[FoldResult], costs: Costs) -> tuple[Any, Said | None]:
        """Fields of the trial, and what it says about the entries."""
        failed = failed_fields(results)
        if failed is not None:
            return failed, None
        store, decided = self._store, pooled([result.decided for result in results])
        own, tuned, judged, score, codes = self._confusion(decided), None, None, None, None
        if self.tune:
            score = np.ascontiguousarray(pooled([result.score for result in results]), dtype=np.float32)
            proba = store.probabilities(score, costs)
            rule = tune_rule(proba, store.truth, self.metric, weight=store.weight)
            codes = cross_fitted(proba, store.truth, self.metric, store.parts(score), weight=store.weight)
            tuned, judged = self._confusion(rule.decide(proba)), self._confusion(codes)
        fields = {
            **judged_fields(self.metric, own, tuned, judged),
            "fold_scores": tuple(self._fold_score(fold, result) for fold, result in zip(folds, results)),
            **times_of(results),
        }
        return fields, Said(score, decided, codes)

    def _confusion(self, decided: IntArray) -> Array:
        return confusion_of(self._store.truth, decided, self.n_classes, self._store.weight)

    def _fold_score(self, fold: Fold, result: FoldResult) -> float | None:
        """Metric of the own decision in one fold; ``None`` where nothing weighs there."""
        if fold.weight_test is not None and not fold.weight_test.any():
            return None
        assert result.decided is not None, "failed trainings are left out before"
        confusion = confusion_of(fold.y_test, result.decided, self.n_classes, fold.weight_test)
        return float(self.metric.value(confusion))
