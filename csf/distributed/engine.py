"""What an engine implements, and the engine in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from csf._common.sklearn import clone
from csf._common.typing import Array, Costs, Estimator, IntArray, Samples
from csf._common.validation import check_count, check_fraction
from csf.data.costs import cost_sample_weight
from csf.data.responses import above, natural_threshold, positive_score
from csf.distributed.counts import MemoryScores, PartScores, Scored
from csf.trainers.base import Training

# ---------------------------------------------------------------- the contract


# Rows in folds whose scores are collected at most: 4 MB a trial. Of more, luck decides little, and counts are enough.
MOST_COLLECTED = 1 << 20


@dataclass(frozen=True, eq=False)
class FoldTotals:
    """How much each fold weighs.

    Parameters
    ----------
    weight : ndarray of shape (n_folds + 1, 2)
        Sum of the user's weights (number of rows without any) of the negatives and the positives of each fold; the
        last line is that of rows that are in no fold: they are trained on and never held out.
    rows : ndarray of int, shape (n_folds + 1,)
        Number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> totals = FoldTotals(np.array([[6.0, 2.0], [8.0, 4.0], [0.0, 0.0]]), np.array([8, 12, 0]))
    >>> totals.n_folds, totals.pos, totals.trained_on(0).tolist()
    (2, 0.3, [8.0, 4.0])
    """

    weight: Array
    rows: Array

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return self.weight.shape[0] - 1

    @property
    def pos(self) -> float:
        """Share of positives in what the folds hold out, all together."""
        held_out = self.weight[:-1].sum(axis=0)
        return float(held_out[1] / held_out.sum())

    def trained_on(self, fold: int | None) -> Array:
        """Weight of negatives and positives that a fold trains on.

        Parameters
        ----------
        fold : int or None
            The fold; ``None`` for everything.

        Returns
        -------
        ndarray of shape (2,)
            The two sums.
        """
        return self.weight.sum(axis=0) - (0.0 if fold is None else self.weight[fold])

    def check(self) -> None:
        """Raise a ValueError where a fold holds out nothing, or trains on one class only.

        Raises
        ------
        ValueError
            With the fold and what it lacks.
        """
        for fold in range(self.n_folds):
            if not self.rows[fold]:
                raise ValueError(
                    f"fold {fold} of {self.n_folds} holds out no row; use fewer folds, or a column of fold numbers "
                    f"0, ..., {self.n_folds - 1} that all occur"
                )
            for name, left in zip(("negative", "positive"), self.trained_on(fold)):
                if not left > 0:
                    raise ValueError(
                        f"without fold {fold} there is no {name} row of positive weight to train on; use fewer folds, "
                        "or give fold numbers that leave both classes in each training part"
                    )
        if not (self.weight[:-1].sum(axis=0) > 0).all():
            raise ValueError("what the folds hold out lacks one of the classes; use more rows or other folds")


@dataclass(frozen=True, eq=False)
class Job:
    """One training.

    Parameters
    ----------
    base : estimator
        The base with its parameters set, as the engine calls it; never changed.
    fold : int or None
        The fold whose rows are held out; ``None`` trains on everything.
    costs : tuple of float
        ``(c_fn, c_fp)``: a positive weighs ``c_fn`` times its own weight, a negative ``c_fp`` times. They are final:
        whatever normalisation there is was applied.
    starts : sequence, default=()
        States of earlier trainings of the same base and fold, the nearest first; on everything, those of a fold.
    """

    base: Estimator
    fold: int | None
    costs: Costs
    starts: Sequence[Any] = ()


class Engine(ABC):
    """Data somewhere, with a fold number for each row, and what a search needs of them.

    A search calls `totals` once, then `train` and `scores` for each trial, and in the end `train` on everything.
    Subclasses keep the data, or a plan to read them; nothing that grows with the number of rows is given out.

    What an engine implements:

    - **Folds.** Each row has a number in 0, ..., n_folds - 1, from a column or from a seeded hash of what distinguishes
      rows (`csf.distributed.hash_folds`), the same in every pass; rows with -1 are trained on and never held out.
      `totals` gives the weights of the folds, so that the share of positives is known and each part has both classes.
    - **Train.** `train` runs some jobs, those of all folds of a trial together, at once or one after the other.
    - **Counts.** `scores` gives the handle of the held-out scores, each row scored by the model of its fold. They are
      counted where they are: write the three methods of `csf.distributed.Scored` in the engine's own language, or
      `csf.distributed.PartedScores.reduced` where the engine runs Python on parts of the data.

    `csf.testing.check_engine` checks all that on small data, and `MemoryEngine` is the shortest example.

    Attributes
    ----------
    identity : object
        What distinguishes these data and folds from others, for checkpoints: plain values such as checksums or the
        names of files and columns, the same in every process.
    """

    identity: Any = None

    @abstractmethod
    def totals(self) -> FoldTotals:
        """Weight of both classes in each fold.

        Returns
        -------
        FoldTotals
            The totals, of weights as they were given.
        """

    @abstractmethod
    def train(self, jobs: Sequence[Job]) -> list[Training | Exception]:
        """Train.

        Parameters
        ----------
        jobs : sequence of Job
            Independent trainings: their results must not depend on each other or on their order.

        Returns
        -------
        list of Training or Exception
            One for each job, in their order: the model (anything that `scores` takes, and for the job of everything
            what the user gets), its ``state`` (small arrays, numbers and tuples of these that a later training of
            the same fold may start from, or ``None``) and its relative duality ``gap``, where it is known; or what
            the training raised. Errors that no other training could escape are raised.
        """

    def most_jobs(self, n_folds: int) -> int:
        """How many jobs are trained at once, in the same passes over the data; by default those of one trial.

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
        """Truth, weight and fold of all rows in folds, or of those of `sample`, in the order of `Scored.collected`.

        They are asked for once, before the first trial. With those of all rows the held-out scores of each trial are
        collected in one pass, and the search chooses and corrects as in memory. With those of a sample thresholds come
        from counts of all rows, and corrections from the sample. By default all scores stay where they are.

        Returns
        -------
        PartScores or None
            Scores of 0 with what is known of the rows; ``None`` where nothing is collected.
        """
        return None

    def sample(self) -> Engine | None:
        """The same search on a sample of the rows, where these are too many for all scores to be collected.

        Settings race there with equal costs: those that are behind are never trained on all rows.

        Returns
        -------
        Engine or None
            It collects the scores of all its rows, which have the folds that they have here, and weights by which they
            stand for all. ``None`` (the default) without a sample.
        """
        return None

    @abstractmethod
    def scores(self, models: Sequence[Any]) -> Scored:
        """Held-out scores of one trial.

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


_ODD, _FIRST, _SECOND = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def check_folds(cv: int | float) -> int | float:
    """Check a number of folds >= 2 or a share to hold out in (0, 1)."""
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
    """Fold of each row of a part of the data.

    Parameters
    ----------
    part : int
        Number of the part.
    n_rows : int
        Its rows.
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
    """The finaliser of splitmix64."""
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
        Scores are counted in so many parts.

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
            return Training(clone(job.base).fit(self.X[at], self.is_pos[at].astype(int), sample_weight=weight))
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
