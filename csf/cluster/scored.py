"""Held-out scores that stay where they are: what is asked of them, and how parts of the data answer together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from csf._common.typing import Array, BoolArray, IntArray
from csf.cluster.bins import Bins, Quantiles, add_bins, count_bins, count_distinct, merge_quantiles, unite_bins

__all__ = ["MemoryScores", "PartScores", "PartedScores", "Scored"]


class Scored(ABC):
    """Held-out scores of one trial, wherever they are; they are counted there, and only counts come back.

    Each sample has the score that the model of its fold gives it; samples that are never held out have none and are
    left out. Samples of weight zero do not count.

    Attributes
    ----------
    own_cut : float
        The model's own decision is positive where the score is at least this.
    """

    own_cut: float = 0.0

    @abstractmethod
    def quantiles(self, size: int) -> Array:
        """Scores at about evenly spaced ranks, whatever the method: where bins may begin.

        Parameters
        ----------
        size : int
            About how many for each class.

        Returns
        -------
        ndarray of shape (n_edges,)
            Ascending distinct numbers. They decide how many passes are needed and nothing else.
        """

    @abstractmethod
    def counts(self, edges: Array) -> Bins:
        """Exact counts between edges, in one pass.

        Parameters
        ----------
        edges : ndarray of shape (n_edges,)
            Ascending; bin k holds ``edges[k - 1] <= score < edges[k]``.

        Returns
        -------
        Bins
            ``n_edges + 1`` bins.

        Raises
        ------
        ValueError
            If a score is NaN.
        """

    @abstractmethod
    def distinct(self, low: Array, high: Array) -> Bins:
        """Exact counts at each distinct score within some intervals, in one pass.

        Parameters
        ----------
        low, high : ndarray of shape (n_intervals,)
            Ends of the intervals, which belong to them; ascending and apart from each other. It is asked for where
            `counts` found few samples.

        Returns
        -------
        Bins
            One bin for each distinct score, ascending.
        """

    def collected(self) -> Array:
        """All scores, in the order of the engine's `csf.cluster.Engine.entries`; asked for only where it gives these.

        Returns
        -------
        ndarray of shape (n_entries,)
            Scores.
        """
        raise TypeError(f"{type(self).__name__} keeps its scores where they are; write collected to have them here")


class PartScores(NamedTuple):
    """Held-out scores of one part of the data.

    Parameters
    ----------
    score : ndarray of shape (n_samples,)
        Scores.
    is_pos : ndarray of bool, shape (n_samples,)
        Truth.
    weight : ndarray of shape (n_samples,), default=None
        Weights >= 0.
    fold : ndarray of int, shape (n_samples,), default=None
        Fold of each sample; ``None`` where there is one.
    """

    score: Array
    is_pos: BoolArray
    weight: Array | None = None
    fold: IntArray | None = None

    def quantiles(self, size: int) -> Quantiles:
        """See `Scored.quantiles`."""
        counted = slice(None) if self.weight is None else self.weight > 0
        return Quantiles.of_part(self.score[counted], self.is_pos[counted], size)

    def counts(self, edges: Array, n_folds: int) -> Bins:
        """See `Scored.counts`."""
        return count_bins(*self, edges, n_folds=n_folds)

    def distinct(self, low: Array, high: Array, n_folds: int) -> Bins:
        """See `Scored.distinct`."""
        return count_distinct(*self, low, high, n_folds=n_folds)


# What is done with a part, and what makes one of several results of it.
OfPart: TypeAlias = Callable[[PartScores], Any]
OfResults: TypeAlias = Callable[[Sequence[Any]], Any]


class PartedScores(Scored):
    """Scores of an engine that runs Python on the parts of its data: one method is all that it writes.

    Parameters
    ----------
    n_folds : int
        Number of folds.
    own_cut : float
        See `Scored`.
    """

    def __init__(self, n_folds: int, own_cut: float) -> None:
        self.n_folds, self.own_cut = n_folds, own_cut

    @abstractmethod
    def reduced(self, of_part: OfPart, of_results: OfResults) -> Any:
        """Run a function on the scores of each part, where that part is, and merge the results, a few at a time.

        Parameters
        ----------
        of_part : callable
            ``of_part(part_scores)``; it can be pickled.
        of_results : callable
            ``of_results(results)`` of some parts is again a result; its order does not matter but for rounding.

        Returns
        -------
        object
            The result of all parts.
        """

    def quantiles(self, size: int) -> Array:
        """See `Scored.quantiles`."""
        merged = self.reduced(partial(PartScores.quantiles, size=size), partial(merge_quantiles, size=size))
        return merge_quantiles([merged], size).edges()

    def counts(self, edges: Array) -> Bins:
        """See `Scored.counts`."""
        return self.reduced(partial(PartScores.counts, edges=edges, n_folds=self.n_folds), add_bins)

    def distinct(self, low: Array, high: Array) -> Bins:
        """See `Scored.distinct`."""
        return self.reduced(partial(PartScores.distinct, low=low, high=high, n_folds=self.n_folds), unite_bins)

    def collected(self) -> Array:
        """See `Scored.collected`."""
        return self.reduced(_score_of, np.concatenate)


def _score_of(part: PartScores) -> Array:
    return part.score


class MemoryScores(PartedScores):
    """Scores in memory, in one part or several.

    Parameters
    ----------
    parts : sequence of PartScores
        The parts.
    n_folds : int, default=1
        Number of folds.
    own_cut : float, default=0.0
        See `Scored`.

    Examples
    --------
    >>> import numpy as np
    >>> scores = MemoryScores([PartScores(np.array([0.1, 0.4]), np.array([False, True]))])
    >>> scores.counts(np.array([0.3])).rows.tolist()
    [1, 1]
    """

    def __init__(self, parts: Sequence[PartScores], n_folds: int = 1, own_cut: float = 0.0) -> None:
        super().__init__(n_folds, own_cut)
        self.parts = list(parts)

    def reduced(self, of_part: OfPart, of_results: OfResults) -> Any:
        """See `PartedScores.reduced`."""
        return of_results([of_part(part) for part in self.parts])
