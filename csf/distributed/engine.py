"""Interface of engines, and the engine in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from csf._common.sklearn import clone, trained
from csf._common.typing import Array, Costs, Estimator, IntArray, Samples
from csf._common.validation import check_count, check_fraction
from csf.data.costs import cost_sample_weight
from csf.data.labels import Labels
from csf.data.responses import above, natural_threshold, positive_score, response_method
from csf.distributed.counts import MemoryScores, PartScores, Scored
from csf.trainers.base import Training

if TYPE_CHECKING:
    from csf.metrics.row_costs import CostTable, RowCosts

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

    @property
    def class_shares(self) -> Array:
        """Share of each class among all samples."""
        totals = self.trained_on(None)
        return totals / totals.sum()

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
        With costs of rows, rows weigh besides by this power of what is at stake in them, see `RowCostData`.
    """

    base: Estimator
    fold: int | None
    costs: Costs
    starts: Sequence[object] = ()
    power: float = 0.0


class LocalModel(NamedTuple):
    """Classifier in memory with the predictions of a model of an engine, and the method that gives its scores."""

    estimator: Estimator
    method: str | None


class RowCostData(NamedTuple):
    """Costs of rows that an engine reads.

    Parameters
    ----------
    costs : RowCosts
        What is known of them where predictions are made.
    are_log_odds : callable
        ``are_log_odds(base)`` says whether the scores of a base are log-odds or probabilities.
    sums : callable
        ``sums(powers)`` returns `csf.metrics.row_costs.cost_sums` of all rows. It is called once, before the first
        training; the first power is 0. Jobs with one of the powers then weigh rows by
        `csf.metrics.row_costs.stake_weights`, with the scale that keeps the sum of the weights.
    of_entries : callable
        ``of_entries()`` returns what the rows of `Engine.entries` cost, in their order.
    """

    costs: RowCosts
    are_log_odds: Callable[[Estimator], bool]
    sums: Callable[[Sequence[float]], Array]
    of_entries: Callable[[], CostTable]


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
    labels : Labels
        The classes; 0 and 1 by default.
    row_costs : RowCostData or None
        Costs of rows, where these are the metric and the engine reads them.
    """

    identity: object = None
    labels: Labels = Labels(np.arange(2), 0)
    row_costs: RowCostData | None = None

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
            One for each job, in their order: the model (anything that `scores` takes), its ``state`` (small arrays,
            numbers and tuples of these that a later training of the same fold may start from, or ``None``) and its
            relative duality ``gap``, where it is known; or the exception of the training. Errors that would affect
            every training are raised.
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

    def refit(self, job: Job, *, interrupted: bool) -> Training | Exception:
        """Train the winner on everything, by default like any other job.

        Parameters
        ----------
        job : Job
            The training.
        interrupted : bool
            Whether Ctrl-C ended the search.

        Returns
        -------
        Training or Exception
            As of `train`, with the model for the user.
        """
        return self.train([job])[0]

    def local(self, base: Estimator, model: object) -> LocalModel | None:
        """Return a classifier in memory for a trained model; ``None`` (the default) where there is none.

        Parameters
        ----------
        base : estimator
            Base of the training.
        model : object
            Model that `refit` has trained.

        Returns
        -------
        LocalModel or None
            The classifier, and the method that gives scores such as those of `scores`.
        """
        return None

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
        rows = np.flatnonzero(self.fold >= 0)
        return None if rows.size > MOST_COLLECTED else self._part(np.zeros(self.fold.size), rows)

    def _part(self, score: Array, rows: IntArray) -> PartScores:
        weight = None if self.weight is None else self.weight[rows]
        return PartScores(score[rows], self.is_pos[rows], weight, self.fold[rows])

    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """See `Engine.train`."""
        return [self._trained(job) for job in jobs]

    def _trained(self, job: Job) -> Training | Exception:
        kept = np.flatnonzero(self.fold != job.fold) if job.fold is not None else np.arange(self.fold.size)
        given = None if self.weight is None else self.weight[kept]
        weight = cost_sample_weight(self.is_pos[kept], job.costs, sample_weight=given)
        try:
            return Training(trained(clone(job.base), self.X[kept], self.is_pos[kept].astype(int), sample_weight=weight))
        except Exception as error:
            return error

    def local(self, base: Estimator, model: Estimator) -> LocalModel:
        """See `Engine.local`."""
        return LocalModel(model, response_method(model))

    def scores(self, models: Sequence[Estimator]) -> MemoryScores:
        """See `Engine.scores`."""
        score, held_out = np.zeros(self.fold.size), np.flatnonzero(self.fold >= 0)
        for fold, model in enumerate(models):
            rows = np.flatnonzero(self.fold == fold)
            score[rows] = positive_score(model, self.X[rows], 1)
        # A classifier of this kind predicts the positive class above its natural threshold, not at it.
        own_cut = above(natural_threshold(models[0]))
        parts = [self._part(score, rows) for rows in np.array_split(held_out, self.n_parts)]
        return MemoryScores(parts, self.n_folds, own_cut)
