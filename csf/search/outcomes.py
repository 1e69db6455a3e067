"""Trainings on folds, and what the pooled held-out predictions say."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import wrap_non_picklable_objects

from csf._common.typing import Array, BoolArray, Costs, IntArray
from csf._common.warn import warn
from csf.errors.hull import Hull
from csf.errors.profile import ErrorProfile
from csf.thresholding import sweep_several
from csf.trials import known_hull, outcome

if TYPE_CHECKING:
    from csf.metrics.base import Metric
    from csf.resampling import ScoreStore, TrialKey
    from csf.samples.folds import Fold
    from csf.scores.responses import Response
    from csf.trainers.base import Trainer, Training
    from csf.trials import CompleteFields, FailedFields, Outcome, Trial


__all__ = [
    "FoldResult",
    "evaluate",
    "keep_scores",
    "lost_samples",
    "pooled_lost",
    "pooled_outcome",
    "run_fold",
    "warn_of_one_side",
]


@dataclass(frozen=True)
class FoldResult:
    """What one training on one fold gave.

    Parameters
    ----------
    decided : ndarray of bool, shape (n_test,)
        Where the model finds something in the held-out samples by its own decision.
    score : ndarray of shape (n_test,), default=None
        Scores of the held-out samples, where thresholds are tuned.
    lost : ndarray of bool, shape (n_test,), default=None
        Held-out samples that are taken for the wrong one of several classes, wherever the score is cut.
    train_outcome : tuple of (ErrorProfile, Hull), default=None
        Own decision and known profiles on the training samples, where bounds read those.
    fit_time, score_time : float
        Seconds.
    error : str, default=None
        Traceback of a failure; then nothing else is set but its cause.
    cause : Cause, default=None
        The exception of a failure.
    state : object, default=None
        What a later training with other costs can start from.
    duality_gap : float, default=None
        How far the model's objective is from its optimum at most, as a share of it; where the trainer knows.
    """

    decided: BoolArray | None = None
    score: Array | None = None
    lost: BoolArray | None = None
    train_outcome: tuple[ErrorProfile, Hull] | None = None
    fit_time: float = 0.0
    score_time: float = 0.0
    error: str | None = None
    cause: Cause | None = None
    state: object = None
    duality_gap: float | None = None

    @classmethod
    def failed(cls, error: BaseException, around: BaseException | None = None) -> Self:
        """Result of a training that raised an error; what was being handled ``around`` it is none of its causes."""
        first, seen = error, {id(error)}
        while first.__context__ not in (None, around) and id(first.__context__) not in seen:
            first = first.__context__
            seen.add(id(first))
        if first.__context__ is around:
            first.__context__ = None
        return cls(error="".join(traceback.format_exception(error)), cause=Cause(error))

    def raise_error(self) -> None:
        """Raise the error of a failure, if it is one."""
        if self.error is None:
            return
        if self.cause is None or self.cause.error is None:
            raise RuntimeError(f"a training failed in a worker, with an error that cannot leave it:\n{self.error}")
        raise self.cause.error


class Cause:
    """An exception that passes from one process to another if it can, and never breaks what it travels with.

    Parameters
    ----------
    error : Exception or None
        The exception; ``None`` where it did not get through.
    """

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __reduce__(self) -> tuple[Any, ...]:
        if self.error is None:
            return Cause, (None,)
        try:
            # The traceback stays here, but for its text.
            self.error.add_note(f"\nIn a worker:\n{''.join(traceback.format_exception(self.error))}")
            return _unpacked, (pickle.dumps(wrap_non_picklable_objects(self.error, keep_wrapper=False)),)
        except Exception:  # an exception may hold anything, e.g. a lock
            return Cause, (None,)


def _unpacked(content: bytes) -> Cause:
    try:
        return Cause(pickle.loads(content))
    except Exception:  # it may need more than its message, or say anything else on the way
        return Cause(None)


def run_fold(
    trainer: Trainer, fold: Fold, costs: Costs, starts: Sequence[Any] = (), *, tune: bool, on_train: bool
) -> FoldResult:
    """Train on one fold and predict its held-out samples.

    Parameters
    ----------
    trainer : Trainer
        Trains on the fold's training part and predicts its parts.
    fold : Fold
        The fold.
    costs : tuple of float
        ``(c_fn, c_fp)``.
    starts : sequence, default=()
        States of earlier trainings, the nearest first.
    tune : bool
        Whether scores are needed, or the base's own predictions.
    on_train : bool
        Whether bounds read the training part.

    Returns
    -------
    FoldResult
        Predictions, or the error: whatever the base raises, and answers that cannot be its own.
    """
    around = sys.exc_info()[1]
    try:
        start = time.perf_counter()
        training = trainer.fit(costs, starts)
        fitted = time.perf_counter()
        answer = _answer(trainer, training, "test", fold, tune)
        lost, train_outcome = lost_samples(fold.y_test, answer.found), None
        if on_train:
            train_outcome = _known(fold.y_train, _answer(trainer, training, "train", fold, tune), fold.weight_train)
        return FoldResult(
            decided=answer.decided,
            score=answer.score,
            lost=lost,
            train_outcome=train_outcome,
            fit_time=fitted - start,
            score_time=time.perf_counter() - fitted,
            state=training.state,
            duality_gap=training.gap,
        )
    except Exception as error:
        # Whether an error ends the search is decided at home, in the order of the tasks.
        return FoldResult.failed(error, around)


def _answer(trainer: Trainer, training: Training, part: str, fold: Fold, tune: bool) -> Response:
    """What a trained model says about a part, if that can be: numpy would stretch what is too short."""
    answer = trainer.predict(training, part, tune=tune)
    n_samples = (fold.test if part == "test" else fold.train).shape[0]
    said: dict[str, Any] = {"decisions": answer.decided} | ({"scores": answer.score} if tune else {})
    for name, values in said.items():
        if np.shape(values) != (n_samples,):
            raise ValueError(f"the base gave {name} of shape {np.shape(values)} for {n_samples} samples")
    if tune and np.isnan(said["scores"]).any():
        raise ValueError(f"the base gave NaN scores for {int(np.isnan(said['scores']).sum())} of {n_samples} samples")
    found = np.asarray(answer.found)
    if found.shape not in ((), (n_samples,)):
        raise ValueError(f"the base gave labels of shape {found.shape} for {n_samples} samples")
    if not _are_among(found, fold.codes_train):
        learnt = np.isin(found, fold.codes_train)
        known, unknown = fold.codes_train.tolist(), np.unique(found[~learnt]).tolist()
        raise ValueError(f"the base predicted the classes {unknown}, but it was trained on the codes {known} alone")
    return answer


def _are_among(found: Array, codes: IntArray) -> bool:
    """Whether all labels are among the codes; where these have no gaps, their ends say so."""
    if found.dtype.kind in "biu" and codes[0] == 0 and codes[-1] == codes.size - 1:
        return bool(found.min(initial=0) >= 0 and found.max(initial=0) < codes.size)
    return bool(np.isin(found, codes).all())


def lost_samples(y: IntArray, found: Any) -> BoolArray:
    """Samples in which there is something (code above 0), and something else is found."""
    return (y > 0) & (y != found)


def _known(y: IntArray, answer: Response, weight: Array | None) -> tuple[ErrorProfile, Hull]:
    """Profile of the own decision, and the hull of all known ones."""
    is_pos, lost = y > 0, lost_samples(y, answer.found)
    profile = ErrorProfile.from_masks(is_pos, answer.decided & ~lost, sample_weight=weight)
    curve = None if answer.score is None else sweep_several(is_pos, lost, answer.score, weight)
    return profile, known_hull(profile, curve)


def pooled_outcome(
    metric: Metric, folds: list[Fold], results: list[FoldResult], *, tune: bool
) -> CompleteFields | FailedFields:
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
    CompleteFields or FailedFields
        Fields of a complete or failed `Trial`.
    """
    fit_time = sum(result.fit_time for result in results)
    score_time = sum(result.score_time for result in results)
    errors = [result.error for result in results if result.error is not None]
    if errors:
        return {"error": errors[0], "fit_time": fit_time, "score_time": score_time}
    # The metric is no mean over folds: what all of them hold out is judged together, with one threshold.
    judged = evaluate(
        metric,
        _pooled([fold.y_test for fold in folds]) > 0,
        _pooled([result.lost for result in results]),
        _pooled([result.decided for result in results]),
        _pooled([result.score for result in results]) if tune else None,
        None if folds[0].weight_test is None else _pooled([fold.weight_test for fold in folds]),
    )
    gaps = [result.duality_gap for result in results if result.duality_gap is not None]
    fields: CompleteFields = {
        **judged,
        "fold_scores": _fold_scores(metric, folds, results, judged),
        "duality_gap": max(gaps) if len(gaps) == len(results) else None,
        "fit_time": fit_time,
        "score_time": score_time,
    }
    guides = [result.train_outcome for result in results if result.train_outcome is not None]
    if guides:
        # Strategies and bounds read the training parts; threshold and score stay those of held-out data.
        trained = _train_outcome(metric, folds, guides)
        fields["profile"], fields["hull"] = trained["profile"], trained["hull"]
        fields["value"], fields["attained"] = trained["value"], trained["attained"]
    return fields


