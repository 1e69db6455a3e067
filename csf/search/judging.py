"""What the pooled held-out predictions of all folds show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from csf._common.messages import warn
from csf._common.typing import BoolArray
from csf.data.folds import pool_held_out
from csf.evaluate import ScoreStore
from csf.evaluate.trials import known_hull, outcome
from csf.metrics.hull import Hull
from csf.metrics.profile import ErrorProfile
from csf.search.class_study import judged_fields
from csf.search.training import HeldOutPredictions
from csf.thresholds.class_choice import ClassStore
from csf.thresholds.curve import sweep_several
from csf.thresholds.linear_rule import confusion_of, cross_fitted, tune_rule

if TYPE_CHECKING:
    from csf._common.typing import Array, IntArray
    from csf.data.folds import Fold
    from csf.data.responses import Response
    from csf.evaluate.trials import FailedFields, OutcomeFields, Trial
    from csf.metrics.base import Metric
    from csf.metrics.confusion import ConfusionMetric
    from csf.search.training import FoldResult

__all__ = [
    "ClassJudge",
    "Judge",
    "ThresholdJudge",
    "evaluate",
    "failed_fields",
    "pooled",
    "times_of",
    "warn_of_one_side",
]

# ---------------------------------------------------------------- what judges share


class Judge(ABC):
    """Says what the trainings of a trial on all folds come to; ``tune`` is whether it reads scores."""

    tune: bool

    @abstractmethod
    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> Any:
        """Store of held-out scores."""

    def judge(
        self, folds: list[Fold], results: list[FoldResult], trial: Trial
    ) -> tuple[Any, HeldOutPredictions | None]:
        """Fields of the trial, and what it predicts for the entries; ``None`` where a training failed."""
        failed = failed_fields(results)
        if failed is not None:
            return failed, None
        fields, predictions = self._judged(folds, results, trial)
        return {**fields, **times_of(results)}, predictions

    @abstractmethod
    def _judged(
        self, folds: list[Fold], results: list[FoldResult], trial: Trial
    ) -> tuple[dict[str, Any], HeldOutPredictions]:
        """Fields but times, and predictions, where no training failed."""


def failed_fields(results: list[FoldResult]) -> FailedFields | None:
    """Fields of a failed trial, ``None`` where no training failed."""
    errors = [result.error for result in results if result.error is not None]
    if not errors:
        return None
    fit_time, score_time = (sum(getattr(result, name) for result in results) for name in ("fit_time", "score_time"))
    return {"error": errors[0], "fit_time": fit_time, "score_time": score_time}


def times_of(results: list[FoldResult]) -> dict[str, Any]:
    """Fields of a complete trial that its trainings tell by themselves."""
    gaps = [result.duality_gap for result in results if result.duality_gap is not None]
    return {
        "duality_gap": max(gaps) if len(gaps) == len(results) else None,
        "fit_time": sum(result.fit_time for result in results),
        "score_time": sum(result.score_time for result in results),
    }


def pooled(parts: list[Any]) -> Any:
    """What the folds give, one after the other; a single fold is taken as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


# ---------------------------------------------------------------- two classes


class ThresholdJudge(Judge):
    """Judges trials of two classes, or of several beside a null class, whose score has a threshold."""

    def __init__(self, metric: Metric, *, tune: bool) -> None:
        self.metric, self.tune = metric, tune

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> ScoreStore:
        """Store of held-out scores."""
        return ScoreStore(truth > 0, weight, samples=samples, max_bytes=max_bytes)

    def _judged(
        self, folds: list[Fold], results: list[FoldResult], trial: Trial
    ) -> tuple[dict[str, Any], HeldOutPredictions]:
        metric = self.metric
        truth, weight, _ = pool_held_out(folds)
        decided, lost = (pooled([getattr(each, name) for each in results]) for name in ("decided", "lost"))
        score = pooled([each.score for each in results]) if self.tune else None
        # The metric is no mean over folds: what all of them hold out is judged together, with one threshold.
        judged = evaluate(metric, truth > 0, lost, decided, score, weight)
        fields: dict[str, Any] = {**judged, "fold_scores": _fold_scores(metric, folds, results, judged)}
        guides = [result.train_outcome for result in results if result.train_outcome is not None]
        if guides:
            # Strategies and bounds read the training parts; threshold and score stay those of held-out data.
            trained = _train_outcome(metric, folds, guides)
            fields |= {name: trained[name] for name in ("profile", "hull", "value", "attained")}
        return fields, HeldOutPredictions(score, decided, lost)


def _found(answer: Response | FoldResult, threshold: float | None) -> BoolArray:
    """Where something is found at a threshold, or by the own decision (``None``)."""
    decided, score = answer.decided, answer.score
    if threshold is not None:
        assert score is not None, "a threshold is one of scores"
        return score >= threshold
    assert decided is not None, "failed trainings are left out before"
    return decided


