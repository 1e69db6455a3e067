"""Labels of several classes that are all alike, and the linear rule that is learnt about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.typing import Array, Estimator, IntArray, Samples
from csf.data.responses import response_method
from csf.metrics.base import rank
from csf.resampling import seed_of
from csf.thresholding._calibration import ClassCalibrator, fit_class_calibrator
from csf.thresholding.class_choice import Candidate, ClassQuestion
from csf.thresholding.class_rule import RuleOfClasses, aligned_scores
from csf.thresholding.class_store import ClassRow, ClassStore
from csf.thresholding.linear_rule import LinearRule, confusion_of, cross_fitted, tune_rule

if TYPE_CHECKING:
    from csf.metrics.confusion import ConfusionMetric
    from csf.thresholding._pooled import Pooled

__all__ = ["SeveralClasses"]

# The only candidate: a tuned rule is what was asked for.
_RULE = Candidate((0, 0), True)


@dataclass(frozen=True)
class SeveralClasses:
    """A target of three or more classes: a linear rule of their probabilities is learnt."""

    classes: Array
    truth: IntArray
    metric: ConfusionMetric

    def check(self, truth: Array, weight: Array | None, owner: str) -> None:
        """See `csf.thresholding._pooled.Target`."""
        missing = np.bincount(truth, weights=weight, minlength=self.classes.shape[0]) <= 0.0
        if missing.any():
            raise ValueError(
                f"{owner} leaves no sample of positive weight of {self.classes[missing].tolist()}; all of the classes "
                f"{self.classes.tolist()} are needed"
            )

    def read(self, estimator: Estimator, X: Samples, *, methods: Sequence[str]) -> Array:
        """Scores of all classes; a class that the estimator has not learnt has the lowest one."""
        known = np.asarray(estimator.classes_)
        if not np.isin(known, self.classes).all():
            raise ValueError(
                f"{type(estimator).__name__} has learnt the classes {known.tolist()}, but y holds "
                f"{self.classes.tolist()}; give samples of all of them"
            )
        return aligned_scores(estimator, X, np.searchsorted(self.classes, known), self.classes.shape[0], methods)

    def learn(self, model: Any, pooled: Pooled) -> None:
        """Find the rule."""
        model.rule_, model.calibrator_, model.confusion_ = self._tuned(model, pooled)
        model.best_score_ = float(self.metric.value(model.confusion_))
        model._keep_scores(
            self._store(model, pooled), ClassQuestion(self.metric, _RULE, seed_of(model.random_state), False)
        )

    def _store(self, model: Any, pooled: Pooled) -> ClassStore:
        """Held-out scores, and what rules decide about samples that they were not tuned on."""
        n_classes, weight = self.classes.shape[0], pooled.sample_weight
        options = {"n_classes": n_classes, "margins": model.calibrator_ is not None, "samples": pooled.samples}
        store = ClassStore(pooled.truth, weight, **options)
        score, costs = np.ascontiguousarray(pooled.score, dtype=np.float32), (1.0,) * n_classes
        proba = store.probabilities(score, costs)
        codes = cross_fitted(proba, pooled.truth, self.metric, store.parts(score), weight=weight)
        decided = score.argmax(axis=1).astype(codes.dtype)
        store.put(ClassRow(_RULE.key, score, decided, codes, costs, model.best_score_))
        return store

    def rank(self, model: Any, pooled: Pooled) -> tuple[float, ...]:
        """That of the tuned rule."""
        return rank(0.0, float(self.metric.value(self._tuned(model, pooled)[2])))

    def _tuned(self, model: Any, pooled: Pooled) -> tuple[LinearRule, ClassCalibrator | None, Array]:
        """Rule, what makes the probabilities that it reads, and the confusion matrix of its decisions."""
        proba, weight, calibrator = pooled.score, pooled.sample_weight, None
        if response_method(model.base, model._response_methods()) != "predict_proba":
            calibrator = fit_class_calibrator(pooled.score, pooled.truth, weight)
            proba = calibrator.predict(pooled.score)
        rule = tune_rule(proba, pooled.truth, self.metric, weight=weight)
        confusion = confusion_of(pooled.truth, rule.decide(proba), self.classes.shape[0], weight)
        return rule, calibrator, confusion

    def rule(self, model: Any) -> RuleOfClasses:
        """The rule with what it reads."""
        known = np.asarray(model.estimator_.classes_)
        return RuleOfClasses(model.estimator_, self.classes, known, model.rule_, calibrator=model.calibrator_)