def _pooled(parts: list[Any]) -> Any:
    """What the folds say, one after the other; a single fold is taken as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _found(answer: Response | FoldResult, threshold: float | None) -> BoolArray:
    """Where something is found at a threshold, or by the own decision (``None``)."""
    decided, score = answer.decided, answer.score
    if threshold is not None:
        assert score is not None, "a threshold is one of scores"
        return score >= threshold
    assert decided is not None, "failed trainings are left out before"
    return decided


def keep_scores(
    store: ScoreStore, key: TrialKey, trial: Trial, results: Sequence[FoldResult | Response], lost: BoolArray
) -> None:
    """Put what a complete trial says about the held-out samples into the store."""
    assert trial.score is not None, "a complete trial has a score"
    tuned = trial.threshold is not None
    store.add(
        key,
        score=_pooled([result.score for result in results]) if tuned else None,
        decided=None if tuned else _pooled([result.decided for result in results]),
        lost=lost,
        threshold=trial.threshold,
        value=trial.score,
        violation=trial.violation,
        neutral=trial.c_fn == trial.c_fp,
    )


def pooled_lost(results: list[FoldResult]) -> BoolArray:
    """Held-out samples of all folds that are taken for the wrong one of several classes."""
    return _pooled([result.lost for result in results])


def evaluate(
    metric: Metric, is_pos: BoolArray, lost: BoolArray, decided: BoolArray, score: Array | None, weight: Array | None
) -> Outcome:
    """Fields of a trial from decisions and scores (or ``None``) on one data set."""
    profile = ErrorProfile.from_masks(is_pos, decided & ~lost, sample_weight=weight)
    curve = None if score is None else sweep_several(is_pos, lost, score, weight)
    cut = None if curve is None else curve.best(metric, metric.constraint)
    return outcome(metric, profile, hull=known_hull(profile, curve), cut=cut)


def _fold_scores(
    metric: Metric, folds: list[Fold], results: list[FoldResult], pooled: Outcome
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
    predicted = _found(result, threshold) & ~_pooled([result.lost])
    return metric.of(ErrorProfile.from_masks(is_pos, predicted, sample_weight=fold.weight_test))


def _train_outcome(metric: Metric, folds: list[Fold], known: list[tuple[ErrorProfile, Hull]]) -> Outcome:
    """What the bounds read where they read the training parts: the mean over folds."""
    sizes = np.array([f.train.size if f.weight_train is None else f.weight_train.sum() for f in folds], dtype=float)
    shares = sizes / sizes.sum()
    profiles, hulls = zip(*known)
    fn, fp, pos = (float(np.dot(shares, [getattr(p, name) for p in profiles])) for name in ("fn", "fp", "pos"))
    return outcome(metric, ErrorProfile(fn, fp, pos), hull=Hull.mean(hulls, shares))


def warn_of_one_side(metric: Metric, winner: Trial, answer: Response) -> None:
    """Warn where the winner, trained on everything, lost what its trainings on folds could tell apart.

    That happens to models that are nearly constant: their scores differ by less than those of two trainings do.

    Parameters
    ----------
    metric : Metric
        What was maximised.
    winner : Trial
        The trial with the threshold.
    answer : Response
        What the winner, trained on everything, says about its training samples.
    """
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