def evaluate(
    metric: Metric, is_pos: BoolArray, lost: BoolArray, decided: BoolArray, score: Array | None, weight: Array | None
) -> OutcomeFields:
    """Fields of a trial from decisions and scores (or ``None``) on one data set."""
    profile = ErrorProfile.from_masks(is_pos, decided & ~lost, sample_weight=weight)
    curve = None if score is None else sweep_several(is_pos, lost, score, weight)
    cut = None if curve is None else curve.best(metric, metric.constraint)
    return outcome(metric, profile, hull=known_hull(profile, curve), cut=cut)


def _fold_scores(
    metric: Metric, folds: list[Fold], results: list[FoldResult], pooled: OutcomeFields
) -> tuple[float | None, ...]:
    """Metric of each fold at the pooled threshold; a single fold is all that was pooled."""
    if len(folds) == 1:
        return (pooled["score"],)
    return tuple(_fold_score(metric, fold, result, pooled["threshold"]) for fold, result in zip(folds, results))


def _fold_score(metric: Metric, fold: Fold, result: FoldResult, threshold: float | None) -> float | None:
    """Metric of one fold at the pooled threshold; ``None`` where the fold lacks a class."""
    is_pos = fold.y_test > 0
    counted = is_pos if fold.weight_test is None else is_pos[fold.weight_test > 0]
    if counted.all() or not counted.any():
        return None
    predicted = _found(result, threshold) & ~pooled([result.lost])
    return metric.of(ErrorProfile.from_masks(is_pos, predicted, sample_weight=fold.weight_test))


def _train_outcome(metric: Metric, folds: list[Fold], known: list[tuple[ErrorProfile, Hull]]) -> OutcomeFields:
    """What the bounds read where they read the training parts: the mean over folds."""
    sizes = np.array([f.train.size if f.weight_train is None else f.weight_train.sum() for f in folds], dtype=float)
    shares = sizes / sizes.sum()
    profiles, hulls = zip(*known)
    fn, fp, pos = (float(np.dot(shares, [getattr(p, name) for p in profiles])) for name in ("fn", "fp", "pos"))
    return outcome(metric, ErrorProfile(fn, fp, pos), hull=Hull.mean(hulls, shares))


def warn_of_one_side(metric: Metric, winner: Trial, answer: Response) -> None:
    """Warn where the winner, trained on everything, lost what its trainings on folds could separate."""
    found = _found(answer, winner.threshold)
    if found.any() and not found.all():
        return
    assert winner.profile is not None, "winners are complete"
    assert winner.score is not None, "winners are complete"
    pos = winner.profile.pos
    useless = ErrorProfile(fn=0.0, fp=1.0 - pos, pos=pos) if found.all() else ErrorProfile(fn=pos, fp=0.0, pos=pos)
    if winner.score > metric.of(useless) + 1e-9:
        warn(
            f"the winner (t={winner.t}, threshold {winner.threshold}) has {metric.name} {winner.score:.4g} on held-out "
            f"data, but trained on all data it finds {'all' if found.all() else 'none'} of its samples positive: its "
            "scores are too alike for a threshold to pass from one training to the next. Search other parameters of "
            'the base (param_grid={"C": [...]}), or give min_gain',
        )


# ---------------------------------------------------------------- several classes


class ClassJudge(Judge):
    """Judges trials of classes that are all alike; ``margins`` says that scores are no probabilities."""

    def __init__(self, metric: ConfusionMetric, n_classes: int, *, margins: bool, tune: bool) -> None:
        self.metric, self.n_classes, self.margins, self.tune = metric, n_classes, margins, tune

    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> ClassStore:
        """Store of held-out scores."""
        self._store = ClassStore(
            truth, weight, n_classes=self.n_classes, margins=self.margins, samples=samples, max_bytes=max_bytes
        )
        return self._store

    def _judged(
        self, folds: list[Fold], results: list[FoldResult], trial: Trial
    ) -> tuple[dict[str, Any], HeldOutPredictions]:
        store, decided = self._store, pooled([result.decided for result in results])
        own, tuned, judged, score, codes = self._confusion(decided), None, None, None, None
        if self.tune:
            score = np.ascontiguousarray(pooled([result.score for result in results]), dtype=np.float32)
            proba = store.probabilities(score, trial.costs)
            rule = tune_rule(proba, store.truth, self.metric, weight=store.weight)
            codes = cross_fitted(proba, store.truth, self.metric, store.parts(score), weight=store.weight)
            tuned, judged = self._confusion(rule.decide(proba)), self._confusion(codes)
        of_folds = tuple(self._fold_score(fold, result) for fold, result in zip(folds, results))
        fields = {**judged_fields(self.metric, own, tuned, judged), "fold_scores": of_folds}
        return fields, HeldOutPredictions(score, decided, codes)

    def _confusion(self, decided: IntArray) -> Array:
        return confusion_of(self._store.truth, decided, self.n_classes, self._store.weight)

    def _fold_score(self, fold: Fold, result: FoldResult) -> float | None:
        """Metric of the own decision in one fold; ``None`` where nothing weighs there."""
        if fold.weight_test is not None and not fold.weight_test.any():
            return None
        assert result.decided is not None, "failed trainings are left out before"
        confusion = confusion_of(fold.y_test, result.decided, self.n_classes, fold.weight_test)
        return float(self.metric.value(confusion))
