"""Training of trials on folds, and the evaluation of the pooled held-out predictions of all folds."""

from __future__ import annotations

import pickle
import sys
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from joblib import wrap_non_picklable_objects

from csf._common.typing import Array, BoolArray, Costs, Estimator, IntArray, Params
from csf.data.responses import lost_samples, respond
from csf.metrics.profile import ErrorProfile, Hull
from csf.metrics.trials import known_hull
from csf.thresholding.curve import sweep_several

if TYPE_CHECKING:
    from csf.data.folds import Fold
    from csf.data.responses import Response
    from csf.evaluate.stores import Store
    from csf.metrics.trials import CompleteFields, FailedFields, Trial
    from csf.search.config import SearchConfig
    from csf.search.problems.results import SearchResult
    from csf.thresholding.base import DecisionRule
    from csf.trainers.base import Trainer, Training

# ---------------------------------------------------------------- what a search asks of a trainer


class Startable(Protocol):
    """Properties of a trainer that decide which earlier trainings a new one can start from."""

    @property
    def family(self) -> str | None: ...

    def position(self, costs: Costs) -> tuple[float, ...]: ...


class Work(NamedTuple):
    """Trial to train, with the states that it may start from for each fold that it is trained on (the first ones)."""

    setting: int
    trial: Trial
    starts: list[Sequence[object]]


class HeldOutPredictions(NamedTuple):
    """Predictions of a trial for the held-out entries of all folds, one after the other."""

    score: Array | None
    decided: Array | None
    # Of classes that are all alike, what rules decide that were tuned on other samples.
    lost: Array | None = None
    # Of several classes beside a null class, what `csf.data.responses.class_gaps` says.
    class_gaps: Array | None = None

    def take(self, places: IntArray) -> HeldOutPredictions:
        """Return the predictions for other entries, given the place of each one here."""
        return HeldOutPredictions(*(None if values is None else values[places] for values in self))


class FailedEverywhere(NamedTuple):
    """Error of a trial that failed in the same way on every fold, if it is available."""

    error: BaseException | None


@dataclass(frozen=True, eq=False)
class TrainedTrial:
    """Results of the trainings of one trial on all folds; ``failed`` where all of them failed in the same way.

    ``states`` has the states that later trainings start from, one per fold, ``None`` where they are known already.
    ``predictions`` is ``None`` for failed trials, and where held-out scores are not collected.
    """

    fields: CompleteFields | FailedFields
    states: Sequence[object]
    fit_times: list[float]
    predictions: HeldOutPredictions | None = None
    failed: FailedEverywhere | None = None


