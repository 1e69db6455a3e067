"""Interface of engines, the engine in memory, and the search over an engine."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from csf._common.messages import warn
from csf._common.sklearn import clone, options_of, trained
from csf._common.typing import Array, Costs, Estimator, IntArray, Keywords, Params, Samples
from csf._common.validation import check_count, check_fraction
from csf.data.costs import cost_sample_weight, costs_by_code
from csf.data.responses import above, natural_threshold, positive_score
from csf.distributed.counts import CountedCut, MemoryScores, PartScores, Scored, counted_cut, own_decision
from csf.evaluate import ScoreRow, ScoreStore
from csf.evaluate.choices import decisions
from csf.metrics.profile import ErrorProfile
from csf.metrics.trials import known_hull, outcome
from csf.search.config import (
    FAST,
    SLOW,
    Model,
    RaceStep,
    SearchConfig,
    SearchEffort,
    chooser_of,
    numbered,
    steps_of_models,
)
from csf.search.estimator import CostSearch
from csf.search.loop import Deadline, SearchLoop
from csf.search.planning import open_checkpoint
from csf.search.problems.binary import conclude, make_studies
from csf.search.problems.results import SearchRecord, SearchResult, reason_of
from csf.search.selection import Race, races
from csf.search.training import BatchTrainer, HeldOutPredictions, TrainedTrial, Work
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.data.labels import Labels
    from csf.metrics.base import Metric
    from csf.metrics.row_costs import CostTable
    from csf.metrics.trials import CompleteFields, Trial
    from csf.thresholding.base import DecisionRule

# ---------------------------------------------------------------- the contract


# Rows in folds whose scores are collected at most: 4 MB a trial. Of more, luck decides little, and counts are enough.
MOST_COLLECTED = 1 << 20


@dataclass(frozen=True, eq=False)
class FoldTotals:
    """Total weight and number of rows of each fold.

    Parameters
    ----------
    weight : ndarray of shape (n_folds + 1, n_classes)
        Sum of the user's weights (number of rows without any) of the negatives and the positives of each fold, or of
        each of several classes; the last row is for the samples in no fold: they are trained on and never held out.
    rows : ndarray of int, shape (n_folds + 1,)
        Number of rows.
    names : sequence of str, default=("negative", "positive")
        Names of the classes in messages.

    Examples
    --------
    >>> import numpy as np
    >>> totals = FoldTotals(np.array([[6.0, 2.0], [8.0, 4.0], [0.0, 0.0]]), np.array([8, 12, 0]))
    >>> totals.n_folds, totals.pos, totals.trained_on(0).tolist()
    (2, 0.3, [8.0, 4.0])
    """

    weight: Array
    rows: Array
    names: Sequence[str] = ("negative", "positive")

    @classmethod
    def of_classes(cls, weight: Array, rows: Array, labels: Labels) -> FoldTotals:
        """Build the totals of classes by their codes, which several classes have for names.

        Parameters
        ----------
        weight : ndarray of shape (n_folds + 1, n_classes)
            Sum of weights of each code.
        rows : ndarray of int, shape (n_folds + 1,)
            Number of rows.
        labels : Labels
            The classes.

        Returns
        -------
        FoldTotals
            The totals.
        """
        return cls(weight, rows, cls.names if labels.n_alike is None else [*map(repr, labels.by_code.tolist())])

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.weight.shape[0] - 1

    @property
    def pos(self) -> float:
        """Share of positives among the samples that the folds hold out."""
        held_out = self.weight[:-1].sum(axis=0)
        return float(held_out[1] / held_out.sum())

    def trained_on(self, fold: int | None) -> Array:
        """Return the weight of negatives and positives, or of each class, that a fold trains on.

        Parameters
        ----------
        fold : int or None
            The fold; ``None`` for everything.

        Returns
        -------
        ndarray of shape (n_classes,)
            The sums.
        """
        return self.weight.sum(axis=0) - (0.0 if fold is None else self.weight[fold])

    def check(self) -> None:
        """Raise a ValueError where a fold holds out nothing, or trains on one class only.

        Raises
        ------
        ValueError
            If a fold holds out no row, or lacks a class.
        """
        for fold in range(self.n_folds):
            if not self.rows[fold]:
                raise ValueError(
                    f"fold {fold} of {self.n_folds} holds out no row; use fewer folds, or a column of fold numbers "
                    f"0, ..., {self.n_folds - 1} that all occur"
                )
            for name, left, total in zip(self.names, self.trained_on(fold), self.weight.sum(axis=0)):
                if not left > 0:
                    way = "use fewer folds, or give fold numbers that leave all classes in each training part"
                    way = way if total > 0 else "nor is there any with it: check the labels, and what filtered the rows"
                    raise ValueError(
                        f"without fold {fold} there is no {name} row of positive weight to train on; {way}"
                    )
        if not (self.weight[:-1].sum(axis=0) > 0).all():
            raise ValueError("what the folds hold out lacks one of the classes; use more rows or other folds")


@dataclass(frozen=True, eq=False)
class Job:
    """One training: a base, the fold to hold out, and costs.

    Parameters
    ----------
    base : estimator
        The base with its parameters set, as the engine calls it; never changed.
    fold : int or None
        The fold whose rows are held out; ``None`` trains on everything.
    costs : tuple of float
        ``(c_fn, c_fp)``: a positive weighs ``c_fn`` times its own weight, a negative ``c_fp`` times. They are final:
        any normalisation was applied before. With several classes it is a weight for each code.
    starts : sequence, default=()
        States of earlier trainings of the same base and fold, the nearest first; on everything, those of a fold.
    power : float, default=0.0
        With costs of rows, rows weigh besides by this power of what is at stake in them, see `Engine.cost_sums`.
    """

    base: Estimator
    fold: int | None
    costs: Costs
    starts: Sequence[object] = ()
    power: float = 0.0


class Engine(ABC):
    """Data of a search with a fold number for each row, and the operations on them that a search needs.

    A search calls `totals` once, then `train` and `scores` for each trial, and in the end `train` on everything.
    Subclasses hold the data, or a plan to read them; they return nothing that grows with the number of rows.

    An engine implements:

    - **Folds.** Each row has a number in 0, ..., n_folds - 1, from a column or from a seeded hash of values that
      distinguish rows (`csf.distributed.hash_folds`), the same in every pass; rows with -1 are trained on and never
      held out. `totals` gives the weights of the folds, so that the share of positives is known and each part has both
      classes.
    - **Train.** `train` runs some jobs, those of all folds of a trial together, at once or one after the other.
    - **Counts.** `scores` gives the handle of the held-out scores, each row scored by the model of its fold. They are
      counted where they are stored: write the three methods of `csf.distributed.Scored` in the engine's own language,
      or `csf.distributed.PartedScores.reduced` where the engine runs Python on parts of the data.

    `csf.testing.check_engine` checks all that on small data, and `MemoryEngine` is the shortest example.

    Attributes
    ----------
    identity : object
        What distinguishes these data and folds from others, for checkpoints: plain values such as checksums or the
        names of files and columns, the same in every process.
    """

    identity: object = None

    @abstractmethod
    def totals(self) -> FoldTotals:
        """Return the weight of both classes in each fold.

        Returns
        -------
        FoldTotals
            The totals, of weights as they were given.
        """

    @abstractmethod
    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """Train models, one for each job.

        Parameters
        ----------
        jobs : sequence of Job
            Independent trainings: their results must not depend on each other or on their order.

        Returns
        -------
        list of Training or Exception
            One for each job, in their order: the model (anything that `scores` takes, and for the job of everything
            the model for the user), its ``state`` (small arrays, numbers and tuples of these that a later training of
            the same fold may start from, or ``None``) and its relative duality ``gap``, where it is known; or the
            exception of the training. Errors that would affect every training are raised.
        """

    def most_jobs(self, n_folds: int) -> int:
        """Return the number of jobs trained at once, in the same passes over the data; by default those of one trial.

        Parameters
        ----------
        n_folds : int
            Number of folds.

        Returns
        -------
        int
            At least ``n_folds``.
        """
        return n_folds

    def entries(self) -> PartScores | None:
        """Return truth, weight and fold of all rows in folds, or of those of `sample`, ordered as `Scored.collected`.

        It is called once, before the first trial. With those of all rows the held-out scores of each trial are
        collected in one pass, and the search chooses and corrects as in memory. With those of a sample thresholds come
        from counts of all rows, and corrections from the sample. By default no scores are collected.

        Returns
        -------
        PartScores or None
            Scores of 0 with the truth, weight and fold of the rows; ``None`` where nothing is collected.
        """
        return None

    def cost_sums(self, powers: Sequence[float]) -> Array:
        """Return sums over all rows of what they cost, where the metric is costs of rows.

        It is called once, before the first training. Jobs with one of the powers then weigh rows by
        `csf.metrics.row_costs.stake_weights`, with the scale that keeps the sum of the weights. By default an engine
        has no costs of rows.

        Parameters
        ----------
        powers : sequence of float
            The first one is 0.

        Returns
        -------
        ndarray of shape (4 + n_powers,)
            See `csf.metrics.row_costs.cost_sums`.
        """
        raise TypeError(f"{type(self).__name__} has no costs of rows; use csf.CostSearch on a sample of the rows")

    def entry_costs(self) -> CostTable:
        """Return what the rows of `entries` cost, in their order, where the metric is costs of rows."""
        raise TypeError(f"{type(self).__name__} has no costs of rows; use csf.CostSearch on a sample of the rows")

    def sample(self) -> Engine | None:
        """Return the same search on a sample of the rows, where these are too many for all scores to be collected.

        Settings race there with equal costs: those that are behind are never trained on all rows.

        Returns
        -------
        Engine or None
            It collects the scores of all its rows, which have the same folds as here, and weights by which they
            represent all rows. ``None`` (the default) without a sample.
        """
        return None

    def cause(self, error: Exception) -> Exception | None:
        """Return the cause of failed scores, in few lines; ``None`` if it would affect every training.

        Parameters
        ----------
        error : Exception
            The exception that computing scores raised.

        Returns
        -------
        Exception or None
            By default a ValueError itself, and ``None`` for all others.
        """
        return error if isinstance(error, ValueError) else None

    @abstractmethod
    def scores(self, models: Sequence[object]) -> Scored:
        """Return the held-out scores of one trial.

        Parameters
        ----------
        models : sequence
            ``model`` of the trainings of all folds, in their order.

        Returns
        -------
        Scored
            Scores of the rows in folds; they may be computed again in each pass.
        """


# ---------------------------------------------------------------- folds


def sample_shares(counts: Array, size: int) -> list[float]:
    """Return the shares of the classes in a sample: as many rows of all of them, or all of a rare class."""
    below = np.concatenate([[0], np.cumsum(np.sort(counts))[:-1]])
    most = np.max((size - below) / np.arange(counts.size, 0, -1))
    return np.minimum(most / counts, 1.0).tolist()


_ODD, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def check_folds(cv: int | float) -> int | float:
    """Check a number of folds >= 2, or a share to hold out in (0, 1), and return it."""
    if isinstance(cv, float):
        return check_fraction(cv, "cv")
    try:
        return check_count(cv, "cv", minimum=2)
    except TypeError:
        raise TypeError(
            f"cv must be a number of folds >= 2 or a share to hold out in (0, 1), got {cv!r}; splits of your own are a "
            "column of fold numbers"
        ) from None


def hash_folds(part: int, n_rows: int, cv: int | float, seed: int = 0) -> IntArray:
    """Assign each row of a part to a fold by a hash.

    Parameters
    ----------
    part : int
        Number of the part.
    n_rows : int
        Number of its rows.
    cv : int or float
        Number of folds, or the share that is held out as fold 0 while all other rows have -1.
    seed : int, default=0
        Another seed gives other folds.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Numbers that depend on the part, the place in it and the seed alone. Classes are not stratified: with
        thousands of rows in a fold their shares differ by little.

    References
    ----------
    .. [1] G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Examples
    --------
    >>> hash_folds(0, 8, 3).tolist()
    [0, 0, 0, 2, 0, 2, 2, 0]
    >>> round(float((hash_folds(0, 10**5, 0.25) == 0).mean()), 2)
    0.25
    """
    with np.errstate(over="ignore"):
        key = _mixed(np.full(1, seed % 2**64, dtype=np.uint64)) ^ _mixed(np.full(1, part + 1, dtype=np.uint64))
        uniform = _mixed(_mixed(key) + np.arange(n_rows, dtype=np.uint64)) >> np.uint64(11)
    share = uniform.astype(np.float64) * 2.0**-53
    if isinstance(cv, float):
        return np.where(share < cv, 0, -1)
    return (share * cv).astype(np.int64)


def _mixed(bits: Array) -> Array:
    """Apply the finaliser of splitmix64."""
    bits = bits + _ODD
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


# ---------------------------------------------------------------- the engine in memory


class MemoryEngine(Engine):
    """Data in memory with fold numbers, for tests and as an example of an engine.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        1 for the positive class and 0 for the other.
    fold : ndarray of int, shape (n_samples,)
        Fold of each sample; -1 for those that are never held out.
    sample_weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    n_parts : int, default=1
        Number of parts in which scores are counted.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = make_classification(200, random_state=0)
    >>> engine = MemoryEngine(X, y, np.arange(200) % 2)
    >>> engine.totals().weight.tolist()
    [[52.0, 48.0], [48.0, 52.0], [0.0, 0.0]]
    >>> models = [training.model for training in engine.train([Job(LogisticRegression(), k, (1, 1)) for k in (0, 1)])]
    >>> engine.scores(models).counts(np.array([0.0])).rows.tolist()
    [103, 97]
    """

    def __init__(
        self, X: Samples, y: Array, fold: IntArray, sample_weight: Array | None = None, *, n_parts: int = 1
    ) -> None:
        self.X, self.is_pos, self.fold, self.weight = X, np.asarray(y) > 0, np.asarray(fold), sample_weight
        self.n_parts, self.n_folds = n_parts, int(self.fold.max()) + 1
        self.identity = (np.asarray(X), self.is_pos, self.fold, sample_weight)

    def totals(self) -> FoldTotals:
        """See `Engine.totals`."""
        weight = np.ones(self.fold.size) if self.weight is None else self.weight
        totals = np.zeros((self.n_folds + 1, 2))
        np.add.at(totals, (self.fold, self.is_pos.astype(int)), weight)
        return FoldTotals(totals, np.bincount(self.fold % (self.n_folds + 1), minlength=self.n_folds + 1))

    def entries(self) -> PartScores | None:
        """See `Engine.entries`."""
        at = np.flatnonzero(self.fold >= 0)
        weight = None if self.weight is None else self.weight[at]
        return (
            None if at.size > MOST_COLLECTED else PartScores(np.zeros(at.size), self.is_pos[at], weight, self.fold[at])
        )

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        return [self._trained(job) for job in jobs]

    def _trained(self, job: Job) -> Training | Exception:
        at = np.flatnonzero(self.fold != job.fold) if job.fold is not None else np.arange(self.fold.size)
        given = None if self.weight is None else self.weight[at]
        weight = cost_sample_weight(self.is_pos[at], job.costs, sample_weight=given)
        try:
            return Training(trained(clone(job.base), self.X[at], self.is_pos[at].astype(int), sample_weight=weight))
        except Exception as error:
            return error

    def scores(self, models: Sequence[Estimator]) -> MemoryScores:
        """See `Engine.scores`."""
        score, held_out = np.zeros(self.fold.size), np.flatnonzero(self.fold >= 0)
        for fold, model in enumerate(models):
            at = np.flatnonzero(self.fold == fold)
            score[at] = positive_score(model, self.X[at], 1)
        # A classifier of this kind predicts the positive class above its natural threshold, not at it.
        own_cut = above(natural_threshold(models[0]))
        parts = [
            PartScores(score[at], self.is_pos[at], None if self.weight is None else self.weight[at], self.fold[at])
            for at in np.array_split(held_out, self.n_parts)
        ]
        return MemoryScores(parts, self.n_folds, own_cut)


# ---------------------------------------------------------------- batches of trials


class _Family(NamedTuple):
    """Family of the trainings of one setting, which start from each other, the nearest costs first."""

    family: str

    def position(self, costs: Costs) -> tuple[float, ...]:
        return tuple(map(log, costs))


class SampledStore(ScoreStore):
    """Held-out scores of a sample of rows, with the values of trials on the sample and not on all rows."""

    def __init__(self, entries: PartScores, metric: Metric, n_rows: int) -> None:
        super().__init__(entries.is_pos, entries.weight)
        self.metric, self.share = metric, entries.is_pos.size / n_rows

    def put(self, row: ScoreRow) -> None:
        """Add the scores of a trial with its value on these rows."""
        profile = ErrorProfile.from_masks(self.is_pos, decisions(row), sample_weight=self.weight)
        super().put(replace(row, value=self.metric.of(profile)))


class EngineTrainer(BatchTrainer):
    """Trainer on the data of an engine.

    ``counted`` has the results of counting for each complete trial, in their order. Held-out scores are collected, in
    one pass, where the engine gives its entries: winner and threshold are then chosen as in memory. Where it collects
    those of a ``sample``, the store holds these, and trials are evaluated by counts.
    """

    def __init__(
        self,
        engine: Engine,
        bases: list[Estimator],
        metric: Metric,
        totals: FoldTotals,
        *,
        sampled: bool = False,
        tune: bool = True,
        normalize: str = "none",
        powers: Mapping[int, float] | None = None,
    ) -> None:
        self.engine, self.bases, self.metric, self.totals = engine, bases, metric, totals
        self.sampled, self.tune, self.normalize = sampled, tune, normalize
        self.startables = [[_Family(str(setting))] * totals.n_folds for setting in range(len(bases))]
        # Of settings that weigh rows by a power of what they cost.
        self.powers = dict(powers or {})
        self.counted: list[CountedCut] = []
        self.entries = engine.entries()
        self.store = None if self.entries is None else self._store(self.entries)

    def _store(self, entries: PartScores) -> Any:
        if not self.sampled:
            return ScoreStore(entries.is_pos, entries.weight)
        return SampledStore(entries, self.metric, int(self.totals.rows[:-1].sum()))

    def batches(self, asked: list[tuple[int, Trial]]) -> list[list[tuple[int, Trial]]]:
        """Group the trials into batches that the engine trains in the same passes, with one trial of each setting."""
        # Trials of a setting start from each other: a search that goes on in the middle of a batch must find the same.
        size, batches = max(self.engine.most_jobs(self.n_folds) // self.n_folds, 1), []
        for setting, trial in asked:
            open_ = (batch for batch in batches if len(batch) < size and setting not in dict(batch))
            batch = next(open_, None)
            if batch is None:
                batches.append(batch := [])
            batch.append((setting, trial))
        return batches

    def train(self, batch: list[Work], *, raise_errors: bool) -> Generator[TrainedTrial, None, None]:
        """Train a batch, see `BatchTrainer.train`."""
        start = time.perf_counter()
        jobs = [self._job(work, fold) for work in batch for fold in range(self.n_folds)]
        trained = self.engine.train(jobs)
        seconds = (time.perf_counter() - start) / len(batch)
        for number, work in enumerate(batch):
            folds = trained[number * self.n_folds : (number + 1) * self.n_folds]
            yield self._judged(folds, work.trial, seconds, raise_errors=raise_errors)

    def train_on_everything(self, setting: int, costs: Costs, starts: Sequence[object]) -> Training:
        """Train at the costs of a trial on all rows, from the states of a fold."""
        job = Job(self.bases[setting], None, self._scaled(costs, None), starts, self.powers.get(setting, 0.0))
        (training,) = self.engine.train([job])
        if isinstance(training, Exception):
            raise training
        return training

    def _job(self, work: Work, fold: int) -> Job:
        costs = self._scaled(work.trial.costs, fold)
        return Job(self.bases[work.setting], fold, costs, work.starts[fold], self.powers.get(work.setting, 0.0))

    def _scaled(self, costs: Costs, fold: int | None) -> Costs:
        """Divide the costs by the mean weight of the training, unless ``normalize`` is "none"."""
        if self.normalize == "none":
            return costs
        weights = self.totals.trained_on(fold).tolist()
        scale = sum(weights) / sum(cost * weight for cost, weight in zip(costs_by_code(costs), weights, strict=True))
        return tuple(scale * cost for cost in costs)

    def _judged(
        self, trained: Sequence[Training | Exception], trial: Trial, seconds: float, *, raise_errors: bool
    ) -> TrainedTrial:
        """Judge the trainings of one trial together."""
        times, start = [seconds / self.n_folds] * self.n_folds, time.perf_counter()
        errors = [each for each in trained if isinstance(each, Exception)]
        if errors:
            return self._failed(errors[0], times, raise_errors)
        trainings = [each for each in trained if not isinstance(each, Exception)]
        try:
            fields, predictions = self._fields([training.model for training in trainings], trial)
        except Exception as error:  # scores that are none, or rows that the models refuse
            if (cause := self.engine.cause(error)) is None:
                raise
            return self._failed(cause, times, raise_errors)
        gaps = [training.gap for training in trainings if training.gap is not None]
        fields["duality_gap"] = max(gaps) if len(gaps) == len(trainings) else None
        fields["fit_time"], fields["score_time"] = seconds, time.perf_counter() - start
        return TrainedTrial(fields, [training.state for training in trainings], times, predictions)

    def _fields(self, models: list[object], trial: Trial) -> tuple[Any, HeldOutPredictions | None]:
        """Compute the fields of a trial from its counted scores; also return the scores where they are collected."""
        scored: Scored = self.engine.scores(models)
        score = None if self.entries is None else scored.collected()
        if self.entries is not None and not self.sampled:
            scored = MemoryScores([self.entries._replace(score=score)], self.n_folds, scored.own_cut)
        found = counted_cut(scored, self.metric) if self.tune else own_decision(scored)
        self.counted.append(found)
        hull = known_hull(found.own, found.curve)
        folds = [None if profile is None else self.metric.of(profile) for profile in found.fold_profiles]
        fields: CompleteFields = {
            **outcome(self.metric, found.own, hull=hull, cut=found.cut),
            "fold_scores": tuple(folds),
        }
        return fields, None if score is None else HeldOutPredictions(score, score >= scored.own_cut)

    def _failed(self, error: Exception, times: list[float], raise_errors: bool) -> TrainedTrial:
        if raise_errors:
            raise error
        text = "".join(traceback.format_exception(error))
        return TrainedTrial({"error": text, "fit_time": sum(times), "score_time": 0.0}, [None] * len(times), times)


# ---------------------------------------------------------------- the search


@dataclass
class EngineSearch:
    """Cost search on the data of an engine.

    Parameters
    ----------
    engine : Engine
        The engine that holds the data.
    bases : list of estimator
        Unfitted bases, one for each setting.
    settings : list of dict
        Parameters in which they differ. They race as in memory where held-out scores are collected, and on a sample of
        the rows where the engine has one: those that are behind there are left out.
    config : SearchConfig
        Configuration of the search, as `csf.CostSearch` describes it; folds are those of the engine.
    fast : bool, default=False
        Whether trainings cost little: the ladder is longer then, and costs need no margin over equal ones.
    models : list of Model, default=None
        Several models with the settings of each, in the order of ``bases``; ``None`` for one.
    deadline : Deadline, default=None
        Deadline that passes over the data before `run` count in; ``None`` for one from `run` on.

    Attributes
    ----------
    totals : FoldTotals
        Weights of the folds.
    studies : list of Study
        One for each setting.
    trainer : EngineTrainer
        Trainer of the trials; ``trainer.counted`` has the passes and counts behind each threshold.
    """

    engine: Engine
    bases: list[Estimator]
    settings: list[Params]
    config: SearchConfig
    fast: bool = False
    models: list[Model] | None = None
    deadline: Deadline | None = None
    totals: FoldTotals = field(init=False)
    studies: list[Any] = field(init=False)
    trainer: EngineTrainer = field(init=False)
    _loop: SearchLoop = field(init=False, repr=False)

    def run(self) -> Any:
        """Search.

        Returns
        -------
        BinaryResult
            What was found; the winner is not trained on everything yet.

        Raises
        ------
        ValueError, TypeError
            If a fold lacks a class, or every trial failed.
        """
        config = self.config
        deadline = self.deadline or Deadline.of(config.time_limit)
        self.totals = self.engine.totals()
        self.totals.check()
        race, notes = self._planned()
        self._loop = loop = SearchLoop(
            self.studies,
            self.trainer,
            raise_errors=config.error_score == "raise",
            checkpoint=open_checkpoint(config, self.bases, (self.engine.identity, self.totals.weight), self.studies),
            callbacks=list(config.callbacks or ()),
            verbose=config.verbose,
            deadline=deadline,
            race=race,
        )
        stopped = loop.run()
        return self._concluded(
            SearchRecord(
                config=config,
                studies=self.studies,
                settings=self.settings,
                n_splits=self.totals.n_folds,
                store=loop.store,
                stop_reason="; ".join([stopped or reason_of(self.studies), *notes]),
            )
        )

    def _planned(self) -> tuple[Race | None, list[str]]:
        """Make studies and trainer; return the race of the settings, if there is one, and notes on what is left out."""
        config, steps, sample = self.config, steps_of_models(self._models), self.engine.sample()
        behind = []
        if sample is not None and races(config) and len(steps) > 1:
            steps, behind = self._raced(sample, steps)
        options = {"sampled": sample is not None, "tune": config.tunes, "normalize": config.normalize}
        self.trainer = EngineTrainer(self.engine, self.bases, config.aim, self.totals, **options)
        race = self._race(steps)
        self._warn_of_counts()
        return race, behind

    def _concluded(self, searched: SearchRecord) -> SearchResult:
        """Choose the winner."""
        chooser = chooser_of(self.config, self._models)
        if self.trainer.sampled:
            chooser = replace(chooser, margin=None)
        return conclude(searched, chooser, self.trainer.counted)

    @property
    def _models(self) -> list[Model]:
        """Models with the settings that are left of each."""
        if self.models is None:
            effort = FAST if self.fast else SLOW
            return [Model(None, None, self.config.param_grid, self.settings, effort=effort)]
        return self.models

    def _keep(self, left: Sequence[int]) -> None:
        """Keep some settings, and forget the others."""
        if self.models is not None:
            kept = [
                each._replace(settings=[one for at, one in enumerate(each.settings, each.first) if at in left])
                for each in self.models
            ]
            self.models = numbered([each for each in kept if each.settings])
        self.bases, self.settings = [self.bases[at] for at in left], [self.settings[at] for at in left]

    @property
    def _efforts(self) -> list[SearchEffort]:
        return [each.effort for each in self._models for _ in each.settings]

    @property
    def _names(self) -> list[str]:
        return [] if self.models is None else [str(each.name) for each in self.models]

    def _raced(self, sample: Engine, steps: list[RaceStep]) -> tuple[list[RaceStep], list[str]]:
        """Race the settings with equal costs on a sample; return steps for those that remain, and a note."""
        # What is known in the end is the same whether this is repeated or not.
        alone = {"n_trials": 1, "checkpoint": None, "callbacks": None, "verbose": 0, "tol": None}
        config = replace(self.config, **alone)
        totals = sample.totals()
        trainer = EngineTrainer(sample, self.bases, config.aim, totals, normalize=config.normalize)
        studies = make_studies(config, self._efforts, pos=totals.pos)
        assert trainer.store is not None, "a sample collects its scores"
        race = Race(studies, steps, trainer.store, config.aim, names=self._names)
        if SearchLoop(studies, trainer, raise_errors=config.error_score == "raise", race=race).run():
            raise KeyboardInterrupt
        left = race.left()
        self._keep(left)
        tried = sum(bool(study.trials) for study in studies)
        message = f"a sample of {totals.rows.sum()} rows left {len(left)} of {tried} settings in the race"
        steps = [each._replace(before=None, beyond=False) for each in steps_of_models(self._models)]
        return steps, [message] if len(left) < tried else []

    def _race(self, steps: list[RaceStep]) -> Race | None:
        """Make the studies, and the race that drops settings if held-out scores are collected, as in memory."""
        store = self.trainer.store if races(self.config) else None
        if store is None:
            # What a race alone goes on to.
            self._keep([at for at, step in enumerate(steps) if not step.beyond])
        self.studies = make_studies(self.config, self._efforts, pos=self.totals.pos)
        if store is None or len(steps) == 1:
            return None
        return Race(self.studies, steps, store, self.config.aim, names=self._names)

    def _warn_of_counts(self) -> None:
        """Warn of options that have no effect where scores are only counted."""
        if self.config.is_stable and self.trainer.store is None:
            warn(
                f"the folds hold {int(self.totals.rows[:-1].sum())} rows, too many for their scores to be collected: "
                "threshold='stable' chooses as 'tune' does, and there are no corrected scores and no margin of the "
                "bound. Of so many rows chance decides little; threshold='tune' asks for just that"
            )

    def train_on_everything(self, found: Any) -> Training:
        """Train the winner of an outcome on all rows."""
        winner = found.winner
        # One fold's solution is as near as another's.
        starts = self._loop.work(winner.setting, winner).starts
        return self.trainer.train_on_everything(winner.setting, winner.costs, starts[0])


# ---------------------------------------------------------------- options of searches in memory


Kind = TypeVar("Kind", bound=type)


def without_options_of_memory(kind: Kind) -> Kind:
    """Decorate a search so that it refuses the options that `csf.CostSearch` alone has, with the reason."""
    init: Any = kind.__init__

    @wraps(init)
    def checked(self: object, *args: object, **given: object) -> None:
        for name, known in options_of(SearchConfig).items():
            if name in given and known.in_memory:
                raise TypeError(
                    f"{name}={given[name]!r} is not for data on a cluster: {known.in_memory}. Leave it out, or use "
                    "csf.CostSearch on rows in memory"
                )
        init(self, *args, **given)

    kind.__init__ = checked
    return kind


# ---------------------------------------------------------------- the search in memory


class RemoteClassifier(ClassifierMixin, BaseEstimator):
    """Placeholder for a classifier that is not available in memory.

    Parameters
    ----------
    name : str, default=""
        Its class.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name


def local_search(
    base: Estimator, found: Any, rule: DecisionRule | None, options: Keywords, **known: object
) -> CostSearch:
    """Make a fitted search in memory from an engine's outcome; ``known`` are attributes that no outcome has."""
    search = CostSearch(base, **options)
    vars(search).update(known)
    search._publish(replace(found, config=replace(found.config, base=base, checkpoint=None, callbacks=None)), rule)
    if rule is not None:
        search.best_estimator_ = rule.estimator
    return search
