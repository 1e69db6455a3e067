"""What an engine implements: a search needs three things of the data, wherever they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from csf._common.typing import Array, Costs, Estimator
from csf.cluster.scored import PartScores, Scored
from csf.trainers.base import Training

__all__ = ["MOST_COLLECTED", "Engine", "FoldTotals", "Job"]

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
      rows (`csf.cluster.hash_folds`), the same in every pass; rows with -1 are trained on and never held out.
      `totals` gives the weights of the folds, so that the share of positives is known and each part has both classes.
    - **Train.** `train` runs some jobs, those of all folds of a trial together, at once or one after the other.
    - **Counts.** `scores` gives the handle of the held-out scores, each row scored by the model of its fold. They are
      counted where they are: write the three methods of `csf.cluster.Scored` in the engine's own language, or
      `csf.cluster.PartedScores.reduced` where the engine runs Python on parts of the data.

    `csf.testing.check_engine` checks all that on small data, and `csf.cluster.MemoryEngine` is the shortest example.

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
        """Truth, weight and fold of all rows in folds, in the order of `Scored.collected`.

        They are asked for once, before the first trial. With them the held-out scores of each trial are collected in
        one pass, and the search chooses and corrects as in memory; by default they stay where they are.

        Returns
        -------
        PartScores or None
            Scores of 0 with what is known of the rows; ``None`` where these are more than ``MOST_COLLECTED``.
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