class BatchTrainer(ABC):
    """Trainer of trials on folds, which also judges them, here or wherever the data are.

    ``startables`` has one row for each setting, with one entry for each fold. ``store`` receives the held-out scores;
    it is ``None`` where they are too many to be collected.
    """

    startables: Sequence[Sequence[Startable]]
    store: Store | None

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.startables[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def threads(self) -> AbstractContextManager[object]:
        """Return threads of this process for the conclusion of a search."""
        return nullcontext()

    @abstractmethod
    def batches(self, asked: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Divide the requested settings and trials into the batches that are trained at once."""

    @abstractmethod
    def train(self, batch: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """Train a batch; return the results in its order, whatever order they arrive in.

        With ``raise_errors`` a training that fails ends the search, else its trial fails.
        """


# ---------------------------------------------------------------- one training on one fold


@dataclass(frozen=True)
class FoldResult:
    """Results of one training on one fold.

    ``decided`` are codes, and ``score`` has the scores of all classes, where there is no null class (`Fold.n_alike`);
    ``method`` is the prediction method of the scores. ``lost`` are held-out samples that are assigned to the wrong one
    of several classes, at every threshold, and ``class_gaps`` says how they compare with each other; ``train_outcome``
    is the model's own decision with all known profiles on the training samples, where bounds use those. A failure has
    only its traceback and its cause.
    """

    decided: Array | None = None
    score: Array | None = None
    method: str | None = None
    lost: BoolArray | None = None
    class_gaps: Array | None = None
    train_outcome: tuple[ErrorProfile, Hull] | None = None
    fit_time: float = 0.0
    score_time: float = 0.0
    error: str | None = None
    cause: Cause | None = None
    state: object = None
    duality_gap: float | None = None

    @classmethod
    def failed(cls, error: BaseException, around: BaseException | None = None) -> Self:
        """Build the result of a training that raised an error; the exception handled ``around`` it is not a cause."""
        first, seen = error, {id(error)}
        while first.__context__ not in (None, around) and id(first.__context__) not in seen:
            first = first.__context__
            seen.add(id(first))
        if first.__context__ is around:
            first.__context__ = None
        return cls(error="".join(traceback.format_exception(error)), cause=Cause(error))

    def raise_error(self) -> None:
        """Raise the error of a failed training."""
        if self.error is None:
            return
        if self.cause is None or self.cause.error is None:
            raise RuntimeError(f"a training failed in a worker, with an error that cannot leave it:\n{self.error}")
        raise self.cause.error


class Cause:
    """Exception that is sent to another process if possible, and never prevents the result from being sent."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def __reduce__(self) -> tuple[object, ...]:
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
    trainer: Trainer, fold: Fold, costs: Costs, starts: Sequence[object] = (), *, tune: bool, on_train: bool
) -> FoldResult:
    """Train on one fold and predict its held-out samples."""
    around = sys.exc_info()[1]
    try:
        start = time.perf_counter()
        training = trainer.fit(costs, starts)
        fitted = time.perf_counter()
        answer = _answer(trainer, training, "test", fold, tune)
        lost = lost_samples(fold.y_test, answer.found) if fold.n_alike is None else None
        train_outcome = None
        if on_train:
            train_outcome = _known(fold.y_train, _answer(trainer, training, "train", fold, tune), fold.weight_train)
        return FoldResult(
            decided=answer.decided,
            score=answer.score,
            method=answer.method,
            lost=lost,
            class_gaps=answer.class_gaps,
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
    """Predict a part with a trained model; raise a ValueError for a wrong shape, which numpy would broadcast."""
    answer = trainer.predict(training, part, tune=tune)
    n_samples = (fold.test if part == "test" else fold.train).shape[0]
    given: list[tuple[str, Any, tuple[int, ...]]] = [("decisions", answer.decided, (n_samples,))]
    if tune:
        given.append(("scores", answer.score, (n_samples,) if fold.n_alike is None else (n_samples, fold.n_alike)))
    name = type(getattr(trainer, "base", trainer)).__name__
    for what, values, shape in given:
        if np.shape(values) != shape:
            raise ValueError(
                f"the base {name} gave {what} of shape {np.shape(values)} for {n_samples} samples, not {shape}"
            )
    if tune:
        # Infinite scores can be cut; those of several classes are compared with each other.
        missing = np.isnan(given[1][1]) if fold.n_alike is None else ~np.isfinite(given[1][1]).all(axis=1)
        if missing.any():
            kind = "NaN" if fold.n_alike is None else "NaN or infinite"
            raise ValueError(f"the base {name} gave {kind} scores for {int(missing.sum())} of {n_samples} samples")
    classes = np.asarray(answer.found if fold.n_alike is None else answer.decided)
    if classes.shape not in ((), (n_samples,)):
        raise ValueError(f"the base gave labels of shape {classes.shape} for {n_samples} samples")
    # One class for all samples is looked up in less time than many.
    learnt = np.isin(classes, fold.codes_train) if classes.ndim else np.asarray(classes in fold.codes_train)
    if not learnt.all():
        known, unknown = fold.codes_train.tolist(), np.unique(classes[~learnt]).tolist()
        raise ValueError(f"the base predicted the classes {unknown}, but it was trained on the codes {known} alone")
    return answer


def _known(y: IntArray, answer: Response, weight: Array | None) -> tuple[ErrorProfile, Hull]:
    """Compute the profile of the model's own decision, and the hull of all known profiles."""
    is_pos, lost = y > 0, lost_samples(y, answer.found)
    profile = ErrorProfile.from_masks(is_pos, answer.decided & ~lost, sample_weight=weight)
    curve = None if answer.score is None else sweep_several(is_pos, lost, answer.score, weight)
    return profile, known_hull(profile, curve)


@dataclass(frozen=True, eq=False)
class FoldPart:
    """Common data of the trainings of one setting on one fold; the trainer has the samples, not the fold."""

    trainer: Trainer
    fold: Fold


@dataclass(frozen=True, eq=False)
class FoldTask:
    """Training that is sent to where it runs; ``setting`` and ``fold`` identify its `FoldPart`."""

    setting: int
    fold: int
    costs: Costs
    starts: Sequence[object] = ()
    tune: bool = True
    on_train: bool = False

    def run(self, part: FoldPart) -> FoldResult:
        """Train on the part in this process."""
        return run_fold(part.trainer, part.fold, self.costs, self.starts, tune=self.tune, on_train=self.on_train)


# ---------------------------------------------------------------- what judges share


class SearchedProblem(ABC):
    """What the plan of a search asks of its problem: how trainings are judged, and the rule of the winner."""

    @abstractmethod
    def judge(self, config: SearchConfig) -> Evaluator:
        """Return what evaluates trainings."""

    def held_out_scores(self, model: Estimator, fold: Fold) -> Array:
        """Compute the scores in what a fold holds out that are averaged over models: probabilities of "positive"."""
        null = fold.labels.learnt_by(model).null
        score = respond(model, fold.X_test, null, tune=True, methods=("predict_proba",)).score
        assert score is not None, "it was asked for"
        return score

    @abstractmethod
    def with_mean_scores(self, result: SearchResult, mean: Array, folds: list[Fold]) -> SearchResult:
        """Replace the winner's held-out scores by means over models, and all that is tuned on them."""

    def rule(self, result: SearchResult, trainer: Trainer, training: Training) -> DecisionRule:
        """Build the rule of the winner, trained on all samples."""
        return self.rule_of(result, trainer.estimator(training))

    @abstractmethod
    def rule_of(
        self, result: SearchResult, estimator: Estimator | list[Estimator], method: str | None = None
    ) -> DecisionRule:
        """Build the rule of a winner that is a fitted estimator; of several labels there is a list of these.

        Its scores are those of a ``method``; ``None`` for the first one that it has.
        """


class Evaluator(ABC):
    """Judge of the trainings of a trial on all folds; ``tune`` is true if it reads scores."""

    tune: bool

    @abstractmethod
    def store(self, truth: IntArray, weight: Array | None, *, samples: IntArray, max_bytes: int) -> Store:
        """Create the store of held-out scores."""

    def judge(
        self, folds: list[Fold], results: list[FoldResult], trial: Trial
    ) -> tuple[Any, HeldOutPredictions | None]:
        """Judge the results: return the fields of the trial and its predictions, ``None`` where a training failed."""
        failed = failed_fields(results)
        if failed is not None:
            return failed, None
        fields, predictions = self._judged(folds, results, trial)
        return {**fields, **times_of(results)}, predictions

    @abstractmethod
    def _judged(self, folds: list[Fold], results: list[FoldResult], trial: Trial) -> tuple[Params, HeldOutPredictions]:
        """Compute all fields but times, and the predictions, where no training failed."""


def failed_fields(results: list[FoldResult]) -> FailedFields | None:
    """Build the fields of a failed trial; return ``None`` where no training failed."""
    errors = [result.error for result in results if result.error is not None]
    if not errors:
        return None
    fit_time, score_time = (sum(getattr(result, name) for result in results) for name in ("fit_time", "score_time"))
    return {"error": errors[0], "fit_time": fit_time, "score_time": score_time}


def times_of(results: list[FoldResult]) -> Params:
    """Build the fields of a complete trial that need no evaluation: duality gap and times."""
    gaps = [result.duality_gap for result in results if result.duality_gap is not None]
    return {
        "duality_gap": max(gaps) if len(gaps) == len(results) else None,
        "fit_time": sum(result.fit_time for result in results),
        "score_time": sum(result.score_time for result in results),
    }
